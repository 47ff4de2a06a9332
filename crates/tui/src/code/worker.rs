//! The thread that highlights code. It starts with the first request, and remembers how parts end, so that the next part of a block
//! does not start from the beginning.

use std::sync::mpsc::{Receiver, Sender, channel};

use osier_highlight::{Highlighter, TokenClass};
use rustc_hash::FxHashMap;

use super::{CodePart, ColoredPart, LineColors};
use crate::theme::ColorRole;

/// How many ends of parts are remembered.
const MAX_STATES: usize = 256;

/// The worker, as its client sees it.
#[derive(Debug, Default)]
pub(crate) struct CodeWorker {
    requests: Option<Sender<Vec<CodePart>>>,
}

impl CodeWorker {
    /// Highlights parts. Calls `answer` from another thread: the one that the first call gave.
    pub(crate) fn highlight(
        &mut self,
        parts: Vec<CodePart>,
        answer: impl Fn(Vec<ColoredPart>) + Send + 'static,
    ) {
        if parts.is_empty() {
            return;
        }
        let requests = self.requests.get_or_insert_with(|| start(answer));
        // Without the thread, code stays plain.
        let _ = requests.send(parts);
    }
}

fn start(answer: impl Fn(Vec<ColoredPart>) + Send + 'static) -> Sender<Vec<CodePart>> {
    let (sender, requests) = channel();
    let thread = std::thread::Builder::new().name("highlight".to_owned());
    let _ = thread.spawn(move || run(&requests, &answer));
    sender
}

fn run(requests: &Receiver<Vec<CodePart>>, answer: &dyn Fn(Vec<ColoredPart>)) {
    let mut states = FxHashMap::default();
    while let Ok(parts) = requests.recv() {
        answer(parts.iter().map(|part| highlight_part(part, &mut states)).collect());
    }
}

/// The colors of a part, from the beginning of its block.
pub(super) fn highlight_block(part: &CodePart) -> Vec<LineColors> {
    highlight_part(part, &mut FxHashMap::default()).lines
}

fn highlight_part(part: &CodePart, states: &mut FxHashMap<u64, Highlighter>) -> ColoredPart {
    if states.len() > MAX_STATES {
        states.clear();
    }
    let mut unknown = vec![part];
    let mut highlighter = loop {
        match unknown.last().and_then(|part| part.0.before.as_ref()) {
            None => break Highlighter::new(&part.0.language),
            Some(before) => match states.get(&before.0.key) {
                Some(state) => break state.clone(),
                None => unknown.push(before),
            },
        }
    };
    let mut lines = Vec::new();
    for part in unknown.into_iter().rev() {
        lines = highlight_lines(&part.0.text, &mut highlighter);
        states.insert(part.0.key, highlighter.clone());
    }
    ColoredPart { part: part.clone(), lines }
}

fn highlight_lines(text: &str, highlighter: &mut Highlighter) -> Vec<LineColors> {
    let colors = |line: &str| {
        let mut colors = LineColors::new();
        highlighter.line(line, |class, token| colors.push((role_of(class), token.len())));
        colors
    };
    text.split('\n').map(colors).collect()
}

fn role_of(class: TokenClass) -> ColorRole {
    match class {
        TokenClass::Plain => ColorRole::Text,
        TokenClass::Comment => ColorRole::Comment,
        TokenClass::Literal | TokenClass::Number => ColorRole::Literal,
        TokenClass::Keyword => ColorRole::Keyword,
        TokenClass::Type => ColorRole::Type,
        TokenClass::Function => ColorRole::Function,
        TokenClass::Property => ColorRole::Property,
    }
}
