//! Commands over HTTP: prompts, questions, moves, branches; and the end of a gateway.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::pair_support::wait_for;
use crate::run_support::{ModelRequest, ModelServer};
use crate::server::{TestGateway, ok};
use crate::support::{TestEnv, strings};

#[tokio::test]
async fn a_prompt_is_answered_without_a_client() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let session = gateway.create().await;
    let started = gateway.post(&format!("{session}/prompt"), json!({ "text": "hello" })).await;
    assert_eq!(started["type"], "started");
    let request = model.next_request();
    assert_eq!(wait_for(&gateway, &session, |state| state["turnRunning"] == true).await["turnRunning"], true);
    let busy = gateway.fails(Method::POST, &format!("{session}/prompt"), json!({ "text": "now" })).await;
    assert_eq!(busy, (409, "session_busy".to_owned()));
    let queued =
        gateway.post(&format!("{session}/prompt"), json!({ "text": "later", "when": "follow_up" })).await;
    assert_eq!(queued["type"], "queued");
    request.reply("Hello to you.");
    model.next_request().reply("And later.");
    wait_for(&gateway, &session, |state| state["turnRunning"] == false).await;
    let path = gateway.get(&format!("{session}/path")).await;
    let texts: Vec<&Value> = path
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["message"]["role"])
        .filter(|role| !role.is_null())
        .collect();
    assert_eq!(texts, ["system", "user", "assistant", "user", "assistant"]);
    assert_eq!(gateway.get(&format!("{session}/status")).await["model"], "local/test");
    assert!(gateway.get(&format!("{session}/usage")).await.is_object());
}

#[tokio::test]
async fn without_a_task_there_is_nothing_to_cancel_or_to_steer() {
    let gateway = TestGateway::start();
    let session = gateway.create().await;
    let steer = json!({ "task": "task1", "text": "faster" });
    for (path, body) in [("cancel", json!({})), ("cancel", json!({ "task": "task1" })), ("steer", steer)] {
        let refused = gateway.fails(Method::POST, &format!("{session}/tasks/{path}"), body).await;
        assert_eq!(refused, (409, "task_not_running".to_owned()));
    }
}

#[tokio::test]
async fn a_task_is_steered_and_all_tasks_are_canceled() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let session = gateway.create().await;
    gateway.post(&format!("{session}/prompt"), json!({ "text": "delegate" })).await;
    let tasks = json!({ "tasks": [{ "prompt": "Count the apples" }, { "prompt": "Count the pears" }] });
    model.next_request().reply_with_call("task", &tasks);
    let requests = [model.next_request(), model.next_request()];
    let is_apples = |request: &ModelRequest| request.text.contains("Count the apples");
    let (apples, pears): (Vec<_>, Vec<_>) = requests.into_iter().partition(is_apples);
    let batches = gateway.get(&format!("{session}/tasks")).await;
    let task = &batches["batches"][0]["taskPanels"][0]["taskId"];
    assert!(task.is_string(), "{batches}");
    let steer = json!({ "task": task, "text": "Only the red ones" });
    assert_eq!(gateway.post(&format!("{session}/tasks/steer"), steer).await["type"], "queued");
    for request in apples {
        request.reply("Three apples");
    }
    let steered = model.next_request();
    assert!(steered.messages().iter().any(|message| message.contains("Only the red ones")));
    gateway.post(&format!("{session}/tasks/cancel"), json!({})).await;
    steered.wait_for_disconnect();
    for request in pears {
        request.wait_for_disconnect();
    }
    model.next_request().reply("Nothing was counted.");
    wait_for(&gateway, &session, |state| state["turnRunning"] == false).await;
    let batches = gateway.get(&format!("{session}/tasks")).await;
    let panels = batches["batches"][0]["taskPanels"].as_array().unwrap().clone();
    assert!(panels.iter().all(|panel| panel["status"] == "cancelled"), "{batches}");
}

#[tokio::test]
async fn tries_are_started_compared_and_kept() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let file = gateway.env.path("list.txt");
    std::fs::write(&file, "one\n").unwrap();
    let session = gateway.create().await;
    let tries = json!([{ "instructions": "mango" }, { "instructions": "papaya" }]);
    let start = json!({ "action": "start", "text": "Add a line", "tries": tries });
    gateway.post(&format!("{session}/explores"), start).await;
    for _ in 0..4 {
        let request = model.next_request();
        if request.messages().last().is_some_and(|message| message.starts_with("tool: ")) {
            request.reply("done");
            continue;
        }
        let line = if request.text.contains("mango") { "mango" } else { "papaya" };
        let edits = json!([{ "oldText": "one\n", "newText": format!("{line}\n") }]);
        request.reply_with_call("edit", &json!({ "path": "list.txt", "edits": edits }));
    }
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    // While the tries clean up, the engine refuses.
    let keep = json!({ "action": "keep", "try": 2 });
    let kept = loop {
        let answer =
            gateway.request(Method::POST, &format!("{session}/explores")).json(&keep).send().await.unwrap();
        if answer.status() != 409 {
            break answer.text().await.unwrap();
        }
        assert!(std::time::Instant::now() < deadline);
        tokio::task::yield_now().await;
    };
    let explores = gateway.get(&format!("{session}/explores")).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "papaya\n", "{kept} {explores}");
    assert_eq!(explores["explores"][0]["kept"], 2, "{explores}");
    let comparison = gateway.get(&format!("{session}/explores/compare?left=1&right=2")).await;
    let diff = comparison["diff"].as_str().unwrap();
    assert!(diff.contains("-mango") && diff.contains("+papaya"), "{diff}");
    let missing =
        gateway.fails(Method::GET, &format!("{session}/explores/compare?left=1&right=9"), Value::Null).await;
    assert_eq!(missing.0, 400, "{missing:?}");
}

