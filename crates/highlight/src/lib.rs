//! Syntax highlighting for the terminal and for HTML: code in, classes of tokens out. It never changes the text.
//!
//! The grammars are those of the crate `two-face`. They are loaded on first use, and the patterns of a language are compiled when
//! a text first needs them; that takes up to a tenth of a second. So do not call this while you draw a frame.
//!
//! Code comes from models and tools, so the work is bounded: see [`Highlighter`].
//!
//! | file | contents |
//! |---|---|
//! | `language.rs` | [`Language`]: the names of languages, and the languages of files |
//! | `highlighter.rs` | [`Highlighter`]: lines to tokens, within limits |
//! | `class.rs` | [`TokenClass`]: what a token is, from the scopes of a grammar |
//! | `budget.rs` | the limit of processor time, for hostile code |

mod budget;
mod class;
mod highlighter;
mod language;

pub use class::TokenClass;
pub use highlighter::{Highlighter, MAX_CODE_BYTES, MAX_LINE_BYTES};
pub use language::Language;
