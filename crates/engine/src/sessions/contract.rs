//! The contract tests of [`Sessions`] over every store, one function per rule. Each starts with an empty store.
//!
//! `sessions_tests!(fixture)` generates one test per rule. Other crates enable it with the feature `contract`.
#![allow(clippy::unwrap_used, reason = "the rules are tests and fail by panicking")]

use std::sync::Arc;

use osier_session::{CommitOutcome, KnownRevision, SnapshotOptions, StoredEntry};
use osier_store::Store;
use osier_store::contract::Fixture;
use osier_tree::{Header, header};
use serde_json::{Map, Value, json};

use super::{
    AppendParent, EntryPlacement, NewCompaction, PathError, SessionInit, SessionOperations, SessionUpdate,
    Sessions,
};
use crate::config::EngineConfig;
use crate::configured_store::ConfiguredStore;
use crate::engine::Engine;
use crate::error::EngineError;

/// Generates one test for each rule.
#[macro_export]
macro_rules! sessions_tests {
    ($fixture:expr) => {
        $crate::sessions_tests! { $fixture;
            a_new_session_is_empty
            a_session_is_created_once_and_unknown_ids_are_not_found
            each_entry_moves_the_leaf
            a_parent_is_the_leaf_none_or_an_existing_entry
            a_repeated_entry_is_written_once
            appends_by_type_are_checked_and_stored_unchanged
            only_a_running_batch_can_be_updated
            the_leaf_is_switched_only_from_the_expected_leaf
            after_a_reset_the_next_entry_is_a_new_root
            a_branched_session_has_the_same_entries
            a_broken_path_is_reported
            entries_are_listed_in_log_order
            concurrent_callers_lose_nothing
            an_update_changes_only_the_given_properties
            a_snapshot_is_complete_or_incremental
            a_deletion_includes_sub_agents_and_can_be_repeated
        }
    };
    ($fixture:expr; $($rule:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $rule() {
                $crate::contract::$rule(&$fixture).await;
            }
        )*
    };
}

async fn sessions(fixture: &dyn Fixture) -> Sessions {
    sessions_of(fixture.store().await)
}

fn sessions_of(store: Arc<dyn Store>) -> Sessions {
    let name = store.name().to_owned();
    let stores = vec![ConfiguredStore::Shared(store)];
    let engine = Engine::new(EngineConfig { stores, ..EngineConfig::default() });
    engine.sessions(&name).unwrap()
}

/// Sessions with a session `one` that has three user messages, `a`, `b` and `c`.
async fn session_with_messages(fixture: &dyn Fixture) -> Sessions {
    let sessions = sessions(fixture).await;
    sessions.create(named("one")).await.unwrap();
    for id in ["a", "b", "c"] {
        say(&sessions, AppendParent::Leaf, id).await.unwrap();
    }
    sessions
}

fn named(id: &str) -> SessionInit {
    SessionInit { id: Some(id.to_owned()), cwd: "/here".to_owned(), ..SessionInit::default() }
}

fn message(text: &str) -> Vec<u8> {
    json!({ "role": "user", "content": text, "extra": [1.0, null] }).to_string().into_bytes()
}

fn called(id: &str) -> EntryPlacement {
    EntryPlacement { parent: AppendParent::Leaf, id: Some(id.to_owned()) }
}

async fn say(sessions: &Sessions, below: AppendParent, id: &str) -> Result<CommitOutcome, EngineError> {
    one(sessions)
        .await
        .append_message(&EntryPlacement { parent: below, id: Some(id.to_owned()) }, &message(id))
        .await
}

/// The session `one`.
async fn one(sessions: &Sessions) -> SessionOperations {
    sessions.session("one").await.unwrap()
}

fn stored(outcome: Result<CommitOutcome, EngineError>) -> StoredEntry {
    outcome.unwrap().stored().unwrap()
}

fn code<T: std::fmt::Debug>(result: Result<T, EngineError>) -> &'static str {
    result.unwrap_err().code().name()
}

