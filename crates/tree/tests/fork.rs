//! What a fork takes along.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use osier_tree::entry::read_entry;
use osier_tree::{Kind, SessionTree};

fn fork(lines: &[&str]) -> Vec<String> {
    let lines: Vec<Vec<u8>> = lines.iter().map(|line| line.as_bytes().to_vec()).collect();
    let mut tree = SessionTree::default();
    tree.extend(lines.iter().map(|line| (read_entry(line).unwrap(), 0, 0)));
    let mut count = 0;
    let forked = tree.fork(tree.leaf(), &lines, 0, |_| {
        count += 1;
        format!("new{count:05}")
    });
    forked.into_iter().map(|line| String::from_utf8(line).unwrap()).collect()
}

#[test]
fn a_finished_batch_of_sub_agents_is_finished_in_the_fork_too() {
    let lines = fork(&[
        r#"{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"x"}}"#,
        r#"{"type":"subagent_batch","id":"00000002","parentId":"00000001","timestamp":"2026-01-01T00:00:01.000Z","content":{"status":"running"}}"#,
        r#"{"type":"custom","id":"00000003","parentId":"00000002","timestamp":"2026-01-01T00:00:02.000Z","customType":"osier.entry_update","data":{"targetId":"00000002","status":"completed","payload":1}}"#,
    ]);
    assert_eq!(lines.len(), 3);
    let update = read_entry(lines[2].as_bytes()).unwrap();
    assert_eq!((update.kind, update.parent.as_deref()), (Kind::EntryUpdate, Some("00000002")));
    assert!(lines[2].contains(r#""status":"completed","payload":1"#), "{}", lines[2]);
}
