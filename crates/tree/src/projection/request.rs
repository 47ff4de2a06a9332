//! The request: the context in the form that is sent to a model. Every call has a result and every result has a call, user
//! commands and summaries become user messages, and checkpoints are marked so that the model can return to them.
//!
//! Only this view is repaired, never the log. Requirements of a single API are handled by that API's code.

mod builder;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Lines;
use crate::entry::MessageRole;
use crate::fold::SessionTree;
use crate::heads::Seq;
use crate::scan::RawJson;
use crate::walk::ContextPlan;

pub use builder::RequestBuilder;

/// The messages to send, and the repairs they needed.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextRequest<M = Value> {
    pub messages: Vec<M>,
    pub repairs: Repairs,
}

/// A message of a request, in the representation that the caller uses.
pub trait RequestMessage: Sized {
    /// `None` if the message cannot be represented.
    fn from_json(message: Value) -> Option<Self>;

    /// Reads a user message, a reply or a result, with the same result as `from_json`. `None` for other messages, and if
    /// reading this one needs its value.
    fn read(_message: RawJson<'_>) -> Option<Self> {
        None
    }

    fn is_reply(&self) -> bool;

    /// The ids and tool names of the calls in a reply.
    fn calls(&self) -> Vec<(String, String)>;

    /// The id of the call that a result answers.
    fn answered_call_id(&self) -> Option<&str>;

    /// Adds a text block at the end.
    fn push_text(&mut self, text: String);
}

/// A message as JSON.
impl RequestMessage for Value {
    fn from_json(message: Value) -> Option<Value> {
        Some(message)
    }

    fn is_reply(&self) -> bool {
        self["role"] == "assistant"
    }

    fn calls(&self) -> Vec<(String, String)> {
        let blocks = self["content"].as_array().filter(|_| self.is_reply());
        let text = |block: &Value, key: &str| block[key].as_str().unwrap_or_default().to_owned();
        let calls = blocks.into_iter().flatten().filter(|block| block["type"] == "toolCall");
        calls.map(|block| (text(block, "id"), text(block, "name"))).collect()
    }

    fn answered_call_id(&self) -> Option<&str> {
        (self["role"] == "toolResult").then(|| self["toolCallId"].as_str().unwrap_or_default())
    }

    fn push_text(&mut self, text: String) {
        content_blocks_mut(self).push(json!({ "type": "text", "text": text }));
    }
}

/// A message, and the entry that it comes from, if any.
pub type SourcedMessage<M> = (Option<Seq>, M);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Repairs {
    /// Calls without a result, reported to the model as interrupted.
    pub unanswered_calls: usize,
    /// Results without a call, and duplicate results.
    pub stray_results: usize,
}

impl SessionTree {
    /// Builds the request for a context. `markers` adds the checkpoint markers.
    pub fn prepare_request(&self, plan: &ContextPlan, lines: &impl Lines, markers: bool) -> ContextRequest {
        let mut builder = RequestBuilder::new(plan.clone());
        for seq in builder.needed_lines() {
            if let Some(line) = lines.line(seq) {
                builder.add_line(seq, line);
            }
        }
        self.finish_request(builder, |_| markers)
    }

    /// Builds the request from lines that were added one by one. `markers` decides from the messages.
    pub fn finish_request<M: RequestMessage>(
        &self,
        builder: RequestBuilder<M>,
        markers: impl FnOnce(&mut dyn Iterator<Item = &M>) -> bool,
    ) -> ContextRequest<M> {
        let (plan, messages) = builder.finish();
        self.request_from_messages(&plan, messages, markers)
    }

    /// Builds the request from the messages of a context, in the form that is sent: pairs calls with results, and adds markers.
    pub fn request_from_messages<M: RequestMessage>(
        &self,
        plan: &ContextPlan,
        messages: Vec<SourcedMessage<M>>,
        markers: impl FnOnce(&mut dyn Iterator<Item = &M>) -> bool,
    ) -> ContextRequest<M> {
        let mut repairs = Repairs::default();
        let markers = markers(&mut messages.iter().map(|(_, message)| message));
        let mut paired = pair_calls_with_results(messages, &mut repairs);
        if markers {
            self.add_checkpoint_markers(plan, &mut paired);
        }
        ContextRequest { messages: paired.into_iter().map(|(_, message)| message).collect(), repairs }
    }

