//! Reads a file without any cache and reports every problem in it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use osier_tree::entry::{InvalidLine, ParsedLine, flag, parse_entry, parse_line};
use osier_tree::{EntryKind, Header, Seq, SessionTree, header, migrate};
use serde::Serialize;

use super::log::{find_header, open_to_read};
use super::reader::LineReader;
use crate::error::StoreError;

/// A problem in a session file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerifyIssue {
    /// The line number, starting at 1.
    pub line: usize,
    /// Whether data is lost or contradictory. Otherwise the problem is harmless.
    pub damage: bool,
    pub what: String,
}

/// The result of verifying a file.
#[derive(Debug)]
pub struct VerifyReport {
    pub header: Header,
    pub tree: SessionTree,
    pub issues: Vec<VerifyIssue>,
}

impl VerifyReport {
    pub fn is_sound(&self) -> bool {
        !self.issues.iter().any(|issue| issue.damage)
    }
}

/// Verifies a session file. Uses no cache.
pub fn verify(path: &Path) -> Result<VerifyReport, StoreError> {
    let file = open_to_read(path)?;
    let header = find_header(path, &file)?.header;
    let mut found = Verifier::default();
    if header.version < header::FORMAT_VERSION {
        found.check_migrated(path, &file, &header)?;
    } else {
        found.check_lines(path, &file)?;
        found.check_structure(&|head| {
            let mut line = vec![0; head.len as usize];
            file.read_exact_at(&mut line, head.offset).ok().map(|()| line)
        });
    }
    found.issues.sort_by_key(|issue| issue.line);
    Ok(VerifyReport { header, tree: found.tree, issues: found.issues })
}

#[derive(Default)]
struct Verifier {
    tree: SessionTree,
    /// The line number of each entry.
    line_numbers: Vec<usize>,
    issues: Vec<VerifyIssue>,
}

impl Verifier {
    fn report(&mut self, line: usize, damage: bool, what: impl Into<String>) {
        self.issues.push(VerifyIssue { line, damage, what: what.into() });
    }

    fn check_lines(&mut self, path: &Path, file: &File) -> Result<(), StoreError> {
        let (mut number, mut headers) = (0, 0);
        let mut heads = Vec::new();
        let mut reader = LineReader::new(file, 0);
        while let Some(line) = reader.next_line().map_err(StoreError::io("read", path))? {
            number += 1;
            match parse_line(line.bytes) {
                ParsedLine::Entry(entry) => {
                    self.line_numbers.push(number);
                    self.tree.append_unsettled(&entry, line.offset, line.bytes.len() as u32);
                    if !line.has_newline {
                        self.report(number, false, "the last line has no newline; the next append adds it");
                    }
                }
                ParsedLine::Header(_) => {
                    headers += 1;
                    heads.push(number);
                }
                ParsedLine::Blank => self.report(number, false, "an empty line"),
                ParsedLine::Invalid(invalid_line) => {
                    self.report_invalid_line(number, invalid_line, line.has_newline);
                }
            }
        }
        self.tree.settle();
        for number in heads.into_iter().skip(1) {
            self.report(
                number,
                false,
                format!("extra header ({headers} in total); only the first one is used"),
            );
        }
        Ok(())
    }

    fn report_invalid_line(&mut self, number: usize, invalid_line: InvalidLine, ended: bool) {
        let what = match invalid_line {
            InvalidLine::NotJson if !ended => "a torn line at the end; the next append starts a new line",
            InvalidLine::NotJson => "not JSON: torn or damaged",
            InvalidLine::NotAnObject => "JSON, but not an object",
            InvalidLine::NoId => "an object without an id",
        };
        self.report(number, true, what);
    }

    fn check_migrated(&mut self, path: &Path, file: &File, header: &Header) -> Result<(), StoreError> {
        let mut lines = Vec::new();
        let mut reader = LineReader::new(file, 0);
        while let Some(line) = reader.next_line().map_err(StoreError::io("read", path))? {
            lines.push(line.bytes.to_vec());
        }
        let borrowed: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
        let what = format!(
            "version {}: read as version 3; the first append rewrites the file as version 3",
            header.version
        );
        self.report(1, false, what);
        let migrated = migrate::migrate(header, &borrowed);
        let mut headers = 0;
        for (at, line) in migrated.iter().enumerate() {
            match parse_line(line) {
                ParsedLine::Entry(entry) => {
                    self.line_numbers.push(at + 1);
                    self.tree.append_unsettled(&entry, at as u64, 0);
                }
                ParsedLine::Invalid(invalid_line) => self.report_invalid_line(at + 1, invalid_line, true),
                ParsedLine::Header(_) if headers > 0 => {
                    self.report(at + 1, false, "extra header; only the first one is used");
                }
                ParsedLine::Header(_) => headers += 1,
                ParsedLine::Blank => self.report(at + 1, false, "an empty line"),
            }
        }
        self.tree.settle();
        self.check_structure(&|head| migrated.get(head.offset as usize).cloned());
        Ok(())
    }

    /// Reports lines that contradict each other or refer to missing entries.
    fn check_structure(&mut self, line_of: &dyn Fn(&osier_tree::Head) -> Option<Vec<u8>>) {
        let tree = self.tree.clone();
        for (seq, head) in tree.heads().iter() {
            let id = tree.id(seq);
            let mut note = |damage, what: &str| {
                self.report(
                    self.line_numbers[seq.index()],
                    damage,
                    format!("{} {id} {what}", kind_name(head.kind)),
                );
            };
            if head.has_flag(flag::SUPERSEDED) {
                note(true, "appears again below; the last one is used");
            }
            if head.has_flag(flag::ORPHAN) {
                note(true, "has a parent that is not in the file; shown as a root");
            }
            if head.has_flag(flag::CYCLE_BROKEN) {
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
            if head.kind == EntryKind::Unknown {
                note(false, "has an unknown type; it is kept unchanged");
            }
            if head.time().is_none() {
                note(false, "has no valid timestamp");
            }
        }
    }
}

fn kind_name(kind: EntryKind) -> &'static str {
    if kind == EntryKind::Compaction { "compaction" } else { "entry" }
}

fn names_target(line: Option<Vec<u8>>) -> bool {
    line.is_some_and(|line| parse_entry(&line).is_ok_and(|entry| entry.target.is_some()))
}

fn keeps_nothing(tree: &SessionTree, seq: Seq) -> bool {
    let head = tree.head(seq);
    let kept = head.target.filter(|kept| head.kind == EntryKind::Compaction && *kept != seq);
    kept.is_some_and(|kept| !tree.heads().is_ancestor(kept, head.parent))
}
