//! OpenAI's Chat Completions API, and the many servers that speak something like it.

mod body;
mod messages;
mod stream;

pub(crate) use body::call;
pub(crate) use stream::reader;

/// Where servers put thoughts. The first that holds something counts; some fill two alike.
const THOUGHTS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];
