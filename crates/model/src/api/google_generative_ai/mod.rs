//! Google's Gemini API (`streamGenerateContent`).

mod body;
mod stream;

pub(crate) use body::build_request;
pub(crate) use stream::event_reader;
