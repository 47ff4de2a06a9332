//! The lines of a text around the matches of a query.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SearchQuery;
use crate::projection::preview::sanitize_line;

/// The maximum length of a line, in characters. Of a longer one, the part around the match is shown.
const MAX_LINE_CHARS: usize = 240;
/// How many characters of a longer line come before its match.
const CHARS_BEFORE_MATCH: usize = 60;
/// The maximum number of matching lines of one text.
const MAX_MATCHING_LINES: usize = 3;

/// A line of a text that matches a query, or of its surroundings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExcerptLine {
    /// Counted from 1.
    pub number: usize,
    pub text: String,
    /// Whether a part of the query is in this line, and not only near it.
    pub is_match: bool,
}

impl SearchQuery {
    /// The first lines of a text that match a part of the query, with as many lines around them as `context` says. Control
    /// characters are replaced. If no single line matches, the first line that is not empty.
    pub fn excerpt(&self, text: &str, context: usize) -> Vec<ExcerptLine> {
        let lines: Vec<&str> = text.lines().collect();
        let is_match = |line: &&str| self.count_matches(line) > 0;
        let mut matching: Vec<usize> =
            (0..lines.len()).filter(|at| is_match(&lines[*at])).take(MAX_MATCHING_LINES).collect();
        if matching.is_empty() {
            matching.extend(lines.iter().position(|line| !line.trim().is_empty()));
        }
        let is_shown = |at: &usize| matching.iter().any(|found| found.abs_diff(*at) <= context);
        let until =
            matching.last().map_or(0, |last| last.saturating_add(context).saturating_add(1).min(lines.len()));
        let shown = (0..until).filter(is_shown);
        shown
            .map(|at| ExcerptLine {
                number: at + 1,
                text: self.cut_line(lines[at]),
                is_match: is_match(&lines[at]),
            })
            .collect()
    }

    /// At most `MAX_LINE_CHARS` characters of a line, with the match.
    fn cut_line(&self, line: &str) -> String {
        if line.chars().nth(MAX_LINE_CHARS).is_none() {
            return sanitize_line(line.trim_end());
        }
        let at = self.first_match(line).unwrap_or(0);
        let before = line[..at].char_indices().rev().nth(CHARS_BEFORE_MATCH - 1);
        let from = before.map_or(0, |(from, _)| from);
        let mut chars = line[from..].chars();
        let cut: String = chars.by_ref().take(MAX_LINE_CHARS).collect();
        let [start, end] = [from > 0, chars.next().is_some()].map(|is_cut| if is_cut { "…" } else { "" });
        sanitize_line(&format!("{start}{cut}{end}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(query: &str, text: &str, context: usize) -> Vec<(usize, String, bool)> {
        let lines = SearchQuery::parse(query).unwrap().excerpt(text, context);
        lines.into_iter().map(|line| (line.number, line.text, line.is_match)).collect()
    }

    #[test]
    fn matching_lines_are_shown_with_their_surroundings() {
        let text = "one\ntwo\nthe CURSOR\nfour\nfive\nsix";
        let line = |number, text: &str, is_match| (number, text.to_owned(), is_match);
        assert_eq!(excerpt("cursor", text, 0), [line(3, "the CURSOR", true)]);
        assert_eq!(
            excerpt("cursor", text, 1),
            [line(2, "two", false), line(3, "the CURSOR", true), line(4, "four", false)]
        );
        assert_eq!(excerpt("one two", text, 0), [line(1, "one", true), line(2, "two", true)]);
        assert_eq!(excerpt("re:^f", text, 0), [line(4, "four", true), line(5, "five", true)]);
        assert_eq!(
            excerpt("\"four five\"", "\n\nfour\nfive", 0),
            [line(3, "four", false)],
            "a phrase across two lines"
        );
        assert_eq!(excerpt("cursor", "", 1), []);
    }

    #[test]
    fn a_long_line_is_cut_around_its_match() {
        let line = format!("{}Cursor 光标{}", "é".repeat(1000), "x".repeat(1000));
        let shown = &excerpt("cursor", &line, 0)[0].1;
        assert!(shown.starts_with("…é") && shown.contains("Cursor 光标") && shown.ends_with("x…"), "{shown}");
        assert_eq!(shown.chars().count(), MAX_LINE_CHARS + 2);
        let grows = format!("{}cursor", "İ".repeat(1000));
        assert!(!excerpt("cursor", &grows, 0)[0].1.is_empty(), "lower case can be longer than the text");
    }

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(excerpt("red", "\x1b]0;x\x07red", 0)[0].1, "\u{fffd}]0;x\u{fffd}red");
    }
}
