//! What a fork copies.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use osier_tree::entry::parse_entry;
use osier_tree::{EntryKind, SessionTree};

fn fork(lines: &[&str]) -> Vec<String> {
    let lines: Vec<Vec<u8>> = lines.iter().map(|line| line.as_bytes().to_vec()).collect();
    let mut tree = SessionTree::default();
    tree.extend(lines.iter().map(|line| (parse_entry(line).unwrap(), 0, 0)));
    let mut count = 0;
    let forked = tree.fork(tree.leaf(), &lines, 0, |_| {
        count += 1;
        format!("new{count:05}")
    });
    forked.into_iter().map(|line| String::from_utf8(line).unwrap()).collect()
}

#[test]
fn fork_copies_the_update_of_a_finished_sub_agent_batch() {
    let lines = fork(&[
        r#"{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"x"}}"#,
        r#"{"type":"subagent_batch","id":"00000002","parentId":"00000001","timestamp":"2026-01-01T00:00:01.000Z","content":{"status":"running"}}"#,
        r#"{"type":"custom","id":"00000003","parentId":"00000002","timestamp":"2026-01-01T00:00:02.000Z","customType":"osier.entry_update","data":{"targetId":"00000002","status":"completed","payload":1}}"#,
    ]);
    assert_eq!(lines.len(), 3);
    let update = parse_entry(lines[2].as_bytes()).unwrap();
    assert_eq!((update.kind, update.parent.as_deref()), (EntryKind::EntryUpdate, Some("00000002")));
    assert!(lines[2].contains(r#""status":"completed","payload":1"#), "{}", lines[2]);
}
