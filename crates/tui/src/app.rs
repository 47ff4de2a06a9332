//! The one loop: keys, events and answers go in as messages, frames come out. It decides nothing; it carries out what
//! [`update`] asks for, and gives the terminal back whatever happens.

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
use tokio::task::AbortHandle;
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
use crate::state::State;
use crate::terminal::{Terminal, reflows, size};
use crate::text::{Line, wrap};
use crate::theme::{Depth, Role, Theme};
use crate::update::{tell, update};
use crate::view::view;

/// The time between two frames, and between two steps of the spinner.
const FRAME: Duration = Duration::from_millis(16);
const TICK: Duration = Duration::from_millis(120);
/// The time between two attempts to join a session.
const AGAIN: Duration = Duration::from_secs(2);

/// Asks the terminal for the colour of its background, and how long what stays on the screen waits for the answer. A later
/// one is heard too.
const QUESTION: &[u8] = b"\x1b]11;?\x1b\\";
const PATIENCE: Duration = Duration::from_millis(80);

/// What comes back from a task.
enum Heard {
    Msg(Msg),
    Opened(Box<Result<Opened, String>>),
    /// Of the search with this number.
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
    /// What is still to be done, in this order. It outlives a wait that the user gives up.
    pending: VecDeque<Pending>,
    commands: UnboundedSender<Outgoing>,
    /// What is finished and not printed yet.
    output: Output,
    /// The screen is to be cleared first.
    clear: bool,
    dirty: bool,
    next_frame: Instant,
    /// Until when what is finished waits to know the background.
    waits: Option<Instant>,
    /// What the terminal said of its background.
    light: Option<bool>,
    pause: Option<Pause>,
    /// Another session is on its way. What is typed meanwhile is for that one, but for the key that stops it.
    opening: Option<AbortHandle>,
    /// What is looked for in other sessions, and how many times something was.
    search: Option<AbortHandle>,
    searches: u64,
    /// The session could not be joined: what is shown stays until then.
    rejoin: Option<Instant>,
}

/// Something to do next.
enum Pending {
    Msg(Msg),
    Action(Action),
    /// Join the session, and show where it is.
    Join,
    /// Say which session this is now.
    Switched {
        before: Session,
        now: Session,
        stopped: bool,
    },
}

/// One thing that happened.
enum Step {
    Input(Input),
    Event(Option<Event>),
    Heard(Msg),
    Opened(Box<Result<Opened, String>>),
    Told(Told),
    /// It is time to join again.
    Rejoin,
}

/// Why nobody listens to keys for a while, or any more.
enum Pause {
    Leave(u8),
    /// A text for the user's own editor.
    Edit(String),
    /// The shell gets the terminal.
    Suspend,
    /// Others had the terminal.
    Renew,
}