#[tokio::test]
async fn a_question_is_answered_over_http() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let session = gateway.create().await;
    gateway.post(&format!("{session}/prompt"), json!({ "text": "write" })).await;
    model.next_request().reply_with_call("write", &json!({ "path": "made.txt", "content": "yes" }));
    let state = wait_for(&gateway, &session, |state| state["openQuestions"] != json!([])).await;
    let question = &state["openQuestions"][0]["id"];
    let busy = gateway.request(Method::DELETE, &session).send().await.unwrap();
    let busy: Value = busy.json().await.unwrap();
    assert_eq!(busy["code"], "session_busy");
    assert!(busy["message"].as_str().unwrap().contains("is open in this process"), "{busy}");
    gateway
        .post(&format!("{session}/answer"), json!({ "question": question, "answer": { "type": "once" } }))
        .await;
    model.next_request().reply("Done.");
    wait_for(&gateway, &session, |state| state["turnRunning"] == false).await;
    assert_eq!(gateway.env.read("made.txt"), b"yes");
    // Another client may have answered it.
    let again = json!({ "question": question, "answer": { "type": "once" } });
    let refused = gateway.fails(Method::POST, &format!("{session}/answer"), again).await;
    assert_eq!(refused, (409, "question_closed".to_owned()));
}

#[tokio::test]
async fn a_turn_is_canceled() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let session = gateway.create().await;
    gateway.post(&format!("{session}/prompt"), json!({ "text": "hello" })).await;
    let mut request = model.next_request();
    request.send_text("Half an answer");
    gateway.post(&format!("{session}/cancel"), json!({})).await;
    request.wait_for_disconnect();
    assert_eq!(gateway.get(&format!("{session}/state")).await["turnRunning"], false);
}

#[tokio::test]
async fn moves_can_be_expected_undone_and_redone() {
    let gateway = TestGateway::start();
    let (session, entries) = gateway.create_with(&["a", "b", "c"]).await;
    let post = async |path: &str, body: Value| gateway.post(&format!("{session}/{path}"), body).await;
    let count =
        async || gateway.get(&format!("{session}/entries")).await["entries"].as_array().unwrap().len();
    let stale = json!({ "targetId": entries[0], "exact": true, "expectedLeafId": entries[1] });
    let changed = gateway.fails(Method::POST, &format!("{session}/move"), stale).await;
    assert_eq!((changed, count().await), ((409, "leaf_changed".to_owned()), 3));
    let exact = json!({ "targetId": entries[0], "exact": true, "expectedLeafId": entries[2] });
    assert_eq!(post("move", exact).await["leafId"], json!(entries[0]));
    assert_eq!(strings(&gateway.active_path(&session).await), entries[..1]);
    // A move to a user message goes before it, and returns its text.
    let moved = post("move", json!({ "targetId": entries[1] })).await;
    assert_eq!((&moved["leafId"], &moved["editorText"]), (&json!(entries[0]), &json!("b")));
    let reset = post("move", json!({ "targetId": null })).await;
    assert_eq!((&reset["leafId"], gateway.active_path(&session).await), (&Value::Null, json!([])));
    let undone = post("undo", json!({})).await;
    assert_eq!((&undone["type"], &undone["leafId"]), (&json!("moved"), &json!(entries[0])));
    assert_eq!(strings(&gateway.active_path(&session).await), entries[..1]);
    let redone = post("redo", json!({})).await;
    assert_eq!((&redone["type"], &redone["leafId"]), (&json!("moved"), &Value::Null));
    assert_eq!(gateway.active_path(&session).await, json!([]));
    let nothing = gateway.fails(Method::POST, &format!("{session}/redo"), json!({})).await;
    assert_eq!(nothing, (409, "nothing_to_redo".to_owned()));
    let missing =
        gateway.fails(Method::POST, &format!("{session}/move"), json!({ "targetId": "ffffffff" })).await;
    assert_eq!(missing, (404, "entry_not_found".to_owned()));
}

#[tokio::test]
async fn a_prompt_can_expect_a_leaf() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let (session, entries) = gateway.create_with(&["a", "b"]).await;
    let prompt = format!("{session}/prompt");
    let stale = json!({ "text": "hi", "expectedLeafId": entries[0] });
    assert_eq!(gateway.fails(Method::POST, &prompt, stale).await, (409, "leaf_changed".to_owned()));
    let before_all = json!({ "text": "hi", "expectedLeafId": null });
    assert_eq!(gateway.fails(Method::POST, &prompt, before_all).await, (409, "leaf_changed".to_owned()));
    gateway.post(&prompt, json!({ "text": "hi", "expectedLeafId": entries[1] })).await;
    model.next_request().reply("Hi.");
}

