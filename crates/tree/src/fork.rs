//! Forks: a path copied into a new session. Entries keep their ids and their bytes; only the parent is replaced where
//! labels, moves or settings are left out.

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value, json};

use crate::draft::{DraftParent, EntryDraft};
use crate::entry::{Entry, EntryKind};
use crate::fold::{Place, SessionTree};
use crate::heads::Seq;
use crate::projection::{Lines, context::with_field};
use crate::scan::{RawJson, write_json_string};
use crate::time::Millis;

impl SessionTree {
    /// The entries whose lines a fork at `at` needs.
    pub fn fork_entries(&self, at: Place) -> Vec<Seq> {
        let fork = ForkWriter::new(self.clone(), at);
        fork.entries().into_iter().chain(fork.tail_entries()).collect()
    }

    /// The lines of a fork at `at`: the path, then the updates of its sub-agent batches, its labels, and the session's
    /// settings. `new_id` returns an id that the given predicate does not report as taken
    pub fn fork(
        &self,
        at: Place,
        lines: &impl Lines,
        now: Millis,
        new_id: impl FnMut(&dyn Fn(&str) -> bool) -> String,
    ) -> Vec<Vec<u8>> {
        let mut fork = ForkWriter::new(self.clone(), at);
        let mut out = Vec::new();
        for seq in fork.entries() {
            if let Some(entry) = lines.entry(seq) {
                out.push(fork.line(seq, &entry));
            }
        }
        out.extend(fork.tail(lines, None, now, new_id));
        out
    }
}

/// Produces a fork line by line, so that the lines of the path are never all in memory: first `line` for each of
/// `entries`, then `tail`.
#[derive(Debug)]
pub struct ForkWriter {
    tree: SessionTree,
    path: Vec<Seq>,
    /// The number of entries of the path that are processed.
    processed: usize,
    /// The entries left out since the last line.
    dropped: Vec<Seq>,
    /// For each entry left out earlier, the next entry that was copied.
    replacements: FxHashMap<Seq, Seq>,
    /// For each entry, whether it was copied.
    written: Vec<bool>,
    last: Option<Seq>,
}

impl ForkWriter {
    pub fn new(tree: SessionTree, at: Place) -> ForkWriter {
        let (path, written) = (tree.path(at), vec![false; tree.len()]);
        ForkWriter {
            tree,
            path,
            processed: 0,
            dropped: Vec::new(),
            replacements: FxHashMap::default(),
            written,
            last: None,
        }
    }

    /// The entries of the path that are copied, oldest first.
    pub fn entries(&self) -> Vec<Seq> {
        self.path.iter().copied().filter(|seq| is_copied(self.tree.head(*seq).kind)).collect()
    }

    /// The entries whose lines `tail` needs.
    pub fn tail_entries(&self) -> Vec<Seq> {
        self.tree.marks().updates().into_iter().map(|(_, seq)| seq).collect()
    }

    /// The line of an entry, with the entry copied before it as its parent.
    pub fn line(&mut self, seq: Seq, entry: &Entry<'_>) -> Vec<u8> {
        while let Some(next) = self.path.get(self.processed).copied() {
            self.processed += 1;
            if next == seq {
                break;
            }
            if !is_copied(self.tree.head(next).kind) {
                self.dropped.push(next);
            }
        }
        self.replacements.extend(self.dropped.drain(..).map(|dropped| (dropped, seq)));
        let head = self.tree.head(seq);
        let kept_from = head.target.filter(|_| head.kind == EntryKind::Compaction);
        let kept_from = kept_from.and_then(|target| self.replacements.get(&target));
        let id = |seq: Seq| self.tree.id(seq).to_string();
        let (parent, kept_from) = (self.last.map(id), kept_from.map(|seq| id(*seq)));
        self.last = Some(seq);
        self.written[seq.index()] = true;
        with_parent(entry, parent.as_deref(), kept_from.as_deref())
    }

