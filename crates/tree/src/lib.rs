//! The pure core of Osier: entries, the fold that builds a tree from a log, and the projections that turn the tree into
//! what a model, a person or a program sees.
//!
//! Nothing here does I/O, reads the clock, generates ids or blocks. Callers do all of that.
//!
//! | file | contents |
//! |---|---|
//! | `kind.rs`, `entry.rs` | kinds and roles; parsing a line into what the fold needs |
//! | `entry_line.rs`, `json_text.rs`, `json_copier.rs` | a stored line that clients share, with its content read once; a large value that is only passed on; reading them from JSON |
//! | `scan.rs` | the JSON scanner: slices of the line, no values |
//! | `header.rs` | the first line |
//! | `heads.rs`, `heads/` | heads in log order, shared by copies; lookup of ids; late parents, repeated ids and cycles |
//! | `head_record.rs` | a head as bytes, for stores |
//! | `fold.rs` | `SessionTree`: leaf, path, children, checkpoints, hidden branches |
//! | `marks.rs`, `layered.rs` | labels, name, settings, deletions, updates: the last of each counts; a map whose copies share their common part |
//! | `move_history.rs` | undo and redo |
//! | `children.rs` | the children of each entry, built on first use |
//! | `walk.rs` | which entries make up a context, from heads alone, from the leaf to the root |
//! | `plan.rs`, `draft.rs` | `plan_*`: checks a request and returns the entry to append |
//! | `unentered_tries.rs` | where a session opens whose last entry is in a try that nobody has moved to |
//! | `move_target.rs` | continuing from any entry: the new position, the text for the editor, or why not. Every client uses it |
//! | `line_consumer.rs` | computations that request lines batch by batch, so that their cost depends only on the part they need |
//! | `tokens.rs`, `compaction_cut.rs`, `compaction_cut/` | the length of a context; when it is too long, and where a compaction cuts it |
//! | `abandoned_branch.rs`, `serialize.rs`, `files.rs`, `summary.rs` | what a move leaves behind; a conversation as text; the files it touched; the prompts for summaries |
//! | `backtrack.rs`, `backtrack/` | returns to checkpoints, and what the program adds to the model's note |
//! | `graft.rs` | the conclusion of another branch, with links to its source |
//! | `fork.rs`, `gc.rs`, `migrate.rs` | a path as a new log; a log without deleted branches; versions 1 and 2 |
//! | `projection/` | one file per view: `context`, `request`, `entry_view`, `transcript`, `outline`, `snapshot`, `card`, `usage`, `compare`, `preview`, `settings`, `json` |
//! | `ids.rs`, `error_code.rs` | owned ids, a type for each kind; the codes of all errors |
//! | `reply_delta.rs`, `token_usage.rs` | the pieces of a reply that is being written; the usage of a reply |
//! | `search_query.rs`, `search_query/`, `text_signature.rs` | queries over sessions; lines around a match; which texts cannot contain a word |
//! | `short_ids.rs` | the shortest unique prefixes of a set of ids |
//! | `time.rs` | times as milliseconds and as text |

pub mod abandoned_branch;
pub mod backtrack;
pub mod children;
pub mod compaction_cut;
pub mod draft;
pub mod entry;
pub mod entry_line;
pub mod error_code;
pub mod files;
pub mod fold;
pub mod fork;
pub mod gc;
pub mod graft;
pub mod head_record;
pub mod header;
pub mod heads;
pub mod ids;
mod json_copier;
pub mod json_text;
pub mod kind;
mod layered;
pub mod line_consumer;
pub mod marks;
pub mod migrate;
pub mod move_history;
pub mod move_target;
pub mod plan;
pub mod projection;
pub mod reply_delta;
pub mod scan;
pub mod search_query;
pub mod serialize;
pub mod short_ids;
pub mod summary;
pub mod text_signature;
pub mod time;
pub mod token_usage;
pub mod tokens;
mod unentered_tries;
pub mod walk;

pub use draft::{DraftParent, EntryDraft};
pub use entry::{Entry, EntryKind, EntryReason, InvalidLine, MessageRole, ParsedLine};
pub use entry_line::EntryLine;
pub use error_code::ErrorCode;
pub use fold::{Checkpoint, Place, SessionTree};
pub use header::Header;
pub use heads::{EntryIdRef, Head, Heads, Seq, StoredHeads};
pub use ids::{EntryId, SessionId, StoreName};
pub use json_text::JsonText;
pub use move_target::{MoveRequest, MoveTarget, Selection};
pub use plan::PlanError;
pub use reply_delta::ReplyDelta;
pub use token_usage::TokenUsage;
pub use walk::{ContextPlan, ContextWalk};
