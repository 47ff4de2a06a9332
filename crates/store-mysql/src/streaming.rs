//! Creates a session from lines that arrive in batches. Each batch is written when it arrives, under a generation that no
//! session refers to; the last step makes the session refer to it. So only one batch is in memory, and a partial session is
//! never visible.

use osier_store::{LineSource, LogVersion, StoreError};
use osier_tree::{Entry, Header, Heads, Seq};
use sqlx::MySqlConnection;

use crate::failure::Failure;
use crate::known::Known;
use crate::making::{Making, now, random};
use crate::removing;
use crate::rows::{self, Folded, Place};
use crate::store::{Inner, attempt};

/// A session that is created from a stream of lines.
#[derive(Debug)]
pub(crate) struct Streamed<'a> {
    store: &'a Inner,
    header: &'a Header,
    generation: u64,
    pub(crate) folded: Folded,
}

impl<'a> Streamed<'a> {
    pub(crate) fn new(store: &'a Inner, header: &'a Header) -> Streamed<'a> {
        Streamed { store, header, generation: random(), folded: Folded::new(header, &store.name) }
    }

    /// Writes all lines, and then creates the session's row.
    pub(crate) async fn make(&mut self, lines: &mut dyn LineSource) -> Result<LogVersion, StoreError> {
        if let Err(error) = self.write_all(lines).await {
            self.sweep().await;
            return Err(error);
        }
        let making = Making {
            store: self.store,
            header: self.header,
            folded: &self.folded,
            entries: &[],
            written: Some(self.generation),
            instead_of: None,
            allowed_holder: None,
        };
        let made = self.store.make(&making).await;
        // After any other error, the session may exist.
        if let Err(StoreError::AlreadyExists { .. }) = made {
            self.sweep().await;
        }
        made
    }

    async fn write_all(&mut self, lines: &mut dyn LineSource) -> Result<(), StoreError> {
        let (session, generation) = (&self.header.id, self.generation);
        attempt!(self.store, 0, |connection| removing::note_unwanted(connection, session, generation, now()));
        loop {
            let batch = lines.next_lines().await?;
            if batch.is_empty() {
                break;
            }
            self.write(&batch).await?;
        }
        match self.folded.heads.is_in_order() && !self.folded.card.needs_rebuild() {
            true => Ok(()),
            false => self.settle().await,
        }
    }

    async fn write(&mut self, lines: &[Vec<u8>]) -> Result<(), StoreError> {
        let first = self.folded.heads.len();
        let entries = self.folded.take_all(lines);
        let bytes = lines.iter().map(Vec::len).sum();
        let (heads, mut is_again) = (&self.folded.heads, false);
        attempt!(self.store, bytes, |connection| write_batch(
            connection,
            self.place(),
            first,
            &entries,
            heads,
            std::mem::replace(&mut is_again, true)
        ));
        Ok(())
    }

    /// Rewrites all heads and the card, because contradictory lines changed earlier ones.
    async fn settle(&mut self) -> Result<(), StoreError> {
        let all: Vec<Seq> = (0..self.folded.heads.len()).map(Seq::new).collect();
        let (heads, log) = (&self.folded.heads, self.store.log(&self.header.id, self.generation));
        attempt!(self.store, 0, |connection| rows::write_heads(connection, self.place(), &all, heads));
        let (count, header) = (all.len(), self.header);
        let folded = attempt!(self.store, 0, |connection| Known::from_lines(connection, log, count, header));
        self.folded.card = folded.card;
        Ok(())
    }

    /// Deletes the written lines. If that fails, a later deletion removes them after a day, because they are noted as leftovers.
    async fn sweep(&self) {
        let swept: Result<(), StoreError> = async {
            let (session, generation) = (&self.header.id, self.generation);
            attempt!(self.store, 0, |connection| removing::sweep(connection, session, generation));
            Ok(())
        }
        .await;
        drop(swept);
    }

    fn place(&self) -> Place<'_> {
        let part = self.store.connections.part();
        Place { session: &self.header.id, generation: self.generation, part }
    }
}

/// Writes the rows of a batch. An earlier attempt may have written some of them.
async fn write_batch(
    connection: &mut MySqlConnection,
    place: Place<'_>,
    first: usize,
    entries: &[Entry<'_>],
    heads: &Heads,
    is_again: bool,
) -> Result<(), Failure> {
    if is_again {
        removing::cut(connection, place.session, place.generation, first).await?;
    }
    rows::write(connection, place, first, entries, heads).await
}
