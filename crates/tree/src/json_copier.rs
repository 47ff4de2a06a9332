//! Copies a value to JSON text while it is deserialized, without a tree of values in between. A deserializer that is not a
//! JSON parser works too, such as the one of an internally tagged enum, for which `RawValue` does not.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Appends the text to the buffer.
pub(crate) struct JsonCopier<'a>(pub(crate) &'a mut Vec<u8>);

impl JsonCopier<'_> {
    fn write<E: Error>(self, value: &(impl serde::Serialize + ?Sized)) -> Result<(), E> {
        serde_json::to_writer(self.0, value).map_err(E::custom)
    }
}

impl<'de> DeserializeSeed<'de> for JsonCopier<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonCopier<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.write(&())
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.write(&())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.write(&value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.write(&value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.write(&value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.write(&value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.write(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.0.push(b'[');
        while items.next_element_seed(JsonCopier(self.0))?.is_some() {
            self.0.push(b',');
        }
        close(self.0, b']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        self.0.push(b'{');
        while members.next_key_seed(JsonCopier(self.0))?.is_some() {
            self.0.push(b':');
            members.next_value_seed(JsonCopier(self.0))?;
            self.0.push(b',');
        }
        close(self.0, b'}');
        Ok(())
    }
}

/// Replaces the comma after the last element.
fn close(json: &mut Vec<u8>, bracket: u8) {
    json.pop_if(|last| *last == b',');
    json.push(bracket);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn copied<'de, D: Deserializer<'de>>(deserializer: D) -> String {
        let mut json = Vec::new();
        JsonCopier(&mut json).deserialize(deserializer).map_err(|error| error.to_string()).unwrap();
        String::from_utf8(json).unwrap()
    }

    #[test]
    fn the_copy_is_what_a_value_would_print() {
        for json in [
            "null",
            "[]",
            "{}",
            "[[],{}]",
            r#" { "b" : [ 1 , -2, 3.50, 18446744073709551615, true, null ] , "a" : { "\u0000\n" : "\ud83d\ude00" } } "#,
            r#""[,]""#,
        ] {
            let value: Value = serde_json::from_str(json).unwrap();
            assert_eq!(copied(&mut serde_json::Deserializer::from_str(json)), value.to_string());
            assert_eq!(copied(&value), value.to_string(), "from another deserializer");
        }
    }
}
