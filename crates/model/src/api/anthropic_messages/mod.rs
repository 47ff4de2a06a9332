//! Anthropic's Messages API and compatible servers.

mod body;
mod stream;

pub(crate) use body::build_request;
pub(crate) use stream::event_reader;
