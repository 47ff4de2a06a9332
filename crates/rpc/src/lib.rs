//! Sessions over a pair of pipes, in the dialect of pi's RPC mode: JSON lines in, JSON lines out. Programs that drive pi can
//! drive Osier. `docs/rpc.md` lists the commands and every difference.
//!
//! | file | contents |
//! |---|---|
//! | `server.rs`, `input.rs`, `progress.rs` | the loop that reads commands; its lines; how far the output is read |
//! | `command.rs`, `response.rs` | the commands; the responses |
//! | `commands.rs`, `commands/` | what each command does |
//! | `session.rs` | an open session, and the task that writes its events |
//! | `translator.rs`, `translator/` | events of Osier in, events of pi out |
//! | `pi_event.rs`, `reply_stream.rs`, `stored_entry.rs`, `tool_runs.rs` | pi's events, and what they repeat |
//! | `dialogs.rs`, `message_queue.rs` | questions as dialogs; waiting prompts |

mod command;
mod commands;
mod dialogs;
mod input;
mod message_queue;
mod pi_event;
mod progress;
mod reply_stream;
mod response;
mod server;
mod session;
mod stored_entry;
mod tool_runs;
mod translator;

pub use command::check_command;
pub use server::{HtmlExporter, MAX_LINE, RpcConfig, serve};
