//! The main loop: keys, events and task results go in as messages, frames come out. It makes no decisions: it runs the actions
//! that [`update`] returns, and always restores the terminal.

mod doing;
mod editing;
mod errands;
mod images;
mod patience;
mod reading;
mod sending;
mod signals;

use std::collections::VecDeque;
use std::io::{BufWriter, Stdout, Write};
use std::sync::Arc;
use std::time::Duration;

use osier_agent::{Client, Command, Event, Events, Live, Said, When, Worker};
use osier_session::{Event as SessionEvent, Session};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::Instant;

use self::patience::{Waited, patiently};
use self::sending::Outgoing;
use self::signals::{Signals, Told};
use crate::draft::Draft;
use crate::editor::Pastes;
use crate::error::{Error, told};
use crate::host::{Host, Opened, Setup};
use crate::input::Keyboard;
use crate::key::Input;
use crate::msg::{Action, Joined, Msg, Purpose};
use crate::overlay::Sessions;
use crate::screen::{Output, Screen};
use crate::state::{Setting, State};
use crate::terminal::{Terminal, reflows, size};
use crate::text::{Line, wrap};
use crate::theme::{Depth, Role, Theme};
use crate::update::{tell, update};
use crate::view::view;

/// The minimum time between two frames, and the time between two steps of the spinner.
const FRAME: Duration = Duration::from_millis(16);
const TICK: Duration = Duration::from_millis(120);
/// The time between two attempts to join a session.
const AGAIN: Duration = Duration::from_secs(2);

/// Asks the terminal for its background color.
const QUESTION: &[u8] = b"\x1b]11;?\x1b\\";
/// How long finished output waits for the background color. A later answer still changes the theme.
const PATIENCE: Duration = Duration::from_millis(80);

/// The result of a background task.
enum Heard {
    Msg(Msg),
    Opened(Box<Result<Opened, String>>),
    /// A hit of the search with this number; `None` when the search is done.
    Found(u64, Option<usize>),
}

struct App {
    worker: Worker,
    host: Arc<dyn Host>,
    state: State,
    screen: Screen<BufWriter<Stdout>>,
    events: Events,
    answers: UnboundedSender<Heard>,
    began: Instant,
    /// Work still to do, in order. It survives when the user cancels a wait.
    pending: VecDeque<Pending>,
    commands: UnboundedSender<Outgoing>,
    /// Finished pieces that are not printed yet.
    output: Output,
    /// Clear the screen before the next frame.
    clear: bool,
    dirty: bool,
    next_frame: Instant,
    /// Until then, finished output waits for the background color.
    waits: Option<Instant>,
    /// Whether the terminal reported a light background; `None` if it has not answered.
    light: Option<bool>,
    pause: Option<Pause>,
    /// The task that opens another session. Input typed while it runs goes to that session, except the key that cancels it.
    opening: Option<AbortHandle>,
    /// The search through other sessions.
    search: Option<AbortHandle>,
    /// The number of the current search. Results of earlier ones are ignored.
    searches: u64,
    /// When to join the session again, after joining failed.
    rejoin: Option<Instant>,
}

/// A unit of pending work.
enum Pending {
    Msg(Msg),
    Action(Action),
    /// Join the session and show its current path.
    Join,
    /// Show a notice about the session switch.
    Switched {
        before: Session,
        now: Session,
        stopped: bool,
    },
}

/// An event that the loop handles.
enum Step {
    Input(Input),
    Event(Option<Event>),
    Heard(Msg),
    Opened(Box<Result<Opened, String>>),
    Told(Told),
    /// The delay before joining again is over.
    Rejoin,
}

/// Why the loop stops and releases the terminal.
enum Pause {
    /// Exit with this code.
    Leave(u8),
    /// Edit this text in the user's external editor.
    Edit(String),
    /// Suspend the program and return to the shell.
    Suspend,
    /// Another program used the terminal; set it up again.
    Renew,
}

