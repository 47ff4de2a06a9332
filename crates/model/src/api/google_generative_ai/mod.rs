//! Google's Gemini API (`streamGenerateContent`).

mod body;
mod stream;

pub(crate) use body::call;
pub(crate) use stream::reader;
