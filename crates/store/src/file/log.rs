//! One session file: reads it, follows its growth, and appends to it.
//!
//! Reading never writes to the file. An append is one `write` of complete lines under a lock that is held for that
//! write only. Written lines never change and are never cut off: a torn line stays, and the next append starts a new
//! line.

mod append;
mod caching;
mod follow;
mod head_check;
mod header;
mod indexed_heads;
mod lines;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use osier_tree::entry::{ParsedLine, parse_line};
use osier_tree::projection::card::{Card, CardFold};
use osier_tree::{Head, Header, Heads, Seq};

use super::file_identity::FileIdentity;
use super::index::{self, Index, IndexError, IndexHeader};
use super::preview_writer::PreviewWriter;
use super::reader::LineReader;
use crate::batch::LineBatch;
use crate::error::StoreError;
use crate::store::LogVersion;
pub(super) use append::{LockAttempt, WriteFn};
use follow::ReadLimit;
use header::FoundHeader;
pub(super) use header::{find_header, open_to_read};
use indexed_heads::IndexedHeads;

/// Reading a smaller log is faster than maintaining an index.
const MIN_INDEXED_BYTES: u64 = 128 << 10;

/// How many bytes before the end of the read part are remembered.
const TAIL_BYTES: u64 = 32;

/// An open session file. It has many fields because it remembers what it read, to read only what is new.
#[derive(Debug)]
pub(super) struct LogFile {
    pub(super) path: PathBuf,
    pub(super) file: File,
    writer: Option<File>,
    pub(super) identity: FileIdentity,
    /// The first generation of this file with this header.
    base_generation: u64,
    /// How often earlier answers turned out to be wrong. Added to `base_generation`.
    reload_count: u64,
    pub(super) header: Header,
    /// The header line in the file.
    found_header: FoundHeader,
    heads_source: HeadsSource,
    /// The source of the heads in memory that are read when they are needed.
    indexed_heads: Option<Arc<IndexedHeads>>,
    trust: HeadsTrust,
    index_path: Option<PathBuf>,
    /// The header of the index file on disk.
    saved_index: Option<IndexHeader>,
    read_state: ReadState,
    /// The migrated lines of a file of an old version. Such a file is replaced before the first append.
    pub(super) migrated: Option<Vec<Vec<u8>>>,
    pub(super) card: Option<CardFold>,
    /// The previews of all entries read so far, if they were requested before the log was read.
    pub(super) preview_writer: Option<PreviewWriter>,
    unsynced: bool,
}

#[derive(Debug)]
enum HeadsSource {
    /// Heads are read from the index and not kept in memory.
    Indexed(Index),
    InMemory(Heads),
}

/// Where the heads of a log come from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum HeadsTrust {
    /// From the lines.
    FromLines,
    /// From an index, which may be wrong.
    FromIndex,
    /// From an index, and a caller has received some of them.
    ReturnedFromIndex,
}

/// How far a file was read.
#[derive(Debug, Default)]
struct ReadState {
    /// The end of the read part. Nothing, a torn line, or lines of other writers follow.
    end: u64,
    /// Whether the last entry is a complete line without a newline.
    unterminated: bool,
    /// The number of lines that are not valid entries.
    invalid_lines: usize,
    /// Whether a torn line follows.
    torn: bool,
    /// The last bytes before `end`.
    tail: Vec<u8>,
}

impl LogFile {
    pub(super) fn open(path: &Path, index_path: Option<PathBuf>) -> Result<LogFile, StoreError> {
        LogFile::open_with_previews(path, index_path, None)
    }

    /// Like `open`. If the whole log must be read, also makes its previews, for a cache at `previews`.
    pub(super) fn open_with_previews(
        path: &Path,
        index_path: Option<PathBuf>,
        previews: Option<PathBuf>,
    ) -> Result<LogFile, StoreError> {
        let mut log = LogFile::open_header_only(path)?;
        log.index_path = index_path;
        log.load(previews.as_deref())?;
        Ok(log)
    }

    /// Opens the file and builds its card by reading it once. Uses no index and writes none.
    pub(super) fn open_with_card(path: &Path) -> Result<LogFile, StoreError> {
        let mut log = LogFile::open_header_only(path)?;
        if log.header.version < osier_tree::header::FORMAT_VERSION {
            log.migrate()?;
        } else {
            log.card = Some(CardFold::new(log.blank_card()));
            log.read_appended(ReadLimit::End)?;
        }
        Ok(log)
    }

