//! Test helpers: sends requests to the scripted server and renders the deltas as text.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use osier_model::{
    Api, AssistantMessage, CancellationToken, Delta, Environment, Message, Model, ModelError, ModelInfo,
    ModelRouter, ProviderSpec, Registry, ReplyDraft, Request, RetryPolicy, ToolSpec,
};
use serde_json::{Value, json};

use crate::server::ScriptedServer;

pub(crate) const KEY: &str = "sk-very-secret-0123456789";

/// All wire protocols.
pub(crate) const APIS: [Api; 4] =
    [Api::AnthropicMessages, Api::OpenaiCompletions, Api::OpenaiResponses, Api::GoogleGenerativeAi];

/// A router with one provider, `p`, at `url`, and one model, `m`.
pub(crate) fn models(url: &str, api: Api) -> ModelRouter {
    models_with(url, api, "silence_timeout = 5")
}

pub(crate) fn models_with(url: &str, api: Api, more: &str) -> ModelRouter {
    let config = format!(
        "[p]\napi = \"{}\"\nbase_url = \"{url}\"\napi_key_env = \"P_KEY\"\n{more}\n[[p.models]]\nid = \"m\"\ncontext_window = 8192\nimages = true\nprice = {{ input = 1, output = 2, cache_read = 0.1, cache_write = 1.25 }}",
        api.name()
    );
    let providers: BTreeMap<String, ProviderSpec> = toml::from_str(&config).unwrap();
    let registry = Registry::new(providers);
    assert!(registry.problems().is_empty(), "{:?}", registry.problems());
    let environment =
        Environment::new(|name| (name == "P_KEY").then(|| KEY.to_owned())).with_clock(|| 1_700_000_000_000);
    ModelRouter::new(Arc::new(registry), environment).with_retry(fast_retry())
}

/// Two attempts with a very short delay.
pub(crate) fn fast_retry() -> RetryPolicy {
    RetryPolicy { max_attempts: 2, initial_delay: Duration::from_millis(4), ..RetryPolicy::default() }
}

pub(crate) fn model(models: &ModelRouter) -> ModelInfo {
    ModelInfo::clone(&models.registry().find("p/m").unwrap())
}

pub(crate) fn hi_request(models: &ModelRouter) -> Request {
    Request::new(Arc::new(model(models)), vec![Message::user("hi")])
}

pub(crate) async fn deltas(models: &ModelRouter, request: Request) -> Vec<Delta> {
    let deltas: Vec<Delta> = models.stream(request.clone(), CancellationToken::new()).collect().await;
    check_invariants(&deltas, &request);
    deltas
}

/// Plays one stream and renders its deltas.
pub(crate) async fn play(api: Api, body: &str) -> String {
    let server = ScriptedServer::playing([crate::server::ScriptedResponse::events(body)]).await;
    let models = models(&server.url, api);
    let deltas = deltas(&models, hi_request(&models)).await;
    rendered(&deltas)
}

/// Checks what holds for every reply: one end, one start per attempt, and the message equals the folded deltas.
pub(crate) fn check_invariants(deltas: &[Delta], request: &Request) {
    assert_eq!(deltas.iter().filter(|delta| delta.is_end()).count(), 1, "{deltas:?}");
    assert!(deltas.last().unwrap().is_end(), "{deltas:?}");
    let mut draft = ReplyDraft::new(&request.model, 1_700_000_000_000);
    deltas.iter().for_each(|delta| draft.apply(delta));
    let ended = message(deltas);
    let folded = draft.partial_message();
    assert_eq!((&folded.content, folded.usage, &folded.extra), (&ended.content, ended.usage, &ended.extra));
    for attempt in deltas.split(|delta| matches!(delta, Delta::Retrying { .. })) {
        let starts = attempt.iter().filter(|delta| matches!(delta, Delta::Start { .. })).count();
        assert!(starts <= 1, "{deltas:?}");
    }
}

pub(crate) fn message(deltas: &[Delta]) -> &AssistantMessage {
    match deltas.last() {
        Some(Delta::Done(message) | Delta::Failed(_, message)) => message,
        other => panic!("no end: {other:?}"),
    }
}

pub(crate) fn failure(deltas: &[Delta]) -> &ModelError {
    match deltas.last() {
        Some(Delta::Failed(failure, _)) => failure,
        other => panic!("no failure: {other:?}"),
    }
}

