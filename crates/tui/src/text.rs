//! Styled text: lines of spans, each with a color role. The theme maps roles to colors when the screen is written.
//!
//! All text passes through [`sanitize`], so it never contains control sequences that a terminal would execute.

mod ansi;
mod wrap;

use std::fmt::Write;
use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

pub(crate) use ansi::{parse_lines, parse_styled};
pub use wrap::{hard_wrap, wrap};

use crate::theme::{Color, ColorRole};

/// The style of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    pub role: ColorRole,
    pub background: Option<ColorRole>,
    pub bold: bool,
    pub italic: bool,
    pub underline: bool,
    pub strike: bool,
    /// Foreground and background are swapped.
    pub inverse: bool,
    /// Colors that are no roles, as extensions choose them. They replace those of the roles.
    pub own_color: Option<Color>,
    pub own_background: Option<Color>,
}

impl From<ColorRole> for Style {
    fn from(role: ColorRole) -> Style {
        Style { role, ..Style::default() }
    }
}

impl Style {
    pub fn bold(self) -> Style {
        Style { bold: true, ..self }
    }
}

/// A part of a line with one style. Contains no line feeds, tabs or control characters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Span {
    pub text: String,
    pub style: Style,
    /// The address that a terminal opens when the text is clicked.
    pub link: Option<Arc<str>>,
}

/// A line of styled text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    pub spans: Vec<Span>,
    /// The background of the whole row, also behind the text.
    pub fill: Option<ColorRole>,
}

impl Line {
    pub fn new() -> Line {
        Line::default()
    }

    /// A line with one style.
    pub fn styled(style: impl Into<Style>, text: &str) -> Line {
        Line::new().with(style, text)
    }

    /// A line in which keys and commands, which stand in backticks, stand out.
    pub(crate) fn with_keys(style: impl Into<Style>, text: &str) -> Line {
        let style = style.into();
        let mut line = Line::new();
        for (at, part) in text.split('`').enumerate() {
            line.push(if at % 2 == 1 { ColorRole::Accent.into() } else { style }, part);
        }
        line
    }

    /// Appends text to the line. Line feeds become spaces.
    pub fn with(mut self, style: impl Into<Style>, text: &str) -> Line {
        self.push(style, text);
        self
    }

    pub fn push(&mut self, style: impl Into<Style>, text: &str) {
        if !text.is_empty() {
            let text = sanitize(text).replace('\n', " ");
            self.spans.push(Span { text, style: style.into(), link: None });
        }
    }

    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| width(&span.text)).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.spans.iter().all(|span| span.text.is_empty())
    }

    pub fn plain(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Sets the background of all spans that have none.
    pub fn with_background(mut self, role: ColorRole) -> Line {
        for span in self.spans.iter_mut().filter(|span| span.style.own_background.is_none()) {
            span.style.background.get_or_insert(role);
        }
        self
    }

    /// Fills the whole row with a background.
    pub fn filled(mut self, role: ColorRole) -> Line {
        self.fill = Some(role);
        self.with_background(role)
    }

    /// Truncates the line to `max_width` columns; `…` marks the cut.
    pub fn truncate(self, max_width: usize) -> Line {
        if self.width() <= max_width {
            return self;
        }
        let mut left = max_width.saturating_sub(1);
        let mut cut = Line { fill: self.fill, ..Line::new() };
        'all: for span in self.spans {
            let mut kept = String::new();
            for piece in span.text.graphemes(true) {
                let wide = width(piece);
                if wide > left {
                    cut.spans.push(Span { text: kept, ..span });
                    break 'all;
                }
                left -= wide;
                kept.push_str(piece);
            }
            cut.spans.push(Span { text: kept, ..span });
        }
        if max_width > 0 {
            cut.push(Style { background: cut.fill, ..ColorRole::Dim.into() }, "…");
        }
        cut
    }

    /// Makes text without a color dim.
    pub(crate) fn dimmed(mut self) -> Line {
        let plain = |span: &&mut Span| span.style.role == ColorRole::Text && span.style.own_color.is_none();
        self.spans.iter_mut().filter(plain).for_each(|span| span.style.role = ColorRole::Dim);
        self
    }

    /// Lays another line over this one, from a column on and `width` columns wide. A wide character that is covered in part
    /// becomes spaces.
    pub(crate) fn covered_by(&self, over: Line, column: usize, width: usize) -> Line {
        let mut covered = Line { fill: self.fill, ..self.part(0, column) };
        covered.pad(column);
        covered.spans.extend(over.part(0, width).spans);
        covered.pad(column + width);
        let rest = self.part(column + width, usize::MAX);
        covered.spans.extend(rest.spans);
        covered
    }

    /// Adds spaces up to a width.
    fn pad(&mut self, to: usize) {
        let missing = to.saturating_sub(self.width());
        if missing > 0 {
            self.push(Style::default(), &" ".repeat(missing));
        }
    }

    /// The columns from `from` up to but excluding `to`. A wide character that is cut becomes spaces.
    fn part(&self, from: usize, to: usize) -> Line {
        let (mut at, mut cut) = (0, Line::new());
        for span in &self.spans {
            let mut text = String::new();
            for piece in span.text.graphemes(true) {
                let (start, end) = (at, at + width(piece));
                at = end;
                if start >= from && end <= to {
                    text.push_str(piece);
                } else if end > from && start < to {
                    text.push_str(&" ".repeat(end.min(to) - start.max(from)));
                }
            }
            if !text.is_empty() {
                cut.spans.push(Span { text, ..span.clone() });
            }
        }
        cut
    }

    /// Inserts text before the line.
    pub fn prepend(mut self, style: impl Into<Style>, text: &str) -> Line {
        if !text.is_empty() {
            let style = style.into();
            let background = style.background.or(self.fill);
            let style = Style { background, ..style };
            self.spans.insert(0, Span { text: text.to_owned(), style, link: None });
        }
        self
    }

    /// The line with its styles as text, for tests: `{dim bold|text}`.
    pub fn to_markup(&self) -> String {
        let mut out = String::new();
        for Span { text, style, .. } in &self.spans {
            let mut words = vec![style.role.name().to_owned()];
            words.extend(style.background.map(|role| format!("on-{}", role.name())));
            let flags = [(style.bold, "bold"), (style.italic, "italic"), (style.underline, "underline")];
            words.extend(flags.into_iter().filter(|(set, _)| *set).map(|(_, word)| word.to_owned()));
            match words.as_slice() {
                [only] if only == ColorRole::Text.name() => out.push_str(text),
                words => {
                    write!(out, "{{{}|{text}}}", words.join(" ")).expect("writing to a String cannot fail");
                }
            }
        }
        out
    }
}

