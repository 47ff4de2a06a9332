//! Wraps lines: prose between words, code anywhere. A line may also break between wide characters, but never starts with closing
//! punctuation.

use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation;

use super::{Line, Span, Style, width};

/// Punctuation that stays with the character before it.
const CLOSING: &str = "，。！？、；：）」』】》”’…";

struct Cell<'a> {
    text: &'a str,
    style: Style,
    link: Option<&'a Arc<str>>,
    width: usize,
}

/// Wraps a line of prose. Splits words that are longer than the width.
pub fn wrap(line: &Line, max_width: usize) -> Vec<Line> {
    let max_width = max_width.max(2);
    let mut done = Vec::new();
    let mut now: Vec<Cell<'_>> = Vec::new();
    let (mut breaks_at, mut used) = (0, 0);
    for cell in cells(line) {
        let is_space = cell.text == " ";
        let may_part = cell.width == 2 && !CLOSING.contains(cell.text);
        if may_part {
            breaks_at = now.len();
        }
        if used + cell.width > max_width {
            let at = if is_space || breaks_at == 0 { now.len() } else { breaks_at };
            let rest = now.split_off(at);
            done.push(trimmed_line(&now));
            now = rest;
            used = cells_width(&now);
            breaks_at = 0;
        }
        // Drop the space at which the line was wrapped.
        if is_space && now.is_empty() && !done.is_empty() {
            continue;
        }
        used += cell.width;
        now.push(cell);
        if is_space && now.iter().any(|cell| cell.text != " ") {
            breaks_at = now.len();
        }
    }
    done.push(trimmed_line(&now));
    with_fill(done, line)
}

/// Wraps a line exactly at the width.
pub fn hard_wrap(line: &Line, max_width: usize) -> Vec<Line> {
    let max_width = max_width.max(2);
    let mut done = Vec::new();
    let mut now: Vec<Cell<'_>> = Vec::new();
    let mut used = 0;
    for cell in cells(line) {
        if used + cell.width > max_width {
            done.push(line_from_cells(&now));
            now.clear();
            used = 0;
        }
        used += cell.width;
        now.push(cell);
    }
    done.push(line_from_cells(&now));
    with_fill(done, line)
}

/// The rows with the background of the line they are part of.
fn with_fill(mut rows: Vec<Line>, line: &Line) -> Vec<Line> {
    rows.iter_mut().for_each(|row| row.fill = line.fill);
    rows
}

fn cells(line: &Line) -> impl Iterator<Item = Cell<'_>> {
    line.spans.iter().flat_map(|span| {
        let (style, link) = (span.style, span.link.as_ref());
        span.text.graphemes(true).map(move |text| Cell { text, style, link, width: width(text) })
    })
}

fn cells_width(cells: &[Cell<'_>]) -> usize {
    cells.iter().map(|cell| cell.width).sum()
}

/// The cells as a line, without trailing spaces.
fn trimmed_line(cells: &[Cell<'_>]) -> Line {
    let end = cells.iter().rposition(|cell| cell.text != " ").map_or(0, |last| last + 1);
    line_from_cells(&cells[..end])
}

fn line_from_cells(cells: &[Cell<'_>]) -> Line {
    let mut line = Line::new();
    for cell in cells {
        match line.spans.last_mut() {
            Some(span) if span.style == cell.style && span.link.as_ref() == cell.link => {
                span.text.push_str(cell.text);
            }
            _ => line.spans.push(Span {
                text: cell.text.to_owned(),
                style: cell.style,
                link: cell.link.cloned(),
            }),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::plain;
    use crate::theme::ColorRole;
    use expect_test::expect;

    fn wrapped(text: &str, max_width: usize) -> String {
        plain(&wrap(&Line::styled(ColorRole::Text, text), max_width))
    }

    #[test]
    fn prose_wraps_between_words_and_splits_only_long_words() {
        expect![[r#"
            a few words that
            go on
            andthenaverylong
            wordwithout end
        "#]]
        .assert_eq(&wrapped("a few words that go on andthenaverylongwordwithout end", 16));
    }

    #[test]
    fn chinese_wraps_anywhere_except_before_punctuation() {
        expect![[r#"
            一二三
            四五，
            六七
        "#]]
        .assert_eq(&wrapped("一二三四五，六七", 7));
    }

    #[test]
    fn wrapping_keeps_styles_and_inner_spaces() {
        let line = Line::styled(ColorRole::Text, "one  ").with(ColorRole::Code, "two three");
        let lines: Vec<String> = wrap(&line, 8).iter().map(Line::to_markup).collect();
        assert_eq!(lines, ["one  {code|two}", "{code|three}"]);
    }

    #[test]
    fn code_wraps_at_the_width_and_keeps_its_spaces() {
        let lines = hard_wrap(&Line::styled(ColorRole::Text, "    let x = 1;"), 8);
        assert_eq!(plain(&lines), "    let \nx = 1;\n");
        assert_eq!(hard_wrap(&Line::new(), 8), [Line::new()]);
    }
}
