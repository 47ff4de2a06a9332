//! An entry that is planned but not written yet: everything except its id, its parent's id and its time.

use serde_json::Value;

use crate::entry::EntryKind;
use crate::fold::Place;
use crate::scan::write_json_string;
use crate::time::{self, Millis};

/// The parent that a draft will get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftParent {
    /// The leaf of the log at the time of writing. A mark written by a client with an outdated view therefore does not move
    /// the leaf.
    CurrentLeaf,
    /// Exactly this place. If another writer appended there in the meantime, the two entries become siblings.
    At(Place),
}

/// A planned entry; see the module documentation.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryDraft {
    pub kind: EntryKind,
    pub parent: DraftParent,
    /// The `type` on disk.
    type_name: String,
    /// The other members of the object, each preceded by a comma.
    members: Vec<u8>,
}

impl EntryDraft {
    pub(crate) fn new(kind: EntryKind, parent: DraftParent) -> EntryDraft {
        let word = match kind {
            EntryKind::Backtrack => "custom_message",
            _ if kind.custom_type().is_some() => "custom",
            _ => kind.name(),
        };
        let draft = EntryDraft { kind, parent, type_name: word.to_owned(), members: Vec::new() };
        match kind.custom_type() {
            Some(custom_type) => draft.with("customType", custom_type),
            None => draft,
        }
    }

    /// A draft from any object: `type` sets the type, `id`, `parentId` and `timestamp` are dropped, and the rest is kept.
    pub fn from_object(kind: EntryKind, parent: DraftParent, object: crate::scan::RawJson<'_>) -> EntryDraft {
        let mut word = String::new();
        let mut members = Vec::new();
        object.each_field(|key, value| match key {
            "type" => word = value.text().unwrap_or_default().into_owned(),
            "id" | "parentId" | "timestamp" => {}
            _ => push_member(&mut members, key, value.bytes()),
        });
        EntryDraft { kind, parent, type_name: word, members }
    }

    pub(crate) fn with(self, key: &str, text: &str) -> EntryDraft {
        let mut value = Vec::new();
        write_json_string(text, &mut value);
        self.with_raw(key, &value)
    }

    pub(crate) fn with_value(self, key: &str, value: &Value) -> EntryDraft {
        self.with_raw(key, value.to_string().as_bytes())
    }

    pub(crate) fn with_raw(mut self, key: &str, value: &[u8]) -> EntryDraft {
        push_member(&mut self.members, key, value);
        self
    }

    /// The line of this draft, without a line feed.
    pub fn to_line(&self, id: &str, parent: Option<&str>, time: Millis) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.members.len() + 128);
        out.extend_from_slice(b"{\"type\":");
        write_json_string(&self.type_name, &mut out);
        out.extend_from_slice(b",\"id\":");
        write_json_string(id, &mut out);
        out.extend_from_slice(b",\"parentId\":");
        match parent {
            Some(parent) => write_json_string(parent, &mut out),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"timestamp\":");
        write_json_string(&time::format(time), &mut out);
        out.extend_from_slice(&self.members);
        out.push(b'}');
        out
    }
}

fn push_member(members: &mut Vec<u8>, key: &str, value: &[u8]) {
    members.push(b',');
    write_json_string(key, members);
    members.push(b':');
    // An entry must be one line. JSON allows line feeds only between tokens, never inside a string.
    members.extend(value.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
}
