//! Shared by the agent tests: a model server that the test controls, a process whose output is read while it runs, and a
//! terminal.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::{Value, json};

use crate::support::{CommandOutput, TestEnv};

/// The API key, which must never be shown or stored.
pub(crate) const KEY: &str = "sk-tesT0nly-4f1bd2c39e77";

/// A test that waits longer fails.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A server for the Chat Completions protocol. The test itself answers each request, word by word.
pub(crate) struct ModelServer {
    url: String,
    requests: Receiver<ModelRequest>,
}

/// A request that waits for its reply.
pub(crate) struct ModelRequest {
    pub(crate) body: Value,
    /// The raw body.
    pub(crate) text: String,
    pub(crate) head: String,
    socket: TcpStream,
    started: bool,
}

impl ModelServer {
    pub(crate) fn new() -> ModelServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (to, asked) = mpsc::channel();
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let Some(request) = ModelRequest::read(socket.unwrap()) else { continue };
                if to.send(request).is_err() {
                    return;
                }
            }
        });
        ModelServer { url, requests: asked }
    }

    /// A world whose model is this server.
    pub(crate) fn env(&self) -> TestEnv {
        let env = TestEnv::new();
        fs::create_dir_all(env.home()).unwrap();
        let settings = format!(
            "model = \"local/test\"\nretry.attempts = 1\n[providers.local]\napi = \"openai-completions\"\n\
             base_url = \"{}\"\napi_key_env = \"LOCAL_KEY\"\n[[providers.local.models]]\nid = \"test\"\n",
            self.url
        );
        fs::write(env.home().join("config.toml"), settings).unwrap();
        env
    }

    /// The next request.
    pub(crate) fn next_request(&self) -> ModelRequest {
        self.requests.recv_timeout(TEST_TIMEOUT).expect("a request arrives")
    }
}

