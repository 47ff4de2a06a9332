//! The one-line previews of a log's entries, stored contiguously: in memory, or in a cache file that is read one
//! window at a time. A tree is drawn nearly in log order, so a window serves many entries.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use osier_tree::Seq;
use osier_tree::entry::read_entry;
use osier_tree::projection::preview::Previews;
use rustc_hash::FxHashMap;

/// The number of bytes read from the file at once.
pub(crate) const WINDOW: usize = 64 << 10;

/// The previews of the entries of one log.
#[derive(Debug, Default)]
pub struct Texts {
    body: Body,
    /// The offset of the first text.
    start: u64,
    /// The end of each text, without the newline that follows it.
    ends: Vec<u32>,
    /// Texts that override the stored ones.
    replaced: FxHashMap<Seq, String>,
}

#[derive(Debug)]
enum Body {
    Held(String),
    Kept { file: File, window: Mutex<Window> },
}

#[derive(Debug, Default)]
struct Window {
    from: u64,
    bytes: Vec<u8>,
}

impl Default for Body {
    fn default() -> Body {
        Body::Held(String::new())
    }
}

impl Texts {
    /// Uses the lines of an unchanging file, starting at `start`. `ends` are the offsets of their newlines.
    pub(crate) fn kept(file: File, start: u64, ends: Vec<u32>) -> Texts {
        Texts {
            body: Body::Kept { file, window: Mutex::default() },
            start,
            ends,
            replaced: FxHashMap::default(),
        }
    }

    /// Loads the texts into memory.
    pub(crate) fn held(self) -> io::Result<Texts> {
        let Body::Kept { file, .. } = &self.body else { return Ok(self) };
        let end = self.ends.last().map_or(self.start, |end| u64::from(*end) + 1);
        let mut bytes = vec![0; (end - self.start) as usize];
        file.read_exact_at(&mut bytes, self.start)?;
        let text = String::from_utf8(bytes).map_err(io::Error::other)?;
        let ends = self.ends.iter().map(|end| end - self.start as u32).collect();
        Ok(Texts { body: Body::Held(text), start: 0, ends, replaced: self.replaced })
    }

    /// The texts in memory; empty if they are in a file.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match &self.body {
            Body::Held(text) => text.as_bytes(),
            Body::Kept { .. } => &[],
        }
    }

    /// Appends a text. Does nothing if the texts are in a file.
    pub(crate) fn push(&mut self, added: &str) {
        if let Body::Held(text) = &mut self.body {
            // A preview must stay on one line.
            text.extend(added.chars().map(|ch| if ch == '\n' { ' ' } else { ch }));
            self.ends.push(text.len() as u32);
            text.push('\n');
        }
    }

    pub(crate) fn push_line(&mut self, previews: &mut Previews, line: &[u8]) {
        let text = read_entry(line).map(|entry| previews.preview(&entry)).unwrap_or_default();
        self.push(&text);
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Overrides the stored text of an entry.
    pub fn replace(&mut self, seq: Seq, text: String) {
        self.replaced.insert(seq, text);
    }

    /// The text of an entry; empty if there is none.
    pub fn get(&self, seq: Seq) -> Cow<'_, str> {
        if let Some(text) = self.replaced.get(&seq) {
            return Cow::Borrowed(text);
        }
        let Some(end) = self.ends.get(seq.index()) else { return Cow::Borrowed("") };
        let before = seq.index().checked_sub(1).map(|before| u64::from(self.ends[before]) + 1);
        let (start, end) = (before.unwrap_or(self.start), u64::from(*end));
        match &self.body {
            Body::Held(text) => Cow::Borrowed(&text[start as usize..end as usize]),
            Body::Kept { file, window } => {
                let mut window = window.lock().unwrap_or_else(PoisonError::into_inner);
                // If the cache can no longer be read, the rows have no text but can still be selected.
                let bytes = window.read(file, start, end).unwrap_or_default();
                Cow::Owned(String::from_utf8_lossy(bytes).into_owned())
            }
        }
    }
}

impl Window {
    fn read(&mut self, file: &File, start: u64, end: u64) -> io::Result<&[u8]> {
        let held = self.from..self.from + self.bytes.len() as u64;
        if start < held.start || end > held.end {
            self.bytes.resize(WINDOW.max((end - start) as usize), 0);
            self.from = start;
            let mut filled = 0;
            while filled < self.bytes.len() {
                match file.read_at(&mut self.bytes[filled..], start + filled as u64)? {
                    0 => break,
                    more => filled += more,
                }
            }
            self.bytes.truncate(filled);
        }
        let at = (start - self.from) as usize;
        self.bytes.get(at..at + (end - start) as usize).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn all(texts: &Texts) -> Vec<String> {
        (0..texts.len() + 1).map(|at| texts.get(Seq::new(at)).into_owned()).collect()
    }

    #[test]
    fn texts_are_returned_by_index_from_memory_and_from_a_file() {
        let mut texts = Texts::default();
        let long = "é".repeat(WINDOW);
        for text in ["user: \"a\"", "", "two\nlines", &long, "last"] {
            texts.push(text);
        }
        assert_eq!(all(&texts), ["user: \"a\"", "", "two lines", &long, "last", ""]);

        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"head\n").unwrap();
        file.write_all(texts.as_bytes()).unwrap();
        let kept = Texts::kept(file, 5, texts.ends.iter().map(|end| end + 5).collect());
        assert_eq!(all(&kept), all(&texts));
        assert_eq!(kept.get(Seq::new(0)), "user: \"a\"");
        let held = kept.held().unwrap();
        assert_eq!((all(&held), held.as_bytes()), (all(&texts), texts.as_bytes()));
    }
}
