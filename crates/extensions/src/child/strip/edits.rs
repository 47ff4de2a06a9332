//! Changes of a text that keep its lines.

/// A part of the text and what replaces it.
#[derive(Debug)]
struct Edit {
    start: usize,
    end: usize,
    text: String,
}

/// Edits of one source. They must not overlap.
#[derive(Debug)]
pub(super) struct Edits<'s> {
    source: &'s str,
    edits: Vec<Edit>,
}

impl<'s> Edits<'s> {
    pub(super) fn new(source: &'s str) -> Edits<'s> {
        Edits { source, edits: Vec::new() }
    }

    pub(super) fn source(&self) -> &'s str {
        self.source
    }

    /// Replaces a part by spaces. Line ends stay.
    pub(super) fn erase(&mut self, start: u32, end: u32) {
        let text = self.blank(start, end);
        self.push(start, end, text);
    }

    /// Replaces a statement or a class member by an empty one, so that the one before it still ends.
    pub(super) fn erase_statement(&mut self, start: u32, end: u32) {
        let mut text = self.blank(start, end);
        text.replace_range(..1, ";");
        self.push(start, end, text);
    }

    /// Replaces a part by other text. The lines after it stay where they are.
    pub(super) fn replace(&mut self, start: u32, end: u32, text: &str) {
        let lines = self.part(start, end).matches('\n').count();
        self.push(start, end, format!("{text}{}", "\n".repeat(lines)));
    }

    pub(super) fn insert(&mut self, at: u32, text: &str) {
        self.push(at, at, text.to_owned());
    }

    /// Ends a statement whose last part, a type, was erased. Without it, the next line could continue the statement.
    pub(super) fn end_statement(&mut self, end: u32) {
        let end = end as usize;
        if let Some(edit) = self.edits.iter_mut().find(|edit| edit.end == end && edit.text.ends_with(' ')) {
            edit.text.pop();
            edit.text.push(';');
        }
    }

    pub(super) fn part(&self, start: u32, end: u32) -> &'s str {
        self.source.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Where one of the characters is next.
    pub(super) fn find(&self, from: u32, wanted: &[char]) -> Option<u32> {
        let rest = self.source.get(from as usize..)?;
        Some(from + rest.find(wanted)? as u32)
    }

    pub(super) fn apply(mut self) -> String {
        self.edits.sort_by_key(|edit| edit.start);
        let (mut result, mut done) = (String::with_capacity(self.source.len()), 0);
        for edit in &self.edits {
            result.push_str(self.source.get(done..edit.start).unwrap_or_default());
            result.push_str(&edit.text);
            done = edit.end.max(done);
        }
        result.push_str(&self.source[done..]);
        result
    }

    fn blank(&self, start: u32, end: u32) -> String {
        let is_line_end = |char| matches!(char, '\n' | '\r' | '\u{2028}' | '\u{2029}');
        self.part(start, end).chars().map(|char| if is_line_end(char) { char } else { ' ' }).collect()
    }

    fn push(&mut self, start: u32, end: u32, text: String) {
        self.edits.push(Edit { start: start as usize, end: end as usize, text });
    }
}
