//! The built-in offline model: rules instead of a neural network. It needs no key and no network, and is deterministic.
//!
//! It follows simple requests by calling real tools, answers from their results, and writes summaries from sentences of
//! the conversation. For everything else it says what it can do.

mod call;
mod clause;
mod intent;
mod language;
mod phrases;
mod reply;
mod search;
mod sentences;
mod summary;
mod transcript;
mod verbs;

use std::collections::VecDeque;

use futures_util::stream;
use osier_model::{
    CancellationToken, ContentBlock, Delta, DeltaStream, Environment, Message, Model, ModelError, ReplyDraft,
    Request, StopReason, TokenUsage,
};
use unicode_segmentation::UnicodeSegmentation;

/// Words in a piece of streamed text.
const WORDS_PER_PIECE: usize = 4;

/// The built-in offline model.
#[derive(Debug, Clone)]
pub struct OfflineModel {
    environment: Environment,
}

impl OfflineModel {
    pub fn new(environment: Environment) -> OfflineModel {
        OfflineModel { environment }
    }
}

impl Model for OfflineModel {
    fn stream(&self, request: Request, cancel: CancellationToken) -> DeltaStream {
        let draft = ReplyDraft::new(&request.model, self.environment.now());
        let play = OfflineReply {
            deltas: VecDeque::new(),
            draft,
            result: Ok(StopReason::Stop),
            cancel,
            ended: false,
        }
        .plan(&request);
        Box::pin(stream::unfold(play, |mut play| async move { play.next().await.map(|delta| (delta, play)) }))
    }
}

/// A reply that is being streamed.
struct OfflineReply {
    deltas: VecDeque<Delta>,
    draft: ReplyDraft,
    result: Result<StopReason, ModelError>,
    cancel: CancellationToken,
    ended: bool,
}

impl OfflineReply {
    fn plan(mut self, request: &Request) -> OfflineReply {
        let read = estimate_tokens(request);
        if read > request.model.context_window {
            let (needed, window) = (Some(read), Some(request.model.context_window));
            self.result = Err(ModelError::ContextOverflow { needed, window, detail: String::new() });
            return self;
        }
        let mut blocks = reply::build_reply(request);
        let limit = request.max_tokens.unwrap_or(u64::MAX).min(request.model.max_output);
        if let Some(written) = shorten_to_limit(&mut blocks, limit) {
            self.result = Ok(StopReason::Length);
            self.queue_blocks(&blocks, read, written);
        } else {
            self.queue_blocks(&blocks, read, blocks.iter().map(estimate_block_tokens).sum());
        }
        self
    }

    fn queue_blocks(&mut self, blocks: &[ContentBlock], read: u64, written: u64) {
        self.deltas.push_back(Delta::Start { response_id: None, response_model: None });
        for (block, content) in blocks.iter().enumerate() {
            self.deltas.extend(block_deltas(block, content));
        }
        self.deltas.push_back(Delta::Usage(
            TokenUsage { input: read, output: written, ..TokenUsage::default() }.with_total(),
        ));
    }

    async fn next(&mut self) -> Option<Delta> {
        if self.ended {
            return None;
        }
        // Lets other tasks run between two pieces, and cancellation take effect.
        tokio::task::yield_now().await;
        let result = match self.deltas.pop_front() {
            _ if self.cancel.is_cancelled() => Err(ModelError::Cancelled),
            Some(delta) => {
                self.draft.apply(&delta);
                return Some(delta);
            }
            None => self.result.clone(),
        };
        self.ended = true;
        Some(self.draft.clone().finish(result, None))
    }
}

fn block_deltas(block: usize, content: &ContentBlock) -> Vec<Delta> {
    let mut out = Vec::new();
    match content {
        ContentBlock::Text(text) => {
            out.push(Delta::TextStart { block });
            out.extend(split_pieces(&text.text).map(|text| Delta::Text { block, text }));
            out.push(Delta::TextEnd { block, signature: None });
        }
        ContentBlock::ToolCall(call) => {
            let json = serde_json::Value::from(call.arguments.clone()).to_string();
            out.push(Delta::ToolCallStart { block, id: call.id.clone(), name: call.name.clone() });
            out.extend(split_pieces(&json).map(|json| Delta::ToolCallArguments { block, json }));
            out.push(Delta::ToolCallEnd { block, signature: None });
        }
        ContentBlock::Thinking(_) | ContentBlock::Image(_) | ContentBlock::Unknown(_) => {}
    }
    out
}

/// Splits text into pieces of a few words, in any script.
fn split_pieces(text: &str) -> impl Iterator<Item = String> {
    let words: Vec<&str> = text.split_word_bounds().collect();
    words.chunks(WORDS_PER_PIECE).map(<[&str]>::concat).collect::<Vec<_>>().into_iter()
}

/// Shortens the text to the limit in tokens. Returns the new size if it was too long.
fn shorten_to_limit(blocks: &mut [ContentBlock], limit: u64) -> Option<u64> {
    let size: u64 = blocks.iter().map(estimate_block_tokens).sum();
    if size <= limit {
        return None;
    }
    for block in blocks.iter_mut() {
        if let ContentBlock::Text(text) = block {
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
fn estimate_tokens(request: &Request) -> u64 {
    let messages = request.messages.iter().map(|message| match message {
        Message::System(_) => 0,
        Message::User(user) => user.content.iter().map(estimate_block_tokens).sum(),
        Message::Assistant(assistant) => assistant.content.iter().map(estimate_block_tokens).sum(),
        Message::ToolResult(result) => result.content.iter().map(estimate_block_tokens).sum(),
    });
    let tools: usize =
        request.tools.iter().map(|tool| tool.description.len() + tool.parameters.to_string().len()).sum();
    messages.sum::<u64>() + (request.system.len() + tools).div_ceil(4) as u64
}

fn estimate_block_tokens(block: &ContentBlock) -> u64 {
    let bytes = match block {
        ContentBlock::Text(text) => text.text.len(),
        ContentBlock::Thinking(thinking) => thinking.thinking.len(),
        ContentBlock::Image(_) => 4_800,
        ContentBlock::ToolCall(call) => {
            call.name.len() + serde_json::Value::from(call.arguments.clone()).to_string().len()
        }
        ContentBlock::Unknown(_) => 0,
    };
    bytes.div_ceil(4) as u64
}
