//! OpenAI's Chat Completions API, and the many servers that speak something like it.

mod body;
mod stream;

pub(crate) use body::call;
pub(crate) use stream::reader;