/// Runs the interface until the user quits; returns the exit code.
pub async fn run(worker: Worker, host: Arc<dyn Host>, setup: Setup) -> Result<u8, Error> {
    let (columns, rows) = size()?;
    let entered = Terminal::enter()?;
    let (answers, mut results) = unbounded_channel();
    entered.tell_panics(fault(answers.clone()));
    let mut terminal = Some(entered);
    let depth = setup.theme.depth;
    let size = (columns.into(), rows.into());
    let (mut app, sender) = App::start(worker, host, setup.setting, setup.theme, size, answers).await?;
    app.screen.set_reflows(reflows());
    if setup.ask_background && depth != Depth::None {
        app.ask_background()?;
    }
    let (mut keyboard, mut signals) = (Keyboard::new(), Signals::new()?);
    keyboard.listen()?;
    match patiently(app.begin(setup.choose_session, setup.first), &mut keyboard, &mut signals).await {
        Waited::Done(begun) => begun?,
        Waited::Enough => app.pause = Some(Pause::Leave(130)),
        Waited::End(code) => app.pause = Some(Pause::Leave(code)),
    }
    loop {
        let pause = app.talk(&mut keyboard, &mut results, &mut signals).await?;
        keyboard.pause();
        let output = std::mem::take(&mut app.output);
        let left = app.screen.leave(output, app.state.look());
        drop(terminal.take());
        let msg = match pause {
            // Ignore a failed last frame: the terminal may be gone.
            Pause::Leave(code) => {
                drop(app);
                sending::finish(sender).await;
                return Ok(code);
            }
            Pause::Edit(text) => editing::edit(app.host.editor(), text).await,
            Pause::Suspend => {
                signals.suspend().await.map_or_else(|error| Msg::Failed(error.to_string()), |()| Msg::Tick)
            }
            Pause::Renew => Msg::Tick,
        };
        left?;
        signals.forget_keys()?;
        terminal = Some(Terminal::enter()?);
        keyboard.listen()?;
        app.return_to(msg)?;
    }
}

/// Returns a handler that shows a panic of a background task as a notice.
fn fault(answers: UnboundedSender<Heard>) -> impl Fn(String) + Send {
    move |message| {
        let text = format!("internal error in a background task; please report it: {message}");
        let columns = size().map_or(80, |(columns, _)| columns.into());
        let _ = answers.send(Heard::Msg(Msg::Told(wrap(&Line::of(Role::Bad, &text), columns))));
    }
}

impl App {
    /// Attaches to the session of the worker, and starts the task that sends commands to it.
    async fn start(
        worker: Worker,
        host: Arc<dyn Host>,
        setting: Setting,
        theme: Theme,
        (columns, rows): (usize, usize),
        answers: UnboundedSender<Heard>,
    ) -> Result<(App, JoinHandle<()>), Error> {
        let events = worker.attach(None).await?.events;
        let began = Instant::now();
        let (commands, sender) = sending::start(answers.clone());
        let out = BufWriter::with_capacity(1 << 16, std::io::stdout());
        let app = App {
            worker,
            host,
            state: State::new(setting, columns, rows),
            screen: Screen::new(out, theme, columns, rows),
            events,
            answers,
            began,
            pending: VecDeque::new(),
            commands,
            output: Output::default(),
            clear: false,
            dirty: true,
            next_frame: began,
            waits: None,
            light: None,
            pause: None,
            opening: None,
            search: None,
            searches: 0,
            rejoin: None,
        };
        Ok((app, sender))
    }

    async fn talk(
        &mut self,
        keyboard: &mut Keyboard,
        results: &mut UnboundedReceiver<Heard>,
        signals: &mut Signals,
    ) -> Result<Pause, Error> {
        loop {
            let done = match self.pending.is_empty() {
                true => Waited::Done(()),
                false => patiently(self.work(), keyboard, signals).await,
            };
            match done {
                Waited::Done(()) => {}
                Waited::Enough => self.take(Msg::Failed("Canceled".to_owned())),
                Waited::End(code) => return Ok(Pause::Leave(code)),
            }
            if let Some(pause) = self.pause.take() {
                return Ok(pause);
            }
            if self.dirty && Instant::now() >= self.next_frame {
                self.draw()?;
            }
            let (is_idle, waits, rejoin) = (!self.dirty, self.waits, self.rejoin);
            let due = self.state.due().map(|due| self.began + Duration::from_millis(due));
            let step = tokio::select! {
                key = keyboard.next() => match key {
                    Some(input) if self.opening.is_some() && input.is_typed() => {
                        self.put_off(input, keyboard);
                        continue;
                    }
                    Some(input) => Step::Input(input),
                    // The terminal is gone.
                    None => return Ok(Pause::Leave(129)),
                },
                event = self.events.next(), if rejoin.is_none() => Step::Event(event),
                () = tokio::time::sleep_until(rejoin.unwrap_or(self.began)), if rejoin.is_some() => Step::Rejoin,
                Some(result) = results.recv() => match result {
                    Heard::Msg(msg) => Step::Heard(msg),
                    Heard::Found(search, _) if search != self.searches => continue,
                    Heard::Found(_, card) => Step::Heard(Msg::Found(card)),
                    Heard::Opened(opened) => {
                        self.opening = None;
                        // If opening failed, discard the input: it was meant for the other session.
                        if opened.is_ok() { keyboard.release() } else { keyboard.forget() }
                        Step::Opened(opened)
                    }
                },
                () = tokio::time::sleep_until(self.next_frame), if self.dirty => continue,
                () = tokio::time::sleep_until(due.unwrap_or(self.began)), if due.is_some() => {
                    // Handle earlier input first.
                    if keyboard.has_input() {
                        continue;
                    }
                    Step::Heard(Msg::Timer)
                }
                () = tokio::time::sleep(TICK), if is_idle && self.state.is_moving() => Step::Heard(Msg::Tick),
                () = tokio::time::sleep_until(waits.unwrap_or(self.began)), if waits.is_some() => {
                    self.wait_no_more();
                    continue;
                }
                signal = signals.next() => match signal {
                    Told::End(code) => return Ok(Pause::Leave(code)),
                    Told::GoOn => return Ok(Pause::Renew),
                    signal => Step::Told(signal),
                },
            };
            self.step(step)?;
        }
    }