    fn add_checkpoint_markers<M: RequestMessage>(
        &self,
        plan: &ContextPlan,
        messages: &mut [SourcedMessage<M>],
    ) {
        let included: FxHashSet<Seq> = messages.iter().filter_map(|(seq, _)| *seq).collect();
        let numbers: FxHashMap<Seq, usize> = self
            .checkpoints(plan.leaf)
            .into_iter()
            .filter(|checkpoint| included.contains(&checkpoint.entry))
            .map(|checkpoint| (checkpoint.entry, checkpoint.number))
            .collect();
        for (seq, message) in messages {
            if let Some(number) = seq.and_then(|seq| numbers.get(&seq)) {
                message.push_text(format!("<system>Checkpoint {number}</system>"));
            }
        }
    }
}

/// The content of a message as a list of blocks. Converts text content to one.
fn content_blocks_mut(message: &mut Value) -> &mut Vec<Value> {
    if !message["content"].is_array() {
        let text = message["content"].as_str().unwrap_or_default().to_owned();
        message["content"] =
            if text.is_empty() { json!([]) } else { json!([{ "type": "text", "text": text }]) };
    }
    message["content"].as_array_mut().expect("content is an array here")
}

/// Converts a message of the context to the form that is sent. `None` if it is not sent.
pub fn to_request_message(mut message: Value) -> Option<Value> {
    let role = message["role"].as_str()?.to_owned();
    let timestamp = message["timestamp"].take();
    let user = |text: String| {
        Some(json!({ "role": "user", "content": [{ "type": "text", "text": text }], "timestamp": timestamp }))
    };
    match role.as_str() {
        "branchSummary" => {
            user(summary_text("This is a summary of another branch of this conversation:", &message))
        }
        "compactionSummary" => user(summary_text("This is a summary of the conversation so far:", &message)),
        "bashExecution" if message["excludeFromContext"] == true => None,
        "bashExecution" => user(command_text(&message)),
        "custom" => {
            let content = std::mem::take(content_blocks_mut(&mut message));
            Some(json!({ "role": "user", "content": content, "timestamp": timestamp }))
        }
        _ => {
            message["timestamp"] = timestamp;
            match MessageRole::parse(&role) {
                MessageRole::ToolResult => {
                    message["role"] = json!("toolResult");
                    Some(message)
                }
                MessageRole::User | MessageRole::Assistant | MessageRole::System => Some(message),
                _ => None,
            }
        }
    }
}

/// Converts a message of the context to the form that is sent, in the representation of the caller.
fn read_message<M: RequestMessage>(message: &[u8]) -> Option<M> {
    let read = M::read(RawJson::from_valid(message));
    read.or_else(|| parse_message(message).and_then(to_request_message).and_then(M::from_json))
}

/// Parses JSON that may contain lone surrogates, which `serde_json` and models reject.
pub fn parse_message(message: &[u8]) -> Option<Value> {
    serde_json::from_slice(message).ok().or_else(|| {
        let text = without_lone_surrogates(&String::from_utf8_lossy(message));
        if nesting_depth(text.as_bytes()) > MAX_NESTING {
            return RawJson::parse(message).ok().and_then(flatten_message);
        }
        let mut reader = serde_json::Deserializer::from_str(&text);
        reader.disable_recursion_limit();
        Value::deserialize(&mut reader).ok()
    })
}

/// Deeper documents could overflow the stack. Models neither write nor understand them.
const MAX_NESTING: usize = 1000;

