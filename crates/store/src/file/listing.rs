//! A list of sessions: the cards of the files in some folders, read as far as they are asked for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use osier_tree::projection::card::Card;
use osier_tree::time::Millis;

use super::cards::Cards;
use super::names;
use crate::error::StoreError;
use crate::port::{Filter, Page};

/// See the module.
#[derive(Debug)]
pub(super) struct Listing {
    folders: Vec<Folder>,
    /// When each file was written to, whose it is, and where it lies.
    files: Vec<(Millis, usize, PathBuf)>,
    /// How many cards are wanted.
    wanted: usize,
    cards: Vec<Card>,
    unreadable: Vec<String>,
}

#[derive(Debug)]
struct Folder {
    cards: Cards,
    files: Vec<PathBuf>,
}

impl Listing {
    pub(super) fn new(filter: &Filter) -> Listing {
        let wanted = filter.limit.map_or(usize::MAX, |limit| limit.saturating_add(filter.skip));
        Listing { folders: Vec::new(), files: Vec::new(), wanted, cards: Vec::new(), unreadable: Vec::new() }
    }

    /// Adds the files of a folder. `kept` is where their cards lie.
    pub(super) fn add(&mut self, folder: &Path, kept: Option<PathBuf>) -> Result<(), StoreError> {
        let files = names::files_in(folder).map_err(StoreError::io("list", folder))?;
        for path in &files {
            // A file that went away meanwhile is no session any more.
            let Ok(metadata) = path.metadata() else { continue };
            let written = metadata.mtime().saturating_mul(1000).saturating_add(metadata.mtime_nsec() / 1_000_000);
            self.files.push((written, self.folders.len(), path.clone()));
        }
        self.folders.push(Folder { cards: Cards::load(kept), files });
        Ok(())
    }

    /// Reads cards, those of the files written last first, until no other can be among those wanted: nothing is said in a
    /// session after its file was last written.
    pub(super) fn read(&mut self, card_of: impl Fn(&Path, &mut Cards) -> Result<Card, StoreError>) {
        self.files.sort_by_key(|(written, ..)| Reverse(*written));
        let mut latest: BinaryHeap<Reverse<Millis>> = BinaryHeap::new();
        for (written, folder, path) in &self.files {
            let enough = latest.len() >= self.wanted;
            if enough && latest.peek().is_none_or(|Reverse(said)| said > written) {
                break;
            }
            match card_of(path, &mut self.folders[*folder].cards) {
                Ok(card) => {
                    latest.push(Reverse(card.modified));
                    self.cards.push(card);
                }
                Err(error) => self.unreadable.push(error.to_string()),
            }
            if latest.len() > self.wanted {
                latest.pop();
            }
        }
        for folder in &mut self.folders {
            folder.cards.forget_others(&folder.files);
            folder.cards.save(folder.files.len());
        }
    }

    pub(super) fn page(self, filter: &Filter) -> Page {
        let unread = self.files.len() - self.cards.len() - self.unreadable.len();
        let page = filter.page(self.cards, self.unreadable);
        Page { total: page.total + unread, ..page }
    }
}
