//! The one-line texts of a log's entries, close together.

use osier_tree::Seq;
use osier_tree::entry::read_entry;
use osier_tree::projection::preview::Previews;

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts {
    text: String,
    /// Where the first one begins.
    start: usize,
    /// Where each text ends; the line feed behind it is not part of it.
    ends: Vec<u32>,
}

impl Texts {
    /// Reads texts that lie below each other, from `start` on.
    pub(crate) fn read(text: String, start: usize) -> Texts {
        let lines = memchr::memchr_iter(b'\n', &text.as_bytes()[start..]);
        let mut ends = Vec::with_capacity(lines.clone().count());
        ends.extend(lines.map(|end| (start + end) as u32));
        Texts { text, start, ends }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.text.as_bytes()[self.start..]
    }

    pub(crate) fn push(&mut self, text: &str) {
        // A preview is one line; what is not shown as one must not be kept as two.
        self.text.extend(text.chars().map(|ch| if ch == '\n' { ' ' } else { ch }));
        self.ends.push(self.text.len() as u32);
        self.text.push('\n');
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

    /// The text of an entry; empty if there is none.
    pub fn get(&self, seq: Seq) -> &str {
        let Some(end) = self.ends.get(seq.index()) else { return "" };
        let start = seq.index().checked_sub(1).map_or(self.start, |before| self.ends[before] as usize + 1);
        &self.text[start..*end as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_by_place() {
        let mut texts = Texts::default();
        for text in ["user: \"a\"", "", "two\nlines"] {
            texts.push(text);
        }
        let again = Texts::read(format!("head\n{}", std::str::from_utf8(texts.as_bytes()).unwrap()), 5);
        assert_eq!(again.as_bytes(), texts.as_bytes());
        assert_eq!(
            (0..4).map(|at| again.get(Seq::new(at))).collect::<Vec<_>>(),
            ["user: \"a\"", "", "two lines", ""]
        );
    }
}
