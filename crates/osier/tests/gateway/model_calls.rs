//! Commands over HTTP that call a model or a program, or stop them: moves with summaries, compactions, `resume`, `shell`.

use std::fs;

use reqwest::Method;
use serde_json::{Value, json};

use crate::pair_support::wait_for;
use crate::run_support::ModelServer;
use crate::server::{TestGateway, ok};

/// Sends a prompt, and lets the model reply.
async fn talk(gateway: &TestGateway, model: &ModelServer, session: &str, prompt: &str, reply: &str) {
    gateway.post(&format!("{session}/prompt"), json!({ "text": prompt })).await;
    model.next_request().reply(reply);
    wait_for(gateway, session, |state| state["turnRunning"] == false).await;
}

/// Sends a request that waits for the model, which replies with these texts. Returns the response, and what the model got.
async fn post_while_the_model_replies(
    gateway: &TestGateway,
    model: &ModelServer,
    path: &str,
    body: Value,
    replies: &[&str],
) -> (Value, Vec<String>) {
    let request = gateway.request(Method::POST, path).json(&body).send();
    let replying = async {
        let mut texts = Vec::new();
        for reply in replies {
            let request = tokio::task::block_in_place(|| model.next_request());
            texts.push(request.text.clone());
            request.reply(reply);
        }
        texts
    };
    let (response, texts) = tokio::join!(request, replying);
    (ok(response.unwrap()).await, texts)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_summarizes_the_branch_with_its_instructions_and_labels_the_summary() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let session = gateway.create().await;
    talk(&gateway, &model, &session, "about apples", "They are red.").await;
    let path = gateway.active_path(&session).await;
    let red = path.as_array().unwrap().last().unwrap();
    for (replaces, label) in [(true, "first"), (false, "second")] {
        talk(&gateway, &model, &session, "about pears", "They are green.").await;
        let left = gateway.active_path(&session).await.as_array().unwrap().last().unwrap().clone();
        let options = json!({ "targetId": red, "summarize": true, "customInstructions": "Name only colors.",
            "replaceInstructions": replaces, "label": label, "expectedLeafId": left });
        let (moved, requests) =
            post_while_the_model_replies(&gateway, &model, &format!("{session}/move"), options, &["Green."])
                .await;
        assert!(requests[0].contains("They are green.") && requests[0].contains("Name only colors."));
        assert_eq!(requests[0].contains("## Goal"), !replaces, "{}", requests[0]);
        assert_eq!(moved["cancelled"], false, "{moved}");
        let summary = moved["summaryEntry"].as_str().unwrap();
        let stored = gateway.get(&format!("{session}/entries/{summary}")).await;
        assert_eq!((&stored["parentId"], &stored["fromId"]), (red, &left), "{stored}");
        assert!(stored["summary"].as_str().unwrap().contains("Green."), "{stored}");
        let labels = gateway.get(&format!("{session}/snapshot")).await["labelsByEntryId"].clone();
        assert_eq!(labels[summary], label, "the label is that of the summary");
    }
}

#[tokio::test]
async fn a_move_during_a_turn_is_refused_unless_it_stops_the_turn() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let (session, entries) = gateway.create_with(&["a", "b"]).await;
    gateway.post(&format!("{session}/prompt"), json!({ "text": "hello" })).await;
    let request = model.next_request();
    let to = |stops: bool| json!({ "targetId": entries[0], "exact": true, "stopTurn": stops });
    let path = format!("{session}/move");
    assert_eq!(gateway.fails(Method::POST, &path, to(false)).await, (409, "session_busy".to_owned()));
    assert_eq!(gateway.post(&path, to(true)).await["leafId"], json!(entries[0]));
    request.wait_for_disconnect();
    assert_eq!(gateway.get(&format!("{session}/state")).await["turnRunning"], false);
}

#[tokio::test]
async fn a_conversation_does_not_continue_between_calls_and_their_results() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["read it"]).await;
    let call = json!({ "type": "toolCall", "id": "c1", "name": "read", "arguments": { "path": "a.txt" } });
    let reply = json!({ "role": "assistant", "content": [call], "provider": "local", "model": "test", "stopReason": "toolUse" });
    let messages = format!("{session}/messages");
    let reply = gateway.post(&messages, json!({ "message": reply })).await["id"].clone();
    gateway.post(&messages, json!({ "message": { "role": "user", "content": "next" } })).await;
    let path = format!("{session}/move");
    let refused = gateway.fails(Method::POST, &path, json!({ "targetId": reply })).await;
    assert_eq!(refused, (409, "incomplete_tool_batch".to_owned()));
    let exact = gateway.post(&path, json!({ "targetId": reply, "exact": true })).await;
    assert_eq!(exact["leafId"], reply);
}

