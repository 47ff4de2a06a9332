//! One session file: reads it, follows its growth, and appends to it.
//!
//! Reading never writes to the file. An append is one `write` of complete lines under a lock that is held for that
//! write only. Written lines never change and are never cut off: a torn line stays, and the next append starts a new
//! line.

mod append;
mod follow;
mod header;
mod lines;
mod proof;
mod upkeep;

use std::fs::File;
use std::path::{Path, PathBuf};

use osier_tree::entry::{Read, read};
use osier_tree::projection::card::{Card, CardFold};
use osier_tree::{Head, Header, Heads, Seq};

use super::index::{self, Cover, Index, Wrong};
use super::reader::LineReader;
use super::stamp::Stamp;
use crate::batch::Batch;
use crate::error::StoreError;
use crate::port::Version;
pub(super) use append::{Attempt, WriteFn};
use follow::Upto;
use header::FoundHeader;
pub(super) use header::{find_header, open_to_read};

/// Reading a smaller log is faster than maintaining an index.
const WORTH_AN_INDEX: u64 = 128 << 10;

/// How many bytes before the end of the read part are remembered.
const TAIL: u64 = 32;

/// An open session file.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) path: PathBuf,
    pub(super) file: File,
    writer: Option<File>,
    pub(super) stamp: Stamp,
    /// The first generation of this file with this header.
    base: u64,
    /// How often earlier answers turned out to be wrong. Added to `base_generation`.
    wrong: u64,
    pub(super) header: Header,
    /// The header line in the file.
    found: FoundHeader,
    state: State,
    trust: Trust,
    index_path: Option<PathBuf>,
    /// The header of the index file on disk.
    indexed: Option<Cover>,
    reached: Reached,
    /// The migrated lines of a file of an old version. Such a file is replaced before the first append.
    pub(super) migrated: Option<Vec<Vec<u8>>>,
    pub(super) card: Option<CardFold>,
    unsynced: bool,
}

#[derive(Debug)]
enum State {
    /// Heads are read from the index and not kept in memory.
    Indexed(Index),
    Folded(Heads),
}

/// Where the heads of a log come from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Trust {
    /// From the lines.
    Seen,
    /// From an index, which may be wrong.
    Claimed,
    /// From an index, and a caller has received some of them.
    Told,
}

/// How far a file was read.
#[derive(Debug, Default)]
struct Reached {
    /// The end of the read part. Nothing, a torn line, or lines of other writers follow.
    covered: u64,
    /// Whether the last entry is a complete line without a newline.
    unended: bool,
    /// The number of lines that are not valid entries.
    odd: usize,
    /// Whether a torn line follows.
    torn: bool,
    /// The last bytes before `end`.
    tail: Vec<u8>,
}

impl Log {
    pub(super) fn open(path: &Path, index_path: Option<PathBuf>) -> Result<Log, StoreError> {
        let mut log = Log::begin(path)?;
        log.index_path = index_path;
        log.load()?;
        Ok(log)
    }

    /// Opens the file and reads only its header.
    fn begin(path: &Path) -> Result<Log, StoreError> {
        let file = open_to_read(path)?;
        let stamp = Stamp::of(&file.metadata().map_err(StoreError::io("read the metadata of", path))?);
        let found = find_header(path, &file)?;
        Ok(Log {
            path: path.to_owned(),
            file,
            writer: None,
            stamp,
            base: stamp.generation() ^ index::hash(&found.line),
            wrong: 0,
            header: found.header.clone(),
            found,
            state: State::Folded(Heads::default()),
            trust: Trust::Seen,
            index_path: None,
            indexed: None,
            reached: Reached::default(),
            migrated: None,
            card: None,
            unsynced: false,
        })
    }

    fn load(&mut self) -> Result<(), StoreError> {
        if self.header.version < osier_tree::header::VERSION {
            return self.migrate();
        }
        if self.size()? < WORTH_AN_INDEX {
            self.index_path = None;
            self.card = Some(CardFold::new(self.blank_card()));
        }
        self.take_index()?;
        if self.size()? > self.reached.covered {
            self.read_on(Upto::End)?;
        }
        self.save_index();
        Ok(())
    }