    /// Opens the file and reads only its header.
    fn open_header_only(path: &Path) -> Result<LogFile, StoreError> {
        let file = open_to_read(path)?;
        let stamp = FileIdentity::from_metadata(
            &file.metadata().map_err(StoreError::io("read the metadata of", path))?,
        );
        let found = find_header(path, &file)?;
        Ok(LogFile {
            path: path.to_owned(),
            file,
            writer: None,
            identity: stamp,
            base_generation: stamp.generation() ^ index::hash(&found.line),
            reload_count: 0,
            header: found.header.clone(),
            found_header: found,
            heads_source: HeadsSource::InMemory(Heads::default()),
            indexed_heads: None,
            trust: HeadsTrust::FromLines,
            index_path: None,
            saved_index: None,
            read_state: ReadState::default(),
            migrated: None,
            card: None,
            preview_writer: None,
            unsynced: false,
        })
    }

    fn load(&mut self, previews: Option<&Path>) -> Result<(), StoreError> {
        if self.header.version < osier_tree::header::FORMAT_VERSION {
            return self.migrate();
        }
        if self.size()? < MIN_INDEXED_BYTES {
            self.index_path = None;
            self.card = Some(CardFold::new(self.blank_card()));
        }
        self.load_index()?;
        if self.saved_index.is_none() && self.is_worth_caching() {
            self.preview_writer = previews.and_then(|path| PreviewWriter::create(path).ok());
        }
        if self.size()? > self.read_state.end {
            self.read_appended(ReadLimit::End)?;
        }
        self.save_index();
        Ok(())
    }

    /// Loads the index, if it is valid so far.
    fn load_index(&mut self) -> Result<(), StoreError> {
        let Some(index) = self.index_path.as_ref().and_then(|path| Index::open(path, &self.file)) else {
            return Ok(());
        };
        let header = index.header;
        let grown = header.size < self.size()?;
        // The leaf of the log depends on the last entry, so check that entry now.
        let last = Seq::new(header.entries as usize - 1);
        let stands = lines::checked_lines(&index, &self.file, &[last], &mut LineBatch::default());
        if stands.is_err() || grown && !header.regular {
            return Ok(());
        }
        self.heads_source = match grown || !header.in_order {
            false => HeadsSource::Indexed(index),
            // All heads are needed, or can only be checked together.
            true => match lines::restore_heads(&index, &self.file) {
                Ok(heads) => HeadsSource::InMemory(heads),
                Err(_) => return Ok(()),
            },
        };
        self.trust = HeadsTrust::FromIndex;
        self.saved_index = Some(header);
        self.read_state = ReadState {
            end: header.size,
            unterminated: header.unterminated,
            invalid_lines: header.invalid_lines as usize,
            ..ReadState::default()
        };
        self.remember_tail()
    }

    /// Reads the file again from the start. If callers may have received wrong data, starts a new generation.
    fn reload(&mut self, believed: bool) -> Result<(), StoreError> {
        let mut new = LogFile::open_header_only(&self.path)?;
        new.load(None)?;
        let wrong = believed || new.version().entries < self.version().entries;
        new.reload_count = self.reload_count + u64::from(wrong);
        if let Some(path) = self.index_path.take().filter(|_| new.migrated.is_none()) {
            index::remove_cache(&path);
            new.index_path = Some(path);
            new.save_index();
        }
        *self = new;
        Ok(())
    }

    fn discard_index(&mut self, wrong: IndexError) -> Result<(), StoreError> {
        tracing::info!(file = %self.path.display(), "the index does not match the log; reading the log again");
        // Heads from undamaged blocks were right, unless the index is forged.
        self.reload(self.trust == HeadsTrust::ReturnedFromIndex && wrong == IndexError::Inconsistent)
    }

    fn size(&self) -> Result<u64, StoreError> {
        Ok(self.file.metadata().map_err(StoreError::io("read the metadata of", &self.path))?.len())
    }

