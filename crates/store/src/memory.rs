//! A store in memory, for tests and for temporary sessions.

use std::sync::Mutex;

use async_trait::async_trait;
use osier_tree::entry::{ParsedLine, parse_line};
use osier_tree::projection::card::{Card, CardFold};
use osier_tree::short_ids::has_prefix;
use osier_tree::{Head, Header, Heads, Seq, header};
use rustc_hash::FxHashMap;
use tokio::sync::watch;

use crate::batch::LineBatch;
use crate::error::StoreError;
use crate::lease::{Lease, LeaseConflictFn};
use crate::store::{
    DeleteResult, DeletedCounts, LogVersion, OpenedLog, SessionFilter, SessionPage, Store, Watch,
};

/// A store that keeps its logs in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    logs: Mutex<FxHashMap<String, MemoryLog>>,
}

#[derive(Debug)]
struct MemoryLog {
    header: Header,
    generation: u64,
    heads: Heads,
    lines: Vec<Vec<u8>>,
    invalid_lines: usize,
    card: CardFold,
    changed: watch::Sender<u64>,
    leases: Vec<Lease>,
}

impl MemoryLog {
    fn new(header: &Header, generation: u64) -> MemoryLog {
        MemoryLog {
            header: header.clone(),
            generation,
            heads: Heads::default(),
            lines: Vec::new(),
            invalid_lines: 0,
            card: CardFold::new(Card::new(header, "memory")),
            changed: watch::Sender::new(0),
            leases: Vec::new(),
        }
    }

    fn append_lines(&mut self, lines: &[Vec<u8>]) {
        for line in lines {
            let ParsedLine::Entry(entry) = parse_line(line) else {
                self.invalid_lines += 1;
                continue;
            };
            let seq = self.heads.append(&entry, self.lines.len() as u64, line.len() as u32);
            self.card.feed(&entry, seq, &self.heads);
            self.lines.push(line.clone());
        }
        self.heads.settle();
        self.changed.send_modify(|count| *count += 1);
    }

    fn version(&self) -> LogVersion {
        LogVersion { generation: self.generation, entries: self.heads.len() }
    }

    fn opened(&self) -> OpenedLog {
        OpenedLog {
            header: self.header.clone(),
            version: self.version(),
            invalid_lines: self.invalid_lines,
            file: None,
        }
    }

    /// Whether the session is open or a turn is running in it.
    fn is_in_use(&self) -> bool {
        self.changed.receiver_count() > 0 || !self.leases.is_empty()
    }

    fn rewrite(&mut self, expected: LogVersion, lines: &[Vec<u8>]) -> Result<LogVersion, StoreError> {
        self.check_version(expected)?;
        let (changed, leases) = (self.changed.clone(), std::mem::take(&mut self.leases));
        let header = Header { rewrite_count: self.header.rewrite_count + 1, ..self.header.clone() };
        *self = MemoryLog { changed, leases, ..MemoryLog::new(&header, self.generation + 1) };
        self.append_lines(lines);
        Ok(self.version())
    }

    fn check_version(&self, expected: LogVersion) -> Result<(), StoreError> {
        match self.version() {
            now if now == expected => Ok(()),
            now if now.generation != expected.generation => Err(StoreError::Replaced),
            now => Err(StoreError::Conflict { now }),
        }
    }
}

impl MemoryStore {
    fn with_log<T>(
        &self,
        id: &str,
        f: impl FnOnce(&mut MemoryLog) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut logs = self.logs.lock().expect("no code panics while holding the lock");
        let log =
            logs.get_mut(id).ok_or_else(|| StoreError::NotFound { store: "memory".into(), id: id.into() })?;
        f(log)
    }

    fn with_generation<T>(
        &self,
        id: &str,
        generation: u64,
        f: impl FnOnce(&MemoryLog) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.with_log(id, |log| if log.generation == generation { f(log) } else { Err(StoreError::Replaced) })
    }
}

#[async_trait]
impl Store for MemoryStore {
    fn name(&self) -> &str {
        "memory"
    }