async fn leaf(sessions: &Sessions) -> Value {
    sessions.get("one").await.unwrap().unwrap()["leafEntryId"].clone()
}

async fn path(sessions: &Sessions) -> Vec<String> {
    ids(&one(sessions).await.active_path().await.unwrap().entries)
}

async fn count(sessions: &Sessions) -> usize {
    one(sessions).await.list_entries(0, None).await.unwrap().entries.len()
}

fn ids(entries: &[Vec<u8>]) -> Vec<String> {
    let id = |entry: &Vec<u8>| value(entry)["id"].as_str().unwrap().to_owned();
    entries.iter().map(id).collect()
}

fn value(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap()
}

pub async fn a_new_session_is_empty(fixture: &dyn Fixture) {
    let sessions = sessions(fixture).await;
    let new =
        sessions.create(SessionInit { cwd: "/here".to_owned(), ..SessionInit::default() }).await.unwrap();
    assert_eq!((&new["rootEntryId"], &new["leafEntryId"]), (&Value::Null, &Value::Null));
    assert_eq!(
        (&new["status"], &new["agentId"], &new["cwd"]),
        (&json!("active"), &json!("main"), &json!("/here"))
    );
    let store = sessions.store();
    assert_eq!((&new["provider"], &new["store"]), (&json!(store.kind()), &json!(store.name())));
    let id = new["id"].as_str().unwrap();
    assert_eq!(sessions.get(id).await.unwrap(), Some(new.clone()));
    assert_eq!(
        sessions.session(id).await.unwrap().active_path().await.unwrap().entries,
        Vec::<Vec<u8>>::new()
    );
}

pub async fn a_session_is_created_once_and_unknown_ids_are_not_found(fixture: &dyn Fixture) {
    let sessions = sessions(fixture).await;
    sessions.create(named("one")).await.unwrap();
    assert_eq!(code(sessions.create(named("one")).await), "already_exists");
    assert_eq!(code(sessions.create(named("../one")).await), "invalid_id");
    for id in ["none", "../one", "/etc/passwd", ""] {
        assert_eq!(sessions.get(id).await.unwrap(), None, "{id}");
        assert_eq!(code(sessions.session(id).await), "session_not_found", "{id}");
        assert!(!sessions.delete(id).await.unwrap().deleted);
    }
}

pub async fn each_entry_moves_the_leaf(fixture: &dyn Fixture) {
    let sessions = sessions(fixture).await;
    sessions.create(named("one")).await.unwrap();
    for id in ["a", "b"] {
        say(&sessions, AppendParent::Leaf, id).await.unwrap();
        let session = sessions.get("one").await.unwrap().unwrap();
        assert_eq!((&session["rootEntryId"], &session["leafEntryId"]), (&json!("a"), &json!(id)));
    }
    assert_eq!(path(&sessions).await, ["a", "b"]);
}

pub async fn a_parent_is_the_leaf_none_or_an_existing_entry(fixture: &dyn Fixture) {
    let sessions = session_with_messages(fixture).await;
    say(&sessions, AppendParent::Entry("a".to_owned()), "d").await.unwrap();
    assert_eq!(path(&sessions).await, ["a", "d"]);
    say(&sessions, AppendParent::Root, "e").await.unwrap();
    assert_eq!(path(&sessions).await, ["e"]);
    assert_eq!(code(say(&sessions, AppendParent::Entry("z".to_owned()), "f").await), "parent_not_found");
    let orphan = br#"{"type":"custom","customType":"x","parentId":"z"}"#;
    assert_eq!(code(one(&sessions).await.append_entry(orphan).await), "parent_not_found");
    let root = br#"{"type":"custom","customType":"x","parentId":null,"id":"g"}"#;
    one(&sessions).await.append_entry(root).await.unwrap();
    assert_eq!(path(&sessions).await, ["g"]);
    assert_eq!(count(&sessions).await, 6, "refused entries are not written");
}