/// Renders one line per delta. Pieces of one block share a line, separated by bars.
pub(crate) fn rendered(deltas: &[Delta]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut in_pieces = false;
    for delta in deltas {
        let piece = match delta {
            Delta::Text { text, .. } | Delta::Thinking { text, .. } => Some(text),
            Delta::ToolCallArguments { json, .. } => Some(json),
            _ => None,
        };
        if let Some(piece) = piece {
            let block = block(delta);
            match lines.last_mut() {
                Some(last) if in_pieces && last.starts_with(&format!("{block} ")) => {
                    *last += &format!("|{piece}");
                }
                _ => lines.push(format!("{block}   {piece}")),
            }
            in_pieces = true;
            continue;
        }
        in_pieces = false;
        lines.push(line(delta));
    }
    lines.join("\n").replace("\n\n", "⏎⏎") + "\n"
}

fn block(delta: &Delta) -> usize {
    match delta {
        Delta::Text { block, .. }
        | Delta::Thinking { block, .. }
        | Delta::ToolCallArguments { block, .. } => *block,
        _ => 0,
    }
}

fn line(delta: &Delta) -> String {
    let signed = |signature: &Option<String>| {
        signature.as_ref().map_or_else(String::new, |text| format!(" signed {text}"))
    };
    match delta {
        Delta::Retrying { attempt, error: reason, .. } => {
            format!("retrying after attempt {attempt}: {}", reason.message())
        }
        Delta::Start { response_id, response_model } => {
            format!(
                "start {} {}",
                response_id.as_deref().unwrap_or("-"),
                response_model.as_deref().unwrap_or("-")
            )
        }
        Delta::TextStart { block } => format!("{block} text"),
        Delta::ThinkingStart { block } => format!("{block} thinking"),
        Delta::ToolCallStart { block, id, name } => format!("{block} call {name} {id}"),
        Delta::TextEnd { block, signature } | Delta::ToolCallEnd { block, signature } => {
            format!("{block} end{}", signed(signature))
        }
        Delta::ThinkingEnd { block, signature, redacted } => {
            format!("{block} end{}{}", signed(signature), if *redacted { " redacted" } else { "" })
        }
        Delta::Usage(usage) => format!(
            "usage in {} out {} read {} write {} thought {} cost {:.7}",
            usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning, usage.cost.total
        ),
        Delta::Done(message) => format!("done {:?}", message.stop_reason),
        Delta::Failed(failure, message) => format!("failed {:?}: {}", message.stop_reason, failure.message()),
        Delta::Text { .. } | Delta::Thinking { .. } | Delta::ToolCallArguments { .. } => {
            unreachable!("rendered as pieces")
        }
    }
}

pub(crate) fn tools() -> Vec<ToolSpec> {
    let tool = |name: &str, property: &str| ToolSpec {
        name: name.to_owned(),
        description: format!("The {name} tool."),
        parameters: json!({ "type": "object", "properties": { property: { "type": "string" } }, "required": [property] }),
    };
    vec![tool("read", "path"), tool("bash", "command")]
}

/// A conversation with every kind of content. The assistant messages are from the model `by`.
pub(crate) fn full_conversation(model: &ModelInfo) -> Vec<Message> {
    let assistant = |content: Value, stop: &str| json!({ "role": "assistant", "content": content, "api": model.api.name(), "provider": model.provider, "model": model.id, "stopReason": stop });
    let thought = match model.api {
        Api::OpenaiResponses => r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}"#,
        Api::OpenaiCompletions => "reasoning_content",
        _ => "c2lnbmF0dXJl",
    };
    let image = json!({ "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" });
    let messages = json!([
        { "role": "user", "content": [{ "type": "text", "text": "What is in a.png?" }, image] },
        assistant(json!([
            { "type": "thinking", "thinking": "I should look.", "thinkingSignature": thought },
            { "type": "text", "text": "I look." },
            { "type": "toolCall", "id": "call_1|fc_1", "name": "read", "arguments": { "path": "a.png" }, "thoughtSignature": "dGhvdWdodA==" },
            { "type": "toolCall", "id": "call 2!", "name": "bash", "arguments": { "command": "ls" } },
        ]), "toolUse"),
        { "role": "toolResult", "toolCallId": "call_1|fc_1", "toolName": "read", "content": [{ "type": "text", "text": "a picture" }, image] },
        { "role": "toolResult", "toolCallId": "call 2!", "toolName": "bash", "content": [{ "type": "text", "text": "no such command" }], "isError": true },
        assistant(json!([{ "type": "text", "text": "A cat.", "textSignature": "{\"v\":1,\"id\":\"msg_2\",\"phase\":\"final_answer\"}" }]), "stop"),
        { "role": "user", "content": "Thanks 谢谢" },
    ]);
    serde_json::from_value(messages).unwrap()
}
