//! Runs actions. Slow ones run in a background task that sends a message when it is done.

use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use osier_agent::{Command, Error, Reply, Worker};
use osier_session::{Query, Unread};
use osier_tree::projection::card::Card;

use super::errands::{self, Around};
use super::sending::Outgoing;
use super::{App, Heard, Pause, images, reading};
use crate::error::told;
use crate::msg::{Action, Msg, Purpose, Which};
use crate::screen::Output;

/// The maximum number of files that completion offers.
const FILES: usize = 20_000;

/// How long a search waits for more input before it reads conversations.
const TYPING: Duration = Duration::from_millis(150);

impl App {
    pub(super) fn act(&mut self, action: Action) {
        match action {
            Action::Print(pieces) => self.output.pieces.extend(pieces),
            Action::Show(pieces) => self.output = Output { pieces, replaces: true },
            Action::Redraw => self.clear = true,
            Action::Send(command, purpose) => self.send(command, purpose),
            Action::Open(which) => self.open(which),
            Action::Edit(text) => self.pause = Some(Pause::Edit(text)),
            Action::Suspend => self.suspend(),
            Action::Copy(text) => self.copy(&text),
            Action::ReadSettings => self.take(Msg::Settings(self.host.settings())),
            Action::Set { key, value } => self.set(&key, &value),
            Action::ReadImage(path) => {
                let setting = self.state.setting.clone();
                self.task(|_| async move {
                    let image = images::read(&path, &setting).await;
                    Ok(image.map_or(Msg::Tick, |image| Msg::Image(path, image)))
                });
            }
            Action::PasteImage => self.task(|_| async move {
                let image = images::from_clipboard().await;
                let none =
                    || Msg::Failed("cannot paste an image: no readable image in the clipboard".to_owned());
                Ok(image.map_or_else(none, |image| Msg::Image(String::new(), image)))
            }),
            Action::Remember(text) => {
                let host = self.host.clone();
                drop(tokio::task::spawn_blocking(move || host.remember(&text)));
            }
            Action::Search { query, cards, among } => self.search(query, cards, among),
            Action::StopSearch => self.stop_search(),
            Action::Quit => self.pause = Some(Pause::Leave(0)),
            Action::ListFiles => {
                let folder = self.state.setting.cwd.clone();
                self.task(|_| async move { Ok(Msg::Files(files(folder).await.into())) });
            }
            action => self.run_errand(action),
        }
    }

    /// Sends a command to the agent. Commands arrive in order; replies may not.
    fn send(&mut self, command: Command, purpose: Purpose) {
        let (worker, setting) = (self.worker.clone(), self.state.setting.clone());
        // The receiving task is gone only when the interface ends.
        let _ = self.commands.send(Outgoing { worker, setting, command, purpose });
    }

    /// Runs an action that only reads or writes the session in a background task.
    fn run_errand(&mut self, action: Action) {
        let around = Around {
            columns: self.state.columns,
            clock: self.state.clock,
            folder: self.state.setting.cwd.clone(),
            home: self.state.setting.home.clone(),
            host: self.host.clone(),
        };
        self.task(move |worker| async move { errands::run(&worker, action, &around).await });
    }

    /// Changes a setting and applies it to the screen.
    fn set(&mut self, key: &str, value: &str) {
        let msg = match self.host.set(key, value) {
            Ok(changed) => {
                self.state.setting = changed.setting.into();
                if key == "theme" {
                    self.screen.dress(changed.theme);
                    if let Some(light) = self.light.filter(|_| value == "auto" || value.is_empty()) {
                        self.dress(light);
                    }
                }
                self.take(Msg::Settings(self.host.settings()));
                done(changed.told)
            }
            Err(error) => Msg::Failed(error),
        };
        self.take(msg);
    }

    pub(super) fn read_facts(&self) {
        let branch = self.host.git_branch();
        self.task(|worker| async move { Ok(Msg::Facts(Box::new(reading::facts(&worker, branch).await?))) });
    }

    /// Runs work in a background task. An error is shown to the user.
    fn task<F>(&self, work: impl FnOnce(Worker) -> F)
    where
        F: Future<Output = Result<Msg, Error>> + Send + 'static,
    {
        let work = work(self.worker.clone());
        let answers = self.answers.clone();
        tokio::spawn(async move {
            let msg = work.await.unwrap_or_else(|error| Msg::Failed(told(&error)));
            // The receiver is gone only when the interface has ended.
            let _ = answers.send(Heard::Msg(msg));
        });
    }

    fn open(&mut self, which: Which) {
        if self.opening.is_some() {
            return;
        }
        let (host, worker, answers) = (self.host.clone(), self.worker.clone(), self.answers.clone());
        let opening = tokio::spawn(async move { host.open(which, &worker).await });
        self.opening = Some(opening.abort_handle());
        tokio::spawn(async move {
            let opened = opening.await.unwrap_or_else(|failed| match failed.is_cancelled() {
                true => Err("Canceled; still in this session".to_owned()),
                false => Err("cannot open the session: internal error; try again".to_owned()),
            });
            let _ = answers.send(Heard::Opened(Box::new(opened)));
        });
    }

    /// Searches conversations, the most recently used first. Reports each hit at once.
    fn search(&mut self, query: String, cards: Arc<Vec<Card>>, among: Vec<usize>) {
        self.stop_search();
        let stores = self.host.stores(self.worker.session());
        let (answers, number) = (self.answers.clone(), self.searches);
        let searching = tokio::spawn(async move {
            tokio::time::sleep(TYPING).await;
            let (query, mut unread) = (Query::parse(&query), Unread::default());
            for at in among {
                if let (Ok(query), Some(card)) = (&query, cards.get(at))
                    && unread.note(card, query.is_said_in(card, &stores).await)
                {
                    let _ = answers.send(Heard::Found(number, Some(at)));
                }
            }
            if let Some(told) = unread.told() {
                let _ = answers.send(Heard::Msg(Msg::Failed(told)));
            }
            let _ = answers.send(Heard::Found(number, None));
        });
        self.search = Some(searching.abort_handle());
    }

    /// Aborts the search. Hits that it already sent are ignored.
    fn stop_search(&mut self) {
        self.searches += 1;
        if let Some(search) = self.search.take() {
            search.abort();
        }
    }

    /// Copies through the terminal (OSC 52), which works over SSH.
    fn copy(&mut self, text: &str) {
        use std::io::Write;
        let count = text.chars().count();
        let text = base64::engine::general_purpose::STANDARD.encode(text);
        // A terminal without clipboard support ignores it.
        let _ = write!(self.screen.out(), "\x1b]52;c;{text}\x07");
        let notice = format!("Copied {count} characters to the clipboard");
        crate::update::tell(&mut self.state, &notice);
    }
}

/// The message that reports a completed change to the user.
pub(super) fn done(notice: String) -> Msg {
    Msg::Replied(Purpose::Change(notice), Box::new(Ok(Reply::Done)))
}

/// The files below a folder, without those that version control ignores.
async fn files(folder: String) -> Vec<String> {
    let walk = move || {
        let root = FilePath::new(&folder);
        let files = osier_tools::files(root);
        let names = files
            .filter_map(|entry| entry.path().strip_prefix(root).ok().map(|path| path.display().to_string()));
        names.take(FILES).collect()
    };
    tokio::task::spawn_blocking(walk).await.unwrap_or_default()
}