fn nesting_depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest, mut quoted, mut escaped) = (0usize, 0, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Keeps only the top level of a message. Deeply nested content becomes text.
fn flatten_message(message: RawJson<'_>) -> Option<Value> {
    let mut flat = serde_json::Map::new();
    message.each_field(|key, value| {
        let value = match nesting_depth(value.bytes()) {
            ..=MAX_NESTING => parse_message(value.bytes()).unwrap_or_default(),
            _ if key == "content" => json!([{ "type": "text", "text": super::card::message_text(message) }]),
            _ => Value::Null,
        };
        flat.insert(key.to_owned(), value);
    });
    Some(Value::Object(flat))
}

fn without_lone_surrogates(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let unit =
            |text: &str| text.strip_prefix("\\u").and_then(|hex| u32::from_str_radix(hex.get(..4)?, 16).ok());
        let taken = match unit(rest) {
            Some(0xD800..=0xDBFF) if matches!(rest.get(6..).and_then(unit), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => {
                out.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            _ => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out.push_str(rest);
    out
}

fn summary_text(introduction: &str, message: &Value) -> String {
    format!("{introduction}\n\n<summary>\n{}\n</summary>", message["summary"].as_str().unwrap_or_default())
}

/// Describes a command that the user ran.
fn command_text(message: &Value) -> String {
    let text = |key: &str| message[key].as_str().unwrap_or_default();
    let output = match text("output") {
        "" => "No output.".to_owned(),
        output => {
            let fence = "`".repeat(3.max(longest_run(output, '`') + 1));
            format!("{fence}\n{}\n{fence}", output.trim_end_matches('\n'))
        }
    };
    let mut description = format!("The user ran `{}`:\n{output}", text("command"));
    if message["cancelled"] == true {
        description += "\nThe user canceled it.";
    } else if let Some(code) = message["exitCode"].as_i64().filter(|code| *code != 0) {
        description += &format!("\nIt exited with code {code}.");
    }
    if message["truncated"] == true && !text("fullOutputPath").is_empty() {
        description += &format!("\nThe full output is in {}.", text("fullOutputPath"));
    }
    description
}

fn longest_run(text: &str, of: char) -> usize {
    text.split(|ch| ch != of).map(str::len).max().unwrap_or(0)
}

/// Moves the results of each assistant message directly after it, in the order of its calls.
fn pair_calls_with_results<M: RequestMessage>(
    messages: Vec<SourcedMessage<M>>,
    repairs: &mut Repairs,
) -> Vec<SourcedMessage<M>> {
    if is_paired(&messages) {
        return messages;
    }
    let mut out = Vec::with_capacity(messages.len());
    let mut rest = messages.into_iter().peekable();
    let mut held: Vec<SourcedMessage<M>> = Vec::new();
    while let Some((seq, message)) = rest.next() {
        let calls = message.calls();
        if calls.is_empty() {
            if message.answered_call_id().is_some() {
                repairs.stray_results += 1;
            } else {
                out.push((seq, message));
            }
            continue;
        }
        out.push((seq, message));
        let wanted: FxHashSet<&str> = calls.iter().map(|(id, _)| id.as_str()).collect();
        let mut answers: FxHashMap<String, SourcedMessage<M>> = FxHashMap::default();
        while let Some((seq, message)) = rest.next_if(|(_, message)| !message.is_reply()) {
            match message.answered_call_id().map(str::to_owned) {
                Some(id) if wanted.contains(id.as_str()) && !answers.contains_key(&id) => {
                    answers.insert(id, (seq, message));
                }
                Some(_) => repairs.stray_results += 1,
                None => held.push((seq, message)),
            }
        }
        let is_complete = answers.len() == wanted.len();
        let last_stored = answers.values().filter_map(|(seq, _)| *seq).max().filter(|_| is_complete);
        let mut results: Vec<SourcedMessage<M>> = Vec::with_capacity(calls.len());
        for (id, name) in &calls {
            results.extend(answers.remove(id).or_else(|| {
                repairs.unanswered_calls += 1;
                Some((None, M::from_json(interrupted_result(id, name))?))
            }));
        }
        // The checkpoint of a complete batch is the result stored last. It must be sent last.
        if let Some(at) = results.iter().position(|(seq, _)| seq.is_some() && *seq == last_stored) {
            let last = results.remove(at);
            results.push(last);
        }
        out.append(&mut results);
        out.append(&mut held);
    }
    out
}

/// Whether the results of each assistant message already follow it, in the order of its calls. Most conversations need no
/// second list.
fn is_paired<M: RequestMessage>(messages: &[SourcedMessage<M>]) -> bool {
    let mut at = 0;
    while let Some((_, message)) = messages.get(at) {
        let calls = message.calls();
        let Some(results) = messages.get(at + 1..at + 1 + calls.len()) else { return false };
        let mut ids = FxHashSet::default();
        let are_answered = calls.iter().zip(results).all(|((id, _), (_, result))| {
            ids.insert(id.as_str()) && result.answered_call_id() == Some(id.as_str())
        });
        let is_newest_last = results.iter().map(|(seq, _)| seq).max() == results.last().map(|(seq, _)| seq);
        if !are_answered || !is_newest_last || message.answered_call_id().is_some() {
            return false;
        }
        at += 1 + calls.len();
    }
    true
}

fn interrupted_result(id: &str, name: &str) -> Value {
    json!({
        "role": "toolResult",
        "toolCallId": id,
        "toolName": name,
        "content": [{ "type": "text", "text": "This call was interrupted: there is no result." }],
        "isError": true,
        "timestamp": 0,
    })
}
