//! Searches the messages of sessions through the cache of texts.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use osier_tree::projection::card::Card;
use osier_tree::search_query::{CardMatcher, MessageMatches, MessageSearch, SearchDetail, SearchQuery};
use osier_tree::text_signature::SignatureBuilder;
use rustc_hash::FxHashMap;

use super::extract::{Extraction, Extractor};
use super::pending::PendingRecords;
use super::record::{Coverage, NewRecord, messages};
use super::{CachedRecord, TextCache};
use crate::error::StoreError;
use crate::file::FileStore;
use crate::file::parallel::map_parallel;

/// New records are appended to the cache as soon as they are this large.
const PENDING_BYTES: usize = 1 << 20;

impl FileStore {
    /// See [`crate::Store::search_messages`]. Returns the results in the order of the cards. Those of a canceled search are
    /// incomplete.
    pub(in crate::file) fn search_blocking(
        &self,
        query: &SearchQuery,
        cards: &[Card],
        detail: SearchDetail,
        is_canceled: &AtomicBool,
    ) -> Vec<Result<MessageMatches, StoreError>> {
        let mut folders: FxHashMap<PathBuf, Vec<(usize, PathBuf)>> = FxHashMap::default();
        let mut results: Vec<Result<MessageMatches, StoreError>> = Vec::with_capacity(cards.len());
        for (at, card) in cards.iter().enumerate() {
            let path = card.file.as_ref().map_or_else(|| self.find_path(&card.id), |file| Ok(file.into()));
            results.push(Ok(MessageMatches::default()));
            match path {
                Ok(path) => {
                    let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
                    folders.entry(folder).or_default().push((at, path));
                }
                Err(StoreError::NotFound { .. }) => {}
                Err(error) => results[at] = Err(error),
            }
        }
        for (folder, files) in folders {
            // Another search in this folder may be adding the texts that this one needs.
            let turn = self.searched_folders.turn(&folder);
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            if is_canceled.load(Ordering::Relaxed) {
                break;
            }
            let cache = TextCache::load(self.texts_path(&folder));
            let new_searcher = || SessionSearcher::new(query, detail, &cache, self.racy_window, is_canceled);
            let search = |searcher: &mut SessionSearcher<'_>, number: usize| {
                let (at, path) = &files[number];
                searcher.search(&cards[*at], path)
            };
            let found = map_parallel(files.len(), new_searcher, search);
            for ((at, _), result) in files.iter().zip(found) {
                results[*at] = result;
            }
            cache.save_space(&folder);
        }
        self.remove_caches_without_logs();
        results
    }
}

/// Searches sessions of one folder, one after another.
struct SessionSearcher<'a> {
    query: &'a SearchQuery,
    detail: SearchDetail,
    cache: &'a TextCache,
    matcher: CardMatcher,
    signatures: Option<SignatureBuilder>,
    buffer: Vec<u8>,
    pending: PendingRecords,
    racy_window: Duration,
    is_canceled: &'a AtomicBool,
}

/// Which part of a log to extract.
#[derive(Debug, Clone, Copy)]
enum ExtractedPart<'c> {
    /// The part after these records, or all lines.
    After(Option<&'c Coverage>),
    WholeLog,
}

