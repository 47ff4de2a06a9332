//! One session file: read, followed, and added to.
//!
//! Reading never writes to it. Adding is one `write` of whole lines under a lock that is held for that write only. What was
//! written once is never touched again, and nothing is ever cut off: a torn line stays, and the next one starts below it.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use osier_tree::entry::{Odd, Read, flag, read, read_entry};
use osier_tree::projection::card::{Card, CardFold};
use osier_tree::{Head, Header, Heads, Seq};

use super::index::{self, Cover, Index};
use super::reader::LineReader;
use super::stamp::Stamp;
use crate::batch::Batch;
use crate::error::StoreError;
use crate::port::Version;

/// Logs smaller than this are read faster than an index is kept.
const WORTH_AN_INDEX: u64 = 128 << 10;

/// Wanted lines that are no further apart are read in one go.
const NEAR: u64 = 4096;

/// See the module.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) path: PathBuf,
    pub(super) file: File,
    writer: Option<File>,
    pub(super) stamp: Stamp,
    pub(super) header: Header,
    state: State,
    index_path: Option<PathBuf>,
    /// What the index file on disk covers.
    indexed: Option<Cover>,
    /// Up to here the file is read. What follows is nothing, a torn line, or what others appended.
    covered: u64,
    /// The last entry is a whole line without line feed.
    unended: bool,
    odd: usize,
    /// Lines of an old version, as this one has them. Such a file is replaced before anything is added to it.
    pub(super) migrated: Option<Vec<Vec<u8>>>,
    pub(super) card: Option<CardFold>,
    unsynced: bool,
}

#[derive(Debug)]
enum State {
    /// Nothing is in memory; heads are read from the index.
    Indexed(Index),
    Folded(Heads),
}

/// What writes to a file; tests put one in that fails.
pub(super) type WriteFn = fn(&File, &[u8]) -> io::Result<usize>;

/// How an attempt to add went.
pub(super) enum Attempt {
    Done(Version),
    /// Another process holds the lock just now.
    Locked,
}

/// How far to read.
#[derive(Clone, Copy, PartialEq)]
enum Upto {
    /// Also a last line without line feed, if it is whole.
    End,
    /// A writer may be in the middle of the last line.
    LastLineFeed,
}