    fn step(&mut self, step: Step) -> Result<(), Error> {
        match step {
            Step::Input(input) => self.input(input)?,
            Step::Event(event) => self.event(event),
            Step::Heard(msg) => self.take(msg),
            Step::Opened(opened) => match *opened {
                Ok(opened) => self.move_to(opened),
                Err(error) => self.take(Msg::Failed(error)),
            },
            Step::Told(Told::Stop) => self.suspend(),
            Step::Told(_) => self.resized()?,
            Step::Rejoin => self.pending.push_back(Pending::Join),
        }
        Ok(())
    }

    /// Runs the pending work. The future may be dropped while it waits: the remaining work stays queued, and a path that was
    /// not read is read again later.
    async fn work(&mut self) {
        while let Some(pending) = self.pending.pop_front() {
            match pending {
                Pending::Msg(msg) => self.apply(msg),
                Pending::Action(Action::ShowPath { moved }) => {
                    self.rejoin = Some(Instant::now() + AGAIN);
                    let path = reading::path(&self.worker, moved.as_ref(), self.state.columns).await;
                    self.rejoin = None;
                    self.apply(path.map_or_else(|error| Msg::Failed(error.to_string()), Msg::Path));
                    self.read_facts();
                }
                Pending::Action(action) => self.act(action),
                Pending::Switched { before, now, stopped } => {
                    let switched = reading::switched(&before, &now, stopped).await;
                    self.apply(Msg::Switched(switched));
                }
                Pending::Join => {
                    self.rejoin = Some(Instant::now() + AGAIN);
                    if let Err(error) = self.join().await {
                        self.apply(Msg::Failed(told(&error)));
                    }
                }
            }
        }
    }

    /// Handles input that is typed while another session is being opened.
    fn put_off(&mut self, input: Input, keyboard: &mut Keyboard) {
        match &self.opening {
            Some(opening) if input.stops() => opening.abort(),
            _ => {
                keyboard.hold(input);
                tell(&mut self.state, "Opening another session… (esc to cancel)");
                self.dirty = true;
            }
        }
    }

    fn input(&mut self, input: Input) -> Result<(), Error> {
        match input {
            Input::Ground { light } => {
                self.dress(light);
                self.wait_no_more();
            }
            Input::Resize(columns, rows) => self.screen.resize(columns.into(), rows.into())?,
            Input::Key(_) | Input::Paste(_) => {}
        }
        self.take(Msg::Input(input));
        // Show the effect of input at once.
        self.next_frame = Instant::now();
        Ok(())
    }

    fn ask_background(&mut self) -> Result<(), Error> {
        self.screen.out().write_all(QUESTION)?;
        self.waits = Some(self.began + PATIENCE);
        Ok(())
    }

    /// Shows finished output without waiting for the background color any longer.
    fn wait_no_more(&mut self) {
        self.waits = None;
        self.dirty = true;
    }

    fn dress(&mut self, light: bool) {
        self.light = Some(light);
        let theme = if light { Theme::light() } else { Theme::dark() };
        self.screen.dress(theme.with_depth(self.screen.depth()));
        self.dirty = true;
    }

