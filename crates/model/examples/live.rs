//! Sends a prompt to a real server and prints every delta. If the model calls tools, sends a second request with results.
//!
//! `cargo run -p osier-model --example live -- openai-completions http://127.0.0.1:8099/v1 smollm2-135m "Use bash."`

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use futures_util::StreamExt;
use osier_model::{
    AssistantMessage, CancellationToken, ContentBlock, Delta, Environment, Message, Model, ModelRouter,
    ProviderSpec, Registry, Request, ToolResultMessage, ToolSpec,
};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [api, base_url, id, prompt, rest @ ..] = args.as_slice() else {
        eprintln!(
            "usage: live API BASE_URL MODEL PROMPT [MAX_TOKENS]; set LIVE_KEY to the API key, if the server needs one"
        );
        std::process::exit(2);
    };
    let key = if std::env::var_os("LIVE_KEY").is_some() { "api_key_env = \"LIVE_KEY\"" } else { "" };
    let models = format!("models = [{{ id = \"{id}\", context_window = 8192 }}]");
    let config = format!("[live]\napi = \"{api}\"\nbase_url = \"{base_url}\"\n{key}\n{models}");
    let providers: BTreeMap<String, ProviderSpec> =
        toml::from_str(&config).expect("the arguments form a valid provider");
    let registry = Arc::new(Registry::new(providers));
    let model = registry.find(&format!("live/{id}")).expect("the model is in the list");
    let models = ModelRouter::new(registry, Environment::new(|name| std::env::var(name).ok()));
    let limit = rest.first().and_then(|limit| limit.parse().ok());
    let mut request = Request {
        system: "You are a coding agent.".to_owned(),
        tools: tools(),
        max_tokens: Some(limit.unwrap_or(120)),
        session: Some("live".to_owned()),
        ..Request::new(model, vec![Message::user(prompt.as_str())])
    };
    let Some(reply) = ask(&models, request.clone()).await else { return };
    let results: Vec<Message> = reply.calls_to_run().map(|call| result(&call.id, &call.name)).collect();
    if !results.is_empty() {
        println!("-- with tool results:");
        request.messages.push(Message::Assistant(reply));
        request.messages.extend(results);
        ask(&models, request).await;
    }
}

fn result(id: &str, name: &str) -> Message {
    Message::ToolResult(ToolResultMessage {
        tool_call_id: id.to_owned(),
        tool_name: name.to_owned(),
        content: vec![ContentBlock::text("# Osier\nA coding agent whose conversation is a tree.")],
        ..ToolResultMessage::default()
    })
}

async fn ask(models: &ModelRouter, request: Request) -> Option<AssistantMessage> {
    let start = Instant::now();
    let mut stream = models.stream(request, CancellationToken::new());
    let mut count = 0;
    while let Some(delta) = stream.next().await {
        count += 1;
        let now = start.elapsed().as_millis();
        match delta {
            Delta::Start { response_model, .. } => {
                println!("[{now} ms] start {}", response_model.unwrap_or_default());
            }
            Delta::Text { text, .. } | Delta::Thinking { text, .. } => print!("{text}·"),
            Delta::ToolCallStart { id, name, .. } => print!("call {name} {id} "),
            Delta::ToolCallArguments { json, .. } => print!("{json}·"),
            Delta::TextEnd { .. } | Delta::ThinkingEnd { .. } | Delta::ToolCallEnd { .. } => println!(),
            Delta::Retrying { attempt, delay, error: reason, .. } => {
                println!("attempt {attempt} failed, retrying in {delay:?}: {}", reason.message());
            }
            Delta::Usage(usage) => {
                println!("usage: in {} out {} cache read {}", usage.input, usage.output, usage.cache_read);
            }
            Delta::Done(message) => {
                println!("[{now} ms] done {:?}, {count} deltas", message.stop_reason);
                return Some(*message);
            }
            Delta::Failed(failure, message) => {
                println!("\n[{now} ms] failed ({}): {}", failure.code(), failure.message());
                println!("kept: {} blocks, {:?}", message.content.len(), message.stop_reason);
            }
            Delta::TextStart { .. } | Delta::ThinkingStart { .. } => {}
        }
        std::io::stdout().flush().expect("stdout is open");
    }
    None
}

fn tools() -> Vec<ToolSpec> {
    let tool = |name: &str, description: &str, property: &str| ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({
            "type": "object", "properties": { property: { "type": "string" } }, "required": [property],
        }),
    };
    vec![tool("read_file", "Reads a file.", "path"), tool("bash", "Runs a command.", "command")]
}
