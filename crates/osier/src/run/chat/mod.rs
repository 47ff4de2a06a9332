//! Talking line by line on a plain terminal: a prompt, the answer as it comes, questions before anything is changed.

mod ask;
mod going;
mod lines;
mod slash;
mod typing;
mod view;

use std::collections::VecDeque;
use std::process::ExitCode;

use anyhow::{Context, Result};
use osier_agent::{Command, Event, Live, Question, Reply, Said, When};
use osier_session::Event as SessionEvent;
use osier_tree::Role;
use osier_tree::entry::read_entry;
use osier_tree::projection::preview::one_line;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use self::going::Wish;
use self::lines::Typed;
use self::view::{Paint, View};
use super::choice::Choice;
use super::signals::{Asked, Signals};
use super::sink::Sink;
use super::{Desk, Open};
use crate::failure::told;
use crate::home;
use crate::out::Style;

/// How many of the last entries are shown when a session is gone on with.
const RECENT: usize = 6;

/// What a line leads to.
enum Then {
    Stay,
    Leave,
    /// To another session, with something to say there.
    Go(Choice, Option<Said>),
}

/// What was sent and is answered only when it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    Cancel,
    Bash,
    Errand,
}

type Answered = (Sent, Result<Reply, osier_agent::Error>);

/// A chat on one session, which is made when it is first needed.
struct Chat {
    desk: Desk,
    choice: Option<Choice>,
    open: Option<Open>,
    view: View,
    sink: Sink,
    questions: VecDeque<(u64, Question)>,
    /// A turn, or a command of the user's, is going on.
    turn: bool,
    commands: usize,
    /// A move, a compaction or a graft is under way.
    errand: bool,
    /// Something that needs one more word.
    wish: Option<Wish>,
    /// What returned to be said differently.
    editor: Option<Said>,
    /// The entries of the tree that was drawn last.
    rows: Vec<String>,
    /// Somebody wants it to stop.
    stopping: bool,
    /// Ctrl-C was pressed at the prompt.
    warned: bool,
    prompted: bool,
    replies: UnboundedSender<Answered>,
    replied: UnboundedReceiver<Answered>,
}

/// Talks until the user has enough.
pub(super) async fn talk(mut desk: Desk, mut choice: Choice, mut first: Option<Said>) -> Result<ExitCode> {
    let mut typed = lines::read();
    let mut signals = Signals::catch()?;
    let mut editor = None;
    loop {
        let mut chat = Chat::new(desk, choice);
        chat.editor = editor.take();
        let leave = chat.run(&mut typed, &mut signals, first.take()).await?;
        if chat.prompted {
            chat.sink.write("\n");
        }
        let _ = chat.sink.written().await;
        match leave {
            Leave::With(code) => return Ok(ExitCode::from(code)),
            Leave::For(next, said) => {
                (desk, choice, editor) = (chat.desk.again(&next).await?, next, said);
            }
        }
    }
}

/// How a chat ends.
enum Leave {
    With(u8),
    For(Choice, Option<Said>),
}

impl Chat {
    fn new(desk: Desk, choice: Choice) -> Chat {
        let view = View::new(desk.home.user.as_deref(), Paint(home::wants_colour()));
        let (replies, replied) = unbounded_channel();
        Chat {
            desk,
            choice: Some(choice),
            open: None,
            view,
            sink: Sink::stdout(),
            questions: VecDeque::new(),
            turn: false,
            commands: 0,
            errand: false,
            wish: None,
            editor: None,
            rows: Vec::new(),
            stopping: false,
            warned: false,
            prompted: false,
            replies,
            replied,
        }
    }

    async fn run(&mut self, typed: &mut Typed, signals: &mut Signals, first: Option<Said>) -> Result<Leave> {
        self.begin().await?;
        if let Some(said) = first {
            self.show(&format!("> {}", one_line(&said.text, 200)));
            self.say(said, When::Now).await?;
        }
        let mut leave = None;
        loop {
            self.catch_up().await?;
            if !self.is_busy()
                && let Some(leave) = leave.take()
            {
                return Ok(leave);
            }
            self.prompt();
            tokio::select! {
                asked = signals.next() => match self.asked(asked, leave.is_some()) {
                    Some(code) if self.stopping => return Ok(Leave::With(code)),
                    Some(code) => leave = self.leave(Leave::With(code)),
                    None => {}
                },
                line = typed.recv() => match self.typed(line).await {
                    Then::Stay => {}
                    Then::Leave => leave = self.leave(Leave::With(0)),
                    Then::Go(choice, said) => leave = self.leave(Leave::For(choice, said)),
                },
                event = next(&mut self.open) => self.event(&event?),
                Some((sent, reply)) = self.replied.recv() => self.replied(sent, reply).await?,
                () = self.sink.gone() => return Ok(Leave::With(0)),
            }
        }
    }

    /// Says where one is, and what was said here before.
    async fn begin(&mut self) -> Result<()> {
        let model = self.desk.introduction();
        self.show(&model);
        if matches!(self.choice, Some(Choice::There(_))) {
            let open = self.open().await?;
            let returned = std::mem::take(&mut open.follow.returned);
            self.recent(RECENT).await?;
            for said in returned {
                self.show(&format!("this was never said: {}", said.text));
            }
        }
        let editor = self.editor.take();
        self.offer(editor);
        Ok(())
    }

