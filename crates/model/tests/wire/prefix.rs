//! In every protocol, a longer conversation starts with the shorter one, byte for byte. Prompt caches and bound thinking
//! depend on it. Cache markers move to the end; they are not part of the cached prefix.

use std::sync::Arc;

use osier_model::{Api, Message, ModelInfo, Request, body_text};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{APIS, tools};

/// The messages in the body of a request, without cache markers.
fn messages(request: &Request) -> Vec<Value> {
    let text = body_text(request).unwrap();
    let mut body: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(body.to_string(), text, "a body is the text of one JSON value");
    let key = match request.model.api {
        Api::OpenaiResponses => "input",
        Api::GoogleGenerativeAi => "contents",
        _ => "messages",
    };
    let mut list = body[key].take().as_array().unwrap().clone();
    list.iter_mut().for_each(remove_markers);
    list
}

fn remove_markers(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            fields.values_mut().for_each(remove_markers);
        }
        Value::Array(list) => list.iter_mut().for_each(remove_markers),
        _ => {}
    }
}

/// The blocks of an assistant message, the index of its model, and whether tool results are images.
type RandomStep = (Vec<u8>, u8, bool);
type RandomTurn = (String, Vec<RandomStep>);

/// A turn: the user's text, and the steps of the assistant.
fn turn() -> impl Strategy<Value = RandomTurn> {
    ("[a-z ]{0,8}", prop::collection::vec((prop::collection::vec(0u8..5, 0..4), 0u8..4, any::<bool>()), 1..4))
}

/// The messages of a random conversation, and the positions at which the model is called.
fn conversation(turns: &[RandomTurn], models: &[ModelInfo]) -> (Vec<Message>, Vec<usize>) {
    let mut out: Vec<Value> = Vec::new();
    let mut call_positions = Vec::new();
    let mut call = 0;
    for (text, steps) in turns {
        out.push(json!({ "role": "user", "content": [
            { "type": "text", "text": text }, { "type": "text", "text": format!("<system>Checkpoint {}</system>", out.len()) },
        ]}));
        call_positions.push(out.len());
        for (number, (blocks, model_index, with_image)) in steps.iter().enumerate() {
            let model = &models[*model_index as usize % models.len()];
            let mut calls = Vec::new();
            let content: Vec<Value> = blocks.iter().map(|kind| match kind {
                0 => json!({ "type": "thinking", "thinking": "hm", "thinkingSignature": "{\"type\":\"reasoning\"}" }),
                1 => json!({ "type": "thinking", "thinking": "cut off" }),
                2 => json!({ "type": "text", "text": " " }),
                3 => json!({ "type": "text", "text": "said" }),
                _ => {
                    call += 1;
                    calls.push(format!("id {call}"));
                    json!({ "type": "toolCall", "id": format!("id {call}"), "name": "read", "arguments": { "path": "a" } })
                }
            }).collect();
            let is_last = number + 1 == steps.len();
            out.push(json!({ "role": "assistant", "content": content, "api": model.api.name(), "provider": model.provider, "model": model.id }));
            for id in &calls {
                let image = json!({ "type": "image", "data": "AA==", "mimeType": "image/png" });
                let content =
                    if *with_image { json!([image]) } else { json!([{ "type": "text", "text": "ok" }]) };
                out.push(
                    json!({ "role": "toolResult", "toolCallId": id, "toolName": "read", "content": content }),
                );
            }
            if !calls.is_empty() && !is_last {
                call_positions.push(out.len());
            }
        }
    }
    (serde_json::from_value(Value::Array(out)).unwrap(), call_positions)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn each_request_starts_with_the_previous_one(turns in prop::collection::vec(turn(), 1..5), images in any::<bool>()) {
        let models = APIS.map(|api| ModelInfo { images, ..ModelInfo::new("p", "m", api) });
        let (conversation, call_positions) = conversation(&turns, &models);
        for model in &models {
            let mut model = model.clone();
            model.compat.cache_control = true;
            let model = Arc::new(model);
            let mut before: Vec<Value> = Vec::new();
            for upto in &call_positions {
                let request = Request {
                    system: "prompt".to_owned(),
                    tools: tools(),
                    ..Request::new(model.clone(), conversation[..*upto].to_vec())
                };
                let now = messages(&request);
                prop_assert!(now.starts_with(&before), "{:?}\n{:#?}\n{:#?}", model.api, before, now);
                before = now;
            }
        }
    }
}
