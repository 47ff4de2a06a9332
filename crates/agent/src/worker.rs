//! The agent loop of a session: one task handles commands in order, with at most one turn and one shell
//! command running next to it. It keeps no conversation of its own.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;

use async_trait::async_trait;
use osier_model::CancellationToken;
use osier_session::{Cursor, Session};
use osier_store::Version;
use osier_tools::user_bash::UserCommand;
use osier_tree::Place;
use serde_json::{Map, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinError, JoinHandle};

use crate::choice::Choice;
use crate::client::{Attached, Client, Command, Reply, When};
use crate::errands::{is_errand, is_walk, stops_turns};
use crate::error::Error;
use crate::live::Live;
use crate::next_step::Finished;
use crate::parts::Parts;
use crate::queue::Line;
use crate::request::PreparedRequest;
use crate::saying::Said;
use crate::side::SideState;
use crate::turn::{Begin, Ended, Starter, Turn};
use crate::workplace::Workplace;

/// A handle to an agent loop. Clones share the loop, which ends when the last handle is dropped.
#[derive(Debug, Clone)]
pub struct Worker {
    work: Arc<Workplace>,
    mailbox: mpsc::UnboundedSender<(Command, Starter)>,
}

impl Worker {
    /// Starts an agent on the session's main cursor, which all clients of this process share. Writes nothing.
    pub async fn start(session: Session, parts: Parts) -> Result<Worker, Error> {
        Worker::start_at(session.main(), parts).await
    }

    /// Starts an agent on its own cursor.
    pub async fn start_at(cursor: Cursor, mut parts: Parts) -> Result<Worker, Error> {
        parts.context.session = cursor.session().id().to_owned();
        let work = Arc::new(Workplace::new(cursor, parts));
        let returned = work.left_waiting().await?;
        work.now().returned = returned;
        let (mailbox, commands) = mpsc::unbounded_channel();
        tokio::spawn(Desk::new(work.clone()).run(commands));
        Ok(Worker { work, mailbox })
    }

    pub fn session(&self) -> &Session {
        &self.work.session
    }

    /// The model and thinking level in use at the cursor. Writes nothing.
    pub async fn choice(&self) -> Result<Choice, Error> {
        self.work.choice().await
    }

    /// The request that a turn would send from this position. Writes nothing.
    pub async fn request_at(&self, at: Place) -> Result<PreparedRequest, Error> {
        let state = self.work.session.state();
        let choice = self.work.choice_at(&state, at).await?;
        self.work.request_at(state, at, choice).await
    }

    /// The files read and the to-do list at the cursor.
    pub async fn side_state(&self) -> Result<SideState, Error> {
        self.work.side_state().await
    }

    pub fn cursor(&self) -> &Cursor {
        &self.work.cursor
    }
}

#[async_trait]
impl Client for Worker {
    async fn send(&self, command: Command) -> Result<Reply, Error> {
        let (reply, answer) = oneshot::channel();
        self.mailbox.send((command, reply)).map_err(|_| Error::Closed)?;
        answer.await.map_err(|_| Error::Closed)?
    }

    async fn attach(&self, after: Option<Version>) -> Result<Attached, Error> {
        self.work.attach(after).await
    }
}

/// A task that runs next to the loop.
#[derive(Debug)]
struct Running<T> {
    task: JoinHandle<T>,
    cancel: CancellationToken,
}

/// A reply and its sender. It is sent only when the loop is ready for the next command.
type Ready = (Starter, Result<Reply, Error>);

/// The loop itself.
#[derive(Debug)]
struct Desk {
    work: Arc<Workplace>,
    turn: Option<Running<Ended>>,
    bash: Option<Running<Ready>>,
    /// A move, compaction or graft, which may be waiting for a summary.
    errand: Option<Running<Ready>>,
    /// The generation of the log and the position where the exclusive command started.
    from: (u64, Place),
    /// Whether the exclusive command is an undo or a redo.
    walks: bool,
    /// Commands that wait until the exclusive command ends.
    waiting: VecDeque<(Command, Starter)>,
}

