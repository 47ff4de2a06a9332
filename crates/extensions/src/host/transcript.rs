//! `context_with_system`: the whole transcript of a request. The system prompt and the tools are a message of the role `system`.

use osier_agent::hooks::HookContext;
use osier_model::{Message, Request, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::extension::TimeLimit;
use super::session::SessionExtensions;
use crate::frame::Failure;

#[derive(Debug, Deserialize)]
struct TranscriptAnswer {
    messages: Vec<Value>,
}

/// A message of the role `system`, as far as it changes a request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SystemMessage {
    #[serde(default)]
    content: Value,
    #[serde(default)]
    sections: serde_json::Map<String, Value>,
    #[serde(default)]
    tools_added: Vec<ToolSpec>,
    #[serde(default)]
    tools_removed: Vec<ToolName>,
}

#[derive(Debug, Deserialize)]
struct ToolName {
    name: String,
}

impl SessionExtensions {
    /// The request with the transcript that handlers returned, if one did.
    pub(super) async fn edit_transcript(&self, request: &Request, ctx: &HookContext<'_>) -> Option<Request> {
        let name = "context_with_system";
        let mut changed: Option<Request> = None;
        for handler in self.handlers(name) {
            let messages = to_transcript(changed.as_ref().unwrap_or(request));
            let event = json!({ "type": name, "messages": messages });
            let answer = handler.call(self, &event, name, TimeLimit::Gate, ctx.cancel).await;
            let Ok(Some(answer)) = answer else { continue };
            let Some(TranscriptAnswer { messages }) = self.read_answer(&handler, name, answer) else {
                continue;
            };
            match read_transcript(request, messages) {
                Ok(edited) => changed = Some(edited),
                Err(reason) => {
                    let failure = Failure::new(format!("it returned an unexpected value: {reason}"));
                    self.report(&handler.extension.path.display().to_string(), name, &failure);
                }
            }
        }
        changed
    }
}

fn to_transcript(request: &Request) -> Vec<Value> {
    let first =
        json!({ "role": "system", "content": request.system, "toolsAdded": request.tools, "timestamp": 0 });
    [first].into_iter().chain(request.messages.iter().map(|message| json!(message))).collect()
}

/// The handler owns the system prompt and the tools: what it leaves out is not sent.
fn read_transcript(request: &Request, messages: Vec<Value>) -> Result<Request, String> {
    let mut edited =
        Request { system: String::new(), messages: Vec::new(), tools: Vec::new(), ..request.clone() };
    for message in messages {
        if message["role"] != "system" {
            edited.messages.push(Message::from_json(message).map_err(|error| error.to_string())?);
            continue;
        }
        let system: SystemMessage = serde_json::from_value(message).map_err(|error| error.to_string())?;
        let sections = system.sections.values().map(text_of);
        for text in [text_of(&system.content)].into_iter().chain(sections).filter(|text| !text.is_empty()) {
            let separator = if edited.system.is_empty() { "" } else { "\n\n" };
            edited.system.push_str(&format!("{separator}{text}"));
        }
        edited.tools.retain(|tool| system.tools_removed.iter().all(|removed| removed.name != tool.name));
        edited.tools.extend(system.tools_added);
    }
    Ok(edited)
}

fn text_of(content: &Value) -> String {
    let texts = |blocks: &Vec<Value>| {
        blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
    };
    content.as_array().map(texts).unwrap_or_else(|| content.as_str().unwrap_or_default().to_owned())
}
