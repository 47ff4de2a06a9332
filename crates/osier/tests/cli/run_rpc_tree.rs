//! `--mode rpc`: moves with all their options, places where no conversation can continue, models and thinking levels.

use std::fs;

use serde_json::{Value, json};

use crate::rpc_program::RpcProgram;
use crate::run_support::ModelServer;

/// Sends a prompt, and lets the model reply.
fn talk(program: &mut RpcProgram, model: &ModelServer, prompt: &str, reply: &str) {
    program.data("prompt", json!({ "message": prompt }));
    model.next_request().reply(reply);
    program.until("agent_settled");
}

/// The ids of the entries with this text, as messages of any role.
fn entry_with(program: &mut RpcProgram, text: &str) -> Value {
    let entries = program.data("get_entries", json!({}))["entries"].clone();
    let found = entries.as_array().unwrap().iter().find(|entry| entry["message"].to_string().contains(text));
    found.unwrap_or_else(|| panic!("{text} is not in {entries}"))["id"].clone()
}

#[test]
fn a_move_summarizes_the_branch_with_its_instructions_and_labels_the_summary() {
    let model = ModelServer::new();
    let env = model.env();
    let mut program = RpcProgram::start(&env, &[]);
    talk(&mut program, &model, "about apples", "They are red.");
    let red = entry_with(&mut program, "They are red.");
    for (replaces, label) in [(true, "first"), (false, "second")] {
        talk(&mut program, &model, "about pears", "They are green.");
        let left = program.data("get_entries", json!({}))["leafId"].clone();
        let options = json!({ "targetId": red, "summarize": true, "customInstructions": "Name only colors.",
            "replaceInstructions": replaces, "label": label, "expectedLeafId": left });
        let id = program.send("navigate_tree", options);
        let request = model.next_request();
        assert!(request.text.contains("They are green.") && request.text.contains("Name only colors."));
        assert_eq!(request.text.contains("## Goal"), !replaces, "{}", request.text);
        request.reply("Green.");
        let response = program.until("response").pop().unwrap();
        assert_eq!((&response["id"], &response["success"]), (&json!(id), &json!(true)), "{response}");
        let moved = &response["data"];
        assert_eq!(moved["cancelled"], false, "{moved}");
        let snapshot = program.data("get_snapshot", json!({ "withoutContext": true }));
        let summary = moved["summaryEntry"].as_str().unwrap();
        assert_eq!(snapshot["labelsByEntryId"][summary], label, "the label is that of the summary");
        let entries = snapshot["entries"].as_array().unwrap();
        let stored = entries.iter().find(|entry| entry["id"] == summary).unwrap();
        assert_eq!((&stored["parentId"], &stored["fromId"]), (&red, &left), "{stored}");
        assert!(stored["summary"].as_str().unwrap().contains("Green."), "{stored}");
    }
    assert_eq!(program.finish(), 0);
}

#[test]
fn a_move_during_a_turn_is_refused_unless_it_stops_the_turn() {
    let model = ModelServer::new();
    let env = model.env();
    let mut program = RpcProgram::start(&env, &[]);
    talk(&mut program, &model, "about apples", "They are red.");
    let red = entry_with(&mut program, "They are red.");
    program.data("prompt", json!({ "message": "about pears" }));
    let mut request = model.next_request();
    request.send_text("They");
    program.until("message_update");
    let refused = program.call("navigate_tree", json!({ "targetId": red }));
    assert_eq!(refused["code"], "session_busy", "{refused}");
    let changed =
        program.call("navigate_tree", json!({ "targetId": "root", "expectedLeafId": red, "stopTurn": true }));
    assert_eq!(changed["code"], "leaf_changed", "{changed}");
    let moved = program.data("navigate_tree", json!({ "targetId": red, "stopTurn": true }));
    assert_eq!(moved["leafId"], red);
    request.wait_for_disconnect();
    assert_eq!(program.finish(), 0);
}

