//! The one-line previews of a log's entries, stored contiguously: in memory, or in a cache file that is read one
//! window at a time. A tree is drawn nearly in log order, so a window serves many entries.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use osier_tree::Seq;
use osier_tree::entry::parse_entry;
use osier_tree::projection::preview::{EntryPreviews, Previews};
use rustc_hash::FxHashMap;

/// The number of bytes read from the file at once.
pub(crate) const WINDOW_BYTES: usize = 64 << 10;

/// The previews of the entries of one log.
#[derive(Debug, Default)]
pub struct PreviewTexts {
    storage: TextStorage,
    /// The offset of the first text.
    start: u64,
    /// The end of each text, without the newline that follows it.
    ends: Vec<u32>,
    /// Texts that override the stored ones.
    overrides: FxHashMap<Seq, String>,
}

#[derive(Debug)]
enum TextStorage {
    InMemory(String),
    InFile { file: File, window: Mutex<ReadWindow> },
}

#[derive(Debug, Default)]
struct ReadWindow {
    from: u64,
    bytes: Vec<u8>,
}

impl Default for TextStorage {
    fn default() -> TextStorage {
        TextStorage::InMemory(String::new())
    }
}

impl PreviewTexts {
    /// Uses the lines of an unchanging file, starting at `start`. `ends` are the offsets of their newlines.
    pub(crate) fn from_file(file: File, start: u64, ends: Vec<u32>) -> PreviewTexts {
        PreviewTexts {
            storage: TextStorage::InFile { file, window: Mutex::default() },
            start,
            ends,
            overrides: FxHashMap::default(),
        }
    }

    /// Loads the texts into memory.
    pub(crate) fn into_memory(self) -> io::Result<PreviewTexts> {
        let TextStorage::InFile { file, .. } = &self.storage else { return Ok(self) };
        let end = self.ends.last().map_or(self.start, |end| u64::from(*end) + 1);
        let mut bytes = vec![0; (end - self.start) as usize];
        file.read_exact_at(&mut bytes, self.start)?;
        let text = String::from_utf8(bytes).map_err(io::Error::other)?;
        let ends = self.ends.iter().map(|end| end - self.start as u32).collect();
        Ok(PreviewTexts { storage: TextStorage::InMemory(text), start: 0, ends, overrides: self.overrides })
    }

    /// The texts in memory; empty if they are in a file.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match &self.storage {
            TextStorage::InMemory(text) => text.as_bytes(),
            TextStorage::InFile { .. } => &[],
        }
    }

    /// Appends a text. Does nothing if the texts are in a file.
    pub(crate) fn push(&mut self, added: &str) {
        if let TextStorage::InMemory(text) = &mut self.storage {
            // A preview must stay on one line.
            match added.contains('\n') {
                true => text.push_str(&added.replace('\n', " ")),
                false => text.push_str(added),
            }
            self.ends.push(text.len() as u32);
            text.push('\n');
        }
    }

    pub(crate) fn push_line(&mut self, previews: &mut Previews, line: &[u8]) {
        let text = parse_entry(line).map(|entry| previews.preview(&entry)).unwrap_or_default();
        self.push(&text);
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Overrides the stored text of an entry.
    pub fn set_override(&mut self, seq: Seq, text: String) {
        self.overrides.insert(seq, text);
    }

    /// The text of an entry; empty if there is none.
    pub fn get(&self, seq: Seq) -> Cow<'_, str> {
        if let Some(text) = self.overrides.get(&seq) {
            return Cow::Borrowed(text);
        }
        let Some(end) = self.ends.get(seq.index()) else { return Cow::Borrowed("") };
        let before = seq.index().checked_sub(1).map(|before| u64::from(self.ends[before]) + 1);
        let (start, end) = (before.unwrap_or(self.start), u64::from(*end));
        match &self.storage {
            TextStorage::InMemory(text) => Cow::Borrowed(&text[start as usize..end as usize]),
            TextStorage::InFile { file, window } => {
                let mut window = window.lock().unwrap_or_else(PoisonError::into_inner);
                // If the cache can no longer be read, the rows have no text but can still be selected.
                let bytes = window.read(file, start, end).unwrap_or_default();
                Cow::Owned(String::from_utf8_lossy(bytes).into_owned())
            }
        }
    }
}

impl EntryPreviews for PreviewTexts {
    fn get(&self, seq: Seq) -> Cow<'_, str> {
        PreviewTexts::get(self, seq)
    }
}

impl ReadWindow {
    fn read(&mut self, file: &File, start: u64, end: u64) -> io::Result<&[u8]> {
        let held = self.from..self.from + self.bytes.len() as u64;
        if start < held.start || end > held.end {
            self.bytes.resize(WINDOW_BYTES.max((end - start) as usize), 0);
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

    fn all(texts: &PreviewTexts) -> Vec<String> {
        (0..texts.len() + 1).map(|at| texts.get(Seq::new(at)).into_owned()).collect()
    }

    #[test]
    fn texts_are_returned_by_index_from_memory_and_from_a_file() {
        let mut texts = PreviewTexts::default();
        let long = "é".repeat(WINDOW_BYTES);
        for text in ["user: \"a\"", "", "two\nlines", &long, "last"] {
            texts.push(text);
        }
        assert_eq!(all(&texts), ["user: \"a\"", "", "two lines", &long, "last", ""]);

        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"head\n").unwrap();
        file.write_all(texts.as_bytes()).unwrap();
        let kept = PreviewTexts::from_file(file, 5, texts.ends.iter().map(|end| end + 5).collect());
        assert_eq!(all(&kept), all(&texts));
        assert_eq!(kept.get(Seq::new(0)), "user: \"a\"");
        let held = kept.into_memory().unwrap();
        assert_eq!((all(&held), held.as_bytes()), (all(&texts), texts.as_bytes()));
    }
}
