//! The snapshot: everything a client needs to show a session, taken from one state of it.
//!
//! It is written piece by piece, because a session may be larger than memory. The caller brings the lines. All entries are
//! in it; what hangs where, and labels, leave out deleted branches, whose first entries are named apart.

use serde_json::{Value, json};

use super::card::Card;
use super::settings::settings;
use crate::fold::SessionTree;
use crate::heads::Seq;

/// The number of the snapshot's own format.
pub const SCHEMA_VERSION: u32 = 1;

/// The key under which `childrenByParentId` keeps the roots.
pub const ROOTS: &str = "__roots__";

impl SessionTree {
    /// The `session` part. What the session's settings say of its status, directory, agent and metadata counts over the
    /// header, which never changes.
    pub fn snapshot_session(&self, card: &Card) -> Value {
        let id = |seq: Seq| self.id(seq).to_string();
        let mut session = serde_json::to_value(card).expect("a card is plain data");
        session["provider"] = json!(card.store);
        session["title"] = json!(card.title());
        session["status"] = json!("active");
        for key in ["status", "cwd", "agentId", "metadata"] {
            if let Some(value) = self.marks().settings().get(key) {
                session[key] = value.clone();
            }
        }
        session["rootEntryId"] = json!(self.children().roots().first().copied().map(id));
        session["leafEntryId"] = json!(self.leaf().map(id));
        session["settings"] = Value::Object(settings(self));
        session
    }

    /// The ids of the path to the leaf.
    pub fn snapshot_path(&self) -> Vec<String> {
        self.path(self.leaf()).into_iter().map(|seq| self.id(seq).to_string()).collect()
    }

    /// The children of each entry that has any, in the order in which they were appended.
    pub fn snapshot_children(&self) -> impl Iterator<Item = (String, Vec<String>)> + '_ {
        let hidden = self.hidden();
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
        // Whoever gives an entry this very id must not hide the roots.
        let parents = parents.filter(|(id, children)| !children.is_empty() && id != ROOTS);
        let rows = std::iter::once(roots).chain(parents).map(move |(key, children)| row(key, children));
        rows.filter(|(key, children)| key == ROOTS || !children.is_empty())
    }

    /// The label of each entry that has one.
    pub fn snapshot_labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let hidden = self.hidden();
        let shown = move |id: &str| self.find(id).is_none_or(|seq| !hidden.contains(&seq));
        let labels = self.marks().labels().into_iter().filter(move |(id, _)| shown(id));
        labels.map(|(id, label)| (id, label.text.as_str()))
    }

    /// The first entries of deleted branches, which can be restored.
    pub fn snapshot_deleted(&self) -> Vec<String> {
        let mut deleted: Vec<Seq> = self.marks().deleted().filter_map(|(id, _)| self.find(id)).collect();
        deleted.sort();
        deleted.into_iter().map(|seq| self.id(seq).to_string()).collect()
    }
}