impl Log {
    pub(super) fn open(path: &Path, index_path: Option<PathBuf>) -> Result<Log, StoreError> {
        let file = File::open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => StoreError::Vanished { path: path.to_owned() },
            _ => StoreError::io("open", path)(error),
        })?;
        let metadata = file.metadata().map_err(StoreError::io("look at", path))?;
        if !metadata.is_file() {
            return Err(StoreError::NotASession { path: path.to_owned(), why: "it is not a file" });
        }
        let header = find_header(path, &file)?;
        let mut log = Log {
            path: path.to_owned(),
            file,
            writer: None,
            stamp: Stamp::of(&metadata),
            header,
            state: State::Folded(Heads::default()),
            index_path: index_path.filter(|_| metadata.len() >= WORTH_AN_INDEX),
            indexed: None,
            covered: 0,
            unended: false,
            odd: 0,
            migrated: None,
            card: None,
            unsynced: false,
        };
        if metadata.len() < WORTH_AN_INDEX {
            log.card = Some(CardFold::new(log.blank_card()));
        }
        if log.header.version < osier_tree::header::VERSION {
            log.migrate()?;
        } else {
            log.load(Upto::End)?;
        }
        Ok(log)
    }

    fn load(&mut self, upto: Upto) -> Result<(), StoreError> {
        let index = self.index_path.as_ref().and_then(|path| Index::open(path, &self.file));
        if let Some(index) = index {
            let size = self.size()?;
            let cover = index.cover;
            if cover.size == size || cover.regular {
                self.covered = cover.size;
                self.unended = cover.unended;
                self.odd = cover.odd as usize;
                self.indexed = Some(cover);
                self.state = State::Indexed(index);
                if cover.size == size {
                    return Ok(());
                }
            }
        }
        self.read_on(upto)?;
        self.save_index();
        Ok(())
    }

    /// Forgets what the index said and reads the file itself.
    fn rebuild(&mut self) -> Result<(), StoreError> {
        if let Some(path) = &self.index_path {
            index::discard(path);
        }
        self.state = State::Folded(Heads::default());
        (self.covered, self.unended, self.odd, self.indexed, self.card) = (0, false, 0, None, None);
        self.read_on(Upto::End)?;
        self.save_index();
        Ok(())
    }

    fn size(&self) -> Result<u64, StoreError> {
        Ok(self.file.metadata().map_err(StoreError::io("look at", &self.path))?.len())
    }

    /// Brings a file of an old version to this one, in memory.
    fn migrate(&mut self) -> Result<(), StoreError> {
        let mut lines = Vec::new();
        let mut reader = LineReader::new(&self.file, 0);
        while let Some(line) = reader.next().map_err(StoreError::io("read", &self.path))? {
            self.covered = line.offset + line.bytes.len() as u64 + u64::from(line.ended);
            lines.push(line.bytes.to_vec());
        }
        let borrowed: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
        let lines = osier_tree::migrate::migrate(&self.header, &borrowed);
        let mut heads = Heads::default();
        let mut card = CardFold::new(self.blank_card());
        self.odd = 0;
        for (number, line) in lines.iter().enumerate() {
            match read(line) {
                Read::Entry(entry) => {
                    let seq = heads.append(&entry, number as u64, line.len() as u32);
                    card.feed(&entry, seq, &heads);
                }
                Read::Odd(_) => self.odd += 1,
                Read::Header(_) | Read::Blank => {}
            }
        }
        heads.settle();
        self.state = State::Folded(heads);
        self.card = Some(card);
        self.migrated = Some(lines);
        Ok(())
    }

    pub(super) fn version(&self) -> Version {
        let entries = match &self.state {
            State::Indexed(index) => index.cover.entries as usize,
            State::Folded(heads) => heads.len(),
        };
        Version { generation: self.stamp.generation(), entries }
    }

    pub(super) fn odd_lines(&self) -> usize {
        self.odd
    }

    pub(super) fn blank_card(&self) -> Card {
        let file = Some(self.path.display().to_string());
        Card { file, ..Card::new(&self.header, super::NAME) }
    }

    /// Smaller logs are read faster than caches are kept.
    pub(super) fn is_worth_caching(&self) -> bool {
        self.index_path.is_some() && self.migrated.is_none()
    }

    /// The header as it stands in the file.
    pub(super) fn header_line(&self) -> Result<Vec<u8>, StoreError> {
        let mut reader = LineReader::new(&self.file, 0);
        while let Some(line) = reader.next().map_err(StoreError::io("read", &self.path))? {
            if let Read::Header(_) = read(line.bytes) {
                return Ok(line.bytes.to_vec());
            }
        }
        Err(StoreError::NotASession { path: self.path.clone(), why: "it has no session header" })
    }

    pub(super) fn size_covered(&self) -> u64 {
        self.covered
    }

    /// All heads in memory, read from the index if they are not there yet.
    pub(super) fn folded(&mut self) -> Result<&mut Heads, StoreError> {
        if let State::Indexed(index) = &self.state {
            match restore(index, &self.file) {
                Some(heads) => self.state = State::Folded(heads),
                None => self.rebuild()?,
            }
        }
        match &mut self.state {
            State::Folded(heads) => Ok(heads),
            State::Indexed(_) => unreachable!("it was folded just now"),
        }
    }

    /// Reads what follows, from where reading ended.
    fn read_on(&mut self, upto: Upto) -> Result<(), StoreError> {
        self.folded()?;
        let State::Folded(heads) = &mut self.state else { unreachable!("it was folded just now") };
        let mut reader = LineReader::new(&self.file, self.covered);
        while let Some(line) = reader.next().map_err(StoreError::io("read", &self.path))? {
            let found = read(line.bytes);
            if !line.ended
                && (upto == Upto::LastLineFeed || !matches!(found, Read::Entry(_) | Read::Header(_)))
            {
                break;
            }
            match found {
                Read::Entry(entry) => {
                    let seq = heads.append(&entry, line.offset, line.bytes.len() as u32);
                    if let Some(card) = &mut self.card {
                        card.feed(&entry, seq, heads);
                    }
                }
                Read::Odd(_) => self.odd += 1,
                Read::Header(_) | Read::Blank => {}
            }
            self.unended = !line.ended;
            self.covered = line.offset + line.bytes.len() as u64 + u64::from(line.ended);
        }
        heads.settle();
        Ok(())
    }

    /// Checks that the path still names this file, and that the file did not become shorter.
    fn check_identity(&self) -> Result<u64, StoreError> {
        let named = std::fs::metadata(&self.path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => StoreError::Vanished { path: self.path.clone() },
            _ => StoreError::io("look at", &self.path)(error),
        })?;
        if Stamp::of(&named) != self.stamp {
            return Err(StoreError::Replaced);
        }
        if named.len() < self.covered {
            return Err(StoreError::Shrunk { path: self.path.clone() });
        }
        Ok(named.len())
    }

    /// Takes in what others appended, up to the last whole line.
    pub(super) fn refresh(&mut self) -> Result<(), StoreError> {
        let size = self.check_identity()?;
        if size > self.covered && self.migrated.is_none() {
            self.read_on(Upto::LastLineFeed)?;
        }
        Ok(())
    }

    pub(super) fn heads(&mut self, after: usize, limit: usize) -> Result<Vec<Head>, StoreError> {
        if let State::Indexed(index) = &self.state {
            if let Some(heads) = index.heads(after, limit) {
                return Ok(heads);
            }
            self.rebuild()?;
        }
        Ok(self.folded()?.from(after).take(limit).map(|(_, head)| *head).collect())
    }

    /// See [`crate::Store::lines`].
    pub(super) fn lines(&mut self, wanted: &[Seq], batch: &mut Batch) -> Result<(), StoreError> {
        if let State::Indexed(index) = &self.state {
            let fetched = heads_of(index, wanted).and_then(|(heads, parents)| {
                let taken = fetch(&self.file, &heads, batch).ok()?;
                let proved = batch
                    .iter()
                    .zip(heads.iter().zip(&parents))
                    .all(|(line, (head, parent))| is_that(line, head, *parent));
                (proved && taken > 0).then_some(())
            });
            if fetched.is_some() {
                return Ok(());
            }
            self.rebuild()?;
        }
        if let Some(lines) = &self.migrated {
            let State::Folded(heads) = &self.state else { unreachable!("an old file has no index") };
            batch.clear();
            for seq in wanted.iter().take_while(|seq| seq.index() < heads.len()) {
                batch.push(&lines[heads.get(*seq).offset as usize]);
            }
            return Ok(());
        }
        let State::Folded(all) = &self.state else { unreachable!("it was folded just now") };
        let mut heads: Vec<Head> = Vec::new();
        let mut bytes = 0;
        for seq in wanted {
            if bytes >= Batch::FULL {
                break;
            }
            if seq.index() >= all.len() {
                return Err(StoreError::NoSuchEntry { seq: seq.index() });
            }
            heads.push(*all.get(*seq));
            bytes += all.get(*seq).len as usize;
        }
        fetch(&self.file, &heads, batch).map_err(StoreError::io("read", &self.path))?;
        Ok(())
    }

    /// Tries to add lines; see [`crate::Store::append`].
    pub(super) fn append(
        &mut self,
        expected: Version,
        lines: &[Vec<u8>],
        write: WriteFn,
    ) -> Result<Attempt, StoreError> {
        debug_assert!(self.migrated.is_none(), "an old file is replaced before it is added to");
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.open_to_write()?,
        };
        match writer.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                self.writer = Some(writer);
                return Ok(Attempt::Locked);
            }
            Err(TryLockError::Error(error)) => return Err(StoreError::io("lock", &self.path)(error)),
        }
        let result = self.append_locked(&writer, expected, lines, write);
        let unlocked = writer.unlock();
        self.writer = Some(writer);
        let version = result?;
        unlocked.map_err(StoreError::io("unlock", &self.path))?;
        Ok(Attempt::Done(version))
    }

    fn open_to_write(&self) -> Result<File, StoreError> {
        let writer = std::fs::OpenOptions::new().read(true).append(true).open(&self.path);
        writer.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => StoreError::Vanished { path: self.path.clone() },
            _ => StoreError::io("write to", &self.path)(error),
        })
    }

    fn append_locked(
        &mut self,
        writer: &File,
        expected: Version,
        lines: &[Vec<u8>],
        write: WriteFn,
    ) -> Result<Version, StoreError> {
        let size = self.check_identity()?;
        let held = writer.metadata().map_err(StoreError::io("look at", &self.path))?;
        if Stamp::of(&held) != self.stamp {
            return Err(StoreError::Replaced);
        }
        if size > self.covered {
            self.read_on(Upto::End)?;
        }
        let now = self.version();
        if now != expected {
            return Err(if now.generation == expected.generation {
                StoreError::Conflict { now }
            } else {
                StoreError::Replaced
            });
        }
        self.folded()?;
        let torn = size > self.covered || self.unended;
        let mut bytes = Vec::with_capacity(lines.iter().map(|line| line.len() + 1).sum::<usize>() + 1);
        if torn {
            bytes.push(b'\n');
        }
        for line in lines {
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        }
        write_at_once(writer, &bytes, write).map_err(StoreError::io("append to", &self.path))?;
        self.unsynced = true;
        self.take_in(size, torn, &bytes, lines)?;
        Ok(self.version())
    }

    /// Folds what was just written. If it lies where it should, without reading it again.
    fn take_in(&mut self, size: u64, torn: bool, bytes: &[u8], lines: &[Vec<u8>]) -> Result<(), StoreError> {
        let undisturbed = !torn && self.size()? == size + bytes.len() as u64;
        if !undisturbed {
            return self.read_on(Upto::LastLineFeed);
        }
        let State::Folded(heads) = &mut self.state else { unreachable!("it was folded before writing") };
        for line in lines {
            if let Read::Entry(entry) = read(line) {
                let seq = heads.append(&entry, self.covered, line.len() as u32);
                if let Some(card) = &mut self.card {
                    card.feed(&entry, seq, heads);
                }
            }
            self.covered += line.len() as u64 + 1;
        }
        heads.settle();
        Ok(())
    }

    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        if let Some(writer) = self.writer.as_ref().filter(|_| self.unsynced) {
            writer.sync_data().map_err(StoreError::io("sync", &self.path))?;
            self.unsynced = false;
        }
        self.save_index();
        Ok(())
    }

    /// Brings the index file up to date. It is a cache: if that fails, the next reader reads the log.
    pub(super) fn save_index(&mut self) {
        let (State::Folded(heads), Some(path), None) = (&self.state, &self.index_path, &self.migrated) else {
            return;
        };
        let Some(last) = heads.last_seq().map(|seq| *heads.get(seq)) else { return };
        let mut line = vec![0; last.len as usize];
        if self.indexed.is_some_and(|cover| cover.size == self.covered)
            || self.file.read_exact_at(&mut line, last.offset).is_err()
        {
            return;
        }
        let cover = Cover {
            stamp: self.stamp,
            size: self.covered,
            entries: heads.len() as u32,
            odd: self.odd as u32,
            unended: self.unended,
            regular: heads.is_regular(),
            last_offset: last.offset,
            last_len: last.len,
            last_hash: index::hash(&line),
        };
        let saved = match self.indexed.filter(|old| old.regular && cover.regular) {
            Some(old) => Index::extend(path, heads, &old, cover),
            None => Index::write(path, heads, cover),
        };
        self.indexed = saved.is_ok().then_some(cover);
    }

    /// Reads the whole log again to make its card.
    pub(super) fn make_card(&mut self) -> Result<Card, StoreError> {
        self.state = State::Folded(Heads::default());
        (self.covered, self.unended, self.odd) = (0, false, 0);
        self.card = Some(CardFold::new(self.blank_card()));
        self.read_on(Upto::End)?;
        Ok(self.card.as_ref().map(|fold| fold.card().clone()).unwrap_or_default())
    }
}

