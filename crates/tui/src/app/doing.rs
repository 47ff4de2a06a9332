//! Carries out actions. What takes time runs in a task of its own and answers with a message.

use std::path::Path as FilePath;

use base64::Engine;
use osier_agent::{Client, Command, Error, Reply, Worker};
use osier_session::Session;
use osier_store::Filter;
use osier_tree::projection::compare::compare;
use osier_tree::projection::transcript::{markdown, transcript, transcript_entries};
use osier_tree::{PlanError, Seq};
use serde_json::{Map, Value, json};

use super::{App, Heard, images, reading};
use crate::msg::{Action, Msg, Purpose, Which};
use crate::pages;
use crate::text::Line;
use crate::theme::Role;

/// Files that completion knows of, at most.
const FILES: usize = 20_000;

impl App {
    pub(super) async fn act(&mut self, action: Action) {
        match action {
            Action::Print(lines) => self.finished.extend(lines),
            Action::Clear => {
                self.clear = true;
                self.finished.clear();
            }
            // Between reading the path and showing it nothing else may be shown.
            Action::ShowPath { remark } => {
                let msg = reading::path(&self.worker, remark).await.map(Msg::Path);
                let msg = msg.unwrap_or_else(|error| Msg::Failed(error.to_string()));
                Box::pin(self.take(msg)).await;
                self.read_facts();
            }
            Action::Send(command, purpose) => self.send(command, purpose).await,
            Action::Open(which) => self.open(which),
            Action::Edit(text) => self.edit = Some(text),
            Action::Copy(text) => self.copy(&text),
            Action::TellModels => {
                let lines = pages::models(&self.state.setting.models, &self.state.facts.model);
                Box::pin(self.take(Msg::Told(lines))).await;
            }
            Action::Quit => self.leaving = Some(0),
            Action::ListFiles => {
                let folder = self.state.setting.cwd.clone();
                self.task(|_| async move { Ok(Msg::Files(files(folder).await.into())) });
            }
            action => self.read_or_write(action),
        }
    }

    /// Commands reach the agent in the order in which they were given; answers come when they come.
    async fn send(&mut self, command: Command, purpose: Purpose) {
        let command = with_images(command, &self.state.setting.cwd).await;
        let (worker, answers) = (self.worker.clone(), self.answers.clone());
        let mut sent = Box::pin(async move {
            let reply = worker.send(command).await.map_err(|error| told(&error));
            // Nobody listens any more once the interface has ended.
            let _ = answers.send(Heard::Msg(Msg::Replied(purpose, Box::new(reply))));
        });
        tokio::select! {
            biased;
            () = &mut sent => {}
            // It lies in the agent's mailbox by now.
            () = std::future::ready(()) => drop(tokio::spawn(sent)),
        }
    }

    fn read_or_write(&mut self, action: Action) {
        let (columns, home) = (self.state.columns, self.state.setting.cwd.clone());
        self.task(move |worker| async move {
            let session = worker.session();
            match action {
                Action::ReadTree => {}
                Action::Label { entry: Some(entry), label } => {
                    drop(session.label(&entry, label.as_deref()).await?);
                }
                Action::Label { entry: None, label } => {
                    session.label(&here(&worker), label.as_deref()).await?;
                    return Ok(done(
                        label.map_or_else(
                            || "label taken away".to_owned(),
                            |label| format!("labeled {label}"),
                        ),
                    ));
                }
                Action::Rename(name) => {
                    session.rename(&name).await?;
                    return Ok(done(format!("named {name}")));
                }
                Action::DeleteBranch(entry) => drop(session.delete_branch(&entry).await?),
                Action::RestoreBranch(entry) => drop(session.restore_branch(&entry).await?),
                Action::KeepPastes(pastes) => {
                    let mut all: Map<String, Value> = Map::new();
                    all.extend(
                        reading::pastes(&worker)
                            .into_iter()
                            .chain(pastes)
                            .map(|(key, text)| (key, json!(text))),
                    );
                    session
                        .config(
                            [("pastedTextMap".to_owned(), Value::Object(all))].into_iter().collect(),
                            Vec::new(),
                        )
                        .await?;
                    return Ok(Msg::Tick);
                }
                Action::ListSessions => return sessions(session).await,
                Action::RenameSession { id, name } => {
                    let other = Session::open(session.store().clone(), &id, session.env().clone()).await?;
                    other.rename(&name).await?;
                    return sessions(session).await;
                }
                Action::DeleteSession(id) => {
                    session.store().delete(&id).await?;
                    return sessions(session).await;
                }
                Action::TellUsage => {
                    return Ok(Msg::Told(pages::usage(&reading::usage(&worker).await?, columns)));
                }
                Action::Compare(left, right) => return compared(&worker, &left, &right, columns).await,
                Action::Export(path) => return export(&worker, path, &home).await,
                _ => return Ok(Msg::Tick),
            }
            Ok(Msg::Tree(Box::new(reading::forest(&worker).await?)))
        });
    }

