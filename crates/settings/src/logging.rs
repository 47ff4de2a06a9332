//! The log file, `logs/osier.log` in the home folder. Crates emit `tracing` events; this module filters them, redacts
//! keys, and writes them in a thread of its own, so that a slow disk delays neither the screen nor a stream.

mod file;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use self::file::LogFile;
use crate::home::Home;

/// The environment variable with the levels, such as `debug` or `osier_model=trace,info`.
const LEVEL_VARIABLE: &str = "OSIER_LOG";
/// How many lines may wait for the disk. More are dropped and counted.
const MAX_WAITING: usize = 4096;

/// Writes what is still waiting when it is dropped.
#[derive(Debug)]
pub struct LogGuard {
    /// Why the levels of the environment variable are not used.
    pub problem: Option<String>,
    lines: Option<SyncSender<LogMessage>>,
    thread: Option<JoinHandle<()>>,
}

/// Starts logging. The file is created with the first line.
pub fn start(home: &Home, verbose: bool) -> LogGuard {
    let (lines, waiting) = sync_channel(MAX_WAITING);
    let dropped = Arc::new(AtomicU64::new(0));
    let writer = LogWriter { lines: lines.clone(), dropped: dropped.clone(), buffer: Vec::new() };
    let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_timer(UtcClock).with_writer(writer);
    let (levels, problem) = levels(home, verbose);
    let started = tracing_subscriber::registry().with(levels).with(layer).try_init();
    debug_assert!(started.is_ok(), "logging starts once");
    let home = home.clone();
    let thread = std::thread::Builder::new().name("log".to_owned());
    let thread = thread.spawn(move || write_lines(&waiting, &home, &dropped)).ok();
    LogGuard { problem, lines: Some(lines), thread }
}

/// The log file of this home folder.
pub fn log_file(home: &Home) -> PathBuf {
    home.folder.join("logs").join("osier.log")
}

/// The levels, and why those of the environment variable are not used.
fn levels(home: &Home, verbose: bool) -> (Targets, Option<String>) {
    let default = if verbose { "osier=debug,warn" } else { "warn" };
    let configured = (home.host.variable)(LEVEL_VARIABLE).filter(|levels| !levels.is_empty());
    let parsed = configured.as_deref().map(str::parse::<Targets>);
    match parsed {
        Some(Ok(levels)) => (levels, None),
        Some(Err(error)) => {
            let problem = format!("cannot use {LEVEL_VARIABLE}: {error}; try {LEVEL_VARIABLE}=debug");
            (Targets::new(), Some(problem))
        }
        None => (default.parse().unwrap_or_default(), None),
    }
}

struct UtcClock;

impl FormatTime for UtcClock {
    fn format_time(&self, out: &mut Writer<'_>) -> std::fmt::Result {
        write!(out, "{:.3}", jiff::Timestamp::now())
    }
}

#[derive(Debug)]
enum LogMessage {
    Line(Vec<u8>),
    /// The program ends.
    End,
}

/// Collects one event and sends it to the writing thread.
#[derive(Debug)]
struct LogWriter {
    lines: SyncSender<LogMessage>,
    dropped: Arc<AtomicU64>,
    buffer: Vec<u8>,
}

impl<'a> MakeWriter<'a> for LogWriter {
    type Writer = LogWriter;

    fn make_writer(&'a self) -> LogWriter {
        LogWriter { lines: self.lines.clone(), dropped: self.dropped.clone(), buffer: Vec::new() }
    }
}

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        let line = std::mem::take(&mut self.buffer);
        if !line.is_empty() && self.lines.try_send(LogMessage::Line(line)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes lines until the program ends. A log that cannot be written is not worth stopping anything.
fn write_lines(waiting: &Receiver<LogMessage>, home: &Home, dropped: &AtomicU64) {
    let Ok(LogMessage::Line(mut line)) = waiting.recv() else { return };
    let keys = home.known_keys(&home.registry());
    let mut file = LogFile::new(log_file(home));
    loop {
        let missing = dropped.swap(0, Ordering::Relaxed);
        if missing > 0 {
            file.append(format!("{missing} lines were dropped because the disk is slow\n").as_bytes());
        }
        file.append(keys.redact(String::from_utf8_lossy(&line).into_owned()).as_bytes());
        line = match waiting.recv() {
            Ok(LogMessage::Line(line)) => line,
            Ok(LogMessage::End) | Err(_) => return,
        };
    }
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        // A full queue means that the disk hangs: the program ends without it.
        let sent = self.lines.take().is_some_and(|lines| lines.try_send(LogMessage::End).is_ok());
        if let Some(thread) = self.thread.take().filter(|_| sent) {
            let _ = thread.join();
        }
    }
}