impl<'a> SessionSearcher<'a> {
    fn new(
        query: &'a SearchQuery,
        detail: SearchDetail,
        cache: &'a TextCache,
        racy_window: Duration,
        is_canceled: &'a AtomicBool,
    ) -> SessionSearcher<'a> {
        SessionSearcher {
            query,
            detail,
            cache,
            matcher: CardMatcher::default(),
            signatures: None,
            buffer: Vec::new(),
            pending: PendingRecords::default(),
            racy_window,
            is_canceled,
        }
    }

    fn search(&mut self, card: &Card, path: &Path) -> Result<MessageMatches, StoreError> {
        if self.is_canceled.load(Ordering::Relaxed) {
            return Ok(MessageMatches::default());
        }
        match self.search_file(card, path) {
            // The session was deleted.
            Err(StoreError::Vanished { .. }) => Ok(MessageMatches::default()),
            result => result,
        }
    }

    fn search_file(&mut self, card: &Card, path: &Path) -> Result<MessageMatches, StoreError> {
        let metadata = path.metadata().map_err(|error| match error.kind() {
            ErrorKind::NotFound => StoreError::Vanished { path: path.to_owned() },
            _ => StoreError::io("read the metadata of", path)(error),
        })?;
        if let Some((cached, is_complete)) = self.cache.records(path, &metadata)
            && let Some(matches) = self.search_cached(card, path, cached, is_complete)?
        {
            return Ok(matches);
        }
        for part in [ExtractedPart::After(None), ExtractedPart::WholeLog] {
            let mut search = self.new_search(card);
            if self.extract(path, part, &mut search)? != Extraction::NeedsWholeLog {
                return Ok(search.finish());
            }
        }
        Ok(MessageMatches::default())
    }

    /// Searches cached texts, and those of lines that were added later. `None` if the cached texts cannot be used.
    fn search_cached(
        &mut self,
        card: &Card,
        path: &Path,
        cached: &[CachedRecord],
        is_complete: bool,
    ) -> Result<Option<MessageMatches>, StoreError> {
        let mut search = self.new_search(card);
        let signatures = cached.iter().map(|record| self.cache.signature(record));
        if is_complete && !search.may_match(signatures) {
            return Ok(Some(MessageMatches::default()));
        }
        for record in cached {
            if !search.is_done() && search.needs_text(self.cache.signature(record)) {
                let Some(text) = self.cache.read_text(record, &mut self.buffer) else { return Ok(None) };
                add_messages(&mut search, text);
            }
        }
        if !is_complete {
            let covered = cached.last().map(|last| &last.header.coverage);
            if self.extract(path, ExtractedPart::After(covered), &mut search)? == Extraction::NeedsWholeLog {
                return Ok(None);
            }
        }
        Ok(Some(search.finish()))
    }

    fn new_search(&mut self, card: &Card) -> MessageSearch<'a> {
        MessageSearch::new(self.query, card, self.detail, &mut self.matcher)
    }

    /// Reads a log. Searches each record and saves it as soon as it is complete.
    fn extract(
        &mut self,
        path: &Path,
        part: ExtractedPart<'_>,
        search: &mut MessageSearch<'_>,
    ) -> Result<Extraction, StoreError> {
        let (now, window) = (SystemTime::now(), self.racy_window);
        let (cache, pending) = (self.cache, &mut self.pending);
        let mut use_record = |record: &NewRecord| {
            if search.needs_text(&record.signature) {
                add_messages(search, &record.text);
            }
            // The records of a log that has just changed are used now, but not saved.
            if !record.coverage.is_racy(now, window) {
                pending.push(path, record);
                if pending.size() > PENDING_BYTES {
                    cache.append(&std::mem::take(pending));
                }
            }
        };
        let extractor = Extractor {
            signatures: self.signatures.get_or_insert_default(),
            is_canceled: self.is_canceled,
            use_record: &mut use_record,
        };
        match part {
            ExtractedPart::After(covered) => extractor.extract(path, covered),
            ExtractedPart::WholeLog => extractor.extract_whole_log(path),
        }
    }

    fn save(&mut self) {
        self.cache.append(&std::mem::take(&mut self.pending));
    }
}

/// Adds the messages in the text of a record, until more cannot change the result.
fn add_messages(search: &mut MessageSearch<'_>, text: &[u8]) {
    for message in messages(text) {
        if search.is_done() {
            return;
        }
        search.add(message.id, message.role, message.text);
    }
}

impl Drop for SessionSearcher<'_> {
    fn drop(&mut self) {
        self.save();
    }
}

/// The folders in which searches run. A search that extracts texts makes the others wait, so that no text is extracted
/// twice.
#[derive(Debug, Clone, Default)]
pub(in crate::file) struct SearchedFolders(Arc<Mutex<FxHashMap<PathBuf, Arc<Mutex<()>>>>>);

impl SearchedFolders {
    /// The lock of the search in a folder.
    fn turn(&self, folder: &Path) -> Arc<Mutex<()>> {
        let mut folders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        folders.entry(folder.to_owned()).or_default().clone()
    }
}

/// Cancels a search whose caller no longer waits for it.
#[derive(Debug, Default)]
pub(in crate::file) struct CancelOnDrop(pub(in crate::file) Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::Store;

    /// A store with a session, its folder, and the session's card.
    fn store_with_session(home: &Path) -> (FileStore, PathBuf, Vec<Card>) {
        let folder = home.join("sessions/folder");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.jsonl");
        let message = r#""message":{"role":"user","content":"the cursor"}"#;
        let lines = [
            r#"{"type":"session","version":3,"id":"x","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#
                .to_owned(),
            format!(
                r#"{{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z",{message}}}"#
            ),
        ];
        fs::write(&path, lines.map(|line| line + "\n").concat()).unwrap();
        let store = FileStore::new(home.join("sessions"), Some(home.join("cache")));
        let card = Card { file: Some(path.display().to_string()), ..Card::default() };
        (store.with_racy_window(Duration::ZERO), folder, vec![card])
    }

    #[test]
    fn a_search_that_nobody_waits_for_extracts_nothing() {
        let home = tempfile::tempdir().unwrap();
        let (store, folder, cards) = store_with_session(home.path());
        let texts = store.texts_path(&folder).unwrap();
        let query = Arc::new(SearchQuery::parse("cursor").unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let turn = store.searched_folders.turn(&folder);
        let other_search = turn.lock().unwrap();
        {
            let _runtime = runtime.enter();
            let mut search = store.search_messages(&query, &cards, SearchDetail::default());
            let poll = search.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(matches!(poll, Poll::Pending), "it waits for the other search in the folder");
        }
        drop(other_search);
        // Waits for the thread of the search.
        drop(runtime);
        assert!(!texts.exists());
        let found = store.search_blocking(&query, &cards, SearchDetail::default(), &AtomicBool::new(false));
        assert!(found[0].as_ref().unwrap().is_match && texts.exists());
    }
}
