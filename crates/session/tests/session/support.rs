//! Shared helpers: fixed time and ids, messages, and a drawing of the tree.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use osier_session::{
    Commit, CommitOutcome, Cursor, Durability, IdSource, Session, SessionEnv, SessionError, SessionEvent,
    SessionEvents, StoredEntry, WallClock,
};
use osier_store::{MemoryStore, Store};
use osier_tree::entry::parse_entry;
use osier_tree::projection::card::message_text;
use osier_tree::scan::RawJson;
use osier_tree::time::Millis;
use osier_tree::{EntryKind, Header, Place, Seq, SessionTree};

/// Advances by one second at each call.
#[derive(Debug, Default)]
pub(crate) struct Ticks(AtomicI64);

impl WallClock for Ticks {
    fn now(&self) -> Millis {
        1_767_225_600_000 + self.0.fetch_add(1000, Ordering::Relaxed)
    }
}

/// `a0000001`, `a0000002`, …
#[derive(Debug)]
pub(crate) struct Counted(&'static str, AtomicUsize);

impl Counted {
    pub(crate) fn new(letter: &'static str) -> Counted {
        Counted(letter, AtomicUsize::new(0))
    }
}

impl IdSource for Counted {
    fn entry(&self) -> String {
        format!("{}{:07}", self.0, self.1.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn session(&self) -> String {
        format!("session-{}", self.entry())
    }
}

/// The environment of a process whose ids start with `letter`.
pub(crate) fn env(letter: &'static str) -> SessionEnv {
    SessionEnv {
        clock: Arc::new(Ticks::default()),
        ids: Arc::new(Counted::new(letter)),
        gate: None,
        durability: Durability::Os,
        host: "here".into(),
        watch: true,
    }
}

/// The environment of a process that reads foreign entries only when it appends.
pub(crate) fn stale(letter: &'static str) -> SessionEnv {
    SessionEnv { watch: false, ..env(letter) }
}

pub(crate) fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::default())
}

/// A new session without entries.
pub(crate) async fn empty(store: &Arc<dyn Store>, env: SessionEnv) -> Session {
    Session::create(store.clone(), &Header::new("s", 0, "/here"), &[], env).await.unwrap()
}

/// The same session in another process.
pub(crate) async fn open(store: &Arc<dyn Store>, env: SessionEnv) -> Session {
    Session::open(store.clone(), "s", env).await.unwrap()
}

pub(crate) fn message(role: &str, text: &str) -> Commit {
    let json = match role {
        "calls" => {
            format!(r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"t","name":"{text}"}}]}}"#)
        }
        _ => format!(r#"{{"role":"{role}","content":"{text}"}}"#),
    };
    Commit::new(move |tree, at| {
        tree.plan_message(at, RawJson::parse(json.as_bytes()).expect("the JSON of the test is valid"))
    })
}

pub(crate) async fn say(cursor: &Cursor, role: &str, text: &str) -> StoredEntry {
    stored(cursor.commit(message(role, text)).await)
}

/// A user message and its reply.
pub(crate) async fn exchange(cursor: &Cursor, text: &str) -> (StoredEntry, StoredEntry) {
    let prompt = say(cursor, "user", text).await;
    (prompt, say(cursor, "assistant", &text.to_uppercase()).await)
}

pub(crate) fn stored(outcome: Result<CommitOutcome, SessionError>) -> StoredEntry {
    outcome.unwrap().stored().expect("an entry was stored")
}

pub(crate) fn id(session: &Session, position: Place) -> String {
    position.map_or_else(|| "root".to_owned(), |seq| session.tree().id(seq).to_string())
}

/// The text of the entry at a cursor.
pub(crate) async fn text_at(cursor: &Cursor) -> String {
    let session = cursor.session();
    let tree = session.tree();
    match tree.heads().anchor(cursor.position()) {
        None => "root".to_owned(),
        Some(seq) => text(session, &tree, seq).await,
    }
}

/// All available events.
pub(crate) fn drain(events: &mut SessionEvents) -> Vec<SessionEvent> {
    std::iter::from_fn(|| events.try_next()).collect()
}

async fn text(session: &Session, tree: &SessionTree, seq: Seq) -> String {
    let (mut text, seqs) = (String::new(), [seq]);
    let read = session.for_each_line(session.version(), &seqs, |_, line| {
        let entry = parse_entry(line).unwrap();
        text = match (entry.kind, entry.message) {
            (EntryKind::Message, Some(message)) if tree.head(seq).calls > 0 => {
                let call = message
                    .get("content")
                    .map(|content| String::from_utf8_lossy(content.bytes()).into_owned());
                let name = call
                    .and_then(|call| call.split("\"name\":\"").nth(1)?.split('"').next().map(str::to_owned));
                format!("calls: {}", name.unwrap_or_default())
            }
            (EntryKind::Message, Some(message)) => {
                format!("{}: {}", entry.role.name(), message_text(message))
            }
            (kind, _) => kind.name().to_owned(),
        };
        Ok::<_, SessionError>(())
    });
    read.await.unwrap();
    text
}

/// Draws the tree of a session with the main cursor. Each branch is indented by one level.
pub(crate) async fn draw(session: &Session) -> String {
    let state = session.state();
    let tree = &state.tree;
    let mut out = String::new();
    let mut open: Vec<(Seq, usize)> = tree.children().roots().iter().rev().map(|seq| (*seq, 0)).collect();
    while let Some((seq, depth)) = open.pop() {
        let mark = if state.main_place() == Some(seq) { "  ← main" } else { "" };
        let hidden = if tree.is_hidden(seq) { " (deleted)" } else { "" };
        let line = text(session, tree, seq).await;
        writeln!(out, "{:indent$}{line}{hidden}{mark}", "", indent = depth * 2).unwrap();
        let children = tree.children().of_entry(seq);
        let deeper = depth + usize::from(children.len() > 1);
        open.extend(children.iter().rev().map(|child| (*child, deeper)));
    }
    out
}
