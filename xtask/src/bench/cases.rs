//! The benchmark cases and their targets. A case that fails becomes a row with the error; the others still
//! run.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Bench;
use super::measure::{Cost, cost};
use super::table::BenchRow;

/// Peak memory targets in MB, without and with index files.
const PEAK_COLD: f64 = 80.0;
const PEAK_WARM: f64 = 32.0;
/// The allowed spread of case (d).
const SPREAD: f64 = 1.5;

/// The wanted CPU ratio against pi, without and with index files.
#[derive(Clone, Copy, Default)]
struct BenchTarget {
    cold: Option<f64>,
    warm: Option<f64>,
}

const NONE: BenchTarget = BenchTarget { cold: None, warm: None };

pub(super) fn all(bench: &Bench) -> Vec<BenchRow> {
    let files = &bench.files;
    let target = |cold, warm| BenchTarget { cold, warm };
    let mut rows = vec![
        bench.open("(a) context", &files.plain, "context", target(Some(5.0), Some(12.0))),
        bench.open("(c) leaf and path", &files.plain, "path", target(None, Some(150.0))),
        bench.open("outline", &files.plain, "outline", target(Some(4.0), None)),
    ];
    rows.extend(bench.compacted());
    rows.extend(["os", "turn", "always"].map(|durability| bench.append(durability)));
    rows.push(bench.list());
    rows.push(bench.latest());
    rows.extend(super::wire::rows(bench));
    rows.extend(super::streaming::rows(bench));
    rows.extend(bench.startup_rows());
    rows.push(super::build::binary_row(bench.osier.binary()));
    rows.extend(super::sandbox::rows(bench));
    rows.extend(super::screen::rows(bench));
    rows.extend(super::scale::rows(bench));
    rows
}

impl Bench {
    fn open(&self, case: &str, file: &Path, what: &str, target: BenchTarget) -> BenchRow {
        let mut row = BenchRow::new(case, &super::megabytes(file).unwrap_or_default());
        let result = self.fill_open(&mut row, file, what, target);
        row.with_result(result)
    }

    fn fill_open(&self, row: &mut BenchRow, file: &Path, what: &str, target: BenchTarget) -> Result<()> {
        let command = || self.osier.bench_open(file, what);
        self.cold_and_warm(row, &command)?;
        // pi is not run on the 1 GB file.
        if file.metadata()?.len() < 500_000_000 {
            let path = file.to_string_lossy();
            self.measure_pi(row, &[what, "--file", &path, "--iterations", "2"])?;
            if what == "context" {
                check_same_count(row)?;
            }
        }
        check_targets(row, target);
        Ok(())
    }

    /// Cases (b) and (d): the size of a log must not matter if the kept part is the same.
    fn compacted(&self) -> Vec<BenchRow> {
        let mut rows = Vec::new();
        for (n, file) in self.files.compacted.iter().enumerate() {
            let (case, target) = match n {
                1 => ("(b) compacted", BenchTarget { cold: Some(6.0), warm: Some(100.0) }),
                _ => ("(d) compacted", NONE),
            };
            rows.push(self.open(case, file, "context", target));
        }
        let warm: Vec<f64> = rows.iter().filter_map(|row| Some(row.warm.as_ref()?.cpu_ms)).collect();
        let mut spread = BenchRow::new("(d) largest/smallest, warm", "all sizes");
        let (most, least) =
            (warm.iter().copied().fold(0.0, f64::max), warm.iter().copied().fold(f64::INFINITY, f64::min));
        if warm.len() == self.files.compacted.len() && least > 0.0 {
            spread.add_target(most / least <= SPREAD, &format!("{:.2}x, at most {SPREAD}x", most / least));
        }
        rows.push(spread);
        rows
    }

    /// The cost of one append: many appends minus one, which excludes opening.
    fn append(&self, durability: &str) -> BenchRow {
        let mut row = BenchRow::new(&format!("append, {durability}"), "us per entry");
        let result = self.fill_append(&mut row, durability);
        row.with_result(result)
    }

    fn fill_append(&self, row: &mut BenchRow, durability: &str) -> Result<()> {
        let many = if durability == "always" { 300 } else { 5_000 };
        let copy = self.dir.join("append.jsonl");
        let run = |count: usize| -> Result<(Cost, u64)> {
            let before = std::fs::copy(&self.files.small, &copy)?;
            let cost = self.cost(&mut self.osier.bench_append(&copy, count, durability))?;
            Ok((cost, copy.metadata()?.len() - before))
        };
        let (mut per_entry, mut wall) = (f64::INFINITY, f64::INFINITY);
        let mut bytes = 0;
        for _ in 0..self.rounds {
            let ((one, _), (all, grown)) = (run(1)?, run(many)?);
            ensure!(grown > 0, "bench-append appended nothing");
            bytes = grown / many as u64;
            let us = |all: f64, one: f64| (all - one).max(0.0) * 1000.0 / (many - 1) as f64;
            per_entry = per_entry.min(us(all.cpu_ms, one.cpu_ms));
            wall = wall.min(us(all.wall_ms, one.wall_ms));
            row.warm = Some(Cost { cpu_ms: per_entry, ..all });
        }
        if durability == "os" {
            std::fs::copy(&self.files.small, &copy)?;
            let path = copy.to_string_lossy();
            self.measure_pi(
                row,
                &["append", "--file", &path, "--count", &many.to_string(), "--bytes", &bytes.to_string()],
            )?;
            row.pi_ms = row.pi_ms.map(|ms| ms * 1000.0 / many as f64);
            check_targets(row, BenchTarget { cold: None, warm: Some(1.0) });
        }
        row.add_note(&format!("{bytes} bytes per line, {wall:.0} us wall time"));
        Ok(())
    }

