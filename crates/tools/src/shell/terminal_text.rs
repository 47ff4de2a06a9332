//! Converts output to the text that a terminal would show: removes colors, other escape sequences and control characters, and
//! keeps only the last version of overwritten lines.

/// The text that a terminal would show.
pub(super) fn terminal_text(text: &str) -> String {
    let without = strip_escapes(text);
    let mut lines = String::with_capacity(without.len());
    for line in without.split_inclusive('\n') {
        let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
        let body = body.trim_end_matches('\r');
        let last = body.rsplit('\r').find(|part| !part.is_empty()).unwrap_or_default();
        lines.extend(last.chars().filter(|c| !c.is_control() || *c == '\t'));
        lines.push_str(end);
    }
    lines
}

fn strip_escapes(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        kept.push_str(&rest[..at]);
        rest = &rest[at + escape_length(&rest[at..])..];
    }
    kept.push_str(rest);
    kept
}

/// The length in bytes of the escape sequence at the start of `text`.
fn escape_length(text: &str) -> usize {
    let body = &text[1..];
    let ended = |end: Option<usize>| end.map_or(text.len(), |at| at + 1);
    match body.chars().next() {
        // Control sequences end with a character from `@` to `~`; a line feed also ends them.
        Some('[') => match body[1..].find(|c: char| matches!(c, '@'..='~' | '\n')) {
            Some(at) if body[1..][at..].starts_with('\n') => at + 2,
            found => ended(found.map(|at| at + 2)),
        },
        // Terminal strings (titles, links) end with BEL or ESC \.
        Some(']' | 'P' | '^' | '_' | 'X') => {
            let bell = body.find('\u{7}').map(|at| at + 2);
            let terminator = body.find("\u{1b}\\").map(|at| at + 3);
            bell.into_iter().chain(terminator).min().unwrap_or(1)
        }
        Some('(' | ')' | '*' | '+' | '#' | '%') => 2 + body[1..].chars().next().map_or(0, char::len_utf8),
        Some(c) if c.is_ascii() && !c.is_ascii_control() => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_titles_and_links_are_removed() {
        assert_eq!(terminal_text("\u{1b}[1;31mred\u{1b}[0m \u{1b}[38;5;12mblue\u{1b}[m"), "red blue");
        assert_eq!(terminal_text("\u{1b}]0;title\u{7}text\u{1b}(B!"), "text!");
        assert_eq!(terminal_text("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\"), "link");
        assert_eq!(terminal_text("\u{1b}7a\u{1b}8b\u{1b}"), "ab");
    }

    #[test]
    fn overwritten_line_is_shown_once() {
        assert_eq!(terminal_text("10%\r50%\r100%\ndone\r\n"), "100%\ndone\n");
        assert_eq!(terminal_text("a\r\r\nb\r"), "a\nb");
    }

    #[test]
    fn broken_escape_sequence_removes_only_itself() {
        assert_eq!(terminal_text("\u{1b}[31\nnext"), "\nnext");
        assert_eq!(terminal_text("\u{1b}]unterminated title"), "]unterminated title");
        assert_eq!(terminal_text("a\u{0}b\u{8}c\u{1b}é"), "abcé");
        assert_eq!(terminal_text("\u{1b}["), "");
    }
}