impl Desk {
    fn new(work: Arc<Workplace>) -> Desk {
        Desk {
            work,
            turn: None,
            bash: None,
            errand: None,
            from: (0, None),
            walks: false,
            waiting: VecDeque::new(),
        }
    }

    async fn run(mut self, mut commands: mpsc::UnboundedReceiver<(Command, Starter)>) {
        loop {
            tokio::select! {
                command = commands.recv() => match command {
                    Some((command, reply)) => self.hear(command, reply).await,
                    None => break,
                },
                ended = over(&mut self.turn) => self.turn_ended(ended, true),
                ready = over(&mut self.bash) => {
                    self.bash = None;
                    given(ready);
                }
                ready = over(&mut self.errand) => {
                    self.errand = None;
                    given(ready);
                }
            }
            while self.errand.is_none()
                && let Some((command, reply)) = self.waiting.pop_front()
            {
                self.take(command, reply).await;
            }
        }
        self.stop().await;
    }

    /// Whether the exclusive command has already moved the cursor. Clients know about the move and may send
    /// the next command; the task ends in a moment.
    fn has_landed(&self) -> bool {
        let ((generation, from), (state, at)) = (self.from, self.work.here());
        let is_elsewhere = || generation != state.version.generation || !state.tree.same_place(from, at);
        self.errand.is_some() && is_elsewhere()
    }

    /// Whether a command waits instead of being refused. Undo and redo may follow each other as fast as keys
    /// are pressed.
    fn waits(&self, command: &Command) -> bool {
        let follows = self.errand.is_some() && self.walks && is_walk(command);
        follows || self.has_landed() || !self.waiting.is_empty()
    }

    async fn hear(&mut self, command: Command, reply: Starter) {
        match command {
            Command::Cancel => {
                let deferred = std::mem::take(&mut self.waiting);
                deferred.into_iter().for_each(|(_, reply)| answered(reply, Err(Error::OnTheWay)));
                self.take(Command::Cancel, reply).await;
            }
            command if self.waits(&command) => self.waiting.push_back((command, reply)),
            command => self.take(command, reply).await,
        }
    }

    async fn take(&mut self, command: Command, reply: Starter) {
        let answer = match command {
            Command::Prompt { text, images, files, when } => {
                return self.prompt(Said { text, images, files }, when, reply).await;
            }
            command if is_errand(&command) => return self.errand(command, reply).await,
            Command::Resume if self.turn.is_some() => Err(Error::Busy),
            Command::Resume if self.errand.is_some() => Err(Error::OnTheWay),
            Command::Resume => return self.start(Begin::Resume, Some(reply)),
            Command::Bash(command) => return self.bash(command, reply),
            Command::Cancel => {
                self.stop().await;
                self.work.unqueue().await.map(Reply::Returned)
            }
            Command::Unqueue => self.work.unqueue().await.map(Reply::Returned),
            Command::Answer { question, answer } => self.work.answer(question, answer).map(|()| Reply::Done),
            settings => self.set(settings).await.map(|()| Reply::Done),
        };
        answered(reply, answer);
    }

    async fn prompt(&mut self, prompt: Said, when: When, reply: Starter) {
        let line = match when {
            _ if prompt.is_empty() => return answered(reply, Err(Error::Empty)),
            _ if self.errand.is_some() => return answered(reply, Err(Error::OnTheWay)),
            _ if self.turn.is_none() => return self.start(Begin::Say(prompt), Some(reply)),
            When::Now => return answered(reply, Err(Error::Busy)),
            When::Steer => Line::Steering,
            When::FollowUp => Line::FollowUp,
        };
        answered(reply, self.work.enqueue(line, prompt).await.map(|()| Reply::Queued));
    }

    async fn set(&mut self, command: Command) -> Result<(), Error> {
        match command {
            Command::SetModel(name) => {
                self.work.now().model = Some(self.work.parts.lookup.find(&name)?);
            }
            Command::SetThinking(level) => self.work.now().thinking = Some(level),
            Command::SetApproval(mode) => {
                if !self.work.parts.own_approvals {
                    self.work.now().approval = Some(mode);
                    return Ok(());
                }
                self.work.now().approval = None;
                let set = Map::from_iter([("approvalMode".to_owned(), json!(mode.name()))]);
                self.work.session.config(set, Vec::new()).await?;
                return Ok(());
            }
            _ => {}
        }
        // During a turn or an exclusive command, the choice takes effect at the next model call.
        let is_idle = self.turn.is_none() && self.errand.is_none();
        if is_idle { self.work.settle_choice().await.map(drop) } else { Ok(()) }
    }

