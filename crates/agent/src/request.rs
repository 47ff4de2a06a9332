//! Builds the request for a position in the tree. The same function serves model calls and `osier sessions
//! context --request`.

use std::sync::Arc;

use osier_model::{CancellationToken, ContentBlock, Message, Request, ToolSpec};
use osier_session::SessionState;
use osier_store::StoreError;
use osier_tree::projection::request::{
    Repairs, RequestBuilder, RequestMessage, SourcedMessage, to_request_message,
};
use osier_tree::scan::RawJson;
use osier_tree::{ContextPlan, Place};
use serde_json::Value;

use crate::backtrack;
use crate::context::AgentContext;
use crate::context_edit::{self, StoredMessage};
use crate::error::AgentError;
use crate::model_choice::ModelChoice;
use crate::system_prompt::SystemPrompt;

/// The plan of a context, and its messages.
type ContextMessages<M> = (ContextPlan, Vec<SourcedMessage<M>>);

/// A request, and the repairs that made it valid.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedRequest {
    pub request: Request,
    pub repairs: Repairs,
}

impl AgentContext {
    /// The request at the cursor. First records the model and thinking level in use on the path. `None` if the user cancels.
    pub(crate) async fn request(&self, cancel: &CancellationToken) -> Result<Option<Request>, AgentError> {
        let choice = self.record_model_choice().await?;
        let (state, at) = self.position();
        let prepared = self.request_at(state, at, choice, cancel).await?;
        Ok(prepared.map(|prepared| prepared.request))
    }

    /// The request at a position, with the messages as the hooks edit them. Writes nothing. `None` if `cancel` is canceled.
    pub(crate) async fn request_at(
        &self,
        state: Arc<SessionState>,
        at: Place,
        choice: ModelChoice,
        cancel: &CancellationToken,
    ) -> Result<Option<PreparedRequest>, AgentError> {
        let edited = match self.hooks().is_some_and(|hooks| hooks.wants(&self.session, "context")) {
            true => self.edited_context(&state, at, cancel).await?,
            false => Some(self.context_messages::<ContextPiece>(&state, at).await?),
        };
        let Some((plan, messages)) = edited else { return Ok(None) };
        let (can_call, unprompted) = (choice.model.tools, self.config.backtracking);
        // A long conversation takes a while; do not block other commands.
        let task = tokio::task::spawn_blocking(move || {
            let request = state.tree.request_from_messages(&plan, messages, |pieces| {
                can_call && offers_backtrack(pieces, unprompted)
            });
            (RequestConversation::from_pieces(request.messages), request.repairs)
        });
        let (conversation, repairs) =
            task.await.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()));
        let RequestConversation { initial_prompt: first, prompt, items } = conversation;
        let mut request =
            Request::new(choice.model, items.into_iter().map(ConversationItem::into_message).collect());
        request.system = first.text();
        request.tools = prompt.tools().filter_map(tool_spec).collect();
        request.thinking = choice.thinking;
        request.session = Some(self.session.id().to_owned());
        Ok(Some(PreparedRequest { request, repairs }))
    }

    /// The messages of the context at a position.
    async fn context_messages<M: RequestMessage>(
        &self,
        state: &SessionState,
        at: Place,
    ) -> Result<ContextMessages<M>, AgentError> {
        let mut builder: RequestBuilder<M> = RequestBuilder::new(state.tree.context_entries(at));
        let needed = builder.needed_lines();
        let add = |seq, line: &[u8]| {
            builder.add_line(seq, line);
            Ok::<_, StoreError>(())
        };
        self.session.for_each_line(state.version, &needed, add).await?;
        Ok(builder.finish())
    }

    /// The messages of the context as the hooks edit them. `None` if `cancel` is canceled.
    async fn edited_context(
        &self,
        state: &SessionState,
        at: Place,
        cancel: &CancellationToken,
    ) -> Result<Option<ContextMessages<ContextPiece>>, AgentError> {
        let (plan, messages) = self.context_messages::<StoredMessage>(state, at).await?;
        let shown = context_edit::shown_messages(&messages);
        let Some(edited) = self.ask_about_context(shown, cancel).await else { return Ok(None) };
        let messages = match edited {
            Some(edited) => context_edit::place_edited(messages, edited),
            None => messages,
        };
        let piece = |(seq, StoredMessage(message)): (_, StoredMessage)| {
            Some((seq, to_request_message(message).and_then(ContextPiece::from_json)?))
        };
        Ok(Some((plan, messages.into_iter().filter_map(piece).collect())))
    }
}

/// Whether the model has the `backtrack` tool and therefore sees checkpoints. `unprompted` is the answer for
/// a path without Osier's own system prompt, which is stored before the first request.
fn offers_backtrack(pieces: &mut dyn Iterator<Item = &ContextPiece>, unprompted: bool) -> bool {
    let mut prompt: Option<SystemPrompt> = None;
    for piece in pieces {
        if let ContextPiece::Prompt(message) = piece {
            prompt.get_or_insert_default().replay_message(message);
        }
    }
    let own = prompt.filter(|prompt| prompt.content.trim().is_empty());
    own.map_or(unprompted, |prompt| prompt.has_tool(backtrack::TOOL_NAME))
}

