//! Sessions for tests: a script in, a drawing out.
//!
//! Ids count up from `00000001`, the clock begins at 2026-01-01T00:00:00.000Z and goes on by a second an entry, so that
//! every run gives the same bytes. For what no script would think of there are random logs. A wrong script panics.

mod draw;
mod message;
mod random;
mod script;
mod step;

pub use draw::{check, context_text, draw, draw_with, outline, previews};
pub use expect_test::{Expect, expect};
pub use random::{RandomLog, random_logs};
pub use script::{Script, fold};
