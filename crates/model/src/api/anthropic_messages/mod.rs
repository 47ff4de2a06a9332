//! Anthropic's Messages API, and servers that speak it.

mod body;
mod stream;

pub(crate) use body::call;
pub(crate) use stream::reader;
