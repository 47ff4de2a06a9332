//! Runs actions. Slow ones run in a background task that sends a message when it is done.

use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use osier_agent::{AgentError, Worker};
use osier_protocol::{ClientCommand, CommandReply};
use osier_session::{SearchErrors, SearchQuery};
use osier_tree::projection::card::Card;

use super::command_sender::OutgoingCommand;
use super::tasks::{self, TaskContext};
use super::{App, Pause, TaskResult, images, queries};
use crate::error::error_chain;
use crate::msg::{Action, Msg, OpenTarget, Purpose};
use crate::screen::ScreenOutput;

/// The maximum number of files that completion offers.
const MAX_FILES: usize = 20_000;

/// How long a search waits for more input before it reads conversations.
const SEARCH_DELAY: Duration = Duration::from_millis(150);

impl App {
    pub(super) fn run_action(&mut self, action: Action) {
        match action {
            Action::Print(pieces) => self.output.pieces.extend(pieces),
            Action::Show(pieces) => self.output = ScreenOutput { pieces, replaces_history: true },
            Action::Redraw => self.clear_screen = true,
            Action::Send(command, purpose) => self.send(command, purpose),
            Action::Open(which) => self.open_session(which),
            Action::Edit(text) => self.pause = Some(Pause::EditText(text)),
            Action::Suspend => self.suspend(),
            Action::Copy(text) => self.copy_to_clipboard(&text),
            Action::ReadSettings => self.queue_msg(Msg::Settings(self.host.settings())),
            Action::ChangeSetting { key, value } => self.change_setting(&key, &value),
            Action::ReadImage(path) => {
                let setting = self.state.config.clone();
                self.spawn_task(|_| async move {
                    let image = images::read_image(&path, &setting).await;
                    Ok(image.map_or(Msg::Tick, |image| Msg::Image(path, image)))
                });
            }
            Action::PasteImage => self.spawn_task(|_| async move {
                let image = images::from_clipboard().await;
                let none =
                    || Msg::Failed("cannot paste an image: no readable image in the clipboard".to_owned());
                Ok(image.map_or_else(none, |image| Msg::Image(String::new(), image)))
            }),
            Action::AddToHistory(text) => {
                let host = self.host.clone();
                drop(tokio::task::spawn_blocking(move || host.add_to_history(&text)));
            }
            Action::Search { query, cards, among } => self.start_search(query, cards, among),
            Action::StopSearch => self.stop_search(),
            Action::Quit => self.pause = Some(Pause::Exit(0)),
            Action::ListFiles => {
                let folder = self.state.config.cwd.clone();
                self.spawn_task(|_| async move { Ok(Msg::Files(list_files(folder).await.into())) });
            }
            action => self.run_session_task(action),
        }
    }

    /// Sends a command to the agent. Commands arrive in order; replies may not.
    fn send(&mut self, command: ClientCommand, purpose: Purpose) {
        let (worker, setting) = (self.worker.clone(), self.state.config.clone());
        // The receiving task is gone only when the interface ends.
        let _ = self.commands.send(OutgoingCommand { worker, config: setting, command, purpose });
    }

    /// Runs an action that only reads or writes the session in a background task.
    fn run_session_task(&mut self, action: Action) {
        let around = TaskContext {
            columns: self.state.columns,
            clock: self.state.clock,
            cwd: self.state.config.cwd.clone(),
            home: self.state.config.home.clone(),
            host: self.host.clone(),
        };
        self.spawn_task(move |worker| async move { tasks::run_task(&worker, action, &around).await });
    }

    /// Changes a setting and applies it to the screen.
    fn change_setting(&mut self, key: &str, value: &str) {
        let msg = match self.host.set_setting(key, value) {
            Ok(changed) => {
                self.state.config = changed.config.into();
                if key == "theme" {
                    self.screen.set_theme(changed.theme);
                    if let Some(light) = self.light_background.filter(|_| value == "auto" || value.is_empty())
                    {
                        self.set_background(light);
                    }
                }
                self.queue_msg(Msg::Settings(self.host.settings()));
                change_done(changed.notice)
            }
            Err(error) => Msg::Failed(error),
        };
        self.queue_msg(msg);
    }

