//! What to say next: a summary, the next call, an answer from what the tools returned, or what it can do at all.

use super::answer::{self, Done};
use super::asked::{self, Step};
use super::language::Language;
use super::{call, search, summary};
use crate::block::Block;
use crate::message::{AssistantMessage, Message, ToolResultMessage, joined};
use crate::request::Request;
use crate::tool_id::Minter;

/// The blocks of the next message. A pure function of the request.
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

/// The request without the marks that say where one can return to: nobody said them, and no tool printed them.
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

/// The conversation since the user last spoke.
struct Talk<'a> {
    asked: String,
    /// How many times tools were called for it.
    batches: usize,
    done: Vec<Done<'a>>,
    /// Nothing was said in this conversation before.
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
            if let Message::Assistant(said) = message {
                talk.take(said, &messages[begin..]);
            }
        }
        talk
    }

    fn take(&mut self, said: &'a AssistantMessage, messages: &'a [Message]) {
        let result = |id: &str| {
            messages.iter().find_map(|message| match message {
                Message::ToolResult(result) if result.tool_call_id == id => Some(result),
                _ => None,
            })
        };
        let before = self.done.len();
        self.done.extend(said.calls().map(|call| Done { call, result: result(&call.id) }));
        self.batches += usize::from(self.done.len() > before);
    }

    /// A step that was refused or interrupted ends the plan: going on would do the second half of something.
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

/// A question it has no tool for: perhaps something said or read before answers it.
fn without_tools(request: &Request, talk: &Talk<'_>, language: Language) -> String {
    if talk.asked.trim().is_empty() || answer::is_greeting(&talk.asked) {
        return answer::help(language);
    }
    match search::best_lines(&request.messages, &talk.asked) {
        lines if lines.is_empty() => answer::help(language),
        lines => answer::from_before(&lines, language) + &talk.introduction(language),
    }
}
