//! The OpenAPI document and the routes are the same.

use std::collections::BTreeSet;
use std::time::Instant;

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::TestGateway;
use crate::socket_support::TEST_TIMEOUT;

/// All references in a document.
fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(target)) = fields.get("$ref") {
                found.insert(target.clone());
            }
            fields.values().for_each(|field| references(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

/// The documented routes: method, path, operation.
fn operations(document: &Value) -> Vec<(Method, String, Value)> {
    let mut found = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let method = method.to_uppercase().parse().unwrap();
            found.push((method, path.clone(), operation.clone()));
        }
    }
    found
}

#[tokio::test]
async fn every_documented_route_exists() {
    let gateway = TestGateway::start();
    let document = gateway.get("/api/openapi.json").await;
    let operations = operations(&document);
    assert!(operations.len() > 45, "{}", operations.len());
    for (method, path, _) in operations {
        let (session, entries) = gateway.create_with(&["a"]).await;
        let id = session.rsplit('/').next().unwrap();
        let real = path.replace("{id}", id).replace("{entry}", &entries[0]).replace("{key}", "thinking");
        let without_token = gateway.plain(method.clone(), &real).json(&json!([])).send().await.unwrap();
        assert_eq!(without_token.status(), 401, "{method} {path}");
        // A body of the wrong type: it exists if it answers anything but "no such endpoint" and "not this method".
        let answered = gateway.request(method.clone(), &real).json(&json!([])).send().await.unwrap().status();
        assert!(
            ![404, 405, 500].contains(&answered.as_u16()) || path.ends_with("/compaction"),
            "{method} {path}: {answered}"
        );
    }
}

#[tokio::test]
async fn methods_that_are_not_documented_do_not_exist() {
    let gateway = TestGateway::start();
    let document = gateway.get("/api/openapi.json").await;
    for (path, documented) in document["paths"].as_object().unwrap() {
        let real = path.replace("{id}", "x").replace("{entry}", "y").replace("{key}", "z");
        for method in [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            if documented.get(method.as_str().to_lowercase()).is_none() {
                let status = gateway.request(method.clone(), &real).send().await.unwrap().status();
                assert_eq!(status, 405, "{method} {path} is not documented");
            }
        }
    }
}

#[tokio::test]
async fn the_document_is_openapi_3_1_and_its_references_resolve() {
    let gateway = TestGateway::start();
    let document = gateway.get("/api/openapi.json").await;
    assert_eq!(document["openapi"], "3.1.0");
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    for target in &found {
        let pointer = target.strip_prefix('#').unwrap_or_else(|| panic!("{target} is not in the document"));
        assert!(document.pointer(pointer).is_some(), "{target}");
    }
    assert!(found.contains("#/components/schemas/MoveCommand") && found.len() > 40, "{found:?}");
    let mut ids = BTreeSet::new();
    for (method, path, operation) in operations(&document) {
        let id = operation["operationId"].as_str().unwrap_or_else(|| panic!("{method} {path} has no id"));
        assert!(ids.insert(id.to_owned()), "two operations are called {id}");
        let text = operation["summary"].as_str().or_else(|| operation["description"].as_str());
        assert!(text.is_some_and(|text| !text.is_empty()), "{method} {path} is not described");
        assert_eq!(
            operation["responses"]["default"]["$ref"], "#/components/responses/Error",
            "{method} {path}"
        );
        let named: BTreeSet<&str> = path.split(['{', '}']).skip(1).step_by(2).collect();
        let params = operation["parameters"].as_array().into_iter().flatten();
        let described: BTreeSet<&str> = params
            .filter(|param| param["in"] == "path")
            .map(|param| param["name"].as_str().unwrap())
            .collect();
        assert_eq!(described, named, "{method} {path}");
        let (mut used, has_body) = (BTreeSet::new(), operation.get("requestBody").is_some());
        references(&operation["requestBody"], &mut used);
        assert!(!has_body || !used.is_empty(), "{method} {path}: the body has no schema");
    }
}

/// A request that uses an operation: its name in the document, the method, the path below the session, and the body.
type Example = (&'static str, Method, &'static str, Value);

