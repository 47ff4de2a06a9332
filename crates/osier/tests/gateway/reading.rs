//! Reading a session: it starts no agent and writes nothing, whoever reads.

use std::fs;

use futures_util::StreamExt;
use osier_protocol::{ClientEvent, OpenTarget};
use reqwest::Method;
use serde_json::{Value, json};

use crate::run_support::ModelServer;
use crate::server::{TestGateway, failed, ok};
use crate::socket_support::{TEST_TIMEOUT, connect, open};
use crate::support::TestEnv;

/// Everything that can be read of a session without its agent.
const READING: [&str; 15] = [
    "",
    "/snapshot",
    "/path",
    "/context",
    "/tree",
    "/export",
    "/entries",
    "/rendered?last=10",
    "/state",
    "/status",
    "/usage",
    "/compare?left=root&right=root",
    "/settings",
    "/fork-points",
    "/rendered?ids=x",
];
/// What only an agent knows.
const OF_THE_AGENT: [&str; 5] =
    ["/files", "/commands", "/models", "/explores", "/explores/compare?left=1&right=2"];

/// A gateway that logs when an agent starts, in an environment where a new agent stores its approval mode.
fn start() -> TestGateway {
    let env = TestEnv::new();
    fs::create_dir_all(env.home()).unwrap();
    fs::write(env.home().join("config.toml"), "approval = \"autoEdit\"\n").unwrap();
    TestGateway::start_with_log(env)
}

fn agents_started(gateway: &TestGateway) -> usize {
    let log = fs::read_to_string(gateway.env.home().join("logs/osier.log")).unwrap_or_default();
    log.matches("an agent starts").count()
}

#[tokio::test]
async fn reading_starts_no_agent_and_writes_nothing() {
    let gateway = start();
    let session = gateway.create().await;
    let id = session.rsplit('/').next().unwrap();
    let printed = gateway.env.args(&["token", "create", id]);
    let reader = printed.out.trim();
    for token in [reader, &gateway.token] {
        for path in READING {
            let request = gateway.plain(Method::GET, &format!("{session}{path}")).bearer_auth(token);
            let response = request.send().await.unwrap();
            assert_eq!(response.status(), 200, "{path}: {}", response.text().await.unwrap());
        }
    }
    for path in OF_THE_AGENT {
        let request = gateway.plain(Method::GET, &format!("{session}{path}")).bearer_auth(reader);
        let refused = failed(request.send().await.unwrap()).await;
        assert_eq!(refused, (403, "forbidden".to_owned()), "{path}");
    }
    let engine = connect(&gateway, reader).await;
    let opened = open(&engine, OpenTarget::Named { name: id.to_owned() }).await;
    opened.client.attach(None).await.unwrap();
    opened.client.path(None).await.unwrap();
    assert_eq!(gateway.get(&format!("{session}/entries")).await["revision"], 0);
    // An agent starts for this. When the log has it, it has everything before it.
    gateway.get(&format!("{session}/models")).await;
    let deadline = std::time::Instant::now() + TEST_TIMEOUT;
    while agents_started(&gateway) == 0 {
        assert!(std::time::Instant::now() < deadline, "the log is written");
        tokio::task::yield_now().await;
    }
    assert_eq!(agents_started(&gateway), 1);
}