pub async fn a_repeated_entry_is_written_once(fixture: &dyn Fixture) {
    let sessions = session_with_messages(fixture).await;
    let again = stored(say(&sessions, AppendParent::Leaf, "b").await);
    assert!(again.existed);
    let other = one(&sessions).await.append_message(&called("b"), &message("other")).await;
    assert_eq!(code(other), "entry_conflict");
    let entry = br#"{"type":"custom","customType":"x","id":"d","data":1}"#;
    assert!(!stored(one(&sessions).await.append_entry(entry).await).existed);
    assert!(stored(one(&sessions).await.append_entry(entry).await).existed);
    let other = br#"{"type":"custom","customType":"x","id":"d","data":2}"#;
    assert_eq!(code(one(&sessions).await.append_entry(other).await), "entry_conflict");
    assert_eq!(count(&sessions).await, 4);
}

pub async fn appends_by_type_are_checked_and_stored_unchanged(fixture: &dyn Fixture) {
    let sessions = session_with_messages(fixture).await;
    let first = value(&one(&sessions).await.list_entries(0, Some(1)).await.unwrap().entries[0]);
    assert_eq!(first["message"], json!({ "role": "user", "content": "a", "extra": [1.0, null] }));
    let placement = EntryPlacement::default();
    let kept = |first: &str| NewCompaction {
        summary: "s".into(),
        first_kept: first.into(),
        tokens_before: 9,
        extra: Map::new(),
    };
    one(&sessions).await.append_thinking_level(&placement, "high").await.unwrap();
    one(&sessions).await.append_model_change(&placement, "p", "m").await.unwrap();
    one(&sessions).await.append_compaction(&placement, &kept("b")).await.unwrap();
    one(&sessions).await.append_label("a", Some("here")).await.unwrap();
    one(&sessions).await.rename("named").await.unwrap();
    let summary = EntryPlacement { parent: AppendParent::Entry("a".to_owned()), id: None };
    one(&sessions).await.append_branch_summary(&summary, "c", "what was tried").await.unwrap();
    let before = count(&sessions).await;
    let codes = [
        code(one(&sessions).await.append_message(&placement, b"7").await),
        code(one(&sessions).await.append_message(&placement, b"{").await),
        code(one(&sessions).await.append_thinking_level(&placement, "").await),
        code(one(&sessions).await.append_model_change(&placement, "", "m").await),
        code(one(&sessions).await.append_compaction(&placement, &kept("b")).await),
        code(one(&sessions).await.append_compaction(&placement, &kept("z")).await),
        code(
            one(&sessions)
                .await
                .append_compaction(&placement, &NewCompaction { summary: " ".into(), ..kept("a") })
                .await,
        ),
        code(one(&sessions).await.append_branch_summary(&placement, "z", "s").await),
        code(one(&sessions).await.append_branch_summary(&placement, "a", "").await),
        code(one(&sessions).await.append_label("z", Some("x")).await),
    ];
    let expected = [
        "not_an_entry",
        "not_an_entry",
        "empty",
        "empty",
        "not_on_path",
        "entry_not_found",
        "empty",
        "entry_not_found",
        "empty",
        "entry_not_found",
    ];
    assert_eq!(codes, expected);
    assert_eq!(count(&sessions).await, before);
    let session = sessions.get("one").await.unwrap().unwrap();
    assert_eq!(session["title"], "named");
    let snapshot = value(&one(&sessions).await.snapshot(SnapshotOptions::default()).await.unwrap());
    assert_eq!(snapshot["labelsByEntryId"], json!({ "a": "here" }));
    one(&sessions).await.append_label("a", Some("")).await.unwrap();
    let snapshot = value(&one(&sessions).await.snapshot(SnapshotOptions::default()).await.unwrap());
    assert_eq!(snapshot["labelsByEntryId"], json!({}), "an empty label removes the label");
}

