//! Chores of the workspace, run as `cargo xtask CHORE`. Each chore is one module; nothing here is shipped.

mod args;
mod bench;
mod checks;
mod conformance;
mod json;
mod licences;
mod live;
mod mysql;
mod osier;
mod peer;
mod place;
mod pty;
mod rng;
mod screens;
mod tidy;

use std::process::ExitCode;

use crate::args::{Args, UsageError};

const USAGE: &str = "\
usage: cargo xtask CHORE [OPTIONS]

  test [--quick]     format, tidy, clippy and all tests; stops at the first failure
                     --quick: without clippy, unit tests only
  tidy               the rules of the workspace that no compiler knows
  conformance        compares osier with the real pi, both ways (needs npm)
                     --sessions N   random sessions pi writes (300)
                     --seed S       another set of random sessions (1)
                     --keep DIR     work in DIR and leave the files there
                     --osier BIN    use this binary instead of building one
                     --only PART    reading, writing, forking, preparing or racing
  bench              measures CPU and memory of osier on generated sessions
                     --peer         pi on the same files, with ratios (needs npm)
                     --quick        a tenth of the size, fewer rounds
                     --screen       only the terminal interface
                     --sandbox      only commands in the sandbox
                     --mysql        the store in a database instead, beside the bare driver
                     --dir DIR      where the files go (target/bench)
                     --osier BIN    use this binary instead of building one
  screens            draws the screens in README and docs anew, from the real program
                     --osier BIN    use this binary instead of building one
  live               the agent against llama.cpp with a small real model (needs Python)
                     --osier BIN    use this binary instead of building one
  licences           licences, duplicate crates and sources of all dependencies (needs cargo-deny)

The real pi is installed into target/peer, or into OSIER_PEER_DIR when that is set.
";

fn main() -> ExitCode {
    let mut given = std::env::args().skip(1);
    let chore = given.next().unwrap_or_default();
    let args = Args::new(given);
    let result = match chore.as_str() {
        "test" => checks::run(args),
        "tidy" => tidy::run(args),
        "conformance" => conformance::run(args),
        "bench" => bench::run(args),
        "licences" => licences::run(args),
        "live" => live::run(args),
        "screens" => screens::run(args),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        "" => Err(UsageError("which chore?".to_owned()).into()),
        other => Err(UsageError(format!("no chore called {other}")).into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<UsageError>() => {
            eprintln!("xtask: {error}\n\n{USAGE}");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
