//! The frames of the live part: a rule above the editor and one below it, and a box that is open on the right around overlays.
//! Without a right edge, a terminal that disagrees about the width of a character breaks nothing.

use crate::screen::Frame;
use crate::text::{Line, Style};
use crate::theme::ColorRole;

/// The columns that the frame of an overlay takes, and those of them that are on the left.
const FRAME_COLUMNS: usize = 4;
const LEFT_COLUMNS: usize = 2;
/// A narrower terminal has no frames.
const MIN_FRAME_COLUMNS: usize = 24;

/// The columns inside the frame of an overlay.
pub(crate) fn inner_columns(columns: usize) -> usize {
    if columns < MIN_FRAME_COLUMNS { columns } else { columns - FRAME_COLUMNS }
}

/// Draws a frame around an overlay, whose first line is its title and whose last line has its keys.
pub(crate) fn frame_overlay(mut inner: Frame, columns: usize, border: ColorRole) -> Frame {
    if columns < MIN_FRAME_COLUMNS || inner.lines.len() < 2 {
        return inner;
    }
    let last = inner.lines.len() - 1;
    let lines = std::mem::take(&mut inner.lines).into_iter().enumerate();
    inner.lines = lines
        .map(|(at, line)| match at {
            0 => rule("╭─", line, columns, border),
            at if at == last => rule("╰─", with_marked_keys(line), columns, border),
            _ => line.prepend(border, "│ "),
        })
        .collect();
    inner.cursor = inner.cursor.map(|(row, column)| (row, column + LEFT_COLUMNS));
    inner
}

/// Makes the keys stand out in hints such as `enter select · esc cancel`.
fn with_marked_keys(hints: Line) -> Line {
    let mut marked = Line { fill: hints.fill, ..Line::new() };
    for span in hints.spans {
        if span.style != ColorRole::Dim.into() {
            marked.spans.push(span);
            continue;
        }
        let mut is_start = true;
        for word in span.text.split_inclusive(' ') {
            let name = word.trim_end();
            is_start =
                name == "·" || name.starts_with('(') || (is_start && (is_key_name(name) || name == "or"));
            let role = if is_start && is_key_name(name) { ColorRole::Accent } else { ColorRole::Dim };
            marked.push(role, word);
        }
    }
    marked
}

/// Whether a word of a hint is a key.
fn is_key_name(word: &str) -> bool {
    const NAMES: [&str; 9] = ["enter", "esc", "tab", "space", "↑↓", "←→", "number", "pageup", "pagedown"];
    NAMES.contains(&word) || word.contains('+') || (word.chars().count() == 1 && word != "·")
}

/// A horizontal line with a text in it.
pub(crate) fn rule(start: &str, text: Line, columns: usize, border: ColorRole) -> Line {
    let mut line = Line::styled(border, start);
    let text = text.truncate(columns.saturating_sub(line.width() + 2));
    if !text.is_empty() {
        line.push(border, " ");
        line.spans.extend(text.spans);
        line.push(border, " ");
    }
    let rest = columns.saturating_sub(line.width());
    line.with(border, &"─".repeat(rest))
}

/// Keys and what they do, as in `enter send · esc stop`: the keys stand out.
pub(crate) fn key_hints(hints: &[(&str, &str)], columns: usize) -> Line {
    let mut line = Line::new();
    for (key, effect) in hints {
        let separator = if line.is_empty() { "" } else { " · " };
        let more = Line::styled(ColorRole::Dim, separator)
            .with(Style::from(ColorRole::Accent), key)
            .with(ColorRole::Dim, &format!(" {effect}"));
        if line.width() + more.width() > columns {
            break;
        }
        line.spans.extend(more.spans);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::plain;

    #[test]
    fn keys_stand_out_in_hints() {
        let hints =
            Line::styled(ColorRole::Dim, "(1/3) ↑↓ enter select · n in new session · leave empty · alt+c");
        assert_eq!(
            with_marked_keys(hints).to_markup(),
            "{dim|(1/3) }{accent|↑↓ }{accent|enter }{dim|select }{dim|· }{accent|n }{dim|in }{dim|new }{dim|session }\
             {dim|· }{dim|leave }{dim|empty }{dim|· }{accent|alt+c}"
        );
    }

    #[test]
    fn an_overlay_gets_a_frame_with_its_title_and_its_keys() {
        let lines = ["Title", "body", "esc close"].map(|text| Line::styled(ColorRole::Text, text)).to_vec();
        let framed = |columns| {
            let inner = Frame { lines: lines.clone(), cursor: Some((1, 3)) };
            frame_overlay(inner, columns, ColorRole::Border)
        };
        let wide = framed(24);
        assert_eq!(plain(&wide.lines), "╭─ Title ───────────────\n│ body\n╰─ esc close ───────────\n");
        assert_eq!(wide.cursor, Some((1, 5)));
        assert!(wide.lines.iter().all(|line| line.width() <= 24));
        assert_eq!(framed(23).lines, lines, "a narrow terminal has no frame");
    }

    #[test]
    fn hints_that_do_not_fit_are_left_out() {
        let hints = [("enter", "send"), ("esc", "stop")];
        assert_eq!(key_hints(&hints, 40).plain(), "enter send · esc stop");
        assert_eq!(key_hints(&hints, 12).plain(), "enter send");
    }
}