/// Every operation of a session-tree provider, by its name there, and the rest of what a gateway offers. `A` and `B` are the
/// first two entries of the session. The examples run in this order.
fn examples() -> Vec<Example> {
    let message = json!({ "role": "user", "content": "c" });
    let batch = json!({ "type": "subagent_batch", "id": "batch001", "content": { "batchId": "x", "status": "running" } });
    vec![
        ("getSession", Method::GET, "", Value::Null),
        ("updateSession", Method::PATCH, "", json!({ "title": "t", "status": "active", "metadata": {} })),
        ("listEntries", Method::GET, "/entries?after=0&limit=1", Value::Null),
        ("getEntry", Method::GET, "/entries/A", Value::Null),
        ("appendEntry", Method::POST, "/entries", batch),
        ("updateEntry", Method::PATCH, "/entries/batch001", json!({ "status": "completed", "payload": {} })),
        (
            "appendMessage",
            Method::POST,
            "/messages",
            json!({ "message": message, "parentId": "B", "entryId": "message1" }),
        ),
        (
            "appendThinkingLevelChange",
            Method::POST,
            "/thinking-level-changes",
            json!({ "thinkingLevel": "high" }),
        ),
        ("appendModelChange", Method::POST, "/model-changes", json!({ "provider": "p", "modelId": "m" })),
        (
            "appendCompaction",
            Method::POST,
            "/compactions",
            json!({ "summary": "s", "firstKeptEntryId": "B", "tokensBefore": 9 }),
        ),
        ("appendBranchSummary", Method::POST, "/branch-summaries", json!({ "fromId": "B", "summary": "s" })),
        ("appendLabelChange", Method::PUT, "/entries/A/label", json!({ "label": "here" })),
        ("appendSessionInfo", Method::PUT, "/name", json!({ "name": "n" })),
        // `switchLeaf` and `resetLeaf` are moves.
        ("move", Method::POST, "/move", json!({ "targetId": "A", "exact": true })),
        ("move", Method::POST, "/move", json!({ "targetId": null })),
        ("undo", Method::POST, "/undo", json!({})),
        ("redo", Method::POST, "/redo", json!({})),
        ("move", Method::POST, "/move", json!({ "targetId": "B", "exact": true })),
        ("createBranchedSession", Method::POST, "/branch", json!({ "leafId": "A" })),
        ("forkSession", Method::POST, "/fork", json!({ "position": "exactly", "entryId": "B" })),
        ("getActivePath", Method::GET, "/path", Value::Null),
        ("getSnapshot", Method::GET, "/snapshot?since=1", Value::Null),
        ("getTree", Method::GET, "/tree?flat=true", Value::Null),
        ("getTreeRows", Method::GET, "/rows", Value::Null),
        ("getContext", Method::GET, "/context", Value::Null),
        ("exportSession", Method::GET, "/export?format=jsonl", Value::Null),
        ("getRenderedEntries", Method::GET, "/rendered?last=1", Value::Null),
        ("compareBranches", Method::GET, "/compare?left=A&right=B", Value::Null),
        ("getUsage", Method::GET, "/usage", Value::Null),
        ("getStatus", Method::GET, "/status", Value::Null),
        ("getState", Method::GET, "/state", Value::Null),
        ("searchEntries", Method::GET, "/search?query=hello", Value::Null),
        ("listExplores", Method::GET, "/explores", Value::Null),
        ("listTasks", Method::GET, "/tasks", Value::Null),
        ("listForkPoints", Method::GET, "/fork-points?allBranches=true", Value::Null),
        ("getSessionSettings", Method::GET, "/settings", Value::Null),
        ("changeSessionSettings", Method::PATCH, "/settings", json!({ "set": { "color": "red" } })),
        ("updateAgent", Method::PATCH, "/agent", json!({ "thinking": "off" })),
        ("listSessionModels", Method::GET, "/models", Value::Null),
        ("listFiles", Method::GET, "/files?limit=5", Value::Null),
        ("listCommands", Method::GET, "/commands", Value::Null),
        ("graft", Method::POST, "/graft", json!({ "tip": "message1" })),
        ("prompt", Method::POST, "/prompt", json!({ "text": "hello", "when": "no_turn" })),
        ("cancel", Method::POST, "/cancel", json!({})),
        ("clearQueue", Method::POST, "/clear-queue", json!({})),
        ("deleteBranch", Method::DELETE, "/entries/batch001", Value::Null),
        ("restoreBranch", Method::POST, "/entries/batch001/restore", json!({})),
        ("deleteSession", Method::DELETE, "?agentId=other", Value::Null),
    ]
}

/// Operations whose examples are in other tests, because they need a model, a question, a compaction, a task, or no session.
const ELSEWHERE: [&str; 20] = [
    "createSession",
    "listSessions",
    "answer",
    "cancelTasks",
    "changeSetting",
    "compact",
    "compareTries",
    "connect",
    "describeEngine",
    "explore",
    "getAccess",
    "getCompaction",
    "listAgents",
    "listModels",
    "listSettings",
    "render",
    "resume",
    "runShell",
    "steerTask",
    "undoCompaction",
];

#[tokio::test]
async fn every_operation_has_an_example_that_works() {
    let gateway = TestGateway::start();
    let document = gateway.get("/api/openapi.json").await;
    let (session, entries) = gateway.create_with(&["a", "b"]).await;
    let named = |text: &str| {
        text.replace("/A", &format!("/{}", entries[0]))
            .replace("=A", &format!("={}", entries[0]))
            .replace("=B", &format!("={}", entries[1]))
    };
    let mut missing: BTreeSet<String> = operations(&document)
        .iter()
        .map(|(_, _, operation)| operation["operationId"].as_str().unwrap().to_owned())
        .collect();
    for (operation, method, path, body) in examples() {
        let body = body
            .to_string()
            .replace("\"A\"", &format!("\"{}\"", entries[0]))
            .replace("\"B\"", &format!("\"{}\"", entries[1]));
        let send = || {
            let request = gateway.request(method.clone(), &format!("{session}{}", named(path)));
            let request = match body.as_str() {
                "null" => request,
                _ => request.header("content-type", "application/json").body(body.clone()),
            };
            request.send()
        };
        let (mut response, start) = (send().await.unwrap(), Instant::now());
        // The agent that earlier examples have started may still be closing.
        while operation == "deleteSession" && response.status() == 409 && start.elapsed() < TEST_TIMEOUT {
            response = send().await.unwrap();
        }
        let (status, text) = (response.status(), response.text().await.unwrap());
        assert!(status.is_success(), "{operation}: {method} {path}: {status} {text}");
        let template = template_path(path);
        let described = &document["paths"][&template][method.as_str().to_lowercase()];
        assert_eq!(described["operationId"], operation, "{method} {template}");
        missing.remove(operation);
    }
    assert_eq!(missing, ELSEWHERE.map(str::to_owned).into_iter().collect());
}

/// The path of an example as the document has it.
fn template_path(path: &str) -> String {
    let path = path.split('?').next().unwrap().replace("/A", "/{entry}").replace("/batch001", "/{entry}");
    format!("/api/sessions/{{id}}{path}")
}
