//! The agent loop of a session: one task handles commands in order, with at most one turn and one shell
//! command running next to it. It keeps no conversation of its own.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;

use osier_model::CancellationToken;
use osier_protocol::{
    Attached, ClientCommand, ClientEvent, CommandReply, EndedTurn, ExtensionInput, LogPosition, Prompt,
    PromptQueue, PromptTiming, TurnOutcome,
};
use osier_session::{Cursor, Session};
use osier_tools::user_bash::UserCommand;
use osier_tree::Place;
use serde_json::{Map, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinError, JoinHandle};
use tracing::Instrument;

use crate::agent_handle::AgentHandle;
use crate::config::AgentConfig;
use crate::context::AgentContext;
use crate::error::AgentError;
use crate::exclusive::{is_exclusive, is_undo_or_redo, stops_turn};
use crate::hooks::{HookEvent, RequestPurpose};
use crate::live_events::ClientId;
use crate::marks::is_mark;
use crate::model_choice::ModelChoice;
use crate::queue::{QueueKind, into_prompts};
use crate::request::PreparedRequest;
use crate::side_state::SideState;
use crate::turn::{ExpectedLeaf, ReplySender, Turn, TurnResult, TurnStart};

/// The reply to a command that the loop has.
pub(crate) type ReplyReceiver = oneshot::Receiver<Result<CommandReply, AgentError>>;

/// A handle to an agent loop. Clones share the loop, which ends when the last handle is dropped.
#[derive(Debug, Clone)]
pub struct Worker {
    pub(crate) agent: Arc<AgentContext>,
    pub(crate) mailbox: mpsc::UnboundedSender<WorkerMessage>,
}

/// A message to the loop.
#[derive(Debug)]
pub(crate) enum WorkerMessage {
    Command(ClientCommand, ReplySender),
    /// Record the model and thinking level that were chosen without a command.
    RecordChoice(ReplySender),
    /// Answer as soon as nothing runs.
    WhenIdle(oneshot::Sender<()>),
    /// Stop what runs, and keep the queue for the next process.
    Stop(oneshot::Sender<()>),
}

impl Worker {
    /// Starts an agent on the session's main cursor, which all clients of this process share. Writes nothing.
    pub async fn start(session: Session, config: AgentConfig) -> Result<Worker, AgentError> {
        Worker::start_at(session.main_cursor(), config).await
    }

    /// Starts an agent on its own cursor.
    pub async fn start_at(cursor: Cursor, mut config: AgentConfig) -> Result<Worker, AgentError> {
        config.tool_context.session_id = cursor.session().id().to_owned();
        let agent = Arc::new(AgentContext::new(cursor, config));
        agent.read_returned_prompts().await?;
        let (mailbox, messages) = mpsc::unbounded_channel();
        tokio::spawn(WorkerLoop::new(agent.clone()).run(messages));
        let worker = Worker { agent, mailbox };
        // It is set only here.
        let _ = worker.agent.worker.set(worker.downgrade());
        Ok(worker)
    }

    pub fn session(&self) -> &Session {
        &self.agent.session
    }

    pub fn config(&self) -> &AgentConfig {
        &self.agent.config
    }

    /// The model and thinking level in use at the cursor. Writes nothing.
    pub async fn model_choice(&self) -> Result<ModelChoice, AgentError> {
        self.agent.model_choice().await
    }

    /// The request that a turn would send from this position. Writes nothing.
    pub async fn request_at(&self, at: Place) -> Result<PreparedRequest, AgentError> {
        let state = self.agent.session.state();
        let choice = self.agent.model_choice_at(&state, at).await?;
        let (purpose, cancel) = (RequestPurpose::Reply, CancellationToken::new());
        let prepared = self.agent.request_at(state, at, choice, &cancel).await?.expect("nothing cancels it");
        let request = self.agent.ask_before_request(prepared.request.clone(), purpose, &cancel).await;
        Ok(PreparedRequest { request: request.unwrap_or(prepared.request), ..prepared })
    }