    fn list(&self) -> BenchRow {
        let mut row = BenchRow::new("list", &format!("{} sessions", self.files.count));
        let result = self.fill_list(&mut row);
        row.with_result(result)
    }

    fn fill_list(&self, row: &mut BenchRow) -> Result<()> {
        self.cold_and_warm(row, &|| self.osier.list(&self.files.project))?;
        let listed: Value = serde_json::from_str(&row.output()).context("list printed no JSON")?;
        let listed = listed.as_array().map_or(0, Vec::len);
        ensure!(listed == self.files.count, "list printed {listed} cards");
        self.measure_pi_in_folder(row, "list")?;
        check_targets(row, BenchTarget { cold: Some(6.0), warm: Some(50.0) });
        Ok(())
    }

    fn latest(&self) -> BenchRow {
        let mut row = BenchRow::new("continue-latest", &format!("{} sessions", self.files.count));
        let result = self.cold_and_warm(&mut row, &|| self.osier.bench_continue(&self.files.project));
        let result = result.and_then(|()| self.measure_pi_in_folder(&mut row, "continue"));
        check_targets(&mut row, NONE);
        row.with_result(result)
    }

    /// The cost of starting, compared with `true`.
    fn startup_rows(&self) -> Vec<BenchRow> {
        let nothing = self.least_cost(&|| Command::new("true"));
        let mut rows = Vec::new();
        for flag in ["--version", "--help"] {
            let mut row = BenchRow::new(&format!("osier {flag}"), "start");
            let result = self.least_cost(&|| {
                let mut command = self.osier.command();
                command.arg(flag);
                command
            });
            let result = result.map(|cost| {
                if let Ok(nothing) = &nothing {
                    row.add_note(&format!(
                        "{:.1}x `true` ({:.1} ms)",
                        cost.cpu_ms / nothing.cpu_ms,
                        nothing.cpu_ms
                    ));
                }
                row.warm = Some(cost);
            });
            rows.push(row.with_result(result));
        }
        rows
    }

    fn cold_and_warm(&self, row: &mut BenchRow, command: &dyn Fn() -> Command) -> Result<()> {
        for _ in 0..self.rounds {
            self.osier.clear_caches()?;
            let cold = self.cost(&mut command())?;
            let warm = self.cost(&mut command())?;
            row.cold = Some(least_of(row.cold.take(), cold));
            row.warm = Some(least_of(row.warm.take(), warm));
        }
        Ok(())
    }

    fn least_cost(&self, command: &dyn Fn() -> Command) -> Result<Cost> {
        let mut best = self.cost(&mut command())?;
        for _ in 0..4 * self.rounds {
            best = best.least(self.cost(&mut command())?);
        }
        Ok(best)
    }

    pub(super) fn cost(&self, command: &mut Command) -> Result<Cost> {
        cost(command, &self.dir.join("stdout"))
    }

    /// Measures pi: the CPU time of the operation inside its process, and of the whole process.
    fn measure_pi(&self, row: &mut BenchRow, args: &[&str]) -> Result<()> {
        let Some(peer) = &self.peer else { return Ok(()) };
        for _ in 0..self.rounds.min(3) {
            let process = self.cost(peer.script("bench.mjs").args(args))?;
            let report: Value = serde_json::from_str(&process.stdout).context("bench.mjs printed no JSON")?;
            let inside = report["cpuMs"].as_f64().context("bench.mjs gave no cpuMs")?;
            row.pi_ms = Some(row.pi_ms.map_or(inside, |ms| ms.min(inside)));
            row.pi_process = Some(least_of(row.pi_process.take(), process));
        }
        Ok(())
    }

    fn measure_pi_in_folder(&self, row: &mut BenchRow, job: &str) -> Result<()> {
        let (cwd, dir) = (self.files.project.to_string_lossy(), self.files.listed.to_string_lossy());
        self.measure_pi(row, &[job, "--cwd", &cwd, "--dir", &dir, "--iterations", "3"])
    }
}

pub(super) fn least_of(best: Option<Cost>, new: Cost) -> Cost {
    match best {
        Some(best) => best.least(new),
        None => new,
    }
}

/// A ratio is meaningless if the two did not read the same messages.
fn check_same_count(row: &BenchRow) -> Result<()> {
    let Some(process) = &row.pi_process else { return Ok(()) };
    let pi: Value = serde_json::from_str(&process.stdout)?;
    let osier = row.output();
    let counts = osier.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse::<u64>().ok());
    ensure!(
        counts.into_iter().any(|n| Some(n) == pi["result"].as_u64()),
        "pi has {} messages, osier said {osier:?}",
        pi["result"]
    );
    Ok(())
}

fn check_targets(row: &mut BenchRow, target: BenchTarget) {
    let sides = [("cold", row.cold_ratio(), target.cold), ("warm", row.warm_ratio(), target.warm)];
    for (name, ratio, wanted) in sides {
        if let (Some(ratio), Some(wanted)) = (ratio, wanted) {
            row.add_target(ratio >= wanted, &format!("{name} {ratio:.1}x of {wanted}x"));
        } else if let Some(wanted) = wanted {
            row.add_note(&format!("{name} target {wanted}x"));
        }
    }
    let peaks = [("cold", &row.cold, PEAK_COLD), ("warm", &row.warm, PEAK_WARM)];
    let over = peaks.map(|(name, cost, most)| {
        Some((name, cost.as_ref()?.peak_mb, most)).filter(|(_, mb, most)| mb >= most)
    });
    for (name, mb, most) in over.into_iter().flatten() {
        row.add_target(false, &format!("{name} peak {mb:.0} of {most} MB"));
    }
}