    /// Shows the last entries of the path.
    async fn recent(&mut self, most: usize) -> Result<()> {
        for line in self.there()?.recent(most).await? {
            self.show(&line);
        }
        Ok(())
    }

    /// Shows what has happened already, so that the prompt comes below it.
    async fn catch_up(&mut self) -> Result<()> {
        loop {
            tokio::select! {
                biased;
                event = next(&mut self.open) => self.event(&event?),
                () = std::future::ready(()) => return Ok(()),
            }
        }
    }

    fn is_busy(&self) -> bool {
        self.turn || self.errand || self.commands > 0
    }

    /// The prompt, if it is the user's turn and he does not see one.
    fn prompt(&mut self) {
        if !self.is_busy() && !self.prompted {
            let asks = self.wish.as_ref().map(|wish| self.view.paint.on(Style::Bold, wish.answers()));
            let prompt = asks.map_or("\n> ".to_owned(), |asks| asks + "\n? ");
            let prompt = self.view.below(prompt);
            self.sink.write(prompt);
            self.prompted = true;
        }
    }

    /// Writes text, below the prompt if one stands there.
    fn write(&mut self, text: String) {
        if !text.is_empty() {
            let line = if std::mem::take(&mut self.prompted) { "\n" } else { "" };
            self.sink.write(format!("{line}{text}"));
        }
    }

    fn show(&mut self, text: &str) {
        let text = self.view.remark(text);
        self.write(text);
    }

    fn complain(&mut self, error: &anyhow::Error) {
        let text = self.view.complaint(&told(error));
        self.write(text);
    }

    /// Waits until the screen shows everything.
    async fn settle(&mut self) -> Result<()> {
        Ok(self.sink.written().await?)
    }

    /// The session, made now if it is new.
    async fn open(&mut self) -> Result<&mut Open> {
        if let Some(choice) = self.choice.take() {
            self.open = Some(self.desk.open(choice).await?);
        }
        self.open.as_mut().context("the session could not be opened")
    }

    /// The session, if there is one by now.
    fn there(&self) -> Result<&Open> {
        self.open.as_ref().context("nothing was said yet")
    }

    /// The model in force, by name.
    async fn model(&self) -> Result<String> {
        match &self.open {
            Some(open) => Ok(open.model().await?.unwrap_or_else(|| self.desk.model_name())),
            None => Ok(self.desk.model_name()),
        }
    }

    fn event(&mut self, event: &Event) {
        let text = self.view.take(event);
        self.write(text);
        match event {
            Event::Session(SessionEvent::Committed { line, foreign: false, .. }) if is_command(line) => {
                self.commands = self.commands.saturating_sub(1);
            }
            Event::Live(Live::TurnStarted) => self.turn = true,
            Event::Live(Live::TurnEnded { .. }) => (self.turn, self.view.typed) = (false, false),
            Event::Live(Live::Asked { id, question }) => {
                self.view.asked.push(question.call.id.clone());
                self.questions.push_back((*id, (**question).clone()));
                if self.questions.len() == 1 {
                    self.ask();
                }
            }
            Event::Live(Live::Answered { id, .. }) => {
                let before = self.questions.front().map(|(first, _)| *first);
                self.questions.retain(|(open, _)| open != id);
                if before == Some(*id) {
                    self.ask();
                }
            }
            _ => {}
        }
    }

    /// Shows the question that waits longest.
    fn ask(&mut self) {
        if let Some((_, question)) = self.questions.front() {
            let drawn = ask::drawn(question, self.view.paint, self.desk.home.user.as_deref());
            let drawn = self.view.below(drawn);
            self.write(drawn + "? ");
        }
    }

    /// What a signal means: the exit code, if it means the end.
    fn asked(&mut self, asked: Asked, leaving: bool) -> Option<u8> {
        self.prompted = false;
        if asked != Asked::Interrupt || leaving {
            return Some(asked.code());
        }
        if self.is_busy() && !self.stopping {
            self.stop();
            return None;
        }
        if self.is_busy() || std::mem::replace(&mut self.warned, true) {
            return Some(asked.code());
        }
        self.write("\n".to_owned());
        if self.wish.take().is_some() {
            self.warned = false;
            self.show("nothing was changed");
            return None;
        }
        self.show("Ctrl-C again, or Ctrl-D, leaves");
        None
    }

    fn stop(&mut self) {
        self.stopping = true;
        self.questions.clear();
        self.write("\n".to_owned());
        self.tell(Sent::Cancel, Command::Cancel);
    }

    /// Leaves as soon as nothing goes on any more.
    fn leave(&mut self, leave: Leave) -> Option<Leave> {
        if self.is_busy() && !self.stopping {
            self.stop();
        }
        Some(leave)
    }
}

fn is_command(line: &[u8]) -> bool {
    read_entry(line).is_ok_and(|entry| entry.role == Role::BashExecution)
}

/// The next event of the session, once there is one.
async fn next(open: &mut Option<Open>) -> Result<Event> {
    match open {
        Some(open) => open.follow.next().await,
        None => std::future::pending().await,
    }
}
