//! The snapshot: everything a client needs to show a session, taken from one state of it.
//!
//! It is written piece by piece, because a session may be larger than memory. The caller brings the lines.

use serde_json::{Value, json};

use super::card::Card;
use crate::fold::SessionTree;
use crate::heads::Seq;

/// The number of the snapshot's own format.
pub const SCHEMA_VERSION: u32 = 1;

/// The key under which `childrenByParentId` keeps the roots.
pub const ROOTS: &str = "__roots__";

impl SessionTree {
    /// The `session` part. `revision` grows with every entry.
    pub fn snapshot_session(&self, card: &Card) -> Value {
        let root = self.path(self.leaf()).first().map(|seq| self.id(*seq).to_string());
        let mut session = serde_json::to_value(card).expect("a card is plain data");
        session["provider"] = json!(card.store);
        session["title"] = json!(card.title());
        session["status"] = json!("active");
        session["rootEntryId"] = json!(root);
        session["leafEntryId"] = json!(self.leaf().map(|seq| self.id(seq).to_string()));
        session["settings"] = json!(self.marks().settings());
        session
    }

    /// The ids of the path to the leaf.
    pub fn snapshot_path(&self) -> Vec<String> {
        self.path(self.leaf()).into_iter().map(|seq| self.id(seq).to_string()).collect()
    }

    /// The children of each entry that has any, in the order in which they were appended.
    pub fn snapshot_children(&self) -> impl Iterator<Item = (String, Vec<String>)> + '_ {
        let row = |key: String, children: &[Seq]| {
            let mut children = children.to_vec();
            children.sort();
            (key, children.into_iter().map(|seq| self.id(seq).to_string()).collect())
        };
        let roots = row(ROOTS.to_owned(), self.children().roots());
        let parents = self.heads().iter().map(|(seq, _)| (seq, self.children().of_entry(seq)));
        let rows = parents.filter(|(_, children)| !children.is_empty());
        std::iter::once(roots).chain(rows.map(move |(seq, children)| row(self.id(seq).to_string(), children)))
    }

    /// The label of each entry that has one.
    pub fn snapshot_labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.marks().labels().into_iter().map(|(id, label)| (id, label.text.as_str()))
    }
}
