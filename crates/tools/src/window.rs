//! Extracts some lines from a file that is read in chunks. Memory use depends on the result, not on the size of the file.

use memchr::memchr;

/// Collects the complete lines of the window from chunks, up to the limits.
#[derive(Debug)]
pub(crate) struct LineWindow {
    first: usize,
    max_lines: usize,
    max_bytes: usize,
    /// The number of the current line, from 1.
    line: usize,
    line_bytes: u64,
    kept: Vec<u8>,
    /// The offset of the current line in `kept`.
    line_start: usize,
    state: WindowState,
    last_line: usize,
    total_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WindowState {
    Open,
    /// All requested lines are collected.
    Done,
    /// The next line would exceed the limit.
    Full,
    /// The first line alone exceeded the limit and was truncated.
    Cut,
}

/// The collected lines.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WindowText {
    /// The lines; the last one without its line feed.
    pub(crate) text: Vec<u8>,
    /// The number of the last line in `text`; less than the first line number if `text` is empty.
    pub(crate) last: usize,
    /// The number of lines in the file, or in the part that was read.
    pub(crate) total: usize,
    /// Whether `text` is only the start of one long line.
    pub(crate) cut: bool,
}

impl LineWindow {
    pub(crate) fn new(first: usize, max_lines: usize, max_bytes: usize) -> LineWindow {
        LineWindow {
            first: first.max(1),
            max_lines,
            max_bytes,
            line: 1,
            line_bytes: 0,
            kept: Vec::new(),
            line_start: 0,
            state: WindowState::Open,
            last_line: first.max(1) - 1,
            total_bytes: 0,
        }
    }

    /// Whether the window is complete, so that later chunks do not matter.
    pub(crate) fn is_closed(&self) -> bool {
        self.state != WindowState::Open
    }

    pub(crate) fn push(&mut self, mut chunk: &[u8]) {
        self.total_bytes += chunk.len() as u64;
        while !chunk.is_empty() {
            let end = memchr(b'\n', chunk);
            let (part, rest) = chunk.split_at(end.map_or(chunk.len(), |at| at + 1));
            self.collect(&part[..end.unwrap_or(part.len())]);
            self.line_bytes += part.len() as u64;
            if end.is_some() {
                self.end_line();
            }
            chunk = rest;
        }
    }

    fn collect(&mut self, part: &[u8]) {
        if self.state != WindowState::Open || self.line < self.first {
            return;
        }
        let room = (self.max_bytes + 1).saturating_sub(self.kept.len());
        self.kept.extend_from_slice(&part[..part.len().min(room)]);
        if self.kept.len() <= self.max_bytes {
            return;
        }
        if self.line == self.first {
            self.kept.truncate(floor_char_boundary(&self.kept, self.max_bytes));
            self.last_line = self.line;
            self.state = WindowState::Cut;
        } else {
            self.kept.truncate(self.line_start.saturating_sub(1));
            self.state = WindowState::Full;
        }
    }

    fn end_line(&mut self) {
        if self.state == WindowState::Open && self.line >= self.first {
            self.last_line = self.line;
            self.kept.push(b'\n');
            self.line_start = self.kept.len();
            if self.line + 1 - self.first >= self.max_lines {
                self.state = WindowState::Done;
            }
        }
        self.line += 1;
        self.line_bytes = 0;
    }

    pub(crate) fn finish(mut self) -> WindowText {
        // Text after the last line feed is another line.
        let unfinished = self.line_bytes > 0;
        let total = if unfinished { self.line } else { self.line - 1 };
        if unfinished && self.state == WindowState::Open && self.line >= self.first {
            self.last_line = self.line;
        } else if self.kept.last() == Some(&b'\n')
            && self.state != WindowState::Full
            && self.state != WindowState::Cut
        {
            self.kept.pop();
        }
        WindowText { text: self.kept, last: self.last_line, total, cut: self.state == WindowState::Cut }
    }
}

/// The last offset up to `at` that does not split a UTF-8 character.
pub(crate) fn floor_char_boundary(bytes: &[u8], at: usize) -> usize {
    let at = at.min(bytes.len());
    let inside = |at: usize| bytes.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    (at.saturating_sub(3)..=at).rev().find(|at| !inside(*at)).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str, first: usize, lines: usize, bytes: usize) -> (String, usize, usize, bool) {
        let shown = |chunk: usize| {
            let mut window = LineWindow::new(first, lines, bytes);
            text.as_bytes().chunks(chunk).for_each(|chunk| window.push(chunk));
            let window_text = window.finish();
            (
                String::from_utf8(window_text.text).expect("characters are not split"),
                window_text.last,
                window_text.total,
                window_text.cut,
            )
        };
        assert_eq!(shown(1), shown(64), "the chunk size does not matter");
        shown(3)
    }

    #[test]
    fn requested_lines_and_the_total_are_returned() {
        assert_eq!(seen("a\nb\nc\nd\n", 2, 2, 99), ("b\nc".into(), 3, 4, false));
        assert_eq!(seen("a\nb\nc", 1, 9, 99), ("a\nb\nc".into(), 3, 3, false));
        assert_eq!(seen("a\n\n", 1, 9, 99), ("a\n".into(), 2, 2, false));
        assert_eq!(seen("", 1, 9, 99), (String::new(), 0, 0, false));
        assert_eq!(seen("\n\n", 2, 9, 99), (String::new(), 2, 2, false));
        assert_eq!(seen("a\nb\n", 7, 9, 99), (String::new(), 6, 2, false));
    }

    #[test]
    fn complete_lines_up_to_the_byte_limit() {
        assert_eq!(seen("aaaa\nbbbb\ncccc\n", 1, 9, 9), ("aaaa\nbbbb".into(), 2, 3, false));
        assert_eq!(seen("aaaa\nbbbb\ncccc\n", 1, 9, 10), ("aaaa\nbbbb".into(), 2, 3, false));
        assert_eq!(seen("aaaa\nbbbb\ncccc", 1, 9, 14), ("aaaa\nbbbb\ncccc".into(), 3, 3, false));
    }

    #[test]
    fn line_longer_than_the_limit_is_cut_between_characters() {
        assert_eq!(seen("ééééé\nb\n", 1, 9, 5), ("éé".into(), 1, 2, true));
        assert_eq!(seen("a\néééééé", 2, 9, 4), ("éé".into(), 2, 2, true));
    }
}