#[test]
fn a_conversation_does_not_continue_between_calls_and_their_results() {
    let model = ModelServer::new();
    let env = model.env();
    let mut program = RpcProgram::start(&env, &[]);
    let call = json!({ "type": "toolCall", "id": "c1", "name": "read", "arguments": { "path": "a.txt" } });
    let reply = json!({ "role": "assistant", "content": [call], "provider": "local", "model": "test", "stopReason": "toolUse" });
    talk(&mut program, &model, "hello", "Hi.");
    program.data("append_message", json!({ "message": reply, "entryId": "bbbbbbbb" }));
    program.data(
        "append_message",
        json!({ "message": { "role": "user", "content": "next" }, "entryId": "cccccccc" }),
    );
    let refused = program.call("navigate_tree", json!({ "targetId": "bbbbbbbb" }));
    assert_eq!(refused["code"], "incomplete_tool_batch", "{refused}");
    let exact = program.data("navigate_tree", json!({ "targetId": "bbbbbbbb", "exact": true }));
    assert_eq!(exact["leafId"], "bbbbbbbb", "a program may still want to go there");
    for wrong in [json!({}), json!({ "targetId": null }), json!({ "targetId": "root", "expectedLeaf": "x" })]
    {
        assert_eq!(program.call("navigate_tree", wrong.clone())["success"], false, "{wrong}");
    }
    assert_eq!(program.data("get_entries", json!({}))["leafId"], "bbbbbbbb", "nothing moved");
    assert_eq!(program.finish(), 0);
}

#[test]
fn models_and_levels_are_cycled_and_automatic_compaction_is_a_setting() {
    let model = ModelServer::new();
    let env = model.env();
    let config = env.home().join("config.toml");
    let thinks = "[[providers.local.models]]\nid = \"deep\"\nthinking = { style = \"effort\", levels = [\"off\", \"low\", \"high\"] }\n";
    fs::write(&config, fs::read_to_string(&config).unwrap() + thinks).unwrap();
    let mut program = RpcProgram::start(&env, &[]);
    assert_eq!(program.data("get_available_thinking_levels", json!({})), json!({ "levels": ["off"] }));
    assert_eq!(program.data("cycle_thinking_level", json!({})), Value::Null, "there is only one");
    let models = program.data("get_available_models", json!({}))["models"].clone();
    let ids: Vec<&Value> = models.as_array().unwrap().iter().map(|model| &model["id"]).collect();
    let at = |id: &str| ids.iter().position(|known| *known == id).unwrap();
    let mut seen = vec![json!("test")];
    for _ in 0..ids.len() {
        let cycled = program.data("cycle_model", json!({}));
        assert_eq!(program.data("get_state", json!({}))["model"], cycled["model"]);
        seen.push(cycled["model"]["id"].clone());
    }
    let expected: Vec<Value> =
        (0..=ids.len()).map(|step| ids[(at("test") + step) % ids.len()].clone()).collect();
    assert_eq!(seen, expected, "all models in their order, and the first one again");

    program.data("set_model", json!({ "provider": "local", "modelId": "deep" }));
    assert_eq!(
        program.data("get_available_thinking_levels", json!({})),
        json!({ "levels": ["off", "low", "high"] })
    );
    program.data("set_thinking_level", json!({ "level": "low" }));
    assert_eq!(program.data("cycle_thinking_level", json!({})), json!({ "level": "high" }));
    assert_eq!(program.data("cycle_thinking_level", json!({})), json!({ "level": "off" }));
    assert_eq!(program.data("get_state", json!({}))["thinkingLevel"], "off");

    program.data("set_auto_compaction", json!({ "enabled": false }));
    program.data("new_session", json!({}));
    assert_eq!(program.data("get_state", json!({}))["autoCompactionEnabled"], false);
    assert!(fs::read_to_string(&config).unwrap().contains("enabled = false"));
    assert_eq!(program.finish(), 0);
}
