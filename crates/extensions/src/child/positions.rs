//! Where generated code is in its source, and stack traces in terms of the source.

use std::cell::RefCell;
use std::collections::HashMap;

/// The most places of a stack trace. A recursion without end has thousands.
const MAX_PLACES: usize = 10;

/// A line and a column.
type Position = (u32, u32);

/// The positions of one file, counted from 0.
#[derive(Debug, Default)]
pub(crate) struct SourcePositions(Vec<(Position, Position)>);

impl SourcePositions {
    /// Pairs of a generated and its original position.
    pub(crate) fn new(mut pairs: Vec<(Position, Position)>) -> SourcePositions {
        pairs.sort_unstable();
        SourcePositions(pairs)
    }

    /// The original of a generated position, both counted from 1.
    pub(crate) fn original(&self, line: u32, column: u32) -> (u32, u32) {
        let wanted = (line.saturating_sub(1), column.saturating_sub(1));
        let after = self.0.partition_point(|(generated, _)| *generated <= wanted);
        // The first piece of a line may start after its indentation.
        let found = self.0[..after].last().filter(|(generated, _)| generated.0 == wanted.0);
        match found.or_else(|| self.0.get(after)) {
            Some((_, (line, column))) => (line + 1, column + 1),
            None => (line, column),
        }
    }
}

/// The positions of all files that an extension loaded.
#[derive(Debug, Default)]
pub(crate) struct LoadedPositions(RefCell<HashMap<String, SourcePositions>>);

impl LoadedPositions {
    pub(crate) fn insert(&self, file: &str, positions: SourcePositions) {
        self.0.borrow_mut().insert(file.to_owned(), positions);
    }

    /// The places of a stack trace as `file:line:column`, without those of Osier's own library.
    pub(crate) fn places(&self, stack: &str) -> Vec<String> {
        stack.lines().filter_map(|line| self.place(line)).take(MAX_PLACES).collect()
    }

    fn place(&self, line: &str) -> Option<String> {
        let place = line.trim().strip_prefix("at ")?;
        let place = place.rsplit_once('(').map_or(place, |(_, place)| place).trim_end_matches(')');
        let (rest, column) = place.rsplit_once(':')?;
        let (file, line) = rest.rsplit_once(':')?;
        let (line, column) = (line.parse().ok()?, column.parse().ok()?);
        if file.starts_with("osier:") {
            return None;
        }
        let files = self.0.borrow();
        let (line, column) = files.get(file).map_or((line, column), |file| file.original(line, column));
        Some(format!("{file}:{line}:{column}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_names_the_source_and_not_the_library() {
        let loaded = LoadedPositions::default();
        loaded.insert("/x/a.ts", SourcePositions::new(vec![((0, 0), (4, 2)), ((1, 4), (9, 0))]));
        let stack =
            "    at handler (/x/a.ts:2:7)\n    at <anonymous> (/x/b.js:3:4)\n    at run (osier:api.js:1:2)\n";
        assert_eq!(loaded.places(stack), ["/x/a.ts:10:1", "/x/b.js:3:4"]);
    }
}
