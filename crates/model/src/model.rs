//! The interface of a model: it takes a request and returns a stream of typed deltas. The last delta is either a complete
//! message, or an error with the partial message.

use std::fmt::Debug;
use std::pin::Pin;
use std::time::Duration;

use futures_core::Stream;
use tokio_util::sync::CancellationToken;

use crate::error::ModelError;
use crate::message::AssistantMessage;
use crate::request::Request;
use crate::usage::TokenUsage;

/// The stream of a reply. Dropping it closes the connection.
pub type DeltaStream = Pin<Box<dyn Stream<Item = Delta> + Send>>;

/// A language model.
///
/// Every stream ends with exactly one [`Delta::Done`] or [`Delta::Failed`] and yields nothing after it. After cancellation
/// it ends promptly with `ModelError::Cancelled`, in any state.
pub trait Model: Send + Sync + Debug {
    fn stream(&self, request: Request, cancel: CancellationToken) -> DeltaStream;
}

/// One event of a reply. `block` is the index in the content of the message. `ReplyDraft` folds the deltas into the
/// message; the message contains nothing that is not in a delta.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// An attempt failed; another follows after `delay`. Discard everything received before this.
    Retrying {
        attempt: u32,
        /// How many attempts there may be.
        max_attempts: u32,
        delay: Duration,
        error: ModelError,
        /// The usage of the failed attempt, as far as the server reported it.
        usage: TokenUsage,
    },
    /// The reply starts. Sent once per attempt, before any block.
    Start {
        response_id: Option<String>,
        response_model: Option<String>,
    },
    TextStart {
        block: usize,
    },
    Text {
        block: usize,
        text: String,
    },
    TextEnd {
        block: usize,
        signature: Option<String>,
    },
    ThinkingStart {
        block: usize,
    },
    Thinking {
        block: usize,
        text: String,
    },
    ThinkingEnd {
        block: usize,
        signature: Option<String>,
        redacted: bool,
    },
    ToolCallStart {
        block: usize,
        id: String,
        name: String,
    },
    /// A piece of the JSON arguments. Pieces of several calls may be interleaved.
    ToolCallArguments {
        block: usize,
        json: String,
    },
    /// The arguments are complete. Do not run the call yet: wait for [`Delta::Done`], and check
    /// [`crate::ToolCall::invalid_arguments`] there.
    ToolCallEnd {
        block: usize,
        signature: Option<String>,
    },
    /// The usage so far; replaces the previous value.
    Usage(TokenUsage),
    Done(Box<AssistantMessage>),
    Failed(ModelError, Box<AssistantMessage>),
}

impl Delta {
    /// Whether this is the last delta.
    pub fn is_end(&self) -> bool {
        matches!(self, Delta::Done(_) | Delta::Failed(..))
    }

    /// Whether this is part of the content.
    pub(crate) fn is_content(&self) -> bool {
        !matches!(
            self,
            Delta::Retrying { .. }
                | Delta::Start { .. }
                | Delta::Usage(_)
                | Delta::Done(_)
                | Delta::Failed(..)
        )
    }
}
