//! The terminal interface of a session: a streaming conversation with the tree one key away.
//!
//! One loop ([`run`]) receives keys, events and task results as [`msg::Msg`]. The pure function [`update::update`] changes the
//! state and returns the actions to run; the pure function [`view::view`] draws the live part of the screen. The interface is
//! an ordinary client and keeps no copy of the conversation: finished content belongs to the terminal, and everything else is
//! read on demand.

mod app;
mod clock;
mod commands;
pub mod completion;
pub mod editor;
mod error;
mod host;
mod input;
pub mod key;
mod markdown;
pub mod msg;
mod overlay;
mod pages;
pub mod piece;
mod screen;
pub mod state;
mod status;
mod streamed_reply;
mod terminal;
#[cfg(test)]
mod testing;
pub mod text;
pub mod theme;
mod transcript;
pub mod update;
pub mod view;

pub use app::run;
pub use clock::LocalClock;
pub use error::{TuiError, error_chain, join_causes};
pub use host::{Host, OpenedSession, SettingChange, SettingRow, UiSetup};
pub use overlay::key_problem;
pub use screen::Frame;
pub use terminal::TerminalGuard;
