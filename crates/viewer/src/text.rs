//! Escaped text. Characters that people cannot see, and those that change the direction of text, are drawn as codes.

use std::fmt::Write;

use osier_protocol::is_hidden;

/// Appends text of several lines. Line feeds and tabs stay; color codes of terminals are dropped.
pub(crate) fn push_text(out: &mut String, text: &str) {
    let mut plain_from = 0;
    let mut characters = text.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, ch)) = characters.next() {
        let after = characters.peek().map_or(' ', |(_, next)| *next);
        let length = match ch {
            '\x1b' => color_code(&text[at..]),
            _ if needs_markup(ch) && !joins(before, ch, after) => ch.len_utf8(),
            _ => 0,
        };
        before = ch;
        if length == 0 && ch != '\x1b' {
            continue;
        }
        out.push_str(&text[plain_from..at]);
        if length > ch.len_utf8() {
            while characters.next_if(|(next, _)| *next < at + length).is_some() {}
            plain_from = at + length;
        } else {
            push_char(out, ch, after);
            plain_from = at + ch.len_utf8();
        }
    }
    out.push_str(&text[plain_from..]);
}

/// The text as escaped markup.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    push_text(&mut out, text);
    out
}

/// One line of text as escaped markup: line feeds and tabs are drawn as codes too.
pub(crate) fn escaped_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive(['\n', '\t']) {
        let plain = piece.trim_end_matches(['\n', '\t']);
        push_text(&mut out, plain);
        piece[plain.len()..].chars().for_each(|ch| push_code(&mut out, ch));
    }
    out
}

fn needs_markup(ch: char) -> bool {
    match ch {
        '&' | '<' | '>' | '"' | '\'' | '\r' => true,
        ' '..='~' | '\n' | '\t' => false,
        // The ideographic space is ordinary in Chinese and Japanese, the no-break spaces in French.
        '\u{3000}' | '\u{a0}' | '\u{202f}' => false,
        _ => is_hidden(ch),
    }
}

/// Joiners and variation selectors are ordinary inside emoji and in some scripts, and suspicious elsewhere.
fn joins(before: char, ch: char, after: char) -> bool {
    let is_pictograph =
        |ch: char| ('\u{2190}'..='\u{2bff}').contains(&ch) || ('\u{1f000}'..'\u{e0000}').contains(&ch);
    let is_emoji_part = |ch: char| is_pictograph(ch) || ch == '\u{fe0f}';
    let is_script = |ch: char| ch.is_alphabetic() && ('\u{600}'..='\u{1cff}').contains(&ch);
    let is_virama = |ch: char| ('\u{900}'..='\u{dff}').contains(&ch);
    match ch {
        '\u{fe0f}' | '\u{fe0e}' => {
            is_pictograph(before) || matches!(before, '0'..='9' | '#' | '*' | '©' | '®')
        }
        '\u{200d}' if is_emoji_part(before) => is_pictograph(after),
        '\u{200c}' | '\u{200d}' => (is_script(before) || is_virama(before)) && is_script(after),
        _ => false,
    }
}

/// The length of a color code at the start of the text; 0 if there is none.
fn color_code(text: &str) -> usize {
    let Some(code) = text.strip_prefix("\x1b[") else { return 0 };
    let rest = code.trim_start_matches(|ch: char| ch.is_ascii_digit() || matches!(ch, ';' | ':'));
    if rest.starts_with('m') { text.len() - rest.len() + 1 } else { 0 }
}

fn push_char(out: &mut String, ch: char, after: char) {
    match ch {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        '\'' => out.push_str("&#39;"),
        '\r' if after == '\n' => {}
        _ => push_code(out, ch),
    }
}

fn push_code(out: &mut String, ch: char) {
    write!(out, "<span class=\"code-point\">U+{:04X}</span>", u32::from(ch))
        .expect("writing to a String cannot fail");
}

/// The longest beginning of a text with at most `max` bytes.
pub(crate) fn beginning(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markup_is_escaped() {
        assert_eq!(escaped("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
    }

    #[test]
    fn hidden_characters_are_codes() {
        let code = |number: &str| format!("a<span class=\"code-point\">U+{number}</span>b");
        for (hidden, number) in [
            ("\u{202e}", "202E"),
            ("\u{200b}", "200B"),
            ("\u{2066}", "2066"),
            ("\0", "0000"),
            ("\x1b", "001B"),
            ("\r", "000D"),
            ("\u{200d}", "200D"),
            ("\u{fe0f}", "FE0F"),
            ("\u{e0041}", "E0041"),
            ("\u{feff}", "FEFF"),
            ("\u{2028}", "2028"),
        ] {
            assert_eq!(escaped(&format!("a{hidden}b")), code(number));
        }
        assert_eq!(escaped_line("a\nb"), code("000A"));
    }

    #[test]
    fn ordinary_text_in_any_script_is_unchanged() {
        for text in ["a\tb\nc", "größe 日本　語 ภาษา שָׁלוֹם", "👨‍👩‍👧 ❤️ 1️⃣", "می‌خواهم", "क्‍ष"]
        {
            assert_eq!(escaped(text), text);
        }
        assert_eq!(escaped("a\r\nb"), "a\nb");
        assert_eq!(escaped("\x1b[1;31mred\x1b[0m"), "red");
    }

    #[test]
    fn a_beginning_ends_between_characters() {
        assert_eq!(beginning("äöü", 3), "ä");
        assert_eq!(beginning("abc", 9), "abc");
    }

    proptest! {
        #[test]
        fn no_markup_and_no_hidden_character_remains(text in any::<String>()) {
            let out = escaped(&text);
            let without_codes = out.replace("<span class=\"code-point\">", "").replace("</span>", "");
            prop_assert!(!without_codes.contains(['<', '>', '"', '\'']));
            prop_assert!(!out.contains(|ch: char| ch.is_control() && !matches!(ch, '\n' | '\t')));
            let changes_direction = |ch| matches!(ch, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            prop_assert!(!out.contains(changes_direction));
        }
    }
}