/// Runs the interface until the user has enough; gives the exit code.
pub async fn run(worker: Worker, host: Arc<dyn Host>, setup: Setup) -> Result<u8, Error> {
    let (columns, rows) = size()?;
    let entered = Terminal::enter()?;
    let (answers, mut heard) = unbounded_channel();
    entered.tell_panics(fault(answers.clone()));
    let mut terminal = Some(entered);
    let events = worker.attach(None).await?.events;
    let began = Instant::now();
    let depth = setup.theme.depth;
    let (commands, sender) = sending::start(answers.clone());
    let mut app = App {
        worker,
        host,
        state: State::new(setup.setting, columns.into(), rows.into()),
        screen: Screen::new(
            BufWriter::with_capacity(1 << 16, std::io::stdout()),
            setup.theme,
            columns.into(),
            rows.into(),
        ),
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
        let pause = app.talk(&mut keyboard, &mut heard, &mut signals).await?;
        keyboard.pause();
        let output = std::mem::take(&mut app.output);
        let left = app.screen.leave(output, app.state.look());
        drop(terminal.take());
        let msg = match pause {
            // The terminal may be gone, and nobody would miss its last lines then.
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

/// Tells of a panic beside the loop.
fn fault(answers: UnboundedSender<Heard>) -> impl Fn(String) + Send {
    move |words| {
        let words = format!("a part of osier failed, the rest goes on; please report this: {words}");
        let columns = size().map_or(80, |(columns, _)| columns.into());
        let _ = answers.send(Heard::Msg(Msg::Told(wrap(&Line::of(Role::Bad, &words), columns))));
    }
}

impl App {
    async fn talk(
        &mut self,
        keyboard: &mut Keyboard,
        heard: &mut UnboundedReceiver<Heard>,
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
                    // Without a terminal there is nobody to talk to.
                    None => return Ok(Pause::Leave(129)),
                },
                event = self.events.next(), if rejoin.is_none() => Step::Event(event),
                () = tokio::time::sleep_until(rejoin.unwrap_or(self.began)), if rejoin.is_some() => Step::Rejoin,
                Some(answer) = heard.recv() => match answer {
                    Heard::Msg(msg) => Step::Heard(msg),
                    Heard::Found(search, _) if search != self.searches => continue,
                    Heard::Found(_, card) => Step::Heard(Msg::Found(card)),
                    Heard::Opened(opened) => {
                        self.opening = None;
                        // What was typed for another session is not said in this one.
                        if opened.is_ok() { keyboard.release() } else { keyboard.forget() }
                        Step::Opened(opened)
                    }
                },
                () = tokio::time::sleep_until(self.next_frame), if self.dirty => continue,
                () = tokio::time::sleep_until(due.unwrap_or(self.began)), if due.is_some() => {
                    // What was typed before is heard before.
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
                told = signals.next() => match told {
                    Told::End(code) => return Ok(Pause::Leave(code)),
                    Told::GoOn => return Ok(Pause::Renew),
                    told => Step::Told(told),
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

    /// Does what is pending. May be dropped while it waits: what is not done yet stays, and a path that could not be read
    /// is read again later.
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

    /// Something is typed while another session is on its way.
    fn put_off(&mut self, input: Input, keyboard: &mut Keyboard) {
        match &self.opening {
            Some(opening) if input.stops() => opening.abort(),
            _ => {
                keyboard.hold(input);
                tell(&mut self.state, "another session is being opened; escape stops that");
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
        // Whoever types does not wait for the next frame.
        self.next_frame = Instant::now();
        Ok(())
    }

    fn ask_background(&mut self) -> Result<(), Error> {
        self.screen.out().write_all(QUESTION)?;
        self.waits = Some(self.began + PATIENCE);
        Ok(())
    }

    /// What is finished is shown, whatever the terminal answers.
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

    /// Lets the shell have the terminal, if there is one.
    pub(super) fn suspend(&mut self) {
        match signals::has_shell() {
            true => self.pause = Some(Pause::Suspend),
            false => self.take(Msg::Failed("there is no shell to go back to".to_owned())),
        }
    }

    fn resized(&mut self) -> Result<(), Error> {
        let (columns, rows) = size()?;
        self.input(Input::Resize(columns, rows))
    }

    /// The terminal is ours again, perhaps with another size.
    fn return_to(&mut self, msg: Msg) -> Result<(), Error> {
        self.resized()?;
        self.take(msg);
        Ok(())
    }

    fn event(&mut self, event: Option<Event>) {
        match event {
            // Too slow, or another log: begin again with what is there.
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

    /// Goes on in another session.
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

    /// Joins the session, and shows where it is. Should that fail, or be given up, what is shown stays, and it is tried again.
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

    /// Hands a message over, after what is pending.
    fn take(&mut self, msg: Msg) {
        self.pending.push_back(Pending::Msg(msg));
    }

    /// Hands a message over; what follows from it comes next.
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
        // What stays on the screen waits a moment for its colours.
        let output = if self.waits.is_some() { Output::default() } else { std::mem::take(&mut self.output) };
        self.screen.draw(output, &frame, self.state.look(), self.state.is_covered())?;
        self.state.now = self.began.elapsed().as_millis() as u64;
        self.state.drawn();
        self.dirty = false;
        self.next_frame = Instant::now() + FRAME;
        Ok(())
    }
}
