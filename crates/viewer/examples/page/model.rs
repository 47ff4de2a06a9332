//! A model server whose replies the program writes itself, word by word.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// See the module documentation.
pub(crate) struct ModelServer {
    port: u16,
    requests: Receiver<ModelReply>,
}

/// The reply to one request.
pub(crate) struct ModelReply {
    socket: TcpStream,
    request: Vec<u8>,
}

impl ModelServer {
    pub(crate) fn start() -> ModelServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (to, requests) = channel();
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                if let Some(reply) = accept(socket)
                    && to.send(reply).is_err()
                {
                    return;
                }
            }
        });
        ModelServer { port, requests }
    }

    /// Makes it the model of a home folder.
    pub(crate) fn configure(&self, home: &Path) {
        std::fs::create_dir_all(home).unwrap();
        let settings = format!(
            "model = \"demo/willow-2\"\n[providers.demo]\napi = \"openai-completions\"\nbase_url = \"http://127.0.0.1:{}/v1\"\n\
             api_key_env = \"DEMO_KEY\"\n[[providers.demo.models]]\nid = \"willow-2\"\nthinking = true\ncontext_window = 200000\n",
            self.port
        );
        std::fs::write(home.join("config.toml"), settings).unwrap();
    }

    pub(crate) fn next(&self) -> ModelReply {
        self.requests.recv_timeout(Duration::from_secs(60)).expect("a request arrives")
    }
}

/// Reads a request. `None` if the connection is not used.
fn accept(socket: TcpStream) -> Option<ModelReply> {
    socket.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(socket.try_clone().ok()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut request = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut request).ok()?;
    let mut reply = ModelReply { socket, request };
    reply.write(HEAD);
    Some(reply)
}

impl ModelReply {
    fn write(&mut self, text: &str) {
        let _ = self.socket.write_all(text.as_bytes());
    }

    /// Whether the request contains a text.
    pub(crate) fn is_about(&self, text: &str) -> bool {
        String::from_utf8_lossy(&self.request).contains(text)
    }

    fn send(&mut self, delta: &Value, finish: Option<&str>) {
        let chunk = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
        self.write(&format!("data: {chunk}\n\n"));
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.send(&json!({ "content": text }), None);
    }

    pub(crate) fn thinking(&mut self, text: &str) {
        self.send(&json!({ "reasoning_content": text }), None);
    }

    pub(crate) fn call(mut self, name: &str, arguments: &Value) {
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        self.send(&json!({ "tool_calls": [{ "index": 0, "id": "call_1", "type": "function", "function": function }] }), None);
        self.end("tool_calls");
    }

    pub(crate) fn end(&mut self, reason: &str) {
        self.send(&json!({}), Some(reason));
        let usage = json!({ "choices": [], "usage": { "prompt_tokens": 8_412, "completion_tokens": 356 } });
        self.write(&format!("data: {usage}\n\ndata: [DONE]\n\n"));
    }
}