/// A misspelled target would otherwise lead to before the first entry.
#[tokio::test]
async fn a_move_without_a_target_is_refused() {
    let gateway = TestGateway::start();
    let (session, entries) = gateway.create_with(&["a"]).await;
    for wrong in
        [json!({}), json!({ "target": entries[0] }), json!({ "targetId": null, "expectedLeaf": "x" })]
    {
        let refused = gateway.fails(Method::POST, &format!("{session}/move"), wrong).await;
        assert_eq!(refused, (400, "invalid_request".to_owned()));
    }
    assert_eq!(gateway.active_path(&session).await, json!(entries), "nothing moved");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_is_compacted() {
    let model = ModelServer::new();
    let env = model.env();
    let config = env.home().join("config.toml");
    let settings = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("compaction.keep_recent_tokens = 20\n{settings}")).unwrap();
    let gateway = TestGateway::start_in(env, &[]);
    let session = gateway.create().await;
    for text in ["apples", "pears", "plums"] {
        talk(&gateway, &model, &session, &text.repeat(40), &text.repeat(40)).await;
    }
    let (focus, path) = (json!({ "focus": "Keep the colors." }), format!("{session}/compact"));
    // The last turn is cut, so its start is summarized too.
    let replies = ["A summary.", "The start of the turn."];
    let (compacted, requests) = post_while_the_model_replies(&gateway, &model, &path, focus, &replies).await;
    assert_eq!(compacted["type"], "compacted", "{compacted}");
    assert!(requests[0].contains("Keep the colors."), "{}", requests[0]);
    let compaction = gateway.get(&format!("{session}/compaction")).await;
    assert!(compaction["summary"].as_str().unwrap().contains("A summary."), "{compaction}");
    let context = gateway.get(&format!("{session}/context")).await["messages"].to_string();
    assert!(context.contains("A summary.") && !context.contains("apples"), "{context}");
}

#[tokio::test]
async fn a_turn_that_failed_is_resumed() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let session = gateway.create().await;
    gateway.post(&format!("{session}/prompt"), json!({ "text": "hello" })).await;
    model.next_request().refuse(400, r#"{"error":{"message":"no"}}"#);
    wait_for(&gateway, &session, |state| state["turnRunning"] == false).await;
    let path = gateway.get(&format!("{session}/path")).await;
    assert_eq!(path.as_array().unwrap().last().unwrap()["message"]["stopReason"], "error", "{path}");
    gateway.post(&format!("{session}/resume"), json!({})).await;
    let request = model.next_request();
    assert_eq!(request.messages(), ["user: hello"], "the failed reply is not sent");
    request.reply("Hello again.");
    wait_for(&gateway, &session, |state| state["turnRunning"] == false).await;
    let again = gateway.fails(Method::POST, &format!("{session}/resume"), json!({})).await;
    assert_eq!(again, (409, "nothing_to_resume".to_owned()));
}

#[tokio::test]
async fn a_command_of_the_user_runs_and_is_stored() {
    let gateway = TestGateway::start();
    let session = gateway.create().await;
    let shell = format!("{session}/shell");
    let ran =
        gateway.post(&shell, json!({ "command": "echo marmalade > made.txt; cat made.txt; exit 3" })).await;
    assert_eq!(gateway.env.read("made.txt"), b"marmalade\n");
    let stored = gateway.get(&format!("{session}/entries/{}", ran["entry"].as_str().unwrap())).await;
    let message = &stored["message"];
    assert_eq!((&message["output"], &message["exitCode"]), (&json!("marmalade"), &json!(3)), "{stored}");
    let aside = json!({ "command": "echo aside", "excludeFromContext": true });
    gateway.post(&shell, aside).await;
    let path = gateway.get(&format!("{session}/path")).await;
    let last = &path.as_array().unwrap().last().unwrap()["message"];
    assert_eq!((&last["output"], &last["excludeFromContext"]), (&json!("aside"), &json!(true)), "{path}");
}
