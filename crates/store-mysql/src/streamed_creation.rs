//! Creates a session from lines that arrive in batches. Each batch is written when it arrives, under a generation that no
//! session refers to; the last step makes the session refer to it. So only one batch is in memory, and a partial session is
//! never visible.

use osier_store::{LineSource, LogVersion, StoreError};
use osier_tree::{Entry, Header, Heads, Seq};
use sqlx::MySqlConnection;

use crate::attempt_error::AttemptError;
use crate::cached_log::CachedLog;
use crate::deletion;
use crate::log_creation::{LogCreation, now_millis, random_id};
use crate::rows::{self, EntryTarget, FoldedLog};
use crate::store::{StoreInner, retry_until_done};

/// A session that is created from a stream of lines.
#[derive(Debug)]
pub(crate) struct StreamedCreation<'a> {
    store: &'a StoreInner,
    header: &'a Header,
    generation: u64,
    pub(crate) folded: FoldedLog,
}

impl<'a> StreamedCreation<'a> {
    pub(crate) fn new(store: &'a StoreInner, header: &'a Header) -> StreamedCreation<'a> {
        StreamedCreation {
            store,
            header,
            generation: random_id(),
            folded: FoldedLog::new(header, &store.name),
        }
    }

    /// Writes all lines, and then creates the session's row.
    pub(crate) async fn run(&mut self, lines: &mut dyn LineSource) -> Result<LogVersion, StoreError> {
        if let Err(error) = self.write_all(lines).await {
            self.delete_written().await;
            return Err(error);
        }
        let creation = LogCreation {
            store: self.store,
            header: self.header,
            folded: &self.folded,
            entries: &[],
            written_generation: Some(self.generation),
            replaces: None,
            allowed_holder: None,
        };
        let made = self.store.create_log(&creation).await;
        // After any other error, the session may exist.
        if let Err(StoreError::AlreadyExists { .. }) = made {
            self.delete_written().await;
        }
        made
    }

    async fn write_all(&mut self, lines: &mut dyn LineSource) -> Result<(), StoreError> {
        let (session, generation) = (&self.header.id, self.generation);
        retry_until_done!(self.store, 0, |connection| deletion::note_leftover(
            connection,
            session,
            generation,
            now_millis()
        ));
        loop {
            let batch = lines.next_lines().await?;
            if batch.is_empty() {
                break;
            }
            self.write_lines(&batch).await?;
        }
        match self.folded.heads.is_in_order() && !self.folded.card.needs_rebuild() {
            true => Ok(()),
            false => self.rewrite_heads().await,
        }
    }

    async fn write_lines(&mut self, lines: &[Vec<u8>]) -> Result<(), StoreError> {
        let first = self.folded.heads.len();
        let entries = self.folded.fold_lines(lines);
        let bytes = lines.iter().map(Vec::len).sum();
        let (heads, mut is_again) = (&self.folded.heads, false);
        retry_until_done!(self.store, bytes, |connection| write_batch(
            connection,
            self.entry_target(),
            first,
            &entries,
            heads,
            std::mem::replace(&mut is_again, true)
        ));
        Ok(())
    }

    /// Rewrites all heads and the card, because contradictory lines changed earlier ones.
    async fn rewrite_heads(&mut self) -> Result<(), StoreError> {
        let all: Vec<Seq> = (0..self.folded.heads.len()).map(Seq::new).collect();
        let (heads, log) = (&self.folded.heads, self.store.log_reader(&self.header.id, self.generation));
        retry_until_done!(self.store, 0, |connection| rows::write_heads(
            connection,
            self.entry_target(),
            &all,
            heads
        ));
        let (count, header) = (all.len(), self.header);
        let folded = retry_until_done!(self.store, 0, |connection| CachedLog::fold_all_lines(
            connection, log, count, header
        ));
        self.folded.card = folded.card;
        Ok(())
    }

    /// Deletes the written lines. If that fails, a later deletion removes them after a day, because they are noted as leftovers.
    async fn delete_written(&self) {
        let swept: Result<(), StoreError> = async {
            let (session, generation) = (&self.header.id, self.generation);
            retry_until_done!(self.store, 0, |connection| deletion::delete_generation(
                connection, session, generation
            ));
            Ok(())
        }
        .await;
        drop(swept);
    }

    fn entry_target(&self) -> EntryTarget<'_> {
        let part = self.store.pool.part_bytes();
        EntryTarget { session: &self.header.id, generation: self.generation, part_bytes: part }
    }
}

/// Writes the rows of a batch. An earlier attempt may have written some of them.
async fn write_batch(
    connection: &mut MySqlConnection,
    target: EntryTarget<'_>,
    first: usize,
    entries: &[Entry<'_>],
    heads: &Heads,
    is_again: bool,
) -> Result<(), AttemptError> {
    if is_again {
        deletion::delete_lines_from(connection, target.session, target.generation, first).await?;
    }
    rows::write_entries(connection, target, first, entries, heads).await
}
