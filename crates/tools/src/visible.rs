//! Escapes text for approval questions, so that the user sees exactly what is there. Control characters, invisible characters and
//! blanks that look like a space are written as codes such as `<U+200B>`. As far as code points can tell, different texts look
//! different.

use std::fmt::Write;

use unicode_width::UnicodeWidthChar;

/// The most combining marks after a letter; no living language needs more.
const MAX_MARKS: usize = 3;

/// Escapes text with several lines. Keeps line feeds and tabs.
pub fn visible(text: &str) -> String {
    escape(text, |ch| matches!(ch, '\n' | '\t'))
}

/// Escapes a name, a path or a command as a single line.
pub fn visible_line(text: &str) -> String {
    escape(text, |_| false)
}

fn escape(text: &str, stays: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    // How many combining marks may follow.
    let mut marks = 0_usize;
    for (at, ch) in text.char_indices() {
        let is_mark = ch.width() == Some(0);
        // A literal code in the text must not look like an escape.
        let is_code = text[at..].starts_with("<U+");
        if !stays(ch) && (is_hidden(ch) || is_code || is_mark && marks == 0) {
            write!(out, "<U+{:04X}>", u32::from(ch)).expect("writing to a String cannot fail");
            marks = 0;
            continue;
        }
        out.push(ch);
        marks = match is_mark {
            true => marks.saturating_sub(1),
            false if ch.is_alphanumeric() => MAX_MARKS,
            false => 0,
        };
    }
    out
}

/// Whether a character is a control character, a blank other than the space, ignored by default, private use or a noncharacter.
pub fn is_hidden(ch: char) -> bool {
    ch.is_control()
        || ch.is_whitespace() && ch != ' '
        || u32::from(ch) & 0xFFFE == 0xFFFE
        || matches!(ch,
            '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}'..='\u{11FF}' | '\u{17B4}' | '\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{2800}' | '\u{3164}' | '\u{D7B0}'..='\u{D7FF}'
            | '\u{E000}'..='\u{F8FF}' | '\u{FDD0}'..='\u{FDEF}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
            | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFC}' | '\u{13430}'..='\u{1345F}' | '\u{16FE4}'
            | '\u{1BCA0}'..='\u{1BCAF}' | '\u{1D159}' | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{10FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_written_as_codes() {
        let hidden = "\0\x07\r\x1b\x7f\u{80}\u{9b}\u{a0}\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{1680}\u{17b4}\u{180e}\u{2003}\u{200b}\
            \u{200c}\u{200d}\u{200e}\u{200f}\u{2028}\u{2029}\u{202e}\u{202f}\u{2060}\u{2066}\u{2069}\u{206f}\u{2800}\u{3000}\u{3164}\
            \u{e000}\u{fe0f}\u{feff}\u{ffa0}\u{fff9}\u{ffff}\u{1d159}\u{1d173}\u{e0001}\u{e0041}\u{e007f}\u{e0100}\u{f0000}\u{10fffd}";
        for ch in hidden.chars() {
            let expected = format!("a<U+{:04X}>b", u32::from(ch));
            assert_eq!(visible(&format!("a{ch}b")), expected);
            assert_eq!(visible_line(&format!("a{ch}b")), expected);
        }
    }

    #[test]
    fn ordinary_text_in_any_language_is_unchanged() {
        for text in ["a\tb\nc d", "größe e\u{301} 日本，語 ภาษาที่ हिन्दी שָׁלוֹם 🎉 → ✔ <U> <u+200b>"]
        {
            assert_eq!(visible(text), text);
        }
        assert_eq!(visible_line("a\tb\nc"), "a<U+0009>b<U+000A>c");
    }

    #[test]
    fn literal_code_is_escaped() {
        assert_eq!(visible("<U+200B>"), "<U+003C>U+200B>");
    }

    #[test]
    fn combining_marks_without_a_letter_or_too_many_are_codes() {
        assert_eq!(visible(" \u{301}/\u{338}"), " <U+0301>/<U+0338>");
        assert_eq!(visible(&format!("a{}", "\u{301}".repeat(5))), "a\u{301}\u{301}\u{301}<U+0301><U+0301>");
    }
}