pub async fn only_a_running_batch_can_be_updated(fixture: &dyn Fixture) {
    let sessions = session_with_messages(fixture).await;
    let batch = json!({ "type": "subagent_batch", "id": "batch", "content": { "batchId": "x", "status": "running" } });
    one(&sessions).await.append_entry(batch.to_string().as_bytes()).await.unwrap();
    let before = one(&sessions).await.list_entries(0, None).await.unwrap().entries;
    let update = async |status| one(&sessions).await.update_entry("batch", status, &Value::Null).await;
    update("running").await.expect("a batch that runs can say how far it is");
    assert_eq!(code(update("paused").await), "entry_immutable");
    assert_eq!(
        code(one(&sessions).await.update_entry("a", "completed", &Value::Null).await),
        "entry_immutable"
    );
    assert_eq!(
        code(one(&sessions).await.update_entry("z", "completed", &Value::Null).await),
        "entry_not_found"
    );
    one(&sessions).await.update_entry("batch", "completed", &json!({ "results": [1] })).await.unwrap();
    assert_eq!(code(update("failed").await), "entry_immutable", "the batch is finished");
    assert_eq!(code(update("running").await), "entry_immutable", "and does not run again");
    let given = json!({ "targetId": "batch", "status": "failed", "payload": null });
    let given = json!({ "type": "custom", "customType": "osier.entry_update", "id": "u", "data": given });
    let given = one(&sessions).await.append_entry(given.to_string().as_bytes()).await;
    assert_eq!(code(given), "entry_immutable", "also with append_entry");
    let after = one(&sessions).await.list_entries(0, None).await.unwrap().entries;
    assert_eq!(after[..before.len()], before, "nothing is rewritten");
    let patch = value(&after[before.len()]);
    assert_eq!((&patch["type"], &patch["targetId"]), (&json!("entry_update"), &json!("batch")));
}

pub async fn the_leaf_is_switched_only_from_the_expected_leaf(fixture: &dyn Fixture) {
    let sessions = session_with_messages(fixture).await;
    assert_eq!(code(one(&sessions).await.switch_leaf("a", Some(Some("b"))).await), "leaf_changed");
    assert_eq!(code(one(&sessions).await.switch_leaf("c", Some(None)).await), "leaf_changed");
    assert_eq!(code(one(&sessions).await.switch_leaf("a", Some(Some("z"))).await), "leaf_changed");
    assert_eq!(code(one(&sessions).await.switch_leaf("z", None).await), "entry_not_found");
    assert_eq!(leaf(&sessions).await, "c");
    one(&sessions).await.switch_leaf("a", Some(Some("c"))).await.unwrap();
    assert_eq!((leaf(&sessions).await, path(&sessions).await), (json!("a"), vec!["a".to_owned()]));
    let again = sessions_of(fixture.reopened().await);
    assert_eq!(leaf(&again).await, "a", "a reopened session has the same leaf");
    assert_eq!(one(&again).await.switch_leaf("a", Some(Some("a"))).await.unwrap(), CommitOutcome::Nothing);
    let messages = one(&again).await.list_entries(0, None).await.unwrap().entries;
    let messages = messages.iter().filter(|entry| value(entry)["type"] == "message").count();
    assert_eq!(messages, 3, "a switch adds no message");
}

pub async fn after_a_reset_the_next_entry_is_a_new_root(fixture: &dyn Fixture) {
    let sessions = session_with_messages(fixture).await;
    assert_eq!(code(one(&sessions).await.reset_leaf(Some(Some("a"))).await), "leaf_changed");
    one(&sessions).await.reset_leaf(None).await.unwrap();
    assert_eq!((leaf(&sessions).await, path(&sessions).await.len()), (Value::Null, 0));
    let ask = SnapshotOptions::default();
    let context = value(&one(&sessions).await.snapshot(ask).await.unwrap())["runtimeContext"].clone();
    assert_eq!(context, json!({ "leafId": null, "messages": [], "thinkingLevel": "off", "model": null }));
    say(&sessions, AppendParent::Leaf, "d").await.unwrap();
    let snapshot = value(&one(&sessions).await.snapshot(ask).await.unwrap());
    let roots = snapshot["childrenByParentId"]["__roots__"].as_array().unwrap();
    assert!(roots.contains(&json!("a")) && roots.contains(&json!("d")), "earlier roots stay: {roots:?}");
}