#[tokio::test]
async fn a_reader_follows_a_turn_that_starts_later() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let (session, _) = gateway.create_with(&["before"]).await;
    let id = session.rsplit('/').next().unwrap();
    let printed = gateway.env.args(&["token", "create", id]);
    let engine = connect(&gateway, printed.out.trim()).await;
    let client = open(&engine, OpenTarget::Named { name: id.to_owned() }).await.client;
    let attached = client.attach(None).await.unwrap();
    let (mut position, mut events) = (attached.state.position, attached.events);
    gateway.post(&format!("{session}/prompt"), json!({ "text": "hello" })).await;
    let mut request = model.next_request();
    request.send_text("Hello to everybody who reads this");
    let seen = async {
        let mut seen = Vec::new();
        let mut request = Some(request);
        loop {
            let event = events.next().await;
            match &event {
                Some(ClientEvent::Entry(entry)) => position.entries = entry.seq + 1,
                // An agent has started: attach again to see what it does.
                None | Some(ClientEvent::Lagged { .. }) => {
                    let attached = client.attach(Some(position)).await.unwrap();
                    let draft = serde_json::to_string(&attached.state.drafts).unwrap();
                    seen.push(draft);
                    events = attached.events;
                }
                _ => {}
            }
            let ended = matches!(event, Some(ClientEvent::TurnEnded { .. }));
            seen.push(serde_json::to_string(&event).unwrap());
            if seen.iter().any(|text| text.contains("Hello to"))
                && let Some(request) = request.take()
            {
                request.finish("stop");
            }
            if ended {
                return seen;
            }
        }
    };
    let seen = tokio::time::timeout(TEST_TIMEOUT, seen).await.expect("the turn ends");
    let entries = seen.iter().filter(|text| text.contains("\"entry\"") && text.contains("\"hello\"")).count();
    assert_eq!(entries, 1, "the prompt arrives once: {seen:#?}");
}

#[tokio::test]
async fn a_session_in_a_renamed_file_can_be_used_like_any_other() {
    let gateway = TestGateway::start();
    let (session, ids) = gateway.create_with(&["hello", "again"]).await;
    let file = gateway.env.session_file();
    fs::rename(&file, file.with_file_name("notes.jsonl")).unwrap();
    for path in READING {
        let response = gateway.request(Method::GET, &format!("{session}{path}")).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}: {}", response.text().await.unwrap());
    }
    let message = json!({ "message": { "role": "user", "content": "more" } });
    let stored = gateway.post(&format!("{session}/messages"), message).await;
    assert_eq!(stored["revision"], 3);
    let title = gateway.request(Method::PATCH, &session).json(&json!({ "title": "notes" }));
    assert_eq!(ok(title.send().await.unwrap()).await["title"], "notes");
    let name = gateway.request(Method::PUT, &format!("{session}/name")).json(&json!({ "name": "other" }));
    ok(name.send().await.unwrap()).await;
    let label = gateway.request(Method::PUT, &format!("{session}/entries/{}/label", ids[0]));
    ok(label.json(&json!({ "label": "first" })).send().await.unwrap()).await;
    let moved = gateway.post(&format!("{session}/move"), json!({ "targetId": ids[0], "exact": true })).await;
    assert_eq!(moved["leafId"], json!(ids[0]));
    gateway.post(&format!("{session}/fork"), json!({})).await;
    gateway.post(&format!("{session}/branch"), json!({})).await;
    let deleted = gateway.request(Method::DELETE, &session).send().await.unwrap();
    let deleted: Value = ok(deleted).await;
    assert_eq!(deleted["deleted"], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_one_of_several_prompts_finds_the_leaf_that_it_expects() {
    let gateway = TestGateway::start();
    let (session, ids) = gateway.create_with(&["a"]).await;
    let prompt = |number: usize| {
        let body = json!({ "text": format!("prompt {number}"), "when": "no_turn", "expectedLeafId": ids[0] });
        gateway.request(Method::POST, &format!("{session}/prompt")).json(&body).send()
    };
    let mut statuses = Vec::new();
    for response in futures_util::future::join_all((0..16).map(prompt)).await {
        statuses.push(response.unwrap().status().as_u16());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [vec![200], vec![409; 15]].concat());
}

#[tokio::test]
async fn a_search_finds_the_entries_of_a_session() {
    let gateway = TestGateway::start();
    let (session, ids) = gateway.create_with(&["buy milk", "buy bread", "sell milk"]).await;
    let search =
        async |query: &str| gateway.get(&format!("{session}/search?query={query}")).await["ids"].clone();
    assert_eq!(search("milk").await, json!([ids[0], ids[2]]));
    assert_eq!(search("buy%20milk").await, json!([ids[0]]));
    let wrong = gateway.fails(Method::GET, &format!("{session}/search?query=re:("), Value::Null).await;
    assert_eq!(wrong, (400, "bad_pattern".to_owned()));
}
