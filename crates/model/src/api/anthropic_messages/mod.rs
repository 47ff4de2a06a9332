//! Anthropic's Messages API and compatible servers.

mod body;
mod stream;

pub(crate) use body::call;
pub(crate) use stream::reader;
