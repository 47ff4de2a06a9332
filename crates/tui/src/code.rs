//! The colors of code. Drawing never waits for them: code that is not known yet is drawn plain and asked for, a [worker](worker)
//! highlights it, and then it is drawn again. Grammars are loaded when the first code is asked for.

mod worker;

use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use osier_highlight::{Language, MAX_CODE_BYTES};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

pub(crate) use worker::CodeWorker;

use crate::text::Line;
use crate::theme::ColorRole;

/// How many parts are known before older ones are forgotten. More than a screen shows.
const MAX_KNOWN: usize = 2_000;

/// A part of the code of a block, with the parts before it: a block is drawn line by line while it is streamed, and comments and
/// strings continue from one line to the next.
#[derive(Debug, Clone)]
pub(crate) struct CodePart(Arc<CodePartContent>);

#[derive(Debug)]
struct CodePartContent {
    language: Arc<str>,
    before: Option<CodePart>,
    text: String,
    /// The number of bytes of the block up to the end of this part.
    bytes: usize,
    /// The hash of all of that.
    key: u64,
}

impl CodePart {
    pub(crate) fn new(language: &str, text: &str) -> CodePart {
        CodePart::build(language.into(), None, text)
    }

    /// The next part of the same block.
    pub(crate) fn followed_by(&self, text: &str) -> CodePart {
        CodePart::build(self.0.language.clone(), Some(self.clone()), text)
    }

    fn build(language: Arc<str>, before: Option<CodePart>, text: &str) -> CodePart {
        let bytes = before.as_ref().map_or(0, |before| before.0.bytes) + text.len() + 1;
        // The end of long code is plain. It does not need the code before it.
        let before = before.filter(|_| bytes <= MAX_CODE_BYTES);
        let mut hasher = FxHasher::default();
        (&language, before.as_ref().map(|before| before.0.key), text, bytes).hash(&mut hasher);
        let content =
            CodePartContent { language, before, text: text.to_owned(), bytes, key: hasher.finish() };
        CodePart(Arc::new(content))
    }

    fn is_too_long(&self) -> bool {
        self.0.bytes > MAX_CODE_BYTES
    }

    fn before_key(&self) -> (Arc<str>, Option<u64>) {
        (self.0.language.clone(), self.0.before.as_ref().map(|before| before.0.key))
    }
}

/// Not by recursion: a block may have thousands of parts.
impl Drop for CodePartContent {
    fn drop(&mut self) {
        let mut before = self.before.take();
        while let Some(mut content) = before.and_then(|part| Arc::into_inner(part.0)) {
            before = content.before.take();
        }
    }
}

/// Equal if all of the code up to their ends is equal.
impl PartialEq for CodePart {
    fn eq(&self, other: &CodePart) -> bool {
        self.0.key == other.0.key
    }
}

impl Eq for CodePart {}

impl Hash for CodePart {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.key.hash(state);
    }
}

/// The colors of a part: for each line, the roles of its tokens with their lengths in bytes.
pub(crate) type LineColors = Vec<(ColorRole, usize)>;

/// A highlighted part.
#[derive(Debug, Clone)]
pub(crate) struct ColoredPart {
    pub(crate) part: CodePart,
    pub(crate) lines: Vec<LineColors>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct CodeColors(Mutex<KnownColors>);

#[derive(Debug, Default)]
struct KnownColors {
    known: FxHashMap<u64, ColoredPart>,
    /// What was known before; still used, and forgotten when `known` is full again.
    older: FxHashMap<u64, ColoredPart>,
    /// The last highlighted part behind each part. A line that grows keeps the colors that it had.
    latest: FxHashMap<(Arc<str>, Option<u64>), u64>,
    asked: FxHashSet<u64>,
    requests: Vec<CodePart>,
    /// Changes with every new color.
    version: u64,
    /// Nobody highlights later, so it is done at once.
    at_once: bool,
}

impl CodeColors {
    /// For tasks in the background: every code has its colors at once.
    pub(crate) fn at_once() -> CodeColors {
        CodeColors(Mutex::new(KnownColors { at_once: true, ..KnownColors::default() }))
    }