    /// Migrates a file of an old version in memory.
    fn migrate(&mut self) -> Result<(), StoreError> {
        self.index_path = None;
        let mut lines = Vec::new();
        let mut reader = LineReader::new(&self.file, 0);
        while let Some(line) = reader.next_line().map_err(StoreError::io("read", &self.path))? {
            self.read_state.end = line.offset + line.bytes.len() as u64 + u64::from(line.has_newline);
            lines.push(line.bytes.to_vec());
        }
        let borrowed: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
        let lines = osier_tree::migrate::migrate(&self.header, &borrowed);
        let mut heads = Heads::default();
        let mut card = CardFold::new(self.blank_card());
        self.read_state.invalid_lines = 0;
        for (number, line) in lines.iter().enumerate() {
            match parse_line(line) {
                ParsedLine::Entry(entry) => {
                    let seq = heads.append(&entry, number as u64, line.len() as u32);
                    card.feed(&entry, seq, &heads);
                }
                ParsedLine::Invalid(_) => self.read_state.invalid_lines += 1,
                ParsedLine::Header(_) | ParsedLine::Blank => {}
            }
        }
        heads.settle();
        self.heads_source = HeadsSource::InMemory(heads);
        self.card = Some(card);
        self.migrated = Some(lines);
        Ok(())
    }

    pub(super) fn version(&self) -> LogVersion {
        let entries = match &self.heads_source {
            HeadsSource::Indexed(index) => index.header.entries as usize,
            HeadsSource::InMemory(heads) => heads.len(),
        };
        LogVersion { generation: self.base_generation.wrapping_add(self.reload_count), entries }
    }

    pub(super) fn invalid_lines(&self) -> usize {
        self.read_state.invalid_lines + usize::from(self.read_state.torn)
    }

    pub(super) fn blank_card(&self) -> Card {
        let file = Some(self.path.display().to_string());
        Card { file, ..Card::new(&self.header, super::DEFAULT_NAME) }
    }

    pub(super) fn bytes_read(&self) -> u64 {
        self.read_state.end
    }

    /// Leaves the heads of a complete index there until they are needed.
    fn use_indexed_heads(&mut self) -> Result<(), StoreError> {
        let log = self.file.try_clone().map_err(StoreError::io("read", &self.path))?;
        let empty = HeadsSource::InMemory(Heads::default());
        if let HeadsSource::Indexed(index) = std::mem::replace(&mut self.heads_source, empty) {
            let stored = Arc::new(IndexedHeads::new(index, log));
            self.heads_source = HeadsSource::InMemory(Heads::from_stored(stored.clone()));
            self.indexed_heads = Some(stored);
        }
        // The last heads were read.
        self.check_indexed_heads()
    }

    /// What is wrong with the index that heads in memory are read from, as far as it was read.
    fn index_error(&self) -> Option<IndexError> {
        self.indexed_heads.as_ref().and_then(|heads| heads.error())
    }

    /// Reads the log if the index turned out to be wrong.
    fn check_indexed_heads(&mut self) -> Result<(), StoreError> {
        self.index_error().map_or(Ok(()), |wrong| self.discard_index(wrong))
    }

    /// All heads. Those of a complete index are read when they are needed, the others are in memory.
    pub(super) fn load_heads(&mut self) -> Result<&mut Heads, StoreError> {
        self.check_indexed_heads()?;
        if let HeadsSource::Indexed(index) = &self.heads_source {
            match index.header.complete {
                true => self.use_indexed_heads()?,
                false => match lines::restore_heads(index, &self.file) {
                    Ok(heads) => self.heads_source = HeadsSource::InMemory(heads),
                    Err(wrong) => self.discard_index(wrong)?,
                },
            }
        }
        match &mut self.heads_source {
            HeadsSource::InMemory(heads) => Ok(heads),
            HeadsSource::Indexed(_) => {
                unreachable!("a log that is read without an index has its heads in memory")
            }
        }
    }

    pub(super) fn heads(&mut self, after: usize, limit: usize) -> Result<Vec<Head>, StoreError> {
        if let HeadsSource::Indexed(index) = &self.heads_source {
            match index.heads(after, limit) {
                Ok(heads) => {
                    self.trust = HeadsTrust::ReturnedFromIndex;
                    return Ok(heads);
                }
                Err(wrong) => self.discard_index(wrong)?,
            }
        }
        Ok(self.shared_heads()?.iter_from(after).take(limit).map(|(_, head)| *head).collect())
    }

    pub(super) fn has_heads_in_memory(&self) -> bool {
        matches!(self.heads_source, HeadsSource::InMemory(_))
    }

    pub(super) fn shared_heads(&mut self) -> Result<Heads, StoreError> {
        let heads = self.load_heads()?.clone();
        if self.trust == HeadsTrust::FromIndex {
            self.trust = HeadsTrust::ReturnedFromIndex;
        }
        Ok(heads)
    }
}
