//! Test sessions: build a session from a script, and compare a drawing of its tree.
//!
//! Ids count up from `00000001`, and the clock starts at 2026-01-01T00:00:00.000Z and advances by one second per entry, so
//! every run gives the same bytes. Random logs cover cases that scripts do not. An invalid script panics.

#[cfg(feature = "browser")]
pub mod browser;
mod damaged_texts;
mod draw;
mod fuzzing;
#[cfg(feature = "browser")]
pub mod hostile;
mod message;
mod random;
mod script;
mod step;

pub use damaged_texts::DamagedTexts;
pub use draw::{check, context_text, draw, draw_with, outline, previews};
pub use expect_test::{Expect, expect};
pub use random::{RandomLog, random_logs};
pub use script::{ScriptedSession, fold};