    pub(super) fn read_facts(&self) {
        let branch = self.host.git_branch();
        self.task(|worker| async move { Ok(Msg::Facts(Box::new(reading::facts(&worker, branch).await?))) });
    }

    /// Runs something beside the loop; an error is a line for the user.
    fn task<F>(&self, work: impl FnOnce(Worker) -> F)
    where
        F: Future<Output = Result<Msg, Error>> + Send + 'static,
    {
        let work = work(self.worker.clone());
        let answers = self.answers.clone();
        tokio::spawn(async move {
            let msg = work.await.unwrap_or_else(|error| Msg::Failed(told(&error)));
            // Nobody listens any more once the interface has ended.
            let _ = answers.send(Heard::Msg(msg));
        });
    }

    fn open(&self, which: Which) {
        let (host, worker, answers) = (self.host.clone(), self.worker.clone(), self.answers.clone());
        tokio::spawn(async move {
            let heard = match host.open(which, &worker).await {
                Ok(worker) => Heard::Opened(Box::new(worker)),
                Err(error) => Heard::Msg(Msg::Failed(error)),
            };
            let _ = answers.send(heard);
        });
    }

    /// Through the terminal, so that it works over ssh.
    fn copy(&mut self, text: &str) {
        use std::io::Write;
        let text = base64::engine::general_purpose::STANDARD.encode(text);
        // A terminal that cannot copy ignores it.
        let _ = write!(self.screen.out(), "\x1b]52;c;{text}\x07");
        crate::update::tell(&mut self.state, "copied");
    }
}

/// What is said, with the images it names.
async fn with_images(command: Command, cwd: &str) -> Command {
    match command {
        Command::Prompt { text, mut images, when } => {
            images.extend(images::named_in(&text, cwd).await);
            Command::Prompt { text, images, when }
        }
        command => command,
    }
}

/// An error with its causes.
fn told(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !text.contains(&words) {
            text += &format!(": {words}");
        }
        next = cause.source();
    }
    text
}

/// The id of the entry where one is.
fn here(worker: &Worker) -> String {
    let tree = worker.session().tree();
    tree.heads().anchor(worker.cursor().place()).map(|seq| tree.id(seq).to_string()).unwrap_or_default()
}

/// A change is made, and the user is told.
fn done(told: String) -> Msg {
    Msg::Replied(Purpose::Change(told), Box::new(Ok(Reply::Done)))
}

async fn sessions(session: &Session) -> Result<Msg, Error> {
    Ok(Msg::Sessions(session.store().list(&Filter::default()).await?.cards))
}

async fn compared(worker: &Worker, left: &str, right: &str, columns: usize) -> Result<Msg, Error> {
    let tree = worker.session().tree();
    let place = |id: &str| -> Result<Option<Seq>, PlanError> { Ok(Some(tree.require(id)?)) };
    let (left, right) = (place(left)?, place(right)?);
    let wanted: Vec<Seq> = tree.path(left).into_iter().chain(tree.path(right)).collect();
    let lines = reading::lines(worker, &wanted).await?;
    Ok(Msg::Told(pages::comparison(&compare(&tree, left, right, &lines), columns)))
}

async fn export(worker: &Worker, path: Option<String>, folder: &str) -> Result<Msg, Error> {
    let session = worker.session();
    let (tree, at) = (session.tree(), worker.cursor().place());
    let short = osier_tree::projection::card::short_id(session.id());
    let path = FilePath::new(folder).join(path.unwrap_or_else(|| format!("osier-{short}.md")));
    let text = if path.extension().is_some_and(|end| end == "jsonl") {
        let path = tree.path(at);
        let lines = reading::lines(worker, &path).await?;
        path.iter()
            .filter_map(|seq| lines.get(seq))
            .map(|line| String::from_utf8_lossy(line) + "\n")
            .collect()
    } else {
        let lines = reading::lines(worker, &transcript_entries(&tree, at)).await?;
        markdown(&transcript(&tree, at, &lines), tree.marks().name().unwrap_or_default())
    };
    Ok(match write_own(&path, &text) {
        Ok(()) => Msg::Told(vec![Line::of(Role::Dim, &format!("written to {}", path.display()))]),
        Err(error) => Msg::Failed(format!("{} could not be written: {error}", path.display())),
    })
}

/// A new file that only its owner reads. What is there already is not overwritten.
fn write_own(path: &FilePath, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

/// The files below a folder that version control would see.
async fn files(folder: String) -> Vec<String> {
    let walk = move || {
        let root = FilePath::new(&folder);
        let found = ignore::WalkBuilder::new(root).require_git(false).build().filter_map(Result::ok);
        let files = found.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        let names = files
            .filter_map(|entry| entry.path().strip_prefix(root).ok().map(|path| path.display().to_string()));
        names.take(FILES).collect()
    };
    tokio::task::spawn_blocking(walk).await.unwrap_or_default()
}
