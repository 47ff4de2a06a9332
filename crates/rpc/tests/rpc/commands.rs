//! The queue, cancellation, names, models, shell commands and compaction.

use osier_model::scripted::ScriptedTurn;
use serde_json::{Value, json};

use crate::support::{TestProgram, of_type, types};

/// A program whose turn is waiting for the rest of a reply.
async fn program_in_a_turn() -> TestProgram {
    let mut program = TestProgram::start().await;
    program.push(ScriptedTurn::new().text("Hel").hang());
    program.data("prompt", json!({ "message": "first" })).await;
    program.until("message_update").await;
    program
}

#[tokio::test]
async fn a_prompt_in_a_turn_needs_a_behavior_and_is_queued() {
    let mut program = program_in_a_turn().await;
    let refused = program.call("prompt", json!({ "message": "again" })).await;
    assert_eq!((&refused["success"], &refused["code"]), (&json!(false), &json!("session_busy")), "{refused}");
    assert!(refused["error"].as_str().unwrap().contains("streamingBehavior"), "{refused}");
    let queued = json!({ "disposition": "queued" });
    assert_eq!(program.data("steer", json!({ "message": "a" })).await, queued);
    assert_eq!(program.data("follow_up", json!({ "message": "b" })).await, queued);
    let third = json!({ "message": "c", "streamingBehavior": "followUp" });
    assert_eq!(program.data("prompt", third).await, queued);
    assert_eq!(program.data("get_state", json!({})).await["pendingMessageCount"], 3);
    let updates: Vec<Value> = of_type(&program.events, "queue_update").into_iter().cloned().collect();
    assert_eq!(
        updates.last().unwrap(),
        &json!({ "type": "queue_update", "steering": ["a"], "followUp": ["b", "c"] })
    );
    program.events.clear();
    let cleared = program.data("clear_queue", json!({})).await;
    assert_eq!(cleared, json!({ "steering": ["a"], "followUp": ["b", "c"] }));
    let empty = json!({ "type": "queue_update", "steering": [], "followUp": [] });
    assert_eq!(program.events, [empty], "announced once");
    assert_eq!(program.data("get_state", json!({})).await["pendingMessageCount"], 0);
}

#[tokio::test]
async fn queued_messages_survive_an_abort_and_follow_the_next_prompt() {
    let mut program = program_in_a_turn().await;
    program.data("steer", json!({ "message": "steered" })).await;
    program.call("abort", json!({})).await;
    let queues = of_type(&program.events, "queue_update").len();
    assert_eq!(queues, 1, "the queue did not change: {:#?}", program.events);
    assert_eq!(program.data("get_state", json!({})).await["pendingMessageCount"], 1);
    program.events.clear();
    program.push(ScriptedTurn::reply("One."));
    let events = program.run_prompt("next").await;
    let prompts: Vec<&Value> = of_type(&events, "message_end")
        .into_iter()
        .filter(|event| event["message"]["role"] == "user")
        .map(|event| &event["message"]["content"][0]["text"])
        .collect();
    assert_eq!(prompts, ["next", "steered"]);
    assert_eq!(events.iter().filter(|event| event["type"] == "agent_start").count(), 1, "{events:#?}");
}

#[tokio::test]
async fn a_message_that_is_queued_while_nothing_runs_waits_for_the_next_prompt() {
    let mut program = TestProgram::start().await;
    assert_eq!(
        program.data("steer", json!({ "message": "later" })).await,
        json!({ "disposition": "queued" })
    );
    assert_eq!(types(&program.events), ["queue_update"]);
    assert_eq!(program.data("clear_queue", json!({})).await["steering"], json!(["later"]));
}

#[tokio::test]
async fn a_delivered_message_leaves_the_queue_before_it_is_announced() {
    let mut program = TestProgram::start().await;
    program.push(ScriptedTurn::reply("Done."));
    program.data("steer", json!({ "message": "also" })).await;
    program.events.clear();
    let events = program.run_prompt("go").await;
    let names: Vec<String> = events
        .iter()
        .filter(|event| event["type"] == "queue_update" || event["message"]["role"] == "user")
        .map(|event| match event["type"].as_str().unwrap() {
            "queue_update" => format!("queue {}", event["steering"]),
            other => format!("{other} {}", event["message"]["content"][0]["text"]),
        })
        .collect();
    let end = ["queue []", "message_start \"also\"", "message_end \"also\""];
    assert_eq!(names[names.len() - 3..], end, "{names:?}");
    assert_eq!(of_type(&events, "turn_end").len(), 1, "the model is called once, with both messages");
}

