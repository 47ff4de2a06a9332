//! Reads the texts of the messages in a log.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use osier_tree::entry::{Entry, ParsedLine, parse_line};
use osier_tree::search_query::{add_to_signature, for_each_searched_text, is_searched};
use osier_tree::text_signature::SignatureBuilder;
use osier_tree::{EntryKind, MessageRole, Seq, SessionTree, header};

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

/// The records of a log, or of the part of it after `start`, which earlier records cover.
///
/// A log with deleted branches is read as a whole: `None` if it has one after `start`.
pub(super) fn extract(
    path: &Path,
    start: u64,
    signatures: &mut SignatureBuilder,
) -> Result<Option<Vec<NewRecord>>, StoreError> {
    let file = open_to_read(path)?;
    let metadata = file.metadata().map_err(StoreError::io("read the metadata of", path))?;
    let coverage = Coverage {
        identity: FileIdentity::from_metadata(&metadata),
        start,
        end: start,
        modified: modified_nanos(&metadata),
        changed: changed_nanos(&metadata),
        checksum: 0,
        can_grow: true,
    };
    let covered = blake3::Hasher::new();
    let mut writer = RecordWriter { coverage, covered, text: Vec::new(), signatures, records: Vec::new() };
    if start == 0 && find_header(path, &file)?.header.version < header::FORMAT_VERSION {
        writer.add_whole_log(path, metadata.len())?;
    } else if !writer.add_lines(path, &file)? {
        if start > 0 {
            return Ok(None);
        }
        writer.restart();
        writer.add_whole_log(path, metadata.len())?;
    }
    Ok(Some(writer.finish()))
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
struct RecordWriter<'b> {
    /// What the record in progress covers.
    coverage: Coverage,
    covered: blake3::Hasher,
    text: Vec<u8>,
    signatures: &'b mut SignatureBuilder,
    records: Vec<NewRecord>,
}

impl RecordWriter<'_> {
    /// Adds the lines from the start of the coverage. Returns false at a deleted branch.
    fn add_lines(&mut self, path: &Path, file: &File) -> Result<bool, StoreError> {
        let mut reader = LineReader::new(file, self.coverage.start);
        while let Some(line) = reader.next_line().map_err(StoreError::io("read", path))? {
            if let ParsedLine::Entry(entry) = parse_line(line.bytes) {
                if matches!(entry.kind, EntryKind::DeleteBranch | EntryKind::RestoreBranch) {
                    return Ok(false);
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
        Ok(true)
    }

    /// Adds the messages of a log that must be read as a whole: of an old version, or with deleted branches.
    fn add_whole_log(&mut self, path: &Path, size: u64) -> Result<(), StoreError> {
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
            is_searched(head.kind, head.role) && !hidden.contains(seq)
        };
        let shown: Vec<Seq> = heads.iter().filter(is_shown).map(|(seq, _)| seq).collect();
        for_each_line(&mut log, &shown, |_, line| {
            if let ParsedLine::Entry(entry) = parse_line(line) {
                self.add_entry(&entry);
            }
        })?;
        (self.coverage.end, self.coverage.can_grow) = (size, false);
        Ok(())
    }

    fn add_entry(&mut self, entry: &Entry<'_>) {
        let is_user = entry.role == MessageRole::User;
        for_each_searched_text(entry, |text| {
            StoredMessage { is_user, id: &entry.id, text }.write(&mut self.text);
            add_to_signature(self.signatures, text);
        });
    }

    fn end_record(&mut self) {
        let coverage = Coverage { checksum: checksum(&self.covered), ..self.coverage };
        self.covered.reset();
        let (signature, text) = (self.signatures.finish(), std::mem::take(&mut self.text));
        self.records.push(NewRecord { coverage, signature, text });
        self.coverage.start = self.coverage.end;
    }

    fn restart(&mut self) {
        self.signatures.finish();
        self.covered.reset();
        self.text.clear();
        self.records.clear();
        (self.coverage.start, self.coverage.end) = (0, 0);
    }

    fn finish(mut self) -> Vec<NewRecord> {
        self.end_record();
        self.records
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
