//! The terminal interface as a user sees it: latency on screen, CPU and memory.

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::Bench;
use super::table::BenchRow;
use crate::pty::{FRAME_END, Pty};

/// The targets, in milliseconds and megabytes.
const FIRST_FRAME: f64 = 10.0;
const FIRST_KEY: f64 = 25.0;
const TREE_KEY: f64 = 8.0;
const FIRST_ROWS: f64 = 500.0;
const MEMORY: f64 = 30.0;

/// How often each kind of key is pressed.
const KEY_PRESSES: usize = 60;

/// The number of streamed pieces, and the rate per second.
const PIECES: u32 = 1_000;
const PER_SECOND: u32 = 500;

/// How long to measure an idle screen.
const IDLE: Duration = Duration::from_secs(3);

pub(super) fn rows(bench: &Bench) -> Vec<BenchRow> {
    vec![bench.launch(), bench.tree_keys(), bench.streaming(), bench.idle_screen(), bench.memory()]
}

impl Bench {
    /// From process start to the first frame, and to the first handled key.
    fn launch(&self) -> BenchRow {
        let mut row = BenchRow::new("screen: launch", "first frame, first key");
        let result = self.fill_launch(&mut row);
        row.with_result(result)
    }

    fn fill_launch(&self, row: &mut BenchRow) -> Result<()> {
        let (mut frame, mut key) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..4 * self.rounds {
            let mut pty = self.screen(&[])?;
            let seen = pty.wait_bytes(0, FRAME_END)?;
            frame = frame.min(milliseconds(pty.started));
            pty.press("Q")?;
            pty.wait_bytes(seen, b"Q")?;
            key = key.min(milliseconds(pty.started));
        }
        row.add_target(frame <= FIRST_FRAME, &format!("first frame {frame:.1} of {FIRST_FRAME} ms"));
        row.add_target(key <= FIRST_KEY, &format!("first key {key:.1} of {FIRST_KEY} ms"));
        let mut nothing = f64::INFINITY;
        for _ in 0..4 * self.rounds {
            let started = Instant::now();
            Command::new("true").status()?;
            nothing = nothing.min(milliseconds(started));
        }
        row.add_note(&format!("{:.1}x `true` ({nothing:.1} ms)", frame / nothing));
        if let Some(peer) = &self.peer {
            let mut pi = f64::INFINITY;
            for _ in 0..self.rounds {
                let mut command = peer.pi_command();
                command.env("HOME", self.dir.join("pi-home")).env("PI_OFFLINE", "1").current_dir(&self.dir);
                let mut pty = Pty::start(command, 100, 30)?;
                pty.wait_bytes(0, FRAME_END)?;
                pi = pi.min(milliseconds(pty.started));
            }
            row.add_note(&format!("pi's first frame {pi:.0} ms, {:.0}x", pi / frame));
        }
        Ok(())
    }

    /// The time from a key press in the tree of a large session to the redraw.
    fn tree_keys(&self) -> BenchRow {
        let mut row = BenchRow::new(
            "screen: key in the tree",
            &super::megabytes(&self.files.plain).unwrap_or_default(),
        );
        let result = self.fill_tree_keys(&mut row);
        row.with_result(result)
    }

    fn fill_tree_keys(&self, row: &mut BenchRow) -> Result<()> {
        self.osier.clear_caches()?;
        let (_, cold) = self.open_tree()?;
        let (mut pty, warm) = self.open_tree()?;
        row.add_target(
            cold <= FIRST_ROWS,
            &format!("first rows after {cold:.0} of {FIRST_ROWS} ms without caches, {warm:.0} ms with them"),
        );
        let keys = |keys: &[&'static str]| keys.iter().copied().cycle().take(KEY_PRESSES).collect::<Vec<_>>();
        let moves = keys(&["\x1b[A", "\x1b[5~", "\x1b[A", "\x1b[B", "\x1b[A", "\x1b[6~"]);
        self.measure_keys(row, &mut pty, "cursor", &moves)?;
        // Alt+Left goes to the start of the branch, then folds it; Alt+Right goes back.
        self.measure_keys(
            row,
            &mut pty,
            "fold",
            &keys(&["\x1b[1;3D", "\x1b[1;3D", "\x1b[1;3C", "\x1b[1;3C"]),
        )?;
        self.measure_keys(row, &mut pty, "filter", &keys(&["\x15", "\x04"]))?;
        let word = ["e", "r", "e", "\x7f", "\x7f", "\x7f"];
        self.measure_keys(row, &mut pty, "search letter", &keys(&word))
    }

    /// Presses keys in an open tree, one after another.
    fn measure_keys(&self, row: &mut BenchRow, pty: &mut Pty, what: &str, keys: &[&str]) -> Result<()> {
        let mut times = Vec::new();
        for key in keys {
            while pty.read(Duration::from_millis(30))? {}
            let from = pty.bytes.len();
            let pressed = Instant::now();
            pty.press(key)?;
            pty.wait_bytes(from, FRAME_END)?;
            times.push(milliseconds(pressed));
        }
        times.sort_by(f64::total_cmp);
        let (middle, worst) = (times[times.len() / 2], times[times.len() * 95 / 100]);
        row.add_target(
            worst <= TREE_KEY,
            &format!("{what}: {middle:.1} ms, p95 {worst:.1} of {TREE_KEY} ms"),
        );
        Ok(())
    }

    /// Opens a large session and its tree, and measures when the first rows are shown.
    fn open_tree(&self) -> Result<(Pty, f64)> {
        let mut pty = self.open_session(&self.files.plain)?;
        // The status line counts the entries of the path as soon as the session is open.
        pty.wait_for("branches")?;
        let asked = Instant::now();
        pty.press("/tree\r")?;
        pty.wait_for("← active")?;
        let shown = milliseconds(asked);
        Ok((pty, shown))
    }

    /// The delay until the last piece of a fast stream is on screen.
    fn streaming(&self) -> BenchRow {
        let mut row = BenchRow::new("screen: streaming", &format!("{PER_SECOND} pieces a second"));
        let result = self.fill_streaming(&mut row);
        row.with_result(result)
    }

    fn fill_streaming(&self, row: &mut BenchRow) -> Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let home = self.dir.join("stream-home");
        std::fs::create_dir_all(&home)?;
        let config = format!(
            "model = \"bench/stream\"\n[providers.bench]\nbase_url = \"http://127.0.0.1:{port}/v1\"\n\
             [[providers.bench.models]]\nid = \"stream\"\n"
        );
        std::fs::write(home.join("config.toml"), config)?;
        let sent = std::thread::spawn(move || stream(&listener));
        let mut command = self.osier.command();
        command.env("OSIER_HOME", &home).current_dir(&self.dir).args(["--no-session", "go"]);
        let mut pty = Pty::start(command, 100, 30)?;
        pty.wait_for("first-piece")?;
        let before = cpu_milliseconds(pty.id())?;
        let from = pty.bytes.len();
        pty.wait_for("last-piece")?;
        let seen = Instant::now();
        let sent = sent.join().ok().context("the server failed")??;
        let frames = pty.bytes[from..].windows(FRAME_END.len()).filter(|bytes| *bytes == FRAME_END).count();
        row.add_note(&format!(
            "last piece shown {:.1} ms after it was sent; {frames} frames; {:.0} ms of CPU a second",
            seen.saturating_duration_since(sent).as_secs_f64() * 1000.0,
            (cpu_milliseconds(pty.id())? - before) / f64::from(PIECES / PER_SECOND),
        ));
        Ok(())
    }

