//! Limits that keep one client from using up the memory or the connections of a gateway.

use std::time::Duration;

/// See the module documentation.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections at the same time; more are closed at once.
    pub connections: usize,
    /// WebSockets at the same time.
    pub web_sockets: usize,
    /// Sessions of lost WebSockets that stay open for a while.
    pub held_sessions: usize,
    /// The size of a request body, in bytes.
    pub body_bytes: usize,
    /// The size of a WebSocket message, in bytes.
    pub frame_bytes: usize,
    /// How long a client may take to send the headers of a request, or for a TLS handshake.
    pub headers: Duration,
    /// How long a client may pause while it sends a body or receives a response, and between requests.
    pub pause: Duration,
    /// How long a request may take until its response starts. It may include a call to a model.
    pub request: Duration,
    /// How long closing may take.
    pub closing: Duration,
    /// The interval of heartbeats on a WebSocket. A client that misses three is disconnected.
    pub heartbeat: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 1024,
            web_sockets: 512,
            held_sessions: 256,
            body_bytes: 32 << 20,
            frame_bytes: 32 << 20,
            headers: Duration::from_secs(10),
            pause: Duration::from_secs(30),
            request: Duration::from_secs(600),
            closing: Duration::from_secs(5),
            heartbeat: Duration::from_secs(20),
        }
    }
}