/// The first line that is JSON must be a header with an id; lines before it that are no JSON are passed over.
pub(super) fn find_header(path: &Path, file: &File) -> Result<Header, StoreError> {
    let refuse = |why| StoreError::NotASession { path: path.to_owned(), why };
    let mut reader = LineReader::new(file, 0);
    while let Some(line) = reader.next().map_err(StoreError::io("read", path))? {
        match read(line.bytes) {
            Read::Header(raw) => return Header::read(raw).ok_or_else(|| refuse("its header has no id")),
            Read::Blank | Read::Odd(Odd::NotJson) => {}
            Read::Odd(Odd::NotAnObject) if line.bytes.trim_ascii() == b"null" => {}
            Read::Entry(_) | Read::Odd(_) => return Err(refuse("it does not begin with a session header")),
        }
    }
    Err(refuse("it has no session header"))
}

/// All heads of an index, with the lines read that the fold wants to see.
fn restore(index: &Index, file: &File) -> Option<Heads> {
    let stored = index.heads(0, usize::MAX)?;
    let mut heads = Heads::default();
    let mut cuts = Vec::new();
    let mut line = Vec::new();
    for head in stored {
        if !head.wants_ids() {
            heads.restore(head, None);
            continue;
        }
        line.resize(head.len as usize, 0);
        file.read_exact_at(&mut line, head.offset).ok()?;
        let entry = read_entry(&line).ok()?;
        let seq = heads.restore(head, Some(&entry));
        if let Some(parent) = entry.parent.as_ref().filter(|_| head.has(flag::CUT)) {
            cuts.push((seq, parent.to_string()));
        }
    }
    heads.restore_cuts(cuts);
    Some(heads)
}

