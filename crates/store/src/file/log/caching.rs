//! Maintains the index and the card of a log.

use std::os::unix::fs::FileExt;

use osier_tree::projection::card::{Card, CardFold};
use osier_tree::{Heads, Seq};

use super::{HeadsSource, HeadsTrust, LogFile, ReadLimit, ReadState};
use crate::batch::LineBatch;
use crate::error::StoreError;
use crate::file::file_identity;
use crate::file::index::{self, Index, IndexHeader};

impl LogFile {
    /// Whether the log is large enough for caches and not of an old version.
    pub(in crate::file) fn is_worth_caching(&self) -> bool {
        self.index_path.is_some() && self.migrated.is_none()
    }

    pub(in crate::file) fn sync(&mut self) -> Result<(), StoreError> {
        if let Some(writer) = self.writer.as_ref().filter(|_| self.unsynced) {
            writer.sync_data().map_err(StoreError::io("sync", &self.path))?;
            self.unsynced = false;
        }
        self.save_index();
        Ok(())
    }

    /// Updates the index file. If that fails, the next reader reads the log.
    pub(in crate::file) fn save_index(&mut self) {
        let (HeadsSource::InMemory(heads), Some(path), None) =
            (&self.heads_source, &self.index_path, &self.migrated)
        else {
            return;
        };
        if self.saved_index.is_some_and(|header| header.size == self.read_state.end) {
            return;
        }
        // The index of an irregular log can only be rewritten, which is worth it once the log has grown by an eighth.
        let worth_it = |old: IndexHeader| heads.is_regular() || self.read_state.end > old.size + old.size / 8;
        if self.saved_index.is_some_and(|old| !worth_it(old)) {
            return;
        }
        let Some(header) = self.index_header(heads) else { return };
        let saved = match self.saved_index.filter(|old| old.regular && header.regular) {
            Some(old) => Index::extend(path, heads, &old, header),
            None => Index::write(path, heads, header),
        };
        self.saved_index = saved.is_ok().then_some(header);
    }

    fn index_header(&self, heads: &Heads) -> Option<IndexHeader> {
        let last = *heads.get(heads.last_seq()?);
        // Those of a regular log do not change.
        let (checked, complete) = match self.saved_index.filter(|old| old.regular) {
            Some(old) => (old.entries as usize, old.complete),
            None => (0, true),
        };
        let mut line = vec![0; last.len as usize];
        self.file.read_exact_at(&mut line, last.offset).ok()?;
        Some(IndexHeader {
            identity: self.identity,
            size: self.read_state.end,
            modified: file_identity::modified_nanos(&self.file.metadata().ok()?),
            entries: u32::try_from(heads.len()).ok()?,
            invalid_lines: u32::try_from(self.read_state.invalid_lines).ok()?,
            unterminated: self.read_state.unterminated,
            regular: heads.is_regular(),
            in_order: heads.is_in_order(),
            complete: complete && heads.iter_from(checked).all(|(_, head)| !head.needs_ids()),
            last_offset: last.offset,
            last_len: last.len,
            last_hash: index::hash(&line),
        })
    }

    /// If the log is out of order, an incrementally built card can be wrong, so drop it and build it from the whole
    /// log later.
    pub(super) fn drop_unreliable_card(&mut self) {
        if let HeadsSource::InMemory(heads) = &self.heads_source
            && !heads.is_in_order()
        {
            self.card = None;
        }
    }

    /// The card, if it is known without reading the log.
    pub(in crate::file) fn known_card(&self) -> Option<Card> {
        self.card.as_ref().filter(|fold| !fold.needs_rebuild()).map(|fold| fold.card().clone())
    }

    /// Reads the whole log again to build its card.
    pub(in crate::file) fn build_card(&mut self) -> Result<Card, StoreError> {
        if let Some(card) = self.resume_card(self.blank_card())? {
            return Ok(card);
        }
        let before = self.version().entries;
        self.heads_source = HeadsSource::InMemory(Heads::default());
        self.indexed_heads = None;
        (self.read_state, self.trust) = (ReadState::default(), HeadsTrust::FromLines);
        self.card = Some(CardFold::new(self.blank_card()));
        self.preview_writer = None;
        self.read_appended(ReadLimit::End)?;
        self.reload_count += u64::from(self.version().entries < before);
        Ok(self.card.as_ref().map(|fold| fold.card().clone()).unwrap_or_default())
    }

    /// Resumes a card that covers the first entries. `None` if the log is out of order or its heads turn out to be
    /// wrong.
    pub(in crate::file) fn resume_card(&mut self, card: Card) -> Result<Option<Card>, StoreError> {
        let heads = self.load_heads()?.clone();
        let (version, trust, from) = (self.version(), self.trust, card.entry_count as usize);
        if !heads.is_in_order() || from > heads.len() || card.id != self.header.id {
            return Ok(None);
        }
        let mut fold = if from > 0 { CardFold::resume(card, &heads) } else { CardFold::new(card) };
        let seqs: Vec<Seq> = (from..heads.len()).map(Seq::new).collect();
        let mut batch = LineBatch::default();
        let mut rest = seqs.as_slice();
        while !rest.is_empty() {
            self.lines(rest, &mut batch)?;
            if (self.version(), self.trust) != (version, trust) {
                return Ok(None);
            }
            for (seq, line) in rest.iter().zip(batch.iter()) {
                if let Ok(entry) = osier_tree::entry::parse_entry(line) {
                    fold.feed(&entry, *seq, &heads);
                }
            }
            rest = &rest[batch.len().max(1)..];
        }
        self.card = Some(fold);
        Ok(self.known_card())
    }
}
