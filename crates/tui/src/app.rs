//! The main loop: keys, events and task results go in as messages, frames come out. It makes no decisions: it runs the actions
//! that [`update`] returns, and always restores the terminal.

mod actions;
mod command_sender;
mod external_editor;
mod images;
mod queries;
mod rendering;
mod signals;
mod tasks;
mod waiting;

use std::collections::VecDeque;
use std::io::{BufWriter, Stdout, Write};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use osier_protocol::query::SessionStatus;
use osier_protocol::{
    Client, ClientCommand, ClientEvent, EntryId, EntryKind, EventStream, Prompt, PromptTiming,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::Instant;

use self::command_sender::OutgoingCommand;
use self::signals::{SignalEvent, Signals};
use self::waiting::{WaitOutcome, wait_or_cancel};
use crate::code::{CodeWorker, ColoredPart};
use crate::error::{TuiError, error_chain};
use crate::extension_ui::ExtensionUi;
use crate::host::{ConnectionStatus, Host, OpenedSession, UiSetup};
use crate::input::Keyboard;
use crate::key::Input;
use crate::msg::{Action, CommandPurpose, JoinedSession, Msg, SearchHit};
use crate::overlay::SessionPicker;
use crate::screen::{Screen, ScreenOutput};
use crate::state::{UiConfig, UiState};
use crate::streamed_reply::StreamedReply;
use crate::terminal::{TerminalGuard, terminal_reflows, terminal_size};
use crate::text::{Line, wrap};
use crate::theme::{ColorDepth, ColorRole, Theme};
use crate::untyped_text;
use crate::update::{show_notice, update};

/// The minimum time between two frames, and the time between two steps of the spinner.
const FRAME_INTERVAL: Duration = Duration::from_millis(16);
const TICK_INTERVAL: Duration = Duration::from_millis(120);
/// The time between two attempts to join a session.
const REJOIN_DELAY: Duration = Duration::from_secs(2);

/// Asks the terminal for its background color.
const BACKGROUND_QUERY: &[u8] = b"\x1b]11;?\x1b\\";
/// How long finished output waits for the background color. A later answer still changes the theme.
const BACKGROUND_TIMEOUT: Duration = Duration::from_millis(80);

/// The result of a background task.
enum TaskResult {
    Msg(Msg),
    Opened(Box<Result<Option<OpenedSession>, String>>),
    /// A hit of the search with this number; `None` when the search is done.
    SearchHit(u64, Option<SearchHit>),
    /// The colors of code.
    Colors(Vec<ColoredPart>),
}

/// The running interface. It has many fields because it owns everything that lives as long as the screen.
struct App {
    client: Arc<dyn Client>,
    host: Arc<dyn Host>,
    /// The connection to an engine on another machine.
    connection: Option<ConnectionStatus>,
    state: UiState,
    screen: Screen<BufWriter<Stdout>>,
    events: EventStream,
    task_results: UnboundedSender<TaskResult>,
    started: Instant,
    /// Work still to do, in order. It survives when the user cancels a wait.
    pending: VecDeque<QueuedWork>,
    commands: UnboundedSender<OutgoingCommand>,
    /// Finished pieces that are not printed yet.
    output: ScreenOutput,
    /// The title of the window.
    title: String,
    /// Clear the screen before the next frame.
    clear_screen: bool,
    dirty: bool,
    next_frame: Instant,
    /// Until then, finished output waits for the background color.
    background_deadline: Option<Instant>,
    /// Whether the terminal reported a light background; `None` if it has not answered.
    light_background: Option<bool>,
    pause: Option<LoopPause>,
    /// The task that opens another session. Input typed while it runs goes to that session, except the key that cancels it.
    opening_task: Option<AbortHandle>,
    /// The entry to show in the session that is being opened.
    found_entry: Option<EntryId>,
    /// The search through other sessions.
    search_task: Option<AbortHandle>,
    /// The number of the current search. Results of earlier ones are ignored.
    search_number: u64,
    /// When to join the session again, after joining failed.
    rejoin_at: Option<Instant>,
    /// Until then, finished output waits for the lines of extensions.
    render_deadline: Option<Instant>,
    /// Until then, output that scrolls off at once waits for the colors of its code.
    color_deadline: Option<Instant>,
    code_worker: CodeWorker,
}

/// A unit of pending work.
enum QueuedWork {
    Msg(Msg),
    Action(Action),
    /// Join the session and show its current path.
    Join,
    /// Show a notice about the session switch.
    Switched {
        before: Arc<dyn Client>,
        now: Arc<dyn Client>,
        stopped: bool,
    },
}

/// An event that the loop handles.
enum LoopEvent {
    Input(Input),
    Event(Option<ClientEvent>),
    Msg(Msg),
    Opened(Box<Result<Option<OpenedSession>, String>>),
    Signal(SignalEvent),
    /// The delay before joining again is over.
    Rejoin,
    /// The connection to the engine was lost, with the text to show, or made again.
    Connection(Option<String>),
}

/// Why the loop stops and releases the terminal.
enum LoopPause {
    /// Exit with this code.
    Exit(u8),
    /// Edit this text in the user's external editor.
    EditText(String),
    /// Suspend the program and return to the shell.
    Suspend,
    /// Another program used the terminal; set it up again.
    Reenter,
}

/// Runs the interface until the user quits; returns the exit code.
pub async fn run(client: Arc<dyn Client>, host: Arc<dyn Host>, setup: UiSetup) -> Result<u8, TuiError> {
    let (columns, rows) = terminal_size()?;
    let entered = TerminalGuard::enter()?;
    let (answers, mut results) = unbounded_channel();
    entered.set_panic_handler(panic_reporter(answers.clone()));
    let mut terminal = Some(entered);
    let depth = setup.theme.color_depth;
    let size = (columns.into(), rows.into());
    let (mut app, sender) = App::start(client, host, setup.config, setup.theme, size, answers);
    app.screen.set_reflows(terminal_reflows());
    if setup.ask_background && depth != ColorDepth::None {
        app.query_background()?;
    }
    let (mut keyboard, mut signals) = (Keyboard::new(), Signals::new()?);
    keyboard.start()?;
    match wait_or_cancel(
        app.show_first_screen(setup.choose_session, setup.first_prompt),
        &mut keyboard,
        &mut signals,
    )
    .await
    {
        WaitOutcome::Done(begun) => begun?,
        WaitOutcome::Canceled => app.pause = Some(LoopPause::Exit(130)),
        WaitOutcome::Exit(code) => app.pause = Some(LoopPause::Exit(code)),
    }
    loop {
        let pause = app.run_until_pause(&mut keyboard, &mut results, &mut signals).await?;
        keyboard.pause();
        let output = std::mem::take(&mut app.output);
        let left = app.screen.finish(output, app.state.render_options());
        drop(terminal.take());
        let msg = match pause {
            // Ignore a failed last frame: the terminal may be gone.
            LoopPause::Exit(code) => {
                drop(app);
                command_sender::finish(sender).await;
                return Ok(code);
            }
            LoopPause::EditText(text) => external_editor::edit(app.host.editor(), text).await,
            LoopPause::Suspend => {
                signals.suspend().await.map_or_else(|error| Msg::Failed(error.to_string()), |()| Msg::Tick)
            }
            LoopPause::Reenter => Msg::Tick,
        };
        left?;
        signals.discard_key_signals()?;
        terminal = Some(TerminalGuard::enter()?);
        keyboard.start()?;
        app.resume_after_pause(msg)?;
    }
}

/// Waits until the connection is lost or made again. Without a connection, it waits forever.
async fn connection_changed(connection: &mut Option<ConnectionStatus>) -> Option<String> {
    if let Some(status) = connection
        && status.changed().await.is_ok()
    {
        return status.borrow_and_update().clone();
    }
    std::future::pending().await
}

/// Returns a handler that shows a panic of a background task as a notice.
fn panic_reporter(answers: UnboundedSender<TaskResult>) -> impl Fn(String) + Send {
    move |message| {
        let text = format!("internal error in a background task; please report it: {message}");
        let columns = terminal_size().map_or(80, |(columns, _)| columns.into());
        let _ =
            answers.send(TaskResult::Msg(Msg::Lines(wrap(&Line::styled(ColorRole::Bad, &text), columns))));
    }
}

impl App {
    /// Starts the task that sends commands to the session. `join` attaches to it.
    fn start(
        client: Arc<dyn Client>,
        host: Arc<dyn Host>,
        config: UiConfig,
        theme: Theme,
        (columns, rows): (usize, usize),
        answers: UnboundedSender<TaskResult>,
    ) -> (App, JoinHandle<()>) {
        let started = Instant::now();
        let (commands, sender) = command_sender::start(answers.clone());
        let out = BufWriter::with_capacity(1 << 16, std::io::stdout());
        let app = App {
            client,
            connection: host.connection(),
            host,
            state: UiState { client: random_client(), ..UiState::new(config, columns, rows) },
            screen: Screen::new(out, theme, columns, rows),
            events: futures_util::stream::pending().boxed(),
            task_results: answers,
            started,
            pending: VecDeque::new(),
            commands,
            output: ScreenOutput::default(),
            title: String::new(),
            clear_screen: false,
            dirty: true,
            next_frame: started,
            background_deadline: None,
            light_background: None,
            pause: None,
            opening_task: None,
            found_entry: None,
            search_task: None,
            search_number: 0,
            rejoin_at: None,
            render_deadline: None,
            color_deadline: None,
            code_worker: CodeWorker::default(),
        };
        (app, sender)
    }

    async fn run_until_pause(
        &mut self,
        keyboard: &mut Keyboard,
        results: &mut UnboundedReceiver<TaskResult>,
        signals: &mut Signals,
    ) -> Result<LoopPause, TuiError> {
        loop {
            let done = match self.pending.is_empty() {
                true => WaitOutcome::Done(()),
                false => wait_or_cancel(self.run_pending(), keyboard, signals).await,
            };
            match done {
                WaitOutcome::Done(()) => {}
                WaitOutcome::Canceled => self.queue_msg(Msg::Failed("Canceled".to_owned())),
                WaitOutcome::Exit(code) => return Ok(LoopPause::Exit(code)),
            }
            if let Some(pause) = self.pause.take() {
                return Ok(pause);
            }
            if self.dirty && Instant::now() >= self.next_frame {
                self.draw()?;
            }
            let mut connection = self.connection.clone();
            let (is_idle, waits, rejoin) = (!self.dirty, self.background_deadline, self.rejoin_at);
            let due = self.state.timer_due().map(|due| self.started + Duration::from_millis(due));
            let step = tokio::select! {
                key = keyboard.next() => match key {
                    Some(input) if self.opening_task.is_some() && input.is_from_user() => {
                        self.hold_input(input, keyboard);
                        continue;
                    }
                    Some(input) => LoopEvent::Input(input),
                    // The terminal is gone.
                    None => return Ok(LoopPause::Exit(129)),
                },
                event = self.events.next(), if rejoin.is_none() => LoopEvent::Event(event),
                () = tokio::time::sleep_until(rejoin.unwrap_or(self.started)), if rejoin.is_some() => LoopEvent::Rejoin,
                Some(result) = results.recv() => match result {
                    TaskResult::Msg(msg) => LoopEvent::Msg(msg),
                    TaskResult::SearchHit(search, _) if search != self.search_number => continue,
                    TaskResult::Colors(parts) => {
                        self.state.code.receive(parts);
                        self.dirty = true;
                        continue;
                    }
                    TaskResult::SearchHit(_, hit) => LoopEvent::Msg(Msg::SearchHit(hit)),
                    TaskResult::Opened(opened) => {
                        self.opening_task = None;
                        // If it was not opened, discard the input: it was meant for the other session.
                        if matches!(*opened, Ok(Some(_))) { keyboard.release() } else { keyboard.discard_held() }
                        LoopEvent::Opened(opened)
                    }
                },
                problem = connection_changed(&mut connection) => {
                    self.connection = connection;
                    LoopEvent::Connection(problem)
                }
                () = tokio::time::sleep_until(self.next_frame), if self.dirty => continue,
                () = tokio::time::sleep_until(due.unwrap_or(self.started)), if due.is_some() => {
                    // Handle earlier input first.
                    if keyboard.has_input() {
                        continue;
                    }
                    LoopEvent::Msg(Msg::Timer)
                }
                () = tokio::time::sleep(TICK_INTERVAL), if is_idle && self.state.is_animated() => LoopEvent::Msg(Msg::Tick),
                () = tokio::time::sleep_until(waits.unwrap_or(self.started)), if waits.is_some() => {
                    self.stop_waiting_for_background();
                    continue;
                }
                signal = signals.next() => match signal {
                    SignalEvent::Exit(code) => return Ok(LoopPause::Exit(code)),
                    SignalEvent::Continued => return Ok(LoopPause::Reenter),
                    signal => LoopEvent::Signal(signal),
                },
            };
            self.handle_loop_event(step)?;
        }
    }

    fn handle_loop_event(&mut self, step: LoopEvent) -> Result<(), TuiError> {
        match step {
            LoopEvent::Input(input) => self.handle_input(input)?,
            LoopEvent::Event(event) => self.handle_event(event),
            LoopEvent::Msg(msg) => self.queue_msg(msg),
            LoopEvent::Opened(opened) => match *opened {
                Ok(Some(opened)) => self.switch_session(opened),
                Ok(None) => show_notice(&mut self.state, "The switch was refused"),
                Err(error) => self.queue_msg(Msg::Failed(error)),
            },
            LoopEvent::Signal(SignalEvent::Stop) => self.suspend(),
            LoopEvent::Signal(_) => self.handle_resize()?,
            LoopEvent::Rejoin if self.is_disconnected() => {
                self.rejoin_at = Some(Instant::now() + REJOIN_DELAY);
            }
            LoopEvent::Rejoin => self.pending.push_back(QueuedWork::Join),
            LoopEvent::Connection(problem) => {
                if problem.is_none() && self.rejoin_at.is_some() {
                    self.rejoin_at = Some(Instant::now());
                }
                self.queue_msg(Msg::Connection(problem));
            }
        }
        Ok(())
    }

    /// Runs the pending work. The future may be dropped while it waits: the remaining work stays queued, and a path that was
    /// not read is read again later.
    async fn run_pending(&mut self) {
        while let Some(pending) = self.pending.pop_front() {
            match pending {
                QueuedWork::Msg(msg) => self.apply_msg(msg),
                QueuedWork::Action(Action::ShowPath { moved }) => {
                    self.rejoin_at = Some(Instant::now() + REJOIN_DELAY);
                    match queries::read_path(&*self.client, moved.as_ref(), self.state.columns).await {
                        Ok(path) => {
                            self.rejoin_at = None;
                            self.apply_msg(Msg::Path(path));
                        }
                        // The screen shows another path: join again later.
                        Err(error) => self.apply_msg(Msg::Failed(error_chain(&error))),
                    }
                    self.read_status();
                }
                QueuedWork::Action(Action::ReadSettings) => {
                    self.show_settings().await;
                }
                QueuedWork::Action(Action::ChangeSetting { key, value }) => {
                    self.change_setting(key, value).await;
                }
                QueuedWork::Action(action) => self.run_action(action),
                QueuedWork::Switched { before, now, stopped } => {
                    match queries::describe_switch(&*before, &*now, stopped).await {
                        Ok((switched, status)) => {
                            self.apply_msg(Msg::Status(Box::new(status)));
                            self.apply_msg(Msg::Switched(switched));
                        }
                        Err(error) => self.apply_msg(Msg::Failed(error_chain(&error))),
                    }
                }
                QueuedWork::Join => {
                    self.rejoin_at = Some(Instant::now() + REJOIN_DELAY);
                    if let Err(error) = self.join().await {
                        self.apply_msg(Msg::Failed(error_chain(&error)));
                    }
                }
            }
        }
    }

    /// Handles input that is typed while another session is being opened.
    fn hold_input(&mut self, input: Input, keyboard: &mut Keyboard) {
        match &self.opening_task {
            Some(opening) if input.is_cancel() => opening.abort(),
            _ => {
                keyboard.hold(input);
                show_notice(&mut self.state, "Opening another session… (esc to cancel)");
                self.dirty = true;
            }
        }
    }

    fn handle_input(&mut self, input: Input) -> Result<(), TuiError> {
        match input {
            Input::Background { light } => {
                self.set_background(light);
                self.stop_waiting_for_background();
            }
            Input::Resize(columns, rows) => self.screen.resize(columns.into(), rows.into())?,
            Input::Key(_) | Input::Paste(_) | Input::Focus(_) => {}
        }
        self.queue_msg(Msg::Input(input));
        // Show the effect of input at once.
        self.next_frame = Instant::now();
        Ok(())
    }

    fn query_background(&mut self) -> Result<(), TuiError> {
        self.screen.out().write_all(BACKGROUND_QUERY)?;
        self.background_deadline = Some(self.started + BACKGROUND_TIMEOUT);
        Ok(())
    }

    /// Shows finished output without waiting for the background color any longer.
    fn stop_waiting_for_background(&mut self) {
        self.background_deadline = None;
        self.dirty = true;
    }

    fn set_background(&mut self, light: bool) {
        self.light_background = Some(light);
        let theme = if light { Theme::light() } else { Theme::dark() };
        self.screen.set_theme(theme.with_color_depth(self.screen.color_depth()));
        self.dirty = true;
    }

    /// Suspends the program if a shell can resume it.
    pub(super) fn suspend(&mut self) {
        match signals::has_job_control() {
            true => self.pause = Some(LoopPause::Suspend),
            false => self.queue_msg(Msg::Failed("cannot suspend: no shell to return to".to_owned())),
        }
    }

    fn handle_resize(&mut self) -> Result<(), TuiError> {
        let (columns, rows) = terminal_size()?;
        self.handle_input(Input::Resize(columns, rows))
    }

    /// Continues after a pause. The size of the terminal may have changed.
    fn resume_after_pause(&mut self, msg: Msg) -> Result<(), TuiError> {
        self.title.clear();
        self.handle_resize()?;
        self.queue_msg(msg);
        Ok(())
    }

    /// Whether the connection to the engine is lost. It is made again without help.
    fn is_disconnected(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.borrow().is_some())
    }

    fn handle_event(&mut self, event: Option<ClientEvent>) {
        match event {
            None | Some(ClientEvent::Lagged { .. }) if self.is_disconnected() => {
                self.rejoin_at = Some(Instant::now() + REJOIN_DELAY);
            }
            // The client lagged behind, or the log was replaced: join again.
            None | Some(ClientEvent::Lagged { .. }) => {
                self.pending.push_back(QueuedWork::Join);
            }
            Some(event) => {
                let changes_status = match &event {
                    ClientEvent::TurnEnded { .. } => true,
                    // Another client or program may have renamed the session.
                    ClientEvent::Entry(entry) => {
                        entry.entry.view().is_some_and(|view| view.kind == EntryKind::SessionInfo)
                    }
                    _ => false,
                };
                self.queue_msg(Msg::Event(event));
                if changes_status {
                    self.read_status();
                }
            }
        }
    }

    async fn show_first_screen(
        &mut self,
        choose_session: bool,
        first: Option<Prompt>,
    ) -> Result<(), TuiError> {
        self.join().await?;
        if choose_session {
            let sessions = SessionPicker::new(&self.state);
            self.state.overlays.push(Box::new(sessions));
            self.pending.push_back(QueuedWork::Action(Action::ListSessions));
        }
        if let Some(prompt) = first {
            let purpose = CommandPurpose::Prompt(prompt.text.clone());
            let command = ClientCommand::timed_prompt(prompt, PromptTiming::Now);
            self.pending.push_back(QueuedWork::Action(Action::Send(command, purpose)));
        }
        self.run_pending().await;
        Ok(())
    }

    /// Switches to another session.
    fn switch_session(&mut self, opened: OpenedSession) {
        let now = opened.client;
        let stopped = self.state.activity.turn_running && !opened.keeps_turn;
        // Nothing would show the turn of the session that you leave, or answer its questions. Queued prompts come back.
        if !opened.keeps_turn {
            self.send(ClientCommand::Cancel, CommandPurpose::Cancel);
        }
        let before = std::mem::replace(&mut self.client, now.clone());
        self.state.config = Arc::new(opened.config);
        self.state.status = SessionStatus::default();
        self.state.overlays.clear();
        // The draft stays. What an extension wrote is still not typed.
        let was_written =
            opened.editor_text.as_ref().is_some_and(|text| untyped_text::is_asked_about(&self.state, text));
        let wrote_draft = self.state.extensions.wrote_draft || was_written;
        self.state.extensions = ExtensionUi::default();
        self.state.extensions.wrote_draft = wrote_draft;
        self.pending.push_back(QueuedWork::Join);
        self.pending.push_back(QueuedWork::Switched { before, now, stopped });
        if let Some(entry) = self.found_entry.take() {
            self.queue_msg(Msg::ShowEntry(entry));
        }
        if let Some(text) = opened.editor_text {
            self.queue_msg(Msg::EditorText(text));
        }
        if !opened.notices.is_empty() {
            let lines = opened.notices.iter().map(|remark| Line::styled(ColorRole::Dim, remark)).collect();
            self.queue_msg(Msg::Lines(lines));
        }
    }

    /// Joins the session and shows its current path. If that fails or is canceled, the screen stays as it is and the loop tries
    /// again later.
    async fn join(&mut self) -> Result<(), TuiError> {
        let attached = self.client.attach(None).await?;
        let (joined, path) = queries::joined_session(&*self.client, &attached).await?;
        let history = self.ask_host(|host| host.history()).await;
        let joined = JoinedSession { history, ..joined };
        // Both loops read it, and each of them may be the one that sees its end.
        self.events = attached.events.fuse().boxed();
        self.rejoin_at = None;
        self.state.reply = StreamedReply::default();
        // The path is drawn first. Whether a turn runs decides how calls without a result are drawn.
        self.state.activity.turn_running = joined.turn_running;
        // What extensions show is known before the conversation is drawn.
        let running = attached.state.running.into_iter().map(|event| QueuedWork::Msg(Msg::Event(event)));
        let mut ready: Vec<QueuedWork> = running.collect();
        while let Some(Some(event)) = self.events.next().now_or_never() {
            ready.push(QueuedWork::Msg(Msg::Event(event)));
        }
        ready.into_iter().rev().for_each(|event| self.pending.push_front(event));
        self.pending.push_front(QueuedWork::Msg(Msg::Joined(Box::new(joined))));
        self.pending.push_front(QueuedWork::Msg(Msg::Path(path)));
        self.read_status();
        self.read_sandbox();
        Ok(())
    }

    /// Queues a message behind the pending work.
    fn queue_msg(&mut self, msg: Msg) {
        self.pending.push_back(QueuedWork::Msg(msg));
    }

    /// Applies a message now. The actions it causes run next.
    fn apply_msg(&mut self, msg: Msg) {
        self.state.now = self.started.elapsed().as_millis() as u64;
        self.state.clock.now = self.host.now();
        self.dirty = true;
        let changes = |purpose: &CommandPurpose| *purpose != CommandPurpose::ExtensionInput;
        let refresh = matches!(&msg, Msg::Replied(purpose, reply) if reply.is_ok() && changes(purpose));
        for action in update(&mut self.state, msg).into_iter().rev() {
            self.pending.push_front(QueuedWork::Action(action));
        }
        if refresh {
            self.read_status();
        }
    }
}

/// A number that JavaScript can represent.
fn random_client() -> u64 {
    use std::hash::BuildHasher;
    std::hash::RandomState::new().hash_one(std::process::id()) >> 16
}

#[cfg(test)]
mod tests;
