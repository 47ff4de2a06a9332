//! Cards kept between runs: one append-only file per folder of sessions, in which the last line about a file counts.
//!
//! A card counts only as long as its file has the inode, the size and the time of change it was made from.

use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use osier_tree::projection::card::Card;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::index::private;

/// A card and what it was made from.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    file: String,
    inode: u64,
    size: u64,
    /// In nanoseconds.
    changed: i64,
    pub(super) card: Card,
}

impl Kept {
    pub(super) fn new(path: &Path, metadata: &Metadata, size: u64, card: Card) -> Kept {
        Kept { file: name_of(path), inode: metadata.ino(), size, changed: changed(metadata), card }
    }

    pub(super) fn counts_for(&self, metadata: &Metadata) -> bool {
        self.inode == metadata.ino() && self.size == metadata.len() && self.changed == changed(metadata)
    }

    /// The file is the same and only grew, so the card can be gone on from.
    pub(super) fn begins(&self, metadata: &Metadata) -> bool {
        self.inode == metadata.ino() && self.size <= metadata.len()
    }
}

fn changed(metadata: &Metadata) -> i64 {
    metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec())
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The cards of one folder.
#[derive(Debug)]
pub(super) struct Cards {
    path: Option<PathBuf>,
    kept: FxHashMap<String, Kept>,
    lines: usize,
    new: Vec<u8>,
}

impl Cards {
    /// `path` is where they lie; without one nothing is kept.
    pub(super) fn load(path: Option<PathBuf>) -> Cards {
        let text = path.as_ref().and_then(|path| fs::read(path).ok()).unwrap_or_default();
        let mut cards = Cards { path, kept: FxHashMap::default(), lines: 0, new: Vec::new() };
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            cards.lines += 1;
            if let Ok(kept) = serde_json::from_slice::<Kept>(line) {
                cards.kept.insert(kept.file.clone(), kept);
            }
        }
        cards
    }

    pub(super) fn get(&self, path: &Path) -> Option<&Kept> {
        self.kept.get(&name_of(path))
    }

    pub(super) fn put(&mut self, kept: Kept) {
        if let Ok(line) = serde_json::to_vec(&kept) {
            self.new.extend_from_slice(&line);
            self.new.push(b'\n');
            self.lines += 1;
        }
        self.kept.insert(kept.file.clone(), kept);
    }

    /// Writes what is new. It is a cache: what cannot be written is worked out again.
    pub(super) fn save(&mut self, live: usize) {
        let Some(path) = self.path.clone() else { return };
        let wasteful = self.lines > 64 + 4 * live;
        let saved = if wasteful { self.rewrite(&path, live) } else { self.add(&path) };
        if saved.is_ok() {
            self.new.clear();
        }
    }

    fn add(&self, path: &Path) -> io::Result<()> {
        if self.new.is_empty() {
            return Ok(());
        }
        path.parent().map_or(Ok(()), super::names::make_folder)?;
        private().append(true).create(true).open(path)?.write_all(&self.new)
    }

    fn rewrite(&mut self, path: &Path, live: usize) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new().prefix(".cards-").tempfile_in(folder)?;
        for kept in self.kept.values() {
            serde_json::to_writer(&mut file, kept)?;
            file.write_all(b"\n")?;
        }
        file.persist(path)?;
        self.lines = live;
        Ok(())
    }

    pub(super) fn forget_others(&mut self, files: &[PathBuf]) {
        let names: rustc_hash::FxHashSet<String> = files.iter().map(|path| name_of(path)).collect();
        self.kept.retain(|name, _| names.contains(name));
    }
}
