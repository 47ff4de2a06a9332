//! The agent: decides the next step on a path, runs turns, and provides the [`Client`] trait that every view
//! of a session uses.
//!
//! The loop keeps no state of its own. Everything that happened is an entry. [`next_step`] looks at the end
//! of the path and decides what to do, so a turn that died with its process can be resumed.

mod asking;
pub mod attachments;
mod backtrack;
mod bash;
pub mod briefing;
mod calling;
mod choice;
mod client;
mod compaction;
mod confining;
mod errands;
mod error;
mod events;
mod frontmatter;
pub mod gates;
mod grafting;
pub mod instructions;
mod live;
mod navigate;
pub mod next_step;
mod parts;
pub mod prompts;
mod queue;
mod request;
mod returned;
mod saying;
mod shown;
mod side;
pub mod skills;
mod summarizing;
pub mod system;
pub mod tail;
pub mod templates;
mod textfile;
mod tools;
mod turn;
mod worker;
mod workplace;

pub use asking::{Answer, Question, ToolQuestion};
pub use briefing::{Briefing, Facts};
pub use choice::Choice;
pub use client::{Attached, Client, Command, Reply, When};
pub use compaction::{Compacted, Compacting, Reason};
pub use error::Error;
pub use events::{Event, Events};
pub use gates::Gates;
pub use live::Live;
pub use navigate::{Navigated, Navigation};
pub use next_step::{Finished, Step, Waiting, next_step};
pub use parts::{Lookup, MAX_STEPS, Parts};
pub use prompts::Prompts;
pub use queue::Queue;
pub use request::PreparedRequest;
pub use saying::Said;
pub use side::SideState;
pub use summarizing::NoSummary;
pub use tail::{Call, Tail};
pub use textfile::Problem;
pub use worker::Worker;
