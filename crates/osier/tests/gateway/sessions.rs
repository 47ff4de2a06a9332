//! Sessions over HTTP: create, list, search, describe, update, delete, fork, snapshots, exports.

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{TestGateway, ok};
use crate::support::{ids, strings};

#[tokio::test]
async fn a_session_is_created_described_updated_and_listed() {
    let gateway = TestGateway::start();
    let created = gateway.post("/api/sessions", json!({ "agentId": "helper" })).await;
    assert_eq!((&created["rootEntryId"], &created["leafEntryId"]), (&Value::Null, &Value::Null));
    assert_eq!(
        (&created["status"], &created["provider"], &created["store"]),
        (&json!("active"), &json!("file"), &json!("file"))
    );
    let path = format!("/api/sessions/{}", created["id"].as_str().unwrap());
    assert_eq!(gateway.get(&path).await["agentId"], "helper");
    assert_eq!(gateway.post("/api/sessions", json!({ "title": "first" })).await["title"], "first");
    let change = json!({ "title": "second", "status": "archived", "metadata": { "team": 7 } });
    let updated = ok(gateway.request(Method::PATCH, &path).json(&change).send().await.unwrap()).await;
    assert_eq!((&updated["title"], &updated["status"]), (&json!("second"), &json!("archived")));
    assert_eq!((&updated["metadata"]["team"], &updated["agentId"]), (&json!(7), &json!("helper")));
    let unknown = gateway.fails(Method::PATCH, &path, json!({ "id": "other" })).await;
    assert_eq!(unknown, (400, "invalid_request".to_owned()));
    let listed = gateway.get("/api/sessions").await;
    assert_eq!((listed["sessions"].as_array().unwrap().len(), &listed["hasMore"]), (2, &json!(false)));
    assert_eq!(gateway.get("/api/sessions?limit=1").await["hasMore"], true);
    assert_eq!(gateway.get("/api/sessions?named=true").await["sessions"].as_array().unwrap().len(), 2);
    assert_eq!(gateway.get("/api/sessions?agentId=helper").await["sessions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn an_id_is_used_once() {
    let gateway = TestGateway::start();
    let new = json!({ "id": "4f89da11-0000-4000-8000-000000000000" });
    gateway.post("/api/sessions", new.clone()).await;
    assert_eq!(gateway.fails(Method::POST, "/api/sessions", new).await, (409, "already_exists".to_owned()));
    gateway.get("/api/sessions/4f89").await;
    let missing = gateway.fails(Method::GET, "/api/sessions/5f89/snapshot", json!({})).await;
    assert_eq!(missing, (404, "session_not_found".to_owned()));
    let store = gateway.fails(Method::POST, "/api/sessions", json!({ "store": "nowhere" })).await;
    assert_eq!(store, (400, "usage".to_owned()));
}

#[tokio::test]
async fn messages_are_searched() {
    let gateway = TestGateway::start();
    let (found, _) = gateway.create_with(&["about foxes", "and hens"]).await;
    gateway.create_with(&["about geese"]).await;
    let listed = gateway.get("/api/sessions?query=hens").await;
    assert_eq!(ids(&listed["sessions"]), [found.rsplit('/').next().unwrap()]);
    let bad = gateway.fails(Method::GET, "/api/sessions?query=re:(", json!({})).await;
    assert_eq!(bad, (400, "bad_pattern".to_owned()));
}

#[tokio::test]
async fn a_snapshot_has_everything_and_continues_from_a_revision() {
    let gateway = TestGateway::start();
    let (session, entries) = gateway.create_with(&["a", "b"]).await;
    let whole = gateway.get(&format!("{session}/snapshot")).await;
    assert_eq!(strings(&whole["activePath"]), entries);
    assert_eq!((&whole["revision"], &whole["session"]["provider"]), (&json!(2), &json!("file")));
    assert_eq!(whole["childrenByParentId"]["__roots__"], json!([entries[0]]));
    assert_eq!(whole["runtimeContext"]["messages"].as_array().unwrap().len(), 2);
    let message = json!({ "message": { "role": "user", "content": "c" } });
    gateway.post(&format!("{session}/messages"), message).await;
    let generation = whole["generation"].as_str().unwrap();
    let since = format!("{session}/snapshot?since=2&generation={generation}&withoutContext=true");
    let delta = gateway.get(&since).await;
    assert_eq!((&delta["since"], &delta["reset"], &delta["revision"]), (&json!(2), &json!(false), &json!(3)));
    assert_eq!((delta["entries"].as_array().unwrap().len(), &delta["runtimeContext"]), (1, &Value::Null));
    let reset = gateway.get(&format!("{session}/snapshot?since=2&generation=00000000000000ff")).await;
    assert_eq!((&reset["reset"], reset["entries"].as_array().unwrap().len()), (&json!(true), 3));
    let wrong =
        gateway.fails(Method::GET, &format!("{session}/snapshot?since=2&generation=x"), json!({})).await;
    assert_eq!(wrong, (400, "invalid_request".to_owned()));
}

#[tokio::test]
async fn deleting_twice_succeeds() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["a", "b"]).await;
    // The agent that the client names belongs to another session.
    let delete = || gateway.request(Method::DELETE, &format!("{session}?agentId=other"));
    let deleted = ok(delete().send().await.unwrap()).await;
    assert_eq!(deleted, json!({ "deleted": true, "store": "file", "sessions": 1, "entries": 2 }));
    assert_eq!(ok(delete().send().await.unwrap()).await["deleted"], false);
    assert_eq!(gateway.env.session_files().len(), 0);
}

