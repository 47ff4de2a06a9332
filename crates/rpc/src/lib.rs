//! Sessions over a pair of pipes, in the dialect of pi's RPC mode: JSON lines in, JSON lines out. Programs that drive pi can
//! drive Osier. `docs/rpc.md` lists the commands and every difference.
//!
//! | file | contents |
//! |---|---|
//! | `line_reader.rs`, `output.rs` | lines in, with a limit; lines out, with a bound on what is unread |
//! | `server.rs`, `command.rs`, `response.rs` | the loop that reads commands; the commands; the responses |
//! | `commands.rs`, `commands/` | what each command does |
//! | `session.rs` | an open session, and the task that writes its events |
//! | `translator.rs`, `translator/` | events of Osier in, events of pi out |
//! | `pi_event.rs`, `reply_stream.rs`, `stored_entry.rs`, `tool_runs.rs` | pi's events, and what they repeat |
//! | `dialogs.rs`, `message_queue.rs`, `tree_json.rs` | questions as dialogs; waiting prompts; the tree as nested JSON |

mod command;
mod commands;
mod dialogs;
pub mod line_reader;
mod message_queue;
mod output;
mod pi_event;
mod reply_stream;
mod response;
mod server;
mod session;
mod stored_entry;
mod tool_runs;
mod translator;
mod tree_json;

pub use server::{RpcConfig, serve};
