//! Makes streamed text safe for a terminal, even if an escape sequence is split between two pieces.

use super::preview::sanitize;

/// Replaces control characters in streamed text.
#[derive(Debug, Default)]
pub struct StreamSanitizer {
    /// The start of a possibly incomplete escape sequence.
    held: String,
}

impl StreamSanitizer {
    /// Adds a piece, and returns the text that can be shown now.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let open = incomplete_tail(&self.held);
        let shown = sanitize(&self.held[..open]).into_owned();
        self.held.drain(..open);
        shown
    }

    /// The remaining text, at the end of the stream.
    pub fn finish(&mut self) -> String {
        sanitize(&std::mem::take(&mut self.held)).into_owned()
    }
}

/// The start of a trailing line ending or color code that may be incomplete. Codes are short, so little text is held back.
fn incomplete_tail(text: &str) -> usize {
    let last = text.rfind(['\r', '\u{1b}']).filter(|at| text.len() - at < 24);
    let is_open = |at: &usize| {
        let tail = &text[*at + 1..];
        let code = tail.strip_prefix('[').unwrap_or(tail);
        tail.is_empty()
            || text[*at..].starts_with("\u{1b}[")
                && code.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b';' | b':'))
    };
    last.filter(is_open).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_give_the_same_result_as_the_whole_text() {
        let text = "one\r\ntwo \u{1b}[1;31mred\u{1b}[0m \u{1b}]0;owned\u{7} é\r end\u{1b}[2J\u{1b}";
        for size in 1..8 {
            let (mut sanitizer, mut shown) = (StreamSanitizer::default(), String::new());
            let letters: Vec<char> = text.chars().collect();
            for piece in letters.chunks(size) {
                shown += &sanitizer.push(&piece.iter().collect::<String>());
            }
            shown += &sanitizer.finish();
            assert_eq!(shown, sanitize(text), "pieces of {size}");
        }
    }

    #[test]
    fn only_incomplete_codes_are_held_back() {
        let mut sanitizer = StreamSanitizer::default();
        assert_eq!(sanitizer.push("at once"), "at once");
        assert_eq!(sanitizer.push("a\u{1b}[3"), "a");
        assert_eq!(sanitizer.push("1mred"), "red");
        assert_eq!(sanitizer.push(&format!("\u{1b}[{}", "1;".repeat(20))).chars().next(), Some('\u{fffd}'));
    }
}
