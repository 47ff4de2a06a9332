//! Chooses the next reply: a summary, the next tool calls, an answer from tool results, or the help text.

use osier_model::{
    AssistantMessage, CallIdGenerator, ContentBlock, Message, Request, ToolResultMessage, join_text,
};

use super::intent::{self, RequestedStep};
use super::language::Language;
use super::phrases::{self, CompletedCall};
use super::{call, search, summary};

/// The content of the next message. A pure function of the request.
pub(super) fn build_reply(request: &Request) -> Vec<ContentBlock> {
    let request = &strip_checkpoints(request);
    if let Some(text) = summary::summary(request) {
        return vec![ContentBlock::text(text)];
    }
    let turn = CurrentTurn::from_request(request);
    let steps = intent::parse_steps(&turn.prompt);
    let language = Language::detect(&turn.prompt);
    match steps.get(turn.batches) {
        Some(group) if !turn.has_failed_step() => call_blocks(group, request, language, &turn),
        _ if turn.completed.is_empty() => {
            vec![ContentBlock::text(answer_without_tools(request, &turn, language))]
        }
        _ => vec![ContentBlock::text(
            phrases::describe_results(&turn.completed, language) + &turn.introduction(language),
        )],
    }
}

/// Removes the checkpoint marks that Osier adds to user messages and tool results.
fn strip_checkpoints(request: &Request) -> Request {
    let mut request = request.clone();
    let is_mark = |block: &ContentBlock| matches!(block, ContentBlock::Text(text) if text.text.starts_with("<system>Checkpoint "));
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
struct CurrentTurn<'a> {
    prompt: String,
    /// How many batches of tools were called.
    batches: usize,
    completed: Vec<CompletedCall<'a>>,
    /// Whether this is the first turn of the conversation.
    is_first: bool,
}

impl<'a> CurrentTurn<'a> {
    fn from_request(request: &'a Request) -> CurrentTurn<'a> {
        let messages = &request.messages;
        let is_user = |message: &Message| matches!(message, Message::User(_));
        let start = messages.iter().rposition(is_user).map_or(0, |at| at + 1);
        let asked = match messages.get(start.wrapping_sub(1)) {
            Some(Message::User(user)) => join_text(&user.content),
            _ => String::new(),
        };
        let mut turn = CurrentTurn { prompt: asked, batches: 0, completed: Vec::new(), is_first: true };
        turn.is_first = !messages[..start].iter().any(|message| matches!(message, Message::Assistant(_)));
        for message in &messages[start..] {
            if let Message::Assistant(assistant) = message {
                turn.add_calls(assistant, &messages[start..]);
            }
        }
        turn
    }

    fn add_calls(&mut self, assistant: &'a AssistantMessage, messages: &'a [Message]) {
        let result = |id: &str| {
            messages.iter().find_map(|message| match message {
                Message::ToolResult(result) if result.tool_call_id == id => Some(result),
                _ => None,
            })
        };
        let before = self.completed.len();
        self.completed.extend(assistant.calls().map(|call| CompletedCall { call, result: result(&call.id) }));
        self.batches += usize::from(self.completed.len() > before);
    }

    /// Whether a step failed or was refused. The remaining steps are then not run.
    fn has_failed_step(&self) -> bool {
        let failed = |result: Option<&ToolResultMessage>| result.is_none_or(|result| result.is_error);
        self.completed.iter().any(|done| failed(done.result))
    }

    fn introduction(&self, language: Language) -> String {
        if self.is_first { format!("\n\n{}", phrases::introduction(language)) } else { String::new() }
    }
}

fn call_blocks(
    group: &[RequestedStep],
    request: &Request,
    language: Language,
    turn: &CurrentTurn<'_>,
) -> Vec<ContentBlock> {
    let mut ids = CallIdGenerator::new(&request.messages);
    let mut calls = Vec::new();
    for step in group {
        match call::tool_call(step, &request.tools) {
            Ok((name, arguments)) => calls.push(ContentBlock::call(ids.given_or_new(None), name, arguments)),
            Err(tool) => {
                return vec![ContentBlock::text(
                    phrases::missing_tool(tool, language) + &turn.introduction(language),
                )];
            }
        }
    }
    let mut blocks = vec![ContentBlock::text(phrases::announce_steps(group, language))];
    blocks.append(&mut calls);
    blocks
}

/// Answers a request without steps: from earlier lines of the conversation, or with the help text.
fn answer_without_tools(request: &Request, turn: &CurrentTurn<'_>, language: Language) -> String {
    if turn.prompt.trim().is_empty() || phrases::is_greeting(&turn.prompt) {
        return phrases::help(language);
    }
    match search::best_lines(&request.messages, &turn.prompt) {
        lines if lines.is_empty() => phrases::help(language),
        lines => phrases::quote_earlier_lines(&lines, language) + &turn.introduction(language),
    }
}
