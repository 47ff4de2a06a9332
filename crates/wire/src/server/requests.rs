//! Requests of a client.

use std::sync::Arc;

use osier_protocol::{ClientError, EngineClient, OpenRequest};

use super::outbox::Outbox;
use super::sessions::{EventForwarder, OpenSessions, ServedSession};
use crate::frame::{ClientFrame, ServerFrame};

/// What requests need.
#[derive(Debug, Clone)]
pub(super) struct RequestContext {
    pub(super) engine: Arc<dyn EngineClient>,
    pub(super) open: Arc<OpenSessions>,
    pub(super) outbox: Outbox,
}

impl RequestContext {
    /// Handles a request. Returns the reply, unless a stream sends it.
    pub(super) async fn handle(&self, frame: ClientFrame) -> Result<Option<ServerFrame>, ClientError> {
        Ok(Some(match frame {
            ClientFrame::Open { id, open } => self.open(id, open).await?,
            ClientFrame::Call { id, request } => {
                ServerFrame::Called { id, reply: self.engine.call(request).await? }
            }
            ClientFrame::Send { id, session, command } => {
                ServerFrame::Sent { id, reply: self.open.find(session)?.client.send(command).await? }
            }
            ClientFrame::Query { id, session, query } => {
                ServerFrame::Answered { id, answer: self.open.find(session)?.client.query(query).await? }
            }
            ClientFrame::Attach { id, session, after } => {
                self.open.check_new(id)?;
                let served = self.open.find(session)?;
                let attached = served.client.attach(after).await?;
                let outbox = self.outbox.clone();
                let stream = EventForwarder { id, session_id: served.id, after, outbox };
                self.open.start_stream(stream, session, attached);
                return Ok(None);
            }
            ClientFrame::Hello { .. }
            | ClientFrame::Detach { .. }
            | ClientFrame::Close { .. }
            | ClientFrame::Ping
            | ClientFrame::Pong => return Ok(None),
        }))
    }

    async fn open(&self, id: u64, request: OpenRequest) -> Result<ServerFrame, ClientError> {
        self.open.check_new(id)?;
        let session = self.engine.open(request).await?.map(|opened| {
            let served = ServedSession { id: opened.info.id.clone(), client: opened.client };
            self.open.insert(id, served);
            opened.info
        });
        Ok(ServerFrame::Opened { id, session })
    }
}
