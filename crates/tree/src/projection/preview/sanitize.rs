//! Sanitizes text from a log for display.
//!
//! A log may contain anything that a model, a tool or a web page wrote. Control characters that a terminal would interpret,
//! and characters that change the text direction, become U+FFFD, so that they stay visible. In one line, where a name or a
//! preview stands for an entry, so do characters without any width. Color codes are removed: they are harmless and common in
//! tool output.

use std::borrow::Cow;

/// Sanitizes text of several lines. Keeps line feeds and tabs; other line ends become line feeds.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if !text.contains(|ch| is_unsafe_char(ch) && !matches!(ch, '\n' | '\t')) {
        return Cow::Borrowed(text);
    }
    let mut rest = VisibleChars(text);
    let mut out = String::with_capacity(text.len());
    while let Some(ch) = rest.next() {
        match ch {
            '\r' if rest.0.starts_with('\n') => {}
            '\r' => out.push('\n'),
            '\n' | '\t' => out.push(ch),
            _ => out.push(visible_char(ch)),
        }
    }
    Cow::Owned(out)
}

/// Sanitizes text into one line of at most `max` characters. Each run of white space becomes one space.
pub fn one_line(text: &str, max: usize) -> String {
    let mut line = String::with_capacity(text.len().min(max));
    let (mut count, mut gap, mut before) = (0, false, ' ');
    let mut rest = VisibleChars(text);
    while count < max {
        let plain = &rest.0[..plain_line_len(rest.0, max - count - usize::from(gap))];
        if let Some(last) = plain.chars().last() {
            if std::mem::take(&mut gap) {
                line.push(' ');
                count += 1;
            }
            line.push_str(plain);
            (count, before) = (count + plain.len(), last);
            rest.0 = &rest.0[plain.len()..];
            continue;
        }
        let Some(ch) = rest.next() else { break };
        let joins = joins_to(before, ch);
        before = ch;
        if ch.is_whitespace() {
            gap = count > 0;
            continue;
        }
        if count + usize::from(gap) >= max {
            break;
        }
        if std::mem::take(&mut gap) {
            line.push(' ');
            count += 1;
        }
        let is_invisible = has_no_width(ch) && !joins;
        line.push(if is_invisible { char::REPLACEMENT_CHARACTER } else { visible_char(ch) });
        count += 1;
    }
    line
}

/// The length of the part at the start that is one line as it is: printable ASCII with single spaces, at most `max` bytes.
fn plain_line_len(text: &str, max: usize) -> usize {
    let bytes = &text.as_bytes()[..text.len().min(max)];
    let (mut start, mut before) = (0, b' ');
    // Most texts are plain, and whole blocks can be compared at once.
    while let Some(block) = bytes[start..].first_chunk::<16>() {
        let is_printable = block.iter().fold(true, |all, byte| all & matches!(byte, b' '..=b'~'));
        let pairs = block.iter().zip(&block[1..]);
        let is_double = pairs.fold(false, |any, (one, next)| any | (*one == b' ') & (*next == b' '));
        if !is_printable || is_double || before == b' ' && block[0] == b' ' {
            break;
        }
        (start, before) = (start + block.len(), block[block.len() - 1]);
    }
    let mut end = if before == b' ' { start.saturating_sub(1) } else { start };
    for (at, byte) in bytes.iter().enumerate().skip(start) {
        match byte {
            b'!'..=b'~' => end = at + 1,
            b' ' if before != b' ' => {}
            _ => break,
        }
        before = *byte;
    }
    end
}

/// A character that takes no space, so that two different lines look the same.
fn has_no_width(ch: char) -> bool {
    matches!(ch,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{2065}' | '\u{206A}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}'
        | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Joiners and variation selectors are ordinary in emoji and in some scripts, and suspicious after other text.
fn joins_to(before: char, ch: char) -> bool {
    match ch {
        '\u{200C}' | '\u{200D}' => !before.is_ascii() && !has_no_width(before) || before == '\u{FE0F}',
        '\u{FE0E}' | '\u{FE0F}' => {
            !before.is_ascii() && !has_no_width(before) || matches!(before, '0'..='9' | '#' | '*')
        }
        _ => false,
    }
}

fn visible_char(ch: char) -> char {
    if is_unsafe_char(ch) { char::REPLACEMENT_CHARACTER } else { ch }
}

/// A control character, or one that changes the text direction.
pub fn is_unsafe_char(ch: char) -> bool {
    ch.is_control()
        || matches!(ch, '\u{2028}' | '\u{2029}')
        || matches!(ch, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// The characters of a text, without color codes.
struct VisibleChars<'a>(&'a str);

impl Iterator for VisibleChars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        while let Some(behind) = strip_color_code(self.0) {
            self.0 = behind;
        }
        let ch = self.0.chars().next()?;
        self.0 = &self.0[ch.len_utf8()..];
        Some(ch)
    }
}

