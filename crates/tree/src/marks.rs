//! The state of a session that its marks define: labels, name, settings, deleted branches, updates of running entries.
//! The last mark in the log wins, wherever it is in the tree.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::entry::{Entry, EntryKind};
use crate::heads::Seq;
use crate::layered::LayeredMap;
use crate::scan::RawJson;

/// A name that a user gave to an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    pub text: String,
    /// The entry that set it.
    pub set_by: Seq,
    /// The entry that first set a label on this target since it last had none. Labels are listed in this order.
    first_set_by: Seq,
}

/// The state defined by the marks of a log. Every published state of a session has its own copy, so copies share data.
#[derive(Debug, Clone, Default)]
pub struct Marks {
    labels: LayeredMap<Arc<str>, Arc<Label>>,
    name: Option<String>,
    settings: Arc<BTreeMap<String, Value>>,
    deleted: LayeredMap<Arc<str>, Seq>,
    updates: LayeredMap<Arc<str>, Update>,
}

/// The latest update of an entry.
#[derive(Debug, Clone, Copy)]
struct Update {
    seq: Seq,
    /// Nothing follows.
    is_end: bool,
}

/// The status of an update that is not the end.
pub(crate) const RUNNING: &str = "running";

impl Marks {
    pub(crate) fn apply(&mut self, seq: Seq, entry: &Entry<'_>) {
        let body = entry.object();
        match (entry.kind, entry.target.as_deref()) {
            (EntryKind::Label, Some(target)) => self.apply_label(seq, target, body),
            (EntryKind::SessionInfo, _) => {
                let name = body.get("name").and_then(RawJson::text);
                self.name = name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
            }
            (EntryKind::Config, _) => self.apply_config(body),
            (EntryKind::DeleteBranch, Some(target)) => self.deleted.insert(target.into(), seq),
            (EntryKind::RestoreBranch, Some(target)) => self.deleted.remove(target.into()),
            (EntryKind::EntryUpdate, Some(target)) => self.apply_update(seq, target, body),
            _ => {}
        }
    }

    fn apply_label(&mut self, seq: Seq, target: &str, body: RawJson<'_>) {
        match body.get("label").and_then(RawJson::text).filter(|label| !label.is_empty()) {
            None => self.labels.remove(target.into()),
            Some(text) => {
                let since = self.labels.get(target).map_or(seq, |label| label.first_set_by);
                let label = Label { text: text.into_owned(), set_by: seq, first_set_by: since };
                self.labels.insert(target.into(), Arc::new(label));
            }
        }
    }

    fn apply_config(&mut self, body: RawJson<'_>) {
        let Some(data) = body.get("data") else { return };
        let settings = Arc::make_mut(&mut self.settings);
        if let Some(set) = data.get("set") {
            set.each_field(|key, value| {
                if let Ok(value) = serde_json::from_slice(value.bytes()) {
                    settings.insert(key.to_owned(), value);
                }
            });
        }
        if let Some(unset) = data.get("unset") {
            unset.each_item(|key| {
                if let Some(key) = key.text() {
                    settings.remove(&*key);
                }
            });
        }
    }

    fn apply_update(&mut self, seq: Seq, target: &str, body: RawJson<'_>) {
        let status = body.get("data").and_then(|data| data.get("status")).and_then(RawJson::text);
        let is_end = status.as_deref() != Some(RUNNING);
        if is_end || !self.has_ended(target) {
            self.updates.insert(target.into(), Update { seq, is_end });
        }
    }

    pub fn label(&self, id: &str) -> Option<&Label> {
        self.labels.get(id).map(|label| &**label)
    }

    /// All labels with the ids of their entries, in the order in which they were first set.
    pub fn labels(&self) -> Vec<(&str, &Label)> {
        let mut labels: Vec<_> = self.labels.iter().map(|(id, label)| (&**id, &**label)).collect();
        labels.sort_by_key(|(_, label)| label.first_set_by);
        labels
    }

    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The settings that entries set. A key that is missing here has its default.
    pub fn settings(&self) -> &BTreeMap<String, Value> {
        &self.settings
    }

    /// The ids of the first entries of deleted branches, each with the entry that deleted it.
    pub fn deleted(&self) -> impl Iterator<Item = (&str, Seq)> {
        self.deleted.iter().map(|(id, seq)| (&**id, *seq))
    }

    pub fn is_deleted(&self, id: &str) -> bool {
        self.deleted.get(id).is_some()
    }

    /// The ids of updated entries, each with its latest update, in log order.
    pub fn updates(&self) -> Vec<(&str, Seq)> {
        let mut updates: Vec<(&str, Seq)> =
            self.updates.iter().map(|(id, update)| (&**id, update.seq)).collect();
        updates.sort_by_key(|(_, seq)| *seq);
        updates
    }

    /// The latest `entry_update` of an entry.
    pub fn latest_update(&self, id: &str) -> Option<Seq> {
        Some(self.updates.get(id)?.seq)
    }

    /// Whether an `entry_update` tells how an entry ended.
    pub fn has_ended(&self, id: &str) -> bool {
        self.updates.get(id).is_some_and(|update| update.is_end)
    }
}
