//! From a prompt to the request on the wire: runs `osier -p` on a long path, with a server that records when
//! the request arrives and how large it is.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use anyhow::{Context, Result};

use super::Bench;
use super::content::{START, WordPool, entry_id, iso, session_id};
use super::table::BenchRow;
use crate::rng::Rng;

/// A protocol, and the events of an answer with one word.
type Protocol = (&'static str, &'static [&'static str]);

const COMPLETIONS: Protocol = (
    "openai-completions",
    &[
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"yes"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        "[DONE]",
    ],
);
const OTHER_PROTOCOLS: [Protocol; 3] = [
    (
        "anthropic-messages",
        &[
            r#"{"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"yes"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}"#,
            r#"{"type":"message_stop"}"#,
        ],
    ),
    (
        "openai-responses",
        &[
            r#"{"type":"response.created","response":{"id":"r"}}"#,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"i","role":"assistant","content":[]}}"#,
            r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"yes"}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"i","role":"assistant","content":[{"type":"output_text","text":"yes"}]}}"#,
            r#"{"type":"response.completed","response":{"id":"r","status":"completed","usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}}"#,
        ],
    ),
    (
        "google-generative-ai",
        &[
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"yes"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}"#,
        ],
    ),
];

/// With fewer messages, starting the agent costs more than the request.
const COMPARED_MESSAGES: usize = 50_000;

/// A received request.
pub(super) struct ReceivedRequest {
    first_byte: Instant,
    whole: Instant,
    bytes: usize,
}

pub(super) fn rows(bench: &Bench) -> Vec<BenchRow> {
    let mut rows: Vec<BenchRow> =
        [10, 1_000, COMPARED_MESSAGES].map(|messages| bench.prompt(messages, COMPLETIONS)).into();
    rows.extend(OTHER_PROTOCOLS.map(|protocol| bench.prompt(COMPARED_MESSAGES, protocol)));
    rows
}

impl Bench {
    fn prompt(&self, messages: usize, protocol: Protocol) -> BenchRow {
        let mut row =
            BenchRow::new(&format!("prompt to wire, {}", protocol.0), &format!("{messages} messages"));
        let result = self.fill_prompt(&mut row, messages, protocol);
        row.with_result(result)
    }

    fn fill_prompt(&self, row: &mut BenchRow, messages: usize, (api, events): Protocol) -> Result<()> {
        let (port, requests) = start_server(events)?;
        let file = write_linear_session(&self.dir, messages)?;
        let (home, command) = self.prompt_command(port, api, &file)?;
        let mut best = (f64::INFINITY, f64::INFINITY, 0);
        for _ in 0..self.rounds {
            let _ = std::fs::remove_dir_all(home.join("cache"));
            let cold = self.cost(&mut command())?;
            requests.try_recv().context("no request arrived")?;
            let started = Instant::now();
            let warm = self.cost(&mut command())?;
            let received = requests.try_recv().context("no request arrived")?;
            let after = |moment: Instant| (moment - started).as_secs_f64() * 1000.0;
            best =
                (best.0.min(after(received.first_byte)), best.1.min(after(received.whole)), received.bytes);
            row.cold = Some(super::cases::least_of(row.cold.take(), cold));
            row.warm = Some(super::cases::least_of(row.warm.take(), warm));
        }
        self.compare_with_copying(row, messages, &file, best.2)?;
        row.add_note(&format!(
            "first byte after {:.1} ms, all {} KB after {:.1} ms wall time",
            best.0,
            best.2 / 1000,
            best.1
        ));
        Ok(())
    }
}

