//! Lists sessions: the cards of the files in some folders. Reads only as many as the page needs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use osier_tree::projection::card::Card;
use osier_tree::time::Millis;

use super::cards::{CachedCard, CardCache};
use super::log::LogFile;
use super::parallel::map_parallel;
use super::{FileStore, names};
use crate::error::StoreError;
use crate::store::{SessionFilter, SessionPage};

/// A list of sessions in progress.
#[derive(Debug)]
pub(super) struct Listing {
    folders: Vec<ListedFolder>,
    files: Vec<ListedFile>,
    /// How many cards the page needs.
    wanted: usize,
    cards: Vec<Card>,
    unreadable: Vec<String>,
    /// Whether some files were not read.
    unread: bool,
}

#[derive(Debug)]
struct ListedFolder {
    cards: CardCache,
    files: Vec<PathBuf>,
}

#[derive(Debug)]
struct ListedFile {
    path: PathBuf,
    metadata: Metadata,
    /// The modification time.
    modified: Millis,
    /// The index of its folder.
    folder: usize,
}

/// A card, and what to cache of it if it was not cached.
type LoadedCard = (Card, Option<CachedCard>);

impl Listing {
    pub(super) fn new(filter: &SessionFilter) -> Listing {
        let wanted = filter.limit.map_or(usize::MAX, |limit| limit.saturating_add(filter.skip));
        Listing {
            folders: Vec::new(),
            files: Vec::new(),
            wanted,
            cards: Vec::new(),
            unreadable: Vec::new(),
            unread: false,
        }
    }

    /// Adds the files of a folder. `kept` is the path of its card cache.
    pub(super) fn add_folder(&mut self, folder: &Path, cached: Option<PathBuf>) -> Result<(), StoreError> {
        let files = names::files_in(folder).map_err(StoreError::io("list", folder))?;
        for path in &files {
            let metadata = match path.metadata() {
                Ok(metadata) => metadata,
                // The file was deleted after the folder was read.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => {
                    self.unreadable.push(StoreError::io("read the metadata of", path)(error).to_string());
                    continue;
                }
            };
            let written =
                metadata.mtime().saturating_mul(1000).saturating_add(metadata.mtime_nsec() / 1_000_000);
            let (path, folder) = (path.clone(), self.folders.len());
            self.files.push(ListedFile { path, metadata, modified: written, folder });
        }
        self.folders.push(ListedFolder { cards: CardCache::load(cached), files });
        Ok(())
    }

    /// Reads cards, most recently modified files first, until no other card can be on the page: no entry is newer
    /// than the modification time of its file. Reads several files at once.
    pub(super) fn read_cards(
        &mut self,
        card_of: impl Fn(&Path, &Metadata, &CardCache) -> Result<LoadedCard, StoreError> + Sync,
    ) {
        self.files.sort_by_key(|file| Reverse(file.modified));
        let mut latest: BinaryHeap<Reverse<Millis>> = BinaryHeap::new();
        let mut rest = self.files.as_slice();
        while let Some(next) = rest.first() {
            let missing = self.wanted - latest.len();
            if missing == 0 && latest.peek().is_none_or(|Reverse(said)| *said > next.modified) {
                self.unread = true;
                break;
            }
            // All files that are missing on the page are needed.
            let (batch, others) = rest.split_at(missing.clamp(1, rest.len()));
            rest = others;
            let folders = &self.folders;
            let load = |(): &mut (), number: usize| {
                let ListedFile { path, metadata, folder, .. } = &batch[number];
                card_of(path, metadata, &folders[*folder].cards)
            };
            let loaded = map_parallel(batch.len(), || (), load);
            for (file, card) in batch.iter().zip(loaded) {
                match card {
                    Ok((card, new)) => {
                        latest.push(Reverse(card.modified));
                        self.cards.push(card);
                        new.into_iter().for_each(|new| self.folders[file.folder].cards.insert(new));
                    }
                    Err(error) => self.unreadable.push(error.to_string()),
                }
                if latest.len() > self.wanted {
                    latest.pop();
                }
            }
        }
        for folder in &mut self.folders {
            folder.cards.retain_files(&folder.files);
            folder.cards.save(folder.files.len());
        }
    }

    pub(super) fn into_page(self, filter: &SessionFilter) -> SessionPage {
        let page = filter.paginate(self.cards, self.unreadable);
        SessionPage { has_more: page.has_more || self.unread, ..page }
    }
}

impl FileStore {
    /// The card of a file: the cached one, resumed if the file grew, or built by reading the file.
    pub(super) fn load_card(
        &self,
        path: &Path,
        metadata: &Metadata,
        cards: &CardCache,
    ) -> Result<LoadedCard, StoreError> {
        let cached = cards.get(path);
        if let Some(cached) = cached.filter(|cached| cached.is_current(metadata)) {
            return Ok((cached.card(path), None));
        }
        let mut log = match cached {
            Some(_) => LogFile::open(path, self.index_path(path))?,
            // Without a card to resume from, all lines are needed. An index would not help.
            None => LogFile::open_with_card(path)?,
        };
        let card = build_card(&mut log, cached)?;
        let new = CachedCard::new(path, &log.file, metadata, log.bytes_read(), card.clone());
        Ok((card, new))
    }

    /// The card of an open log.
    pub(super) fn load_open_card(&self, log: &mut LogFile) -> Result<Card, StoreError> {
        let metadata = fs::metadata(&log.path).map_err(StoreError::io("read the metadata of", &log.path))?;
        let cards = CardCache::load(log.path.parent().and_then(|folder| self.cards_path(folder)));
        let cached = cards.get(&log.path);
        if let Some(cached) = cached.filter(|cached| cached.is_current(&metadata)) {
            return Ok(cached.card(&log.path));
        }
        let card = build_card(log, cached)?;
        self.save_card(log);
        Ok(card)
    }

    /// Caches the card of a log that this process wrote to, so that the next list does not read the log.
    pub(super) fn save_card(&self, log: &LogFile) {
        let Some(card) = log.known_card() else { return };
        let (Some(folder), Ok(metadata)) = (log.path.parent(), log.file.metadata()) else { return };
        let mut cards = CardCache::load(self.cards_path(folder));
        if cards.get(&log.path).is_some_and(|cached| cached.is_current(&metadata)) {
            return;
        }
        if let Some(cached) = CachedCard::new(&log.path, &log.file, &metadata, log.bytes_read(), card) {
            cards.insert(cached);
            // A folder outside the store is never listed, so stale cards are removed here.
            let is_elsewhere = folder.parent() != Some(&*self.sessions);
            if is_elsewhere && cards.remove_missing(folder) {
                cards.rewrite_all();
            } else {
                cards.save(cards.len());
            }
        }
    }

    /// Removes the card of a deleted session from the cache.
    pub(super) fn remove_card(&self, path: &Path) {
        let Some(cached) = path.parent().and_then(|folder| self.cards_path(folder)) else { return };
        let mut cards = CardCache::load(Some(cached));
        if cards.remove(path) {
            cards.rewrite_all();
        }
    }
}

fn build_card(log: &mut LogFile, cached: Option<&CachedCard>) -> Result<Card, StoreError> {
    if let Some(card) = log.known_card() {
        return Ok(card);
    }
    if let Some(cached) = cached.filter(|cached| cached.can_resume(&log.file)) {
        let begun = cached.card(&log.path);
        if let Some(card) = log.resume_card(begun)? {
            return Ok(card);
        }
    }
    log.build_card()
}
