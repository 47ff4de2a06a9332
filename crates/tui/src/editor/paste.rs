//! Long pastes: the editor shows a marker, and what was pasted goes out in its place. The session keeps them under the same
//! markers, so that they survive a restart.

use std::collections::{BTreeMap, BTreeSet};

/// A paste longer than this is folded.
const LINES: usize = 10;
const CHARACTERS: usize = 1000;

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pastes {
    kept: BTreeMap<String, String>,
    /// Markers that the session does not keep yet.
    fresh: BTreeSet<String>,
    last: usize,
}

impl Pastes {
    /// What the session has kept.
    pub fn new(kept: BTreeMap<String, String>) -> Pastes {
        let number = |marker: &String| marker.strip_prefix("[paste #")?.split(' ').next()?.parse().ok();
        let last = kept.keys().filter_map(number).max().unwrap_or(0);
        Pastes { kept, fresh: BTreeSet::new(), last }
    }

    /// Keeps a text if it is long; gives what the editor shows.
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

    /// The text with all that was pasted.
    pub fn expanded(&self, text: &str) -> String {
        self.used(text).fold(text.to_owned(), |text, (marker, paste)| text.replace(marker, paste))
    }

    /// The pastes a text uses, by marker.
    pub fn used<'p>(&'p self, text: &str) -> impl Iterator<Item = (&'p String, &'p String)> {
        let text = text.to_owned();
        self.kept.iter().filter(move |(marker, _)| text.contains(marker.as_str()))
    }

    /// Those that the session does not keep yet; it is told of each once.
    pub(crate) fn fresh(&mut self, text: &str) -> Vec<(String, String)> {
        let used: Vec<(String, String)> = self
            .used(text)
            .filter(|(marker, _)| self.fresh.contains(*marker))
            .map(|(marker, paste)| (marker.clone(), paste.clone()))
            .collect();
        self.fresh.retain(|marker| used.iter().all(|(told, _)| told != marker));
        used
    }

    /// A text that was said, with the markers of what was pasted: the reverse of [`Pastes::expanded`].
    pub fn folded(&self, text: &str) -> String {
        self.kept.iter().filter(|(_, paste)| !paste.trim().is_empty()).fold(
            text.to_owned(),
            |text, (marker, paste)| {
                let said = if text.contains(paste.as_str()) { paste.as_str() } else { paste.trim_end() };
                text.replace(said, marker)
            },
        )
    }

    pub(super) fn markers(&self) -> impl Iterator<Item = &String> {
        self.kept.keys()
    }
}
