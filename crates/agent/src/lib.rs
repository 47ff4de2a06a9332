//! The agent: what comes next on a path, and the prompt it works under.
//!
//! The loop keeps no state of its own. Everything that happened is an entry; [`next_step`] looks at the end of the path and
//! says what to do, so a turn that died with its process goes on where it stopped.

mod asking;
mod calling;
pub mod instructions;
pub mod next_step;
pub mod system;
pub mod tail;
mod tools;
mod turn;

pub use asking::{Answer, Asker, Question, Refuser};
pub use next_step::{Finished, Step, Waiting, next_step};
pub use tail::{Call, Tail};
pub use turn::{Agent, Error, Live, Settings};
