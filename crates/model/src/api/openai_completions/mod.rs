//! OpenAI's Chat Completions API and the many servers that imitate it.

mod body;
mod stream;

pub(crate) use body::build_request;
pub(crate) use stream::event_reader;

/// The fields in which servers send thinking. The first non-empty field is used; some servers fill two with the same text.
const THINKING_FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];
