//! Entries over HTTP: pages, appending with its checks, updates.

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{TestGateway, ok};
use crate::support::ids;

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

#[tokio::test]
async fn entries_are_listed_in_pages() {
    let gateway = TestGateway::start();
    let (session, entries) = gateway.create_with(&["a", "b", "c"]).await;
    let page = gateway.get(&format!("{session}/entries?limit=2")).await;
    assert_eq!(
        (ids(&page["entries"]), &page["next"], &page["revision"]),
        (vec![&*entries[0], &entries[1]], &json!(2), &json!(3))
    );
    let last = gateway.get(&format!("{session}/entries?after=2&limit=2")).await;
    assert_eq!((ids(&last["entries"]), &last["next"]), (vec![&*entries[2]], &Value::Null));
    assert_eq!(gateway.get(&format!("{session}/entries?after=9")).await["entries"], json!([]));
    let entry = gateway.get(&format!("{session}/entries/{}", entries[1])).await;
    assert_eq!((&entry["parentId"], &entry["message"]["content"]), (&json!(entries[0]), &json!("b")));
    let missing = gateway.fails(Method::GET, &format!("{session}/entries/ffffffff"), json!({})).await;
    assert_eq!(missing, (404, "entry_not_found".to_owned()));
}

#[tokio::test]
async fn large_entries_make_a_page_shorter_and_none_is_skipped() {
    let gateway = TestGateway::start();
    let large = "x".repeat(9 << 20);
    let (session, entries) = gateway.create_with(&["a", &large, &large, "b"]).await;
    let (mut pages, mut after) = (Vec::new(), Some(0));
    while let Some(first) = after {
        let page = gateway.get(&format!("{session}/entries?limit=1000&after={first}")).await;
        pages.push(ids(&page["entries"]).into_iter().map(str::to_owned).collect::<Vec<_>>());
        after = page["next"].as_u64();
    }
    assert_eq!(pages, [&entries[..2], &entries[2..]]);
}

#[tokio::test]
async fn an_entry_is_appended_once() {
    let gateway = TestGateway::start();
    let session = gateway.create().await;
    let path = format!("{session}/entries");
    let entry = json!({ "type": "message", "id": "abcd0001", "parentId": null, "timestamp": "2026-01-01T00:00:00.000Z", "message": user("hi") });
    let send = || gateway.request(Method::POST, &path).json(&entry).send();
    let first = send().await.unwrap();
    assert_eq!(first.status(), 201);
    assert_eq!(ok(first).await, json!({ "id": "abcd0001", "existed": false, "revision": 1 }));
    let again = send().await.unwrap();
    assert_eq!(again.status(), 200);
    assert_eq!(ok(again).await["existed"], true);
    let other = json!({ "type": "message", "id": "abcd0001", "parentId": null, "message": user("other") });
    assert_eq!(gateway.fails(Method::POST, &path, other).await, (409, "entry_conflict".to_owned()));
    let orphan = json!({ "type": "message", "parentId": "ffffffff", "message": user("x") });
    assert_eq!(gateway.fails(Method::POST, &path, orphan).await, (404, "parent_not_found".to_owned()));
    assert_eq!(gateway.fails(Method::POST, &path, json!([1])).await, (400, "not_an_entry".to_owned()));
    assert_eq!(gateway.get(&path).await["revision"], 1, "a refused entry is not stored");
}