/// The heads of some entries, and the ids of their parents, from an index.
fn heads_of(index: &Index, wanted: &[Seq]) -> Option<(Vec<Head>, Vec<Option<u64>>)> {
    let mut page: (usize, Vec<Head>) = (usize::MAX, Vec::new());
    const PAGE: usize = 252;
    let mut get = |seq: Seq| {
        if page.0 != seq.index() / PAGE {
            page = (seq.index() / PAGE, index.heads(seq.index() / PAGE * PAGE, PAGE)?);
        }
        page.1.get(seq.index() % PAGE).copied()
    };
    let mut bytes = 0;
    let mut heads: Vec<Head> = Vec::new();
    let mut parents = Vec::new();
    let mut previous: Option<(Seq, Head)> = None;
    for seq in wanted {
        if bytes >= Batch::FULL {
            break;
        }
        let head = get(*seq)?;
        bytes += head.len as usize;
        let parent = match (head.parent, previous) {
            (None, _) => None,
            (Some(parent), Some((above, above_head))) if above == parent => Some(above_head.id.0),
            (Some(parent), _) => Some(get(parent)?.id.0),
        };
        previous = Some((*seq, head));
        heads.push(head);
        parents.push(parent);
    }
    Some((heads, parents))
}

/// Reads the lines of heads into a batch, as many as fit. Neighbours are read in one go.
fn fetch(file: &File, heads: &[Head], batch: &mut Batch) -> io::Result<usize> {
    batch.clear();
    let mut at = 0;
    while at < heads.len() && !batch.is_full() {
        let start = heads[at].offset;
        let mut end = start + u64::from(heads[at].len);
        let mut next = at + 1;
        while let Some(head) = heads.get(next) {
            let near = head.offset >= end && head.offset <= end + NEAR;
            if !near || end - start >= Batch::FULL as u64 {
                break;
            }
            end = head.offset + u64::from(head.len);
            next += 1;
        }
        let (base, room) = batch.room((end - start) as usize);
        file.read_exact_at(room, start)?;
        for head in &heads[at..next] {
            let from = base + (head.offset - start) as usize;
            batch.name(from..from + head.len as usize);
        }
        at = next;
    }
    Ok(at)
}

