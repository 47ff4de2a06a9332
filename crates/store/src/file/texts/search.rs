//! Searches the messages of sessions through the cache of texts.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use osier_tree::projection::card::Card;
use osier_tree::search_query::{CardMatcher, MessageMatches, MessageSearch, SearchDetail, SearchQuery};
use osier_tree::text_signature::SignatureBuilder;
use rustc_hash::FxHashMap;

use super::extract::extract;
use super::pending::PendingRecords;
use super::record::{Coverage, NewRecord, messages};
use super::{CachedRecord, TextCache};
use crate::error::StoreError;
use crate::file::FileStore;
use crate::file::parallel::map_parallel;

/// New records are appended to the cache as soon as they are this large.
const PENDING_BYTES: usize = 4 << 20;

impl FileStore {
    /// See [`crate::Store::search_messages`]. Returns the results in the order of the cards.
    pub(in crate::file) fn search_blocking(
        &self,
        query: &SearchQuery,
        cards: &[Card],
        detail: SearchDetail,
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
            let cache = TextCache::load(self.texts_path(&folder));
            let new_searcher = || SessionSearcher::new(query, detail, &cache, self.racy_window);
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
}

/// The texts of a session: cached records, then new ones.
struct SessionTexts<'a> {
    cached: &'a [CachedRecord],
    new: Vec<NewRecord>,
}

impl<'a> SessionSearcher<'a> {
    fn new(
        query: &'a SearchQuery,
        detail: SearchDetail,
        cache: &'a TextCache,
        racy_window: Duration,
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
        }
    }

    fn search(&mut self, card: &Card, path: &Path) -> Result<MessageMatches, StoreError> {
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
        let texts = self.texts(path, &metadata)?;
        if let Some(matches) = self.match_texts(card, &texts) {
            return Ok(matches);
        }
        // A cached text is damaged.
        let texts = SessionTexts { cached: &[], new: self.extract(path, 0)?.unwrap_or_default() };
        Ok(self.match_texts(card, &texts).unwrap_or_default())
    }

    fn texts(&mut self, path: &Path, metadata: &Metadata) -> Result<SessionTexts<'a>, StoreError> {
        if let Some((cached, is_complete)) = self.cache.records(path, metadata) {
            if is_complete {
                return Ok(SessionTexts { cached, new: Vec::new() });
            }
            let Some(Coverage { end, identity, .. }) = cached.last().map(|last| last.header.coverage) else {
                return Ok(SessionTexts { cached, new: Vec::new() });
            };
            let new = self.extract(path, end)?;
            // Another file may have taken its place meanwhile.
            let is_same =
                |new: &Vec<NewRecord>| new.iter().all(|record| record.coverage.identity == identity);
            if let Some(new) = new.filter(is_same) {
                return Ok(SessionTexts { cached, new });
            }
        }
        Ok(SessionTexts { cached: &[], new: self.extract(path, 0)?.unwrap_or_default() })
    }

    fn extract(&mut self, path: &Path, start: u64) -> Result<Option<Vec<NewRecord>>, StoreError> {
        let (now, window) = (SystemTime::now(), self.racy_window);
        let signatures = self.signatures.get_or_insert_default();
        let records = extract(path, start, signatures)?;
        // The records of a log that has just changed are used now, but not saved.
        for record in records.iter().flatten().filter(|record| !record.coverage.is_racy(now, window)) {
            self.pending.push(path, record);
            if self.pending.size() > PENDING_BYTES {
                self.cache.append(&std::mem::take(&mut self.pending));
            }
        }
        Ok(records)
    }

    fn save(&mut self) {
        self.cache.append(&std::mem::take(&mut self.pending));
    }

    /// `None` if a cached text is damaged.
    fn match_texts(&mut self, card: &Card, texts: &SessionTexts<'_>) -> Option<MessageMatches> {
        let mut search = MessageSearch::new(self.query, card, self.detail, &mut self.matcher);
        let cached = texts.cached.iter().map(|record| self.cache.signature(record));
        let signatures = cached.chain(texts.new.iter().map(|record| record.signature.as_slice()));
        if !search.may_match(signatures.clone()) {
            return Some(MessageMatches::default());
        }
        for (at, signature) in signatures.enumerate() {
            if !search.needs_text(signature) {
                continue;
            }
            let text = match at.checked_sub(texts.cached.len()) {
                Some(new) => texts.new[new].text.as_slice(),
                None => self.cache.read_text(&texts.cached[at], &mut self.buffer)?,
            };
            for message in messages(text) {
                search.add(message.id, message.is_user, message.text);
                if search.is_done() {
                    return Some(search.finish());
                }
            }
        }
        Some(search.finish())
    }
}

impl Drop for SessionSearcher<'_> {
    fn drop(&mut self) {
        self.save();
    }
}