pub async fn a_branched_session_has_the_same_entries(fixture: &dyn Fixture) {
    let sessions = session_with_messages(fixture).await;
    one(&sessions).await.append_label("a", Some("here")).await.unwrap();
    let source = one(&sessions).await.list_entries(0, None).await.unwrap().entries;
    let branched = one(&sessions).await.create_branched(Some("b")).await.unwrap();
    let id = branched["id"].as_str().unwrap();
    assert_eq!(branched["parentSessionId"], "one");
    assert_eq!(
        ids(&sessions.session(id).await.unwrap().active_path().await.unwrap().entries)[..2],
        ["a", "b"]
    );
    let snapshot =
        value(&sessions.session(id).await.unwrap().snapshot(SnapshotOptions::default()).await.unwrap());
    assert_eq!(snapshot["labelsByEntryId"], json!({ "a": "here" }));
    assert_eq!(
        one(&sessions).await.list_entries(0, None).await.unwrap().entries,
        source,
        "the source is unchanged"
    );
    assert_eq!(code(one(&sessions).await.create_branched(Some("z")).await), "entry_not_found");
}

pub async fn a_broken_path_is_reported(fixture: &dyn Fixture) {
    let sessions = sessions(fixture).await;
    let line = |id: &str, parent: &str| {
        json!({ "type": "custom", "customType": "x", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z" })
            .to_string()
            .into_bytes()
    };
    let make = async |id: &str, lines: &[Vec<u8>]| {
        let header = Header { version: header::FORMAT_VERSION, ..Header::new(id, 0, "/here") };
        sessions.store().create(&header, lines).await.unwrap();
        sessions.session(id).await.unwrap().active_path().await.unwrap()
    };
    let missing = make("missing", &[line("a", "gone"), line("b", "a")]).await;
    assert_eq!(ids(&missing.entries), ["a", "b"], "the entries can be used");
    assert_eq!(missing.broken, Some(PathError::MissingParent { id: "a".into(), parent: "gone".into() }));
    let cycle = make("cycle", &[line("a", "b"), line("b", "a")]).await;
    assert_eq!(ids(&cycle.entries), ["a", "b"]);
    assert_eq!(cycle.broken, Some(PathError::Cycle { id: "a".into(), parent: "b".into() }));
}

pub async fn entries_are_listed_in_log_order(fixture: &dyn Fixture) {
    let sessions = session_with_messages(fixture).await;
    one(&sessions).await.switch_leaf("a", None).await.unwrap();
    let page =
        async |after, limit| ids(&one(&sessions).await.list_entries(after, limit).await.unwrap().entries);
    assert_eq!(page(0, None).await.len(), 4);
    assert_eq!(page(1, Some(2)).await, ["b", "c"]);
    assert_eq!(page(9, Some(2)).await, Vec::<String>::new());
    assert_eq!(page(0, Some(0)).await, Vec::<String>::new());
}

pub async fn concurrent_callers_lose_nothing(fixture: &dyn Fixture) {
    session_with_messages(fixture).await;
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..4 {
        let sessions = sessions_of(fixture.reopened().await);
        callers.spawn(async move {
            for at in 0..10 {
                say(&sessions, AppendParent::Leaf, &format!("{caller}-{at}")).await.unwrap();
            }
        });
    }
    while let Some(done) = callers.join_next().await {
        done.unwrap();
    }
    let sessions = sessions_of(fixture.reopened().await);
    assert_eq!(
        (count(&sessions).await, path(&sessions).await.len()),
        (43, 43),
        "each entry is below the leaf at its time"
    );
}

pub async fn an_update_changes_only_the_given_properties(fixture: &dyn Fixture) {
    let sessions = session_with_messages(fixture).await;
    let update = SessionUpdate {
        title: Some("a title".into()),
        status: Some("archived".into()),
        cwd: Some("/there".into()),
        agent_id: Some("reviewer".into()),
        metadata: json!({ "ticket": 7 }).as_object().cloned(),
    };
    let updated = one(&sessions).await.update(update).await.unwrap();
    let value_of = |key: &str| updated[key].clone();
    assert_eq!(
        ["title", "status", "cwd", "agentId", "metadata"].map(value_of),
        [json!("a title"), json!("archived"), json!("/there"), json!("reviewer"), json!({ "ticket": 7 })]
    );
    let status = SessionUpdate { status: Some("active".into()), ..SessionUpdate::default() };
    let updated = one(&sessions).await.update(status).await.unwrap();
    assert_eq!(
        (&updated["status"], &updated["title"]),
        (&json!("active"), &json!("a title")),
        "the rest stays"
    );
    assert_eq!(updated["rootEntryId"], "a");
    assert_eq!(sessions.store().card("one").await.unwrap().agent_id, "reviewer");
}

pub async fn a_snapshot_is_complete_or_incremental(fixture: &dyn Fixture) {
    let sessions = session_with_messages(fixture).await;
    let ask = async |since: Option<KnownRevision>| {
        let ask = SnapshotOptions { without_context: true, since };
        value(&one(&sessions).await.snapshot(ask).await.unwrap())
    };
    let whole = ask(None).await;
    assert_eq!((&whole["revision"], &whole["schemaVersion"]), (&json!(3), &json!(1)));
    assert_eq!(
        (&whole["activePath"], whole["entries"].as_array().unwrap().len()),
        (&json!(["a", "b", "c"]), 3)
    );
    assert_eq!(whole["childrenByParentId"], json!({ "__roots__": ["a"], "a": ["b"], "b": ["c"] }));
    assert!(whole.get("runtimeContext").is_none() && whole.get("reset").is_none());
    let generation = u64::from_str_radix(whole["generation"].as_str().unwrap(), 16).ok();
    say(&sessions, AppendParent::Entry("a".into()), "d").await.unwrap();
    for generation in [None, generation] {
        let delta = ask(Some(KnownRevision { revision: 3, generation })).await;
        assert_eq!(
            (&delta["since"], &delta["reset"], &delta["revision"]),
            (&json!(3), &json!(false), &json!(4))
        );
        assert_eq!(
            (delta["entries"].as_array().unwrap().len(), &delta["entries"][0]["id"]),
            (1, &json!("d"))
        );
        assert_eq!(delta["activePath"], json!(["a", "d"]));
    }
    let other = generation.map(|generation| generation ^ 1);
    for since in [KnownRevision { revision: 9, generation }, KnownRevision { revision: 3, generation: other }]
    {
        let reset = ask(Some(since)).await;
        assert_eq!((&reset["since"], &reset["reset"]), (&json!(0), &json!(true)));
        assert_eq!(reset["entries"].as_array().unwrap().len(), 4);
    }
}

pub async fn a_deletion_includes_sub_agents_and_can_be_repeated(fixture: &dyn Fixture) {
    let sessions = session_with_messages(fixture).await;
    let fork = one(&sessions).await.create_branched(None).await.unwrap();
    let given = SessionUpdate { agent_id: Some("bot".to_owned()), ..SessionUpdate::default() };
    one(&sessions).await.update(given).await.unwrap();
    let mut header = Header::new("two", 0, "/here");
    header.parent_session_id = Some("one".to_owned());
    header.agent_id = Some("helper".to_owned());
    header.parent_tool_call_id = Some("call_1".to_owned());
    sessions.store().create(&header, &[]).await.unwrap();
    let deleted = sessions.delete("one").await.unwrap();
    assert_eq!((deleted.deleted, deleted.counts.sessions, deleted.counts.entries), (true, 2, 4));
    assert_eq!(deleted.store, sessions.store().name());
    assert_eq!(sessions.get("two").await.unwrap(), None);
    let again = sessions.delete("one").await.unwrap();
    assert_eq!((again.deleted, again.counts.sessions), (false, 0));
    assert!(sessions.get(fork["id"].as_str().unwrap()).await.unwrap().is_some(), "a fork stays");
}