#[tokio::test]
async fn typed_entries_are_checked_and_placed() {
    let gateway = TestGateway::start();
    let (session, entries) = gateway.create_with(&["a", "b"]).await;
    let append = async |kind: &str, body: Value| gateway.post(&format!("{session}/{kind}"), body).await;
    let refuse =
        async |kind: &str, body: Value| gateway.fails(Method::POST, &format!("{session}/{kind}"), body).await;
    append("thinking-level-changes", json!({ "thinkingLevel": "high" })).await;
    append("model-changes", json!({ "provider": "offline", "modelId": "offline" })).await;
    let context = gateway.get(&format!("{session}/context")).await;
    assert_eq!(
        (&context["thinkingLevel"], &context["model"]["modelId"]),
        (&json!("high"), &json!("offline"))
    );
    assert_eq!(refuse("thinking-level-changes", json!({ "thinkingLevel": "" })).await.0, 400);
    assert_eq!(refuse("model-changes", json!({ "provider": "x", "modelId": "" })).await.0, 400);
    assert_eq!(
        refuse("model-changes", json!({ "provider": "x" })).await,
        (400, "invalid_request".to_owned())
    );
    let compaction = |kept: &str| json!({ "summary": "short", "firstKeptEntryId": kept, "tokensBefore": 9 });
    append("compactions", compaction(&entries[1])).await;
    assert_eq!(refuse("compactions", compaction("ffffffff")).await, (404, "entry_not_found".to_owned()));
    let empty = json!({ "summary": " ", "firstKeptEntryId": entries[1], "tokensBefore": 9 });
    assert_eq!(refuse("compactions", empty).await, (400, "empty".to_owned()));
    // `null` makes a new root; an id makes the request repeatable.
    let root = json!({ "message": user("root"), "parentId": null, "entryId": "abcd0002" });
    append("messages", root.clone()).await;
    assert_eq!(append("messages", root).await["existed"], true);
    assert_eq!(gateway.active_path(&session).await, json!(["abcd0002"]));
    let placed = json!({ "message": user("below"), "parentId": entries[0] });
    let below = append("messages", placed).await;
    assert_eq!(gateway.active_path(&session).await, json!([entries[0], below["id"]]));
    let orphan = json!({ "message": user("x"), "parentId": "ffffffff" });
    assert_eq!(refuse("messages", orphan).await, (404, "parent_not_found".to_owned()));
    for message in [json!({ "content": "x" }), json!({ "role": "", "content": "x" }), json!({ "role": 1 })] {
        let entry = json!({ "type": "message", "message": message });
        assert_eq!(refuse("entries", entry).await, (400, "not_an_entry".to_owned()), "{message}");
        let refused = refuse("messages", json!({ "message": message })).await;
        assert_eq!(refused, (400, "not_an_entry".to_owned()), "{message}");
    }
    append("messages", json!({ "message": { "role": "of-another-program", "content": "x" } })).await;
    append("branch-summaries", json!({ "fromId": entries[1], "summary": "what happened" })).await;
    assert_eq!(refuse("branch-summaries", json!({ "fromId": "ffffffff", "summary": "x" })).await.0, 404);
}

#[tokio::test]
async fn a_message_is_stored_unchanged() {
    let gateway = TestGateway::start();
    let session = gateway.create().await;
    let message = r#"{"role":"user","content":"hi","number":1.50,"big":12345678901234567890123}"#;
    let body = format!("{{\"message\": {message}}}");
    let sent = gateway
        .request(Method::POST, &format!("{session}/messages"))
        .header("content-type", "application/json")
        .body(body);
    ok(sent.send().await.unwrap()).await;
    let file = std::fs::read_to_string(gateway.env.session_file()).unwrap();
    assert!(file.contains(message), "{file}");
}

#[tokio::test]
async fn labels_and_names_can_be_set_and_removed() {
    let gateway = TestGateway::start();
    let (session, entries) = gateway.create_with(&["a"]).await;
    let put = async |path: &str, body: Value| {
        ok(gateway.request(Method::PUT, &format!("{session}/{path}")).json(&body).send().await.unwrap()).await
    };
    let snapshot = async || gateway.get(&format!("{session}/snapshot")).await;
    put(&format!("entries/{}/label", entries[0]), json!({ "label": "start" })).await;
    assert_eq!(snapshot().await["labelsByEntryId"][&entries[0]], "start");
    put(&format!("entries/{}/label", entries[0]), json!({})).await;
    assert_eq!(snapshot().await["labelsByEntryId"], json!({}));
    put("name", json!({ "name": "my session" })).await;
    assert_eq!(snapshot().await["session"]["title"], "my session");
    let missing = format!("{session}/entries/ffffffff/label");
    assert_eq!(gateway.fails(Method::PUT, &missing, json!({ "label": "x" })).await.0, 404);
}

#[tokio::test]
async fn only_a_running_batch_can_be_updated() {
    let gateway = TestGateway::start();
    let (session, entries) = gateway.create_with(&["a"]).await;
    let batch = json!({ "type": "subagent_batch", "id": "abcd0003", "content": { "batchId": "b1", "mode": "parallel", "tasks": [], "status": "running" } });
    gateway.post(&format!("{session}/entries"), batch).await;
    let update = |id: &str| {
        gateway
            .request(Method::PATCH, &format!("{session}/entries/{id}"))
            .json(&json!({ "status": "completed", "payload": {} }))
    };
    ok(update("abcd0003").send().await.unwrap()).await;
    let entry = gateway.get(&format!("{session}/entries/abcd0003")).await;
    assert_eq!(entry["content"]["status"], "completed");
    for id in ["abcd0003", &entries[0]] {
        let path = format!("{session}/entries/{id}");
        let failed = gateway.fails(Method::PATCH, &path, json!({ "status": "failed" })).await;
        assert_eq!(failed, (409, "entry_immutable".to_owned()));
    }
}
