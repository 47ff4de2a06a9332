//! Measures one osier process per case, cold and warm, and optionally pi on the same files. Prints a table
//! with the targets. A miss is printed but never fails the run, because machines differ.

mod build;
mod cases;
mod content;
mod extensions;
mod gateway;
mod generate;
mod measure;
mod page;
mod sandbox;
mod scale;
mod screen;
mod streaming;
mod table;
mod wire;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::args::Args;
use crate::osier::Osier;
use crate::peer::Peer;
use crate::workspace;

use generate::SessionShape;

/// The context of all cases.
struct Bench {
    osier: Osier,
    peer: Option<Peer>,
    files: BenchFiles,
    dir: PathBuf,
    rounds: usize,
}

/// The generated sessions.
struct BenchFiles {
    /// Turns of eight entries, a branch every 50 entries.
    plain: PathBuf,
    /// With a compaction every 2,000 entries and equally large kept parts, smallest file first.
    compacted: Vec<PathBuf>,
    /// A session of 200 entries; copied before each append test.
    small: PathBuf,
    /// The working directory whose sessions are listed, their folder, and their number.
    project: PathBuf,
    listed: PathBuf,
    count: usize,
}

pub(crate) fn run(mut args: Args) -> Result<()> {
    let quick = args.flag("--quick");
    let with_peer = args.flag("--peer");
    if args.flag("--mysql") {
        args.finish()?;
        return crate::mysql::bench(quick);
    }
    if args.flag("--engine") {
        args.finish()?;
        return engine();
    }
    if args.flag("--agents") {
        args.finish()?;
        return agents();
    }
    let only_gateway = args.flag("--gateway");
    let only_page = args.flag("--page");
    let only_build = args.flag("--build");
    let only_screen = args.flag("--screen");
    let only_sandbox = args.flag("--sandbox");
    let only_scale = args.flag("--scale");
    let only_extensions = args.flag("--extensions");
    let dir = args.value("--dir")?;
    let given = args.value("--osier")?;
    args.finish()?;

    let dir =
        dir.map_or_else(|| Ok(workspace::target()?.join("bench")), |dir| anyhow::Ok(PathBuf::from(dir)))?;
    std::fs::create_dir_all(&dir)?;
    let dir = dir.canonicalize().with_context(|| format!("cannot open folder {}", dir.display()))?;
    if only_build {
        return build::run(&dir);
    }
    if only_page {
        return page::run(given.as_deref(), &dir, quick);
    }
    let osier = Osier::new(given.as_deref(), dir.join("home"))?;
    if only_extensions {
        return extensions::run(&osier, &dir, quick);
    }
    if only_gateway {
        return gateway::run(&osier, &dir, quick);
    }
    let peer = if with_peer { Some(Peer::install()?) } else { None };
    println!("== generating sessions in {}", dir.display());
    let files = BenchFiles::generate(&osier, &dir, quick)?;
    let bench = Bench { osier, peer, files, dir, rounds: if quick { 3 } else { 5 } };
    println!("== measuring, best of {} rounds", bench.rounds);
    let rows = match () {
        () if only_screen => screen::rows(&bench),
        () if only_sandbox => sandbox::rows(&bench),
        () if only_scale => scale::rows(&bench),
        () => cases::all(&bench),
    };
    table::print(&rows, bench.peer.is_some());
    if only_screen || only_sandbox || only_scale { Ok(()) } else { engine().and_then(|()| agents()) }
}

fn engine() -> Result<()> {
    println!("== many live sessions in one process");
    run_engine_example("many_sessions")
}

fn agents() -> Result<()> {
    println!("== sub-agents");
    run_engine_example("sub_agents")
}

/// Runs a benchmark in the engine's own crate.
fn run_engine_example(name: &str) -> Result<()> {
    let mut cargo = workspace::cargo()?;
    cargo.args(["run", "--release", "--quiet", "--package", "osier-engine", "--example", name]);
    workspace::run(&mut cargo)
}

impl BenchFiles {
    fn generate(osier: &Osier, dir: &Path, quick: bool) -> Result<Self> {
        let (entries, count) = if quick { (10_000, 50) } else { (100_000, 500) };
        let project = dir.join("project");
        std::fs::create_dir_all(&project)?;
        let listed = osier.sessions_folder(&project)?;
        let plain = dir.join(format!("plain-{entries}.jsonl"));
        SessionShape { entries, compacted: false, seed: 1 }.write(&plain, &project)?;
        let small = dir.join("small.jsonl");
        SessionShape { entries: 200, compacted: false, seed: 2 }.write(&small, &project)?;
        let mut compacted = Vec::new();
        for entries in compacted_sizes(quick) {
            let file = dir.join(format!("compacted-{entries}.jsonl"));
            SessionShape { entries, compacted: true, seed: 3 }.write(&file, &project)?;
            compacted.push(file);
        }
        generate::write_folder(&listed, count, &project)?;
        Ok(Self { plain, compacted, small, project, listed, count })
    }
}

/// About 10 MB, 148 MB and 1 GB.
fn compacted_sizes(quick: bool) -> Vec<usize> {
    if quick { vec![7_000, 20_000] } else { vec![7_000, 100_000, 700_000] }
}

fn megabytes(file: &Path) -> Result<String> {
    Ok(format!("{} MB", std::fs::metadata(file)?.len() / 1_000_000))
}
