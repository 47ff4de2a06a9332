//! An open session: its client, and the task that writes its events.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::poll;
use osier_engine::FollowedEvents;
use osier_protocol::client::AttachedState;
use osier_protocol::{
    Client, ClientCommand, ClientError, ClientEvent, CommandReply, LogPosition, OpenedSession,
    RequestedSession, SessionInfo,
};
use osier_wire::Outbox;
use tokio::sync::{Mutex, MutexGuard, mpsc, watch};
use tokio::task::JoinHandle;

use crate::pi_event::{Dialog, PiEvent};
use crate::translator::{ModelName, Translator};

/// How long a response waits for the events that belong before it. The reader may be slow.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(5);

/// An open session.
#[derive(Debug)]
pub(crate) struct RpcSession {
    pub(crate) info: SessionInfo,
    pub(crate) client: Arc<dyn Client>,
    pub(crate) translator: Mutex<Translator>,
    output: Outbox,
    /// What extensions ask of the server.
    requests: ExtensionRequests,
    progress: watch::Sender<EventProgress>,
    /// Prompts whose response is not sent yet. Their turn is announced after it.
    prompts_in_flight: watch::Sender<usize>,
    /// Held by a command until the agent has it, so that commands start in the order of their lines.
    pub(crate) order: Mutex<()>,
    writer: std::sync::Mutex<Option<JoinHandle<()>>>,
}

/// What an extension asks of the server.
#[derive(Debug)]
pub(crate) enum ExtensionRequest {
    Open(RequestedSession),
    Quit,
}

impl ExtensionRequest {
    fn of(event: &ClientEvent) -> Option<ExtensionRequest> {
        match event {
            ClientEvent::SessionRequested { session } => Some(ExtensionRequest::Open(session.clone())),
            ClientEvent::QuitRequested => Some(ExtensionRequest::Quit),
            _ => None,
        }
    }
}

pub(crate) type ExtensionRequests = mpsc::UnboundedSender<(Arc<RpcSession>, ExtensionRequest)>;

/// How far the events are written.
#[derive(Debug, Clone, Copy, Default)]
struct EventProgress {
    position: LogPosition,
    turn_running: bool,
    ended: bool,
}

/// A session whose events wait until commands reach it: a client that sees an event may act on it at once.
#[derive(Debug)]
pub(crate) struct UnstartedSession {
    pub(crate) session: Arc<RpcSession>,
    state: AttachedState,
    events: FollowedEvents,
}

impl UnstartedSession {
    pub(crate) async fn start(self) {
        let UnstartedSession { session, state, events } = self;
        session.write_state(state).await;
        let task = tokio::spawn(session.clone().write_events(events));
        *session.writer.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(task);
    }
}

impl RpcSession {
    /// Attaches to a session, whose events are written from [`UnstartedSession::start`] on. With `tagged`, they name the session.
    /// Its dialogs have higher numbers than `last_dialog`.
    pub(crate) async fn attach(
        opened: OpenedSession,
        tagged: bool,
        last_dialog: u64,
        output: Outbox,
        requests: ExtensionRequests,
    ) -> Result<UnstartedSession, ClientError> {
        let OpenedSession { info, client } = opened;
        let mut translator = Translator::new(tagged.then(|| info.id.to_string()));
        translator.dialogs.continue_after(last_dialog);
        let (details, status) = (client.model_details().await?, client.status().await?);
        let name = |model: &osier_protocol::query::ModelDescription| ModelName {
            api: model.api.clone(),
            provider: model.provider.clone(),
            id: model.id.clone(),
        };
        translator.models = details.usable.iter().chain([&details.current]).map(name).collect();
        translator.model = name(&details.current);
        status.thinking.name().clone_into(&mut translator.thinking_level);
        translator.name = status.name;
        let (state, events) = FollowedEvents::attach(client.clone()).await?;
        let progress =
            EventProgress { position: state.position, turn_running: state.turn_running, ended: false };
        let session = Arc::new(RpcSession {
            info,
            client,
            translator: Mutex::new(translator),
            output,
            requests,
            progress: watch::Sender::new(progress),
            prompts_in_flight: watch::Sender::new(0),
            order: Mutex::default(),
            writer: std::sync::Mutex::default(),
        });
        Ok(UnstartedSession { session, state, events })
    }

