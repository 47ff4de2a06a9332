//! The `osier` command: composes the crates and contains no logic of its own.

#[expect(clippy::enum_variant_names, reason = "the names of hidden commands state their purpose")]
mod bench;
mod cli;
mod config;
mod confirm;
mod demo;
mod doctor;
mod failure;
mod hints;
mod home;
mod layout;
mod logging;
mod models;
mod one_shot;
mod out;
mod previews;
mod progress;
mod run;
mod sandbox;
mod sessions;
mod settings;
mod stores;
mod target;
mod themes;
mod trust;
mod workspace;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Every sandboxed tool command starts here, so this path must do nothing else first.
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|first| first == osier_tools::sandbox::COMMAND) {
        return osier_tools::sandbox::enter(std::env::args_os().skip(2));
    }
    cli::run(cli::parse()).unwrap_or_else(|error| failure::report(&error))
}