    fn start(&mut self, begin: Begin, starter: Option<Starter>) {
        let cancel = CancellationToken::new();
        let turn = Turn::new(self.work.clone(), cancel.clone());
        self.work.now().running = true;
        self.turn = Some(Running { task: tokio::spawn(turn.run(begin, starter)), cancel });
    }

    fn bash(&mut self, command: UserCommand, reply: Starter) {
        match () {
            () if self.bash.is_some() => return answered(reply, Err(Error::CommandRuns)),
            () if self.errand.is_some() => return answered(reply, Err(Error::OnTheWay)),
            () => {}
        }
        let (work, cancel) = (self.work.clone(), CancellationToken::new());
        let stop = cancel.clone();
        let task =
            tokio::spawn(
                async move { (reply, work.bash(command, stop).await.map(|entry| Reply::Ran { entry })) },
            );
        self.bash = Some(Running { task, cancel });
    }

    async fn errand(&mut self, command: Command, reply: Starter) {
        let checked = match () {
            () if self.errand.is_some() => Err(Error::OnTheWay),
            () if self.turn.is_some() && !stops_turns(&command) => Err(Error::Busy),
            () if self.bash.is_some() => Err(Error::CommandRuns),
            () => self.work.check_errand(&command),
        };
        if let Err(error) = checked {
            return answered(reply, Err(error));
        }
        self.stop_turn().await;
        let (state, at) = self.work.here();
        (self.from, self.walks) = ((state.version.generation, at), is_walk(&command));
        let (work, cancel) = (self.work.clone(), CancellationToken::new());
        let stop = cancel.clone();
        let task = tokio::spawn(async move { (reply, work.errand(command, &stop).await) });
        self.errand = Some(Running { task, cancel });
    }

    fn turn_ended(&mut self, ended: Result<Ended, JoinError>, continue_queue: bool) {
        let crashed = |_| {
            let error = Some(
                "the turn crashed; everything it stored is safe, and you can resume the path".to_owned(),
            );
            Ended { began: true, finished: None, error }
        };
        let ended = ended.unwrap_or_else(crashed);
        self.turn = None;
        let has_queued = {
            let mut agent_state = self.work.now();
            agent_state.running = false;
            if ended.began {
                self.work.teller.tell(Live::TurnEnded { finished: ended.finished, error: ended.error });
            }
            !agent_state.queue.is_empty()
        };
        // A prompt may have been queued after the turn last checked.
        if continue_queue && has_queued && matches!(ended.finished, Some(Finished::Done | Finished::CutOff)) {
            self.start(Begin::Queued, None);
        }
    }

    /// Stops everything that runs, and waits until it has ended.
    async fn stop(&mut self) {
        self.stop_turn().await;
        stopped(&mut self.errand).await;
        stopped(&mut self.bash).await;
    }

    async fn stop_turn(&mut self) {
        if let Some(turn) = &self.turn {
            turn.cancel.cancel();
            let ended = over(&mut self.turn).await;
            self.turn_ended(ended, false);
        }
    }
}

async fn stopped(running: &mut Option<Running<Ready>>) {
    if let Some(Running { task, cancel }) = running {
        cancel.cancel();
        let ready = task.await;
        *running = None;
        given(ready);
    }
}

/// Waits until the task ends; forever if there is none.
async fn over<T>(running: &mut Option<Running<T>>) -> Result<T, JoinError> {
    match running {
        Some(running) => (&mut running.task).await,
        None => pending().await,
    }
}

/// Sends the reply of a finished task. If the task panicked, dropping the sender reports `Closed` to the
/// client.
fn given(ready: Result<Ready, JoinError>) {
    if let Ok((reply, answer)) = ready {
        answered(reply, answer);
    }
}

fn answered(reply: Starter, answer: Result<Reply, Error>) {
    // The client may be gone.
    let _ = reply.send(answer);
}
