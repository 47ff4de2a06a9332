//! Requests of a client.

use std::sync::Arc;

use osier_protocol::{ClientError, EngineClient, OpenRequest, SessionQuery};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::latest_search::LatestSearch;
use super::sessions::{EventForwarder, OpenSessions, ServedSession};
use crate::frame::{ClientFrame, ServerFrame};
use crate::outbox::Outbox;

/// How many answers of one connection are in memory before they are queued. An answer may be as large as a session.
const MAX_ANSWERS: usize = 4;

/// What requests need.
#[derive(Debug, Clone)]
pub(super) struct RequestContext {
    pub(super) engine: Arc<dyn EngineClient>,
    pub(super) open: Arc<OpenSessions>,
    pub(super) outbox: Outbox,
    answers: Arc<Semaphore>,
}

/// The right to make an answer. It is kept until the answer is queued.
pub(super) type AnswerPermit = Option<OwnedSemaphorePermit>;

impl RequestContext {
    pub(super) fn new(engine: Arc<dyn EngineClient>, outbox: Outbox) -> RequestContext {
        let (open, answers) = (Arc::default(), Arc::new(Semaphore::new(MAX_ANSWERS)));
        RequestContext { engine, open, outbox, answers }
    }

    /// Waits until the answer to a request may be made. A client that does not read gets few answers, and no more of
    /// them are in memory. Commands do not wait: their replies are small, and they may run long.
    async fn permit_answer(&self) -> AnswerPermit {
        let permit = self.answers.clone().acquire_owned().await.ok();
        self.outbox.wait_for_room().await;
        permit
    }

    /// Handles a request. Returns the reply, unless a stream sends it. The permit lasts until the reply is sent.
    pub(super) async fn handle(
        &self,
        frame: ClientFrame,
        permit: &mut AnswerPermit,
    ) -> Result<Option<ServerFrame>, ClientError> {
        Ok(Some(match frame {
            ClientFrame::Open { id, open } => self.open(id, open).await?,
            ClientFrame::Call { id, request } => {
                *permit = self.permit_answer().await;
                ServerFrame::Called { id, reply: self.engine.call(request).await? }
            }
            ClientFrame::Send { id, session, command } => {
                ServerFrame::Sent { id, reply: self.open.find(session)?.client.send(command).await? }
            }
            ClientFrame::Query { id, session, query } => {
                let served = self.open.find(session)?;
                let is_search = matches!(query, SessionQuery::Search { .. });
                let ask = async {
                    *permit = self.permit_answer().await;
                    served.client.query(query).await
                };
                let answer = if is_search { served.search.run(ask).await? } else { ask.await? };
                ServerFrame::Answered { id, answer }
            }
            ClientFrame::Attach { id, session, after } => {
                // The stream exists before this waits, so that the client can end it.
                let (served, stream) = self.open.add_stream(id, session)?;
                *permit = self.permit_answer().await;
                let attached = stream.attach(&*served.client, after).await;
                let attached = attached.inspect_err(|_| self.open.remove(&stream))?;
                let outbox = self.outbox.clone();
                let forwarder =
                    EventForwarder { id, session_id: served.id, after, outbox, permit: permit.take() };
                self.open.start_stream(stream, forwarder, attached)?;
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
        let opening = self.open.reserve(id)?;
        let session = self.engine.open(request).await?.map(|opened| {
            let (id, client) = (opened.info.id.clone(), opened.client);
            opening.finish(ServedSession { id, client, search: LatestSearch::default() });
            opened.info
        });
        Ok(ServerFrame::Opened { id, session })
    }
}