    /// The lines after the path: the updates of its sub-agent batches, its labels, the session's settings, and a name.
    pub fn tail(
        self,
        lines: &impl Lines,
        name: Option<&str>,
        now: Millis,
        mut new_id: impl FnMut(&dyn Fn(&str) -> bool) -> String,
    ) -> Vec<Vec<u8>> {
        let ForkWriter { tree, written, last, .. } = self;
        let marks = tree.marks();
        let is_written = |id: &str| tree.find(id).is_some_and(|seq| written[seq.index()]);
        let mut drafts: Vec<(EntryDraft, Millis)> = Vec::new();
        for (target, update) in marks.updates() {
            if let Some(entry) = lines.entry(update).filter(|_| is_written(target)) {
                let draft =
                    EntryDraft::from_object(EntryKind::EntryUpdate, DraftParent::CurrentLeaf, entry.object());
                drafts.push((draft, entry.time.unwrap_or(now)));
            }
        }
        for (target, label) in marks.labels().into_iter().filter(|(target, _)| is_written(target)) {
            let draft = EntryDraft::new(EntryKind::Label, DraftParent::CurrentLeaf)
                .with("targetId", target)
                .with("label", &label.text);
            drafts.push((draft, tree.head(label.set_by).time().unwrap_or(now)));
        }
        let is_copied = |key: &&String| !SESSION_ONLY_SETTINGS.contains(&key.as_str());
        let set = marks.settings().iter().filter(|(key, _)| is_copied(key));
        let set: Map<String, Value> = set.map(|(key, value)| (key.clone(), value.clone())).collect();
        if !set.is_empty() {
            let data = json!({ "set": set, "unset": [] });
            drafts.push((
                EntryDraft::new(EntryKind::Config, DraftParent::CurrentLeaf).with_value("data", &data),
                now,
            ));
        }
        drafts.extend(name.map(|name| (tree.plan_name(name), now)));
        let mut last = last.map(|seq| tree.id(seq).to_string());
        let mut new: FxHashSet<String> = FxHashSet::default();
        let mut out = Vec::with_capacity(drafts.len());
        for (draft, time) in drafts {
            let id = new_id(&|id| is_written(id) || new.contains(id));
            out.push(draft.to_line(&id, last.as_deref(), time));
            new.insert(id.clone());
            last = Some(id);
        }
        out
    }
}

/// Settings that a fork does not copy: approvals are valid in one session only, and queued prompts, status, folder and
/// agent belong to the original session.
const SESSION_ONLY_SETTINGS: [&str; 6] =
    ["approvalMode", "approvalTools", "queue", "status", "cwd", "agentId"];

/// Whether a fork copies entries of this kind from the path. Labels, settings and updates are written again after it.
fn is_copied(kind: EntryKind) -> bool {
    !matches!(
        kind,
        EntryKind::Label
            | EntryKind::Leaf
            | EntryKind::Config
            | EntryKind::DeleteBranch
            | EntryKind::RestoreBranch
            | EntryKind::EntryUpdate
            | EntryKind::ExploreTry
    )
}

/// A copy of a line with another parent and, if given, another `firstKeptEntryId`. All other bytes stay the same.
pub fn with_parent(entry: &Entry<'_>, parent: Option<&str>, first_kept: Option<&str>) -> Vec<u8> {
    let mut line = entry.line.to_vec();
    if entry.parent.as_deref() != parent {
        line = with_text(&line, "parentId", parent);
    }
    match first_kept {
        Some(first_kept) => with_text(&line, "firstKeptEntryId", Some(first_kept)),
        None => line,
    }
}

fn with_text(line: &[u8], key: &str, text: Option<&str>) -> Vec<u8> {
    let mut value = Vec::new();
    match text {
        Some(text) => write_json_string(text, &mut value),
        None => value.extend_from_slice(b"null"),
    }
    replace_member(line, key, &value)
}

/// A copy of a line with the value of one member replaced in place.
pub(crate) fn replace_member(line: &[u8], key: &str, value: &[u8]) -> Vec<u8> {
    let Ok(object) = RawJson::parse(line) else { return line.to_vec() };
    match object.get(key) {
        None => with_field(object, key, value),
        Some(old) => {
            let start = old.bytes().as_ptr() as usize - line.as_ptr() as usize;
            [&line[..start], value, &line[start + old.bytes().len()..]].concat()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::parse_entry;

    #[test]
    fn changing_the_parent_keeps_all_other_bytes() {
        let line = br#"{ "type":"message","id":"b","odd" : [1.0,"\u00e9"],"parentId":"a","message":{"role":"user"} }"#;
        let entry = parse_entry(line).unwrap();
        let expected =
            String::from_utf8(line.to_vec()).unwrap().replace(r#""parentId":"a""#, r#""parentId":null"#);
        assert_eq!(String::from_utf8(with_parent(&entry, None, None)).unwrap(), expected);
        assert_eq!(with_parent(&entry, Some("a"), None), line);
    }
}