    fn kind(&self) -> &'static str {
        "memory"
    }

    async fn create(&self, header: &Header, lines: &[Vec<u8>]) -> Result<OpenedLog, StoreError> {
        if !header::is_valid_id(&header.id) {
            return Err(StoreError::InvalidId { id: header.id.clone() });
        }
        let mut logs = self.logs.lock().expect("no code panics while holding the lock");
        if logs.contains_key(&header.id) {
            return Err(StoreError::AlreadyExists { id: header.id.clone() });
        }
        let mut log = MemoryLog::new(header, 1);
        log.append_lines(lines);
        let opened = log.opened();
        logs.insert(header.id.clone(), log);
        Ok(opened)
    }

    async fn open(&self, id: &str) -> Result<OpenedLog, StoreError> {
        self.with_log(id, |log| Ok(log.opened()))
    }

    async fn heads(
        &self,
        id: &str,
        generation: u64,
        after: usize,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        self.with_generation(id, generation, |log| {
            Ok(log.heads.iter_from(after).take(limit).map(|(_, head)| *head).collect())
        })
    }

    async fn shared_heads(&self, id: &str, generation: u64) -> Result<Option<Heads>, StoreError> {
        self.with_generation(id, generation, |log| Ok(Some(log.heads.clone())))
    }

    async fn lines(
        &self,
        id: &str,
        generation: u64,
        seqs: &[Seq],
        batch: &mut LineBatch,
    ) -> Result<(), StoreError> {
        batch.clear();
        self.with_generation(id, generation, |log| {
            for seq in seqs {
                if batch.is_full() {
                    break;
                }
                let line = log.lines.get(seq.index()).ok_or(StoreError::NoSuchEntry { seq: seq.index() })?;
                batch.push(line);
            }
            Ok(())
        })
    }

    async fn append(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        self.with_log(id, |log| {
            log.check_version(expected)?;
            log.append_lines(lines);
            Ok(log.version())
        })
    }

    async fn sync(&self, id: &str) -> Result<(), StoreError> {
        self.with_log(id, |_| Ok(()))
    }

    async fn watch(&self, id: &str) -> Result<Watch, StoreError> {
        self.with_log(id, |log| Ok(Watch::new(log.changed.subscribe(), None)))
    }

    async fn list(&self, filter: &SessionFilter) -> Result<SessionPage, StoreError> {
        let logs = self.logs.lock().expect("no code panics while holding the lock");
        let mut cards: Vec<Card> = logs.values().map(|log| log.card.card().clone()).collect();
        cards.retain(|card| filter.cwd.as_ref().is_none_or(|cwd| cwd.to_string_lossy() == card.cwd));
        Ok(filter.paginate(cards, Vec::new()))
    }

    async fn card(&self, id: &str) -> Result<Card, StoreError> {
        self.with_log(id, |log| Ok(log.card.card().clone()))
    }

    async fn find_ids(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let logs = self.logs.lock().expect("no code panics while holding the lock");
        let mut ids: Vec<String> = logs.keys().filter(|id| has_prefix(id, prefix)).cloned().collect();
        ids.sort();
        Ok(ids)
    }

    async fn is_in_use(&self, id: &str) -> Result<bool, StoreError> {
        let logs = self.logs.lock().expect("no code panics while holding the lock");
        Ok(logs.get(id).is_some_and(MemoryLog::is_in_use))
    }

    async fn delete(&self, id: &str) -> Result<DeleteResult, StoreError> {
        let mut logs = self.logs.lock().expect("no code panics while holding the lock");
        if logs.get(id).is_some_and(MemoryLog::is_in_use) {
            return Err(StoreError::Busy { id: id.to_owned() });
        }
        let removed = logs.remove(id);
        let counts = removed.as_ref().map(|log| DeletedCounts { sessions: 1, entries: log.lines.len() });
        Ok(DeleteResult {
            deleted: removed.is_some(),
            store: "memory".into(),
            counts: counts.unwrap_or_default(),
        })
    }

    async fn acquire_lease(&self, lease: &Lease, is_conflict: LeaseConflictFn<'_>) -> Result<(), StoreError> {
        self.with_log(&lease.session, |log| {
            let mut others = log.leases.iter().filter(|other| other.cursor != lease.cursor);
            if let Some(other) = others.find(|other| is_conflict(other)) {
                return Err(StoreError::Leased { lease: Box::new(other.clone()) });
            }
            log.leases.retain(|other| other.cursor != lease.cursor);
            log.leases.push(lease.clone());
            Ok(())
        })
    }

    async fn release_lease(&self, lease: &Lease) {
        let released = self.with_log(&lease.session, |log| {
            log.leases.retain(|other| other.cursor != lease.cursor);
            Ok(())
        });
        // A deleted session has no leases to release.
        let _ = released;
    }

    async fn leases(&self, id: &str) -> Result<Vec<Lease>, StoreError> {
        self.with_log(id, |log| Ok(log.leases.clone()))
    }

    async fn rewrite(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        self.with_log(id, |log| match log.is_in_use() {
            true => Err(StoreError::Busy { id: id.to_owned() }),
            false => log.rewrite(expected, lines),
        })
    }

    async fn rewrite_in_use(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        self.with_log(id, |log| log.rewrite(expected, lines))
    }
}