    /// The files read and the to-do list at the cursor.
    pub async fn side_state(&self) -> Result<SideState, AgentError> {
        self.agent.side_state().await
    }

    /// What tools of the engine use while they run in a turn. It does not keep the agent alive.
    pub fn handle(&self) -> AgentHandle {
        AgentHandle::new(&self.agent)
    }

    pub fn cursor(&self) -> &Cursor {
        &self.agent.cursor
    }

    /// Stops all running work, and stores pending results and the cost of failed requests. For the end of the
    /// process, which does not wait for the loop to end.
    pub async fn finish(&self) -> Result<(), AgentError> {
        let (reply, stopped) = oneshot::channel();
        // If the loop has ended, nothing runs.
        let _ = self.mailbox.send(WorkerMessage::Stop(reply));
        let _ = stopped.await;
        self.agent.announce_end().await;
        self.agent.store_unstored().await?;
        self.agent.store_unrecorded_usage().await
    }

    /// Whether results are only in memory, because the store is unavailable.
    pub fn has_unstored_results(&self) -> bool {
        self.agent.has_unstored()
    }

    /// Sends a command and waits for the reply. Hooks are asked about prompts, and observe a choice of model or thinking
    /// level, in the caller's task.
    pub async fn send(&self, command: ClientCommand) -> Result<CommandReply, AgentError> {
        if self.agent.hooks().is_some() {
            return self.send_with_hooks(command).await;
        }
        self.post(command)?.await.map_err(|_| AgentError::Closed)?
    }

    /// Like [`Worker::send`], for a client. If the command is an action of its user, what extensions ask of a client from now on
    /// goes to this one.
    pub async fn send_as(
        &self,
        client: ClientId,
        command: ClientCommand,
    ) -> Result<CommandReply, AgentError> {
        // One that sends a single command and receives no events could not do what it is asked.
        if is_user_action(&command) && self.agent.live.clients.contains(client) {
            self.agent.state().active_client = Some(client);
        }
        self.send(command).await
    }

    /// Gives a command to the loop.
    pub(crate) fn post(&self, command: ClientCommand) -> Result<ReplyReceiver, AgentError> {
        let (reply, answer) = oneshot::channel();
        self.mailbox.send(WorkerMessage::Command(command, reply)).map_err(|_| AgentError::Closed)?;
        Ok(answer)
    }

    /// Waits until nothing runs: no turn, no shell command, no move or summary, and nothing that waits for the store. A turn
    /// that asks the user a question runs until a client answers it.
    pub async fn wait_until_idle(&self) {
        let (reply, idle) = oneshot::channel();
        // If the loop has ended, nothing runs.
        let _ = self.mailbox.send(WorkerMessage::WhenIdle(reply));
        let _ = idle.await;
    }

    /// Attaches a client: returns the current state, and a stream of all later events without gaps or duplicates.
    pub async fn attach(&self, after: Option<LogPosition>) -> Result<Attached, AgentError> {
        self.agent.attach(after, None).await
    }

    /// Like [`Worker::attach`], for a client that also gets what only concerns itself.
    pub async fn attach_as(
        &self,
        client: ClientId,
        after: Option<LogPosition>,
    ) -> Result<Attached, AgentError> {
        self.agent.attach(after, Some(client)).await
    }
}

/// A task that runs next to the loop.
#[derive(Debug)]
struct RunningTask<T> {
    task: JoinHandle<T>,
    cancel: CancellationToken,
}

/// A reply and its sender. It is sent only when the loop is ready for the next command.
type PendingReply = (ReplySender, Result<CommandReply, AgentError>);

