//! A stored line that all clients of a session share. Its content is read once, when the first of them needs it. In JSON
//! it appears in the form of `docs/json.md`: copied, with Osier's own kinds under their own names.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeSeed;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::entry::parse_entry;
use crate::json_copier::JsonCopier;
use crate::projection::entry_view::EntryView;
use crate::projection::json::{entry_json, stored_form};
use crate::scan::RawJson;

/// The stored line of an entry, without its newline. Clones share it.
#[derive(Clone)]
pub struct EntryLine(Arc<SharedLine>);

struct SharedLine {
    bytes: Box<[u8]>,
    view: OnceLock<Option<EntryView>>,
    /// Made when the first client gets it as JSON.
    json: OnceLock<Option<Box<RawValue>>>,
}

impl EntryLine {
    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    /// The line of an entry that was read from JSON.
    pub fn from_json(json: &[u8]) -> EntryLine {
        let stored = RawJson::parse(json).ok().and_then(stored_form);
        stored.map_or_else(|| json.into(), EntryLine::from)
    }

    /// The content. `None` if the line is not an entry.
    pub fn view(&self) -> Option<&EntryView> {
        let read = || parse_entry(self.bytes()).ok().map(|entry| EntryView::read(&entry));
        self.0.view.get_or_init(read).as_ref()
    }
}

impl From<Box<[u8]>> for EntryLine {
    fn from(bytes: Box<[u8]>) -> EntryLine {
        EntryLine(Arc::new(SharedLine { bytes, view: OnceLock::new(), json: OnceLock::new() }))
    }
}

impl From<&[u8]> for EntryLine {
    fn from(line: &[u8]) -> EntryLine {
        Box::<[u8]>::from(line).into()
    }
}

impl From<Vec<u8>> for EntryLine {
    fn from(line: Vec<u8>) -> EntryLine {
        line.into_boxed_slice().into()
    }
}

impl PartialEq for EntryLine {
    fn eq(&self, other: &EntryLine) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for EntryLine {}

impl fmt::Debug for EntryLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.bytes()))
    }
}

impl Serialize for EntryLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.json.get_or_init(|| self.to_raw_json()).serialize(serializer)
    }
}

impl EntryLine {
    /// `None` if the line is not JSON.
    fn to_raw_json(&self) -> Option<Box<RawValue>> {
        let entry = parse_entry(self.bytes()).ok()?;
        let json = entry_json(&entry);
        RawValue::from_string(String::from_utf8_lossy(&json).into_owned()).ok()
    }
}

impl<'de> Deserialize<'de> for EntryLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EntryLine, D::Error> {
        let mut json = Vec::new();
        JsonCopier(&mut json).deserialize(deserializer)?;
        Ok(EntryLine::from_json(&json))
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
