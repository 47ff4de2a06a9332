//! Long pastes: the editor shows a marker and sends the pasted text in its place. The session stores the texts by marker, so
//! they survive a restart.

use std::collections::{BTreeMap, BTreeSet};

/// A longer paste is shown as a marker.
const MAX_INLINE_LINES: usize = 10;
const MAX_INLINE_CHARS: usize = 1000;

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pastes {
    texts: BTreeMap<String, String>,
    /// Markers that the session does not store yet.
    unsaved: BTreeSet<String>,
    last_number: usize,
}

impl Pastes {
    /// Starts with the pastes that the session stores.
    pub fn new(kept: BTreeMap<String, String>) -> Pastes {
        let number = |marker: &String| marker.strip_prefix("[paste #")?.split(' ').next()?.parse().ok();
        let last = kept.keys().filter_map(number).max().unwrap_or(0);
        Pastes { texts: kept, unsaved: BTreeSet::new(), last_number: last }
    }

    /// Registers a long paste; returns the text or marker that the editor shows.
    pub(super) fn add(&mut self, text: String) -> String {
        let lines = text.lines().count();
        if lines <= MAX_INLINE_LINES && text.chars().count() <= MAX_INLINE_CHARS {
            return text;
        }
        self.last_number += 1;
        let size = if lines > MAX_INLINE_LINES {
            format!("+{lines} lines")
        } else {
            format!("{} characters", text.chars().count())
        };
        let marker = format!("[paste #{} {size}]", self.last_number);
        self.unsaved.insert(marker.clone());
        self.texts.insert(marker.clone(), text);
        marker
    }

    /// Replaces the markers in a text with the pasted texts.
    pub fn expand(&self, text: &str) -> String {
        self.pastes_in(text).fold(text.to_owned(), |text, (marker, paste)| text.replace(marker, paste))
    }

    /// The pastes whose markers are in a text.
    pub fn pastes_in<'p>(&'p self, text: &str) -> impl Iterator<Item = (&'p String, &'p String)> {
        let text = text.to_owned();
        self.texts.iter().filter(move |(marker, _)| text.contains(marker.as_str()))
    }

    /// The pastes in a text that the session does not store yet. Returns each only once.
    pub(crate) fn take_unsaved(&mut self, text: &str) -> Vec<(String, String)> {
        let used: Vec<(String, String)> = self
            .pastes_in(text)
            .filter(|(marker, _)| self.unsaved.contains(*marker))
            .map(|(marker, paste)| (marker.clone(), paste.clone()))
            .collect();
        self.unsaved.retain(|marker| used.iter().all(|(saved, _)| saved != marker));
        used
    }

    /// Replaces the pasted texts in a sent prompt with their markers: the reverse of expanding.
    pub fn fold(&self, text: &str) -> String {
        self.texts.iter().filter(|(_, paste)| !paste.trim().is_empty()).fold(
            text.to_owned(),
            |text, (marker, paste)| {
                let sent = if text.contains(paste.as_str()) { paste.as_str() } else { paste.trim_end() };
                text.replace(sent, marker)
            },
        )
    }

    pub(super) fn markers(&self) -> impl Iterator<Item = &String> {
        self.texts.keys()
    }
}
