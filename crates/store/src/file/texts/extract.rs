//! Reads the texts of the messages in a log.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use osier_tree::entry::{Entry, ParsedLine, parse_line};
use osier_tree::search_query::{add_to_signature, for_each_searched_text, is_searched};
use osier_tree::text_signature::SignatureBuilder;
use osier_tree::{EntryKind, Seq, SessionTree, header};

use super::record::{Coverage, NewRecord, StoredMessage};
use crate::batch::LineBatch;
use crate::error::StoreError;
use crate::file::file_identity::{FileIdentity, changed_nanos, modified_nanos};
use crate::file::log::{LogFile, find_header, open_to_read};
use crate::file::reader::LineReader;

/// The size of the text of a record. A larger one would have a large signature that excludes few words.
const RECORD_TEXT_BYTES: usize = 256 << 10;

/// How many covered bytes are read at once to compare them.
const CHUNK_BYTES: u64 = 1 << 20;

/// How an extraction ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Extraction {
    Complete,
    /// The log must be read as a whole: it has deleted branches or an old version, or another file took its place. What was
    /// extracted is not valid.
    NeedsWholeLog,
    Canceled,
}

/// Reads messages and passes them on as records, so that only one record is in memory.
pub(super) struct Extractor<'a> {
    pub(super) signatures: &'a mut SignatureBuilder,
    pub(super) is_canceled: &'a AtomicBool,
    /// Gets each record as it ends.
    pub(super) use_record: &'a mut dyn FnMut(&NewRecord),
}

impl<'a> Extractor<'a> {
    /// Reads a log, or the part of it after `covered`, the end of its earlier records.
    pub(super) fn extract(self, path: &Path, covered: Option<&Coverage>) -> Result<Extraction, StoreError> {
        let file = open_to_read(path)?;
        let (mut writer, _) = self.start(path, &file)?;
        if let Some(covered) = covered {
            if covered.identity != writer.coverage.identity {
                return Ok(Extraction::NeedsWholeLog);
            }
            (writer.coverage.start, writer.coverage.end) = (covered.end, covered.end);
        } else if find_header(path, &file)?.header.version < header::FORMAT_VERSION {
            return Ok(Extraction::NeedsWholeLog);
        }
        writer.add_lines(path, &file)
    }

    /// Reads a log that has an old version or deleted branches.
    pub(super) fn extract_whole_log(self, path: &Path) -> Result<Extraction, StoreError> {
        let (mut writer, size) = self.start(path, &open_to_read(path)?)?;
        writer.add_whole_log(path, size)
    }

    /// The writer of the first record, and the size of the file.
    fn start(self, path: &Path, file: &File) -> Result<(RecordWriter<'a>, u64), StoreError> {
        let metadata = file.metadata().map_err(StoreError::io("read the metadata of", path))?;
        // An earlier extraction may have stopped within a record.
        self.signatures.finish();
        let coverage = Coverage {
            identity: FileIdentity::from_metadata(&metadata),
            start: 0,
            end: 0,
            modified: modified_nanos(&metadata),
            changed: changed_nanos(&metadata),
            checksum: 0,
            can_grow: true,
        };
        let writer =
            RecordWriter { coverage, covered: blake3::Hasher::new(), text: Vec::new(), extractor: self };
        Ok((writer, metadata.len()))
    }
}

/// Whether the file still has the bytes that a record covers.
pub(super) fn is_covered(coverage: &Coverage, file: &File) -> io::Result<bool> {
    let (mut covered, mut at) = (blake3::Hasher::new(), coverage.start);
    let mut chunk = Vec::new();
    while at < coverage.end {
        chunk.resize((coverage.end - at).min(CHUNK_BYTES) as usize, 0);
        file.read_exact_at(&mut chunk, at)?;
        covered.update(&chunk);
        at += chunk.len() as u64;
    }
    Ok(checksum(&covered) == coverage.checksum)
}

/// Unlike the hash of the index, it does not depend on how the bytes were divided.
fn checksum(covered: &blake3::Hasher) -> u64 {
    let hash = covered.finalize();
    u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("a hash has more than eight bytes"))
}

/// Collects messages into records.
struct RecordWriter<'a> {
    /// What the record in progress covers.
    coverage: Coverage,
    covered: blake3::Hasher,
    text: Vec<u8>,
    extractor: Extractor<'a>,
}

