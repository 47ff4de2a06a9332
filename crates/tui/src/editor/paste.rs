//! Long pastes: the editor shows a marker, and what was pasted goes out in its place. The session keeps them under the same
//! markers, so that they survive a restart.

use std::collections::BTreeMap;

/// A paste longer than this is folded.
const LINES: usize = 10;
const CHARACTERS: usize = 1000;

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pastes {
    kept: BTreeMap<String, String>,
    last: usize,
}

impl Pastes {
    /// What the session has kept.
    pub fn new(kept: BTreeMap<String, String>) -> Pastes {
        let number = |marker: &String| marker.strip_prefix("[paste #")?.split(' ').next()?.parse().ok();
        let last = kept.keys().filter_map(number).max().unwrap_or(0);
        Pastes { kept, last }
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

    /// The start of a marker that ends at the cursor: it is erased as a whole.
    pub(super) fn marker_before(&self, text: &str, at: usize) -> Option<usize> {
        let marker = self.kept.keys().find(|marker| text[..at].ends_with(marker.as_str()))?;
        Some(at - marker.len())
    }
}
