//! The snapshot: everything a client needs to show a session, from one state of it, written piece by piece because a
//! session may be larger than memory.

use std::sync::Arc;

use osier_store::{StoreError, Version};
use osier_tree::entry::read_entry;
use osier_tree::projection::card::{Card, CardFold};
use osier_tree::projection::json::entry_json;
use osier_tree::projection::snapshot::SCHEMA_VERSION;
use osier_tree::{Seq, SessionTree};
use serde_json::{Map, Value, json};

use crate::context::ContextReader;
use crate::error::Error;
use crate::handle::Session;
use crate::state::State;

/// What of a session is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct SnapshotAsk {
    pub without_context: bool,
    /// Only the entries since then. If that cannot be told, the answer is whole and says `reset`.
    pub since: Option<Since>,
}

/// A state that a client knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Since {
    /// How many entries it has.
    pub revision: usize,
    /// Of which log. Without it a revision counts only in a log that was never rewritten.
    pub generation: Option<u64>,
}

impl Since {
    /// The place from which on entries are new, if the state is one of this log.
    fn place(self, now: Version, was_rewritten: bool) -> Option<usize> {
        let same_log = self.generation.map_or(!was_rewritten, |generation| generation == now.generation);
        Some(self.revision).filter(|revision| same_log && *revision <= now.entries)
    }
}

impl Session {
    /// Writes a snapshot of the session as it is now, as one JSON object.
    pub async fn snapshot<E: From<Error> + From<StoreError>>(
        &self,
        ask: SnapshotAsk,
        mut write: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let state = self.state();
        let card = self.card_of(&state).await?;
        let since = match ask.since {
            Some(since) => since.place(state.version, self.was_rewritten().await?),
            None => None,
        };
        write(start(&state, &card, ask.since.is_some(), since).as_bytes())?;
        self.entries(&state, since.unwrap_or(0), &mut write).await?;
        shape(&state.tree, &mut write)?;
        if !ask.without_context {
            let plan = state.tree.context_entries(state.tree.leaf());
            let (store, key, generation) = (&**self.store(), self.key(), state.version.generation);
            write(b",\"runtimeContext\":{")?;
            ContextReader { store, key, generation, plan: &plan }.members(&mut write).await?;
            write(b"}")?;
        }
        write(b"}\n")
    }

    async fn entries<E: From<StoreError>>(
        &self,
        state: &State,
        from: usize,
        write: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let wanted: Vec<Seq> = (from..state.version.entries).map(Seq::new).collect();
        let mut first = true;
        write(b",\"entries\":[")?;
        self.each_current_line(state, &wanted, |_, line| -> Result<(), E> {
            let Ok(entry) = read_entry(line) else { return Ok(()) };
            if !std::mem::take(&mut first) {
                write(b",\n")?;
            }
            write(&entry_json(&entry))
        })
        .await?;
        write(b"]")
    }

    /// Whether garbage collection ever put another log in the place of this one.
    async fn was_rewritten(&self) -> Result<bool, Error> {
        Ok(self.store().open(self.key()).await?.header.rewritten > 0)
    }

    /// The session as its card, its settings and its leaf tell it: the `session` of a snapshot.
    pub async fn describe(&self) -> Result<Value, Error> {
        let state = self.state();
        Ok(state.tree.snapshot_session(&self.card_of(&state).await?))
    }

    /// The card of exactly this state: the store's, unless somebody appended meanwhile.
    pub async fn card_of(&self, state: &Arc<State>) -> Result<Card, Error> {
        let card = self.card_with_any_short_id(state).await?;
        Ok(Card { short_id: self.store().short_id(&card.id).await?, ..card })
    }

    async fn card_with_any_short_id(&self, state: &Arc<State>) -> Result<Card, Error> {
        let (store, key) = (self.store(), self.key());
        let mut card = store.card(key).await?;
        if store.open(key).await?.version == state.version {
            return Ok(card);
        }
        card = Card { file: card.file, ..Card::new(self.header(), store.name()) };
        let mut fold = CardFold::new(card);
        let all: Vec<Seq> = (0..state.version.entries).map(Seq::new).collect();
        self.each_line(state.version, &all, |seq, line| {
            if let Ok(entry) = read_entry(line) {
                fold.feed(&entry, seq, state.tree.heads());
            }
            Ok::<_, StoreError>(())
        })
        .await?;
        Ok(fold.card().clone())
    }
}

/// What comes before the entries. Whoever asked for news is told since when they are.
fn start(state: &State, card: &Card, asked: bool, since: Option<usize>) -> String {
    let delta = match (asked, since) {
        (false, _) => String::new(),
        (true, Some(since)) => format!("\"since\":{since},\"reset\":false,"),
        (true, None) => "\"since\":0,\"reset\":true,".to_owned(),
    };
    let (Version { generation, entries }, session) = (state.version, state.tree.snapshot_session(card));
    format!(
        "{{\"schemaVersion\":{SCHEMA_VERSION},\"revision\":{entries},\"generation\":\"{generation:016x}\",{delta}\"session\":{session}"
    )
}

/// What hangs where, and what it is called.
fn shape<E>(tree: &SessionTree, write: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    write(b",\"activePath\":")?;
    write(json!(tree.snapshot_path()).to_string().as_bytes())?;
    write(b"\n,\"childrenByParentId\":{")?;
    let mut first = true;
    for (parent, children) in tree.snapshot_children() {
        let comma = if std::mem::take(&mut first) { "" } else { "," };
        write(format!("{comma}{}:{}", json!(parent), json!(children)).as_bytes())?;
    }
    let labels: Map<String, Value> =
        tree.snapshot_labels().map(|(id, label)| (id.to_owned(), json!(label))).collect();
    let deleted = json!(tree.snapshot_deleted());
    write(format!("}},\"labelsByEntryId\":{},\"deletedBranches\":{deleted}", json!(labels)).as_bytes())
}
