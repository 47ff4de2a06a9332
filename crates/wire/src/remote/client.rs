//! The client of a session behind a connection. After the connection was lost, it opens the session again.

use std::sync::Arc;
use std::task::Poll;

use async_trait::async_trait;
use futures_util::poll;
use osier_protocol::{
    Attached, Client, ClientCommand, ClientError, CommandReply, LogPosition, OpenRequest, OpenTarget,
    QueryAnswer, SessionQuery, SessionRef,
};
use tokio::sync::Mutex;

use super::link::{Link, LinkReply};
use super::{SharedLink, unexpected_reply};
use crate::frame::{ClientFrame, ServerFrame};

/// See the module documentation.
#[derive(Debug)]
pub struct RemoteClient {
    shared: Arc<SharedLink>,
    session: SessionRef,
    /// Locked while the session is opened again.
    opened: Mutex<Arc<OpenedOnLink>>,
    /// Held by a command until it is sent, so that those that wait for a connection keep their order.
    order: Mutex<()>,
}

/// The session on one connection. It stays open as long as its client or one of its streams.
#[derive(Debug)]
pub(super) struct OpenedOnLink {
    pub(super) link: Arc<Link>,
    /// The id of the request that opened it.
    id: u64,
    /// Keeps the connection.
    _shared: Arc<SharedLink>,
}

impl Drop for OpenedOnLink {
    fn drop(&mut self) {
        self.link.notify(&ClientFrame::Close { session: self.id });
    }
}

impl RemoteClient {
    pub(super) fn new(
        shared: Arc<SharedLink>,
        session: SessionRef,
        link: &Arc<Link>,
        id: u64,
    ) -> RemoteClient {
        let opened = OpenedOnLink { link: link.clone(), id, _shared: shared.clone() };
        RemoteClient { shared, session, opened: Mutex::new(Arc::new(opened)), order: Mutex::default() }
    }

    /// The session on the current connection.
    async fn opened(&self) -> Result<Arc<OpenedOnLink>, ClientError> {
        // Not in the lock: requests wait for the connection at the same time.
        let link = self.shared.link().await?;
        let mut opened = self.opened.lock().await;
        if opened.link.is_closed() {
            let id = self.open_again(&link).await?;
            *opened = Arc::new(OpenedOnLink { link, id, _shared: self.shared.clone() });
        }
        Ok(opened.clone())
    }

    async fn open_again(&self, link: &Arc<Link>) -> Result<u64, ClientError> {
        let target = OpenTarget::Listed { session: self.session.clone() };
        let open = OpenRequest { target, leaving: None };
        match link.request(|id| ClientFrame::Open { id, open }).await? {
            LinkReply::Frame(ServerFrame::Opened { id, session: Some(_) }) => Ok(id),
            _ => Err(unexpected_reply()),
        }
    }
}

#[async_trait]
impl Client for RemoteClient {
    async fn send(&self, command: ClientCommand) -> Result<CommandReply, ClientError> {
        let order = self.order.lock().await;
        let opened = self.opened().await?;
        let session = opened.id;
        let mut reply = std::pin::pin!(opened.link.request(|id| ClientFrame::Send { id, session, command }));
        // The first step sends it.
        let replied = match poll!(&mut reply) {
            Poll::Ready(replied) => replied,
            Poll::Pending => {
                drop(order);
                reply.await
            }
        };
        match replied? {
            LinkReply::Frame(ServerFrame::Sent { reply, .. }) => Ok(reply),
            _ => Err(unexpected_reply()),
        }
    }

    async fn query(&self, query: SessionQuery) -> Result<QueryAnswer, ClientError> {
        let opened = self.opened().await?;
        let session = opened.id;
        match opened.link.request(|id| ClientFrame::Query { id, session, query }).await? {
            LinkReply::Frame(ServerFrame::Answered { answer, .. }) => Ok(answer),
            _ => Err(unexpected_reply()),
        }
    }

    async fn attach(&self, after: Option<LogPosition>) -> Result<Attached, ClientError> {
        let opened = self.opened().await?;
        let session = opened.id;
        match opened.link.request(|id| ClientFrame::Attach { id, session, after }).await? {
            LinkReply::Attached(state, events) => Ok(Attached { state, events: events.into_stream(opened) }),
            LinkReply::Frame(_) => Err(unexpected_reply()),
        }
    }
}
