//! An entry that is planned but not written yet: everything except its id, its parent's id and its time.

use serde_json::Value;

use crate::entry::Kind;
use crate::fold::Place;
use crate::scan::quote;
use crate::time::{self, Millis};

/// The parent that a draft will get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Under {
    /// The leaf of the log at the time of writing. A mark written by a client with an outdated view therefore does not move
    /// the leaf.
    Log,
    /// Exactly this place. If another writer appended there in the meantime, the two entries become siblings.
    Place(Place),
}

/// A planned entry; see the module documentation.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    pub kind: Kind,
    pub under: Under,
    /// The `type` on disk.
    word: String,
    /// The other members of the object, each preceded by a comma.
    members: Vec<u8>,
}

impl Draft {
    pub(crate) fn new(kind: Kind, under: Under) -> Draft {
        let word = match kind {
            Kind::Backtrack => "custom_message",
            _ if kind.custom_type().is_some() => "custom",
            _ => kind.name(),
        };
        let draft = Draft { kind, under, word: word.to_owned(), members: Vec::new() };
        match kind.custom_type() {
            Some(custom_type) => draft.with("customType", custom_type),
            None => draft,
        }
    }

    /// A draft from any object: `type` sets the type, `id`, `parentId` and `timestamp` are dropped, and the rest is kept.
    pub fn of_object(kind: Kind, under: Under, object: crate::scan::Raw<'_>) -> Draft {
        let mut word = String::new();
        let mut members = Vec::new();
        object.each_field(|key, value| match key {
            "type" => word = value.text().unwrap_or_default().into_owned(),
            "id" | "parentId" | "timestamp" => {}
            _ => push_member(&mut members, key, value.bytes()),
        });
        Draft { kind, under, word, members }
    }

    pub(crate) fn with(self, key: &str, text: &str) -> Draft {
        let mut value = Vec::new();
        quote(text, &mut value);
        self.with_raw(key, &value)
    }

    pub(crate) fn with_value(self, key: &str, value: &Value) -> Draft {
        self.with_raw(key, value.to_string().as_bytes())
    }

    pub(crate) fn with_raw(mut self, key: &str, value: &[u8]) -> Draft {
        push_member(&mut self.members, key, value);
        self
    }

    /// The line of this draft, without a line feed.
    pub fn line(&self, id: &str, parent: Option<&str>, time: Millis) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.members.len() + 128);
        out.extend_from_slice(b"{\"type\":");
        quote(&self.word, &mut out);
        out.extend_from_slice(b",\"id\":");
        quote(id, &mut out);
        out.extend_from_slice(b",\"parentId\":");
        match parent {
            Some(parent) => quote(parent, &mut out),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"timestamp\":");
        quote(&time::format(time), &mut out);
        out.extend_from_slice(&self.members);
        out.push(b'}');
        out
    }
}

fn push_member(members: &mut Vec<u8>, key: &str, value: &[u8]) {
    members.push(b',');
    quote(key, members);
    members.push(b':');
    // An entry must be one line. JSON allows line feeds only between tokens, never inside a string.
    members.extend(value.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
}