/// The loop itself.
#[derive(Debug)]
struct WorkerLoop {
    agent: Arc<AgentContext>,
    turn: Option<RunningTask<TurnResult>>,
    bash: Option<RunningTask<PendingReply>>,
    /// A move, compaction or graft, which may be waiting for a summary.
    exclusive: Option<RunningTask<PendingReply>>,
    /// The generation of the log and the position where the exclusive command started.
    exclusive_start: (u64, Place),
    /// Whether the exclusive command is an undo or a redo.
    exclusive_is_undo_or_redo: bool,
    /// Commands that wait until the exclusive command ends.
    deferred: VecDeque<(ClientCommand, ReplySender)>,
    waiting_for_idle: Vec<oneshot::Sender<()>>,
    /// Canceled when hooks have seen that nothing runs.
    settling: Option<CancellationToken>,
}

impl WorkerLoop {
    fn new(agent: Arc<AgentContext>) -> WorkerLoop {
        WorkerLoop {
            agent,
            turn: None,
            bash: None,
            exclusive: None,
            exclusive_start: (0, None),
            exclusive_is_undo_or_redo: false,
            deferred: VecDeque::new(),
            waiting_for_idle: Vec::new(),
            settling: None,
        }
    }

    async fn run(mut self, mut messages: mpsc::UnboundedReceiver<WorkerMessage>) {
        loop {
            tokio::select! {
                message = messages.recv() => match message {
                    Some(WorkerMessage::Command(command, reply)) => self.receive(command, reply).await,
                    Some(WorkerMessage::RecordChoice(reply)) => {
                        let recorded = self.record_choice().await;
                        send_reply(reply, recorded.map(|()| CommandReply::Done));
                    }
                    Some(WorkerMessage::WhenIdle(reply)) => self.waiting_for_idle.push(reply),
                    Some(WorkerMessage::Stop(reply)) => {
                        self.refuse_deferred();
                        self.stop_all().await;
                        self.finish_settling().await;
                        // The one who asked may be gone.
                        let _ = reply.send(());
                    }
                    None => break,
                },
                ended = wait_for_end(&mut self.turn) => self.handle_turn_end(ended, true),
                ready = wait_for_end(&mut self.bash) => {
                    self.bash = None;
                    send_finished(ready);
                }
                ready = wait_for_end(&mut self.exclusive) => {
                    self.exclusive = None;
                    send_finished(ready);
                }
                () = wait_until_settled(self.settling.as_ref()) => self.settling = None,
                () = self.agent.retry_unstored(), if self.turn.is_none() && self.exclusive.is_none() => {}
            }
            while self.exclusive.is_none()
                && let Some((command, reply)) = self.deferred.pop_front()
            {
                self.execute(command, reply).await;
            }
            self.report_idle().await;
        }
        self.stop_all().await;
        self.finish_settling().await;
        self.agent.announce_end().await;
        // There are no clients any more, but the process may live much longer, with another session.
        self.agent.store_unstored_eventually().await;
        if let Err(error) = self.agent.store_unrecorded_usage().await {
            tracing::debug!(%error, "cannot store the cost of failed requests");
        }
    }

    /// Tells those who wait that nothing runs.
    async fn report_idle(&mut self) {
        let is_running = self.turn.is_some() || self.bash.is_some() || self.exclusive.is_some();
        let is_running = is_running || self.settling.is_some();
        if is_running || self.waiting_for_idle.is_empty() || !self.agent.unstored.lock().await.is_empty() {
            return;
        }
        for reply in self.waiting_for_idle.drain(..) {
            // The one who asked may be gone.
            let _ = reply.send(());
        }
    }

    /// Whether the exclusive command has already moved the cursor. Clients know about the move and may send
    /// the next command; the task ends in a moment.
    fn exclusive_has_moved(&self) -> bool {
        let ((generation, from), (state, at)) = (self.exclusive_start, self.agent.position());
        let is_elsewhere = || generation != state.version.generation || !state.tree.same_place(from, at);
        self.exclusive.is_some() && is_elsewhere()
    }

    /// Whether a command waits instead of being refused. Undo and redo may follow each other as fast as keys
    /// are pressed.
    fn must_wait(&self, command: &ClientCommand) -> bool {
        let follows = self.exclusive.is_some() && self.exclusive_is_undo_or_redo && is_undo_or_redo(command);
        follows || self.exclusive_has_moved() || !self.deferred.is_empty()
    }

