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
        let updates = self.marks().updates().into_iter().map(|(_, seq)| seq);
        self.path(at).into_iter().filter(|seq| stays(self.head(*seq).kind)).chain(updates).collect()
    }

    /// The lines of a fork at `at`: the path, then what finished its batches, its labels, and the session's settings. `mint` makes ids that the given
    /// predicate does not refuse.
    pub fn fork(
        &self,
        at: Place,
        lines: &impl Lines,
        now: Millis,
        mut mint: impl FnMut(&dyn Fn(&str) -> bool) -> String,
    ) -> Vec<Vec<u8>> {
        let mut taken: FxHashSet<String> = FxHashSet::default();
        let mut out = Vec::new();
        let mut last: Option<String> = None;
        for line in self.rechained(at, lines) {
            taken.insert(line.0.clone());
            last = Some(line.0);
            out.push(line.1);
        }
        let mut add = |draft: Draft, time: Millis, taken: &mut FxHashSet<String>| {
            let id = mint(&|id| taken.contains(id));
            out.push(draft.line(&id, last.as_deref(), time));
            taken.insert(id.clone());
            last = Some(id);
        };
        for (target, update) in self.marks().updates() {
            if let Some(entry) = lines.entry(update).filter(|_| taken.contains(target)) {
                let draft = Draft::of_object(Kind::EntryUpdate, Under::Log, entry.object());
                add(draft, entry.time.unwrap_or(now), &mut taken);
            }
        }
        for (target, label) in self.marks().labels() {
            if taken.contains(target) {
                let draft =
                    Draft::new(Kind::Label, Under::Log).with("targetId", target).with("label", &label.text);
                add(draft, self.head(label.set_by).time().unwrap_or(now), &mut taken);
            }
        }
        let set: Map<String, Value> = self.marks().settings().clone().into_iter().collect();
        let set: Map<String, Value> =
            set.into_iter().filter(|(key, _)| !OF_ONE_SESSION.contains(&key.as_str())).collect();
        if !set.is_empty() {
            let draft =
                Draft::new(Kind::Config, Under::Log).with_value("data", &json!({ "set": set, "unset": [] }));
            add(draft, now, &mut taken);
        }
        out
    }

    /// The path without what does not stay, each entry below the one before it.
    fn rechained(&self, at: Place, lines: &impl Lines) -> Vec<(String, Vec<u8>)> {
        let mut out: Vec<(String, Vec<u8>)> = Vec::new();
        let mut dropped: Vec<Seq> = Vec::new();
        let mut instead: FxHashMap<Seq, String> = FxHashMap::default();
        for seq in self.path(at) {
            let head = self.head(seq);
            if !stays(head.kind) {
                dropped.push(seq);
                continue;
            }
            let Some(entry) = lines.entry(seq) else { continue };
            let id = self.id(seq).to_string();
            instead.extend(dropped.drain(..).map(|dropped| (dropped, id.clone())));
            let kept_from =
                head.target.filter(|_| head.kind == Kind::Compaction).and_then(|target| instead.get(&target));
            let parent = out.last().map(|(id, _)| id.as_str());
            let line = rechain(&entry, parent, kept_from.map(String::as_str));
            out.push((id, line));
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