    /// Suspends the program if a shell can resume it.
    pub(super) fn suspend(&mut self) {
        match signals::has_shell() {
            true => self.pause = Some(Pause::Suspend),
            false => self.take(Msg::Failed("cannot suspend: no shell to return to".to_owned())),
        }
    }

    fn resized(&mut self) -> Result<(), Error> {
        let (columns, rows) = size()?;
        self.input(Input::Resize(columns, rows))
    }

    /// Continues after a pause. The size of the terminal may have changed.
    fn return_to(&mut self, msg: Msg) -> Result<(), Error> {
        self.resized()?;
        self.take(msg);
        Ok(())
    }

    fn event(&mut self, event: Option<Event>) {
        match event {
            // The client lagged behind, or the log was replaced: join again.
            None | Some(Event::Session(SessionEvent::Lagged { .. })) => {
                self.pending.push_back(Pending::Join);
            }
            Some(event) => {
                let ended = matches!(event, Event::Live(Live::TurnEnded { .. }));
                self.take(Msg::Event(event));
                if ended {
                    self.read_facts();
                }
            }
        }
    }

    async fn begin(&mut self, choose_session: bool, first: Option<Said>) -> Result<(), Error> {
        self.join().await?;
        if choose_session {
            let sessions = Sessions::new(&self.state);
            self.state.overlays.push(Box::new(sessions));
            self.pending.push_back(Pending::Action(Action::ListSessions));
        }
        if let Some(Said { text, images, files }) = first {
            let command = Command::Prompt { text: text.clone(), images, files, when: When::Now };
            self.pending.push_back(Pending::Action(Action::Send(command, Purpose::Say(text))));
        }
        self.work().await;
        Ok(())
    }

    /// Switches to another session.
    fn move_to(&mut self, opened: Opened) {
        let [before, now] = [&self.worker, &opened.worker].map(|worker| worker.session().clone());
        self.worker = opened.worker;
        self.state.setting = Arc::new(opened.setting);
        self.state.overlays.clear();
        self.pending.push_back(Pending::Join);
        self.pending.push_back(Pending::Switched { before, now, stopped: opened.stopped });
        if let Some(text) = opened.text {
            self.take(Msg::Text(text));
        }
        if !opened.remarks.is_empty() {
            let lines = opened.remarks.iter().map(|remark| Line::of(Role::Dim, remark)).collect();
            self.take(Msg::Told(lines));
        }
    }

    /// Joins the session and shows its current path. If that fails or is canceled, the screen stays as it is and the loop tries
    /// again later.
    async fn join(&mut self) -> Result<(), Error> {
        let attached = self.worker.attach(None).await?;
        let path = reading::path(&self.worker, None, self.state.columns).await?;
        let joined = Joined {
            running: attached.running,
            drafts: attached.drafts,
            asked: attached.asked,
            queue: attached.queue,
            returned: attached.returned,
            pictures: reading::pictures(&self.worker),
            said: reading::said(&path),
            history: self.host.history(),
            unfinished: reading::is_unfinished(&self.worker).await?,
        };
        self.events = attached.events;
        self.rejoin = None;
        self.state.editor.pastes = Pastes::new(reading::pastes(&self.worker));
        self.state.draft = Draft::default();
        self.pending.push_front(Pending::Msg(Msg::Joined(Box::new(joined))));
        self.pending.push_front(Pending::Msg(Msg::Path(path)));
        self.read_facts();
        Ok(())
    }

    /// Queues a message behind the pending work.
    fn take(&mut self, msg: Msg) {
        self.pending.push_back(Pending::Msg(msg));
    }

    /// Applies a message now. The actions it causes run next.
    fn apply(&mut self, msg: Msg) {
        self.state.now = self.began.elapsed().as_millis() as u64;
        self.state.clock.now = self.worker.session().env().clock.now();
        self.dirty = true;
        let refresh = matches!(&msg, Msg::Replied(_, reply) if reply.is_ok());
        for action in update(&mut self.state, msg).into_iter().rev() {
            self.pending.push_front(Pending::Action(action));
        }
        if refresh {
            self.read_facts();
        }
    }

    fn draw(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.clear) {
            self.screen.clear()?;
        }
        let frame = view(&self.state);
        // Finished output waits briefly for the background color.
        let output = if self.waits.is_some() { Output::default() } else { std::mem::take(&mut self.output) };
        self.screen.draw(output, &frame, self.state.look(), self.state.is_covered())?;
        self.state.now = self.began.elapsed().as_millis() as u64;
        self.state.drawn();
        self.dirty = false;
        self.next_frame = Instant::now() + FRAME;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
