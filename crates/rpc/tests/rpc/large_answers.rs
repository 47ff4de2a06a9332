//! Long sessions and unusual entries: answers and events contain them as they are stored.

use std::fmt::Write;

use serde_json::json;

use crate::support::TestProgram;

/// A session file that is one chain of messages.
fn chain(entries: usize) -> String {
    let mut log = r#"{"type":"session","version":3,"id":"0c4e3a51-6f0d-4f9c-8f55-0a8f6f0c7a11","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/here"}"#.to_owned();
    for number in 0..entries {
        let parent = match number {
            0 => "null".to_owned(),
            _ => format!("\"{:08x}\"", number - 1),
        };
        write!(
            log,
            "\n{{\"type\":\"message\",\"id\":\"{number:08x}\",\"parentId\":{parent},\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"m\",\"timestamp\":1}}}}"
        )
        .unwrap();
    }
    log + "\n"
}

#[tokio::test]
async fn the_tree_of_a_session_is_as_deep_as_the_session_is_long() {
    for entries in [200, 10_000] {
        let mut program = TestProgram::start().await;
        let file = program.engine.folder().join("long.jsonl");
        std::fs::write(&file, chain(entries)).unwrap();
        program.data("switch_session", json!({ "sessionPath": file })).await;
        program.send(&json!({ "type": "get_tree" })).await;
        let line = program.next_line().await.unwrap();
        let start = r#"{"type":"response","command":"get_tree","success":true,"data":{"tree":[{"entry":{"#;
        assert!(line.starts_with(start), "{line:.200}");
        let leaf = format!(r#""leafId":"{:08x}"}}}}"#, entries - 1);
        assert!(line.ends_with(&leaf), "{}", &line[line.len() - 200..]);
        assert_eq!(line.matches(r#","children":["#).count(), entries);
        assert_eq!(program.data("get_state", json!({})).await["messageCount"], entries, "the server goes on");
    }
}

#[tokio::test]
async fn entries_are_written_as_they_are_stored_whatever_they_contain() {
    let mut program = TestProgram::start().await;
    let session = program.data("get_state", json!({})).await["sessionId"].as_str().unwrap().to_owned();
    let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    let details = format!(r#"{{"exact":1.00,"big":123456789012345678901234567890,"deep":{deep}}}"#);
    let entry = format!(
        r#"{{"type":"custom_message","id":"0000000a","customType":"x","content":"Hi","display":true,"details":{details}}}"#
    );
    program.engine.append_entry(&session, &entry).await;
    for event in ["message_start", "message_end"] {
        let line = program.next_line().await.unwrap();
        let start = format!(
            r#"{{"type":"{event}","message":{{"role":"custom","customType":"x","content":"Hi","display":true,"#
        );
        assert!(line.starts_with(&start) && line.contains(&details), "{line:.300}");
    }
    let compaction = format!(
        r#"{{"type":"compaction","id":"0000000b","summary":"S","firstKeptEntryId":"0000000a","tokensBefore":1,"details":{details}}}"#
    );
    program.engine.append_entry(&session, &compaction).await;
    program.send(&json!({ "type": "get_entries" })).await;
    let line = program.next_line().await.unwrap();
    assert!(line.starts_with(r#"{"type":"response","command":"get_entries","success":true"#), "{line:.300}");
    assert_eq!(line.matches(&details).count(), 2, "{line:.300}");
}