impl Bench {
    /// The floor: copying the same bodies out of the log, in a process that opens the session and does nothing else.
    fn compare_with_copying(
        &self,
        row: &mut BenchRow,
        messages: usize,
        file: &Path,
        body: usize,
    ) -> Result<()> {
        let mut floor = None;
        for _ in 0..=self.rounds {
            floor = Some(super::cases::least_of(
                floor.take(),
                self.cost(&mut self.osier.bench_open(file, "context"))?,
            ));
        }
        let (Some(floor), Some(warm)) = (floor, &row.warm) else { return Ok(()) };
        let ratio = warm.cpu_ms / floor.cpu_ms;
        let memory = (warm.peak_mb - floor.peak_mb) * 1e6 / body as f64;
        if messages < COMPARED_MESSAGES {
            return Ok(());
        }
        row.add_target(ratio <= 3.0, &format!("{ratio:.1}x of 3x copying ({:.1} ms)", floor.cpu_ms));
        row.add_target(memory <= 2.0, &format!("{memory:.1}x of 2x the body in memory"));
        Ok(())
    }

    /// A command that sends a prompt on a session to a server at this port, and the home folder that
    /// configures the server.
    pub(super) fn prompt_command(
        &self,
        port: u16,
        api: &str,
        file: &Path,
    ) -> Result<(PathBuf, impl Fn() -> Command)> {
        let home = self.dir.join("wire-home");
        std::fs::create_dir_all(&home)?;
        let config = format!(
            "[providers.bench]\napi = \"{api}\"\nbase_url = \"http://127.0.0.1:{port}/v1\"\n\
             [[providers.bench.models]]\nid = \"echo\"\ncontext_window = 1000000000\n"
        );
        std::fs::write(home.join("config.toml"), config)?;
        let (own, file) = (home.clone(), file.to_owned());
        let command = move || {
            let mut command = self.osier.command();
            command.env("OSIER_HOME", &own).args(["--model", "bench/echo", "-p", "Is it so?"]);
            command.arg("--session").arg(&file);
            command
        };
        Ok((home, command))
    }
}

/// A session with a single path of this many messages.
fn write_linear_session(dir: &Path, messages: usize) -> Result<PathBuf> {
    let file = dir.join(format!("talk-{messages}.jsonl"));
    let mut out = BufWriter::new(File::create(&file)?);
    let (mut rng, words) = (Rng::new(5), WordPool::new());
    let header = serde_json::json!({
        "type": "session", "version": 3, "id": session_id(messages as u64), "timestamp": iso(START), "cwd": dir,
    });
    writeln!(out, "{header}")?;
    for n in 0..messages {
        let parent =
            n.checked_sub(1).map_or_else(|| "null".to_owned(), |n| format!("\"{:08x}\"", entry_id(n)));
        let (role, text) = (["user", "assistant"][n % 2], words.text(&mut rng, 100));
        // Every reply reports the token count, so that Osier need not estimate it.
        let usage = if n % 2 == 1 {
            format!(
                r#""stopReason":"stop","usage":{{"input":{},"output":150,"cacheRead":0,"cacheWrite":0,"totalTokens":{}}},"#,
                n * 150,
                n * 150 + 150
            )
        } else {
            String::new()
        };
        writeln!(
            out,
            r#"{{"type":"message","id":"{:08x}","parentId":{parent},"timestamp":"{}","message":{{"role":"{role}","content":[{{"type":"text","text":"{text}"}}],{usage}"timestamp":{START}}}}}"#,
            entry_id(n),
            iso(START + n as u64 * 1000),
        )?;
    }
    out.flush()?;
    Ok(file)
}

fn start_server(events: &[&str]) -> Result<(u16, Receiver<ReceivedRequest>)> {
    let response: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let (sender, requests) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let _ = answer(stream, &response, &sender);
        }
    });
    Ok((port, requests))
}

fn answer(mut stream: TcpStream, response: &str, received: &Sender<ReceivedRequest>) -> Result<()> {
    // Send this first: after the response, the process may end and the test reads the channel.
    received.send(read_request(&stream)?)?;
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{response}",
        response.len()
    )?;
    Ok(())
}

pub(super) fn read_request(stream: &TcpStream) -> Result<ReceivedRequest> {
    let mut reader = BufReader::new(stream.try_clone()?);
    reader.fill_buf()?;
    let first_byte = Instant::now();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
        if line.is_empty() {
            break;
        }
    }
    std::io::copy(&mut reader.take(length), &mut std::io::sink())?;
    let whole = Instant::now();
    Ok(ReceivedRequest { first_byte, whole, bytes: length as usize })
}
