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
    println!("== extensions, median of {rounds} rounds");
    report("the first extension is ready", median(&one, "readyMs"), "ms", READY_MS);
    report("an event and its answer", median(&one, "eventUs"), "us", EVENT_US);
    println!(
        "   95 of 100 within {:.1} us; a byte through two pipes of `cat` takes {pipe:.1} us",
        median(&one, "event95Us")
    );
    report(
        "ten extensions with equal grants, private memory",
        median(&ten, "privateKb") / 1024.0,
        "MB",
        TEN_MB,
    );
    println!(
        "   resident memory, with the pages of the program: {:.1} MB",
        median(&ten, "residentKb") / 1024.0
    );
    println!("   ten extensions are ready after {:.1} ms", median(&ten, "readyMs"));
    println!("   an event without a handler takes {:.2} us", median(&one, "unhandledUs"));
    let (plain, without) = starts(osier, &folder, rounds * 4)?;
    println!(
        "   start without extensions: {plain:.1} ms, with --no-extensions {without:.1} ms ({:.2}x)",
        plain / without
    );
    Ok(())
}

fn report(what: &str, value: f64, unit: &str, goal: f64) {
    let verdict = if value <= goal { "ok" } else { "MISS" };
    println!("{verdict:4} {what}: {value:.1} {unit} (goal {goal} {unit})");
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

/// The median time of a prompt to the offline model, without extensions and with the option that forbids them, in milliseconds.
fn starts(osier: &Osier, folder: &Path, rounds: usize) -> Result<(f64, f64)> {
    let home = folder.join("empty-home");
    std::fs::create_dir_all(&home)?;
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
