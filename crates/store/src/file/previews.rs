//! A cache of previews: the one-line text of each entry, after a header line that identifies the log. Read only when
//! a tree is drawn or searched.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use osier_tree::projection::preview::Previews;
use osier_tree::{Heads, MessageRole, Seq};
use serde::{Deserialize, Serialize};

use super::file_identity::{FileIdentity, modified_nanos};
use super::index::hash;
use super::log::LogFile;
use super::preview_writer::PreviewWriter;
use crate::batch::LineBatch;
use crate::error::StoreError;
use crate::preview_texts::{PreviewTexts, WINDOW_BYTES};

/// Increment this when the preview of an entry changes.
const FORMAT_VERSION: u32 = 7;

/// Up to one entry in this many may be missing in the cache. Making a few previews again costs less than writing all of them after
/// each entry.
const MISSING_SHARE: usize = 64;

/// The maximum length of the header line.
pub(super) const MAX_HEADER_BYTES: usize = 1024;

/// The log that cached previews were made from, and their checksum.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PreviewHeader {
    form: u32,
    device: u64,
    inode: u64,
    born: u64,
    entries: usize,
    /// The size and modification time of the log.
    size: u64,
    changed: i64,
    /// The hash of the last entry's line.
    last: u64,
    sum: u64,
}

impl LogFile {
    /// The previews of all entries: the cached ones at `path`, and the missing ones made from the lines.
    pub(super) fn previews(&mut self, path: Option<&Path>) -> Result<PreviewTexts, StoreError> {
        let path = path.filter(|_| self.is_worth_caching());
        let kept = path.and_then(|path| self.load_previews(path)).unwrap_or_default();
        if kept.len() == self.version().entries {
            return Ok(kept);
        }
        if let Some(path) = path.filter(|_| kept.is_empty())
            && let Some(texts) = self.write_previews(path)?
        {
            return Ok(texts);
        }
        let mut texts = kept.into_memory().unwrap_or_default();
        let cached = texts.len();
        let heads = self.load_heads()?.clone();
        self.build_missing_previews(&heads, &mut texts)?;
        let is_outdated = (texts.len() - cached) * MISSING_SHARE > cached;
        if let Some(path) = path.filter(|_| heads.is_regular() && is_outdated) {
            // If the cache cannot be written, the next caller makes the previews again.
            if let Err(error) = self.save_previews(path, &texts) {
                tracing::debug!(%error, "cannot write the cache of previews");
            }
        }
        Ok(texts)
    }

    /// Writes the previews of all entries to a cache file. `None` if that fails, or if the log grew.
    fn write_previews(&mut self, path: &Path) -> Result<Option<PreviewTexts>, StoreError> {
        let entries = self.version().entries;
        let writer = match self.preview_writer.take().filter(|writer| writer.len() == entries) {
            Some(writer) => Ok(writer),
            None => self.read_previews(path)?,
        };
        let finished = writer.and_then(|writer| {
            if writer.len() != self.version().entries {
                return Err(io::Error::other("the log was read again"));
            }
            let is_regular = self.load_heads().is_ok_and(|heads| heads.is_regular());
            writer.finish(|sum| self.preview_header(entries, sum).filter(|_| is_regular))
        });
        // If the cache cannot be written, the previews are made in memory.
        Ok(finished.inspect_err(|error| tracing::debug!(%error, "cannot write the cache of previews")).ok())
    }

    /// Makes the previews of all entries from their lines.
    fn read_previews(&mut self, path: &Path) -> Result<io::Result<PreviewWriter>, StoreError> {
        let mut writer = match PreviewWriter::create(path) {
            Ok(writer) => writer,
            Err(error) => return Ok(Err(error)),
        };
        let all: Vec<Seq> = (0..self.version().entries).map(Seq::new).collect();
        let mut written = Ok(());
        self.for_each_line(&all, |line| {
            if written.is_ok() {
                written = writer.push_line(line);
            }
        })?;
        Ok(written.map(|()| writer))
    }

    fn build_missing_previews(&mut self, heads: &Heads, texts: &mut PreviewTexts) -> Result<(), StoreError> {
        let mut previews = Previews::new(None);
        let from = texts.len();
        self.for_each_line(&calling_messages(heads, from), |line| {
            PreviewTexts::default().push_line(&mut previews, line);
        })?;
        let rest: Vec<Seq> = (from..heads.len()).map(Seq::new).collect();
        self.for_each_line(&rest, |line| texts.push_line(&mut previews, line))
    }

