//! The index from ids to entries. Copies share their tables; only small tables are ever duplicated.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock, OnceLock};

use hashbrown::HashTable;

use super::{IdKey, Seq};

/// A shared table larger than this is not duplicated; a new table is started instead.
const MAX_DUPLICATED: usize = 512;

#[derive(Clone, Default)]
pub(super) struct IdIndex {
    /// The entries that a store restored. Their table is built on first use: showing a session does not need it.
    restored: Arc<RestoredIds>,
    /// Oldest first, each at least twice as large as the next.
    settled: Arc<Vec<Arc<HashTable<Seq>>>>,
    recent: Arc<HashTable<Seq>>,
}

#[derive(Clone, Default)]
struct RestoredIds {
    /// They are the first entries of the log.
    count: usize,
    table: OnceLock<HashTable<Seq>>,
}

/// A hash with a random seed per process. Ids come from untrusted files, which must not be able to force collisions.
fn hash(key: IdKey) -> u64 {
    static SEED: LazyLock<(u64, u64)> = LazyLock::new(|| {
        let random = RandomState::new();
        (random.hash_one(0), random.hash_one(1) | 1)
    });
    let (add, multiply) = *SEED;
    let wide = u128::from(key.0 ^ add) * u128::from(multiply);
    (wide >> 64) as u64 ^ wide as u64
}

impl RestoredIds {
    fn table(&self, key_of: impl Fn(Seq) -> Option<IdKey>) -> &HashTable<Seq> {
        self.table.get_or_init(|| {
            let mut table = HashTable::with_capacity(self.count);
            for seq in (0..self.count).map(Seq::new) {
                if let Some(key) = key_of(seq) {
                    table.insert_unique(hash(key), seq, |seq| key_of(*seq).map_or(0, hash));
                }
            }
            table
        })
    }
}

impl IdIndex {
    /// `key_of` returns the key of an entry; `None` if a later entry has the same id.
    pub(super) fn find(
        &self,
        key: IdKey,
        mut matches: impl FnMut(Seq) -> bool,
        key_of: impl Fn(Seq) -> Option<IdKey>,
    ) -> Option<Seq> {
        let tables = std::iter::once(&self.recent).chain(self.settled.iter().rev());
        let found = tables.into_iter().find_map(|table| table.find(hash(key), |seq| matches(*seq)));
        let restored = || self.restored.table(key_of).find(hash(key), |seq| matches(*seq));
        found.or_else(restored).copied()
    }

    /// Adds the next `count` entries that a store restored. Returns false if entries were looked up or inserted before.
    pub(super) fn restore(&mut self, first: usize, count: usize) -> bool {
        let restored = Arc::make_mut(&mut self.restored);
        let is_next = restored.count == first && restored.table.get().is_none();
        restored.count += if is_next { count } else { 0 };
        is_next
    }

    /// `earlier` is the entry that had this id before.
    pub(super) fn insert(
        &mut self,
        key: IdKey,
        seq: Seq,
        earlier: Option<Seq>,
        key_of: impl Fn(Seq) -> IdKey,
    ) {
        if Arc::get_mut(&mut self.recent).is_none() && self.recent.len() > MAX_DUPLICATED {
            self.settle_recent(&key_of);
        }
        let table = Arc::make_mut(&mut self.recent);
        if let Some(earlier) = earlier
            && let Ok(found) = table.find_entry(hash(key), |seq| *seq == earlier)
        {
            found.remove();
        }
        table.insert_unique(hash(key), seq, |seq| hash(key_of(*seq)));
    }

    fn settle_recent(&mut self, key_of: &impl Fn(Seq) -> IdKey) {
        let settled = Arc::make_mut(&mut self.settled);
        let mut table = std::mem::take(&mut self.recent);
        while let Some(older) = settled.pop_if(|older| older.len() < 2 * table.len()) {
            let mut merged = HashTable::clone(&older);
            for seq in table.iter() {
                merged.insert_unique(hash(key_of(*seq)), *seq, |seq| hash(key_of(*seq)));
            }
            table = Arc::new(merged);
        }
        settled.push(table);
    }
}