    fn refuse_deferred(&mut self) {
        for (_, reply) in std::mem::take(&mut self.deferred) {
            send_reply(reply, Err(AgentError::ExclusiveRunning));
        }
    }

    async fn receive(&mut self, command: ClientCommand, reply: ReplySender) {
        match command {
            command @ (ClientCommand::Cancel | ClientCommand::Stop) => {
                tracing::debug!(session = self.agent.session.id(), "a client cancels");
                self.refuse_deferred();
                self.execute(command, reply).await;
            }
            command if self.must_wait(&command) => self.deferred.push_back((command, reply)),
            command => self.execute(command, reply).await,
        }
    }

    async fn execute(&mut self, command: ClientCommand, reply: ReplySender) {
        let answer = match command {
            ClientCommand::Prompt { prompt, when, expected_leaf_id } => {
                return self.handle_prompt(prompt, when, expected_leaf_id, reply).await;
            }
            command if is_exclusive(&command) => return self.start_exclusive(command, reply).await,
            ClientCommand::Resume if self.turn.is_some() => Err(AgentError::TurnRunning),
            ClientCommand::Resume if self.exclusive.is_some() => Err(AgentError::ExclusiveRunning),
            ClientCommand::Resume => return self.start_turn(TurnStart::Resume, Some(reply)),
            ClientCommand::RunShell(command) => return self.start_shell_command(command, reply),
            ClientCommand::Cancel => {
                self.stop_all().await;
                self.agent.clear_queue().await.map(returned_prompts)
            }
            ClientCommand::Stop => {
                self.stop_all().await;
                Ok(CommandReply::Done)
            }
            ClientCommand::ExtensionInput(_) => Ok(CommandReply::Done),
            ClientCommand::StopShell => {
                stop_task(&mut self.bash).await;
                Ok(CommandReply::Done)
            }
            ClientCommand::ClearQueue => self.agent.clear_queue().await.map(returned_prompts),
            ClientCommand::Answer { question, answer } => {
                self.agent.answer_question(question, answer).map(|()| CommandReply::Done)
            }
            command if is_mark(&command) => self.agent.write_mark(command).await,
            settings => self.apply_setting(settings).await.map(|()| CommandReply::Done),
        };
        send_reply(reply, answer);
    }

    async fn handle_prompt(
        &mut self,
        prompt: Prompt,
        when: PromptTiming,
        expected_leaf: ExpectedLeaf,
        reply: ReplySender,
    ) {
        let line = match when {
            _ if prompt.is_empty() && !prompt.is_custom() => {
                return send_reply(reply, Err(AgentError::EmptyPrompt));
            }
            _ if self.exclusive.is_some() => return send_reply(reply, Err(AgentError::ExclusiveRunning)),
            PromptTiming::NoTurn if self.turn.is_none() => {
                return send_reply(reply, self.agent.store_prompt_only(prompt, expected_leaf).await);
            }
            PromptTiming::SteerLater => QueueKind::Steering,
            PromptTiming::FollowUpLater => QueueKind::FollowUp,
            _ if self.turn.is_none() => {
                return self.start_turn(TurnStart::Prompt(prompt, expected_leaf), Some(reply));
            }
            PromptTiming::Now if !prompt.is_custom() => {
                return send_reply(reply, Err(AgentError::TurnRunning));
            }
            PromptTiming::FollowUp => QueueKind::FollowUp,
            PromptTiming::Now | PromptTiming::Steer | PromptTiming::NoTurn => QueueKind::Steering,
        };
        send_reply(reply, self.agent.enqueue(line, prompt).await.map(|()| CommandReply::Queued));
    }