/// Whether a line is the one its head was made from: same id, same parent.
fn is_that(line: &[u8], head: &Head, parent: Option<u64>) -> bool {
    let long = head.has(flag::LONG_ID);
    if !long && parent.is_some_and(|parent| begins_with(line, head.id.0, parent)) {
        return true;
    }
    let Ok(entry) = read_entry(line) else { return false };
    let key = |id: &str| <[u8; 8]>::try_from(id.as_bytes()).ok().map(u64::from_le_bytes);
    let same_id = long || key(&entry.id) == Some(head.id.0);
    let same_parent = match (&entry.parent, parent) {
        (None, None) => true,
        (Some(named), Some(parent)) => key(named).is_none_or(|named| named == parent),
        (Some(_), None) => head.has(flag::ORPHAN | flag::CUT),
        (None, Some(_)) => false,
    };
    same_id && same_parent && entry.kind == head.kind
}

/// Whether a line begins with type, id and parent as nearly every writer puts them.
fn begins_with(line: &[u8], id: u64, parent: u64) -> bool {
    let after_type =
        line.strip_prefix(b"{\"type\":\"").and_then(|rest| Some(&rest[memchr::memchr(b'"', rest)? + 1..]));
    let after_id = after_type
        .and_then(|rest| rest.strip_prefix(b",\"id\":\""))
        .and_then(|rest| rest.strip_prefix(&id.to_le_bytes()));
    let after_parent = after_id
        .and_then(|rest| rest.strip_prefix(b"\",\"parentId\":\""))
        .and_then(|rest| rest.strip_prefix(&parent.to_le_bytes()));
    after_parent.is_some_and(|rest| rest.first() == Some(&b'"'))
}

/// One `write`, because two could be torn apart by a crash or by a writer that takes no lock.
fn write_at_once(writer: &File, bytes: &[u8], write: WriteFn) -> io::Result<()> {
    loop {
        match write(writer, bytes) {
            Ok(written) if written == bytes.len() => return Ok(()),
            Ok(written) => {
                let why = format!("only {written} of {} bytes were written; is the disk full?", bytes.len());
                return Err(io::Error::new(io::ErrorKind::StorageFull, why));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