#[tokio::test]
async fn names_and_levels_are_announced_before_the_response() {
    let mut program = TestProgram::start().await;
    program.data("set_session_name", json!({ "name": " My\nname " })).await;
    assert_eq!(program.events, [json!({ "type": "session_info_changed", "name": "My name" })]);
    assert_eq!(program.data("get_state", json!({})).await["sessionName"], "My name");
    let empty = program.call("set_session_name", json!({ "name": "  " })).await;
    assert_eq!((&empty["success"], &empty["code"]), (&json!(false), &json!("empty")));
    let unknown = program.call("set_thinking_level", json!({ "level": "bogus" })).await;
    assert_eq!(unknown["success"], false);
    let models = program.data("get_available_models", json!({})).await;
    let model = models["models"][0].clone();
    let fields = [
        "id",
        "name",
        "api",
        "provider",
        "baseUrl",
        "reasoning",
        "input",
        "cost",
        "contextWindow",
        "maxTokens",
    ];
    assert_eq!(model.as_object().unwrap().keys().collect::<Vec<_>>(), fields);
    let chosen = json!({ "provider": model["provider"], "modelId": model["id"] });
    assert_eq!(program.data("set_model", chosen).await, model);
    assert_eq!(program.data("get_state", json!({})).await["model"], model);
    let missing = program.call("set_model", json!({ "provider": "no", "modelId": "model" })).await;
    assert_eq!(missing["error"], "Model not found: no/model");
}

#[tokio::test]
async fn a_shell_command_streams_its_output_and_can_be_stopped() {
    let mut program = TestProgram::start().await;
    let ran = program.data("bash", json!({ "command": "echo hi; exit 3" })).await;
    assert_eq!(ran, json!({ "output": "hi", "exitCode": 3, "cancelled": false, "truncated": false }));
    let update = json!({ "type": "bash_execution_update", "id": "r1", "delta": "hi\n" });
    assert_eq!(program.events, [update], "the output precedes the response");
    program.events.clear();
    program.send(&json!({ "id": "slow", "type": "bash", "command": "echo started; sleep 600" })).await;
    program.until("bash_execution_update").await;
    program.data("abort_bash", json!({})).await;
    let response = match program.events.pop() {
        Some(response) => response,
        None => program.next().await.unwrap(),
    };
    assert_eq!(
        (&response["id"], &response["data"]["cancelled"]),
        (&json!("slow"), &json!(true)),
        "{response}"
    );
}

#[tokio::test]
async fn a_compaction_is_announced_and_its_failure_too() {
    let mut program = TestProgram::start().await;
    let failed = program.call("compact", json!({})).await;
    assert_eq!((&failed["success"], &failed["code"]), (&json!(false), &json!("nothing_to_compact")));
    assert_eq!(types(&program.events), ["compaction_start", "compaction_end"]);
    assert!(program.events[1]["errorMessage"].is_string());
    program.events.clear();
    for text in ["one", "two", "three"] {
        program.push(ScriptedTurn::reply(text.repeat(40)));
        program.run_prompt(&text.repeat(40)).await;
    }
    // A turn that is cut in two needs a second summary.
    program.push(ScriptedTurn::reply("A summary."));
    program.push(ScriptedTurn::reply("Another summary."));
    let done = program.data("compact", json!({ "customInstructions": "be brief" })).await;
    assert!(done["summary"].as_str().unwrap().contains("A summary."), "{done}");
    assert_eq!(types(&program.events), ["compaction_start", "compaction_end"]);
    let end = &program.events[1];
    assert_eq!((&end["reason"], &end["aborted"]), (&json!("manual"), &json!(false)));
    assert_eq!(end["result"]["firstKeptEntryId"], done["firstKeptEntryId"]);
}

