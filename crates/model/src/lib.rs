//! Calls language models. The trait [`Model`] takes a request and returns a stream of typed deltas. It is implemented by
//! four wire protocols, and by a scripted model for tests. The offline model is a crate of its own. [`Registry`] lists the
//! available models.
//!
//! This crate does not read the environment or the home folder; the caller passes in an `Environment`. It does not
//! decide what to ask or how to act on a reply.

mod adapt;
mod api;
mod arguments;
mod block;
mod compat;
mod discover;
mod environment;
mod error;
mod http_clients;
mod key;
mod message;
mod message_reader;
mod model;
mod observer;
mod provider;
mod redact;
mod registry;
mod remote;
mod reply_draft;
mod request;
mod retry;
mod router;
/// For tests of this crate, of higher crates, and for the contracts of clients and hooks in `engine`.
#[cfg(any(test, feature = "scripted"))]
pub mod scripted;
mod sse;
mod thinking;
mod tool_id;
mod usage;

pub use block::{ContentBlock, Image, TextBlock, ThinkingBlock, ToolCall};
pub use compat::{Compat, CompatSpec, MaxTokensField, ReasoningFormat};
pub use environment::Environment;
pub use error::ModelError;
pub use http_clients::plain_http_client;
pub use key::{KeyResult, KeySource};
pub use message::{
    AssistantMessage, Message, MessageError, StopReason, SystemMessage, ToolResultMessage, UserMessage,
    join_text,
};
pub use model::{Delta, DeltaStream, Model};
pub use observer::{RequestHeaders, RequestObserver};
pub use provider::{Provider, ProviderAccess, Timeouts, display_url};
pub use registry::{LookupError, ModelSpec, OneOrMany, ProviderSpec, Registry, ThinkingSpec};
pub use reply_draft::ReplyDraft;
pub use request::{Api, CacheRetention, ModelInfo, Request, ToolSpec};
pub use retry::RetryPolicy;
pub use router::ModelRouter;
pub use thinking::{ThinkingAbility, ThinkingLevel, ThinkingStyle};
pub use tokio_util::sync::CancellationToken;
pub use tool_id::CallIdGenerator;
pub use usage::{Cost, Price, PriceTier, TokenUsage};

/// The body of a request, byte for byte as it is sent. `None` for models without a wire protocol.
pub fn body_text(request: &Request) -> Option<String> {
    Some(api::build_request(request)?.body)
}

/// The body of a request as a JSON value. `None` for models without a wire protocol.
pub fn body_json(request: &Request) -> Option<serde_json::Value> {
    serde_json::from_str(&body_text(request)?).ok()
}
