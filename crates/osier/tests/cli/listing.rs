//! A server that lists models. It always sends the same response, and records all requests.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A server that lists models. See the module documentation.
pub(crate) struct ModelListServer {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<String>>>,
}

impl ModelListServer {
    /// Sends this response to every request.
    pub(crate) fn new(status: u16, body: &str) -> ModelListServer {
        let answer = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        ModelListServer::with(Some(answer))
    }

    /// Lists models with these names.
    pub(crate) fn with_models(models: &[&str]) -> ModelListServer {
        let models: Vec<_> =
            models.iter().map(|id| serde_json::json!({ "id": id, "meta": { "n_ctx": 4096 } })).collect();
        ModelListServer::new(200, &serde_json::json!({ "data": models }).to_string())
    }

    /// Accepts connections and never responds.
    pub(crate) fn silent() -> ModelListServer {
        ModelListServer::with(None)
    }

    fn with(answer: Option<String>) -> ModelListServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let received: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = received.clone();
        std::thread::spawn(move || {
            let mut kept = Vec::new();
            for socket in listener.incoming().map_while(Result::ok) {
                log.lock().unwrap().push(head(&socket));
                match &answer {
                    Some(answer) => drop((&socket).write_all(answer.as_bytes())),
                    None => kept.push(socket),
                }
            }
        });
        ModelListServer { url, received }
    }

    /// The requests, each with its headers. A connection without a request counts too.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.received.lock().unwrap().clone()
    }
}

fn head(socket: &TcpStream) -> String {
    let mut head = String::new();
    let mut reader = BufReader::new(socket);
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).is_ok_and(|count| count > 0) {}
    head
}
