//! Text that arrives in pieces, made harmless for a terminal: a code cut in two is still seen as one.

use osier_tree::projection::preview::sanitize;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Clean {
    /// The beginning of something that cannot be judged yet.
    held: String,
}

impl Clean {
    /// What of this piece, and of what was held back before, can be shown now.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let open = open_end(&self.held);
        let shown = sanitize(&self.held[..open]).into_owned();
        self.held.drain(..open);
        shown
    }

    /// What is left when nothing more comes.
    pub(crate) fn end(&mut self) -> String {
        sanitize(&std::mem::take(&mut self.held)).into_owned()
    }
}

/// Where the part begins that may be only half of a line end or of a colour code. A code is short, so little is held.
fn open_end(text: &str) -> usize {
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
    fn the_pieces_show_what_the_whole_would() {
        let text = "one\r\ntwo \u{1b}[1;31mred\u{1b}[0m \u{1b}]0;owned\u{7} é\r end\u{1b}[2J\u{1b}";
        for size in 1..8 {
            let (mut clean, mut shown) = (Clean::default(), String::new());
            let letters: Vec<char> = text.chars().collect();
            for piece in letters.chunks(size) {
                shown += &clean.push(&piece.iter().collect::<String>());
            }
            shown += &clean.end();
            assert_eq!(shown, sanitize(text), "pieces of {size}");
        }
    }

    #[test]
    fn nothing_but_half_a_code_waits() {
        let mut clean = Clean::default();
        assert_eq!(clean.push("at once"), "at once");
        assert_eq!(clean.push("a\u{1b}[3"), "a");
        assert_eq!(clean.push("1mred"), "red");
        assert_eq!(clean.push(&format!("\u{1b}[{}", "1;".repeat(20))).chars().next(), Some('\u{fffd}'));
    }
}
