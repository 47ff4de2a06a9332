//! Forks: a path copied into a new session. Entries keep their ids and their bytes; only the parent is written anew where
//! labels, moves or settings were left out.

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value, json};

use crate::draft::{Draft, Under};
use crate::entry::{Entry, Kind};
use crate::fold::{Place, SessionTree};
use crate::heads::Seq;
use crate::projection::{Lines, context::with_field};
use crate::scan::{Raw, quote};
use crate::time::Millis;

impl SessionTree {
    /// The entries whose lines a fork at `at` needs.
    pub fn fork_entries(&self, at: Place) -> Vec<Seq> {
        let fork = Fork::new(self.clone(), at);
        fork.entries().into_iter().chain(fork.tail_entries()).collect()
    }

    /// The lines of a fork at `at`: the path, then what finished its batches, its labels, and the session's settings. `mint` makes ids that the given
    /// predicate does not refuse.
    pub fn fork(
        &self,
        at: Place,
        lines: &impl Lines,
        now: Millis,
        mint: impl FnMut(&dyn Fn(&str) -> bool) -> String,
    ) -> Vec<Vec<u8>> {
        let mut fork = Fork::new(self.clone(), at);
        let mut out = Vec::new();
        for seq in fork.entries() {
            if let Some(entry) = lines.entry(seq) {
                out.push(fork.line(seq, &entry));
            }
        }
        out.extend(fork.tail(lines, None, now, mint));
        out
    }
}

/// A fork that is written line by line, so that nobody has to hold the path: first [`Fork::line`] for each of
/// [`Fork::entries`], then [`Fork::tail`].
#[derive(Debug)]
pub struct Fork {
    tree: SessionTree,
    path: Vec<Seq>,
    /// How far the path was looked at.
    reached: usize,
    /// What was left out since the last line, and the entries that stand for what was left out before.
    dropped: Vec<Seq>,
    instead: FxHashMap<Seq, Seq>,
    written: FxHashSet<Seq>,
    last: Option<Seq>,
}

impl Fork {
    pub fn new(tree: SessionTree, at: Place) -> Fork {
        let path = tree.path(at);
        Fork {
            tree,
            path,
            reached: 0,
            dropped: Vec::new(),
            instead: FxHashMap::default(),
            written: FxHashSet::default(),
            last: None,
        }
    }

    /// The entries of the path that stay, oldest first.
    pub fn entries(&self) -> Vec<Seq> {
        self.path.iter().copied().filter(|seq| stays(self.tree.head(*seq).kind)).collect()
    }

    /// The entries whose lines [`Fork::tail`] needs.
    pub fn tail_entries(&self) -> Vec<Seq> {
        self.tree.marks().updates().into_iter().map(|(_, seq)| seq).collect()
    }

    /// The line of an entry, below the one before it.
    pub fn line(&mut self, seq: Seq, entry: &Entry<'_>) -> Vec<u8> {
        while let Some(next) = self.path.get(self.reached).copied() {
            self.reached += 1;
            if next == seq {
                break;
            }
            if !stays(self.tree.head(next).kind) {
                self.dropped.push(next);
            }
        }
        self.instead.extend(self.dropped.drain(..).map(|dropped| (dropped, seq)));
        let head = self.tree.head(seq);
        let kept_from = head.target.filter(|_| head.kind == Kind::Compaction);
        let kept_from = kept_from.and_then(|target| self.instead.get(&target));
        let id = |seq: Seq| self.tree.id(seq).to_string();
        let (parent, kept_from) = (self.last.map(id), kept_from.map(|seq| id(*seq)));
        self.last = Some(seq);
        self.written.insert(seq);
        rechain(entry, parent.as_deref(), kept_from.as_deref())
    }

    /// The lines behind the path: what finished its batches, its labels, the session's settings, and a name.
    pub fn tail(
        self,
        lines: &impl Lines,
        name: Option<&str>,
        now: Millis,
        mut mint: impl FnMut(&dyn Fn(&str) -> bool) -> String,
    ) -> Vec<Vec<u8>> {
        let Fork { tree, written, last, .. } = self;
        let marks = tree.marks();
        let is_written = |id: &str| tree.find(id).is_some_and(|seq| written.contains(&seq));
        let mut drafts: Vec<(Draft, Millis)> = Vec::new();
        for (target, update) in marks.updates() {
            if let Some(entry) = lines.entry(update).filter(|_| is_written(target)) {
                let draft = Draft::of_object(Kind::EntryUpdate, Under::Log, entry.object());
                drafts.push((draft, entry.time.unwrap_or(now)));
            }
        }
        for (target, label) in marks.labels().into_iter().filter(|(target, _)| is_written(target)) {
            let draft =
                Draft::new(Kind::Label, Under::Log).with("targetId", target).with("label", &label.text);
            drafts.push((draft, tree.head(label.set_by).time().unwrap_or(now)));
        }
        let of_fork = |key: &&String| !OF_ONE_SESSION.contains(&key.as_str());
        let set = marks.settings().iter().filter(|(key, _)| of_fork(key));
        let set: Map<String, Value> = set.map(|(key, value)| (key.clone(), value.clone())).collect();
        if !set.is_empty() {
            let data = json!({ "set": set, "unset": [] });
            drafts.push((Draft::new(Kind::Config, Under::Log).with_value("data", &data), now));
        }
        drafts.extend(name.map(|name| (tree.plan_name(name), now)));
        let mut last = last.map(|seq| tree.id(seq).to_string());
        let mut new: FxHashSet<String> = FxHashSet::default();
        let mut out = Vec::with_capacity(drafts.len());
        for (draft, time) in drafts {
            let id = mint(&|id| is_written(id) || new.contains(id));
            out.push(draft.line(&id, last.as_deref(), time));
            new.insert(id.clone());
            last = Some(id);
        }
        out
    }
}

/// Settings that a fork does not take along: what was allowed in one session is allowed nowhere else, and what waits to be
/// said there is said there.
const OF_ONE_SESSION: [&str; 6] = ["approvalMode", "approvalTools", "queue", "status", "cwd", "agentId"];

/// What a fork takes along from a path. Labels and settings are written anew behind it.
fn stays(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::Label
            | Kind::Leaf
            | Kind::Config
            | Kind::DeleteBranch
            | Kind::RestoreBranch
            | Kind::EntryUpdate
    )
}

/// A copy of a line below another parent, byte for byte the same elsewhere.
pub fn rechain(entry: &Entry<'_>, parent: Option<&str>, first_kept: Option<&str>) -> Vec<u8> {
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
        Some(text) => quote(text, &mut value),
        None => value.extend_from_slice(b"null"),
    }
    splice(line, key, &value)
}

/// A copy of a line with one member's value exchanged in place.
pub(crate) fn splice(line: &[u8], key: &str, value: &[u8]) -> Vec<u8> {
    let Ok(object) = Raw::parse(line) else { return line.to_vec() };
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
    use crate::entry::read_entry;

    #[test]
    fn a_line_below_another_parent_is_otherwise_untouched() {
        let line = br#"{ "type":"message","id":"b","odd" : [1.0,"\u00e9"],"parentId":"a","message":{"role":"user"} }"#;
        let entry = read_entry(line).unwrap();
        let expected =
            String::from_utf8(line.to_vec()).unwrap().replace(r#""parentId":"a""#, r#""parentId":null"#);
        assert_eq!(String::from_utf8(rechain(&entry, None, None)).unwrap(), expected);
        assert_eq!(rechain(&entry, Some("a"), None), line);
    }
}
