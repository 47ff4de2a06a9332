//! Reads a unified diff.

/// What a row of a diff is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowKind {
    Context,
    Added,
    Removed,
    /// Lines between two hunks are left out.
    Gap,
    /// A line that is not part of the text, such as `\ No newline at end of file`.
    Note,
}

/// A row of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DiffRow<'a> {
    pub(super) kind: RowKind,
    /// The line number: of the old text for removed lines, of the new text for others.
    pub(super) number: Option<usize>,
    /// The line number in the old text.
    pub(super) old_number: Option<usize>,
    pub(super) text: &'a str,
}

impl<'a> DiffRow<'a> {
    /// A line that is not known to be part of a hunk.
    pub(super) fn unnumbered(line: &'a str) -> DiffRow<'a> {
        let is_name = line.starts_with("+++ ") || line.starts_with("--- ");
        let kind = match line.as_bytes().first() {
            Some(b'+') if !is_name => RowKind::Added,
            Some(b'-') if !is_name => RowKind::Removed,
            Some(b' ') | None => RowKind::Context,
            _ => RowKind::Note,
        };
        let text = if kind == RowKind::Note { line } else { line.get(1..).unwrap_or_default() };
        DiffRow { kind, number: None, old_number: None, text }
    }
}

/// The rows of a diff. The names of the files are left out if hunks follow: they stand above every diff.
pub(super) fn parse_rows(diff: &str) -> Vec<DiffRow<'_>> {
    let mut rows: Vec<DiffRow<'_>> = Vec::new();
    let mut hunk: Option<HunkPosition> = None;
    let mut lines = diff.split('\n').peekable();
    while let Some(text) = lines.next() {
        let is_file = text.starts_with("--- ")
            && lines.peek().is_some_and(|next| next.starts_with("+++ "))
            && hunk.as_ref().is_none_or(HunkPosition::is_complete);
        if is_file {
            lines.next();
            continue;
        }
        // The lines of a hunk have a sign, so this is a header even if the counts of the last hunk were wrong.
        if let Some(next) = HunkPosition::parse(text) {
            if !rows.is_empty() {
                rows.push(DiffRow { kind: RowKind::Gap, number: None, old_number: None, text: "" });
            }
            hunk = Some(next);
            continue;
        }
        let note = DiffRow { kind: RowKind::Note, number: None, old_number: None, text };
        rows.push(hunk.as_mut().and_then(|hunk| hunk.next_row(text)).unwrap_or(note));
    }
    rows
}

/// The next lines of a hunk and how many are left.
#[derive(Debug)]
struct HunkPosition {
    old: usize,
    new: usize,
    old_left: usize,
    new_left: usize,
}

impl HunkPosition {
    /// Parses `@@ -1,9 +1,12 @@`.
    fn parse(line: &str) -> Option<HunkPosition> {
        let mut parts = line.strip_prefix("@@ -")?.split(' ');
        let (old, new) = (parts.next()?, parts.next()?.strip_prefix('+')?);
        let range = |text: &str| {
            let (start, count) = text.split_once(',').unwrap_or((text, "1"));
            Some((start.parse().ok()?, count.parse().ok()?))
        };
        let ((old, old_left), (new, new_left)) = (range(old)?, range(new)?);
        Some(HunkPosition { old, new, old_left, new_left })
    }

    fn is_complete(&self) -> bool {
        self.old_left == 0 && self.new_left == 0
    }

    /// The row of a line; `None` if it is not part of the hunk.
    fn next_row<'a>(&mut self, line: &'a str) -> Option<DiffRow<'a>> {
        let sign = line.as_bytes().first().copied();
        let kind = match sign {
            Some(b'+') if self.new_left > 0 => RowKind::Added,
            Some(b'-') if self.old_left > 0 => RowKind::Removed,
            Some(b' ') | None if self.old_left > 0 && self.new_left > 0 => RowKind::Context,
            _ => return None,
        };
        let (old, new) = (self.old, self.new);
        if kind != RowKind::Added {
            self.old += 1;
            self.old_left -= 1;
        }
        if kind != RowKind::Removed {
            self.new += 1;
            self.new_left -= 1;
        }
        let number = if kind == RowKind::Removed { old } else { new };
        Some(DiffRow {
            kind,
            number: Some(number),
            old_number: Some(old),
            text: line.get(1..).unwrap_or_default(),
        })
    }
}
