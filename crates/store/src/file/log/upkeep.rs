//! Maintains the index and the card of a log.

use std::os::unix::fs::FileExt;

use osier_tree::projection::card::{Card, CardFold};
use osier_tree::{Heads, Seq};

use super::{Log, Reached, State, Trust, Upto};
use crate::batch::Batch;
use crate::error::StoreError;
use crate::file::index::{self, Cover, Index};
use crate::file::stamp;

impl Log {
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
        let (State::Folded(heads), Some(path), None) = (&self.state, &self.index_path, &self.migrated) else {
            return;
        };
        if self.indexed.is_some_and(|cover| cover.size == self.reached.covered) {
            return;
        }
        // The index of an irregular log can only be rewritten, which is worth it once the log has grown by an eighth.
        let worth_it = |old: Cover| heads.is_regular() || self.reached.covered > old.size + old.size / 8;
        if self.indexed.is_some_and(|old| !worth_it(old)) {
            return;
        }
        let Some(cover) = self.cover(heads) else { return };
        let saved = match self.indexed.filter(|old| old.regular && cover.regular) {
            Some(old) => Index::extend(path, heads, &old, cover),
            None => Index::write(path, heads, cover),
        };
        self.indexed = saved.is_ok().then_some(cover);
    }

    fn cover(&self, heads: &Heads) -> Option<Cover> {
        let last = *heads.get(heads.last_seq()?);
        let mut line = vec![0; last.len as usize];
        self.file.read_exact_at(&mut line, last.offset).ok()?;
        Some(Cover {
            stamp: self.stamp,
            size: self.reached.covered,
            changed: stamp::changed(&self.file.metadata().ok()?),
            entries: u32::try_from(heads.len()).ok()?,
            odd: u32::try_from(self.reached.odd).ok()?,
            unended: self.reached.unended,
            regular: heads.is_regular(),
            in_order: heads.is_in_order(),
            last_offset: last.offset,
            last_len: last.len,
            last_hash: index::hash(&line),
        })
    }

    /// If the log is out of order, an incrementally built card can be wrong, so drop it and build it from the whole
    /// log later.
    pub(super) fn doubt_card(&mut self) {
        if let State::Folded(heads) = &self.state
            && !heads.is_in_order()
        {
            self.card = None;
        }
    }

    /// The card, if it is known without reading the log.
    pub(in crate::file) fn known_card(&self) -> Option<Card> {
        self.card.as_ref().filter(|fold| !fold.is_doubtful()).map(|fold| fold.card().clone())
    }

    /// Reads the whole log again to build its card.
    pub(in crate::file) fn make_card(&mut self) -> Result<Card, StoreError> {
        if let Some(card) = self.resume_card(self.blank_card())? {
            return Ok(card);
        }
        let before = self.version().entries;
        self.state = State::Folded(Heads::default());
        (self.reached, self.trust) = (Reached::default(), Trust::Seen);
        self.card = Some(CardFold::new(self.blank_card()));
        self.read_on(Upto::End)?;
        self.wrong += u64::from(self.version().entries < before);
        Ok(self.card.as_ref().map(|fold| fold.card().clone()).unwrap_or_default())
    }

    /// Resumes a card that covers the first entries. `None` if the log is out of order or its heads turn out to be
    /// wrong.
    pub(in crate::file) fn resume_card(&mut self, card: Card) -> Result<Option<Card>, StoreError> {
        let heads = self.folded()?.clone();
        let (version, trust, from) = (self.version(), self.trust, card.entry_count as usize);
        if !heads.is_in_order() || from > heads.len() || card.id != self.header.id {
            return Ok(None);
        }
        let mut fold = if from > 0 { CardFold::resume(card, &heads) } else { CardFold::new(card) };
        let wanted: Vec<Seq> = (from..heads.len()).map(Seq::new).collect();
        let mut batch = Batch::default();
        let mut rest = wanted.as_slice();
        while !rest.is_empty() {
            self.lines(rest, &mut batch)?;
            if (self.version(), self.trust) != (version, trust) {
                return Ok(None);
            }
            for (seq, line) in rest.iter().zip(batch.iter()) {
                if let Ok(entry) = osier_tree::entry::read_entry(line) {
                    fold.feed(&entry, *seq, &heads);
                }
            }
            rest = &rest[batch.len().max(1)..];
        }
        self.card = Some(fold);
        Ok(self.known_card())
    }
}
