//! Calls language models. The trait [`Model`] takes a request and returns a stream of typed deltas. It is implemented by
//! four wire protocols, an offline model that needs no network, and a scripted model for tests. [`Registry`] lists the
//! available models.
//!
//! This crate does not read the environment or the home folder; the caller passes in an `Environment`. It does not
//! decide what to ask or how to act on a reply.

mod api;
mod arguments;
mod block;
mod compat;
mod discover;
mod draft;
mod failure;
mod fit;
mod key;
mod message;
mod models;
mod net;
pub mod offline;
mod port;
mod provider;
mod registry;
mod remote;
mod request;
mod retry;
pub mod scripted;
mod sse;
mod surroundings;
mod thinking;
mod told;
mod tool_id;
mod usage;

pub use block::{Block, Image, Text, Thinking, ToolCall};
pub use compat::{Compat, CompatSpec, MaxTokensField, Reasoning};
pub use draft::Draft;
pub use failure::Failure;
pub use key::{Found, KeySource};
pub use message::{
    AssistantMessage, Message, StopReason, SystemMessage, ToolResultMessage, Unreadable, UserMessage,
};
pub use models::Models;
pub use port::{Delta, Deltas, Model};
pub use provider::{Patience, Provider};
pub use registry::{LookupError, ModelSpec, OneOrMany, ProviderSpec, Registry, ThinkingSpec};
pub use request::{Api, Cache, ModelInfo, Request, ToolSpec};
pub use retry::Retry;
pub use surroundings::Surroundings;
pub use thinking::{Ability as ThinkingAbility, Style as ThinkingStyle, ThinkingLevel};
pub use tokio_util::sync::CancellationToken;
pub use usage::{Cost, Price, Tier, Usage};

/// The body of a request, byte for byte as it is sent. `None` for models without a wire protocol.
pub fn body_text(request: &Request) -> Option<String> {
    Some(api::call(request)?.body.into_text())
}

/// The body of a request as a JSON value. `None` for models without a wire protocol.
pub fn body_of(request: &Request) -> Option<serde_json::Value> {
    serde_json::from_str(&body_text(request)?).ok()
}