    async fn apply_setting(&mut self, command: ClientCommand) -> Result<(), AgentError> {
        match command {
            ClientCommand::SetModel { model } => {
                let model = self.agent.config.model_lookup.find(&model)?;
                self.agent.state().user_choice.set_model(model);
            }
            ClientCommand::SetThinking { level } => self.agent.state().user_choice.set_thinking(level),
            ClientCommand::SetApproval { mode } => {
                if !self.agent.config.trust_session_approvals {
                    self.agent.state().approval_mode = Some(mode);
                    return Ok(());
                }
                self.agent.state().approval_mode = None;
                let set = Map::from_iter([("approvalMode".to_owned(), json!(mode.name()))]);
                self.agent.session.set_config(set, Vec::new()).await?;
                return Ok(());
            }
            _ => {}
        }
        self.record_choice().await
    }

    /// During a turn or an exclusive command, the choice takes effect at the next model call.
    async fn record_choice(&self) -> Result<(), AgentError> {
        let is_idle = self.turn.is_none() && self.exclusive.is_none();
        if is_idle { self.agent.record_model_choice().await.map(drop) } else { Ok(()) }
    }

    fn start_turn(&mut self, start: TurnStart, reply_sender: Option<ReplySender>) {
        let cancel = CancellationToken::new();
        let turn = Turn::new(self.agent.clone(), cancel.clone());
        {
            let mut agent_state = self.agent.state();
            agent_state.turn_running = true;
            agent_state.turn_started = Some(self.agent.timestamp());
            agent_state.cancel_turn = cancel.clone();
        }
        let span = tracing::error_span!("turn", session = self.agent.session.id());
        let (settling, canceled) = (self.settling.take(), cancel.clone());
        let run = async move {
            if let Some(settling) = settling {
                tokio::select! {
                    () = settling.cancelled() => {}
                    () = canceled.cancelled() => {}
                }
            }
            turn.run(start, reply_sender).await
        };
        let task = tokio::spawn(run.instrument(span));
        self.turn = Some(RunningTask { task, cancel });
    }

    fn start_shell_command(&mut self, command: UserCommand, reply: ReplySender) {
        match () {
            () if self.bash.is_some() => return send_reply(reply, Err(AgentError::ShellCommandRunning)),
            () if self.exclusive.is_some() => return send_reply(reply, Err(AgentError::ExclusiveRunning)),
            () => {}
        }
        let (agent, cancel) = (self.agent.clone(), CancellationToken::new());
        let stop = cancel.clone();
        let task = tokio::spawn(async move {
            (reply, agent.run_user_command(command, stop).await.map(|entry| CommandReply::Ran { entry }))
        });
        self.bash = Some(RunningTask { task, cancel });
    }

    async fn start_exclusive(&mut self, command: ClientCommand, reply: ReplySender) {
        let checked = match () {
            () if self.exclusive.is_some() => Err(AgentError::ExclusiveRunning),
            () if self.turn.is_some() && !stops_turn(&command) => Err(AgentError::TurnRunning),
            () if self.bash.is_some() => Err(AgentError::ShellCommandRunning),
            () => self.agent.check_exclusive(&command),
        };
        if let Err(error) = checked {
            return send_reply(reply, Err(error));
        }
        self.stop_turn().await;
        let (state, at) = self.agent.position();
        (self.exclusive_start, self.exclusive_is_undo_or_redo) =
            ((state.version.generation, at), is_undo_or_redo(&command));
        let (agent, cancel) = (self.agent.clone(), CancellationToken::new());
        let stop = cancel.clone();
        let span = tracing::error_span!("exclusive", session = self.agent.session.id());
        let run = async move { (reply, agent.run_exclusive(command, &stop).await) };
        let task = tokio::spawn(run.instrument(span));
        self.exclusive = Some(RunningTask { task, cancel });
    }

