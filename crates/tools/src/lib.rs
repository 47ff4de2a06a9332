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
mod context;
mod diff;
mod file_text;
mod files_read;
mod fingerprint;
mod folder;
mod guarded;
mod image_content;
mod matching;
mod outcome;
mod paths;
mod progress;
mod protected_paths;
mod redact;
mod regular;
mod result_details;
mod save;
mod saved_outputs;
mod shell;
mod size;
mod tool;
mod toolbox;
mod visible;
mod window;

pub use approvals::{Allowance, ApprovalMode, Approvals, Decision, denied_outcome};
pub use builtin::todo::{Todo, TodoStatus, todos_from_details};
pub use builtin::walk::unignored_files;
pub use context::{CommandEnv, Confinement, ToolContext, ToolLimits};
pub use files_read::{FileStamp, FilesRead};
pub use fingerprint::ChangeFingerprint;
pub use outcome::{ResultBlock, ToolOutcome};
pub use paths::{TouchedPath, TouchedPaths};
pub use progress::{LiveOutput, Progress};
pub use protected_paths::ProtectedPaths;
pub use redact::{Redactor, Secrets};
pub use regular::{open_regular, read_regular, read_regular_if, read_regular_text};
pub use result_details::ResultDetails;
pub use sandbox::Sandbox;
pub use saved_outputs::remove_outputs;
pub use shell::parent_watchdog::ParentWatchdog;
pub use tool::{Preview, ProposedChange, Tool, ToolCall, ToolKind, ToolSpec, Toolbox};
pub use toolbox::ToolSet;
pub use visible::{is_hidden, visible, visible_line};
