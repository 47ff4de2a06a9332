//! Development tasks of the workspace, run as `cargo xtask TASK`. Each task is one module; nothing here
//! ships.

mod args;
mod bench;
mod browser;
mod checks;
mod conformance;
mod extension_types;
mod json;
mod licenses;
mod live;
mod mysql;
mod osier;
mod peer;
mod pty;
mod rng;
mod screens;
mod terminal;
mod test_run;
mod tidy;
mod web_types;
mod workspace;

use std::process::ExitCode;

use crate::args::{Args, UsageError};

const USAGE: &str = "\
usage: cargo xtask TASK [OPTIONS]

  test [--quick]     run format check, tidy, types of the browser code, clippy and all tests; stop at the first failure
                     --quick: no clippy, unit tests only
                     --no-browser: without the tests that need Chromium, which is installed otherwise
  tidy               check the workspace rules that the compiler does not check
  conformance        compare osier with the real pi, in both directions (needs npm)
                     --sessions N   number of random sessions that pi writes (300)
                     --seed S       seed of the random sessions (1)
                     --keep DIR     work in DIR and keep the files
                     --osier BIN    use this binary instead of building one
                     --only PART    run one part: reading, writing, forking, preparing or racing
                     --rpc          instead, let pi's client drive both in RPC mode, and compare answers and events
                     --extensions   instead, run pi's example extensions in both, over RPC and in a terminal
                     --only NAMES   only these examples, separated by commas
                     --kills        instead, kill processes with sub-agents and tries at random moments, and check what is left
                     --rounds N     number of kills for each test (200)
                     --cluster      instead, run the MySQL store on a Galera cluster of three local servers, with faults
                     --seconds N    duration of the faults (60)
  bench              measure CPU and memory of osier on generated sessions
                     --peer         also measure pi on the same files (needs npm)
                     --quick        a tenth of the size, fewer rounds
                     --screen       only the terminal interface
                     --sandbox      only commands in the sandbox
                     --scale        only 10,000 sessions and a session of a million entries
                     --page         only the live page, in Chromium
                     --build        only a release build from cold, and the size of the binary
                     --engine       only many live sessions in one process
                     --agents       only sub-agents: their start, memory and end
                     --gateway      instead, measure attaching, many WebSocket clients, snapshots and RPC over pipes
                     --mysql        measure the MySQL store instead, compared with the bare driver
                     --extensions   only extensions: start, events, memory
                     --dir DIR      folder for the files (target/bench)
                     --osier BIN    use this binary instead of building one
  screens            update the screens in README and docs from the real program
                     --check        instead, run the steps of every screen without drawing it
                     --png          instead, draw every screen to target/screens, and the pictures of the README
                     --only NAME    draw one screen
                     --web          instead, take pictures of the live page and of an export; those of the docs are replaced
                     --osier BIN    use this binary instead of building one
  live               run the agent against llama.cpp with a small real model (needs Python)
                     --osier BIN    use this binary instead of building one
  licenses           check licenses, duplicates and sources of all dependencies (needs cargo-deny)

The real pi is installed into OSIER_PEER_DIR if set, or else into target/peer.
";

fn main() -> ExitCode {
    let mut given = std::env::args().skip(1);
    let task = given.next().unwrap_or_default();
    let args = Args::new(given);
    let result = match task.as_str() {
        "test" => checks::run(args),
        "tidy" => tidy::run(args),
        "conformance" => conformance::run(args),
        "bench" => bench::run(args),
        "licenses" | "licences" => licenses::run(args),
        "live" => live::run(args),
        "screens" => screens::run(args),
        // For `peer/extensions.mjs`; not listed.
        "terminal" => terminal::run(&args.rest()),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        "" => Err(UsageError("no task given".to_owned()).into()),
        other => Err(UsageError(format!("unknown task {other}")).into()),
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
