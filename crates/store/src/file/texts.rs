//! A cache of the texts of messages, for searching: one file per folder of sessions, to which records are appended.
//!
//! The records of a session are valid only while its file has the identity, the size and the times that they were made
//! from. If it grew, the part that they cover is compared, and only the new part is parsed. Each record has a signature of its text, so that a search reads only texts
//! that may match, and checksums of both.

mod cache_file;
mod extract;
mod pending;
mod record;
mod search;

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use super::file_identity::{FileIdentity, changed_nanos, modified_nanos, open_cache};
use super::index::private_options;
use super::{FileStore, names};
use cache_file::{IntactRecord, RecordReader, erase_or_remove, lock_unless_replaced, rewrite_path};
use extract::is_covered;
use pending::PendingRecords;
use record::{RecordHeader, file_name};
pub(super) use search::{CancelOnDrop, SearchedFolders};

/// A session with more records than this is read again, if they are small: each record costs a read.
const MAX_SMALL_RECORDS: usize = 16;
const SMALL_RECORD_BYTES: usize = 16 << 10;

/// A smaller file is not rewritten to save space.
const MIN_REWRITE_BYTES: u64 = 1 << 20;

/// A record in the cache file.
#[derive(Debug, Clone)]
struct CachedRecord {
    offset: u64,
    header: RecordHeader,
    /// Where the signature is in [`TextCache::signatures`].
    signature: Range<usize>,
}

/// The cached texts of one folder.
#[derive(Debug)]
struct TextCache {
    path: Option<PathBuf>,
    file: Option<File>,
    /// The records of each session file, in log order.
    sessions: FxHashMap<String, Vec<CachedRecord>>,
    signatures: Vec<u8>,
    /// The end of the last intact record.
    end: u64,
    /// The file after the last append of this process, and its size then. Also guards the appends of its threads.
    appended: Mutex<Option<(FileIdentity, u64)>>,
}

impl TextCache {
    /// Loads what is known about the texts, not the texts. `path` is the cache file; without one nothing is saved.
    fn load(path: Option<PathBuf>) -> TextCache {
        let file = path.as_ref().and_then(|path| open_cache(path));
        let mut cache = TextCache {
            path,
            file: None,
            sessions: FxHashMap::default(),
            signatures: Vec::new(),
            end: 0,
            appended: Mutex::default(),
        };
        if let Some(mut reader) = file.as_ref().and_then(|file| RecordReader::new(file, 0).ok()) {
            while let Some(record) = reader.next_record() {
                cache.add(&record);
            }
            cache.end = reader.offset();
        }
        cache.file = file;
        cache
    }

    fn add(&mut self, record: &IntactRecord<'_>) {
        if record.header.is_erased {
            return;
        }
        let start = self.signatures.len();
        self.signatures.extend_from_slice(record.signature);
        let signature = start..self.signatures.len();
        let cached = CachedRecord { offset: record.offset, header: record.header, signature };
        let records = self.sessions.entry(String::from_utf8_lossy(record.name).into_owned()).or_default();
        if !records.last().is_some_and(|last| last.is_continued_by(&cached)) {
            records.clear();
        }
        records.push(cached);
    }

    /// The records of a file that can be used, and whether they cover all of it.
    fn records(&self, path: &Path, metadata: &Metadata) -> Option<(&[CachedRecord], bool)> {
        let records = self.sessions.get(&file_name(path))?.as_slice();
        let (first, last) = (records.first()?, records.last()?.header.coverage);
        if first.header.coverage.start != 0 || last.identity != FileIdentity::from_metadata(metadata) {
            return None;
        }
        if last.end == metadata.len() {
            let times = (modified_nanos(metadata), changed_nanos(metadata));
            return ((last.modified, last.changed) == times).then_some((records, true));
        }
        let text: usize = records.iter().map(|record| record.header.text_bytes).sum();
        let is_scattered = records.len() > MAX_SMALL_RECORDS && text / records.len() < SMALL_RECORD_BYTES;
        let can_grow = last.end < metadata.len() && last.can_grow && !is_scattered;
        (can_grow && is_unchanged(records, path).unwrap_or(false)).then_some((records, false))
    }

