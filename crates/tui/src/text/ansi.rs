//! Text with escape sequences of styles, as extensions draw it. The sixteen base colors become those of the theme; every other
//! sequence is left out, so a text can never control the terminal.

use super::{Line, Style};
use crate::theme::{Color, ColorRole, token_role};

/// More than a row of the screen needs. The rest of a longer line is not read, because lines are drawn often.
const MAX_LINE_BYTES: usize = 32 << 10;

/// Where pi's components mark their cursor.
const CURSOR_MARKER: &str = "\u{1b}_pi:c\u{7}";

/// The line, and the column of the cursor if it is in this line.
pub(crate) fn parse_styled(text: &str) -> (Line, Option<usize>) {
    let (mut line, mut style, mut cursor) = (Line::new(), Style::default(), None);
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(CURSOR_MARKER) {
            cursor = Some(line.width());
            rest = after;
        } else if let Some(after) = rest.strip_prefix("\u{1b}[") {
            let end = after.find(|char: char| ('\u{40}'..='\u{7e}').contains(&char));
            let (codes, tail) = after.split_at(end.unwrap_or(after.len()));
            if tail.starts_with('m') {
                apply(&mut style, codes);
            }
            rest = tail.get(1..).unwrap_or_default();
        } else if rest.starts_with(['\u{1b}']) {
            rest = skip_sequence(rest);
        } else {
            let end = rest.find('\u{1b}').unwrap_or(rest.len());
            line.push(style, &rest[..end].replace('\t', "   "));
            rest = &rest[end..];
        }
    }
    (line, cursor)
}

/// Skips a sequence that ends with BEL or ST, or two characters.
fn skip_sequence(text: &str) -> &str {
    let is_string = matches!(text.as_bytes().get(1), Some(b']' | b'_' | b'P' | b'^' | b'X'));
    if !is_string {
        return text.char_indices().nth(2).map_or("", |(at, _)| &text[at..]);
    }
    let bell = text.find('\u{7}').map(|at| at + 1);
    let terminator = text.find("\u{1b}\\").map(|at| at + 2);
    let end = [bell, terminator].into_iter().flatten().min().unwrap_or(text.len());
    &text[end..]
}

fn apply(style: &mut Style, codes: &str) {
    let mut codes = codes.split([';', ':']).map(|code| code.parse::<u16>().unwrap_or(0));
    while let Some(code) = codes.next() {
        match code {
            0 => *style = Style::default(),
            1 => style.bold = true,
            2 => style.role = ColorRole::Dim,
            3 => style.italic = true,
            4 => style.underline = true,
            7 => style.inverse = true,
            9 => style.strike = true,
            22 => style.bold = false,
            23 => style.italic = false,
            24 => style.underline = false,
            27 => style.inverse = false,
            29 => style.strike = false,
            38 => {
                (style.role, style.own_color) = match read_color(&mut codes) {
                    Some(NamedColor::Role(role)) => (role, None),
                    Some(NamedColor::Own(color)) => (ColorRole::Text, Some(color)),
                    None => (ColorRole::Text, None),
                }
            }
            48 => {
                (style.background, style.own_background) = match read_color(&mut codes) {
                    Some(NamedColor::Role(role)) => (Some(role), None),
                    Some(NamedColor::Own(color)) => (None, Some(color)),
                    None => (None, None),
                }
            }
            49 => (style.background, style.own_background) = (None, None),
            30..=37 | 90..=97 | 39 => (style.role, style.own_color) = (role(code), None),
            40..=47 | 100..=107 => {
                (style.background, style.own_background) = (Some(ColorRole::SelectedBg), None);
            }
            _ => {}
        }
    }
}

/// A color of the theme, or one of the extension's own.
enum NamedColor {
    Role(ColorRole),
    Own(Color),
}

