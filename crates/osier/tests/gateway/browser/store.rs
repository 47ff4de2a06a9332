//! The store of the page, by itself: F1 to F3 and F7 of NetaClaw's rules for a front end.

use osier_testkit::browser::BrowserWindow;
use serde_json::{Value, json};

use super::LivePage;
use crate::server::TestGateway;

/// Evaluates a script that gets the modules `state.js` and `live_state.js`, and returns a value.
async fn with_modules(page: &LivePage, script: &str) -> Value {
    let script = format!(
        "const done = arguments[0], base = document.querySelector('script[src$=\"live.js\"]').src;
         const load = (name) => import(new URL(name, base).href);
         (async () => {{ const [state, live] = await Promise.all([load('state.js'), load('live_state.js')]); {script} }})()
           .then(done, (error) => done(String(error.stack)));"
    );
    page.browser.evaluate_async(&script).await
}

/// What a store shows, as data.
const SHOWN: &str = "const shown = (store) => ({
    entries: store.entries.map(({ id }) => id),
    found: store.entries.every((row, at) => store.entryById.get(row.id) === at),
    children: [null, ...store.entries.map(({ id }) => id)].map((id) => store.childrenByParentId.get(id)),
    path: store.activePathIds,
    visible: store.visibleEntries.map(({ id }) => id),
    labels: [...store.labelsByEntryId],
    deleted: [...store.deleted],
    leaf: store.sessionMeta.leafEntryId,
    selected: store.selectedEntryId,
    switching: store.switchingLeafEntryId,
    pending: store.pendingLeafConfirmation,
  });";

/// A session with two branches, a label that was changed and one that was cleared, a deleted branch, and a move.
async fn branched(gateway: &TestGateway) -> (String, Vec<String>) {
    let (session, mut ids) = gateway.create_with(&["first", "second", "third"]).await;
    let label = async |id: &str, text: &str| {
        let request = gateway.request(reqwest::Method::PUT, &format!("{session}/entries/{id}/label"));
        assert!(request.json(&json!({ "label": text })).send().await.unwrap().status().is_success());
    };
    label(&ids[0], "old").await;
    label(&ids[0], "good").await;
    label(&ids[1], "gone").await;
    label(&ids[1], "").await;
    for text in ["left", "right"] {
        gateway.post(&format!("{session}/move"), json!({ "targetId": ids[0], "exact": true })).await;
        let stored = gateway
            .post(&format!("{session}/messages"), json!({ "message": { "role": "user", "content": text } }))
            .await;
        ids.push(stored["id"].as_str().unwrap().to_owned());
    }
    let left = format!("{session}/entries/{}", ids[3]);
    assert!(gateway.request(reqwest::Method::DELETE, &left).send().await.unwrap().status().is_success());
    (session, ids)
}

/// F2: what is visible follows from the tree and the path, and events lead to the same store as a snapshot.
#[tokio::test]
async fn a_snapshot_and_events_make_the_same_store() {
    let gateway = TestGateway::start();
    let (session, ids) = branched(&gateway).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    let entries = gateway.get(&format!("{session}/entries")).await;
    let all: Vec<String> = entries["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["id"].as_str().unwrap().to_owned())
        .collect();
    let script = format!(
        "{SHOWN}
        const {{ entries }} = await (await fetch('{session}/rendered?ids={}')).json();
        const rows = entries.map(({{ row }}) => row), leaf = {leaf:?};
        const [snapshot, events] = [new live.LiveStore(), new live.LiveStore()];
        snapshot.replace(rows, leaf, true);
        // Moves and marks lead nowhere; a message leads to itself.
        for (const row of rows) {{
          events.append([row]);
          if (row.type === 'message') events.setLeaf(row.id);
        }}
        events.setLeaf(leaf);
        return [shown(snapshot), shown(events)];",
        all.join(","),
        leaf = ids[4],
    );
    let stores = with_modules(&page, &script).await;
    let (snapshot, events) = (&stores[0], &stores[1]);
    assert_eq!(snapshot, events);
    assert_eq!(snapshot["entries"], json!(all));
    assert_eq!(snapshot["found"], json!(true));
    assert_eq!(snapshot["path"], json!([ids[0], ids[4]]));
    assert_eq!(snapshot["visible"], json!([ids[0], ids[4]]));
    assert_eq!(snapshot["labels"], json!([[ids[0], "good"]]));
    assert_eq!(snapshot["leaf"], json!(ids[4]));
    assert_eq!(snapshot["selected"], json!(ids[4]));
    let deleted = all.iter().position(|id| *id == ids[3]).unwrap();
    assert!(snapshot["deleted"].as_array().unwrap().contains(&json!(deleted)), "{snapshot}");
}

/// F7: what a batch did is in maps by its id, and its entries lead there.
#[tokio::test]
async fn batches_are_in_maps_by_their_id() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["delegate"]).await;
    let entries = format!("{session}/entries");
    let tasks = json!([{ "id": "t1", "prompt": "Read main.rs" }]);
    let batch = json!({ "type": "subagent_batch", "id": "abcd0001", "content": { "batchId": "b1", "mode": "parallel", "tasks": tasks, "status": "running" } });
    let events =
        json!([{ "type": "run_start", "runId": "subagent-t1", "timestamp": "2026-01-01T00:00:00.000Z" }]);
    let routes = json!([{ "toolName": "read", "requestedRuntime": "sandbox", "chosenRuntime": "host", "reason": "no sandbox", "allowed": true }]);
    let evidence = json!([{ "kind": "file-count", "title": "Files", "summary": "One", "files": ["main.rs"], "count": 1 }]);
    let result = json!({ "type": "subagent_result", "id": "abcd0002",
        "content": { "batchId": "b1", "status": "completed", "results": [{ "id": "t1", "status": "completed", "summary": "It is short." }] },
        "metadata": { "processEvents": events, "evidenceSummaries": evidence, "toolRuntimeRoutes": routes } });
    for entry in [batch, result] {
        gateway.post(&entries, entry).await;
    }
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    let script = format!(
        "const {{ entries }} = await (await fetch('{session}/rendered?ids=abcd0001,abcd0002')).json();
        const store = new live.LiveStore();
        store.replace(entries.map(({{ row }}) => row), 'abcd0002', true);
        for (const {{ row, subagents }} of entries) store.setSubagents(row, subagents);
        const runtime = store.subagentRuntimeByBatchId.get('b1');
        return {{
          batches: ['abcd0001', 'abcd0002'].map((id) => store.batchIdOf(id)),
          entries: [runtime.batchEntryId, runtime.resultEntryId],
          status: runtime.status,
          numbers: [runtime.tasks, runtime.results, runtime.events, runtime.evidence].map((list) => list.length),
          routes: store.toolRuntimeRoutesByBatchId.get('b1').map(({{ tool, chosen }}) => [tool, chosen]),
          same: store.subagentRuntime('abcd0001') === runtime && store.subagentRuntime('abcd0002') === runtime,
        }};"
    );
    let expected = json!({
        "batches": ["b1", "b1"], "entries": ["abcd0001", "abcd0002"], "status": "completed", "numbers": [1, 1, 1, 1],
        "routes": [["read", "host"]], "same": true,
    });
    assert_eq!(with_modules(&page, &script).await, expected);
}