impl ModelRequest {
    /// None if the connection ends before a request: clients may open one that they then do not need.
    fn read(socket: TcpStream) -> Option<ModelRequest> {
        socket.set_nodelay(true).unwrap();
        let mut reader = BufReader::new(socket.try_clone().unwrap());
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap() == 0 {
                assert!(head.is_empty(), "incomplete request");
                return None;
            }
        }
        let length =
            head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).unwrap();
        let text = String::from_utf8(body).unwrap();
        Some(ModelRequest {
            body: serde_json::from_str(&text).unwrap_or_default(),
            text,
            head,
            socket,
            started: false,
        })
    }

    fn send(&mut self, bytes: &str) {
        if !std::mem::replace(&mut self.started, true) {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
            self.socket.write_all(head.as_bytes()).unwrap();
        }
        // Some tests close the connection.
        let _ = self.socket.write_all(format!("{:x}\r\n{bytes}\r\n", bytes.len()).as_bytes());
    }

    fn send_choice(&mut self, delta: &Value, finish: Option<&str>) {
        let chunk = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
        self.send(&format!("data: {chunk}\n\n"));
    }

    /// Sends a piece of text.
    pub(crate) fn send_text(&mut self, text: &str) {
        self.send_choice(&json!({ "content": text }), None);
    }

    /// Sends a piece of thinking.
    #[allow(dead_code, reason = "only the tests of the page use it")]
    pub(crate) fn send_thinking(&mut self, text: &str) {
        self.send_choice(&json!({ "reasoning_content": text }), None);
    }

    /// Reports the token usage.
    pub(crate) fn send_usage(&mut self, input: u64, output: u64) {
        let usage = json!({ "prompt_tokens": input, "completion_tokens": output });
        self.send(&format!("data: {}\n\n", json!({ "choices": [], "usage": usage })));
    }

    pub(crate) fn send_call(&mut self, id: &str, name: &str, arguments: &Value) {
        self.send_raw_call(id, name, &arguments.to_string());
    }

    /// A call whose arguments are exactly this text.
    pub(crate) fn send_raw_call(&mut self, id: &str, name: &str, arguments: &str) {
        let function = json!({ "name": name, "arguments": arguments });
        let call = json!({ "index": 0, "id": id, "type": "function", "function": function });
        self.send_choice(&json!({ "tool_calls": [call] }), None);
    }

    /// More of the arguments of the call.
    #[allow(dead_code, reason = "only the tests of the page use it")]
    pub(crate) fn send_arguments(&mut self, arguments: &str) {
        let call = json!({ "index": 0, "function": { "arguments": arguments } });
        self.send_choice(&json!({ "tool_calls": [call] }), None);
    }

    pub(crate) fn finish(mut self, finish: &str) {
        self.send_choice(&json!({}), Some(finish));
        self.send("data: [DONE]\n\n");
        let _ = self.socket.write_all(b"0\r\n\r\n");
    }

    /// Closes the connection in the middle of the reply.
    pub(crate) fn disconnect(self) {
        self.socket.shutdown(std::net::Shutdown::Both).unwrap();
    }

    /// Sends a complete reply.
    pub(crate) fn reply(mut self, text: &str) {
        self.send_text(text);
        self.finish("stop");
    }

    /// Replies with one tool call.
    pub(crate) fn reply_with_call(mut self, name: &str, arguments: &Value) {
        self.send_call("call_1", name, arguments);
        self.finish("tool_calls");
    }

    /// Replies with several tool calls: ids, names, arguments.
    #[allow(dead_code, reason = "only the tests of the gateway use it")]
    pub(crate) fn reply_with_calls(mut self, calls: &[(&str, &str, Value)]) {
        for (index, (id, name, arguments)) in calls.iter().enumerate() {
            let function = json!({ "name": name, "arguments": arguments.to_string() });
            let call = json!({ "index": index, "id": id, "type": "function", "function": function });
            self.send_choice(&json!({ "tool_calls": [call] }), None);
        }
        self.finish("tool_calls");
    }

    pub(crate) fn refuse(mut self, status: u16, body: &str) {
        let head = format!(
            "HTTP/1.1 {status} No\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
            body.len()
        );
        self.socket.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes()).unwrap();
    }

    /// Waits until the client closes the connection.
    pub(crate) fn wait_for_disconnect(mut self) {
        self.socket.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        let gone = self.socket.read(&mut [0]);
        assert!(!matches!(&gone, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock), "{gone:?}");
    }

    /// The messages, each as `role: text`, without checkpoint markers.
    pub(crate) fn messages(&self) -> Vec<String> {
        let format_message = |message: &Value| {
            let text = match &message["content"] {
                Value::String(text) => without_checkpoint(text),
                Value::Array(blocks) => {
                    let texts = blocks.iter().filter_map(|block| block["text"].as_str());
                    texts.map(without_checkpoint).collect::<Vec<_>>().join(" ").trim_end().to_owned()
                }
                _ => String::new(),
            };
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            let calls: String =
                calls.map(|call| format!(" →{}", call["function"]["name"].as_str().unwrap())).collect();
            format!("{}: {text}{calls}", message["role"].as_str().unwrap())
        };
        let messages = self.body["messages"].as_array().unwrap();
        messages.iter().filter(|message| message["role"] != "system").map(format_message).collect()
    }
}

fn without_checkpoint(text: &str) -> String {
    let is_mark = |line: &&str| line.starts_with("<system>Checkpoint ") && line.ends_with("</system>");
    text.lines().filter(|line| !is_mark(line)).collect::<Vec<_>>().join("\n")
}

/// Text that is read while it arrives.
pub(crate) struct OutputReader {
    pieces: Receiver<Vec<u8>>,
    /// Everything so far, and how much of it was consumed.
    seen: Vec<u8>,
    consumed: usize,
}

impl OutputReader {
    pub(crate) fn new(mut from: impl Read + Send + 'static) -> OutputReader {
        let (to, pieces) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                if to.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        OutputReader { pieces, seen: Vec::new(), consumed: 0 }
    }

    /// Waits for a text, and returns everything up to its end.
    pub(crate) fn read_until(&mut self, text: &str) -> String {
        let found = self.find_until(text);
        found.unwrap_or_else(|| panic!("{text:?} is not in {:?}", String::from_utf8_lossy(&self.seen)))
    }