    /// The lines of a part.
    pub(crate) fn lines(&self, part: &CodePart) -> Vec<Line> {
        if Language::is_plain_text(&part.0.language) || part.is_too_long() {
            return plain_lines(&part.0.text);
        }
        let mut known = self.lock();
        if known.at_once {
            return paint_lines(&part.0.text, &worker::highlight_block(part));
        }
        match known.find(part) {
            Some(colored) => paint_lines(&part.0.text, &colored.lines),
            None => {
                known.ask(part);
                paint_lines(&part.0.text, known.lines_of_beginning(part))
            }
        }
    }

    /// The parts that were drawn without colors since the last call.
    pub(crate) fn take_requests(&self) -> Vec<CodePart> {
        std::mem::take(&mut self.lock().requests)
    }

    /// Whether highlighted code has not arrived yet.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.lock().asked.is_empty()
    }

    pub(crate) fn receive(&self, parts: Vec<ColoredPart>) {
        let mut known = self.lock();
        known.version += 1;
        parts.into_iter().for_each(|colored| known.insert(colored));
    }

    pub(crate) fn version(&self) -> u64 {
        self.lock().version
    }

    /// Highlights what was asked for, as the worker does.
    #[cfg(test)]
    pub(crate) fn answer_requests(&self) {
        let color = |part: CodePart| ColoredPart { lines: worker::highlight_block(&part), part };
        self.receive(self.take_requests().into_iter().map(color).collect());
    }

    fn lock(&self) -> MutexGuard<'_, KnownColors> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownColors {
    /// The text is compared too: two keys may be equal by chance.
    fn find(&self, part: &CodePart) -> Option<&ColoredPart> {
        let colored = self.get(part.0.key)?;
        (colored.part.0.text == part.0.text).then_some(colored)
    }

    fn get(&self, key: u64) -> Option<&ColoredPart> {
        self.known.get(&key).or_else(|| self.older.get(&key))
    }

    fn ask(&mut self, part: &CodePart) {
        if self.asked.insert(part.0.key) {
            self.requests.push(part.clone());
        }
    }

    /// The colors of a shorter version of the same part.
    fn lines_of_beginning(&self, part: &CodePart) -> &[LineColors] {
        let colored = self.latest.get(&part.before_key()).and_then(|key| self.get(*key));
        colored
            .filter(|colored| part.0.text.starts_with(&colored.part.0.text))
            .map_or(&[], |colored| &colored.lines)
    }

    fn insert(&mut self, colored: ColoredPart) {
        if self.known.len() >= MAX_KNOWN {
            self.older = std::mem::take(&mut self.known);
            self.latest.clear();
        }
        self.asked.remove(&colored.part.0.key);
        self.latest.insert(colored.part.before_key(), colored.part.0.key);
        self.known.insert(colored.part.0.key, colored);
    }
}

/// Lines of code, highlighted if colors are given.
pub(crate) fn code_lines(language: &str, text: &str, colors: Option<&CodeColors>) -> Vec<Line> {
    part_lines(&CodePart::new(language, text), colors)
}

pub(crate) fn part_lines(part: &CodePart, colors: Option<&CodeColors>) -> Vec<Line> {
    match colors {
        Some(colors) => colors.lines(part),
        None => plain_lines(&part.0.text),
    }
}

fn plain_lines(text: &str) -> Vec<Line> {
    text.split('\n').map(|line| Line::styled(ColorRole::Text, line)).collect()
}

/// Text with colors. Text without a color is plain.
fn paint_lines(text: &str, colors: &[LineColors]) -> Vec<Line> {
    let paint = |(at, text): (usize, &str)| {
        let mut line = Line::new();
        let mut rest = text;
        for (role, length) in colors.get(at).into_iter().flatten() {
            let Some((token, remaining)) = rest.split_at_checked(*length) else { break };
            line.push(*role, token);
            rest = remaining;
        }
        line.push(ColorRole::Text, rest);
        line
    };
    text.split('\n').enumerate().map(paint).collect()
}

#[cfg(test)]
mod tests;
