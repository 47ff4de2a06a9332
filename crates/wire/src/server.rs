//! An engine at one end of a connection. Requests run at the same time; the events of a session keep their order. A client
//! that does not read stops only itself: its queue is bounded, and its streams end with `lagged`.

mod answers;
mod connection;
mod held_sessions;
mod latest_search;
mod requests;
mod sessions;

use std::sync::Arc;
use std::time::Duration;

use osier_protocol::EngineClient;
use tokio_util::sync::CancellationToken;

use self::connection::Connection;
pub use self::held_sessions::HeldSessions;
use crate::transport::Transport;

/// How an engine serves a connection.
#[derive(Debug, Clone, Default)]
pub struct ServeOptions {
    /// The time between two `ping` frames to a silent client. After three times as long, the connection is closed. `None` for
    /// pipes, whose end is always noticed. While a client does not read, its silence does not count, because nothing is read
    /// from it either: the transport must fail when writing does not progress.
    pub heartbeat: Option<Duration>,
    /// Where the sessions go after the connection broke, so that the client can connect again. `None` closes them.
    pub held_sessions: Option<HeldSessions>,
    /// The client may stop sending and still read, as with pipes: requests that run are answered. Those that take too long
    /// are canceled first.
    pub has_half_close: bool,
    /// Ends the connection when it is canceled. Requests that run are finished and answered.
    pub stop: CancellationToken,
}

/// Serves one client until its connection ends. Its attachments end with it; what runs in its sessions goes on.
pub async fn serve(engine: Arc<dyn EngineClient>, transport: Transport, options: ServeOptions) {
    let Transport { reader, writer, received } = transport;
    Connection::new(engine, writer, received, options).run(reader).await;
}
