//! The `osier` command: composes the crates, decides nothing.

mod bench;
mod cli;
mod demo;
mod failure;
mod home;
mod out;
mod reading;
mod sessions;
mod target;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let done = home::Home::find().and_then(|home| cli::run(cli, home));
    match done {
        Ok(code) => code,
        Err(error) => failure::report(&error),
    }
}
