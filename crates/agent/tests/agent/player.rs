//! A conversation that anything may happen to: a model that answers whatever it is asked, every text with a word of its own.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use osier_agent::{Client, Command, Compacting, Error, Parts, Reply};
use osier_model::scripted::{Scripted, Turn};
use osier_model::{CancellationToken, Deltas, Model, Request};
use osier_store::{MemoryStore, Store, StoreError};
use osier_testkit::Script;
use osier_tools::{Mode, Tools};
use osier_tree::projection::request::Request as Seen;
use osier_tree::{Header, Place, Seq, summary};

use crate::desk::Desk;
use crate::picture::asked_of;

/// Plays the turns it is given, then answers in one word; writes a summary whenever it is asked for one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Player {
    pub(crate) turns: Arc<Mutex<VecDeque<Turn>>>,
    pub(crate) requests: Arc<Mutex<Vec<Request>>>,
    said: Arc<AtomicUsize>,
}

impl Player {
    /// A word that nobody said before.
    pub(crate) fn word(&self) -> String {
        format!("w{:05}", self.said.fetch_add(1, Ordering::Relaxed))
    }

    /// What it was asked besides summaries.
    pub(crate) fn asked(&self) -> Vec<Request> {
        let requests = self.requests.lock().unwrap();
        requests.iter().filter(|request| request.system != summary::SYSTEM).cloned().collect()
    }
}

impl Model for Player {
    fn stream(&self, request: Request, cancel: CancellationToken) -> Deltas {
        self.requests.lock().unwrap().push(request.clone());
        let turn = match request.system == summary::SYSTEM {
            true => Turn::reply(summarized(&asked_of(&request))),
            false => {
                let turn = self.turns.lock().unwrap().pop_front();
                turn.unwrap_or_else(|| Turn::reply(self.word()))
            }
        };
        Scripted::new([turn]).stream(request, cancel)
    }
}

/// The same summary for the same conversation.
fn summarized(asked: &str) -> String {
    let hash = asked.bytes().fold(7u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)));
    format!("summary-{hash:016x}")
}

/// The words of a text that somebody said.
pub(crate) fn words(text: &str) -> BTreeSet<String> {
    let word = |at: usize| text.get(at..at + 6).filter(|word| word[1..].bytes().all(|b| b.is_ascii_digit()));
    text.match_indices('w').filter_map(|(at, _)| word(at)).map(str::to_owned).collect()
}

/// See the module.
pub(crate) struct Talk {
    pub(crate) desk: Desk,
    pub(crate) player: Player,
    /// The log as it was looked at last.
    pub(crate) lines: Vec<Vec<u8>>,
}

impl Talk {
    pub(crate) async fn new() -> Talk {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        store.create(&Header::new("s", 0, "/x"), &[]).await.unwrap();
        let folder = Arc::new(tempfile::tempdir().unwrap());
        std::fs::write(folder.path().join("a.txt"), "alpha\n").unwrap();
        let player = Player::default();
        let desk = open(store, folder, &player).await;
        Talk { desk, player, lines: Vec::new() }
    }

    /// The same session in a new process.
    pub(crate) async fn reopen(&mut self) {
        self.desk = open(self.desk.store.clone(), self.desk.folder.clone(), &self.player).await;
    }

    /// A copy of the log, opened by another process.
    pub(crate) async fn copied(&self, lines: &[Vec<u8>]) -> Desk {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        store.create(&Header::new("s", 0, "/x"), lines).await.unwrap();
        open(store, self.desk.folder.clone(), &self.player).await
    }

    /// Says something new, and lets the model answer with these turns. Whatever is left of them is forgotten.
    pub(crate) async fn say(&self, turns: Vec<Turn>) {
        *self.player.turns.lock().unwrap() = turns.into();
        self.desk.begin(Command::prompt(self.player.word())).await.end().await;
        self.player.turns.lock().unwrap().clear();
    }

    pub(crate) async fn send(&self, command: Command) -> Result<Reply, Error> {
        self.desk.worker.send(command).await
    }

    pub(crate) fn place(&self) -> Place {
        self.desk.worker.cursor().place()
    }

    /// The log as it is now.
    pub(crate) async fn script(&self) -> Script {
        let session = self.desk.session();
        let all: Vec<Seq> = (0..session.version().entries).map(Seq::new).collect();
        let mut lines: Vec<Vec<u8>> = Vec::new();
        let read = |_, line: &[u8]| -> Result<(), StoreError> {
            lines.push(line.to_vec());
            Ok(())
        };
        session.each_line(session.version(), &all, read).await.unwrap();
        Script::of_lines(lines)
    }
}

/// What a model would be sent at a place.
pub(crate) fn seen(script: &Script, at: Place) -> Seen {
    script.tree.request(&script.tree.context_entries(at), &script.lines, true)
}

async fn open(store: Arc<dyn Store>, folder: Arc<tempfile::TempDir>, player: &Player) -> Desk {
    let answers = player.clone();
    let change = |parts: &mut Parts| {
        parts.model = Arc::new(answers);
        // Few tools are quickly told.
        parts.tools = Arc::new(Tools::standard().only(&["read", "todo"]).unwrap());
        parts.backtracking = true;
        parts.approval = Some(Mode::Yolo);
        parts.compacting = Compacting { keep_recent: Some(8), ..Compacting::default() };
    };
    Desk::open_in(crate::stage::env(), store, folder, [], change).await
}
