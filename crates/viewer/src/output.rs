//! Long plain text and code. The beginning is shown; the rest is folded, in pieces that a browser lays out one by one.

use maud::{Markup, PreEscaped, html};
use osier_highlight::{Highlighter, TokenClass};

use crate::text::{beginning, push_text};

/// How much of a text is open at first.
const MAX_OPEN: usize = 24 * 1024;
/// The size of the pieces of the rest.
const PIECE: usize = 32 * 1024;

/// Text in a fixed-width font.
pub(crate) fn plain_block(text: &str) -> Markup {
    let (open, rest) = split(text);
    html! {
        pre { code { (PreEscaped(crate::text::escaped(open))) } }
        (folded_rest(rest))
    }
}

/// Code. Its beginning is highlighted.
pub(crate) fn code_block(code: &str, language: &str) -> Markup {
    let code = code.strip_suffix('\n').unwrap_or(code);
    let (open, rest) = split(code);
    html! {
        pre { code { (PreEscaped(highlighted(open, language))) } }
        (folded_rest(rest))
    }
}

/// Code as escaped markup with classes.
pub(crate) fn highlighted(code: &str, language: &str) -> String {
    let mut out = String::with_capacity(code.len() + code.len() / 2);
    let mut highlighter = Highlighter::new(language);
    for (number, line) in code.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        highlighter.line(line, |class, token| push_token(&mut out, class, token));
    }
    out
}

fn push_token(out: &mut String, class: TokenClass, token: &str) {
    let css = match class {
        TokenClass::Plain => return push_text(out, token),
        TokenClass::Comment => "t-comment",
        TokenClass::Literal => "t-literal",
        TokenClass::Number => "t-number",
        TokenClass::Keyword => "t-keyword",
        TokenClass::Type => "t-type",
        TokenClass::Function => "t-function",
        TokenClass::Property => "t-property",
    };
    out.push_str("<span class=\"");
    out.push_str(css);
    out.push_str("\">");
    push_text(out, token);
    out.push_str("</span>");
}

/// Splits a long text, after a line if one ends near the limit.
pub(crate) fn split(text: &str) -> (&str, &str) {
    if text.len() <= MAX_OPEN + MAX_OPEN / 2 {
        return (text, "");
    }
    let open = beginning(text, MAX_OPEN);
    let end = open.rfind('\n').filter(|end| *end > MAX_OPEN / 2).map_or(open.len(), |end| end + 1);
    text.split_at(end)
}

/// The rest of a long text, folded.
pub(crate) fn folded_rest(rest: &str) -> Markup {
    html! {
        @if !rest.is_empty() {
            details.rest {
                summary { "Show all (" (size(rest.len())) " more)" }
                @for piece in pieces(rest) {
                    pre.piece { code { (PreEscaped(crate::text::escaped(piece))) } }
                }
            }
        }
    }
}

fn pieces(mut rest: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let piece = beginning(rest, PIECE);
        let end = piece.rfind('\n').filter(|_| piece.len() < rest.len()).map_or(piece.len(), |end| end + 1);
        let (piece, remaining) = rest.split_at(end);
        pieces.push(piece.strip_suffix('\n').unwrap_or(piece));
        rest = remaining;
    }
    pieces
}

/// A number of bytes for people.
pub(crate) fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_complete_and_mostly_folded() {
        let line = "x".repeat(10_000_000);
        let markup = plain_block(&line).into_string();
        assert_eq!(markup.matches('x').count(), 10_000_000);
        let open = markup.split("<details").next().unwrap_or_default();
        assert!(open.len() < MAX_OPEN + 100, "{}", open.len());
        assert!(markup.contains("Show all (10.0 MB more)"));
    }

    #[test]
    fn a_long_text_is_cut_between_lines() {
        let text = "0123456789\n".repeat(10_000);
        let (open, rest) = split(&text);
        assert!(open.ends_with('\n') && rest.starts_with('0'));
        assert!(pieces(rest).iter().all(|piece| piece.starts_with('0') && piece.ends_with('9')));
        assert_eq!(split("short"), ("short", ""));
    }

    #[test]
    fn highlighted_code_is_escaped() {
        assert_eq!(highlighted("if <b>", "rust"), "<span class=\"t-keyword\">if</span> &lt;b&gt;");
        assert_eq!(
            highlighted("\"</span>\"", "rust"),
            "<span class=\"t-literal\">&quot;&lt;/span&gt;&quot;</span>"
        );
    }
}
