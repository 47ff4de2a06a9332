//! The snapshot: everything a client needs to show a session, from one state. Written incrementally, because a
//! session can be larger than memory.

use std::sync::Arc;

use osier_store::{LogVersion, StoreError};
use osier_tree::entry::parse_entry;
use osier_tree::projection::card::{Card, CardFold};
use osier_tree::projection::json::entry_json;
use osier_tree::projection::snapshot::SCHEMA_VERSION;
use osier_tree::projection::subagents::with_projection;
use osier_tree::{Seq, SessionTree};
use serde_json::{Map, Value, json};

use crate::context::ContextReader;
use crate::error::SessionError;
use crate::handle::Session;
use crate::state::SessionState;

/// What a snapshot contains.
#[derive(Debug, Clone, Copy, Default)]
pub struct SnapshotOptions {
    pub without_context: bool,
    /// Only the entries since this revision. If that is not possible, the snapshot is complete and has `reset` set.
    pub since: Option<KnownRevision>,
}

/// A revision that a client has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownRevision {
    /// The number of entries.
    pub revision: usize,
    /// The generation of the log. Without it, the revision is valid only for a log that was never rewritten.
    pub generation: Option<u64>,
}

impl KnownRevision {
    /// The index of the first new entry, if the revision belongs to this log.
    fn first_new(self, now: LogVersion, was_rewritten: bool) -> Option<usize> {
        let same_log = self.generation.map_or(!was_rewritten, |generation| generation == now.generation);
        Some(self.revision).filter(|revision| same_log && *revision <= now.entries)
    }
}

impl Session {
    /// Writes a snapshot of the current state as one JSON object.
    pub async fn write_snapshot<E: From<SessionError> + From<StoreError>>(
        &self,
        ask: SnapshotOptions,
        mut write: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let state = self.state();
        let card = self.card_at(&state).await?;
        let since = match ask.since {
            Some(since) => since.first_new(state.version, self.was_rewritten().await?),
            None => None,
        };
        let session = state.tree.snapshot_session(&card, self.store().kind());
        write(snapshot_prefix(state.version, &session, ask.since.is_some(), since).as_bytes())?;
        self.write_entries(&state, since.unwrap_or(0), &mut write).await?;
        write_structure(&state.tree, &mut write)?;
        if !ask.without_context {
            let plan = state.tree.context_entries(state.tree.opening_place());
            let (store, key, generation) = (&**self.store(), self.key(), state.version.generation);
            write(b",\"runtimeContext\":{")?;
            ContextReader { store, key, generation, plan: &plan }.write_members(&mut write).await?;
            write(b"}")?;
        }
        write(b"}\n")
    }

    async fn write_entries<E: From<StoreError>>(
        &self,
        state: &SessionState,
        from: usize,
        write: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let seqs: Vec<Seq> = (from..state.version.entries).map(Seq::new).collect();
        let mut first = true;
        let projections = self.subagent_projections(state).await?;
        write(b",\"entries\":[")?;
        self.for_each_current_line(state, &seqs, |seq, line| -> Result<(), E> {
            let Ok(entry) = parse_entry(line) else { return Ok(()) };
            if !std::mem::take(&mut first) {
                write(b",\n")?;
            }
            match projections.get(&seq) {
                Some(projection) => write(&with_projection(&entry_json(&entry), projection)),
                None => write(&entry_json(&entry)),
            }
        })
        .await?;
        write(b"]")
    }

    /// Whether garbage collection has ever rewritten this log.
    async fn was_rewritten(&self) -> Result<bool, SessionError> {
        Ok(self.store().open(self.key()).await?.header.rewrite_count > 0)
    }

    /// The `session` object of a snapshot, from the card, the settings and the leaf.
    pub async fn describe(&self) -> Result<Value, SessionError> {
        let state = self.state();
        Ok(state.tree.snapshot_session(&self.card_at(&state).await?, self.store().kind()))
    }

    /// The card of exactly this state. Rebuilds it if the store's card is of another version.
    pub async fn card_at(&self, state: &Arc<SessionState>) -> Result<Card, SessionError> {
        let card = self.card_without_short_id(state).await?;
        Ok(Card { short_id: self.store().short_id(&card.id).await?, ..card })
    }

    async fn card_without_short_id(&self, state: &Arc<SessionState>) -> Result<Card, SessionError> {
        let (store, key) = (self.store(), self.key());
        let mut card = store.card(key).await?;
        if store.open(key).await?.version == state.version {
            return Ok(card);
        }
        card = Card { file: card.file, ..Card::new(self.header(), store.name()) };
        let mut fold = CardFold::new(card);
        let all: Vec<Seq> = (0..state.version.entries).map(Seq::new).collect();
        self.for_each_line(state.version, &all, |seq, line| {
            if let Ok(entry) = parse_entry(line) {
                fold.feed(&entry, seq, state.tree.heads());
            }
            Ok::<_, StoreError>(())
        })
        .await?;
        Ok(fold.card().clone())
    }
}

/// The part before the entries. If the client requested changes, it states since which entry they are.
fn snapshot_prefix(version: LogVersion, session: &Value, asked: bool, since: Option<usize>) -> String {
    let delta = match (asked, since) {
        (false, _) => String::new(),
        (true, Some(since)) => format!("\"since\":{since},\"reset\":false,"),
        (true, None) => "\"since\":0,\"reset\":true,".to_owned(),
    };
    let LogVersion { generation, entries } = version;
    format!(
        "{{\"schemaVersion\":{SCHEMA_VERSION},\"revision\":{entries},\"generation\":\"{generation:016x}\",{delta}\"session\":{session}"
    )
}

/// Writes the structure of the tree, the labels and the deleted branches.
fn write_structure<E>(tree: &SessionTree, write: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
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
