//! Streaming replies: the delay until a received word is printed, the CPU cost per piece in a short and in a
//! long session, and the memory of an idle session.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::Bench;
use super::table::BenchRow;
use super::wire::read_request;

/// The number of pieces whose cost is measured.
const PIECES: usize = 10_000;
/// The number of words that are timed individually.
const WORDS: usize = 30;
/// How long a process needs to become idle.
const SETTLE_TIME: Duration = Duration::from_millis(300);

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
const END: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

pub(super) fn rows(bench: &Bench) -> Vec<BenchRow> {
    let long = bench.files.compacted.get(1).unwrap_or(&bench.files.plain);
    let small = &bench.files.small;
    vec![
        bench.row("word to screen", small, Bench::fill_words),
        bench.row("piece of an answer", small, Bench::fill_pieces),
        bench.row("piece of an answer", long, Bench::fill_pieces),
        bench.row("memory of an idle session", small, Bench::fill_idle),
        bench.row("memory of an idle session", long, Bench::fill_idle),
    ]
}

impl Bench {
    fn row(&self, case: &str, file: &Path, fill: fn(&Bench, &mut BenchRow, &Path) -> Result<()>) -> BenchRow {
        let size = super::megabytes(file).unwrap_or_default();
        let mut row = BenchRow::new(case, &size);
        let copy = self.dir.join("speaking.jsonl");
        let result = std::fs::copy(file, &copy).map_err(Into::into).and_then(|_| fill(self, &mut row, &copy));
        row.with_result(result)
    }

    /// From writing a word to the socket until it can be read from stdout.
    fn fill_words(&self, row: &mut BenchRow, file: &Path) -> Result<()> {
        let (mut first, mut later) = (f64::INFINITY, Vec::new());
        for _ in 0..self.rounds {
            let (port, server) = StreamServer::start()?;
            let (_, command) = self.prompt_command(port, "openai-completions", file)?;
            let mut child = StreamedProcess::start(command().arg("--no-tools"))?;
            server.wait_for_request()?;
            std::thread::sleep(SETTLE_TIME);
            for at in 0..WORDS {
                let word = format!("w{at:02} ");
                let sent = Instant::now();
                server.send(&piece(&word))?;
                child.wait_for(word.trim_end())?;
                let ms = sent.elapsed().as_secs_f64() * 1000.0;
                if at == 0 {
                    first = first.min(ms);
                } else {
                    later.push(ms);
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            server.send(END)?;
            drop(server);
            child.wait_for_end()?;
        }
        later.sort_by(f64::total_cmp);
        let middle = later[later.len() / 2];
        row.add_target(
            first.max(middle) < 2.0,
            &format!("first word {first:.2} ms, others {middle:.2} ms (< 2 ms)"),
        );
        Ok(())
    }

    fn fill_pieces(&self, row: &mut BenchRow, file: &Path) -> Result<()> {
        let (mut few, mut many) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..self.rounds {
            let cpu = |pieces: usize| -> Result<f64> {
                let (port, server) = StreamServer::start()?;
                let (_, command) = self.prompt_command(port, "openai-completions", file)?;
                let sender = std::thread::spawn(move || -> Result<()> {
                    server.wait_for_request()?;
                    (0..pieces).try_for_each(|_| server.send(&piece("word ")))?;
                    server.send(END)
                });
                let cost = self.cost(command().arg("--no-tools"))?;
                sender.join().map_err(|_| anyhow::anyhow!("the server panicked"))??;
                Ok(cost.cpu_ms)
            };
            few = few.min(cpu(1)?);
            many = many.min(cpu(PIECES + 1)?);
        }
        let per_piece = (many - few) * 1000.0 / PIECES as f64;
        row.add_note(&format!("{per_piece:.1} µs of CPU for each piece; must not grow with the session"));
        Ok(())
    }

    /// Memory while waiting for the model.
    fn fill_idle(&self, row: &mut BenchRow, file: &Path) -> Result<()> {
        let (port, server) = StreamServer::start()?;
        let (_, command) = self.prompt_command(port, "openai-completions", file)?;
        let child = StreamedProcess::start(&mut command())?;
        server.wait_for_request()?;
        std::thread::sleep(SETTLE_TIME);
        let memory = resident(child.id());
        server.send(&piece("yes"))?;
        server.send(END)?;
        drop(server);
        child.wait_for_end()?;
        // The heads of a long log are in memory.
        let limit = if std::fs::metadata(file)?.len() > 100_000_000 { 30.0 } else { 25.0 };
        match memory {
            Some(mb) => row.add_target(mb < limit, &format!("{mb:.1} MB resident (< {limit} MB)")),
            None => row.add_note("not available on this system"),
        }
        Ok(())
    }
}

fn piece(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

/// The resident memory of a process in megabytes.
fn resident(pid: u32) -> Option<f64> {
    let status = std::fs::read_to_string(PathBuf::from("/proc").join(pid.to_string()).join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes * 1024.0 / 1e6)
}

/// Answers one request with text that the test provides step by step.
struct StreamServer {
    requests: Receiver<Result<TcpStream>>,
    socket: std::sync::OnceLock<TcpStream>,
}

impl StreamServer {
    fn start() -> Result<(u16, StreamServer)> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let (to, heard): (Sender<Result<TcpStream>>, _) = channel();
        std::thread::spawn(move || {
            let asked = listener.accept().map_err(Into::into).and_then(|(stream, _)| {
                stream.set_nodelay(true)?;
                read_request(&stream)?;
                Ok(stream)
            });
            let _ = to.send(asked);
        });
        Ok((port, StreamServer { requests: heard, socket: std::sync::OnceLock::new() }))
    }

    /// Waits for the request, and starts the response.
    fn wait_for_request(&self) -> Result<()> {
        let mut socket =
            self.requests.recv_timeout(Duration::from_secs(60)).context("no request arrived")??;
        socket.write_all(HEAD.as_bytes())?;
        self.socket.set(socket).map_err(|_| anyhow::anyhow!("the server answers only one request"))
    }

    fn send(&self, text: &str) -> Result<()> {
        let mut socket = self.socket.get().context("no request yet")?;
        Ok(socket.write_all(text.as_bytes())?)
    }
}

/// A process whose output is read as it arrives.
struct StreamedProcess {
    child: Child,
    seen: String,
}

impl StreamedProcess {
    fn start(command: &mut Command) -> Result<StreamedProcess> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        Ok(StreamedProcess { child, seen: String::new() })
    }

    fn id(&self) -> u32 {
        self.child.id()
    }

    fn wait_for(&mut self, word: &str) -> Result<()> {
        let out = self.child.stdout.as_mut().context("stdout is not piped")?;
        let mut buffer = [0; 4096];
        while !self.seen.contains(word) {
            match out.read(&mut buffer)? {
                0 => bail!("osier ended before it printed {word}"),
                count => self.seen.push_str(&String::from_utf8_lossy(&buffer[..count])),
            }
        }
        Ok(())
    }

    fn wait_for_end(mut self) -> Result<()> {
        let mut rest = Vec::new();
        if let Some(out) = self.child.stdout.as_mut() {
            out.read_to_end(&mut rest)?;
        }
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { bail!("osier failed ({status})") }
    }
}
