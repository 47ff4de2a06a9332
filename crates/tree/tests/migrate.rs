//! Migrating logs of pi's versions 1 and 2 gives the same result as pi, except for ids, and the same in every run.
#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

use std::collections::BTreeSet;
use std::path::Path;

use osier_testkit::random_logs;
use osier_tree::Header;
use osier_tree::entry::{ParsedLine, parse_entry, parse_line};
use osier_tree::migrate::migrate;
use osier_tree::scan::RawJson;
use proptest::prelude::*;
use serde_json::{Value, json};

fn fixture(name: &str) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pi").join(name);
    let file = std::fs::read(&path).unwrap();
    file.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

fn migrated(lines: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let header = Header::from_raw(RawJson::parse(&lines[0]).unwrap()).unwrap();
    let lines: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
    migrate(&header, &lines)
}

/// A version 1 log with a header.
fn version_1_log(lines: &[Value]) -> Vec<Vec<u8>> {
    let header = json!({ "type": "session", "id": "old", "cwd": "/x" });
    std::iter::once(&header).chain(lines).map(|line| line.to_string().into_bytes()).collect()
}

fn values(lines: &[Vec<u8>]) -> Vec<Value> {
    lines.iter().map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// Replaces ids with line numbers, so that logs with different ids can be compared.
fn with_numbers(lines: &[Vec<u8>]) -> Vec<Value> {
    let mut values = values(lines);
    let ids: Vec<Value> = values.iter().map(|line| line["id"].clone()).collect();
    let number = |id: &Value| ids.iter().position(|other| other == id).map_or(Value::Null, |at| json!(at));
    for value in &mut values[1..] {
        for key in ["id", "parentId", "firstKeptEntryId"] {
            if let Some(id) = value.get_mut(key) {
                *id = number(id);
            }
        }
    }
    values
}

#[test]
fn a_version_1_log_migrates_as_in_pi() {
    let ours = with_numbers(&migrated(&fixture("v1-linear.jsonl")));
    for pi in ["v3-0.58.3-v1-migrated.jsonl", "v3-1.5.0-v1-migrated.jsonl"] {
        assert_eq!(ours, with_numbers(&fixture(pi)), "{pi}");
    }
}

#[test]
fn new_fields_come_last_and_the_others_keep_their_bytes() {
    let old = fixture("v1-linear.jsonl");
    let new = migrated(&old);
    let prefix = |line: &[u8]| line[..line.len() - 1].to_vec();
    for at in [1, 2, 3, 5, 6, 8, 9] {
        assert!(new[at].starts_with(&prefix(&old[at])), "{}", String::from_utf8_lossy(&new[at]));
    }
    assert!(new[0].starts_with(&prefix(&old[0])) && new[0].ends_with(br#","version":3}"#));
}

#[test]
fn in_version_2_only_the_hook_role_changes() {
    let old = fixture("v3-1.5.0-v1-migrated.jsonl");
    let text = |line: &[u8]| String::from_utf8(line.to_vec()).unwrap();
    let version_2: Vec<Vec<u8>> = old
        .iter()
        .map(|line| {
            text(line)
                .replace("\"version\":3", "\"version\":2")
                .replace("\"role\":\"custom\"", "\"role\":\"hookMessage\"")
        })
        .map(String::into_bytes)
        .collect();
    assert_eq!(migrated(&version_2), old);
}

#[test]
fn a_compaction_keeps_the_line_that_its_index_refers_to() {
    let kept = |index: Value| {
        let compaction = json!({ "type": "compaction", "summary": "s", "firstKeptEntryIndex": index });
        let message = json!({ "type": "message", "message": { "role": "user", "content": "x" } });
        let mut lines = version_1_log(&[message.clone(), message.clone(), compaction, message]);
        // Lines that pi cannot parse, and `null`, are not counted.
        lines.insert(2, b"null".to_vec());
        lines.insert(2, b"{\"type\":\"mess".to_vec());
        let new = migrated(&lines);
        let compaction: Value = serde_json::from_slice(&new[5]).unwrap();
        let id = compaction.get("firstKeptEntryId").cloned();
        let place = id
            .map(|id| new.iter().position(|line| parse_entry(line).is_ok_and(|entry| json!(entry.id) == id)));
        (place, compaction.get("firstKeptEntryIndex").cloned())
    };
    assert_eq!(kept(json!(1)), (Some(Some(1)), None));
    assert_eq!(kept(json!(2)), (Some(Some(4)), None));
    assert_eq!(kept(json!(3)), (Some(Some(5)), None), "itself");
    for nothing in [json!(0), json!(4), json!(9), json!(-1), json!(1.5), json!(1e300)] {
        assert_eq!(kept(nothing.clone()), (None, None), "{nothing}");
    }
    assert_eq!(kept(json!("1")), (None, Some(json!("1"))), "not a number, so not an index");
}

/// Turns a newer log into a version 1 log by removing ids.
fn older(lines: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let old = lines.iter().map(|line| match serde_json::from_slice::<Value>(line) {
        Ok(Value::Object(mut object)) => {
            object.retain(|key, _| !matches!(key.as_str(), "id" | "parentId"));
            Value::Object(object).to_string().into_bytes()
        }
        _ => line.clone(),
    });
    version_1_log(&[]).into_iter().chain(old).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_object_becomes_an_entry_below_the_previous_one(log in random_logs(true, 0..60)) {
        let old = older(&log.lines);
        let new = migrated(&old);
        prop_assert_eq!(new.len(), old.len());
        let mut previous = None;
        let mut ids = BTreeSet::new();
        for (old, new) in old.iter().zip(&new).skip(1) {
            match parse_line(new) {
                ParsedLine::Entry(entry) => {
                    prop_assert_eq!(entry.parent.as_deref(), previous.as_deref());
                    prop_assert!(entry.id.len() == 8 && entry.id.bytes().all(|byte| byte.is_ascii_hexdigit()));
                    prop_assert!(ids.insert(entry.id.to_string()), "{} twice", entry.id);
                    previous = Some(entry.id.into_owned());
                }
                ParsedLine::Header(_) => {}
                ParsedLine::Invalid(_) | ParsedLine::Blank => prop_assert_eq!(old, new),
            }
        }
    }

    #[test]
    fn appending_to_an_old_log_does_not_change_earlier_entries(log in random_logs(true, 0..60), cut in 0usize..60) {
        let old = older(&log.lines);
        let cut = 1 + cut.min(old.len() - 1);
        prop_assert_eq!(&migrated(&old)[..cut], &migrated(&old[..cut])[..]);
    }

    #[test]
    fn a_migrated_log_has_the_current_version(log in random_logs(true, 0..60)) {
        let new = migrated(&older(&log.lines));
        prop_assert_eq!(Header::from_raw(RawJson::parse(&new[0]).unwrap()).unwrap().version, 3);
        prop_assert_eq!(migrated(&new), new);
    }
}
