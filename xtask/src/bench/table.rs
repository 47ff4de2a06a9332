//! Prints the benchmark table.

use anyhow::Result;

use super::measure::Cost;

#[derive(Default)]
pub(super) struct BenchRow {
    case: String,
    size: String,
    pub(super) cold: Option<Cost>,
    pub(super) warm: Option<Cost>,
    /// pi's CPU time for one operation, and for its whole process.
    pub(super) pi_ms: Option<f64>,
    pub(super) pi_process: Option<Cost>,
    notes: Vec<String>,
}

impl BenchRow {
    pub(super) fn new(case: &str, size: &str) -> Self {
        Self { case: case.to_owned(), size: size.to_owned(), ..Self::default() }
    }

    pub(super) fn add_target(&mut self, met: bool, text: &str) {
        self.notes.push(format!("{} {text}", if met { "ok" } else { "MISS" }));
    }

    pub(super) fn add_note(&mut self, text: &str) {
        self.notes.push(text.to_owned());
    }

    pub(super) fn with_result(mut self, result: Result<()>) -> Self {
        if let Err(error) = result {
            self.notes.push(format!("FAILED: {error:#}"));
        }
        self
    }

    /// The output of the last warm run.
    pub(super) fn output(&self) -> String {
        self.warm.as_ref().map(|cost| cost.stdout.clone()).unwrap_or_default()
    }

    pub(super) fn cold_ratio(&self) -> Option<f64> {
        Some(self.pi_ms? / self.cold.as_ref()?.cpu_ms)
    }

    pub(super) fn warm_ratio(&self) -> Option<f64> {
        Some(self.pi_ms? / self.warm.as_ref()?.cpu_ms)
    }

    fn cells(&self) -> [String; 11] {
        let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |x| format!("{x:.1}"));
        let times = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |x| format!("{x:.1}x"));
        let of = |cost: &Option<Cost>, get: fn(&Cost) -> f64| number(cost.as_ref().map(get));
        [
            self.case.clone(),
            self.size.clone(),
            of(&self.cold, |cost| cost.cpu_ms),
            of(&self.warm, |cost| cost.cpu_ms),
            of(&self.cold, |cost| cost.peak_mb),
            of(&self.warm, |cost| cost.peak_mb),
            number(self.pi_ms),
            of(&self.pi_process, |cost| cost.cpu_ms),
            times(self.cold_ratio()),
            times(self.warm_ratio()),
            self.notes.join("; "),
        ]
    }
}

const TITLES: [&str; 11] = [
    "case",
    "size",
    "cold ms",
    "warm ms",
    "cold MB",
    "warm MB",
    "pi ms",
    "pi process",
    "cold",
    "warm",
    "target",
];
const PEER_COLUMNS: std::ops::Range<usize> = 6..10;

pub(super) fn print(rows: &[BenchRow], with_peer: bool) {
    let body: Vec<[String; 11]> = rows.iter().map(BenchRow::cells).collect();
    let widths: Vec<usize> = (0..TITLES.len())
        .map(|at| {
            body.iter().map(|cells| cells[at].chars().count()).chain([TITLES[at].len()]).max().unwrap_or(0)
        })
        .collect();
    let shown = |at: &usize| with_peer || !PEER_COLUMNS.contains(at);
    let line = |cells: &[String; 11]| {
        let padded = (0..TITLES.len()).filter(shown).map(|at| match at {
            0 | 1 | 10 => format!("{:<width$}", cells[at], width = widths[at]),
            _ => format!("{:>width$}", cells[at], width = widths[at]),
        });
        println!("{}", padded.collect::<Vec<_>>().join("  ").trim_end());
    };
    line(&TITLES.map(str::to_owned));
    body.iter().for_each(line);
    println!(
        "CPU is user plus system time of one process; append rows show microseconds per entry. MB is peak memory."
    );
    if with_peer {
        println!(
            "`pi ms` is the operation inside pi's process, and the ratios refer to it; `pi process` is the whole process."
        );
    }
    let misses =
        body.iter().filter(|cells| cells[10].contains("MISS") || cells[10].contains("FAILED")).count();
    println!("xtask: {misses} of {} rows miss a target", rows.len());
}