    /// Loads the index, if it is valid so far.
    fn take_index(&mut self) -> Result<(), StoreError> {
        let Some(index) = self.index_path.as_ref().and_then(|path| Index::open(path, &self.file)) else {
            return Ok(());
        };
        let cover = index.cover;
        let grown = cover.size < self.size()?;
        // The leaf of the log depends on the last entry, so check that entry now.
        let last = Seq::new(cover.entries as usize - 1);
        let stands = lines::proved_lines(&index, &self.file, &[last], &mut Batch::default());
        if stands.is_err() || grown && !cover.regular {
            return Ok(());
        }
        self.state = match grown || !cover.in_order {
            false => State::Indexed(index),
            // All heads are needed, or can only be checked together.
            true => match lines::restore(&index, &self.file) {
                Ok(heads) => State::Folded(heads),
                Err(_) => return Ok(()),
            },
        };
        self.trust = Trust::Claimed;
        self.indexed = Some(cover);
        self.reached = Reached {
            covered: cover.size,
            unended: cover.unended,
            odd: cover.odd as usize,
            ..Reached::default()
        };
        self.remember_tail()
    }

    /// Reads the file again from the start. If callers may have received wrong data, starts a new generation.
    fn begin_again(&mut self, believed: bool) -> Result<(), StoreError> {
        let mut new = Log::begin(&self.path)?;
        new.load()?;
        let wrong = believed || new.version().entries < self.version().entries;
        new.wrong = self.wrong + u64::from(wrong);
        if let Some(path) = self.index_path.take().filter(|_| new.migrated.is_none()) {
            index::discard(&path);
            new.index_path = Some(path);
            new.save_index();
        }
        *self = new;
        Ok(())
    }

    fn distrust(&mut self, wrong: Wrong) -> Result<(), StoreError> {
        // Heads from undamaged blocks were right, unless the index is forged.
        self.begin_again(self.trust == Trust::Told && wrong == Wrong::Lies)
    }

    fn size(&self) -> Result<u64, StoreError> {
        Ok(self.file.metadata().map_err(StoreError::io("read the metadata of", &self.path))?.len())
    }

    /// Migrates a file of an old version in memory.
    fn migrate(&mut self) -> Result<(), StoreError> {
        self.index_path = None;
        let mut lines = Vec::new();
        let mut reader = LineReader::new(&self.file, 0);
        while let Some(line) = reader.next().map_err(StoreError::io("read", &self.path))? {
            self.reached.covered = line.offset + line.bytes.len() as u64 + u64::from(line.ended);
            lines.push(line.bytes.to_vec());
        }
        let borrowed: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
        let lines = osier_tree::migrate::migrate(&self.header, &borrowed);
        let mut heads = Heads::default();
        let mut card = CardFold::new(self.blank_card());
        self.reached.odd = 0;
        for (number, line) in lines.iter().enumerate() {
            match read(line) {
                Read::Entry(entry) => {
                    let seq = heads.append(&entry, number as u64, line.len() as u32);
                    card.feed(&entry, seq, &heads);
                }
                Read::Odd(_) => self.reached.odd += 1,
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
        Version { generation: self.base.wrapping_add(self.wrong), entries }
    }

    pub(super) fn odd_lines(&self) -> usize {
        self.reached.odd + usize::from(self.reached.torn)
    }

    pub(super) fn blank_card(&self) -> Card {
        let file = Some(self.path.display().to_string());
        Card { file, ..Card::new(&self.header, super::NAME) }
    }

    pub(super) fn size_covered(&self) -> u64 {
        self.reached.covered
    }

    /// All heads in memory. Reads them from the index if necessary.
    pub(super) fn folded(&mut self) -> Result<&mut Heads, StoreError> {
        if let State::Indexed(index) = &self.state {
            match lines::restore(index, &self.file) {
                Ok(heads) => self.state = State::Folded(heads),
                Err(wrong) => self.distrust(wrong)?,
            }
        }
        match &mut self.state {
            State::Folded(heads) => Ok(heads),
            State::Indexed(_) => unreachable!("a log that is read without an index has its heads in memory"),
        }
    }

    pub(super) fn heads(&mut self, after: usize, limit: usize) -> Result<Vec<Head>, StoreError> {
        if let State::Indexed(index) = &self.state {
            match index.heads(after, limit) {
                Ok(heads) => {
                    self.trust = Trust::Told;
                    return Ok(heads);
                }
                Err(wrong) => self.distrust(wrong)?,
            }
        }
        Ok(self.shared_heads()?.from(after).take(limit).map(|(_, head)| *head).collect())
    }

    pub(super) fn shared_heads(&mut self) -> Result<Heads, StoreError> {
        let heads = self.folded()?.clone();
        if self.trust == Trust::Claimed {
            self.trust = Trust::Told;
        }
        Ok(heads)
    }
}
