//! Lines to tokens.

use syntect::parsing::{ParseState, ScopeStack};

use crate::budget::BUDGET;
use crate::class::{TokenClass, classify};
use crate::language::{GRAMMARS, Language};

/// A longer line is plain: some patterns take quadratic time.
pub const MAX_LINE_BYTES: usize = 512;
/// Code after this many bytes is plain.
pub const MAX_CODE_BYTES: usize = 64 * 1024;

/// Splits code into tokens, line by line. Comments and strings may span several lines.
///
/// Long lines, the end of long code, and lines that a grammar cannot read are plain. Patterns may backtrack, so there is also a
/// limit of processor time for the whole process (`budget.rs`).
#[derive(Debug, Clone)]
pub struct Highlighter {
    state: Option<ParseState>,
    scopes: ScopeStack,
    bytes_left: usize,
}

impl Highlighter {
    /// `language` is the name after the opening fence, or the extension of a file.
    pub fn new(language: &str) -> Highlighter {
        Highlighter {
            state: Language::from_name(language).map(|language| ParseState::new(language.0)),
            scopes: ScopeStack::new(),
            bytes_left: MAX_CODE_BYTES,
        }
    }

    /// Calls `emit` with the tokens of a line, which together are the line. Neighbors differ in their class.
    pub fn line<'t>(&mut self, line: &'t str, mut emit: impl FnMut(TokenClass, &'t str)) {
        if line.is_empty() && self.state.is_none() {
            return;
        }
        if line.len() > self.bytes_left || BUDGET.is_spent() {
            self.state = None;
        }
        self.bytes_left = self.bytes_left.saturating_sub(line.len() + 1);
        let tokens = match line.len() > MAX_LINE_BYTES {
            true => None,
            false => BUDGET.charge(line.len(), || self.parse(line)),
        };
        match tokens {
            Some(tokens) => emit_merged(line, &tokens, emit),
            None if line.is_empty() => {}
            None => emit(TokenClass::Plain, line),
        }
    }

    /// The tokens of a line: where each starts, and its class.
    fn parse(&mut self, line: &str) -> Option<Vec<(usize, TokenClass)>> {
        // The grammars expect the end of the line.
        let operations = self.state.as_mut()?.parse_line(&format!("{line}\n"), &GRAMMARS);
        let Ok(operations) = operations else {
            self.state = None;
            return None;
        };
        let mut tokens = Vec::new();
        let mut start = 0;
        for (at, operation) in &operations {
            let at = (*at).min(line.len());
            if at > start {
                tokens.push((start, classify(self.scopes.as_slice(), &line[start..at])));
                start = at;
            }
            if self.scopes.apply(operation).is_err() {
                self.state = None;
                return None;
            }
        }
        if start < line.len() {
            tokens.push((start, classify(self.scopes.as_slice(), &line[start..])));
        }
        Some(tokens)
    }
}

/// Emits tokens; neighbors of the same class are one.
fn emit_merged<'t>(line: &'t str, tokens: &[(usize, TokenClass)], mut emit: impl FnMut(TokenClass, &'t str)) {
    for same in tokens.chunk_by(|(_, one), (_, other)| one == other) {
        let end_of = |last: &(usize, TokenClass)| {
            let next = tokens.partition_point(|(start, _)| *start <= last.0);
            tokens.get(next).map_or(line.len(), |(start, _)| *start)
        };
        if let (Some((start, class)), Some(last)) = (same.first(), same.last()) {
            emit(*class, &line[*start..end_of(last)]);
        }
    }
}

#[cfg(test)]
mod tests;
