//! Long pastes: the editor shows a marker and sends the pasted text in its place. The session stores the texts by marker, so
//! they survive a restart.

use std::collections::{BTreeMap, BTreeSet};

/// A longer paste is shown as a marker.
const LINES: usize = 10;
const CHARACTERS: usize = 1000;

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pastes {
    kept: BTreeMap<String, String>,
    /// Markers that the session does not store yet.
    fresh: BTreeSet<String>,
    last: usize,
}

impl Pastes {
    /// Starts with the pastes that the session stores.
    pub fn new(kept: BTreeMap<String, String>) -> Pastes {
        let number = |marker: &String| marker.strip_prefix("[paste #")?.split(' ').next()?.parse().ok();
        let last = kept.keys().filter_map(number).max().unwrap_or(0);
        Pastes { kept, fresh: BTreeSet::new(), last }
    }

    /// Registers a long paste; returns the text or marker that the editor shows.
    pub(super) fn keep(&mut self, text: String) -> String {
        let lines = text.lines().count();
        if lines <= LINES && text.chars().count() <= CHARACTERS {
            return text;
        }
        self.last += 1;
        let size = if lines > LINES {
            format!("+{lines} lines")
        } else {
            format!("{} characters", text.chars().count())
        };
        let marker = format!("[paste #{} {size}]", self.last);
        self.fresh.insert(marker.clone());
        self.kept.insert(marker.clone(), text);
        marker
    }

    /// Replaces the markers in a text with the pasted texts.
    pub fn expanded(&self, text: &str) -> String {
        self.used(text).fold(text.to_owned(), |text, (marker, paste)| text.replace(marker, paste))
    }

    /// The pastes whose markers are in a text.
    pub fn used<'p>(&'p self, text: &str) -> impl Iterator<Item = (&'p String, &'p String)> {
        let text = text.to_owned();
        self.kept.iter().filter(move |(marker, _)| text.contains(marker.as_str()))
    }

    /// The pastes in a text that the session does not store yet. Returns each only once.
    pub(crate) fn fresh(&mut self, text: &str) -> Vec<(String, String)> {
        let used: Vec<(String, String)> = self
            .used(text)
            .filter(|(marker, _)| self.fresh.contains(*marker))
            .map(|(marker, paste)| (marker.clone(), paste.clone()))
            .collect();
        self.fresh.retain(|marker| used.iter().all(|(saved, _)| saved != marker));
        used
    }

    /// Replaces the pasted texts in a sent prompt with their markers: the reverse of expanding.
    pub fn folded(&self, text: &str) -> String {
        self.kept.iter().filter(|(_, paste)| !paste.trim().is_empty()).fold(
            text.to_owned(),
            |text, (marker, paste)| {
                let sent = if text.contains(paste.as_str()) { paste.as_str() } else { paste.trim_end() };
                text.replace(sent, marker)
            },
        )
    }

    pub(super) fn markers(&self) -> impl Iterator<Item = &String> {
        self.kept.keys()
    }
}
