//! An entry as it is stored. In JSON it appears in the form of `docs/json.md`: copied, with Osier's own kinds under their
//! own names.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use osier_tree::entry::parse_entry;
use osier_tree::projection::json::{entry_json, stored_form};
use osier_tree::scan::RawJson;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// The stored line of an entry, without its newline.
#[derive(Clone, PartialEq, Eq)]
pub struct EntryLine(Arc<[u8]>);

impl EntryLine {
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<Arc<[u8]>> for EntryLine {
    fn from(line: Arc<[u8]>) -> EntryLine {
        EntryLine(line)
    }
}

impl From<&[u8]> for EntryLine {
    fn from(line: &[u8]) -> EntryLine {
        EntryLine(line.into())
    }
}

impl From<Vec<u8>> for EntryLine {
    fn from(line: Vec<u8>) -> EntryLine {
        EntryLine(line.into())
    }
}

impl fmt::Debug for EntryLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl Serialize for EntryLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json =
            parse_entry(&self.0).map_or(Cow::Borrowed(&b"null"[..]), |entry| match entry_json(&entry) {
                Cow::Borrowed(_) => Cow::Borrowed(&self.0[..]),
                Cow::Owned(json) => Cow::Owned(json),
            });
        let json = String::from_utf8_lossy(&json).into_owned();
        RawValue::from_string(json).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for EntryLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EntryLine, D::Error> {
        let json = Value::deserialize(deserializer)?.to_string().into_bytes();
        let stored = RawJson::parse(&json).ok().and_then(stored_form);
        Ok(EntryLine(stored.unwrap_or(json).into()))
    }
}

impl JsonSchema for EntryLine {
    fn schema_name() -> Cow<'static, str> {
        "Entry".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "description": "An entry; see docs/session-format.md" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_copied_and_own_kinds_have_their_own_names() {
        let check = |line: &str, json: &str| {
            let entry = EntryLine::from(line.as_bytes());
            assert_eq!(serde_json::to_string(&entry).unwrap(), json);
            assert_eq!(serde_json::from_str::<EntryLine>(json).unwrap(), entry);
        };
        let message =
            r#"{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"a"}}"#;
        check(message, message);
        check(
            r#"{"type":"custom","id":"1","parentId":"0","customType":"osier.leaf","data":{"why":"undo"}}"#,
            r#"{"type":"leaf","id":"1","parentId":"0","why":"undo"}"#,
        );
    }
}
