//! Asking the model: the context of the path goes in, the reply is shown while it comes, and stored once it is whole.

use futures_util::StreamExt;
use osier_model::{Delta, Message, Request, ToolSpec};
use osier_session::{Commit, DraftHandle};
use osier_tree::scan::Raw;
use osier_tree::{PlanError, Seq};
use serde_json::{Value, json};

use crate::system::SystemPrompt;
use crate::turn::{Agent, Error, Live};

/// A request taken apart: the prompt as the path replays it, and everything that was said.
pub(crate) struct Parts {
    pub(crate) prompt: SystemPrompt,
    pub(crate) messages: Vec<Message>,
}

impl Agent {
    pub(crate) async fn request_parts(&self) -> Result<Parts, Error> {
        let (tree, at) = (self.session.tree(), self.cursor.place());
        let plan = tree.context_entries(at);
        let wanted: Vec<Seq> =
            plan.items.iter().flat_map(|item| std::iter::once(item.seq).chain(item.edit)).collect();
        let lines = self.lines(&wanted).await?;
        let request = tree.request(&plan, &lines, self.settings.backtracking);
        let mut parts =
            Parts { prompt: SystemPrompt::default(), messages: Vec::with_capacity(request.messages.len()) };
        for message in request.messages {
            if message["role"] == "system" {
                parts.prompt.replay_message(&message);
            } else if let Ok(message) = Message::read(message) {
                parts.messages.push(message);
            }
        }
        Ok(parts)
    }

    pub(crate) async fn call_model(&self) -> Result<(), Error> {
        let Parts { prompt, messages } = self.request_parts().await?;
        let mut request = Request::new(self.settings.model.clone(), messages);
        request.system = prompt.text();
        request.tools = prompt.tools.values().filter_map(tool_spec).collect();
        request.thinking = self.settings.thinking;
        request.session = Some(self.session.id().to_owned());
        let draft = self.cursor.begin_draft().await?;
        let mut deltas = self.model.stream(request, self.cancel.clone());
        while let Some(delta) = deltas.next().await {
            match delta {
                Delta::Done(message) | Delta::Failed(_, message) => {
                    return self.reply(&draft, Message::Assistant(*message)).await;
                }
                Delta::Retrying { attempt, delay, why } => {
                    let _ = self.live.send(Live::Retrying { attempt, seconds: delay.as_secs_f64(), why });
                }
                delta => draft.push(shown(&delta).to_string()),
            }
        }
        Ok(())
    }

    /// Stores the reply under the id of its draft.
    async fn reply(&self, draft: &DraftHandle, message: Message) -> Result<(), Error> {
        let message = serde_json::to_vec(&message).expect("a message is plain data");
        let commit = Commit::new(move |tree, at| {
            let message = Raw::parse(&message)
                .map_err(|_| PlanError::NotAnEntry { why: "a message is a JSON object" })?;
            tree.plan_message(at, message)
        });
        self.stored(commit.finishing(draft)).await.map(drop)
    }
}

fn tool_spec(tool: &Value) -> Option<ToolSpec> {
    serde_json::from_value(tool.clone()).ok()
}

/// A delta as clients see it.
fn shown(delta: &Delta) -> Value {
    match delta {
        Delta::TextStart { block } => json!({ "type": "text_start", "block": block }),
        Delta::Text { block, text } => json!({ "type": "text_delta", "block": block, "delta": text }),
        Delta::TextEnd { block, .. } => json!({ "type": "text_end", "block": block }),
        Delta::ThinkingStart { block } => json!({ "type": "thinking_start", "block": block }),
        Delta::Thinking { block, text } => json!({ "type": "thinking_delta", "block": block, "delta": text }),
        Delta::ThinkingEnd { block, .. } => json!({ "type": "thinking_end", "block": block }),
        Delta::ToolCallStart { block, id, name } => {
            json!({ "type": "toolcall_start", "block": block, "id": id, "name": name })
        }
        Delta::ToolCallArguments { block, json } => {
            json!({ "type": "toolcall_delta", "block": block, "delta": json })
        }
        Delta::ToolCallEnd { block, .. } => json!({ "type": "toolcall_end", "block": block }),
        Delta::Usage(usage) => json!({ "type": "usage", "usage": usage }),
        Delta::Start { .. } | Delta::Retrying { .. } | Delta::Done(_) | Delta::Failed(..) => {
            json!({ "type": "start" })
        }
    }
}