#[tokio::test]
async fn a_path_becomes_a_session() {
    let gateway = TestGateway::start();
    let (session, entries) = gateway.create_with(&["a", "b", "c"]).await;
    let branched = gateway.post(&format!("{session}/branch"), json!({ "leafId": entries[1] })).await;
    let path = gateway.active_path(&format!("/api/sessions/{}", branched["id"].as_str().unwrap())).await;
    assert_eq!(strings(&path), entries[..2]);
    assert_eq!(branched["parentSessionId"], json!(session.rsplit('/').next().unwrap()));
    let fork = json!({ "position": "entry", "entryId": entries[2] });
    let forked = gateway.post(&format!("{session}/fork"), fork).await;
    assert_eq!((&forked["editorText"], &forked["leafId"]), (&json!("c"), &json!(entries[1])));
    assert_eq!(strings(&gateway.active_path(&session).await), entries, "the source did not change");
    let empty = gateway.create().await;
    let nothing = gateway.fails(Method::POST, &format!("{empty}/fork"), json!({})).await;
    assert_eq!(nothing, (409, "nothing_to_fork".to_owned()));
    for unclear in [json!({ "entryId": "x" }), json!({ "position": "entry" }), json!({ "form": "entry" })] {
        let refused = gateway.fails(Method::POST, &format!("{session}/fork"), unclear).await;
        assert_eq!(refused, (400, "invalid_request".to_owned()));
    }
}

#[tokio::test]
async fn a_path_is_exported() {
    let gateway = TestGateway::start();
    let (session, entries) = gateway.create_with(&["hello", "again"]).await;
    let export = async |query: &str| {
        let response =
            gateway.request(Method::GET, &format!("{session}/export{query}")).send().await.unwrap();
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        let headers = (header("content-type"), header("content-disposition"));
        (headers, response.text().await.unwrap())
    };
    let ((content_type, name), markdown) = export("").await;
    assert_eq!(content_type, "text/markdown; charset=utf-8");
    assert!(name.starts_with("attachment; filename=\"osier-") && name.ends_with(".md\""), "{name}");
    assert!(markdown.contains("hello") && markdown.contains("again"), "{markdown}");
    let (_, lines) = export(&format!("?format=jsonl&at={}", entries[0])).await;
    assert_eq!(lines.lines().count(), 2, "the header and one entry");
    let (_, whole) = export("?format=json").await;
    serde_json::from_str::<Value>(&whole).unwrap();
    let unknown = gateway.fails(Method::GET, &format!("{session}/export?format=exe"), json!({})).await;
    assert_eq!(unknown, (400, "usage".to_owned()));
}

#[tokio::test]
async fn the_engine_and_its_settings_are_described() {
    let gateway = TestGateway::start();
    let engine = gateway.get("/api/engine").await;
    assert_eq!(engine["stores"], json!([{ "name": "file", "kind": "file" }]));
    assert_eq!(engine["directories"].as_array().unwrap().len(), 1);
    assert_eq!(gateway.get("/api/agents").await["names"], json!(["main"]));
    assert!(strings(&gateway.get("/api/models").await["names"]).contains(&"offline/offline"));
    let change = gateway.request(Method::PUT, "/api/settings/thinking").json(&json!({ "value": "low" }));
    ok(change.send().await.unwrap()).await;
    let settings = gateway.get("/api/settings").await;
    let thinking = settings["settings"].as_array().unwrap().iter().find(|row| row["key"] == "thinking");
    assert_eq!(thinking.unwrap()["value"], "low");
}

/// A misspelled name would silently drop what the client asked for.
#[tokio::test]
async fn a_body_with_an_unknown_field_is_refused() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["hello"]).await;
    for (path, body) in [
        ("prompt", json!({ "text": "hi", "expectedLeaf": null })),
        ("thinking-level-changes", json!({ "thinkingLevel": "low", "expectedLeaf": null })),
    ] {
        let (status, code) = gateway.fails(Method::POST, &format!("{session}/{path}"), body).await;
        assert_eq!((status, code.as_str()), (400, "invalid_request"), "{path}");
    }
}

/// Fields could otherwise be read from an array, by their order.
#[tokio::test]
async fn a_body_that_is_an_array_is_refused() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["hello"]).await;
    for body in [json!(["hi"]), json!([])] {
        let (status, code) = gateway.fails(Method::POST, &format!("{session}/prompt"), body).await;
        assert_eq!((status, code.as_str()), (400, "invalid_request"));
    }
    let entries = gateway.get(&format!("{session}/entries")).await;
    assert_eq!(entries["entries"].as_array().unwrap().len(), 1, "nothing was stored");
}