    /// CPU and output of an idle screen.
    fn idle_screen(&self) -> BenchRow {
        let mut row = BenchRow::new("screen: idle", &format!("{} s", IDLE.as_secs()));
        let result = self.fill_idle_screen(&mut row);
        row.with_result(result)
    }

    fn fill_idle_screen(&self, row: &mut BenchRow) -> Result<()> {
        let mut pty = self.screen(&[])?;
        pty.wait_bytes(0, FRAME_END)?;
        while pty.read(Duration::from_millis(500))? {}
        let (before, drawn, started) = (cpu_milliseconds(pty.id())?, pty.bytes.len(), Instant::now());
        while started.elapsed() < IDLE {
            pty.read(IDLE.saturating_sub(started.elapsed()))?;
        }
        let (spent, drawn) = (cpu_milliseconds(pty.id())? - before, pty.bytes.len() - drawn);
        row.add_target(spent == 0.0 && drawn == 0, &format!("{spent:.0} ms of CPU, {drawn} bytes drawn"));
        Ok(())
    }

    /// The memory of a large open session.
    fn memory(&self) -> BenchRow {
        let mut row =
            BenchRow::new("screen: memory", &super::megabytes(&self.files.plain).unwrap_or_default());
        let result = self.fill_memory(&mut row);
        row.with_result(result)
    }

    fn fill_memory(&self, row: &mut BenchRow) -> Result<()> {
        let mut pty = self.open_session(&self.files.plain)?;
        pty.wait_bytes(0, FRAME_END)?;
        while pty.read(Duration::from_millis(500))? {}
        let (now, peak) = (memory_status(pty.id(), "VmRSS")?, memory_status(pty.id(), "VmHWM")?);
        row.add_target(now <= MEMORY, &format!("{now:.0} of {MEMORY} MB"));
        row.add_note(&format!("peak {peak:.0} MB"));
        pty.press("/tree\r")?;
        pty.wait_for("← active")?;
        row.add_note(&format!("{:.0} MB with its tree", memory_status(pty.id(), "VmRSS")?));
        Ok(())
    }

    fn screen(&self, args: &[&str]) -> Result<Pty> {
        let mut command = self.osier.command();
        command.current_dir(&self.dir).args(args);
        Pty::start(command, 100, 30)
    }

    fn open_session(&self, file: &Path) -> Result<Pty> {
        self.screen(&["--model", "offline", "--session", &file.to_string_lossy()])
    }
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

/// Streams one reply, and returns the time of the last piece.
fn stream(listener: &TcpListener) -> Result<Instant> {
    let (mut socket, _) = listener.accept()?;
    socket.set_nodelay(true)?;
    std::io::Read::read(&mut socket, &mut [0; 1 << 16])?;
    write!(
        socket,
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    )?;
    let started = Instant::now();
    for piece in 0..PIECES {
        let word = match piece {
            0 => "first-piece ".to_owned(),
            _ if piece + 1 == PIECES => "last-piece".to_owned(),
            _ => format!("word{piece} "),
        };
        let data = format!(r#"data: {{"choices":[{{"index":0,"delta":{{"content":"{word}"}}}}]}}"#);
        write!(socket, "{:x}\r\n{data}\n\n\r\n", data.len() + 2)?;
        let due = started + Duration::from_secs(1) * (piece + 1) / PER_SECOND;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    let last = Instant::now();
    let end =
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    write!(socket, "{:x}\r\n{end}\r\n0\r\n\r\n", end.len())?;
    Ok(last)
}

/// CPU time of a process in milliseconds.
fn cpu_milliseconds(id: u32) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).context("cannot read /proc")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
    Ok((ticks(11).context("no utime")? + ticks(12).context("no stime")?) * 10.0)
}

/// A memory value from the status of a process, in megabytes.
fn memory_status(id: u32, name: &str) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).context("cannot read /proc")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    Ok(kilobytes.with_context(|| format!("no {name}"))? * 1024.0 / 1e6)
}