/// Makes text safe to print: replaces control characters, and tabs with spaces. Keeps line feeds.
pub fn sanitize(text: &str) -> String {
    osier_protocol::sanitize(text).replace('\t', "    ")
}

/// The number of columns that a text takes.
pub fn width(text: &str) -> usize {
    text.graphemes(true).map(|piece| UnicodeWidthStr::width(piece).min(2)).sum()
}

/// Joins pieces with dots into at most `rows` lines. Leaves out whole pieces that do not fit; the first ones are the most
/// important.
pub(crate) fn join_fitting<'p>(
    all: impl IntoIterator<Item = &'p str>,
    columns: usize,
    rows: usize,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in all {
        let is_full = lines.len() >= rows;
        match lines.last_mut() {
            Some(line) if width(line) + width(" · ") + width(piece) <= columns => {
                line.push_str(" · ");
                line.push_str(piece);
            }
            _ if is_full => break,
            _ => lines.push(piece.to_owned()),
        }
    }
    lines
}

/// Lines as plain text.
pub fn plain(lines: &[Line]) -> String {
    lines.iter().map(|line| line.plain() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_contains_no_control_sequences() {
        let line = Line::styled(ColorRole::Text, "a\x1b[2Jb\nc\td\u{202e}");
        assert_eq!(line.plain(), "a\u{fffd}[2Jb c    d\u{fffd}");
    }

    #[test]
    fn pieces_that_do_not_fit_are_left_out() {
        let keys = ["enter go", "escape leave", "L label"];
        assert_eq!(join_fitting(keys, 24, 1), ["enter go · escape leave"]);
        assert_eq!(join_fitting(keys, 22, 1), ["enter go"]);
        assert_eq!(join_fitting(keys, 22, 2), ["enter go", "escape leave · L label"]);
    }

    #[test]
    fn a_line_covers_a_part_of_another_and_no_more() {
        let base = Line::styled(ColorRole::Text, "一二三四 end");
        let covered =
            |over: &str, column| base.covered_by(Line::styled(ColorRole::Bad, over), column, 4).plain();
        assert_eq!(covered("abcdefgh", 2), "一abcd四 end");
        // Columns 3 to 6 cover the second half of 二, 三 and the first half of 四.
        assert_eq!(covered("ab", 3), "一 ab    end");
        assert_eq!(covered("xy", 20), "一二三四 end        xy  ");
    }

    #[test]
    fn truncation_counts_columns() {
        let cut = |text: &str, max_width| Line::styled(ColorRole::Text, text).truncate(max_width).plain();
        assert_eq!(cut("一二三四", 8), "一二三四");
        assert_eq!(cut("一二三四", 7), "一二三…");
        assert_eq!(cut("一二三四", 6), "一二…");
        assert_eq!(cut("👩‍👩‍👧 family", 4), "👩‍👩‍👧 …");
        assert_eq!(cut("abc", 0), "");
    }
}
