//! A store that forgets: for tests, and for sessions nobody wants to keep.

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
use crate::port::{Counts, Deleted, Filter, Opened, Page, Store, Version, Watch};

/// See the module.
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
        let mut logs = self.logs.lock().expect("no code panics while it holds the lock");
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
        let mut logs = self.logs.lock().expect("no code panics while it holds the lock");
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
        let logs = self.logs.lock().expect("no code panics while it holds the lock");
        let mut cards: Vec<Card> = logs.values().map(|log| log.card.card().clone()).collect();
        cards.retain(|card| filter.cwd.as_ref().is_none_or(|cwd| cwd.to_string_lossy() == card.cwd));
        Ok(filter.page(cards, Vec::new()))
    }

    async fn card(&self, id: &str) -> Result<Card, StoreError> {
        self.with(id, |log| Ok(log.card.card().clone()))
    }

    async fn find(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let logs = self.logs.lock().expect("no code panics while it holds the lock");
        let mut ids: Vec<String> = logs.keys().filter(|id| has_prefix(id, prefix)).cloned().collect();
        ids.sort();
        Ok(ids)
    }

    async fn delete(&self, id: &str) -> Result<Deleted, StoreError> {
        let mut logs = self.logs.lock().expect("no code panics while it holds the lock");
        if logs.get(id).is_some_and(|log| log.changed.receiver_count() > 0) {
            return Err(StoreError::Busy { id: id.to_owned() });
        }
        let removed = logs.remove(id);
        let counts = removed.as_ref().map(|log| Counts { sessions: 1, entries: log.lines.len() });
        Ok(Deleted { deleted: removed.is_some(), store: "memory".into(), counts: counts.unwrap_or_default() })
    }

    async fn rewrite(&self, id: &str, expected: Version, lines: &[Vec<u8>]) -> Result<Version, StoreError> {
        self.with(id, |log| {
            log.expect(expected)?;
            let changed = log.changed.clone();
            let header = Header { rewritten: log.header.rewritten + 1, ..log.header.clone() };
            *log = Log { changed, ..Log::new(&header, log.generation + 1) };
            log.take_in(lines);
            Ok(log.version())
        })
    }
}
