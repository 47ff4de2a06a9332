//! OpenAI's Chat Completions API and the many servers that imitate it.

mod body;
mod messages;
mod stream;

pub(crate) use body::call;
pub(crate) use stream::reader;

/// The fields in which servers send thinking. The first non-empty field is used; some servers fill two with the same text.
const THOUGHTS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];
