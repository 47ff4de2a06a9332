//! Reads what other processes appended, and reloads the log when it was replaced.

use osier_store::{LineBatch, StoreError};
use osier_tree::entry::parse_entry;
use osier_tree::{EntryId, Seq};

use super::SessionWriter;
use crate::error::SessionError;
use crate::event::SessionEvent;
use crate::load::load_session;

/// Lines requested at once.
const PAGE: usize = 1024;

impl SessionWriter {
    /// Reads all entries that are not in memory yet.
    pub(super) async fn read_appended(&mut self) -> Result<(), SessionError> {
        let read = match self.read_pages().await {
            Err(StoreError::Replaced) => {
                tracing::info!("the log was replaced; reading it again");
                self.load_again().await
            }
            read => read,
        };
        self.settle_cursors();
        Ok(read?)
    }

    /// Reloads the log from its start, because it was replaced.
    pub(super) async fn reload(&mut self) -> Result<(), SessionError> {
        let read = self.load_again().await;
        self.settle_cursors();
        Ok(read?)
    }

    async fn read_pages(&mut self) -> Result<(), StoreError> {
        let now = self.store.open(&self.key).await?.version;
        if now.generation != self.version.generation {
            return Err(StoreError::Replaced);
        }
        if now.entries < self.tree.len() {
            return Err(StoreError::Shrunk { path: self.key.as_str().into() });
        }
        while self.tree.len() < now.entries {
            let after = self.tree.len();
            let seqs: Vec<Seq> = (after..now.entries.min(after + PAGE)).map(Seq::new).collect();
            self.read_lines(&seqs).await?;
        }
        Ok(())
    }

    /// Reads the lines of a page in batches. Each batch is published at once.
    async fn read_lines(&mut self, seqs: &[Seq]) -> Result<(), StoreError> {
        let mut batch = LineBatch::default();
        let mut rest = seqs;
        while !rest.is_empty() {
            self.store.lines(&self.key, self.version.generation, rest, &mut batch).await?;
            if batch.is_empty() {
                return Err(StoreError::NoSuchEntry { seq: rest[0].index() });
            }
            let mut events = Vec::with_capacity(batch.len());
            let applied = batch.iter().try_for_each(|line| {
                events.push(self.apply_foreign_line(line)?);
                Ok(())
            });
            self.publish();
            self.announce(events);
            applied?;
            rest = &rest[batch.len()..];
        }
        Ok(())
    }

    fn apply_foreign_line(&mut self, line: &[u8]) -> Result<SessionEvent, StoreError> {
        // If a line is no longer a valid entry, this is not the log that was opened.
        let entry = parse_entry(line).map_err(|_| StoreError::Replaced)?;
        let seq = self.fold(&entry, None);
        Ok(SessionEvent::Committed {
            seq,
            generation: self.version.generation,
            id: EntryId::from(&*entry.id),
            draft_id: None,
            foreign: true,
            cursor: None,
            line: line.into(),
        })
    }

    async fn load_again(&mut self) -> Result<(), StoreError> {
        let loaded = load_session(&*self.store, &self.key).await?;
        if loaded.opened.header.id != self.id {
            let (id, found) = (self.id.clone(), loaded.opened.header.id);
            return Err(StoreError::OtherSession { id, found });
        }
        self.cursors.rebase(&self.tree, &loaded.tree);
        self.tree = loaded.tree;
        (self.version, self.earlier_generation) = (loaded.version, None);
        self.replacements += 1;
        self.publish();
        self.announce([SessionEvent::Reset { version: self.version }]);
        Ok(())
    }

    pub(super) async fn read_line(&self, seq: Seq) -> Result<Vec<u8>, StoreError> {
        let mut batch = LineBatch::default();
        self.store.lines(&self.key, self.version.generation, &[seq], &mut batch).await?;
        batch.get(0).map(<[u8]>::to_vec).ok_or(StoreError::NoSuchEntry { seq: seq.index() })
    }
}