/// A compaction looks at the session before it starts. What is sent after it must not overtake it.
#[tokio::test]
async fn commands_that_are_sent_together_start_in_their_order() {
    let mut program = TestProgram::start().await;
    for text in ["one", "two", "three"] {
        program.push(ScriptedTurn::reply(text.repeat(40)));
        program.run_prompt(&text.repeat(40)).await;
    }
    program.push(ScriptedTurn::new().text("A summary").hang());
    program.write(b"{\"id\":1,\"type\":\"compact\"}\n{\"id\":2,\"type\":\"undo\"}\n").await;
    let refused = program.until("response").await.pop().unwrap();
    assert_eq!((&refused["id"], &refused["code"]), (&json!(2), &json!("session_busy")), "{refused}");
    program.data("abort", json!({})).await;
    let compacted = program.events.iter().find(|event| event["id"] == 1).expect("it was canceled");
    assert_eq!(compacted["code"], "cancelled", "{compacted}");
}

#[tokio::test]
async fn entries_tree_and_statistics() {
    let mut program = TestProgram::start().await;
    program.push(ScriptedTurn::reply("Hello.").usage(10, 5));
    program.run_prompt("Hi").await;
    let all = program.data("get_entries", json!({})).await;
    let entries = all["entries"].as_array().unwrap();
    assert_eq!(entries.last().unwrap()["id"], all["leafId"]);
    let before_last = &entries[entries.len() - 2]["id"];
    let rest = program.data("get_entries", json!({ "since": before_last })).await;
    assert_eq!(rest["entries"], json!([entries.last().unwrap()]));
    assert_eq!(program.call("get_entries", json!({ "since": "zzz" })).await["success"], false);
    program.data("set_label", json!({ "entryId": all["leafId"], "label": "good" })).await;
    assert_eq!(
        program.events,
        [json!({ "type": "label_changed", "targetId": all["leafId"], "label": "good" })]
    );
    let mut node = program.data("get_tree", json!({})).await["tree"][0].clone();
    while node["entry"]["id"] != all["leafId"] {
        node = node["children"][0].clone();
    }
    assert_eq!((&node["label"], &node["labelTimestamp"].is_string()), (&json!("good"), &true));
    let stats = program.data("get_session_stats", json!({})).await;
    let counts = ["userMessages", "assistantMessages", "toolCalls", "toolResults", "totalMessages"];
    assert_eq!(counts.map(|count| stats[count].as_u64().unwrap()), [1, 1, 0, 0, 3], "{stats}");
    assert_eq!((&stats["tokens"]["total"], &stats["tokens"]["input"]), (&json!(15), &json!(10)));
}

#[tokio::test]
async fn modes_that_osier_lacks_are_refused_clearly() {
    let mut program = TestProgram::start().await;
    program.data("set_steering_mode", json!({ "mode": "one-at-a-time" })).await;
    let refused = program.call("set_follow_up_mode", json!({ "mode": "all" })).await;
    assert_eq!(refused["error"], "queued messages are always delivered one at a time");
    program.data("set_auto_retry", json!({ "enabled": true })).await;
    assert_eq!(program.call("set_auto_retry", json!({ "enabled": false })).await["success"], false);
    program.data("abort_retry", json!({})).await;
}

#[tokio::test]
async fn the_output_of_a_command_names_it_although_another_one_is_refused() {
    let mut program = TestProgram::start().await;
    let wait = "echo one; read line; echo two";
    let fifo = program.engine.folder().join("fifo");
    program.data("bash", json!({ "command": format!("mkfifo {}", fifo.display()) })).await;
    program.events.clear();
    let first =
        json!({ "id": "first", "type": "bash", "command": format!("{{ {wait}; }} < {}", fifo.display()) });
    program.send(&first).await;
    // The shell opens the pipe when somebody writes.
    let writer =
        tokio::task::spawn_blocking(move || std::fs::OpenOptions::new().write(true).open(fifo).unwrap());
    program.until("bash_execution_update").await;
    let refused = program.call("bash", json!({ "command": "echo three" })).await;
    assert_eq!(refused["code"], "session_busy", "{refused}");
    std::io::Write::write_all(&mut writer.await.unwrap(), b"\n").unwrap();
    let events = program.until("response").await;
    let updates = of_type(&events, "bash_execution_update");
    assert_eq!(updates, [&json!({ "type": "bash_execution_update", "id": "first", "delta": "two\n" })]);
}
