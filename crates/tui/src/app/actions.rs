//! Runs actions. Slow ones run in a background task that sends a message when it is done.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use osier_protocol::search_query::MessageHit;
use osier_protocol::{Card, Client, ClientCommand, ClientError, CommandReply, SessionRef};

use super::command_sender::OutgoingCommand;
use super::tasks::{self, TaskContext};
use super::{App, LoopPause, TaskResult, images};
use crate::error::{TuiError, error_chain};
use crate::host::{Host, SessionSearchResult};
use crate::msg::{Action, CommandPurpose, Msg, OpenTarget, SearchHit};
use crate::screen::ScreenOutput;
use crate::window;

/// The longest title that an extension sets.
const MAX_TITLE: usize = 100;
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
            Action::Edit(text) => self.pause = Some(LoopPause::EditText(text)),
            Action::Suspend => self.suspend(),
            Action::Copy(text) => self.copy_to_clipboard(&text),
            Action::Notify(text) => {
                let sequence = window::notification(self.state.config.notify, &text);
                let _ = self.screen.out().write_all(sequence.as_bytes());
            }
            Action::ReadImage(path) => {
                let host = self.host.clone();
                self.spawn_task(|_| async move {
                    let image = host.read_image(&path).await;
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
            Action::UseTheme(name) => match self.host.theme(&name) {
                Some(theme) => self.screen.set_theme(theme.with_color_depth(self.screen.color_depth())),
                None => self.queue_msg(Msg::Failed(format!("there is no theme {name}"))),
            },
            Action::Quit => self.pause = Some(LoopPause::Exit(0)),
            action => self.run_session_task(action),
        }
    }

    /// Sets the title of the window if it changed. The status is known after the first frames.
    pub(super) fn set_title(&mut self) -> Result<(), TuiError> {
        let status = &self.state.status;
        let title = match &self.state.extensions.title {
            Some(title) => osier_protocol::one_line(title, MAX_TITLE),
            None => window::title(status, &self.state.config.directory),
        };
        if !status.id.is_empty() && title != self.title {
            self.screen.out().write_all(window::title_sequence(&title).as_bytes())?;
            self.title = title;
        }
        Ok(())
    }

    /// Sends a command to the agent. Commands arrive in order; replies may not.
    pub(super) fn send(&mut self, command: ClientCommand, purpose: CommandPurpose) {
        let (client, host) = (self.client.clone(), self.host.clone());
        // The receiving task is gone only when the interface ends.
        let _ = self.commands.send(OutgoingCommand { client, host, command, purpose });
    }

    /// Runs an action that only reads or writes the session in a background task.
    fn run_session_task(&mut self, action: Action) {
        let context =
            TaskContext { columns: self.state.columns, clock: self.state.clock, host: self.host.clone() };
        self.spawn_task(move |client| async move { tasks::run_task(&*client, action, &context).await });
    }

    /// Changes a setting and applies it to the screen.
    pub(super) async fn change_setting(&mut self, key: String, value: String) {
        match self.host.set_setting(&key, &value).await {
            Ok(changed) => {
                self.state.config = changed.config.into();
                if key == "theme" {
                    self.screen.set_theme(changed.theme);
                    if let Some(light) = self.light_background.filter(|_| value == "auto" || value.is_empty())
                    {
                        self.set_background(light);
                    }
                }
                self.show_settings().await;
                self.apply_msg(change_done(changed.notice));
            }
            Err(error) => self.apply_msg(Msg::Failed(error)),
        }
    }

    pub(super) async fn show_settings(&mut self) {
        let msg = self.host.settings().await.map_or_else(Msg::Failed, Msg::Settings);
        self.apply_msg(msg);
    }

    /// Reads or writes files of the host on another thread, so that a slow disk does not stop the loop.
    pub(super) async fn ask_host<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Host) -> T + Send + 'static,
    ) -> T {
        let host = self.host.clone();
        match tokio::task::spawn_blocking(move || ask(&*host)).await {
            Ok(answer) => answer,
            // The task is never canceled, so it panicked.
            Err(failed) => std::panic::resume_unwind(failed.into_panic()),
        }
    }

    pub(super) fn read_status(&self) {
        self.spawn_task(|client| async move { Ok(Msg::Status(Box::new(client.status().await?))) });
    }

    pub(super) fn read_sandbox(&self) {
        self.spawn_task(|client| async move { Ok(Msg::Sandbox(client.sandbox().await?)) });
    }

    /// Runs work in a background task. An error is shown to the user.
    fn spawn_task<F>(&self, work: impl FnOnce(Arc<dyn Client>) -> F)
    where
        F: Future<Output = Result<Msg, ClientError>> + Send + 'static,
    {
        let work = work(self.client.clone());
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
        self.found_entry = match &which {
            OpenTarget::Found(_, entry) => Some(entry.clone()),
            _ => None,
        };
        let (host, answers) = (self.host.clone(), self.task_results.clone());
        let opening = tokio::spawn(async move { host.open(which).await });
        self.opening_task = Some(opening.abort_handle());
        tokio::spawn(async move {
            let opened = opening.await.unwrap_or_else(|failed| match failed.is_cancelled() {
                true => Err("Canceled; still in this session".to_owned()),
                false => Err("cannot open the session: internal error; try again".to_owned()),
            });
            let _ = answers.send(TaskResult::Opened(Box::new(opened)));
        });
    }

    /// Searches conversations, and reports those of the cards in `among`.
    fn start_search(&mut self, query: String, cards: Arc<Vec<Card>>, among: Vec<usize>) {
        self.stop_search();
        let (host, answers, number) = (self.host.clone(), self.task_results.clone(), self.search_number);
        let searching = tokio::spawn(async move {
            tokio::time::sleep(SEARCH_DELAY).await;
            let found = host.search_sessions(&query).await;
            let found = found
                .unwrap_or_else(|error| SessionSearchResult { problem: Some(error), ..Default::default() });
            let mut hits: HashMap<SessionRef, Option<MessageHit>> = found.hits.into_iter().collect();
            for card in among {
                let session = cards.get(card).map(SessionRef::from_card);
                if let Some(message) = session.and_then(|session| hits.remove(&session)) {
                    let _ = answers.send(TaskResult::SearchHit(number, Some(SearchHit { card, message })));
                }
            }
            if let Some(problem) = found.problem {
                let _ = answers.send(TaskResult::Msg(Msg::Failed(problem)));
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
    Msg::Replied(CommandPurpose::Change(notice), Box::new(Ok(CommandReply::Done)))
}