/// The initial system prompt and what follows it. Later prompt changes become messages at their position, so
/// a longer conversation starts with the same prefix as a shorter one.
#[derive(Debug, Default)]
struct RequestConversation {
    /// The system prompt of the request.
    initial_prompt: SystemPrompt,
    /// The prompt after all changes.
    prompt: SystemPrompt,
    items: Vec<ConversationItem>,
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all items are the large variant")]
enum ConversationItem {
    Message(Message),
    /// A prompt change, as text for the model.
    Change(String),
}

impl RequestConversation {
    fn from_pieces(pieces: Vec<ContextPiece>) -> RequestConversation {
        let mut conversation =
            RequestConversation { items: Vec::with_capacity(pieces.len()), ..RequestConversation::default() };
        let mut is_first = true;
        for piece in pieces {
            match piece {
                ContextPiece::Message(message) => {
                    is_first &= conversation.prompt == SystemPrompt::default();
                    conversation.items.push(ConversationItem::Message(message));
                }
                ContextPiece::Prompt(message) => conversation.apply_prompt(&message, is_first),
            }
        }
        conversation
    }

    fn apply_prompt(&mut self, message: &Value, is_first: bool) {
        let before = self.prompt.clone();
        self.prompt.replay_message(message);
        if is_first || !self.prompt.continues(&self.initial_prompt) {
            self.initial_prompt = self.prompt.clone();
            self.items.retain(|item| matches!(item, ConversationItem::Message(_)));
        } else {
            self.items.extend(before.describe_change(&self.prompt).map(ConversationItem::Change));
        }
    }
}

impl ConversationItem {
    fn into_message(self) -> Message {
        match self {
            ConversationItem::Message(message) => message,
            ConversationItem::Change(text) => Message::user(format!("<system>\n{text}\n</system>")),
        }
    }
}

/// A message of the context.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all pieces are the large variant")]
enum ContextPiece {
    /// A full system prompt or a patch.
    Prompt(Value),
    Message(Message),
}

impl RequestMessage for ContextPiece {
    fn from_json(message: Value) -> Option<ContextPiece> {
        match message["role"] == "system" {
            true => Some(ContextPiece::Prompt(message)),
            false => Message::from_json(message).ok().map(ContextPiece::Message),
        }
    }

    fn read(message: RawJson<'_>) -> Option<ContextPiece> {
        Message::read(message).map(ContextPiece::Message)
    }

    fn is_reply(&self) -> bool {
        matches!(self, ContextPiece::Message(Message::Assistant(_)))
    }

    fn calls(&self) -> Vec<(String, String)> {
        match self {
            ContextPiece::Message(Message::Assistant(reply)) => {
                reply.calls().map(|call| (call.id.clone(), call.name.clone())).collect()
            }
            _ => Vec::new(),
        }
    }

    fn answered_call_id(&self) -> Option<&str> {
        match self {
            ContextPiece::Message(Message::ToolResult(result)) => Some(&result.tool_call_id),
            _ => None,
        }
    }

    fn push_text(&mut self, text: String) {
        match self {
            ContextPiece::Message(Message::User(user)) => user.content.push(ContentBlock::text(text)),
            ContextPiece::Message(Message::ToolResult(result)) => {
                result.content.push(ContentBlock::text(text));
            }
            _ => {}
        }
    }
}

fn tool_spec(tool: &Value) -> Option<ToolSpec> {
    serde_json::from_value(tool.clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn prompt(sections: Value) -> ContextPiece {
        ContextPiece::Prompt(json!({ "role": "system", "content": "", "sections": sections }))
    }

    fn user(text: &str) -> ContextPiece {
        ContextPiece::Message(Message::user(text))
    }

    /// The initial prompt and the text of each later change.
    fn read(pieces: Vec<ContextPiece>) -> (String, Vec<String>) {
        let conversation = RequestConversation::from_pieces(pieces);
        let change = |item| match item {
            ConversationItem::Change(text) => Some(text),
            ConversationItem::Message(_) => None,
        };
        (conversation.initial_prompt.text(), conversation.items.into_iter().filter_map(change).collect())
    }

    #[test]
    fn initial_prompt_is_kept_and_changes_appear_at_their_position() {
        let (first, changes) = read(vec![
            user("before any prompt"),
            prompt(json!({ "preamble": "P", "rules": "old", "skills": "s" })),
            user("a"),
            prompt(json!({ "rules": "new", "skills": null })),
            user("b"),
        ]);
        assert_eq!(first, "P\n\nold\n\ns");
        let change = "The section \"skills\" of your system prompt no longer applies.\n\n\
                      The section \"rules\" of your system prompt now reads:\n\nnew";
        assert_eq!(changes, [change]);
    }

    #[test]
    fn fully_replaced_prompt_becomes_the_initial_prompt() {
        let foreign = ContextPiece::Prompt(json!({ "role": "system", "content": "You are somebody else." }));
        let own = || {
            ContextPiece::Prompt(json!({ "role": "system", "content": " ", "sections": { "preamble": "P" } }))
        };
        assert_eq!(read(vec![foreign, user("a"), own(), user("b")]), ("P".to_owned(), Vec::new()));
        let foreign = prompt(json!({ "theirs": "You are somebody else." }));
        let patch = prompt(json!({ "theirs": null, "preamble": "P" }));
        assert_eq!(read(vec![foreign, user("a"), patch, user("b")]), ("P".to_owned(), Vec::new()));
    }
}