    fn handle_turn_end(&mut self, ended: Result<TurnResult, JoinError>, continue_queue: bool) {
        let crashed = |_| {
            tracing::error!(session = self.agent.session.id(), "a turn crashed");
            let error = Some(
                "the turn crashed; everything it stored is safe, and you can resume the path".to_owned(),
            );
            TurnResult { started: true, outcome: None, error }
        };
        let ended = ended.unwrap_or_else(crashed);
        self.turn = None;
        let has_queued = {
            let mut agent_state = self.agent.state();
            agent_state.turn_running = false;
            agent_state.turn_started = None;
            agent_state.cancel_turn = CancellationToken::new();
            if ended.started {
                let revision = self.agent.session.state().version.entries;
                let (finished, error) = (ended.outcome, ended.error);
                agent_state.last_turn = Some(EndedTurn { revision, finished, error: error.clone() });
                self.agent.live.send(ClientEvent::TurnEnded { finished, error });
            }
            !agent_state.prompts.queue().is_empty()
        };
        // A prompt may have been queued after the turn last checked.
        if continue_queue
            && has_queued
            && matches!(ended.outcome, Some(TurnOutcome::Done | TurnOutcome::CutOff))
        {
            self.start_turn(TurnStart::Queued, None);
        } else if ended.started {
            self.announce_settled(ended.outcome == Some(TurnOutcome::Cancelled));
        }
    }

    /// Sends the event of the end of all work. The loop goes on meanwhile, but the next turn waits for the hooks.
    fn announce_settled(&mut self, aborted: bool) {
        let name = "agent_settled";
        if !self.agent.hooks().is_some_and(|hooks| hooks.wants(&self.agent.session, name)) {
            return;
        }
        let (agent, settled) = (self.agent.clone(), CancellationToken::new());
        self.settling = Some(settled.clone());
        tokio::spawn(async move {
            let _settled = settled.drop_guard();
            agent.observe_if_wanted(name, || HookEvent::TurnSettled { aborted }).await;
        });
    }

    async fn finish_settling(&mut self) {
        if let Some(settling) = self.settling.take() {
            settling.cancelled().await;
        }
    }

    /// Stops everything that runs, and waits until it has ended.
    async fn stop_all(&mut self) {
        self.stop_turn().await;
        stop_task(&mut self.exclusive).await;
        stop_task(&mut self.bash).await;
    }

    async fn stop_turn(&mut self) {
        if let Some(turn) = &self.turn {
            turn.cancel.cancel();
            let ended = wait_for_end(&mut self.turn).await;
            self.handle_turn_end(ended, false);
        }
    }
}

async fn stop_task(running: &mut Option<RunningTask<PendingReply>>) {
    if let Some(RunningTask { task, cancel }) = running {
        cancel.cancel();
        let ready = task.await;
        *running = None;
        send_finished(ready);
    }
}

/// Whether the user of a client caused a command. Clients also report and ask things on their own.
fn is_user_action(command: &ClientCommand) -> bool {
    match command {
        ClientCommand::ExtensionInput(input) => {
            matches!(input, ExtensionInput::Shortcut { .. } | ExtensionInput::Key { .. })
        }
        _ => true,
    }
}

fn returned_prompts(queue: PromptQueue) -> CommandReply {
    let follow_ups = queue.follow_up.len();
    CommandReply::Returned { prompts: into_prompts(queue), follow_ups }
}

/// Waits until the task ends; forever if there is none.
async fn wait_for_end<T>(running: &mut Option<RunningTask<T>>) -> Result<T, JoinError> {
    match running {
        Some(running) => (&mut running.task).await,
        None => pending().await,
    }
}

/// Waits until hooks have seen the end of all work; forever if they see none now.
async fn wait_until_settled(settling: Option<&CancellationToken>) {
    match settling {
        Some(settling) => settling.cancelled().await,
        None => pending().await,
    }
}

/// Sends the reply of a finished task. If the task panicked, dropping the sender reports `Closed` to the
/// client.
fn send_finished(ready: Result<PendingReply, JoinError>) {
    if let Ok((reply, answer)) = ready {
        send_reply(reply, answer);
    }
}

fn send_reply(reply: ReplySender, answer: Result<CommandReply, AgentError>) {
    // The client may be gone.
    let _ = reply.send(answer);
}
