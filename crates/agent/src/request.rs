//! Builds the request for a position in the tree. The same function serves model calls and `osier sessions
//! context --request`.

use std::sync::Arc;

use osier_model::{Block, Message, Request, ToolSpec};
use osier_session::State;
use osier_store::StoreError;
use osier_tree::Place;
use osier_tree::projection::request::{Repairs, Telling, Told};
use serde_json::Value;

use crate::backtrack;
use crate::choice::Choice;
use crate::error::Error;
use crate::system::SystemPrompt;
use crate::workplace::Workplace;

/// A request, and the repairs that made it valid.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedRequest {
    pub request: Request,
    pub repairs: Repairs,
}

impl Workplace {
    /// The request at the cursor. First records the model and thinking level in use on the path.
    pub(crate) async fn request(&self) -> Result<Request, Error> {
        let choice = self.settle_choice().await?;
        let (state, at) = self.here();
        Ok(self.request_at(state, at, choice).await?.request)
    }

    /// The request at a position. Writes nothing.
    pub(crate) async fn request_at(
        &self,
        state: Arc<State>,
        at: Place,
        choice: Choice,
    ) -> Result<PreparedRequest, Error> {
        let mut telling: Telling<Piece> = Telling::new(state.tree.context_entries(at));
        let wanted = telling.wanted();
        let take = |seq, line: &[u8]| {
            telling.take(seq, line);
            Ok::<_, StoreError>(())
        };
        self.session.each_line(state.version, &wanted, take).await?;
        let (can_call, unprompted) = (choice.model.tools, self.parts.backtracking);
        // A long conversation takes a while; do not block other commands.
        let task = tokio::task::spawn_blocking(move || {
            let request = state.tree.told(telling, |pieces| can_call && offers_backtrack(pieces, unprompted));
            (Conversation::read(request.messages), request.repairs)
        });
        let (conversation, repairs) =
            task.await.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()));
        let Conversation { first, prompt, items } = conversation;
        let mut request = Request::new(choice.model, items.into_iter().map(Item::into_message).collect());
        request.system = first.text();
        request.tools = prompt.tools().filter_map(tool_spec).collect();
        request.thinking = choice.thinking;
        request.session = Some(self.session.id().to_owned());
        Ok(PreparedRequest { request, repairs })
    }
}

/// Whether the model has the `backtrack` tool and therefore sees checkpoints. `unprompted` is the answer for
/// a path without Osier's own system prompt, which is stored before the first request.
fn offers_backtrack(pieces: &mut dyn Iterator<Item = &Piece>, unprompted: bool) -> bool {
    let mut prompt: Option<SystemPrompt> = None;
    for piece in pieces {
        if let Piece::Prompt(message) = piece {
            prompt.get_or_insert_default().replay_message(message);
        }
    }
    let own = prompt.filter(|prompt| prompt.content.trim().is_empty());
    own.map_or(unprompted, |prompt| prompt.has_tool(backtrack::NAME))
}

/// The initial system prompt and what follows it. Later prompt changes become messages at their position, so
/// a longer conversation starts with the same prefix as a shorter one.
#[derive(Debug, Default)]
struct Conversation {
    /// The system prompt of the request.
    first: SystemPrompt,
    /// The prompt after all changes.
    prompt: SystemPrompt,
    items: Vec<Item>,
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all items are the large variant")]
enum Item {
    Message(Message),
    /// A prompt change, as text for the model.
    Change(String),
}

impl Conversation {
    fn read(pieces: Vec<Piece>) -> Conversation {
        let mut conversation =
            Conversation { items: Vec::with_capacity(pieces.len()), ..Conversation::default() };
        let mut is_first = true;
        for piece in pieces {
            match piece {
                Piece::Said(message) => {
                    is_first &= conversation.prompt == SystemPrompt::default();
                    conversation.items.push(Item::Message(message));
                }
                Piece::Prompt(message) => conversation.change(&message, is_first),
            }
        }
        conversation
    }

    fn change(&mut self, message: &Value, is_first: bool) {
        let before = self.prompt.clone();
        self.prompt.replay_message(message);
        if is_first || !self.prompt.continues(&self.first) {
            self.first = self.prompt.clone();
            self.items.retain(|item| matches!(item, Item::Message(_)));
        } else {
            self.items.extend(before.describe_change(&self.prompt).map(Item::Change));
        }
    }
}

impl Item {
    fn into_message(self) -> Message {
        match self {
            Item::Message(message) => message,
            Item::Change(text) => Message::user(format!("<system>\n{text}\n</system>")),
        }
    }
}

/// A message of the context.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all pieces are the large variant")]
enum Piece {
    /// A full system prompt or a patch.
    Prompt(Value),
    Said(Message),
}

impl Told for Piece {
    fn read(message: Value) -> Option<Piece> {
        match message["role"] == "system" {
            true => Some(Piece::Prompt(message)),
            false => Message::read(message).ok().map(Piece::Said),
        }
    }

    fn is_reply(&self) -> bool {
        matches!(self, Piece::Said(Message::Assistant(_)))
    }

    fn calls(&self) -> Vec<(String, String)> {
        match self {
            Piece::Said(Message::Assistant(reply)) => {
                reply.calls().map(|call| (call.id.clone(), call.name.clone())).collect()
            }
            _ => Vec::new(),
        }
    }

    fn answers(&self) -> Option<&str> {
        match self {
            Piece::Said(Message::ToolResult(result)) => Some(&result.tool_call_id),
            _ => None,
        }
    }

    fn add(&mut self, text: String) {
        match self {
            Piece::Said(Message::User(user)) => user.content.push(Block::text(text)),
            Piece::Said(Message::ToolResult(result)) => result.content.push(Block::text(text)),
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

    fn prompt(sections: Value) -> Piece {
        Piece::Prompt(json!({ "role": "system", "content": "", "sections": sections }))
    }

    fn user(text: &str) -> Piece {
        Piece::Said(Message::user(text))
    }

    /// The initial prompt and the text of each later change.
    fn read(pieces: Vec<Piece>) -> (String, Vec<String>) {
        let conversation = Conversation::read(pieces);
        let change = |item| match item {
            Item::Change(text) => Some(text),
            Item::Message(_) => None,
        };
        (conversation.first.text(), conversation.items.into_iter().filter_map(change).collect())
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
        let foreign = Piece::Prompt(json!({ "role": "system", "content": "You are somebody else." }));
        let own =
            || Piece::Prompt(json!({ "role": "system", "content": " ", "sections": { "preamble": "P" } }));
        assert_eq!(read(vec![foreign, user("a"), own(), user("b")]), ("P".to_owned(), Vec::new()));
        let foreign = prompt(json!({ "theirs": "You are somebody else." }));
        let patch = prompt(json!({ "theirs": null, "preamble": "P" }));
        assert_eq!(read(vec![foreign, user("a"), patch, user("b")]), ("P".to_owned(), Vec::new()));
    }
}
