//! The built-in tools of the model: read, write, edit, bash, grep, find, ls and todo.
//!
//! A tool never returns an error to the program: every failure is an outcome whose text tells the model what to do next.
//! [`approvals`] decides whether a call may run, from the preview of what the call would change; tools never ask. This crate
//! has no state per conversation: the details of results record what was read or planned, and callers replay them from the
//! path.

pub mod approvals;
pub mod sandbox;
pub mod user_bash;

mod arguments;
mod blocking;
mod builtin;
mod closed;
mod context;
mod diff;
mod filetext;
mod folder;
mod guarded;
mod kept;
mod matching;
mod outcome;
mod paths;
mod picture;
mod port;
mod progress;
mod regular;
mod save;
mod seal;
mod seen;
mod shell;
mod size;
mod toolbox;
mod veil;
mod visible;
mod window;

pub use approvals::{Allowance, Approvals, Decision, Mode, denied};
pub use builtin::todo::{Status, Todo, todos_of};
pub use builtin::walk::files;
pub use closed::Closed;
pub use context::{Env, Limits, ToolContext};
pub use kept::remove_outputs;
pub use outcome::{Content, ToolOutcome};
pub use paths::{Touched, Touches};
pub use port::{Change, Kind, Preview, Tool, ToolCall, ToolSpec, Toolbox};
pub use progress::{Live, Progress};
pub use regular::{open_regular, read_regular, read_regular_text};
pub use sandbox::Sandbox;
pub use seal::Seal;
pub use seen::{FilesRead, Stamp};
pub use toolbox::Tools;
pub use veil::{Keys, Redactor};
pub use visible::{is_hidden, visible, visible_line};