impl RecordWriter<'_> {
    /// Adds the lines from the start of the coverage.
    fn add_lines(&mut self, path: &Path, file: &File) -> Result<Extraction, StoreError> {
        let mut reader = LineReader::new(file, self.coverage.start);
        while let Some(line) = reader.next_line().map_err(StoreError::io("read", path))? {
            if self.is_canceled() {
                return Ok(Extraction::Canceled);
            }
            if let ParsedLine::Entry(entry) = parse_line(line.bytes) {
                if matches!(entry.kind, EntryKind::DeleteBranch | EntryKind::RestoreBranch) {
                    return Ok(Extraction::NeedsWholeLog);
                }
                self.add_entry(&entry);
            }
            self.covered.update(line.bytes);
            if line.has_newline {
                self.covered.update(b"\n");
            }
            self.coverage.end = line.offset + line.bytes.len() as u64 + u64::from(line.has_newline);
            // Text that follows a line without a newline changes that line.
            self.coverage.can_grow = line.has_newline;
            if self.text.len() >= RECORD_TEXT_BYTES {
                self.end_record();
            }
        }
        self.end_record();
        Ok(Extraction::Complete)
    }

    /// Adds the messages of a log of an old version or with deleted branches.
    fn add_whole_log(&mut self, path: &Path, size: u64) -> Result<Extraction, StoreError> {
        let mut log = LogFile::open(path, None)?;
        let heads = log.load_heads()?.clone();
        let mut marks: Vec<(Seq, Vec<u8>)> = Vec::new();
        let folded: Vec<Seq> =
            heads.iter().filter(|(_, head)| head.kind.folds_body()).map(|(seq, _)| seq).collect();
        for_each_line(&mut log, &folded, |seq, line| marks.push((seq, line.to_vec())))?;
        let marks =
            marks.iter().filter_map(|(seq, line)| Some((*seq, osier_tree::entry::parse_entry(line).ok()?)));
        let hidden = SessionTree::from_heads(heads.clone(), marks).hidden_entries();
        let is_shown = |(seq, head): &(Seq, &osier_tree::Head)| {
            is_searched(head.kind, head.role, head.flags) && !hidden.contains(seq)
        };
        let shown: Vec<Seq> = heads.iter().filter(is_shown).map(|(seq, _)| seq).collect();
        self.coverage.can_grow = false;
        for_each_line(&mut log, &shown, |seq, line| {
            if !self.is_canceled()
                && let ParsedLine::Entry(entry) = parse_line(line)
            {
                self.add_entry(&entry);
            }
            if self.text.len() >= RECORD_TEXT_BYTES {
                // Only all records together are valid. A number of lines is less than the size, which the last one covers.
                self.coverage.end = seq.index() as u64 + 1;
                self.end_record();
            }
        })?;
        if self.is_canceled() {
            return Ok(Extraction::Canceled);
        }
        self.coverage.end = size;
        self.end_record();
        Ok(Extraction::Complete)
    }

    fn is_canceled(&self) -> bool {
        self.extractor.is_canceled.load(Ordering::Relaxed)
    }

    fn add_entry(&mut self, entry: &Entry<'_>) {
        for_each_searched_text(entry, |role, text| {
            StoredMessage { role, id: &entry.id, text }.write(&mut self.text);
            add_to_signature(self.extractor.signatures, text);
        });
    }

    fn end_record(&mut self) {
        let coverage = Coverage { checksum: checksum(&self.covered), ..self.coverage };
        self.covered.reset();
        let (signature, text) = (self.extractor.signatures.finish(), std::mem::take(&mut self.text));
        let record = NewRecord { coverage, signature, text };
        (self.extractor.use_record)(&record);
        // Its memory serves the next record.
        self.text = record.text;
        self.text.clear();
        self.coverage.start = self.coverage.end;
    }
}

fn for_each_line(log: &mut LogFile, seqs: &[Seq], mut f: impl FnMut(Seq, &[u8])) -> Result<(), StoreError> {
    let mut batch = LineBatch::default();
    let mut rest = seqs;
    while !rest.is_empty() {
        log.lines(rest, &mut batch)?;
        rest.iter().zip(batch.iter()).for_each(|(seq, line)| f(*seq, line));
        rest = &rest[batch.len().max(1)..];
    }
    Ok(())
}
