//! Tests the offline model: requests, and the replies and tool calls they produce.
#![allow(clippy::unwrap_used, reason = "test helpers fail by panicking")]

mod requests;
mod summaries;

use std::sync::Arc;

use futures_util::StreamExt;
use osier_model::{
    AssistantMessage, CancellationToken, ContentBlock, Delta, Environment, Message, Model, ModelInfo,
    Registry, Request, ToolSpec,
};
use osier_offline::OfflineModel;
use serde_json::json;

fn info() -> ModelInfo {
    ModelInfo::clone(&Registry::built_in().find("offline").unwrap())
}

/// The tools of Osier, without descriptions.
fn tools() -> Vec<ToolSpec> {
    let tool = |name: &str, properties: &[&str]| ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({ "type": "object", "properties": properties.iter().map(|key| ((*key).to_owned(), json!({}))).collect::<serde_json::Map<_, _>>() }),
    };
    vec![
        tool("read", &["path", "offset", "limit"]),
        tool("write", &["path", "content"]),
        tool("edit", &["path", "edits"]),
        tool("bash", &["command", "timeout"]),
        tool("grep", &["pattern", "path", "literal"]),
        tool("find", &["pattern", "path"]),
        tool("ls", &["path"]),
        tool("task", &["tasks"]),
    ]
}

fn request(messages: Vec<Message>) -> Request {
    Request {
        tools: tools(),
        system: "You are Osier.".to_owned(),
        ..Request::new(Arc::new(info()), messages)
    }
}

async fn deltas(request: Request) -> Vec<Delta> {
    let model = OfflineModel::new(Environment::empty().with_clock(|| 0));
    model.stream(request, CancellationToken::new()).collect().await
}

async fn message(request: Request) -> AssistantMessage {
    match deltas(request).await.pop() {
        Some(Delta::Done(message)) => *message,
        other => panic!("{other:?}"),
    }
}

/// The text and calls of a message, one per line.
fn rendered(message: &AssistantMessage) -> String {
    let line = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::ToolCall(call) => {
            format!("-> {} {}", call.name, serde_json::Value::from(call.arguments.clone()))
        }
        other => format!("{other:?}"),
    };
    message.content.iter().map(line).collect::<Vec<_>>().join("\n") + "\n"
}