#[tokio::test]
async fn branches_are_compared_grafted_deleted_and_restored() {
    let gateway = TestGateway::start();
    let (session, entries) = gateway.create_with(&["a", "b"]).await;
    let other = json!({ "message": { "role": "user", "content": "c" }, "parentId": entries[0] });
    let other = gateway.post(&format!("{session}/messages"), other).await["id"].as_str().unwrap().to_owned();
    let compared = gateway.get(&format!("{session}/compare?left={}&right={other}", entries[1])).await;
    assert_eq!(compared["commonId"], json!(entries[0]));
    let grafted = gateway.post(&format!("{session}/graft"), json!({ "tip": entries[1] })).await;
    assert_eq!(grafted["type"], "stored");
    let branch = format!("{session}/entries/{}", entries[1]);
    ok(gateway.request(Method::DELETE, &branch).send().await.unwrap()).await;
    let deleted = gateway.get(&format!("{session}/snapshot")).await;
    assert_eq!(deleted["deletedBranches"], json!([entries[1]]));
    let again = gateway.fails(Method::DELETE, &branch, json!({})).await;
    assert_eq!(again, (409, "already_deleted".to_owned()));
    gateway.post(&format!("{branch}/restore"), json!({})).await;
    assert_eq!(gateway.get(&format!("{session}/snapshot")).await["deletedBranches"], json!([]));
}

#[tokio::test]
async fn a_conversation_is_compacted_and_restored() {
    let gateway = TestGateway::start();
    let session = gateway.create().await;
    for text in ["tell me about foxes", "and about hens", "and about geese"] {
        gateway.post(&format!("{session}/prompt"), json!({ "text": text })).await;
        wait_for(&gateway, &session, |state| state["turnRunning"] == false).await;
    }
    let before = gateway.active_path(&session).await;
    let nothing = gateway.fails(Method::POST, &format!("{session}/compact"), json!({})).await;
    // The conversation is short, so there is nothing that a summary could replace.
    assert_eq!(nothing, (409, "nothing_to_compact".to_owned()));
    let kept = before[2].as_str().unwrap();
    let compaction = json!({ "summary": "foxes", "firstKeptEntryId": kept, "tokensBefore": 100 });
    gateway.post(&format!("{session}/compactions"), compaction).await;
    assert_eq!(gateway.get(&format!("{session}/compaction")).await["summary"], "foxes");
    gateway.post(&format!("{session}/undo-compaction"), json!({})).await;
    assert_eq!(gateway.active_path(&session).await, before);
}

#[tokio::test]
async fn ctrl_c_cancels_turns_and_stores_their_results() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let session = gateway.create().await;
    gateway.post(&format!("{session}/prompt"), json!({ "text": "hello" })).await;
    let mut request = model.next_request();
    request.send_text("Half an answer");
    let state = |state: &Value| state["drafts"].to_string().contains("Half an answer");
    wait_for(&gateway, &session, state).await;
    let (output, env) = gateway.stop();
    assert_eq!((output.code, output.err.as_str()), (0, ""), "{}", output.out);
    request.wait_for_disconnect();
    let file = std::fs::read_to_string(env.session_file()).unwrap();
    assert!(file.contains("Half an answer") && file.contains("aborted"), "{file}");
}

#[tokio::test]
async fn prompts_that_were_queued_when_a_gateway_died_are_returned_over_http() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let session = gateway.create().await;
    gateway.post(&format!("{session}/prompt"), json!({ "text": "hello" })).await;
    let _request = model.next_request();
    gateway.post(&format!("{session}/prompt"), json!({ "text": "later", "when": "follow_up" })).await;
    let gateway = TestGateway::start_in(gateway.kill(), &[]);
    let state = gateway.get(&format!("{session}/state")).await;
    assert_eq!(state["returnedPrompts"][0]["text"], "later", "{state}");
}

/// Nobody is attached to the session, so nobody would ever answer.
#[tokio::test]
async fn a_dialog_of_an_extension_that_nobody_can_answer_is_canceled() {
    let env = TestEnv::new();
    let file = env.path("x.ts");
    let extension = r#"export default function (pi) {
        pi.registerCommand("ask", {
            handler: async (_args, ctx) => pi.setSessionName(`sure: ${await ctx.ui.confirm("Sure?", "")}`),
        });
    }"#;
    std::fs::write(&file, extension).unwrap();
    let gateway = TestGateway::start_in(env, &["-e", file.to_str().unwrap()]);
    let (session, _) = gateway.create_with(&["first"]).await;
    gateway.post(&format!("{session}/prompt"), json!({ "text": "/ask" })).await;
    let deadline = Instant::now() + Duration::from_secs(60);
    while gateway.get(&session).await["title"] != "sure: false" {
        assert!(Instant::now() < deadline, "the dialog is open");
        tokio::task::yield_now().await;
    }
}