    pub(super) fn read_status_info(&self) {
        let branch = self.host.git_branch();
        self.spawn_task(|worker| async move {
            Ok(Msg::StatusInfo(Box::new(queries::status_info(&worker, branch).await?)))
        });
    }

    /// Runs work in a background task. An error is shown to the user.
    fn spawn_task<F>(&self, work: impl FnOnce(Worker) -> F)
    where
        F: Future<Output = Result<Msg, AgentError>> + Send + 'static,
    {
        let work = work(self.worker.clone());
        let answers = self.task_results.clone();
        tokio::spawn(async move {
            let msg = work.await.unwrap_or_else(|error| Msg::Failed(error_chain(&error)));
            // The receiver is gone only when the interface has ended.
            let _ = answers.send(TaskResult::Msg(msg));
        });
    }

    fn open_session(&mut self, which: OpenTarget) {
        if self.opening_task.is_some() {
            return;
        }
        let (host, worker, answers) = (self.host.clone(), self.worker.clone(), self.task_results.clone());
        let opening = tokio::spawn(async move { host.open(which, &worker).await });
        self.opening_task = Some(opening.abort_handle());
        tokio::spawn(async move {
            let opened = opening.await.unwrap_or_else(|failed| match failed.is_cancelled() {
                true => Err("Canceled; still in this session".to_owned()),
                false => Err("cannot open the session: internal error; try again".to_owned()),
            });
            let _ = answers.send(TaskResult::Opened(Box::new(opened)));
        });
    }

    /// Searches conversations, the most recently used first. Reports each hit at once.
    fn start_search(&mut self, query: String, cards: Arc<Vec<Card>>, among: Vec<usize>) {
        self.stop_search();
        let stores = self.host.stores(self.worker.session());
        let (answers, number) = (self.task_results.clone(), self.search_number);
        let searching = tokio::spawn(async move {
            tokio::time::sleep(SEARCH_DELAY).await;
            let (query, mut unread) = (SearchQuery::parse(&query), SearchErrors::default());
            for at in among {
                if let (Ok(query), Some(card)) = (&query, cards.get(at))
                    && unread.record(card, query.matches_messages(card, &stores).await)
                {
                    let _ = answers.send(TaskResult::SearchHit(number, Some(at)));
                }
            }
            if let Some(summary) = unread.summary() {
                let _ = answers.send(TaskResult::Msg(Msg::Failed(summary)));
            }
            let _ = answers.send(TaskResult::SearchHit(number, None));
        });
        self.search_task = Some(searching.abort_handle());
    }

    /// Aborts the search. Hits that it already sent are ignored.
    fn stop_search(&mut self) {
        self.search_number += 1;
        if let Some(search) = self.search_task.take() {
            search.abort();
        }
    }

    /// Copies through the terminal (OSC 52), which works over SSH.
    fn copy_to_clipboard(&mut self, text: &str) {
        use std::io::Write;
        let count = text.chars().count();
        let text = base64::engine::general_purpose::STANDARD.encode(text);
        // A terminal without clipboard support ignores it.
        let _ = write!(self.screen.out(), "\x1b]52;c;{text}\x07");
        let notice = format!("Copied {count} characters to the clipboard");
        crate::update::show_notice(&mut self.state, &notice);
    }
}

/// The message that reports a completed change to the user.
pub(super) fn change_done(notice: String) -> Msg {
    Msg::Replied(Purpose::Change(notice), Box::new(Ok(CommandReply::Done)))
}

/// The files below a folder, without those that version control ignores.
async fn list_files(folder: String) -> Vec<String> {
    let walk = move || {
        let root = FilePath::new(&folder);
        let files = osier_tools::unignored_files(root);
        let names = files
            .filter_map(|entry| entry.path().strip_prefix(root).ok().map(|path| path.display().to_string()));
        names.take(MAX_FILES).collect()
    };
    tokio::task::spawn_blocking(walk).await.unwrap_or_default()
}
