//! Extensions: how long until the first one is ready, the round trip of an event, the memory of ten, and the start without any.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::osier::Osier;

/// Goals.
const READY_MS: f64 = 10.0;
const EVENT_US: f64 = 20.0;
const TEN_MB: f64 = 15.0;
/// An event without a handler is the check that there is none.
const UNHANDLED_US: f64 = 1.0;
/// The start with an empty folder of extensions, compared with one that looks for none. Measurements differ by less than this.
const START_RATIO: f64 = 1.05;

/// An extension that handles the start of a turn and nothing else.
const SOURCE: &str = "export default (pi) => pi.on(\"agent_start\", () => {});\n";

pub(super) fn run(osier: &Osier, dir: &Path, quick: bool) -> Result<()> {
    let folder = dir.join("extensions");
    std::fs::create_dir_all(&folder)?;
    let mut files = Vec::new();
    for number in 0..10 {
        let file = folder.join(format!("extension{number}.ts"));
        std::fs::write(&file, SOURCE)?;
        files.push(file);
    }
    let (rounds, events) = if quick { (5, 2_000) } else { (15, 20_000) };
    let one: Vec<Value> = (0..rounds).map(|_| measure(osier, &files[..1], events)).collect::<Result<_>>()?;
    let ten: Vec<Value> = (0..rounds).map(|_| measure(osier, &files, 10)).collect::<Result<_>>()?;
    let pipe = pipe_round_trip(events)?;
    let (plain, without) = starts(osier, &folder, rounds * 4)?;
    println!("== extensions, median of {rounds} rounds");
    let private = median(&ten, "privateKb") / 1024.0;
    let goals = [
        ("the first extension is ready", median(&one, "readyMs"), "ms", READY_MS),
        ("an event and its answer", median(&one, "eventUs"), "us", EVENT_US),
        ("an event without a handler", median(&one, "unhandledUs"), "us", UNHANDLED_US),
        ("ten extensions with equal grants, private memory", private, "MB", TEN_MB),
        (
            "start with an empty folder of extensions, compared with --no-extensions",
            plain / without,
            "x",
            START_RATIO,
        ),
    ];
    let missed = goals.iter().filter(|(what, value, unit, goal)| !report(what, *value, unit, *goal)).count();
    println!("   95 of 100 events within {:.1} us", median(&one, "event95Us"));
    println!("   a byte through two pipes of `cat` takes {pipe:.1} us");
    println!("   ten extensions are ready after {:.1} ms", median(&ten, "readyMs"));
    let resident = median(&ten, "residentKb") / 1024.0;
    println!("   resident memory of ten, with the pages of the program: {resident:.1} MB");
    let proportional = median(&ten, "proportionalKb") / 1024.0;
    if proportional > 0.0 {
        println!("   the same, with shared pages divided among their processes (PSS): {proportional:.1} MB");
    }
    println!(
        "   start with an empty folder of extensions: {plain:.1} ms; with --no-extensions: {without:.1} ms"
    );
    ensure!(missed == 0, "{missed} goals of extensions are missed");
    Ok(())
}

/// Prints a measurement. Returns whether it meets its goal.
fn report(what: &str, value: f64, unit: &str, goal: f64) -> bool {
    let is_met = value <= goal;
    println!("{:4} {what}: {value:.2} {unit} (goal {goal} {unit})", if is_met { "ok" } else { "MISS" });
    is_met
}

fn measure(osier: &Osier, files: &[PathBuf], events: usize) -> Result<Value> {
    let output = osier
        .command()
        .args(["bench-extensions", "--events", &events.to_string()])
        .args(files)
        .output()
        .context("cannot run osier bench-extensions")?;
    ensure!(output.status.success(), "osier bench-extensions: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn median(results: &[Value], name: &str) -> f64 {
    let mut values: Vec<f64> = results.iter().filter_map(|result| result[name].as_f64()).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// The floor: a line to another process and back, in microseconds.
fn pipe_round_trip(count: usize) -> Result<f64> {
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};
    let mut cat = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (mut input, mut output) =
        (cat.stdin.take().context("no pipe")?, cat.stdout.take().context("no pipe")?);
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        input.write_all(b"x")?;
        output.read_exact(&mut [0])?;
        times.push(start.elapsed());
    }
    drop(input);
    cat.wait()?;
    times.sort_unstable();
    Ok(times[times.len() / 2].as_secs_f64() * 1e6)
}

/// The median time of a prompt to the offline model in milliseconds: when extensions are looked for and none is found, and with
/// the option that looks for none.
fn starts(osier: &Osier, folder: &Path, rounds: usize) -> Result<(f64, f64)> {
    let home = folder.join("empty-home");
    // Without this folder, a start looks for no extensions either.
    std::fs::create_dir_all(home.join("extensions"))?;
    let osier = osier.with_home(&home);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (times, options) in times
            .iter_mut()
            .zip([&["-p", "--no-session", "hi"][..], &["--no-extensions", "-p", "--no-session", "hi"]])
        {
            let start = Instant::now();
            let output = osier.command().args(options).output()?;
            ensure!(output.status.success(), "osier {options:?} failed");
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    let middle = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let [plain, without] = times;
    Ok((middle(plain), middle(without)))
}