fn strip_color_code(text: &str) -> Option<&str> {
    let code = text.strip_prefix("\x1b[")?;
    code.trim_start_matches(|ch: char| ch.is_ascii_digit() || matches!(ch, ';' | ':')).strip_prefix('m')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn control_characters_become_visible_replacements() {
        assert_eq!(
            sanitize("a\x1b]0;title\x07b\u{9b}2J\u{202e}c"),
            "a\u{fffd}]0;title\u{fffd}b\u{fffd}2J\u{fffd}c"
        );
        assert_eq!(sanitize("one\r\ntwo\rthree\tfour"), "one\ntwo\nthree\tfour");
        assert!(matches!(sanitize("plain\n\ttext é 🚀"), Cow::Borrowed(_)));
    }

    #[test]
    fn only_color_codes_are_removed() {
        assert_eq!(sanitize("\x1b[1;31mred\x1b[0m \x1b[38:5:1mx\x1b[m"), "red x");
        assert_eq!(one_line("\x1b[31mred\x1b[2J", 80), "red\u{fffd}[2J");
        assert_eq!(one_line("\x1b[31", 80), "\u{fffd}[31");
    }

    #[test]
    fn one_line_collapses_white_space_and_counts_characters() {
        assert_eq!(one_line("  a \n\n\t b\u{2028}c  ", 80), "a b c");
        assert_eq!(one_line("äöü xyz", 3), "äöü");
        assert_eq!(one_line("äöü xyz", 4), "äöü");
        assert_eq!(one_line("äöü xyz", 5), "äöü x");
        assert_eq!(one_line("abc", 0), "");
    }

    /// Two names must not look the same and differ.
    #[test]
    fn a_line_has_no_character_without_width() {
        for ch in [
            '\u{200b}',
            '\u{ad}',
            '\u{2060}',
            '\u{feff}',
            '\u{200e}',
            '\u{3164}',
            '\u{e0041}',
            '\u{200d}',
            '\u{fe0f}',
        ] {
            assert_eq!(one_line(&format!("a{ch}b"), 80), "a\u{fffd}b", "{ch:?}");
        }
        for ordinary in [
            "👨\u{200d}👩\u{200d}👧",
            "❤\u{fe0f}",
            "🏳\u{fe0f}\u{200d}🌈",
            "1\u{fe0f}\u{20e3}",
            "می\u{200c}خواهم",
            "क्\u{200d}ष",
        ] {
            assert_eq!(one_line(ordinary, 80), ordinary);
        }
        assert_eq!(
            one_line("👩\u{200d}\u{200d}x", 80),
            "👩\u{200d}\u{fffd}x",
            "a second joiner joins nothing"
        );
    }

    /// [`one_line`], one character after the other.
    fn one_line_by_characters(text: &str, max: usize) -> String {
        let (mut line, mut gap, mut before) = (Vec::new(), false, ' ');
        for ch in VisibleChars(text) {
            let joins = joins_to(before, ch);
            before = ch;
            if ch.is_whitespace() {
                gap = !line.is_empty();
                continue;
            }
            if line.len() + usize::from(gap) >= max {
                break;
            }
            line.extend(std::mem::take(&mut gap).then_some(' '));
            let is_invisible = has_no_width(ch) && !joins;
            line.push(if is_invisible { char::REPLACEMENT_CHARACTER } else { visible_char(ch) });
        }
        line.into_iter().collect()
    }

    proptest! {
        #[test]
        fn plain_text_is_copied_as_its_characters_are(
            text in prop_oneof!["([a-c]{1,9}| |  |\\n){0,30}", "( |\\PC|[a-c]{1,4}|  |\\n|\u{1b}\\[1m|\u{200d}|❤|\u{fe0f}){0,30}"],
            max in 0usize..60,
        ) {
            prop_assert_eq!(one_line(&text, max), one_line_by_characters(&text, max));
        }

        #[test]
        fn no_unsafe_character_remains(text in any::<String>(), max in 0usize..40) {
            prop_assert!(!sanitize(&text).contains(|ch| is_unsafe_char(ch) && !matches!(ch, '\n' | '\t')));
            let line = one_line(&text, max);
            prop_assert!(!line.contains(is_unsafe_char));
            prop_assert!(line.chars().count() <= max);
        }
    }
}
