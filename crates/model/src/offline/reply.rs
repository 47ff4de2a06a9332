//! Chooses the next reply: a summary, the next tool calls, an answer from tool results, or the help text.

use super::answer::{self, Done};
use super::asked::{self, Step};
use super::language::Language;
use super::{call, search, summary};
use crate::block::Block;
use crate::message::{AssistantMessage, Message, ToolResultMessage, joined};
use crate::request::Request;
use crate::tool_id::Minter;

/// The content of the next message. A pure function of the request.
pub(super) fn reply(request: &Request) -> Vec<Block> {
    let request = &without_checkpoints(request);
    if let Some(text) = summary::summary(request) {
        return vec![Block::text(text)];
    }
    let talk = Talk::of(request);
    let steps = asked::steps(&talk.asked);
    let language = Language::of(&talk.asked);
    match steps.get(talk.batches) {
        Some(group) if !talk.was_cancelled() => calls(group, request, language, &talk),
        _ if talk.done.is_empty() => vec![Block::text(without_tools(request, &talk, language))],
        _ => vec![Block::text(answer::from_results(&talk.done, language) + &talk.introduction(language))],
    }
}

/// Removes the checkpoint marks that Osier adds to user messages and tool results.
fn without_checkpoints(request: &Request) -> Request {
    let mut request = request.clone();
    let is_mark =
        |block: &Block| matches!(block, Block::Text(text) if text.text.starts_with("<system>Checkpoint "));
    for message in &mut request.messages {
        match message {
            Message::User(user) => user.content.retain(|block| !is_mark(block)),
            Message::ToolResult(result) => result.content.retain(|block| !is_mark(block)),
            Message::System(_) | Message::Assistant(_) => {}
        }
    }
    request
}

/// The conversation since the last user message.
struct Talk<'a> {
    asked: String,
    /// How many batches of tools were called.
    batches: usize,
    done: Vec<Done<'a>>,
    /// Whether this is the first turn of the conversation.
    is_first: bool,
}

impl<'a> Talk<'a> {
    fn of(request: &'a Request) -> Talk<'a> {
        let messages = &request.messages;
        let is_user = |message: &Message| matches!(message, Message::User(_));
        let begin = messages.iter().rposition(is_user).map_or(0, |at| at + 1);
        let asked = match messages.get(begin.wrapping_sub(1)) {
            Some(Message::User(user)) => joined(&user.content),
            _ => String::new(),
        };
        let mut talk = Talk { asked, batches: 0, done: Vec::new(), is_first: true };
        talk.is_first = !messages[..begin].iter().any(|message| matches!(message, Message::Assistant(_)));
        for message in &messages[begin..] {
            if let Message::Assistant(assistant) = message {
                talk.take(assistant, &messages[begin..]);
            }
        }
        talk
    }

    fn take(&mut self, assistant: &'a AssistantMessage, messages: &'a [Message]) {
        let result = |id: &str| {
            messages.iter().find_map(|message| match message {
                Message::ToolResult(result) if result.tool_call_id == id => Some(result),
                _ => None,
            })
        };
        let before = self.done.len();
        self.done.extend(assistant.calls().map(|call| Done { call, result: result(&call.id) }));
        self.batches += usize::from(self.done.len() > before);
    }

    /// Whether a step failed or was refused. The remaining steps are then not run.
    fn was_cancelled(&self) -> bool {
        let failed = |result: Option<&ToolResultMessage>| result.is_none_or(|result| result.is_error);
        self.done.iter().any(|done| failed(done.result))
    }

    fn introduction(&self, language: Language) -> String {
        if self.is_first { format!("\n\n{}", answer::what_i_am(language)) } else { String::new() }
    }
}

fn calls(group: &[Step], request: &Request, language: Language, talk: &Talk<'_>) -> Vec<Block> {
    let mut ids = Minter::new(&request.messages);
    let mut calls = Vec::new();
    for step in group {
        match call::call(step, &request.tools) {
            Ok((name, arguments)) => calls.push(Block::call(ids.id(None), name, arguments)),
            Err(tool) => {
                return vec![Block::text(
                    answer::missing_tool(tool, language) + &talk.introduction(language),
                )];
            }
        }
    }
    let mut blocks = vec![Block::text(answer::announced(group, language))];
    blocks.append(&mut calls);
    blocks
}

/// Answers a request without steps: from earlier lines of the conversation, or with the help text.
fn without_tools(request: &Request, talk: &Talk<'_>, language: Language) -> String {
    if talk.asked.trim().is_empty() || answer::is_greeting(&talk.asked) {
        return answer::help(language);
    }
    match search::best_lines(&request.messages, &talk.asked) {
        lines if lines.is_empty() => answer::help(language),
        lines => answer::from_before(&lines, language) + &talk.introduction(language),
    }
}
