//! The `osier` command: composes the crates, decides nothing.

mod agree;
#[expect(clippy::enum_variant_names, reason = "hidden commands say what they are for in their names")]
mod bench;
mod cli;
mod config;
mod demo;
mod doctor;
mod errand;
mod failure;
mod foreign;
mod home;
mod layout;
mod models;
mod out;
mod progress;
mod reading;
mod run;
mod sessions;
mod settings;
mod stores;
mod target;
mod themes;
mod trust;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(cli::read()).unwrap_or_else(|error| failure::report(&error))
}