    /// Announces what already runs.
    async fn write_state(&self, state: AttachedState) {
        let mut translator = self.translator.lock().await;
        let mut lines = Vec::new();
        if state.turn_running {
            lines.extend(translator.handle(&ClientEvent::TurnStarted));
        }
        for draft in &state.drafts {
            let started = ClientEvent::DraftStarted { id: draft.id.clone(), off_path: draft.off_path };
            lines.extend(translator.handle(&started));
            for delta in &draft.deltas {
                let event = ClientEvent::DraftDelta {
                    id: draft.id.clone(),
                    index: 0,
                    delta: Arc::new(delta.clone()),
                };
                lines.extend(translator.handle(&event));
            }
        }
        for event in &state.running {
            lines.extend(translator.handle(event));
        }
        for question in &state.open_questions {
            translator.ask(question.id, &question.question, question.agent.as_deref());
        }
        if !state.returned_prompts.is_empty() {
            let texts: Vec<&str> = state.returned_prompts.iter().map(|prompt| prompt.text.as_str()).collect();
            let dialog = Dialog::SetEditorText { text: texts.join("\n\n") };
            let id = translator.dialogs.next_id();
            translator.emit(&PiEvent::ExtensionUiRequest { id, dialog, timeout: None });
        }
        lines.extend(translator.drain_lines());
        self.write(lines).await;
    }

    async fn write_events(self: Arc<Self>, mut events: FollowedEvents) {
        while let Ok(event) = events.next().await {
            if event == ClientEvent::TurnStarted {
                self.wait_for_prompts().await;
            }
            if let Some(request) = ExtensionRequest::of(&event) {
                // The server may have ended.
                let _ = self.requests.send((self.clone(), request));
            }
            let mut translator = self.translator.lock().await;
            let lines = translator.handle(&event);
            self.write(lines).await;
            drop(translator);
            self.progress.send_modify(|progress| {
                progress.position = events.position();
                match event {
                    ClientEvent::TurnStarted => progress.turn_running = true,
                    ClientEvent::TurnEnded { .. } => progress.turn_running = false,
                    _ => {}
                }
            });
        }
        self.progress.send_modify(|progress| progress.ended = true);
    }

    async fn write(&self, lines: Vec<String>) {
        for line in lines {
            // After the client has closed the output, nobody needs the events.
            let _ = self.output.send(line).await;
        }
    }

    /// Emits events outside the order of the session's own.
    pub(crate) async fn emit<T>(&self, change: impl FnOnce(&mut Translator) -> T) -> T {
        let mut translator = self.translator.lock().await;
        let result = change(&mut translator);
        let lines = translator.drain_lines();
        self.write(lines).await;
        result
    }

    /// Sends a command. As soon as the agent has it, the next one may start.
    pub(crate) async fn send_in_order(
        &self,
        order: CommandOrder<'_>,
        command: ClientCommand,
    ) -> Result<CommandReply, ClientError> {
        let mut sending = self.client.send(command);
        // The first step gives it to the agent.
        if let Poll::Ready(reply) = poll!(&mut sending) {
            return reply;
        }
        drop(order);
        sending.await
    }

    /// A response to a prompt is written before the events of its turn. The guard ends that.
    pub(crate) fn hold_turn(&self) -> TurnHold<'_> {
        self.prompts_in_flight.send_modify(|count| *count += 1);
        TurnHold(self)
    }

    async fn wait_for_prompts(&self) {
        let mut in_flight = self.prompts_in_flight.subscribe();
        let none = in_flight.wait_for(|count| *count == 0);
        // An extension may ask the user before the prompt is stored; the events must not wait for that.
        let _ = tokio::time::timeout(SETTLE_TIMEOUT, none).await;
    }

    /// Waits until the events of everything that has happened are written.
    pub(crate) async fn settle(&self) -> Result<(), ClientError> {
        let state = self.client.attach(None).await?.state;
        let is_reached = |progress: &EventProgress| {
            let has_entries = progress.position.entries >= state.position.entries;
            progress.ended || (has_entries && (state.turn_running || !progress.turn_running))
        };
        let mut progress = self.progress.subscribe();
        let _ = tokio::time::timeout(SETTLE_TIMEOUT, progress.wait_for(is_reached)).await;
        Ok(())
    }

    /// Stops writing events. The agent goes on.
    pub(crate) fn stop_events(&self) {
        drop(self.abort_writer());
    }

    /// Stops writing events, and waits until no more are written.
    pub(crate) async fn end_events(&self) {
        if let Some(task) = self.abort_writer() {
            // It was aborted, or has ended.
            let _ = task.await;
        }
    }

    fn abort_writer(&self) -> Option<JoinHandle<()>> {
        let writer = self.writer.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        writer.inspect(JoinHandle::abort)
    }
}

impl Drop for RpcSession {
    fn drop(&mut self) {
        self.stop_events();
    }
}

/// See [`RpcSession::order`]. `None` for a command that waits for no other.
pub(crate) type CommandOrder<'a> = Option<MutexGuard<'a, ()>>;

/// See [`RpcSession::hold_turn`].
#[derive(Debug)]
pub(crate) struct TurnHold<'a>(&'a RpcSession);

impl Drop for TurnHold<'_> {
    fn drop(&mut self) {
        self.0.prompts_in_flight.send_modify(|count| *count -= 1);
    }
}
