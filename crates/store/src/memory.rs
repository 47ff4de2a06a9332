//! A store in memory, for tests and for temporary sessions.

use std::sync::Mutex;

use async_trait::async_trait;
use osier_tree::entry::{Read, read};
use osier_tree::projection::card::{Card, CardFold};
use osier_tree::short_ids::has_prefix;
use osier_tree::{Head, Header, Heads, Seq, header};
use rustc_hash::FxHashMap;
use tokio::sync::watch;

use crate::batch::Batch;
use crate::error::StoreError;
use crate::lease::{InTheWay, Lease};
use crate::port::{Counts, Deleted, Filter, Opened, Page, Store, Version, Watch};

/// A store that keeps its logs in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    logs: Mutex<FxHashMap<String, Log>>,
}

#[derive(Debug)]
struct Log {
    header: Header,
    generation: u64,
    heads: Heads,
    lines: Vec<Vec<u8>>,
    odd: usize,
    card: CardFold,
    changed: watch::Sender<u64>,
    leases: Vec<Lease>,
}

impl Log {
    fn new(header: &Header, generation: u64) -> Log {
        Log {
            header: header.clone(),
            generation,
            heads: Heads::default(),
            lines: Vec::new(),
            odd: 0,
            card: CardFold::new(Card::new(header, "memory")),
            changed: watch::Sender::new(0),
            leases: Vec::new(),
        }
    }

    fn take_in(&mut self, lines: &[Vec<u8>]) {
        for line in lines {
            let Read::Entry(entry) = read(line) else {
                self.odd += 1;
                continue;
            };
            let seq = self.heads.append(&entry, self.lines.len() as u64, line.len() as u32);
            self.card.feed(&entry, seq, &self.heads);
            self.lines.push(line.clone());
        }
        self.heads.settle();
        self.changed.send_modify(|count| *count += 1);
    }

    fn version(&self) -> Version {
        Version { generation: self.generation, entries: self.heads.len() }
    }

    fn opened(&self) -> Opened {
        Opened { header: self.header.clone(), version: self.version(), odd_lines: self.odd, file: None }
    }

    /// Whether the session is open or a turn is running in it.
    fn is_in_use(&self) -> bool {
        self.changed.receiver_count() > 0 || !self.leases.is_empty()
    }

    fn rewrite(&mut self, expected: Version, lines: &[Vec<u8>]) -> Result<Version, StoreError> {
        self.expect(expected)?;
        let (changed, leases) = (self.changed.clone(), std::mem::take(&mut self.leases));
        let header = Header { rewritten: self.header.rewritten + 1, ..self.header.clone() };
        *self = Log { changed, leases, ..Log::new(&header, self.generation + 1) };
        self.take_in(lines);
        Ok(self.version())
    }

    fn expect(&self, expected: Version) -> Result<(), StoreError> {
        match self.version() {
            now if now == expected => Ok(()),
            now if now.generation != expected.generation => Err(StoreError::Replaced),
            now => Err(StoreError::Conflict { now }),
        }
    }
}

impl MemoryStore {
    fn with<T>(&self, id: &str, f: impl FnOnce(&mut Log) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut logs = self.logs.lock().expect("no code panics while holding the lock");
        let log =
            logs.get_mut(id).ok_or_else(|| StoreError::NotFound { store: "memory".into(), id: id.into() })?;
        f(log)
    }

    fn of_generation<T>(
        &self,
        id: &str,
        generation: u64,
        f: impl FnOnce(&Log) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.with(id, |log| if log.generation == generation { f(log) } else { Err(StoreError::Replaced) })
    }
}

#[async_trait]
impl Store for MemoryStore {
    fn name(&self) -> &str {
        "memory"
    }

    async fn create(&self, header: &Header, lines: &[Vec<u8>]) -> Result<Opened, StoreError> {
        if !header::is_valid_id(&header.id) {
            return Err(StoreError::InvalidId { id: header.id.clone() });
        }
        let mut logs = self.logs.lock().expect("no code panics while holding the lock");
        if logs.contains_key(&header.id) {
            return Err(StoreError::AlreadyExists { id: header.id.clone() });
        }
        let mut log = Log::new(header, 1);
        log.take_in(lines);
        let opened = log.opened();
        logs.insert(header.id.clone(), log);
        Ok(opened)
    }

    async fn open(&self, id: &str) -> Result<Opened, StoreError> {
        self.with(id, |log| Ok(log.opened()))
    }

