//! External entries, provided as JSON.

use osier_session::{CommitOutcome, Session, SessionError, StoredEntry};
use osier_tree::PlanError;

use crate::support::{empty, env, exchange, id, memory, open, stale, stored, text_at};

async fn append(session: &Session, object: &str) -> StoredEntry {
    stored(session.append_entry(object.as_bytes()).await)
}

fn line(stored: &StoredEntry) -> String {
    String::from_utf8(stored.line.bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn missing_fields_are_filled_in() {
    let session = empty(&memory(), env("a")).await;
    exchange(&session.main_cursor(), "hello").await;
    let added = append(&session, r#"{"x":1.0,"type":"new kind"}"#).await;
    assert_eq!(
        line(&added),
        r#"{"type":"new kind","id":"a0000003","parentId":"a0000002","timestamp":"2026-01-01T00:00:02.000Z","x":1.0}"#
    );
    assert_eq!(id(&session, session.main_cursor().position()), "a0000003");
}

#[tokio::test]
async fn provided_fields_are_kept_byte_for_byte() {
    let session = empty(&memory(), env("a")).await;
    let given = r#"{ "x" : [1.0, "\u00e9"],"type":"custom","customType":"c","id":"mine","parentId":null,"timestamp":"2026-01-02T03:04:05+01:00"}"#;
    assert_eq!(line(&append(&session, given).await), given);
    let partly =
        append(&session, r#"{"type":"custom","timestamp":"2026-01-02T03:04:05+01:00","parentId":"mine"}"#)
            .await;
    assert_eq!(
        line(&partly),
        r#"{"type":"custom","id":"a0000001","parentId":"mine","timestamp":"2026-01-02T03:04:05+01:00"}"#
    );
}

#[tokio::test]
async fn an_entry_of_many_lines_is_stored_on_one() {
    let session = empty(&memory(), env("a")).await;
    let added = append(&session, "{\n \"type\": \"custom\",\r\n \"id\": \"x\",\n\"parentId\": null, \"timestamp\": \"2026-01-02T03:04:05Z\", \"data\": {\n}}\n").await;
    assert!(!line(&added).contains(['\n', '\r']), "{}", line(&added));
    let message =
        append(&session, "{\"type\":\"message\",\"message\":{\n\"role\":\"user\",\n\"content\":\"a\\nb\"}}")
            .await;
    assert!(!line(&message).contains('\n') && line(&message).contains(r"a\nb"), "{}", line(&message));
}

#[tokio::test]
async fn appending_the_same_entry_again_writes_nothing() {
    let store = memory();
    let session = empty(&store, env("a")).await;
    let given = r#"{"type":"custom","id":"mine","customType":"c"}"#;
    let first = append(&session, given).await;
    exchange(&session.main_cursor(), "hello").await;
    for session in [&session, &open(&store, env("b")).await] {
        let repeated = append(session, given).await;
        assert!(repeated.existed);
        assert_eq!((repeated.seq, &repeated.line), (first.seq, &first.line));
        assert_eq!(session.version().entries, 3);
    }
}

#[tokio::test]
async fn another_entry_with_the_same_id_is_refused() {
    let store = memory();
    let session = empty(&store, stale("a")).await;
    let late = open(&store, stale("b")).await;
    append(&session, r#"{"type":"custom","id":"mine","customType":"c","parentId":null}"#).await;
    for other in [
        r#"{"type":"custom","id":"mine","customType":"d"}"#,
        r#"{"type":"custom","id":"mine","customType":"c","timestamp":"2026-01-02T03:04:05.000Z"}"#,
    ] {
        for session in [&session, &late] {
            let refused = session.append_entry(other.as_bytes()).await;
            assert!(matches!(refused, Err(SessionError::EntryConflict { id }) if id == "mine"));
            assert_eq!(session.refresh().await.unwrap().entries, 1);
        }
    }
    append(&session, r#"{"type":"custom","id":"below","parentId":"mine"}"#).await;
    let elsewhere = session.append_entry(br#"{"type":"custom","id":"below","parentId":null}"#).await;
    assert!(
        matches!(elsewhere, Err(SessionError::EntryConflict { .. })),
        "the same entry with another parent"
    );
}

#[tokio::test]
async fn an_unknown_parent_is_refused_and_nothing_is_written() {
    let session = empty(&memory(), env("a")).await;
    for parent in ["missing", "self"] {
        let object = format!(r#"{{"type":"custom","id":"self","parentId":"{parent}"}}"#);
        let refused = session.append_entry(object.as_bytes()).await;
        assert!(matches!(refused, Err(SessionError::ParentNotFound { id }) if id == parent));
    }
    assert_eq!(session.version().entries, 0);
}

#[tokio::test]
async fn a_parent_that_another_process_just_wrote_is_found() {
    let store = memory();
    let session = empty(&store, stale("a")).await;
    let other = open(&store, stale("b")).await;
    append(&other, r#"{"type":"custom","id":"theirs"}"#).await;
    let added = append(&session, r#"{"type":"custom","parentId":"theirs"}"#).await;
    assert_eq!(session.tree().head(added.seq).parent, session.tree().find("theirs"));
}

#[tokio::test]
async fn an_entry_can_have_any_parent() {
    let session = empty(&memory(), env("a")).await;
    let (prompt, _) = exchange(&session.main_cursor(), "hello").await;
    append(
        &session,
        r#"{"type":"message","parentId":"a0000001","message":{"role":"assistant","content":"else"}}"#,
    )
    .await;
    assert_eq!(text_at(&session.main_cursor()).await, "assistant: else");
    assert_eq!(session.tree().children().of_entry(prompt.seq).len(), 2);
    append(&session, r#"{"type":"message","parentId":null,"message":{"role":"user","content":"new root"}}"#)
        .await;
    assert_eq!(session.tree().children().roots().len(), 2);
}

#[tokio::test]
async fn invalid_entries_are_refused() {
    let session = empty(&memory(), env("a")).await;
    for object in [
        "",
        "{",
        "[]",
        "{}",
        r#"{"type":7}"#,
        r#"{"type":"session","id":"x"}"#,
        r#"{"type":"a","id":7}"#,
        r#"{"type":"a","id":""}"#,
        r#"{"type":"a","parentId":7}"#,
        r#"{"type":"message"}"#,
    ] {
        let refused = session.append_entry(object.as_bytes()).await;
        assert!(
            matches!(refused, Err(SessionError::Plan(PlanError::NotAnEntry { .. }))),
            "{object}: {refused:?}"
        );
    }
    assert_eq!(session.version().entries, 0);
}

#[tokio::test]
async fn a_message_with_role_tool_is_stored_as_tool_result() {
    let session = empty(&memory(), env("a")).await;
    let given = r#"{"type":"message","id":"r","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"tool","content":[]}}"#;
    let added = append(&session, given).await;
    assert_eq!(line(&added), given.replace("\"tool\"", "\"toolResult\""));
    assert!(
        matches!(session.append_entry(given.as_bytes()).await.unwrap(), CommitOutcome::Stored(repeated) if repeated.existed)
    );
}