    fn for_each_line(&mut self, seqs: &[Seq], mut f: impl FnMut(&[u8])) -> Result<(), StoreError> {
        let mut batch = LineBatch::default();
        let mut rest = seqs;
        while !rest.is_empty() {
            self.lines(rest, &mut batch)?;
            batch.iter().for_each(&mut f);
            rest = &rest[batch.len().max(1)..];
        }
        Ok(())
    }

    /// The hash of the line of entry number `entries`.
    fn last_hash(&mut self, entries: usize) -> Option<u64> {
        let head = *self.heads(entries.checked_sub(1)?, 1).ok()?.first()?;
        let mut line = vec![0; head.len as usize];
        self.file.read_exact_at(&mut line, head.offset).ok()?;
        Some(hash(&line))
    }

    fn load_previews(&mut self, path: &Path) -> Option<PreviewTexts> {
        let file = super::file_identity::open_cache(path)?;
        let mut head = vec![0; MAX_HEADER_BYTES];
        let read = file.read_at(&mut head, 0).ok()?;
        let start = memchr::memchr(b'\n', &head[..read])? + 1;
        let header: PreviewHeader = serde_json::from_slice(&head[..start]).ok()?;
        let metadata = self.file.metadata().ok()?;
        let grown = header.size < metadata.len();
        let untouched = grown || header.size == metadata.len() && header.changed == modified_nanos(&metadata);
        let possible = header.form == FORMAT_VERSION && header.identity() == self.identity && untouched;
        if !possible || header.entries > self.version().entries {
            return None;
        }
        let (ends, sum) = line_ends(&file, start as u64)?;
        let whole = sum == header.sum && ends.len() == header.entries;
        let same = whole && self.last_hash(header.entries) == Some(header.last);
        same.then(|| PreviewTexts::from_file(file, start as u64, ends))
    }

    fn save_previews(&mut self, path: &Path, texts: &PreviewTexts) -> io::Result<()> {
        let sum = texts.as_bytes().chunks(WINDOW_BYTES).fold(0, add_checksum);
        let Some(header) = self.preview_header(texts.len(), sum) else { return Ok(()) };
        let folder = path.parent().unwrap_or(Path::new("."));
        super::names::make_folder(folder)?;
        let mut file = tempfile::Builder::new().prefix(".previews-").tempfile_in(folder)?;
        file.write_all(&header)?;
        file.write_all(b"\n")?;
        file.write_all(texts.as_bytes())?;
        file.persist(path)?;
        Ok(())
    }

    /// The header line of a cache with this many entries and this checksum.
    fn preview_header(&mut self, entries: usize, sum: u64) -> Option<Vec<u8>> {
        let last = self.last_hash(entries)?;
        let FileIdentity { device, inode, created: born } = self.identity;
        let (size, changed) = (self.bytes_read(), modified_nanos(&self.file.metadata().ok()?));
        let header =
            PreviewHeader { form: FORMAT_VERSION, device, inode, born, entries, size, changed, last, sum };
        serde_json::to_vec(&header).ok()
    }
}

impl PreviewHeader {
    fn identity(&self) -> FileIdentity {
        FileIdentity { device: self.device, inode: self.inode, created: self.born }
    }
}

/// The ends of the lines of a file, starting at `start`, and the checksum of that part.
fn line_ends(file: &File, start: u64) -> Option<(Vec<u32>, u64)> {
    let (mut ends, mut sum, mut at) = (Vec::new(), 0, start);
    let mut window = vec![0; WINDOW_BYTES];
    loop {
        let mut filled = 0;
        while filled < WINDOW_BYTES {
            match file.read_at(&mut window[filled..], at + filled as u64).ok()? {
                0 => break,
                more => filled += more,
            }
        }
        if filled == 0 {
            return Some((ends, sum));
        }
        sum = add_checksum(sum, &window[..filled]);
        for end in memchr::memchr_iter(b'\n', &window[..filled]) {
            ends.push(u32::try_from(at + end as u64).ok()?);
        }
        at += filled as u64;
    }
}

pub(super) fn add_checksum(sum: u64, window: &[u8]) -> u64 {
    sum.rotate_left(5) ^ hash(window)
}

/// Messages before `from` with tool calls whose results come after it: the preview of a result shows its call.
fn calling_messages(heads: &Heads, from: usize) -> Vec<Seq> {
    let answers = heads.iter_from(from).filter(|(_, head)| head.role == MessageRole::ToolResult);
    let caller =
        |(seq, _)| heads.ancestors(Some(seq)).find(|above| heads.get(*above).role == MessageRole::Assistant);
    let mut callers: Vec<Seq> = answers.filter_map(caller).filter(|seq| seq.index() < from).collect();
    callers.sort();
    callers.dedup();
    callers
}
