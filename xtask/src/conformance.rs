//! Compares the osier binary with the real pi, in both directions. Reports every difference and keeps the
//! files that show it; known differences are not filtered out here.

mod extensions;
mod forking;
mod log;
mod preparing;
mod racing;
mod reading;
mod rpc;
mod view;
mod writing;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::args::{Args, UsageError};
use crate::osier::Osier;
use crate::peer::Peer;
use crate::{json, workspace};

/// Further differences are counted but not printed.
const MAX_PRINTED: usize = 12;

type ConformancePart = fn(&ConformanceContext, &mut ConformanceReport) -> Result<()>;

const PARTS: [(&str, ConformancePart); 5] = [
    ("reading", reading::run),
    ("writing", writing::run),
    ("forking", forking::run),
    ("preparing", preparing::run),
    ("racing", racing::run),
];

/// The context that all parts of the comparison share.
struct ConformanceContext {
    osier: Osier,
    peer: Peer,
    dir: PathBuf,
    seed: u64,
    sessions: u64,
}

pub(crate) fn run(mut args: Args) -> Result<()> {
    if args.flag("--kills") {
        let rounds = args.number("--rounds", 200)?;
        args.finish()?;
        return kill(rounds);
    }
    if args.flag("--cluster") {
        let (seconds, seed) = (args.number("--seconds", 60)?, args.number("--seed", 1)?);
        args.finish()?;
        return crate::mysql::cluster(seconds, seed);
    }
    // Trees are compared as nested values, whose depth uses stack space.
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(move || compare(args))?;
    thread.join().map_err(|_| anyhow::anyhow!("the comparison panicked"))?
}

/// Kills processes while tasks run, while the project is copied for tries, and while a try is kept.
fn kill(rounds: u64) -> Result<()> {
    let mut cargo = workspace::cargo()?;
    cargo.args(["test", "--package", "osier-engine", "--test", "engine", "kills::"]);
    cargo.env("OSIER_TEST_ROUNDS", rounds.to_string());
    workspace::run(&mut cargo)
}

fn compare(mut args: Args) -> Result<()> {
    let sessions = args.number("--sessions", 300)?;
    let seed = args.number("--seed", 1)?;
    let keep = args.value("--keep")?;
    let given = args.value("--osier")?;
    let only = args.value("--only")?;
    let only_rpc = args.flag("--rpc");
    let only_extensions = args.flag("--extensions");
    args.finish()?;
    if let Some(name) = &only
        && !only_extensions
        && PARTS.iter().all(|(part, _)| part != name)
    {
        return Err(UsageError(format!("conformance has no part called {name}")).into());
    }

    let dir = fresh_dir(keep.as_deref())?;
    let osier = Osier::new(given.as_deref(), dir.join("home"))?;
    println!("== installing pi");
    let context = ConformanceContext { osier, peer: Peer::install()?, dir, seed, sessions };
    println!("seed {seed}, files in {}", context.dir.display());

    if only_extensions {
        return extensions::run(&context, only.as_deref());
    }
    let mut report = ConformanceReport::default();
    match only_rpc {
        true => rpc::run(&context, &mut report)?,
        false => compare_sessions(&context, only.as_deref(), &mut report)?,
    }
    if report.differences > 0 {
        bail!("{} differences; the files are in {}", report.differences, context.dir.display());
    }
    if keep.is_none() {
        std::fs::remove_dir_all(&context.dir)?;
    }
    println!("xtask: osier and pi agree ({} comparisons)", report.comparisons);
    Ok(())
}

fn compare_sessions(
    context: &ConformanceContext,
    only: Option<&str>,
    report: &mut ConformanceReport,
) -> Result<()> {
    println!("== pi writes {} sessions", context.sessions);
    context.peer.write_sessions(&context.dir.join("from-pi"), context.sessions, context.seed)?;
    for (name, part) in PARTS {
        if only.is_none_or(|only| only == name) {
            part(context, report)?;
        }
    }
    Ok(())
}

/// An empty folder with a canonical path, because pi and Osier write paths into files.
fn fresh_dir(keep: Option<&str>) -> Result<PathBuf> {
    let dir = match keep {
        Some(dir) => PathBuf::from(dir),
        None => workspace::target()?.join("conformance"),
    };
    if keep.is_none() && dir.exists() {
        std::fs::remove_dir_all(&dir)?;
    }
    std::fs::create_dir_all(&dir)?;
    if std::fs::read_dir(&dir)?.next().is_some() {
        bail!("{} is not empty; choose another folder", dir.display());
    }
    dir.canonicalize().with_context(|| format!("cannot open folder {}", dir.display()))
}

#[derive(Default)]
struct ConformanceReport {
    comparisons: usize,
    differences: usize,
}

impl ConformanceReport {
    /// Compares the output of pi and Osier for one file.
    fn compare(&mut self, file: &Path, what: &str, pi: &Value, osier: &Value) {
        self.comparisons += 1;
        if let Some(found) = json::difference(pi, osier) {
            let sides = format!("pi    {}\n    osier {}", found.left, found.right);
            self.add_difference(file, &format!("{what}{}", found.path), &sides);
        }
    }

    /// Counts a check that is not a comparison.
    fn check(&mut self, file: &Path, what: &str, result: Result<()>) {
        self.comparisons += 1;
        if let Err(error) = result {
            self.add_difference(file, what, &format!("{error:#}"));
        }
    }

    fn add_difference(&mut self, file: &Path, what: &str, text: &str) {
        self.differences += 1;
        if self.differences <= MAX_PRINTED {
            eprintln!("DIFFERENCE in {}: {what}\n    {text}", file.display());
        } else if self.differences == MAX_PRINTED + 1 {
            eprintln!("further differences are counted but not printed");
        }
    }
}
