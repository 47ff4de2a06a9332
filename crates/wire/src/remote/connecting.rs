//! Keeps an engine connected: reads its frames, notices when the connection is lost, and connects again.

use std::sync::Arc;

use futures_util::StreamExt;
use osier_protocol::{ClientError, ErrorCode};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::link::{Link, LinkReader};
use super::{Connector, RemoteOptions};
use crate::frame::ClientFrame;
use crate::heartbeat::Silence;

/// The connection as its users see it.
#[derive(Debug, Clone)]
pub(super) enum LinkState {
    Up(Arc<Link>),
    /// It is lost, and made again.
    Down {
        attempt: u32,
        error: String,
    },
    /// It cannot be made again.
    Failed(ClientError),
}

/// Whether an engine is connected.
#[derive(Debug, Clone, PartialEq)]
pub enum LinkStatus {
    Connected,
    /// The connection is lost, and made again.
    Reconnecting {
        attempt: u32,
        /// Why the last attempt failed.
        error: String,
    },
    /// It cannot be made again.
    Failed(ClientError),
}

impl LinkState {
    pub(super) fn status(&self) -> LinkStatus {
        match self {
            LinkState::Up(_) => LinkStatus::Connected,
            LinkState::Down { attempt, error } => {
                LinkStatus::Reconnecting { attempt: *attempt, error: error.clone() }
            }
            LinkState::Failed(error) => LinkStatus::Failed(error.clone()),
        }
    }

    /// Why there is no connection.
    pub(super) fn reason(&self) -> String {
        match self {
            LinkState::Up(_) => String::new(),
            LinkState::Down { error, .. } => error.clone(),
            LinkState::Failed(error) => error.to_string(),
        }
    }
}

/// Runs until the last user of the connection is gone, or until it cannot be made again.
pub(super) async fn keep_connected(
    connector: Arc<dyn Connector>,
    options: RemoteOptions,
    mut link: Arc<Link>,
    mut reader: LinkReader,
    state: watch::Sender<LinkState>,
    stop: CancellationToken,
) {
    loop {
        let is_stopped = tokio::select! {
            () = read_frames(&link, &mut reader) => false,
            () = stop.cancelled() => true,
        };
        if is_stopped {
            return link.close();
        }
        // Users must see the loss before their requests fail.
        state.send_replace(LinkState::Down { attempt: 0, error: "the connection was lost".to_owned() });
        link.close();
        let connected = tokio::select! {
            connected = connect_again(&*connector, &options, &state) => connected,
            () = stop.cancelled() => return,
        };
        match connected {
            Ok(connected) => (link, reader) = connected,
            Err(error) => {
                state.send_replace(LinkState::Failed(error));
                return;
            }
        }
        state.send_replace(LinkState::Up(link.clone()));
    }
}

/// Reads frames until the connection is lost.
async fn read_frames(link: &Link, reader: &mut LinkReader) {
    let LinkReader { frames, heartbeat } = reader;
    loop {
        tokio::select! {
            frame = frames.next() => match frame {
                Some(frame) => {
                    link.receive(frame);
                    heartbeat.reset();
                }
                None => return,
            },
            silence = heartbeat.wait_for_silence() => match silence {
                Silence::Ask => link.notify(&ClientFrame::Ping),
                Silence::Gone => return,
            },
        }
    }
}

/// Tries to connect until it succeeds, or until an error is final.
async fn connect_again(
    connector: &dyn Connector,
    options: &RemoteOptions,
    state: &watch::Sender<LinkState>,
) -> Result<(Arc<Link>, LinkReader), ClientError> {
    let (mut attempt, mut delay) = (1, options.first_delay);
    loop {
        match Link::connect(connector, options).await {
            Err(error) if error.code == ErrorCode::ConnectionLost => {
                state.send_replace(LinkState::Down { attempt, error: error.message });
            }
            decided => return decided,
        }
        tokio::time::sleep(delay).await;
        (attempt, delay) = (attempt + 1, (delay * 2).min(options.max_delay));
    }
}
