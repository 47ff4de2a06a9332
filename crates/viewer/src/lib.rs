//! Sessions as HTML. The live page and the export show the same markup, made here.
//!
//! Content is untrusted: a model, a tool or a web page may have written it. It is safe by construction. Text is escaped
//! wherever it is written, HTML in messages is shown as text, addresses of links and types of images come from short lists,
//! and characters that people do not see are drawn as codes. No function here passes markup through.
//!
//! | file | contents |
//! |---|---|
//! | `entry.rs` | [`render_entry`]: the body of one entry; it depends on nothing but the entry |
//! | `message.rs`, `tool_call.rs`, `tool_result.rs`, `tool_list.rs`, `subagents.rs` | the parts of an entry |
//! | `markdown.rs`, `link.rs` | Markdown, and the addresses that a link may have |
//! | `diff.rs`, `output.rs` | diffs; code, and long plain text |
//! | `text.rs`, `image.rs` | escaped text with visible codes; images of known types |
//! | `assets.rs`, `page.rs` | the files in `web/`, their hashes, and the markup around the content |
//! | `export.rs`, `json.rs` | one HTML file with a whole session, written piece by piece |

pub mod assets;
mod diff;
pub mod entry;
pub mod export;
mod image;
mod json;
mod link;
mod markdown;
mod message;
mod output;
mod page;
mod subagents;
mod text;
mod tool_call;
mod tool_list;
mod tool_result;

pub use entry::{EntryBody, render_entry};
pub use export::{ExportedLog, HtmlExport, SessionSummary};

/// Markdown as HTML.
pub fn render_markdown(text: &str) -> String {
    markdown::markdown(text).into_string()
}

/// A diff in the unified format as HTML.
pub fn render_diff(diff: &str) -> String {
    diff::diff_block(diff).into_string()
}
