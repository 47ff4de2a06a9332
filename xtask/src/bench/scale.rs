//! Many sessions and very long ones: lists and searches of 10,000 sessions, and a session of a million entries. Goals are in CPU
//! time: on an idle machine with the files in memory, no command takes longer. Each row also states its wall time, and the
//! time that reading the same files takes in the same run.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::Result;

use super::Bench;
use super::generate::SessionShape;
use super::measure::Cost;
use super::table::BenchRow;
use crate::osier::Osier;

/// A word that is in every session, and one that is in none.
const COMMON_WORD: &str = "parser";
const ABSENT_WORD: &str = "quixotic";
/// The signatures of texts help little with these.
const PATTERN: &str = "re:quixot[ai]c";
const TWO_LETTERS: &str = "qz";

/// What a row may cost.
struct Goal {
    cold_ms: Option<f64>,
    warm_ms: Option<f64>,
    peak_mb: Option<f64>,
}

const NO_GOAL: Goal = Goal { cold_ms: None, warm_ms: None, peak_mb: None };

pub(super) fn rows(bench: &Bench) -> Vec<BenchRow> {
    let mut rows = many_sessions(bench).unwrap_or_else(|error| vec![failed("10,000 sessions", error)]);
    rows.extend(long_session(bench).unwrap_or_else(|error| vec![failed("a million entries", error)]));
    rows
}

fn failed(case: &str, error: anyhow::Error) -> BenchRow {
    BenchRow::new(case, "").with_result(Err(error))
}

fn many_sessions(bench: &Bench) -> Result<Vec<BenchRow>> {
    let count = if bench.rounds < 5 { 1_000 } else { 10_000 };
    let home = bench.dir.join(format!("home-{count}"));
    let osier = bench.osier.with_home(&home);
    let project = bench.dir.join("many");
    std::fs::create_dir_all(&project)?;
    let folder = osier.sessions_folder(&project)?;
    super::generate::write_small_sessions(&folder, count, &project)?;
    let files = files_in(&folder)?;
    let size = format!("{count} sessions");
    let list = || osier.list(&project);
    let search = |word: &'static str| {
        let (osier, project) = (&osier, &project);
        move || {
            let mut command = osier.list(project);
            command.args(["--search", word]);
            command
        }
    };
    let hits = || {
        let mut command = osier.command();
        command.current_dir(&project).args(["search", "--json", COMMON_WORD]);
        command
    };
    let warm = |ms| Goal { warm_ms: Some(ms), ..NO_GOAL };
    Ok(vec![
        bench.scale_row("list", &size, &osier, &files, &list, Goal { cold_ms: Some(1_000.0), ..NO_GOAL }),
        bench.scale_row("list --search, in none", &size, &osier, &files, &search(ABSENT_WORD), warm(300.0)),
        bench.scale_row("list --search, in all", &size, &osier, &files, &search(COMMON_WORD), warm(300.0)),
        bench.scale_row("list --search, re:", &size, &osier, &files, &search(PATTERN), warm(300.0)),
        bench.scale_row("list --search, 2 letters", &size, &osier, &files, &search(TWO_LETTERS), warm(300.0)),
        bench.scale_row("search with lines", &size, &osier, &files, &hits, warm(300.0)),
    ])
}

fn long_session(bench: &Bench) -> Result<Vec<BenchRow>> {
    let entries = if bench.rounds < 5 { 100_000 } else { 1_000_000 };
    let home = bench.dir.join(format!("home-long-{entries}"));
    let osier = bench.osier.with_home(&home);
    let project = bench.dir.join("long");
    std::fs::create_dir_all(&project)?;
    let folder = osier.sessions_folder(&project)?;
    std::fs::create_dir_all(&folder)?;
    let shape = SessionShape { entries, compacted: false, seed: 9 };
    let file = folder.join(shape.file_name());
    shape.write_short(&file, &project)?;
    let files = [file.clone()];
    let size = format!("{entries} entries");
    let sessions = |args: &'static [&'static str]| {
        let (osier, file) = (&osier, &file);
        move || {
            let mut command = osier.command();
            command.arg("sessions").arg(args[0]).arg(file).args(&args[1..]);
            without_output(&command)
        }
    };
    let tree = Goal { cold_ms: Some(2_000.0), peak_mb: Some(120.0), ..NO_GOAL };
    let export = Goal { peak_mb: Some(120.0), ..NO_GOAL };
    Ok(vec![
        bench.scale_row(
            "list",
            &size,
            &osier,
            &files,
            &|| osier.list(&project),
            Goal { cold_ms: Some(1_000.0), ..NO_GOAL },
        ),
        bench.scale_row("tree", &size, &osier, &files, &sessions(&["tree"]), tree),
        bench.scale_row(
            "export to JSONL",
            &size,
            &osier,
            &files,
            &sessions(&["export", "--format", "jsonl"]),
            export,
        ),
    ])
}

impl Bench {
    fn scale_row(
        &self,
        case: &str,
        size: &str,
        osier: &Osier,
        files: &[PathBuf],
        command: &dyn Fn() -> Command,
        goal: Goal,
    ) -> BenchRow {
        let mut row = BenchRow::new(case, size);
        let result = self.fill_scale(&mut row, osier, files, command, &goal);
        row.with_result(result)
    }

    fn fill_scale(
        &self,
        row: &mut BenchRow,
        osier: &Osier,
        files: &[PathBuf],
        command: &dyn Fn() -> Command,
        goal: &Goal,
    ) -> Result<()> {
        let mut floor = f64::INFINITY;
        for _ in 0..self.rounds.min(3) {
            osier.clear_caches()?;
            floor = floor.min(read_all(files)?);
            let (cold, warm) = (self.cost(&mut command())?, self.cost(&mut command())?);
            row.cold = Some(super::cases::least_of(row.cold.take(), cold));
            row.warm = Some(super::cases::least_of(row.warm.take(), warm));
        }
        let of = |cost: &Option<Cost>, get: fn(&Cost) -> f64| cost.as_ref().map_or(0.0, get);
        let [cold, warm] = [&row.cold, &row.warm].map(|cost| of(cost, |cost| cost.wall_ms));
        row.add_note(&format!(
            "wall time cold {cold:.0} ms, warm {warm:.0} ms; reading the files {floor:.0} ms"
        ));
        let [cold, warm] = [&row.cold, &row.warm].map(|cost| of(cost, |cost| cost.cpu_ms));
        for (name, ms, most) in [("cold", cold, goal.cold_ms), ("warm", warm, goal.warm_ms)] {
            if let Some(most) = most {
                row.add_target(
                    ms <= most,
                    &format!("{name} {ms:.0} of {most} ms of CPU, {:.1}x reading", ms / floor),
                );
            }
        }
        let peak = row.cold.as_ref().map_or(0.0, |cost| cost.peak_mb);
        if let Some(most) = goal.peak_mb {
            row.add_target(peak <= most, &format!("peak {peak:.0} of {most} MB"));
        }
        Ok(())
    }
}

/// The same command, but its output is discarded: it would be larger than the memory that is measured.
fn without_output(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec \"$@\" > /dev/null", "sh"]).arg(command.get_program()).args(command.get_args());
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell
}

fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    Ok(std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?)
}

/// The time that reading all bytes of the files takes, in milliseconds.
fn read_all(files: &[PathBuf]) -> Result<f64> {
    let begin = Instant::now();
    let mut buffer = vec![0; 256 << 10];
    for file in files {
        let mut file = std::fs::File::open(file)?;
        while file.read(&mut buffer)? > 0 {}
    }
    Ok(begin.elapsed().as_secs_f64() * 1000.0)
}
