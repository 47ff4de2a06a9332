//! A Markdown page: headings, sections and fenced blocks.

use std::path::{Path, PathBuf};

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) name: String,
    pub(crate) text: String,
    blocks: Vec<Block>,
    headings: Vec<Heading>,
}

#[derive(Debug)]
pub(crate) struct Block {
    /// The text after the opening fence.
    info: String,
    /// The number of its first line.
    pub(crate) line: usize,
    pub(crate) text: String,
    /// The heading above it.
    pub(crate) title: String,
}

#[derive(Debug)]
struct Heading {
    level: usize,
    title: String,
    /// Its offset in the text.
    at: usize,
}

impl Block {
    /// The value of `key=value` after the language.
    pub(crate) fn attribute(&self, key: &str) -> Option<&str> {
        self.info.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }
}

impl Page {
    pub(crate) fn open(name: &str) -> Page {
        let path = root().join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut page =
            Page { name: name.to_owned(), text: String::new(), blocks: Vec::new(), headings: Vec::new() };
        let mut open: Option<(usize, Block)> = None;
        let mut at = 0;
        for (number, line) in text.lines().enumerate() {
            match (&mut open, fence(line)) {
                (Some((ticks, _)), Some((closing, ""))) if closing == *ticks => {
                    page.blocks.extend(open.take().map(|(_, block)| block));
                }
                (Some((_, block)), _) => block.text += &format!("{line}\n"),
                (None, Some((ticks, info))) => {
                    let title = page.headings.last().map(|heading| heading.title.clone()).unwrap_or_default();
                    let block = Block { info: info.to_owned(), line: number + 2, text: String::new(), title };
                    open = Some((ticks, block));
                }
                (None, None) => page.headings.extend(heading(line, at)),
            }
            at += line.len() + 1;
        }
        assert!(open.is_none(), "{name}: a fence is not closed");
        page.text = text;
        page
    }

    pub(crate) fn blocks(&self, language: &str) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(move |block| block.info.split_whitespace().next() == Some(language))
    }

    /// The headings of a level.
    pub(crate) fn titles(&self, level: usize) -> Vec<&str> {
        self.headings
            .iter()
            .filter(|heading| heading.level == level)
            .map(|heading| heading.title.as_str())
            .collect()
    }

    /// The text below a heading, up to the next one of its level or above.
    pub(crate) fn section(&self, title: &str) -> &str {
        let mut rest = self.headings.iter().skip_while(|heading| heading.title != title);
        let heading = rest.next().unwrap_or_else(|| panic!("{}: no section {title}", self.name));
        let end = rest.find(|next| next.level <= heading.level).map_or(self.text.len(), |next| next.at);
        &self.text[heading.at..end]
    }

    /// The anchors of the headings.
    pub(crate) fn anchors(&self) -> Vec<String> {
        self.headings.iter().map(|heading| slug(&heading.title)).collect()
    }

    /// The lines outside of fenced blocks, with their numbers.
    pub(crate) fn prose(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut open: Option<usize> = None;
        self.text.lines().enumerate().filter_map(move |(number, line)| {
            match (open, fence(line)) {
                (None, Some((ticks, _))) => open = Some(ticks),
                (Some(ticks), Some((closing, ""))) if closing == ticks => open = None,
                (None, None) => return Some((number + 1, line)),
                _ => {}
            }
            None
        })
    }
}

/// The number of backticks of a fence, and the text after them.
fn fence(line: &str) -> Option<(usize, &str)> {
    let ticks = line.bytes().take_while(|byte| *byte == b'`').count();
    (ticks >= 3).then(|| (ticks, &line[ticks..]))
}

fn heading(line: &str, at: usize) -> Option<Heading> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let title = line[level..].strip_prefix(' ').filter(|_| level > 0)?;
    Some(Heading { level, title: title.to_owned(), at })
}

/// The anchor of a heading, as on GitHub: lower case, spaces become dashes, other punctuation is removed.
fn slug(title: &str) -> String {
    let kept = title.chars().filter(|ch| ch.is_alphanumeric() || matches!(ch, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|ch| if ch == ' ' { '-' } else { ch }).collect()
}
