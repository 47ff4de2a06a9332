//! The built-in offline model: rules instead of a neural network. It needs no key and no network, and is deterministic.
//!
//! It follows simple requests by calling real tools, answers from their results, and writes summaries from sentences of
//! the conversation. For everything else it says what it can do.

mod answer;
mod asked;
mod call;
mod clause;
mod language;
mod reply;
mod search;
mod sentences;
mod summary;
mod transcript;
mod verbs;

use std::collections::VecDeque;

use futures_util::stream;
use tokio_util::sync::CancellationToken;
use unicode_segmentation::UnicodeSegmentation;

use crate::block::Block;
use crate::draft::Draft;
use crate::failure::Failure;
use crate::message::{Message, StopReason};
use crate::port::{Delta, Deltas, Model};
use crate::request::Request;
use crate::surroundings::Surroundings;
use crate::usage::Usage;

/// Words in a piece of streamed text.
const PIECE: usize = 4;

/// The built-in offline model.
#[derive(Debug, Clone)]
pub struct Offline {
    surroundings: Surroundings,
}

impl Offline {
    pub fn new(surroundings: Surroundings) -> Offline {
        Offline { surroundings }
    }
}

impl Model for Offline {
    fn stream(&self, request: Request, cancel: CancellationToken) -> Deltas {
        let draft = Draft::new(&request.model, self.surroundings.now());
        let play =
            Play { deltas: VecDeque::new(), draft, ending: Ok(StopReason::Stop), cancel, ended: false }
                .planned(&request);
        Box::pin(stream::unfold(play, |mut play| async move { play.next().await.map(|delta| (delta, play)) }))
    }
}

/// A reply that is being streamed.
struct Play {
    deltas: VecDeque<Delta>,
    draft: Draft,
    ending: Result<StopReason, Failure>,
    cancel: CancellationToken,
    ended: bool,
}

impl Play {
    fn planned(mut self, request: &Request) -> Play {
        let read = size(request);
        if read > request.model.context_window {
            let (needed, window) = (Some(read), Some(request.model.context_window));
            self.ending = Err(Failure::Overflow { needed, window, said: String::new() });
            return self;
        }
        let mut blocks = reply::reply(request);
        let limit = request.max_tokens.unwrap_or(u64::MAX).min(request.model.max_output);
        if let Some(written) = cut(&mut blocks, limit) {
            self.ending = Ok(StopReason::Length);
            self.say(&blocks, read, written);
        } else {
            self.say(&blocks, read, blocks.iter().map(block_size).sum());
        }
        self
    }

    fn say(&mut self, blocks: &[Block], read: u64, written: u64) {
        self.deltas.push_back(Delta::Start { response_id: None, response_model: None });
        for (block, content) in blocks.iter().enumerate() {
            self.deltas.extend(deltas(block, content));
        }
        self.deltas
            .push_back(Delta::Usage(Usage { input: read, output: written, ..Usage::default() }.totalled()));
    }

    async fn next(&mut self) -> Option<Delta> {
        if self.ended {
            return None;
        }
        // Lets other tasks run between two pieces, and cancellation take effect.
        tokio::task::yield_now().await;
        let ending = match self.deltas.pop_front() {
            _ if self.cancel.is_cancelled() => Err(Failure::Cancelled),
            Some(delta) => {
                self.draft.apply(&delta);
                return Some(delta);
            }
            None => self.ending.clone(),
        };
        self.ended = true;
        Some(self.draft.clone().end(ending, None))
    }
}

fn deltas(block: usize, content: &Block) -> Vec<Delta> {
    let mut out = Vec::new();
    match content {
        Block::Text(text) => {
            out.push(Delta::TextStart { block });
            out.extend(pieces(&text.text).map(|text| Delta::Text { block, text }));
            out.push(Delta::TextEnd { block, signature: None });
        }
        Block::ToolCall(call) => {
            let json = serde_json::Value::from(call.arguments.clone()).to_string();
            out.push(Delta::ToolCallStart { block, id: call.id.clone(), name: call.name.clone() });
            out.extend(pieces(&json).map(|json| Delta::ToolCallArguments { block, json }));
            out.push(Delta::ToolCallEnd { block, signature: None });
        }
        Block::Thinking(_) | Block::Image(_) | Block::Unknown(_) => {}
    }
    out
}

/// Splits text into pieces of a few words, in any script.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    let words: Vec<&str> = text.split_word_bounds().collect();
    words.chunks(PIECE).map(<[&str]>::concat).collect::<Vec<_>>().into_iter()
}

/// Shortens the text to the limit in tokens. Returns the new size if it was too long.
fn cut(blocks: &mut [Block], limit: u64) -> Option<u64> {
    let size: u64 = blocks.iter().map(block_size).sum();
    if size <= limit {
        return None;
    }
    for block in blocks.iter_mut() {
        if let Block::Text(text) = block {
            let longest = usize::try_from(limit * 4).unwrap_or(usize::MAX);
            let end = (0..=longest.min(text.text.len()))
                .rev()
                .find(|at| text.text.is_char_boundary(*at))
                .unwrap_or(0);
            text.text.truncate(end);
        }
    }
    Some(limit)
}

/// The estimated number of tokens.
fn size(request: &Request) -> u64 {
    let messages = request.messages.iter().map(|message| match message {
        Message::System(_) => 0,
        Message::User(user) => user.content.iter().map(block_size).sum(),
        Message::Assistant(assistant) => assistant.content.iter().map(block_size).sum(),
        Message::ToolResult(result) => result.content.iter().map(block_size).sum(),
    });
    let tools: usize =
        request.tools.iter().map(|tool| tool.description.len() + tool.parameters.to_string().len()).sum();
    messages.sum::<u64>() + (request.system.len() + tools).div_ceil(4) as u64
}

fn block_size(block: &Block) -> u64 {
    let bytes = match block {
        Block::Text(text) => text.text.len(),
        Block::Thinking(thinking) => thinking.thinking.len(),
        Block::Image(_) => 4_800,
        Block::ToolCall(call) => {
            call.name.len() + serde_json::Value::from(call.arguments.clone()).to_string().len()
        }
        Block::Unknown(_) => 0,
    };
    bytes.div_ceil(4) as u64
}