/// The rest of `38;5;N`, `38;2;R;G;B`, or `38;6;N`, which is a color by its [name](osier_protocol::THEME_TOKENS).
fn read_color(codes: &mut impl Iterator<Item = u16>) -> Option<NamedColor> {
    let byte = |code: Option<u16>| code.map(|code| code.min(255) as u8);
    match codes.next()? {
        2 => {
            let (red, green, blue) = (byte(codes.next())?, byte(codes.next())?, byte(codes.next())?);
            Some(NamedColor::Own(Color::Rgb(red, green, blue)))
        }
        5 => byte(codes.next()).map(|index| NamedColor::Own(Color::Indexed(index))),
        6 => token_role(codes.next()?.into()).map(NamedColor::Role),
        _ => None,
    }
}

fn role(code: u16) -> ColorRole {
    match code {
        31 | 91 => ColorRole::Bad,
        32 | 92 => ColorRole::Good,
        33 | 93 => ColorRole::Warn,
        34 => ColorRole::Border,
        94 | 36 | 96 => ColorRole::Accent,
        35 | 95 => ColorRole::Label,
        30 | 90 => ColorRole::Dim,
        _ => ColorRole::Text,
    }
}

/// Lines of an extension at a width, and where the cursor is.
pub(crate) fn parse_lines(texts: &[String], columns: usize) -> (Vec<Line>, Option<(usize, usize)>) {
    let mut cursor = None;
    let mut lines = Vec::with_capacity(texts.len());
    for (row, text) in texts.iter().enumerate() {
        let (line, column) = parse_styled(&text[..text.floor_char_boundary(MAX_LINE_BYTES)]);
        cursor = column.map(|column| (row, column.min(columns.saturating_sub(1)))).or(cursor);
        lines.push(if line.width() > columns { line.truncate(columns) } else { line });
    }
    (lines, cursor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::width;

    #[test]
    fn styles_become_those_of_the_theme() {
        let (line, cursor) = parse_styled("\u{1b}[1;31mred\u{1b}[0m a\u{1b}_pi:c\u{7}\u{1b}[7mb\u{1b}[27m");
        assert_eq!(line.plain(), "red ab");
        assert_eq!((line.spans[0].style.role, line.spans[0].style.bold), (ColorRole::Bad, true));
        assert!(line.spans[2].style.inverse);
        assert_eq!(cursor, Some(5));
        let (line, _) = parse_styled("\u{1b}[38;2;1;2;3mx\u{1b}[39;1my\u{1b}[38;6;5;48;6;11mz");
        assert_eq!(line.spans[0].style.own_color, Some(Color::Rgb(1, 2, 3)));
        assert_eq!((line.spans[1].style.own_color, line.spans[1].style.bold), (None, true));
        let last = line.spans[2].style;
        assert_eq!((last.role, last.background), (ColorRole::Bad, Some(ColorRole::SelectedBg)));
    }

    #[test]
    fn no_other_sequence_reaches_the_terminal() {
        for text in [
            "\u{1b}[2Ja",
            "\u{1b}]0;title\u{7}a",
            "\u{1b}]52;c;eA==\u{1b}\\a",
            "\u{1b}ca",
            "\u{1b}[?1049ha",
            "\u{1b}P1$r\u{1b}\\a",
        ] {
            let plain = parse_styled(text).0.plain();
            assert!(plain.ends_with('a') && !plain.contains('\u{1b}'), "{text:?}: {plain:?}");
            assert!(width(&plain) <= 2, "{text:?}: {plain:?}");
        }
        for text in ["\u{1b}", "\u{1b}[", "\u{1b}]x", "\u{1b}[1", "a\u{7}\u{8}b\u{9b}2J"] {
            assert!(!parse_styled(text).0.plain().contains(|char: char| char.is_control()), "{text:?}");
        }
    }

    #[test]
    fn lines_fit_the_screen() {
        let (lines, cursor) = parse_lines(&["日本語日本語".to_owned(), "abc\u{1b}_pi:c\u{7}".to_owned()], 5);
        assert!(lines.iter().all(|line| line.width() <= 5));
        let long = "\u{1b}[1m".repeat(1 << 20) + "x";
        assert!(parse_lines(&[long], 5).0[0].is_empty(), "the end of a very long line is not read");
        assert_eq!(cursor, Some((1, 3)));
    }
}
