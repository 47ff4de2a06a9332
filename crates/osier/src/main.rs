//! The `osier` command: composes the crates and contains no logic of its own.
//!
//! | file | contents |
//! |---|---|
//! | `cli.rs`, `main.rs` | the command line, and what runs each command |
//! | `run/` | running the agent: options, the choice of a session, print and JSON modes; the program around the terminal interface |
//! | `trust/`, `config/`, `models.rs`, `agents.rs`, `doctor/` | the commands for trust, settings, models, agents and diagnosis |
//! | `extensions.rs`, `extensions/` | the extensions of a run; the command for extensions and packages |
//! | `serve.rs`, `serve/` | the gateway, and tokens for it |
//! | `sessions/` | one file per command; `message_text.rs` is shared by some of them |
//! | `one_shot.rs`, `confirm.rs`, `closing.rs` | the client of a session for one command; asking for confirmation; the end of a run |
//! | `home.rs`, `stores.rs` | environment variables and the terminal: nothing else reads them; stores that do not answer |
//! | `target.rs`, `hints.rs` | the session that a command names; hints for errors |
//! | `output_writer.rs`, `layout.rs`, `progress.rs`, `failure.rs` | output; columns; progress; text and exit code of a failure |
//! | `demo.rs`, `bench.rs` | the example session; hidden commands that `cargo xtask bench` measures |

mod agents;
#[expect(clippy::enum_variant_names, reason = "the names of hidden commands state their purpose")]
mod bench;
mod cli;
mod closing;
mod config;
mod confirm;
mod demo;
mod doctor;
mod explore;
mod extensions;
mod failure;
mod hints;
mod home;
mod layout;
mod models;
mod one_shot;
mod output_writer;
mod progress;
mod run;
mod running_gateway;
mod search;
mod serve;
mod sessions;
mod stores;
mod target;
mod trust;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Every sandboxed tool command starts here, so this path must do nothing else first.
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|first| first == osier_tools::sandbox::COMMAND) {
        return osier_tools::sandbox::enter(std::env::args_os().skip(2));
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == osier_extensions::child::COMMAND) {
        return osier_extensions::child::run();
    }
    cli::run(cli::parse()).unwrap_or_else(|error| failure::report(&error))
}
