//! Hostile texts, and what would notice that one of them did something.
//!
//! In a case of `hostile.jsonl`, `RUN` is code that would be noticed, and `CANARY` an address that would be noticed.

use std::io::Read;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const CASES: &str = include_str!("hostile.jsonl");
const RUN: &str = "(window.__executed=1,document.title='executed',alert(1))";

/// A server that counts connections.
#[derive(Debug)]
pub struct Canary {
    pub port: u16,
    connections: Arc<AtomicUsize>,
}

impl Canary {
    /// # Panics
    /// If no port is free.
    pub fn start() -> Canary {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::SeqCst);
                let _ = stream.read(&mut [0; 64]);
            }
        });
        Canary { port, connections }
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The hostile texts.
    ///
    /// # Panics
    /// If a case is not a string of JSON.
    pub fn cases(&self) -> Vec<String> {
        let host = format!("127.0.0.1:{}", self.port);
        let fill = |case: String| {
            case.replace("RUN", RUN).replace("CANARYHOST", &host).replace("CANARY", &format!("http://{host}"))
        };
        CASES.lines().map(|line| fill(serde_json::from_str(line).expect("a string of JSON"))).collect()
    }
}
