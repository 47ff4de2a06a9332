//! The snapshot: everything that a client needs to show a session, from one consistent state.
//!
//! It is written in pieces, because a session may be larger than memory. The caller provides the lines. The snapshot contains
//! all entries. Deleted branches are missing from children and labels; their first entries are listed separately.

use serde_json::{Value, json};

use super::card::Card;
use super::settings::settings;
use crate::fold::SessionTree;
use crate::heads::Seq;

/// The version of the snapshot format.
pub const SCHEMA_VERSION: u32 = 1;

/// The key under which `childrenByParentId` keeps the roots.
pub const ROOTS: &str = "__roots__";

impl SessionTree {
    /// The `session` part. The settings `status`, `cwd`, `agentId` and `metadata` override the header, which never changes.
    /// `provider` is the kind of the store.
    pub fn snapshot_session(&self, card: &Card, provider: &str) -> Value {
        let id = |seq: Seq| self.id(seq).to_string();
        let mut session = serde_json::to_value(card).expect("a card always serializes");
        session["provider"] = json!(provider);
        session["title"] = json!(card.title());
        session["status"] = json!("active");
        for key in ["status", "cwd", "agentId", "metadata"] {
            if let Some(value) = self.marks().settings().get(key) {
                session[key] = value.clone();
            }
        }
        session["rootEntryId"] = json!(self.children().roots().first().copied().map(id));
        session["leafEntryId"] = json!(self.opening_place().map(id));
        session["settings"] = Value::Object(settings(self));
        session
    }

    /// The ids on the path to where the session opens.
    pub fn snapshot_path(&self) -> Vec<String> {
        self.path(self.opening_place()).into_iter().map(|seq| self.id(seq).to_string()).collect()
    }

    /// The children of each entry that has children, in log order.
    pub fn snapshot_children(&self) -> impl Iterator<Item = (String, Vec<String>)> + '_ {
        let hidden = self.hidden_entries();
        let row = move |key: String, children: &[Seq]| {
            let mut children: Vec<Seq> =
                children.iter().copied().filter(|child| !hidden.contains(child)).collect();
            children.sort();
            let children: Vec<String> = children.into_iter().map(|seq| self.id(seq).to_string()).collect();
            (key, children)
        };
        let roots = (ROOTS.to_owned(), self.children().roots());
        let parents =
            self.heads().iter().map(|(seq, _)| (self.id(seq).to_string(), self.children().of_entry(seq)));
        // An entry with the id `__roots__` must not replace the roots.
        let parents = parents.filter(|(id, children)| !children.is_empty() && id != ROOTS);
        let rows = std::iter::once(roots).chain(parents).map(move |(key, children)| row(key, children));
        rows.filter(|(key, children)| key == ROOTS || !children.is_empty())
    }

    /// The labels by entry id.
    pub fn snapshot_labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let hidden = self.hidden_entries();
        let shown = move |id: &str| self.find(id).is_none_or(|seq| !hidden.contains(&seq));
        let labels = self.marks().labels().into_iter().filter(move |(id, _)| shown(id));
        labels.map(|(id, label)| (id, label.text.as_str()))
    }

    /// The first entries of the deleted branches, for restoring them.
    pub fn snapshot_deleted(&self) -> Vec<String> {
        let mut deleted: Vec<Seq> = self.marks().deleted().filter_map(|(id, _)| self.find(id)).collect();
        deleted.sort();
        deleted.into_iter().map(|seq| self.id(seq).to_string()).collect()
    }
}
