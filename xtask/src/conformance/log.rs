//! A session file as a list of lines, parsed without Osier's own code, so that a bug there cannot hide here.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::json;

/// The entries of a file in order. If ids repeat, the last one counts.
pub(super) struct SessionLog {
    entries: Vec<Value>,
    last: HashMap<String, usize>,
    deleted: HashSet<String>,
}

impl SessionLog {
    pub(super) fn read(file: &Path) -> Result<Self> {
        let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| json::parse(line).ok());
        let entries: Vec<Value> =
            lines.filter(|line| line["type"] != "session" && line["id"].is_string()).collect();
        let last =
            entries.iter().enumerate().filter_map(|(at, entry)| Some((entry["id"].as_str()?.to_owned(), at)));
        Ok(Self { last: last.collect(), deleted: deleted(&entries), entries })
    }

    pub(super) fn entry(&self, id: &str) -> Option<&Value> {
        self.last.get(id).map(|at| &self.entries[*at])
    }

    pub(super) fn is_move(&self, id: &str) -> bool {
        self.entry(id).is_some_and(|entry| entry["customType"] == "osier.leaf")
    }

    /// The entry itself, or its nearest ancestor that is not a move.
    pub(super) fn skip_moves<'a>(&'a self, mut id: &'a str) -> Option<&'a str> {
        while self.is_move(id) {
            id = self.parent(id)?;
        }
        Some(id)
    }

    /// Whether the entry or an ancestor was deleted with its branch.
    pub(super) fn is_deleted(&self, id: &str) -> bool {
        let mut at = Some(id);
        let mut steps = 0;
        while let Some(id) = at.filter(|_| steps <= self.entries.len()) {
            if self.deleted.contains(id) {
                return true;
            }
            at = self.parent(id);
            steps += 1;
        }
        false
    }

    /// The ids a user could choose: not deleted, and not a move.
    pub(super) fn targets(&self) -> Vec<&str> {
        let ids = self.entries.iter().filter_map(|entry| entry["id"].as_str());
        ids.filter(|id| !self.is_move(id) && !self.is_deleted(id)).collect()
    }

    fn parent(&self, id: &str) -> Option<&str> {
        self.entry(id)?["parentId"].as_str()
    }
}

fn deleted(entries: &[Value]) -> HashSet<String> {
    let mut deleted = HashSet::new();
    for entry in entries {
        let Some(target) = entry["data"]["targetId"].as_str() else { continue };
        if entry["customType"] == "osier.delete_branch" {
            deleted.insert(target.to_owned());
        } else if entry["customType"] == "osier.restore_branch" {
            deleted.remove(target);
        }
    }
    deleted
}
