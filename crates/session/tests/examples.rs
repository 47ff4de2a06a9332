//! Runs the programs in `examples/` and checks their output.

#[path = "../examples/append_and_label.rs"]
#[allow(dead_code)]
mod append_and_label;
#[path = "../examples/open_and_walk.rs"]
#[allow(dead_code)]
mod open_and_walk;
#[path = "../examples/own_projection.rs"]
#[allow(dead_code)]
mod own_projection;
#[path = "../examples/two_writers.rs"]
#[allow(dead_code)]
mod two_writers;

use std::path::PathBuf;

use expect_test::{Expect, expect};
use tempfile::TempDir;

/// Two branches, of which the second is the active one.
const SESSION: &str = r#"{"type":"session","version":3,"id":"example","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/here"}
{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"Where does this lead?","timestamp":1767225601000}}
{"type":"message","id":"00000002","parentId":"00000001","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Nowhere."}],"stopReason":"stop","timestamp":1767225602000}}
{"type":"message","id":"00000003","parentId":"00000001","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"assistant","content":[{"type":"text","text":"To the river, I think."}],"stopReason":"stop","timestamp":1767225603000}}
"#;

fn session_file() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("session.jsonl");
    std::fs::write(&file, SESSION).expect("a file");
    (folder, file)
}

fn check(out: Vec<u8>, expected: Expect) {
    expected.assert_eq(&String::from_utf8(out).expect("text"));
}

#[tokio::test]
async fn an_entry_is_appended_and_labeled() {
    let (folder, mut out) = (tempfile::tempdir().unwrap(), Vec::new());
    append_and_label::run(folder.path(), &mut out).await.unwrap();
    check(
        out,
        expect![[r#"
        3 entries
        the answer is below the question: true
        its label: good advice
        4 lines in the file, the header first
    "#]],
    );
}

#[tokio::test]
async fn a_file_is_read_and_not_changed() {
    let ((_folder, file), mut out) = (session_file(), Vec::new());
    open_and_walk::run(&file, &mut out).await.unwrap();
    check(
        out,
        expect![[r#"
        path:
          00000001  user: "Where does this lead?"
          00000003  assistant: "To the river, I think."
        context: 2 messages, 201 bytes
    "#]],
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), SESSION);
}

#[tokio::test]
async fn two_writers_make_two_branches() {
    let (folder, mut out) = (tempfile::tempdir().unwrap(), Vec::new());
    two_writers::run(folder.path(), &mut out).await.unwrap();
    check(
        out,
        expect![[r#"
        [crossroads] user: "Which way?"
        ├─ assistant: "The left one."
        └─ assistant: "The right one."  ← active
    "#]],
    );
}

#[tokio::test]
async fn a_custom_projection_reads_only_the_path() {
    let ((_folder, file), mut out) = (session_file(), Vec::new());
    own_projection::run(&file, &mut out).await.unwrap();
    check(
        out,
        expect![[r#"
        assistant: 5 words
        user: 4 words
    "#]],
    );
}
