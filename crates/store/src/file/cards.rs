//! A cache of cards: one append-only file per folder of sessions. The last line for a session file is the valid one.
//!
//! A card is valid only while its file has the inode, the size and the modification time that the card was made from.
//! Every line starts with the checksum of its rest.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use osier_tree::projection::card::{CARD_VERSION, Card};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::file_identity::modified_nanos;
use super::index::{hash, private_options};

/// How many bytes before the covered end are compared before a card is resumed.
const TAIL_BYTES: u64 = 256;
/// The maximum size of the cache of one folder, enough for 100,000 cards.
const MAX_CACHE_BYTES: u64 = 256 << 20;

/// A card and the state of the file it was made from.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CachedCard {
    /// [`CARD_VERSION`] of the program that wrote it.
    version: u32,
    file: String,
    inode: u64,
    size: u64,
    /// In nanoseconds.
    changed: i64,
    /// The hash of the last covered bytes.
    tail: u64,
    card: Card,
    /// The bits of the card's cost, because decimal digits would not round-trip exactly.
    cost: u64,
}

impl CachedCard {
    /// `size` is the number of bytes that the card covers. `None` if the file cannot be read.
    pub(super) fn new(
        path: &Path,
        file: &File,
        metadata: &Metadata,
        size: u64,
        card: Card,
    ) -> Option<CachedCard> {
        let (tail, cost) = (hash_tail(file, size)?, card.cost.to_bits());
        let (file, inode, changed) = (file_name(path), metadata.ino(), modified_nanos(metadata));
        Some(CachedCard {
            version: CARD_VERSION,
            file,
            inode,
            size,
            changed,
            tail,
            card: Card { cost: 0.0, ..card },
            cost,
        })
    }

    pub(super) fn is_current(&self, metadata: &Metadata) -> bool {
        self.inode == metadata.ino()
            && self.size == metadata.len()
            && self.changed == modified_nanos(metadata)
    }

    /// Whether the file is the same and only grew, so that the card can be resumed.
    pub(super) fn can_resume(&self, file: &File) -> bool {
        let same = file.metadata().is_ok_and(|now| self.inode == now.ino() && self.size < now.len());
        same && hash_tail(file, self.size) == Some(self.tail)
    }

    /// The card for a file at `path`.
    pub(super) fn card(&self, path: &Path) -> Card {
        let (file, cost) = (Some(path.display().to_string()), f64::from_bits(self.cost));
        Card { file, cost, ..self.card.clone() }
    }
}

fn hash_tail(file: &File, size: u64) -> Option<u64> {
    let mut tail = vec![0; size.min(TAIL_BYTES) as usize];
    let from = size - tail.len() as u64;
    file.read_exact_at(&mut tail, from).ok()?;
    Some(hash(&tail))
}

/// Reads the cache if it is a regular file. Limits the size.
fn read_cache(path: &Path) -> Option<Vec<u8>> {
    let file = super::file_identity::open_cache(path)?;
    let mut text = Vec::new();
    file.take(MAX_CACHE_BYTES).read_to_end(&mut text).ok()?;
    Some(text)
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The cards of one folder.
#[derive(Debug)]
pub(super) struct CardCache {
    path: Option<PathBuf>,
    cards: FxHashMap<String, CachedCard>,
    line_count: usize,
    unsaved: Vec<u8>,
}

impl CardCache {
    /// `path` is the cache file; without one nothing is saved.
    pub(super) fn load(path: Option<PathBuf>) -> CardCache {
        let text = path.as_ref().and_then(|path| read_cache(path)).unwrap_or_default();
        let mut cards = CardCache { path, cards: FxHashMap::default(), line_count: 0, unsaved: Vec::new() };
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            cards.line_count += 1;
            if let Some(cached) = read_line(line) {
                cards.cards.insert(cached.file.clone(), cached);
            }
        }
        cards
    }

    pub(super) fn get(&self, path: &Path) -> Option<&CachedCard> {
        self.cards.get(&file_name(path))
    }

    pub(super) fn len(&self) -> usize {
        self.cards.len()
    }

    /// Removes the card of a file. Returns whether there was one.
    pub(super) fn remove(&mut self, path: &Path) -> bool {
        self.cards.remove(&file_name(path)).is_some()
    }

    /// Rewrites the cache with the current cards only.
    pub(super) fn rewrite_all(&mut self) {
        if let Some(path) = self.path.clone() {
            // If that fails, the file still contains removed cards, so it is deleted.
            if self.rewrite(&path, self.cards.len()).is_err() {
                let _ = fs::remove_file(&path);
            }
        }
    }

    pub(super) fn insert(&mut self, cached: CachedCard) {
        self.line_count += usize::from(push_line(&cached, &mut self.unsaved).is_ok());
        self.cards.insert(cached.file.clone(), cached);
    }

    /// Writes the new cards. Errors are ignored: missing cards are computed again.
    pub(super) fn save(&mut self, live: usize) {
        let Some(path) = self.path.clone() else { return };
        let wasteful = self.line_count > 64 + 4 * live;
        let saved = if wasteful { self.rewrite(&path, live) } else { self.append_unsaved(&path) };
        if saved.is_ok() {
            self.unsaved.clear();
        }
    }

    fn append_unsaved(&self, path: &Path) -> io::Result<()> {
        if self.unsaved.is_empty() {
            return Ok(());
        }
        path.parent().map_or(Ok(()), super::names::make_folder)?;
        private_options().append(true).create(true).open(path)?.write_all(&self.unsaved)
    }

    fn rewrite(&mut self, path: &Path, live: usize) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new().prefix(".cards-").tempfile_in(folder)?;
        let mut lines = Vec::new();
        for cached in self.cards.values() {
            push_line(cached, &mut lines)?;
        }
        file.write_all(&lines)?;
        file.persist(path)?;
        self.line_count = live;
        Ok(())
    }

    /// Removes the cards of files that no longer exist. Returns whether there were any.
    pub(super) fn remove_missing(&mut self, folder: &Path) -> bool {
        let before = self.cards.len();
        self.cards.retain(|name, _| folder.join(name).exists());
        self.cards.len() < before
    }

    pub(super) fn retain_files(&mut self, files: &[PathBuf]) {
        let names: rustc_hash::FxHashSet<String> = files.iter().map(|path| file_name(path)).collect();
        self.cards.retain(|name, _| names.contains(name));
    }
}

fn push_line(cached: &CachedCard, lines: &mut Vec<u8>) -> serde_json::Result<()> {
    let json = serde_json::to_vec(cached)?;
    lines.extend_from_slice(format!("{:016x} ", hash(&json)).as_bytes());
    lines.extend_from_slice(&json);
    lines.push(b'\n');
    Ok(())
}

/// `None` if the line is damaged or of another version.
fn read_line(line: &[u8]) -> Option<CachedCard> {
    let (sum, json) = line.split_at_checked(17)?;
    let whole = sum == format!("{:016x} ", hash(json)).as_bytes();
    serde_json::from_slice(json).ok().filter(|cached: &CachedCard| whole && cached.version == CARD_VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_of_another_version_is_not_used() {
        let read = |version| {
            let card = Card::default();
            let file = "a.jsonl".to_owned();
            let cached = CachedCard { version, file, inode: 1, size: 2, changed: 3, tail: 4, card, cost: 0 };
            let mut line = Vec::new();
            push_line(&cached, &mut line).expect("the card is serializable");
            read_line(line.trim_ascii_end())
        };
        assert!(read(CARD_VERSION).is_some());
        assert!(read(CARD_VERSION - 1).is_none());
    }
}
