//! The overhead of a delta over pipes: RPC mode against print mode, next to a program that only writes the same bytes at the
//! same pace. Each side is a difference: a run that writes, less one that only waits for the pieces.

use std::io::{BufRead, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

use super::{BenchRun, prepared_model, report};

const FEW: usize = 1;
/// Pieces that arrive at once are few deltas: the cost of a busy stream. Pieces that arrive alone are a delta each, and every
/// one wakes the whole chain: the cost of a slow stream.
const STREAMS: [(&str, usize, Duration); 2] = [
    ("as fast as possible", 50_000, Duration::ZERO),
    ("one each millisecond", 3000, Duration::from_millis(1)),
];
const ROUNDS: usize = 3;
const MAX_RATIO: f64 = 2.0;

/// The program that only writes: each line of a file is written to standard output on its own, one in each interval. With
/// `SILENT`, it only waits for the intervals.
pub(crate) fn write_lines() -> Result<()> {
    let file = std::env::var_os("LINES").context("LINES names the file")?;
    let interval: u64 = std::env::var("INTERVAL_US").context("INTERVAL_US is a number")?.parse()?;
    let is_silent = std::env::var_os("SILENT").is_some();
    let lines: Vec<Vec<u8>> =
        std::io::BufReader::new(std::fs::File::open(file)?).split(b'\n').collect::<Result<_, _>>()?;
    let mut out = std::io::stdout().lock();
    for mut line in lines {
        if interval > 0 {
            std::thread::sleep(Duration::from_micros(interval));
        }
        line.push(b'\n');
        if !is_silent {
            out.write_all(&line)?;
            out.flush()?;
        }
    }
    Ok(())
}

pub(crate) async fn measure(run: &BenchRun) -> Result<()> {
    let prompts: [(&str, Vec<&str>, &[&str], &str); 2] = [
        (
            "pi's dialect",
            vec!["--mode", "rpc"],
            &[r#"{"id":"1","type":"prompt","message":"Go"}"#],
            "\"agent_settled\"",
        ),
        (
            "the client protocol",
            vec!["--mode", "rpc", "--protocol", "osier"],
            CLIENT_FRAMES,
            "\"turn_ended\"",
        ),
    ];
    for stream in STREAMS {
        let print = per_piece(run, stream, &["-p", "Go", "--no-session"], &[], "").await?.0;
        for (name, args, input, end) in &prompts {
            let args: Vec<&str> = args.iter().copied().chain(["--no-session"]).collect();
            let (rpc, lines) = per_piece(run, stream, &args, input, end).await?;
            let file = run.dir.join("lines.jsonl");
            std::fs::write(&file, lines.join("\n"))?;
            let (pace, pieces, interval) = stream;
            let writing = written(&file, interval, false).await? - written(&file, interval, true).await?;
            let writing = writing * 1000.0 / pieces as f64;
            let (overhead, ratio) = (rpc - print, (rpc - print) / writing);
            report(
                Some(ratio <= MAX_RATIO),
                &format!(
                    "{pieces} pieces {pace} over pipes in {name}: each {rpc:.2} us of CPU, {print:.2} us in print mode; the difference of {overhead:.2} us is {ratio:.2}x of writing the {} lines ({writing:.2} us), at most {MAX_RATIO}x",
                    lines.len()
                ),
            );
        }
    }
    Ok(())
}

const CLIENT_FRAMES: &[&str] = &[
    r#"{"type":"hello","version":1}"#,
    r#"{"type":"open","id":1,"open":{"target":"new"}}"#,
    r#"{"type":"attach","id":2,"session":1}"#,
    r#"{"type":"send","id":3,"session":1,"command":{"type":"prompt","text":"Go"}}"#,
];

/// A client that falls behind is asked to attach again, and its part of the cost is the state that it gets then.
const STREAM_ENDED: &str = r#""type":"ended""#;
const ATTACH_AGAIN: &str = "{\"type\":\"attach\",\"id\":4,\"session\":1}\n";

/// The answer to a client that attached again after the turn.
fn is_after_turn(line: &str) -> bool {
    line.contains(r#""type":"attached","id":4"#) && line.contains(r#""turnRunning":false"#)
}

/// The CPU time of one piece in microseconds, and the lines of the longest run.
async fn per_piece(
    run: &BenchRun,
    (_, pieces, interval): (&str, usize, Duration),
    args: &[&str],
    input: &[&str],
    end: &str,
) -> Result<(f64, Vec<String>)> {
    let (mut few, mut many, mut lines) = (f64::INFINITY, f64::INFINITY, Vec::new());
    for _ in 0..ROUNDS {
        few = few.min(run_osier(run, (FEW, interval), args, input, end).await?.0);
        let (cpu, all) = run_osier(run, (pieces, interval), args, input, end).await?;
        (many, lines) = (many.min(cpu), all);
    }
    Ok(((many - few) * 1000.0 / (pieces - FEW) as f64, lines))
}

/// Runs osier with a reply of this many pieces. Each line of the input follows the first answer to the one before. Returns the
/// CPU time in milliseconds, and the output.
async fn run_osier(
    run: &BenchRun,
    (pieces, interval): (usize, Duration),
    args: &[&str],
    input: &[&str],
    end: &str,
) -> Result<(f64, Vec<String>)> {
    let home = run.dir.join("pipes-home");
    prepared_model::start(&home, pieces, interval).await?;
    let mut command = Command::new(&run.osier);
    command.args(args).env("OSIER_HOME", &home).current_dir(run.dir.join("project"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let mut stdin = child.stdin.take().context("stdin is piped")?;
    let stdout = child.stdout.take().context("stdout is piped")?;
    let mut lines = Vec::new();
    let mut reader = BufReader::new(stdout).lines();
    for (index, line) in input.iter().enumerate() {
        if index > 0 {
            lines.push(reader.next_line().await?.context("osier ended")?);
        }
        stdin.write_all(format!("{line}\n").as_bytes()).await?;
    }
    if end.is_empty() {
        drop(stdin);
        while let Some(line) = reader.next_line().await? {
            lines.push(line);
        }
    } else {
        while lines.last().is_none_or(|line: &String| !line.contains(end) && !is_after_turn(line)) {
            let line = reader.next_line().await?.context("osier ended")?;
            if line.contains(STREAM_ENDED) {
                stdin.write_all(ATTACH_AGAIN.as_bytes()).await?;
            }
            lines.push(line);
        }
        drop(stdin);
        while reader.next_line().await?.is_some() {}
    }
    Ok((wait(child).await?, lines))
}

/// The CPU time of the program that only writes, in milliseconds.
async fn written(file: &Path, interval: Duration, is_silent: bool) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("write").env("LINES", file).env("INTERVAL_US", interval.as_micros().to_string());
        if is_silent {
            command.env("SILENT", "1");
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn()?;
        let mut stdout = child.stdout.take().context("stdout is piped")?;
        tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await?;
        best = best.min(wait(child).await?);
    }
    Ok(best)
}

/// Waits for the end of a process. Returns its CPU time in milliseconds: what the ended children of this process have used, before
/// and after.
async fn wait(mut child: tokio::process::Child) -> Result<f64> {
    let before = children_cpu_ms()?;
    let status = child.wait().await?;
    anyhow::ensure!(status.success(), "a process failed ({status})");
    Ok(children_cpu_ms()? - before)
}

#[allow(unsafe_code, reason = "std reports no CPU time, and /proc only in hundredths of a second")]
fn children_cpu_ms() -> Result<f64> {
    // SAFETY: a rusage is plain numbers, for which all zeroes is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a local rusage.
    let code = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    anyhow::ensure!(code == 0, "cannot read the CPU time of children");
    let ms = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
    Ok(ms(usage.ru_utime) + ms(usage.ru_stime))
}