    async fn heads(
        &self,
        id: &str,
        generation: u64,
        after: usize,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        self.of_generation(id, generation, |log| {
            Ok(log.heads.from(after).take(limit).map(|(_, head)| *head).collect())
        })
    }

    async fn shared_heads(&self, id: &str, generation: u64) -> Result<Option<Heads>, StoreError> {
        self.of_generation(id, generation, |log| Ok(Some(log.heads.clone())))
    }

    async fn lines(
        &self,
        id: &str,
        generation: u64,
        wanted: &[Seq],
        batch: &mut Batch,
    ) -> Result<(), StoreError> {
        batch.clear();
        self.of_generation(id, generation, |log| {
            for seq in wanted {
                if batch.is_full() {
                    break;
                }
                let line = log.lines.get(seq.index()).ok_or(StoreError::NoSuchEntry { seq: seq.index() })?;
                batch.push(line);
            }
            Ok(())
        })
    }

    async fn append(&self, id: &str, expected: Version, lines: &[Vec<u8>]) -> Result<Version, StoreError> {
        self.with(id, |log| {
            log.expect(expected)?;
            log.take_in(lines);
            Ok(log.version())
        })
    }

    async fn sync(&self, id: &str) -> Result<(), StoreError> {
        self.with(id, |_| Ok(()))
    }

    async fn watch(&self, id: &str) -> Result<Watch, StoreError> {
        self.with(id, |log| Ok(Watch::new(log.changed.subscribe(), None)))
    }

    async fn list(&self, filter: &Filter) -> Result<Page, StoreError> {
        let logs = self.logs.lock().expect("no code panics while holding the lock");
        let mut cards: Vec<Card> = logs.values().map(|log| log.card.card().clone()).collect();
        cards.retain(|card| filter.cwd.as_ref().is_none_or(|cwd| cwd.to_string_lossy() == card.cwd));
        Ok(filter.page(cards, Vec::new()))
    }

    async fn card(&self, id: &str) -> Result<Card, StoreError> {
        self.with(id, |log| Ok(log.card.card().clone()))
    }

    async fn find(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let logs = self.logs.lock().expect("no code panics while holding the lock");
        let mut ids: Vec<String> = logs.keys().filter(|id| has_prefix(id, prefix)).cloned().collect();
        ids.sort();
        Ok(ids)
    }

    async fn delete(&self, id: &str) -> Result<Deleted, StoreError> {
        let mut logs = self.logs.lock().expect("no code panics while holding the lock");
        if logs.get(id).is_some_and(Log::is_in_use) {
            return Err(StoreError::Busy { id: id.to_owned() });
        }
        let removed = logs.remove(id);
        let counts = removed.as_ref().map(|log| Counts { sessions: 1, entries: log.lines.len() });
        Ok(Deleted { deleted: removed.is_some(), store: "memory".into(), counts: counts.unwrap_or_default() })
    }

    async fn lease(&self, lease: &Lease, in_the_way: InTheWay<'_>) -> Result<(), StoreError> {
        self.with(&lease.session, |log| {
            let mut others = log.leases.iter().filter(|other| other.cursor != lease.cursor);
            if let Some(other) = others.find(|other| in_the_way(other)) {
                return Err(StoreError::Leased { lease: Box::new(other.clone()) });
            }
            log.leases.retain(|other| other.cursor != lease.cursor);
            log.leases.push(lease.clone());
            Ok(())
        })
    }

    async fn release(&self, lease: &Lease) {
        let released = self.with(&lease.session, |log| {
            log.leases.retain(|other| other.cursor != lease.cursor);
            Ok(())
        });
        // A deleted session has no leases to release.
        let _ = released;
    }

    async fn leases(&self, id: &str) -> Result<Vec<Lease>, StoreError> {
        self.with(id, |log| Ok(log.leases.clone()))
    }

    async fn rewrite(&self, id: &str, expected: Version, lines: &[Vec<u8>]) -> Result<Version, StoreError> {
        self.with(id, |log| match log.is_in_use() {
            true => Err(StoreError::Busy { id: id.to_owned() }),
            false => log.rewrite(expected, lines),
        })
    }

    async fn rewrite_in_use(
        &self,
        id: &str,
        expected: Version,
        lines: &[Vec<u8>],
    ) -> Result<Version, StoreError> {
        self.with(id, |log| log.rewrite(expected, lines))
    }
}
