//! The port through which everything else sees models: a request goes in, typed deltas come out, and the last one is
//! either a whole message or a failure with what was said until then.

use std::fmt::Debug;
use std::pin::Pin;
use std::time::Duration;

use futures_core::Stream;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::message::AssistantMessage;
use crate::request::Request;
use crate::usage::Usage;

/// Deltas as they come. Dropping it hangs up.
pub type Deltas = Pin<Box<dyn Stream<Item = Delta> + Send>>;

/// Answers requests.
///
/// Every stream ends with exactly one [`Delta::Done`] or [`Delta::Failed`] and yields nothing after it. Cancelling makes
/// it end soon with [`Failure::Cancelled`], whatever it was waiting for.
pub trait Model: Send + Sync + Debug {
    fn stream(&self, request: Request, cancel: CancellationToken) -> Deltas;
}

/// One step of a reply. `block` is the place in the content of the message to be. Folding the deltas of a reply in
/// order ([`crate::Draft`]) gives its message; there is nothing in the message that no delta told.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// A try failed; another follows after `delay`. Everything that was said before this is withdrawn.
    Retrying {
        attempt: u32,
        delay: Duration,
        why: Failure,
    },
    /// The model begins to answer. Comes once per try, before any block.
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
    /// A piece of the arguments' JSON. Pieces of several calls may be mixed.
    ToolCallArguments {
        block: usize,
        json: String,
    },
    /// The arguments are complete. Run nothing yet: only [`Delta::Done`] says that the reply ended well, and a call may be
    /// marked with [`crate::ToolCall::invalid_arguments`] there.
    ToolCallEnd {
        block: usize,
        signature: Option<String>,
    },
    /// What the reply took so far; each replaces the one before.
    Usage(Usage),
    Done(Box<AssistantMessage>),
    Failed(Failure, Box<AssistantMessage>),
}

impl Delta {
    /// Whether this is the last one.
    pub fn is_end(&self) -> bool {
        matches!(self, Delta::Done(_) | Delta::Failed(..))
    }

    /// Whether this is a part of the reply itself.
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