    fn signature(&self, record: &CachedRecord) -> &[u8] {
        &self.signatures[record.signature.clone()]
    }

    /// Reads the text of a record. `None` if it is damaged, or was erased by another process.
    fn read_text<'b>(&self, record: &CachedRecord, buffer: &'b mut Vec<u8>) -> Option<&'b [u8]> {
        buffer.resize(record.header.text_bytes, 0);
        let offset = record.offset + record.header.text_offset();
        self.file.as_ref()?.read_exact_at(buffer, offset).ok()?;
        record.header.matches_text(buffer).then_some(buffer)
    }

    /// Appends records to the file. Errors are ignored: texts that are missing are read again from the log.
    fn append(&self, records: &PendingRecords) {
        let mut known = self.appended.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = self.path.as_ref().filter(|_| !records.is_empty())
            && let Err(error) = self.try_append(path, records, &mut known)
        {
            tracing::debug!(%error, "cannot write the cache of texts");
        }
    }

    fn try_append(
        &self,
        path: &Path,
        records: &PendingRecords,
        known: &mut Option<(FileIdentity, u64)>,
    ) -> io::Result<()> {
        path.parent().map_or(Ok(()), names::make_folder)?;
        let file = private_options().read(true).append(true).create(true).open(path)?;
        let Some(_lock) = lock_unless_replaced(path, &file)? else { return Ok(()) };
        let metadata = file.metadata()?;
        let identity = FileIdentity::from_metadata(&metadata);
        let loaded = self.file.as_ref().and_then(|loaded| loaded.metadata().ok());
        let loaded = loaded.map(|loaded| (FileIdentity::from_metadata(&loaded), self.end));
        let is_this = |(other, _): &(FileIdentity, u64)| *other == identity;
        let (_, end) = known.take().or(loaded).filter(is_this).unwrap_or((identity, 0));
        // A damaged record hides those after it, so it is cut off. Another process may have appended intact ones.
        let mut rest = RecordReader::new(&file, end.min(metadata.len()))?;
        while rest.next_record().is_some() {}
        if !rest.is_at_end() {
            file.set_len(rest.offset())?;
        }
        // A deletion erases texts with the cache locked, after it removed the log. They must not come back.
        let bytes = records.current();
        (&file).write_all(&bytes)?;
        *known = Some((identity, rest.offset() + bytes.len() as u64));
        Ok(())
    }

    /// Rewrites the file if most of it is no longer used, or if the log of a session is gone.
    fn save_space(&self, folder: &Path) {
        let (Some(path), Ok(logs)) = (&self.path, names_in(folder)) else { return };
        let (live, gone): (Vec<_>, Vec<_>) = self.sessions.iter().partition(|(name, _)| logs.contains(*name));
        let records = live.iter().flat_map(|(_, records)| records.iter());
        let live_bytes: u64 = records.map(|record| record.header.record_bytes()).sum();
        let is_wasteful = self.end > MIN_REWRITE_BYTES && self.end > 2 * live_bytes;
        if !is_wasteful && gone.is_empty() {
            return;
        }
        // This search has appended records since the file was loaded.
        if let Err(error) = TextCache::load(Some(path.clone())).rewrite(path, folder) {
            tracing::debug!(%error, "cannot rewrite the cache of texts");
        }
    }

    fn rewrite(&self, path: &Path, folder: &Path) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let Some(_lock) = lock_unless_replaced(path, file)? else { return Ok(()) };
        let (new_path, logs) = (rewrite_path(path), names_in(folder)?);
        let new = private_options().write(true).create(true).truncate(true).open(&new_path)?;
        let mut out = io::BufWriter::new(new);
        let mut record_bytes = Vec::new();
        for (_, records) in self.sessions.iter().filter(|(name, _)| logs.contains(*name)) {
            for record in records {
                record_bytes.resize(record.header.record_bytes() as usize, 0);
                file.read_exact_at(&mut record_bytes, record.offset)?;
                out.write_all(&record_bytes)?;
            }
        }
        out.flush()?;
        fs::rename(new_path, path)
    }
}

