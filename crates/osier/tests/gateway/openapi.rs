//! The OpenAPI document and the routes are the same.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::TestGateway;

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

/// The operations of the provider interface, by their names there.
#[tokio::test]
async fn every_operation_of_the_session_tree_provider_has_a_route() {
    let document = TestGateway::start().get("/api/openapi.json").await;
    let ids: BTreeSet<String> = operations(&document)
        .iter()
        .map(|(_, _, operation)| operation["operationId"].as_str().unwrap().to_owned())
        .collect();
    let provider = "createSession getSession updateSession deleteSession listEntries appendEntry appendMessage \
        appendThinkingLevelChange appendModelChange appendCompaction appendBranchSummary appendLabelChange \
        appendSessionInfo updateEntry move createBranchedSession getActivePath getSnapshot";
    for name in provider.split_whitespace() {
        assert!(ids.contains(name), "{name}");
    }
}
