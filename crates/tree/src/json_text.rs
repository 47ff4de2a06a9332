//! A JSON value as text, for values that are large and only passed on.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeSeed, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json_copier::JsonCopier;

/// See the module documentation.
#[derive(Debug, Clone)]
pub struct JsonText(Box<RawValue>);

impl JsonText {
    /// The value on one line. `None` if the bytes are not one JSON value.
    pub fn from_json(mut json: Vec<u8>) -> Option<JsonText> {
        // In JSON, line breaks occur only between tokens.
        json.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
        RawValue::from_string(String::from_utf8(json).ok()?).ok().map(JsonText)
    }

    pub fn to_value(&self) -> Value {
        serde_json::from_str(self.0.get()).unwrap_or_default()
    }
}

impl PartialEq for JsonText {
    fn eq(&self, other: &JsonText) -> bool {
        self.0.get() == other.0.get()
    }
}

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonText, D::Error> {
        let mut json = Vec::new();
        JsonCopier(&mut json).deserialize(deserializer)?;
        JsonText::from_json(json).ok_or_else(|| D::Error::custom("not a JSON value"))
    }
}

impl JsonSchema for JsonText {
    fn schema_name() -> Cow<'static, str> {
        "AnyValue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!(true)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_copied_also_inside_a_tagged_enum() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum Reply {
            Snapshot { snapshot: JsonText },
        }
        let text = r#"{"type":"snapshot","snapshot":{"a":[1,{"b":null}]}}"#;
        let reply: Reply = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&reply).unwrap(), text);
        let Reply::Snapshot { snapshot } = reply;
        assert_eq!(snapshot.to_value(), json!({ "a": [1, { "b": null }] }));
        assert_eq!(JsonText::from_json(b"{".to_vec()), None);
        let lines = JsonText::from_json(b"[1,\r\n\"a\\n\"]".to_vec()).unwrap();
        assert_eq!(serde_json::to_string(&lines).unwrap(), r#"[1,  "a\n"]"#);
    }
}
