//! What a stretch of conversation did to the world, from its recorded calls: files read, files changed, commands run. For
//! summaries, compactions and the notes of a backtrack. Pure; reads the records of pi as well as our own.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use crate::seen::{FilesRead, Stamp};

/// A call with its result, as the log has them.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a> {
    pub name: &'a str,
    pub arguments: &'a Value,
    /// Of the result, if there is one.
    pub details: Option<&'a Value>,
    /// The result is an error, or there is none.
    pub failed: bool,
}

impl<'a> Recorded<'a> {
    /// The file's own name, or the one the model used where the record is not ours.
    fn path(&self) -> Option<&'a str> {
        let own = self.details.and_then(|details| details.get("path"));
        own.or_else(|| self.arguments.get("path")).and_then(Value::as_str)
    }

    fn stamp(&self) -> Option<Stamp> {
        Stamp::deserialize(self.details?.get("stamp")?).ok()
    }

    fn is_change(&self) -> bool {
        matches!(self.name, "write" | "edit")
    }
}

/// A command that was run. Whether it worked or not, it may have done something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub command: String,
    /// Missing if it did not end by itself or the record does not say.
    pub exit_code: Option<i64>,
}

/// See the module. The lists of files are in order, each file once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Work {
    /// Read and not changed.
    pub read: Vec<String>,
    pub modified: Vec<String>,
    /// In the order in which they were run.
    pub commands: Vec<Command>,
}

/// Gathers the work of these calls, oldest first.
pub fn work_of<'a>(calls: impl IntoIterator<Item = Recorded<'a>>) -> Work {
    let (mut read, mut modified) = (BTreeSet::new(), BTreeSet::new());
    let mut commands = Vec::new();
    for call in calls {
        match call.path() {
            Some(path) if !call.failed && call.is_change() => drop(modified.insert(path)),
            Some(path) if !call.failed && call.name == "read" => drop(read.insert(path)),
            _ => {}
        }
        commands.extend(command(&call));
    }
    let owned = |paths: &mut dyn Iterator<Item = &&str>| paths.map(|path| (*path).to_owned()).collect();
    Work { read: owned(&mut read.difference(&modified)), modified: owned(&mut modified.iter()), commands }
}

/// A call that was refused ran nothing.
fn command(call: &Recorded<'_>) -> Option<Command> {
    let details = |key: &str| call.details.and_then(|details| details.get(key));
    if call.name != "bash" || details("denied").is_some() {
        return None;
    }
    let command = call.arguments.get("command")?.as_str()?.to_owned();
    let known = details("exitCode").and_then(Value::as_i64);
    Some(Command { command, exit_code: known.or_else(|| (!call.failed).then_some(0)) })
}

/// What the model knows of files after these calls, oldest first.
pub fn files_read<'a>(calls: impl IntoIterator<Item = Recorded<'a>>) -> FilesRead {
    let mut files = FilesRead::none();
    for call in calls {
        if let Some(path) = call.path()
            && !call.failed
            && (call.name == "read" || call.is_change())
        {
            files.insert(path, call.stamp());
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seen::Knowledge;
    use serde_json::json;

    fn stamp(hash: &str) -> Value {
        json!({ "size": 1, "mtimeMs": 1, "hash": hash })
    }

    fn calls(list: &[(&'static str, Value, Value, bool)]) -> Vec<Recorded<'static>> {
        let leaked: &'static [(&str, Value, Value, bool)] = Vec::leak(list.to_vec());
        let recorded = leaked.iter().map(|(name, arguments, details, failed)| Recorded {
            name,
            arguments,
            details: (!details.is_null()).then_some(details),
            failed: *failed,
        });
        recorded.collect()
    }

    #[test]
    fn files_are_listed_once_and_a_changed_file_only_as_changed() {
        let list = calls(&[
            ("read", json!({ "path": "b" }), json!(null), false),
            ("read", json!({ "path": "link" }), json!({ "path": "a", "link": "link" }), false),
            ("read", json!({ "path": "c" }), json!(null), false),
            ("edit", json!({ "path": "c" }), json!({ "path": "c" }), false),
            ("write", json!({ "path": "d" }), json!(null), true),
            ("read", json!({ "path": "gone" }), json!(null), true),
            ("grep", json!({ "path": "src" }), json!({ "path": "src" }), false),
            ("read", json!({}), json!(null), false),
        ]);
        let work = work_of(list);
        assert_eq!((work.read, work.modified), (vec!["a".into(), "b".into()], vec!["c".to_owned()]));
    }

    #[test]
    fn commands_that_ran_are_told_with_how_they_ended() {
        let list = calls(&[
            ("bash", json!({ "command": "ok" }), json!(null), false),
            ("bash", json!({ "command": "bad" }), json!({ "exitCode": 2 }), true),
            ("bash", json!({ "command": "slow" }), json!({ "timedOut": true }), true),
            ("bash", json!({ "command": "rm" }), json!({ "denied": true }), true),
        ]);
        let ran = work_of(list).commands.into_iter().map(|ran| (ran.command, ran.exit_code));
        let expected = [("ok", Some(0)), ("bad", Some(2)), ("slow", None)];
        assert_eq!(ran.collect::<Vec<_>>(), expected.map(|(command, code)| (command.to_owned(), code)));
    }

    #[test]
    fn what_is_known_of_a_file_is_what_was_seen_or_written_last() {
        let list = calls(&[
            ("read", json!({ "path": "a" }), json!({ "path": "a", "stamp": stamp("1") }), false),
            ("edit", json!({ "path": "a" }), json!({ "path": "a", "stamp": stamp("2") }), false),
            ("read", json!({ "path": "pi" }), json!(null), false),
        ]);
        let files = files_read(list);
        let now = |hash: &str| Stamp { size: 1, mtime_ms: 9, hash: Some(hash.into()) };
        assert_eq!(files.about("a", &now("2")), Knowledge::Current);
        assert_eq!(files.about("a", &now("1")), Knowledge::Stale);
        assert_eq!(files.about("pi", &now("1")), Knowledge::Current);
        assert_eq!(files.about("b", &now("1")), Knowledge::Unseen);
        assert_eq!(FilesRead::default().about("b", &now("1")), Knowledge::Current);
    }
}