    /// Waits for a text, and returns everything up to its end. `None` if the output ends before.
    pub(crate) fn find_until(&mut self, text: &str) -> Option<String> {
        loop {
            let new = String::from_utf8_lossy(&self.seen[self.consumed..]).into_owned();
            if let Some(at) = new.find(text) {
                let end = at + text.len();
                self.consumed += end;
                return Some(new[..end].to_owned());
            }
            match self.pieces.recv_timeout(TEST_TIMEOUT) {
                Ok(piece) => self.seen.extend(piece),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("{text:?} did not arrive in {:?}", String::from_utf8_lossy(&self.seen))
                }
            }
        }
    }

    /// Waits for the end, and returns everything that was not consumed.
    pub(crate) fn read_to_end(&mut self) -> String {
        while let Ok(piece) = self.pieces.recv_timeout(TEST_TIMEOUT) {
            self.seen.extend(piece);
        }
        String::from_utf8_lossy(&self.seen[self.consumed..]).into_owned()
    }
}

/// The memory of a program after each batch of the same work, in kilobytes.
#[derive(Default)]
pub(crate) struct MemoryGrowth(Vec<usize>);

impl MemoryGrowth {
    /// How much a batch may add when nothing is kept: what the allocator needs.
    const NOISE: usize = 1 << 10;
    /// A program whose memory still grows after so many batches keeps something of each.
    const MAX_BATCHES: usize = 12;

    /// Whether the last batch needed no more memory than those before it.
    pub(crate) fn is_flat_at(&mut self, memory: usize) -> bool {
        let last = self.0.last().copied();
        self.0.push(memory);
        assert!(self.0.len() <= MemoryGrowth::MAX_BATCHES, "the memory grows: {:?} kB", self.0);
        let is_flat = last.is_some_and(|last| memory <= last + MemoryGrowth::NOISE);
        if is_flat {
            println!("memory after each batch: {:?} kB", self.0);
        }
        is_flat
    }
}

/// A running command.
pub(crate) struct RunningCommand {
    pub(crate) child: Child,
    pub(crate) out: OutputReader,
    err: OutputReader,
}

impl RunningCommand {
    pub(crate) fn start(mut command: Command) -> RunningCommand {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = OutputReader::new(child.stdout.take().unwrap());
        let err = OutputReader::new(child.stderr.take().unwrap());
        RunningCommand { child, out, err }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).unwrap();
    }

    /// Waits for the end, and returns the output that was not consumed.
    pub(crate) fn wait(mut self) -> CommandOutput {
        let (out, err) = (self.out.read_to_end(), self.err.read_to_end());
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        CommandOutput { code, out, err }
    }
}

/// A command on a pseudo-terminal.
pub(crate) struct TerminalCommand {
    child: Child,
    master: File,
    screen: OutputReader,
}

impl TerminalCommand {
    pub(crate) fn start(mut command: Command) -> TerminalCommand {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let terminal = File::options().read(true).write(true).open(name).unwrap();
        tcsetwinsize(&master, Winsize { ws_row: 24, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        command.stdin(terminal.try_clone().unwrap()).stdout(terminal.try_clone().unwrap()).stderr(terminal);
        let child = command.env("NO_COLOR", "1").spawn().unwrap();
        // The command holds copies of the terminal; drop them so that reading ends with the child.
        drop(command);
        let master = File::from(master);
        let screen = OutputReader::new(master.try_clone().unwrap());
        TerminalCommand { child, master, screen }
    }

    pub(crate) fn type_in(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn read_until(&mut self, text: &str) -> String {
        self.screen.read_until(text).replace("\r\n", "\n")
    }

    pub(crate) fn wait(mut self) -> (i32, String) {
        let rest = self.screen.read_to_end().replace("\r\n", "\n");
        (self.child.wait().unwrap().code().unwrap_or(-1), rest)
    }
}

/// A failed test leaves no process behind.
impl Drop for TerminalCommand {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

/// `osier` with arguments, and with the key in its environment.
pub(crate) fn osier_command(env: &TestEnv, args: &[&str]) -> Command {
    let mut command = env.command();
    command.env("LOCAL_KEY", KEY).args(args);
    command
}

/// The contents of all files in the home folder.
pub(crate) fn home_contents(env: &TestEnv) -> String {
    let files = crate::support::files_in(&env.home());
    files.iter().map(|file| String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned()).collect()
}