impl CachedRecord {
    fn is_continued_by(&self, next: &CachedRecord) -> bool {
        let (coverage, next) = (self.header.coverage, next.header.coverage);
        coverage.identity == next.identity && coverage.end == next.start && next.start > 0
    }
}

/// Whether what the records cover is still in the file: a log can be edited and then grow.
fn is_unchanged(records: &[CachedRecord], path: &Path) -> io::Result<bool> {
    let file = File::open(path)?;
    for record in records {
        if !is_covered(&record.header.coverage, &file)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The names of the files in a folder.
fn names_in(folder: &Path) -> io::Result<FxHashSet<String>> {
    fs::read_dir(folder)?.map(|entry| entry.map(|entry| file_name(&entry.path()))).collect()
}

impl FileStore {
    /// The cache of the texts in a folder. The folder can be outside the store's own.
    fn texts_path(&self, folder: &Path) -> Option<PathBuf> {
        if folder.parent() != Some(&*self.sessions) {
            return self.cache_path(folder, "texts/elsewhere", "texts");
        }
        let name = folder.file_name()?.to_string_lossy().into_owned();
        Some(self.caches.as_ref()?.join("texts").join(format!("{name}.texts")))
    }

    /// Removes the texts of a log that is deleted or replaced from the cache.
    pub(super) fn erase_texts(&self, path: &Path) {
        if let Some(cache) = path.parent().and_then(|folder| self.texts_path(folder)) {
            let erased = file_name(path);
            erase_or_remove(&cache, |name| name == erased);
        }
    }

    /// Removes the caches of folders whose logs were removed without Osier. They contain what the logs contained.
    fn remove_caches_without_logs(&self) {
        let Some(caches) = self.caches.as_ref().filter(|_| self.sessions.is_dir()) else { return };
        for (kind, ending) in [("texts", "texts"), ("cards", "jsonl")] {
            let files = fs::read_dir(caches.join(kind)).into_iter().flatten().flatten();
            let files =
                files.map(|entry| entry.path()).filter(|path| path.extension() == Some(OsStr::new(ending)));
            for cache in files {
                let folder = cache.file_stem().map(|name| self.sessions.join(name)).unwrap_or_default();
                let is_gone = match names_in(&folder) {
                    Ok(logs) => logs.is_empty(),
                    Err(error) => error.kind() == io::ErrorKind::NotFound,
                };
                if is_gone && let Err(error) = fs::remove_file(&cache) {
                    tracing::debug!(%error, "cannot remove a cache");
                }
            }
        }
    }

    /// Removes the texts of a session whose log is gone: an earlier deletion may have been interrupted.
    pub(super) fn erase_texts_without_log(&self, id: &str) {
        if id.contains('/') {
            return self.erase_texts(Path::new(id));
        }
        let Some(folder) = self.caches.as_ref().map(|caches| caches.join("texts")) else { return };
        let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        for cache in files.filter(|path| path.extension() == Some(OsStr::new("texts"))) {
            erase_or_remove(&cache, |name| names::id_from_file_name(OsStr::new(name)) == Some(id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::record::{Coverage, NewRecord};
    use super::*;

    #[test]
    fn texts_of_a_log_that_was_deleted_or_replaced_meanwhile_are_not_saved() {
        let folder = tempfile::tempdir().unwrap();
        let logs = ["kept", "deleted", "replaced"].map(|name| folder.path().join(name));
        let mut pending = PendingRecords::default();
        for log in &logs {
            fs::write(log, "a log").unwrap();
            let identity = FileIdentity::from_metadata(&log.metadata().unwrap());
            let coverage =
                Coverage { identity, start: 0, end: 5, modified: 0, changed: 0, checksum: 0, can_grow: true };
            pending.push(log, &NewRecord { coverage, signature: Vec::new(), text: b"text".to_vec() });
        }
        fs::remove_file(&logs[1]).unwrap();
        let new = folder.path().join("new");
        fs::write(&new, "a log").unwrap();
        fs::rename(&new, &logs[2]).unwrap();
        let path = folder.path().join("cache.texts");
        TextCache::load(Some(path.clone())).append(&pending);
        let saved = TextCache::load(Some(path));
        assert_eq!(saved.sessions.keys().collect::<Vec<_>>(), ["kept"]);
    }
}
