//! The one loop: keys, events and answers go in as messages, frames come out. It decides nothing; it carries out what
//! [`update`] asks for, and gives the terminal back whatever happens.

mod doing;
mod editing;
mod images;
mod reading;

use std::io::{BufWriter, Stdout};
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::EventStream;
use futures_util::StreamExt;
use osier_agent::{Client, Command, Event, Events, Live, Worker};
use osier_session::Event as SessionEvent;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use crate::error::Error;
use crate::host::{Host, Setup};
use crate::key::Input;
use crate::msg::{Action, Joined, Msg, Purpose};
use crate::screen::Screen;
use crate::state::State;
use crate::terminal::Terminal;
use crate::text::Line;
use crate::update::update;
use crate::view::view;

/// The time between two frames, and between two steps of the spinner.
const FRAME: Duration = Duration::from_millis(16);
const TICK: Duration = Duration::from_millis(120);

/// What comes back from a task.
enum Heard {
    Msg(Msg),
    Opened(Box<Worker>),
}

struct App {
    worker: Worker,
    host: Arc<dyn Host>,
    state: State,
    screen: Screen<BufWriter<Stdout>>,
    events: Events,
    answers: UnboundedSender<Heard>,
    began: Instant,
    /// Lines that are finished and not printed yet.
    finished: Vec<Line>,
    clear: bool,
    dirty: bool,
    next_frame: Instant,
    /// A text for the user's own editor.
    edit: Option<String>,
    leaving: Option<u8>,
}

/// Runs the interface until the user has enough; gives the exit code.
pub async fn run(worker: Worker, host: Arc<dyn Host>, setup: Setup) -> Result<u8, Error> {
    let (columns, rows) = crossterm::terminal::size()?;
    let mut terminal = Some(Terminal::enter()?);
    let (answers, mut heard) = unbounded_channel();
    let events = worker.attach(None).await?.events;
    let began = Instant::now();
    let mut app = App {
        worker,
        host,
        state: State::new(setup.setting, columns.into(), rows.into()),
        screen: Screen::new(
            BufWriter::with_capacity(1 << 16, std::io::stdout()),
            setup.theme,
            columns.into(),
        ),
        events,
        answers,
        began,
        finished: Vec::new(),
        clear: false,
        dirty: true,
        next_frame: began,
        edit: None,
        leaving: None,
    };
    app.join(false).await?;
    if let Some(text) = setup.first {
        app.act(Action::Send(Command::prompt(text.clone()), Purpose::Say(text))).await;
    }
    loop {
        let code = app.talk(&mut heard).await?;
        if let Some(text) = app.edit.take() {
            // Whoever edits has the terminal.
            app.screen.leave(&[])?;
            drop(terminal.take());
            let msg = editing::edit(app.host.editor(), text).await;
            terminal = Some(Terminal::enter()?);
            app.take(msg).await;
            continue;
        }
        let finished = std::mem::take(&mut app.finished);
        app.screen.leave(&finished)?;
        drop(terminal);
        return Ok(code);
    }
}

impl App {
    async fn talk(&mut self, heard: &mut UnboundedReceiver<Heard>) -> Result<u8, Error> {
        let mut keys = EventStream::new();
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hang_up = signal(SignalKind::hangup())?;
        loop {
            if let Some(code) = self.leaving.or(self.edit.is_some().then_some(0)) {
                return Ok(code);
            }
            if self.dirty && Instant::now() >= self.next_frame {
                self.draw()?;
            }
            let is_idle = !self.dirty;
            tokio::select! {
                key = keys.next() => match key {
                    Some(Ok(event)) => self.input(event).await?,
                    // Without a terminal there is nobody to talk to.
                    Some(Err(_)) | None => return Ok(129),
                },
                event = self.events.next() => self.event(event).await?,
                Some(answer) = heard.recv() => match answer {
                    Heard::Msg(msg) => self.take(msg).await,
                    Heard::Opened(worker) => {
                        self.worker = *worker;
                        self.state.overlays.clear();
                        self.join(true).await?;
                    }
                },
                () = tokio::time::sleep_until(self.next_frame), if self.dirty => {}
                () = tokio::time::sleep(TICK), if is_idle && self.state.is_moving() => self.take(Msg::Tick).await,
                _ = terminate.recv() => return Ok(143),
                _ = hang_up.recv() => return Ok(129),
            }
        }
    }

    async fn input(&mut self, event: crossterm::event::Event) -> Result<(), Error> {
        let Some(input) = Input::read(event) else { return Ok(()) };
        if let Input::Resize(columns, _) = &input {
            self.screen.resize((*columns).into())?;
        }
        self.take(Msg::Input(input)).await;
        // Whoever types does not wait for the next frame.
        self.next_frame = Instant::now();
        Ok(())
    }

    async fn event(&mut self, event: Option<Event>) -> Result<(), Error> {
        match event {
            // Too slow, or another log: begin again with what is there.
            None | Some(Event::Session(SessionEvent::Lagged { .. })) => self.join(true).await,
            Some(event) => {
                let ended = matches!(event, Event::Live(Live::TurnEnded { .. }));
                self.take(Msg::Event(event)).await;
                if ended {
                    self.read_facts();
                }
                Ok(())
            }
        }
    }

    /// Joins the session, and shows where it is.
    async fn join(&mut self, again: bool) -> Result<(), Error> {
        let attached = self.worker.attach(None).await?;
        let path = reading::path(&self.worker, None).await?;
        let joined = Joined {
            running: attached.running,
            drafts: attached.drafts,
            asked: attached.asked,
            queue: attached.queue,
            returned: attached.returned,
            pastes: reading::pastes(&self.worker),
            said: reading::said(&path),
        };
        self.events = attached.events;
        self.take(Msg::Path(path)).await;
        // At the start what others printed stays above.
        self.clear &= again;
        self.take(Msg::Joined(Box::new(joined))).await;
        self.read_facts();
        Ok(())
    }

    /// Hands a message over, and does what follows from it.
    async fn take(&mut self, msg: Msg) {
        self.state.now = self.began.elapsed().as_millis() as u64;
        self.dirty = true;
        let refresh = matches!(&msg, Msg::Replied(_, reply) if reply.is_ok());
        for action in update(&mut self.state, msg) {
            self.act(action).await;
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
        self.screen.draw(&std::mem::take(&mut self.finished), &frame)?;
        self.dirty = false;
        self.next_frame = Instant::now() + FRAME;
        Ok(())
    }
}
