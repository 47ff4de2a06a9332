//! The `osier` command: composes the crates, decides nothing.

#[expect(clippy::enum_variant_names, reason = "hidden commands say what they are for in their names")]
mod bench;
mod cli;
mod demo;
mod failure;
mod home;
mod layout;
mod out;
mod progress;
mod reading;
mod sessions;
mod settings;
mod target;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    cli::run(cli::Cli::parse()).unwrap_or_else(|error| failure::report(&error))
}
