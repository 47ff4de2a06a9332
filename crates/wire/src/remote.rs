//! An engine at the other end of a connection. It implements the same traits as an engine in this process.
//!
//! A lost connection is made again. Requests that were sent before fail with `connection_lost`, because they may
//! or may not have run; nothing is sent twice. Streams of events end with `lagged`: the client attaches again with its position, and
//! misses no entry.

mod client;
mod connecting;
mod link;
mod stream;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use osier_protocol::{
    ClientError, EngineClient, EngineReply, EngineRequest, ErrorCode, OpenRequest, OpenedSession,
};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use self::client::RemoteClient;
pub use self::connecting::LinkStatus;
use self::connecting::{LinkState, keep_connected};
use self::link::{Link, LinkReply};
use crate::frame::{ClientFrame, ServerFrame};
use crate::transport::Transport;

/// Makes connections to one engine.
#[async_trait]
pub trait Connector: Send + Sync + fmt::Debug {
    /// Connects. After an error with the code `connection_lost` it is tried again; any other error is final.
    async fn connect(&self) -> Result<Transport, ClientError>;
}

/// How a client uses a connection.
#[derive(Debug, Clone)]
pub struct RemoteOptions {
    /// The name of the client, for the logs of the engine.
    pub client: String,
    /// The time between two `ping` frames to a silent engine. After three times as long, the connection is lost. `None` for
    /// pipes, whose end is always noticed.
    pub heartbeat: Option<Duration>,
    /// How long one attempt to connect may take.
    pub connect_timeout: Duration,
    /// The delay before the second attempt to connect again. It doubles up to `max_delay`.
    pub first_delay: Duration,
    pub max_delay: Duration,
    /// How long a request waits for a connection.
    pub wait: Duration,
}

impl Default for RemoteOptions {
    fn default() -> RemoteOptions {
        RemoteOptions {
            client: format!("osier {}", env!("CARGO_PKG_VERSION")),
            heartbeat: Some(Duration::from_secs(15)),
            connect_timeout: Duration::from_secs(10),
            first_delay: Duration::from_millis(250),
            max_delay: Duration::from_secs(5),
            wait: Duration::from_secs(20),
        }
    }
}

/// See the module documentation. Clones share the connection, which ends with the last of them and of their clients.
#[derive(Debug, Clone)]
pub struct RemoteEngine(Arc<SharedLink>);

/// The connection that an engine and its clients share.
#[derive(Debug)]
struct SharedLink {
    state: watch::Receiver<LinkState>,
    wait: Duration,
    _stop: DropGuard,
}

impl RemoteEngine {
    /// Connects to an engine.
    pub async fn connect(
        connector: Arc<dyn Connector>,
        options: RemoteOptions,
    ) -> Result<RemoteEngine, ClientError> {
        let (link, reader) = Link::connect(&*connector, &options).await?;
        let (state, watched) = watch::channel(LinkState::Up(link.clone()));
        let (stop, wait) = (CancellationToken::new(), options.wait);
        tokio::spawn(keep_connected(connector, options, link, reader, state, stop.clone()));
        Ok(RemoteEngine(Arc::new(SharedLink { state: watched, wait, _stop: stop.drop_guard() })))
    }

    /// Whether the engine is connected. It changes while the program runs.
    pub fn status(&self) -> LinkStatus {
        self.0.state.borrow().status()
    }

    /// The changes of the status. It does not keep the connection.
    pub fn watch(&self) -> LinkWatch {
        let mut state = self.0.state.clone();
        state.mark_unchanged();
        LinkWatch(state)
    }
}

/// The changes of a connection.
#[derive(Debug)]
pub struct LinkWatch(watch::Receiver<LinkState>);

impl LinkWatch {
    /// Waits for the next change. `None` when nobody uses the connection any more.
    pub async fn next(&mut self) -> Option<LinkStatus> {
        self.0.changed().await.ok()?;
        Some(self.0.borrow_and_update().status())
    }
}

impl SharedLink {
    /// The connection; waits for it if it is lost.
    async fn link(&self) -> Result<Arc<Link>, ClientError> {
        let mut state = self.state.clone();
        let is_decided = |state: &LinkState| !matches!(state, LinkState::Down { .. });
        let decided = match timeout(self.wait, state.wait_for(is_decided)).await {
            Ok(Ok(state)) => state.clone(),
            Ok(Err(_)) => return Err(not_sent("the connection is closed")),
            Err(_) => return Err(not_sent(&self.state.borrow().reason())),
        };
        match decided {
            LinkState::Up(link) => Ok(link),
            LinkState::Failed(error) => Err(error),
            LinkState::Down { error, .. } => Err(not_sent(&error)),
        }
    }
}

/// The error for a request that was not sent.
fn not_sent(reason: &str) -> ClientError {
    let message = format!("not connected to the engine, so the request was not sent: {reason}");
    ClientError::new(ErrorCode::ConnectionLost, message).with_facts(json!({ "sent": false }))
}

/// An engine that replies to another request than the one that was sent.
fn unexpected_reply() -> ClientError {
    ClientError::new(ErrorCode::InvalidFrame, "unexpected reply from the engine")
}

#[async_trait]
impl EngineClient for RemoteEngine {
    async fn call(&self, request: EngineRequest) -> Result<EngineReply, ClientError> {
        let link = self.0.link().await?;
        match link.request(|id| ClientFrame::Call { id, request }).await? {
            LinkReply::Frame(ServerFrame::Called { reply, .. }) => Ok(reply),
            _ => Err(unexpected_reply()),
        }
    }

    async fn open(&self, request: OpenRequest) -> Result<Option<OpenedSession>, ClientError> {
        let link = self.0.link().await?;
        match link.request(|id| ClientFrame::Open { id, open: request }).await? {
            LinkReply::Frame(ServerFrame::Opened { id, session: Some(info) }) => {
                let client = RemoteClient::new(self.0.clone(), info.session.clone(), &link, id);
                Ok(Some(OpenedSession { info, client: Arc::new(client) }))
            }
            LinkReply::Frame(ServerFrame::Opened { session: None, .. }) => Ok(None),
            _ => Err(unexpected_reply()),
        }
    }
}
