//! One session file: read, followed, and added to.
//!
//! Reading never writes to it. Adding is one `write` of whole lines under a lock that is held for that write only. What was
//! written once is never touched again, and nothing is ever cut off: a torn line stays, and the next one starts below it.

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

/// Logs smaller than this are read faster than an index is kept.
const WORTH_AN_INDEX: u64 = 128 << 10;

/// How many bytes before the place where reading ended are remembered.
const TAIL: u64 = 32;

/// See the module.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) path: PathBuf,
    pub(super) file: File,
    writer: Option<File>,
    pub(super) stamp: Stamp,
    /// A number for this file with this header.
    base: u64,
    /// How often what was told of it turned out to be wrong.
    wrong: u64,
    pub(super) header: Header,
    /// The same as it stands in the file.
    found: FoundHeader,
    state: State,
    trust: Trust,
    index_path: Option<PathBuf>,
    /// What the index file on disk covers.
    indexed: Option<Cover>,
    reached: Reached,
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

/// Where the heads of a log come from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Trust {
    /// From its lines.
    Seen,
    /// From an index, which may be wrong.
    Claimed,
    /// From an index, and somebody was told what it says.
    Told,
}

/// How far a file is read.
#[derive(Debug, Default)]
struct Reached {
    /// Up to here. What follows is nothing, a torn line, or what others appended.
    covered: u64,
    /// The last entry is a whole line without line feed.
    unended: bool,
    /// How many lines are no entries.
    odd: usize,
    /// What follows is a line that nobody ended, and no entry.
    torn: bool,
    /// The last bytes before `covered`.
    tail: Vec<u8>,
}

impl Log {
    pub(super) fn open(path: &Path, index_path: Option<PathBuf>) -> Result<Log, StoreError> {
        let mut log = Log::begin(path)?;
        log.index_path = index_path;
        log.load()?;
        Ok(log)
    }

    /// The log with nothing read but its header.
    fn begin(path: &Path) -> Result<Log, StoreError> {
        let file = open_to_read(path)?;
        let stamp = Stamp::of(&file.metadata().map_err(StoreError::io("look at", path))?);
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

    /// Begins with what the index says, if it can be believed so far.
    fn take_index(&mut self) -> Result<(), StoreError> {
        let Some(index) = self.index_path.as_ref().and_then(|path| Index::open(path, &self.file)) else {
            return Ok(());
        };
        let cover = index.cover;
        let grown = cover.size < self.size()?;
        // Where the log stands hangs on its last entry, so that one is looked at at once.
        let last = Seq::new(cover.entries as usize - 1);
        let stands = lines::proved_lines(&index, &self.file, &[last], &mut Batch::default());
        if stands.is_err() || grown && !cover.regular {
            return Ok(());
        }
        self.state = match grown || !cover.in_order {
            false => State::Indexed(index),
            // These heads are all needed, or only together show that they make sense.
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

    /// Forgets what was told of this file and reads it anew. If somebody may have believed what was wrong, it is another log
    /// from now on.
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
        // What came from undamaged blocks was right, unless somebody forged them.
        self.begin_again(self.trust == Trust::Told && wrong == Wrong::Lies)
    }

    fn size(&self) -> Result<u64, StoreError> {
        Ok(self.file.metadata().map_err(StoreError::io("look at", &self.path))?.len())
    }

    /// Brings a file of an old version to this one, in memory.
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

    /// All heads in memory, read from the index if they are not there yet.
    pub(super) fn folded(&mut self) -> Result<&mut Heads, StoreError> {
        if let State::Indexed(index) = &self.state {
            match lines::restore(index, &self.file) {
                Ok(heads) => self.state = State::Folded(heads),
                Err(wrong) => self.distrust(wrong)?,
            }
        }
        match &mut self.state {
            State::Folded(heads) => Ok(heads),
            State::Indexed(_) => unreachable!("what is read without an index is folded"),
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
