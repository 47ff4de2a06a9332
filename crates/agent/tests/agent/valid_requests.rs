//! Checks that a request body is valid for its API: role order, a result for every call, a call for every
//! result, and no empty content.

use std::collections::BTreeSet;
use std::sync::Arc;

use osier_model::{Api, ModelInfo, Request, body_json};
use serde_json::{Value, json};

use crate::prefix_stability::model;

pub(crate) const APIS: [Api; 4] =
    [Api::AnthropicMessages, Api::OpenaiCompletions, Api::OpenaiResponses, Api::GoogleGenerativeAi];

/// The body that would be sent.
pub(crate) fn body(request: &Request, api: Api) -> Value {
    let model: Arc<ModelInfo> = model(api);
    body_json(&Request { model, ..request.clone() }).unwrap()
}

/// The problems of a request in each API.
pub(crate) fn problems(request: &Request) -> Vec<String> {
    let mut wrongs = Vec::new();
    for api in APIS {
        let body = body(request, api);
        let wrong = match api {
            Api::AnthropicMessages => anthropic(list(&body["messages"])),
            Api::OpenaiCompletions => completions(list(&body["messages"])),
            Api::OpenaiResponses => responses(list(&body["input"])),
            _ => google(list(&body["contents"])),
        };
        wrongs.extend(wrong.err().map(|wrong| format!("{api:?}: {wrong} in {body:#}")));
    }
    wrongs
}

type Checked = Result<(), String>;

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn ids<'v>(blocks: impl IntoIterator<Item = &'v Value>, kind: &str, key: &str) -> BTreeSet<&'v str> {
    let blocks = blocks.into_iter().filter(|block| block["type"] == kind);
    blocks.map(|block| block[key].as_str().unwrap_or_default()).collect()
}

fn ensure(holds: bool, wrong: &str) -> Checked {
    if holds { Ok(()) } else { Err(wrong.to_owned()) }
}

fn anthropic(messages: &[Value]) -> Checked {
    ensure(messages.first().is_some_and(|first| first["role"] == "user"), "the user does not begin")?;
    ensure(messages.last().is_some_and(|last| last["role"] == "user"), "the user does not end it")?;
    let mut open = BTreeSet::new();
    for message in messages {
        let blocks = list(&message["content"]);
        ensure(!blocks.is_empty(), "an empty message")?;
        let blank =
            |block: &Value| block["type"] == "text" && block["text"].as_str().is_none_or(str::is_empty);
        ensure(!blocks.iter().any(blank), "an empty text")?;
        let answered = ids(blocks, "tool_result", "tool_use_id");
        ensure(answered == open, "results that are not those of the calls right before")?;
        let results = blocks.iter().take_while(|block| block["type"] == "tool_result").count();
        ensure(results == answered.len(), "a result behind something else")?;
        open = match message["role"].as_str() {
            Some("assistant") => ids(blocks, "tool_use", "id"),
            Some("user") => BTreeSet::new(),
            other => return Err(format!("the role {other:?}")),
        };
    }
    ensure(open.is_empty(), "a call without a result")
}

fn completions(messages: &[Value]) -> Checked {
    ensure(messages.last().is_some_and(|last| last["role"] != "assistant"), "the assistant ends it")?;
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        match role {
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                let call = open.iter().position(|open| *open == id).ok_or("a result without a call")?;
                open.remove(call);
                continue;
            }
            "system" | "developer" => ensure(at == 0, "a prompt in the middle")?,
            "user" | "assistant" => {}
            other => return Err(format!("the role {other:?}")),
        }
        ensure(open.is_empty(), "a message before all calls have results")?;
        let calls = list(&message["tool_calls"]);
        let says = match &message["content"] {
            Value::String(text) => !text.is_empty(),
            content => !list(content).is_empty(),
        };
        ensure(says || !calls.is_empty(), "an empty message")?;
        open = calls.iter().map(|call| call["id"].as_str().unwrap_or_default()).collect();
    }
    ensure(open.is_empty(), "a call without a result")
}

fn responses(items: &[Value]) -> Checked {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for item in items {
        let id = item["call_id"].as_str().unwrap_or_default();
        match item["type"].as_str() {
            Some("function_call") => ensure(seen.insert(id) && open.insert(id), "a call with a used id")?,
            Some("function_call_output") => ensure(open.remove(id), "a result without a call")?,
            Some("reasoning") => {}
            _ => {
                let says = !list(&item["content"]).is_empty() || item["content"].is_string();
                ensure(says, "an empty message")?;
                let speaks =
                    matches!(item["role"].as_str(), Some("user" | "assistant" | "system" | "developer"));
                ensure(speaks, "an unknown role")?;
                ensure(open.is_empty() || item["role"] == "assistant", "a call without a result")?;
            }
        }
    }
    ensure(open.is_empty(), "a call without a result")
}

fn google(contents: &[Value]) -> Checked {
    ensure(contents.first().is_some_and(|first| first["role"] == "user"), "the user does not begin")?;
    ensure(contents.last().is_some_and(|last| last["role"] == "user"), "the user does not end it")?;
    let mut calls = Vec::new();
    for content in contents {
        let config = list(&content["parts"]);
        ensure(!config.is_empty(), "an empty message")?;
        let named = |key: &str| -> Vec<&str> {
            let config = config.iter().filter(|part| part[key].is_object());
            config.map(|part| part[key]["name"].as_str().unwrap_or_default()).collect()
        };
        let (asked, answered) = (named("functionCall"), named("functionResponse"));
        ensure(answered == calls, "results that are not those of the calls right before")?;
        ensure(asked.is_empty() || content["role"] == "model", "a call of the user")?;
        calls = asked;
    }
    ensure(calls.is_empty(), "a call without a result")
}

#[test]
fn checker_finds_invalid_requests() {
    let user = json!({ "role": "user", "content": [{ "type": "text", "text": "x" }] });
    let call = json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "a" }] });
    let result = json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "a" }] });
    assert!(anthropic(&[user.clone(), call.clone(), result.clone()]).is_ok());
    assert!(anthropic(&[user.clone(), call.clone()]).is_err());
    assert!(anthropic(&[user.clone(), call, user.clone(), result.clone()]).is_err());
    assert!(anthropic(&[user.clone(), result]).is_err());
    let call = json!({ "role": "assistant", "tool_calls": [{ "id": "a" }, { "id": "b" }] });
    let result = |id: &str| json!({ "role": "tool", "tool_call_id": id });
    assert!(completions(&[user.clone(), call.clone(), result("b"), result("a")]).is_ok());
    assert!(completions(&[user.clone(), call.clone(), result("a"), user.clone()]).is_err());
    assert!(completions(&[user.clone(), result("a")]).is_err());
    let (asked, answered) = (json!({ "type": "function_call", "call_id": "a" }), "function_call_output");
    let output = json!({ "type": answered, "call_id": "a" });
    assert!(responses(&[user.clone(), asked.clone(), output.clone()]).is_ok());
    assert!(responses(&[user.clone(), asked.clone(), user.clone()]).is_err());
    assert!(responses(&[user, output]).is_err());
    let said = |role: &str, part: Value| json!({ "role": role, "parts": [part] });
    let (text, asked) = (json!({ "text": "x" }), json!({ "functionCall": { "name": "f" } }));
    let answered = json!({ "functionResponse": { "name": "f" } });
    let turns = [said("user", text), said("model", asked), said("user", answered)];
    assert!(google(&turns).is_ok());
    assert!(google(&turns[..2]).is_err());
    assert!(google(&[turns[0].clone(), turns[2].clone()]).is_err());
}
