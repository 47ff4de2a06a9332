//! Reads a file without any cache and reports every problem in it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use osier_tree::entry::{Odd, Read, flag, read, read_entry};
use osier_tree::{Header, Kind, Seq, SessionTree, header, migrate};
use serde::Serialize;

use super::log::{find_header, open_to_read};
use super::reader::LineReader;
use crate::error::StoreError;

/// A problem in a session file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Oddity {
    /// The line number, starting at 1.
    pub line: usize,
    /// Whether data is lost or contradictory. Otherwise the problem is harmless.
    pub damage: bool,
    pub what: String,
}

/// The result of verifying a file.
#[derive(Debug)]
pub struct Verified {
    pub header: Header,
    pub tree: SessionTree,
    pub oddities: Vec<Oddity>,
}

impl Verified {
    pub fn is_sound(&self) -> bool {
        !self.oddities.iter().any(|oddity| oddity.damage)
    }
}

/// Verifies a session file. Uses no cache.
pub fn verify(path: &Path) -> Result<Verified, StoreError> {
    let file = open_to_read(path)?;
    let header = find_header(path, &file)?.header;
    let mut found = Finding::default();
    if header.version < header::VERSION {
        found.migrated(path, &file, &header)?;
    } else {
        found.lines(path, &file)?;
        found.structure(&|head| {
            let mut line = vec![0; head.len as usize];
            file.read_exact_at(&mut line, head.offset).ok().map(|()| line)
        });
    }
    found.oddities.sort_by_key(|oddity| oddity.line);
    Ok(Verified { header, tree: found.tree, oddities: found.oddities })
}

#[derive(Default)]
struct Finding {
    tree: SessionTree,
    /// The line number of each entry.
    places: Vec<usize>,
    oddities: Vec<Oddity>,
}

impl Finding {
    fn note(&mut self, line: usize, damage: bool, what: impl Into<String>) {
        self.oddities.push(Oddity { line, damage, what: what.into() });
    }

    fn lines(&mut self, path: &Path, file: &File) -> Result<(), StoreError> {
        let (mut number, mut headers) = (0, 0);
        let mut heads = Vec::new();
        let mut reader = LineReader::new(file, 0);
        while let Some(line) = reader.next().map_err(StoreError::io("read", path))? {
            number += 1;
            match read(line.bytes) {
                Read::Entry(entry) => {
                    self.places.push(number);
                    self.tree.append_unsettled(&entry, line.offset, line.bytes.len() as u32);
                    if !line.ended {
                        self.note(number, false, "the last line has no newline; the next append adds it");
                    }
                }
                Read::Header(_) => {
                    headers += 1;
                    heads.push(number);
                }
                Read::Blank => self.note(number, false, "an empty line"),
                Read::Odd(odd) => self.odd(number, odd, line.ended),
            }
        }
        self.tree.settle();
        for number in heads.into_iter().skip(1) {
            self.note(
                number,
                false,
                format!("extra header ({headers} in total); only the first one is used"),
            );
        }
        Ok(())
    }

    fn odd(&mut self, number: usize, odd: Odd, ended: bool) {
        let what = match odd {
            Odd::NotJson if !ended => "a torn line at the end; the next append starts a new line",
            Odd::NotJson => "not JSON: torn or damaged",
            Odd::NotAnObject => "JSON, but not an object",
            Odd::NoId => "an object without an id",
        };
        self.note(number, true, what);
    }

    fn migrated(&mut self, path: &Path, file: &File, header: &Header) -> Result<(), StoreError> {
        let mut lines = Vec::new();
        let mut reader = LineReader::new(file, 0);
        while let Some(line) = reader.next().map_err(StoreError::io("read", path))? {
            lines.push(line.bytes.to_vec());
        }
        let borrowed: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
        let what = format!(
            "version {}: read as version 3; the first append rewrites the file as version 3",
            header.version
        );
        self.note(1, false, what);
        let migrated = migrate::migrate(header, &borrowed);
        let mut headers = 0;
        for (at, line) in migrated.iter().enumerate() {
            match read(line) {
                Read::Entry(entry) => {
                    self.places.push(at + 1);
                    self.tree.append_unsettled(&entry, at as u64, 0);
                }
                Read::Odd(odd) => self.odd(at + 1, odd, true),
                Read::Header(_) if headers > 0 => {
                    self.note(at + 1, false, "extra header; only the first one is used");
                }
                Read::Header(_) => headers += 1,
                Read::Blank => self.note(at + 1, false, "an empty line"),
            }
        }
        self.tree.settle();
        self.structure(&|head| migrated.get(head.offset as usize).cloned());
        Ok(())
    }

    /// Reports lines that contradict each other or refer to missing entries.
    fn structure(&mut self, line_of: &dyn Fn(&osier_tree::Head) -> Option<Vec<u8>>) {
        let tree = self.tree.clone();
        for (seq, head) in tree.heads().iter() {
            let id = tree.id(seq);
            let mut note = |damage, what: &str| {
                self.note(self.places[seq.index()], damage, format!("{} {id} {what}", word(head.kind)));
            };
            if head.has(flag::SUPERSEDED) {
                note(true, "appears again below; the last one is used");
            }
            if head.has(flag::ORPHAN) {
                note(true, "has a parent that is not in the file; shown as a root");
            }
            if head.has(flag::CUT) {
                note(true, "is in a cycle of parents; shown as a root");
            }
            if head.parent.is_some_and(|parent| parent > seq) {
                note(false, "comes before its parent");
            }
            if head.kind.has_target() && head.target.is_none() && names_target(line_of(head)) {
                note(false, "points to an entry that is not in the file");
            }
            if keeps_nothing(&tree, seq) {
                note(false, "starts keeping at an entry that is not above it; nothing is kept");
            }
            if head.kind == Kind::Unknown {
                note(false, "has an unknown type; it is kept unchanged");
            }
            if head.time().is_none() {
                note(false, "has no valid timestamp");
            }
        }
    }
}

fn word(kind: Kind) -> &'static str {
    if kind == Kind::Compaction { "compaction" } else { "entry" }
}

fn names_target(line: Option<Vec<u8>>) -> bool {
    line.is_some_and(|line| read_entry(&line).is_ok_and(|entry| entry.target.is_some()))
}

fn keeps_nothing(tree: &SessionTree, seq: Seq) -> bool {
    let head = tree.head(seq);
    let kept = head.target.filter(|kept| head.kind == Kind::Compaction && *kept != seq);
    kept.is_some_and(|kept| !tree.heads().is_ancestor(kept, head.parent))
}
