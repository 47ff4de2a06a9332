//! A session for random operations, with a model that answers everything. Every text contains a unique word.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use osier_agent::{AgentConfig, AgentError, CompactionConfig};
use osier_model::scripted::{ScriptedModel, ScriptedTurn};
use osier_model::{CancellationToken, DeltaStream, Model, Request};
use osier_protocol::{ClientCommand, CommandReply};
use osier_store::{MemoryStore, Store, StoreError};
use osier_testkit::ScriptedSession;
use osier_tools::{ApprovalMode, ToolSet};
use osier_tree::projection::request::ContextRequest as Seen;
use osier_tree::{Header, Place, Seq, summary};

use crate::harness::Harness;
use crate::render::request_text;

/// Returns the given turns, then answers with one word. Writes a summary whenever it gets a summary request.
#[derive(Debug, Clone, Default)]
pub(crate) struct WordModel {
    pub(crate) turns: Arc<Mutex<VecDeque<ScriptedTurn>>>,
    pub(crate) requests: Arc<Mutex<Vec<Request>>>,
    said: Arc<AtomicUsize>,
}

impl WordModel {
    /// A word that has not been used before.
    pub(crate) fn word(&self) -> String {
        format!("w{:05}", self.said.fetch_add(1, Ordering::Relaxed))
    }

    /// All requests except summaries.
    pub(crate) fn asked(&self) -> Vec<Request> {
        let requests = self.requests.lock().unwrap();
        requests.iter().filter(|request| request.system != summary::SYSTEM_PROMPT).cloned().collect()
    }
}

impl Model for WordModel {
    fn stream(&self, request: Request, cancel: CancellationToken) -> DeltaStream {
        self.requests.lock().unwrap().push(request.clone());
        let turn = match request.system == summary::SYSTEM_PROMPT {
            true => ScriptedTurn::reply(summarized(&request_text(&request))),
            false => {
                let turn = self.turns.lock().unwrap().pop_front();
                turn.unwrap_or_else(|| ScriptedTurn::reply(self.word()))
            }
        };
        ScriptedModel::new([turn]).stream(request, cancel)
    }
}

/// The same conversation always gets the same summary.
fn summarized(asked: &str) -> String {
    let hash = asked.bytes().fold(7u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)));
    format!("summary-{hash:016x}")
}

/// The unique words in a text.
pub(crate) fn words(text: &str) -> BTreeSet<String> {
    let word = |at: usize| text.get(at..at + 6).filter(|word| word[1..].bytes().all(|b| b.is_ascii_digit()));
    text.match_indices('w').filter_map(|(at, _)| word(at)).map(str::to_owned).collect()
}

/// A session with a random-operation model.
pub(crate) struct RandomSession {
    pub(crate) harness: Harness,
    pub(crate) model: WordModel,
    /// The log at the last check.
    pub(crate) lines: Vec<Vec<u8>>,
}

impl RandomSession {
    pub(crate) async fn new() -> RandomSession {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        store.create(&Header::new("s", 0, "/x"), &[]).await.unwrap();
        let folder = Arc::new(tempfile::tempdir().unwrap());
        std::fs::write(folder.path().join("a.txt"), "alpha\n").unwrap();
        let model = WordModel::default();
        let harness = open(store, folder, &model).await;
        RandomSession { harness, model, lines: Vec::new() }
    }

    /// The same session in a new process.
    pub(crate) async fn reopen(&mut self) {
        self.harness = open(self.harness.store.clone(), self.harness.folder.clone(), &self.model).await;
    }

    /// A copy of the log, opened in another process.
    pub(crate) async fn copied(&self, lines: &[Vec<u8>]) -> Harness {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        store.create(&Header::new("s", 0, "/x"), lines).await.unwrap();
        open(store, self.harness.folder.clone(), &self.model).await
    }

    /// Sends a new prompt, and lets the model answer with these turns. Unused turns are dropped.
    pub(crate) async fn say(&self, turns: Vec<ScriptedTurn>) {
        *self.model.turns.lock().unwrap() = turns.into();
        self.harness.begin(ClientCommand::prompt(self.model.word())).await.end().await;
        self.model.turns.lock().unwrap().clear();
    }

    pub(crate) async fn send(&self, command: ClientCommand) -> Result<CommandReply, AgentError> {
        self.harness.worker.send(command).await
    }

    pub(crate) fn position(&self) -> Place {
        self.harness.worker.cursor().position()
    }

    /// The current log.
    pub(crate) async fn script(&self) -> ScriptedSession {
        let session = self.harness.session();
        let all: Vec<Seq> = (0..session.version().entries).map(Seq::new).collect();
        let mut lines: Vec<Vec<u8>> = Vec::new();
        let read = |_, line: &[u8]| -> Result<(), StoreError> {
            lines.push(line.to_vec());
            Ok(())
        };
        session.for_each_line(session.version(), &all, read).await.unwrap();
        ScriptedSession::from_lines(lines)
    }
}

/// What a model would get at a position.
pub(crate) fn seen(script: &ScriptedSession, at: Place) -> Seen {
    script.tree.prepare_request(&script.tree.context_entries(at), &script.lines, true)
}

async fn open(store: Arc<dyn Store>, folder: Arc<tempfile::TempDir>, model: &WordModel) -> Harness {
    let answers = model.clone();
    let change = |config: &mut AgentConfig| {
        config.model = Arc::new(answers);
        // Fewer tools make shorter requests.
        config.tools = Arc::new(ToolSet::standard().only(&["read", "todo"]).unwrap());
        config.backtracking = true;
        config.approval_mode = Some(ApprovalMode::Yolo);
        config.compaction = CompactionConfig { keep_recent: Some(8), ..CompactionConfig::default() };
    };
    Harness::open_in(crate::scenario::env(), store, folder, [], change).await
}
