//! The terminal interface of a session: a streaming conversation with the tree one key away.
//!
//! One loop ([`run`]) receives keys, events and task results as [`msg::Msg`]. The pure function [`update::update`] changes the
//! state and returns the actions to run; the pure function [`view::view`] draws the live part of the screen. The interface is
//! an ordinary client and keeps no copy of the conversation: finished content belongs to the terminal, and everything else is
//! read on demand.
//!
//! | file | contents |
//! |---|---|
//! | `app.rs`, `app/` | the event loop: keys, events and results in, frames out. It decides nothing |
//! | `state.rs`, `msg.rs` | the state of the interface, without the conversation; its messages and actions |
//! | `update.rs`, `update/`, `view.rs` | pure: a message changes the state and returns actions; the state as lines |
//! | `update/question_keys.rs` | which keys answer a question, and which go to the draft below it |
//! | `overlay.rs`, `overlay/` | what covers the editor, one component each: tree, sessions, fork, approval, choices, pages |
//! | `commands.rs`, `commands/` | one file per `/command`, with its help |
//! | `transcript.rs`, `transcript/`, `streamed_reply.rs`, `piece.rs` | entries as pieces, live and on replay by the same function; a reply while it streams; a piece can be drawn at any width |
//! | `editor.rs`, `editor/`, `completion.rs` | lines, cursor, undo, history, pastes; completion |
//! | `markdown.rs`, `diff.rs`, `text.rs`, `theme.rs` with their folders | Markdown in chunks that are final, diffs, styled text and its width, colors |
//! | `code.rs`, `code/` | the colors of code, highlighted in another thread |
//! | `screen.rs`, `screen/`, `terminal.rs`, `key.rs` | scrollback, history and live rows (see its module docs); terminal modes; keys |
//! | `host.rs` | what the surrounding program provides: other sessions, settings |

mod app;
mod clock;
mod code;
mod commands;
pub mod completion;
mod diff;
pub mod editor;
mod error;
mod extension_editor;
mod extension_ui;
mod floats;
mod hints;
mod host;
mod input;
pub mod key;
mod markdown;
pub mod msg;
mod overlay;
mod pages;
mod panel;
pub mod piece;
mod rendered;
mod screen;
pub mod state;
mod status;
mod streamed_reply;
mod terminal;
#[cfg(test)]
mod testing;
pub mod text;
pub mod theme;
mod tour;
mod transcript;
mod untyped_text;
pub mod update;
pub mod view;
mod window;

pub use app::run;
pub use clock::LocalClock;
pub use commands::{command_names, command_problem};
pub use error::{TuiError, error_chain, join_causes};
pub use host::{
    ConnectionStatus, Host, OpenedSession, SessionListing, SessionSearchResult, SettingChange, UiSetup,
};
pub use overlay::key_problem;
pub use screen::Frame;
pub use terminal::TerminalGuard;
