//! Diffs in the unified format, with line numbers.

use maud::{Markup, PreEscaped, html};

use crate::output::{folded_rest, split};
use crate::text::escaped;

/// A diff, line by line.
pub(crate) fn diff_block(diff: &str) -> Markup {
    let (open, rest) = split(diff);
    let mut numbers = LineNumbers::default();
    let lines = open.strip_suffix('\n').unwrap_or(open).split('\n');
    html! {
        div.diff role="group" aria-label="diff" {
            @for line in lines { (numbers.render(line)) }
        }
        (folded_rest(rest))
    }
}

/// What replaced what, if there is no diff: the old lines, then the new ones.
pub(crate) fn replacement(old: &str, new: &str) -> Markup {
    let lines = |sign: &str, text: &str| -> String {
        let text = text.strip_suffix('\n').unwrap_or(text);
        match text.is_empty() {
            true => String::new(),
            false => text.split('\n').map(|line| format!("{sign}{line}\n")).collect(),
        }
    };
    diff_block(&(lines("-", old) + &lines("+", new)))
}

/// How the lines before the first hunk of a file start.
const FILE_HEADERS: [&str; 11] = [
    "--- ",
    "+++ ",
    "diff --git ",
    "index ",
    "new file mode ",
    "deleted file mode ",
    "old mode ",
    "new mode ",
    "similarity index ",
    "rename ",
    "Binary files ",
];

/// The numbers of the next old and new lines. Zero until a hunk names them.
#[derive(Debug, Default)]
struct LineNumbers {
    old: u64,
    new: u64,
}

impl LineNumbers {
    fn render(&mut self, line: &str) -> Markup {
        if line.starts_with("diff --git ") {
            *self = LineNumbers::default();
        }
        let is_header = FILE_HEADERS.iter().any(|start| line.starts_with(start));
        let (class, number) = match line.as_bytes().first() {
            Some(b'@') => {
                (self.old, self.new) = hunk_starts(line).unwrap_or((self.old, self.new));
                ("hunk", 0)
            }
            _ if is_header && self.new == 0 => ("file", 0),
            Some(b'+') => ("added", advance(&mut self.new)),
            Some(b'-') => ("removed", advance(&mut self.old)),
            _ => {
                advance(&mut self.old);
                ("same", advance(&mut self.new))
            }
        };
        html! {
            div class=(class) {
                span.number { @if number > 0 { (number) } }
                code { (PreEscaped(escaped(line))) }
            }
        }
    }
}

/// Returns the number and increments it, if it is known.
fn advance(number: &mut u64) -> u64 {
    let before = *number;
    if before > 0 {
        *number = before.saturating_add(1);
    }
    before
}

/// The first old and new line of `@@ -1,4 +1,5 @@`.
fn hunk_starts(line: &str) -> Option<(u64, u64)> {
    let start = |sign: char| {
        let word = line.split(' ').find_map(|word| word.strip_prefix(sign))?;
        word.split(',').next()?.parse::<u64>().ok()
    };
    Some((start('-')?, start('+')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(diff: &str) -> Vec<String> {
        let markup = diff_block(diff).into_string();
        let rows = markup.split("<div class=\"").skip(2);
        rows.map(|row| row.replace("</span><code>", "|").replace("\"><span class=\"number\">", "|")).collect()
    }

    #[test]
    fn lines_have_a_class_and_a_number() {
        let rows = rows("--- a\n+++ b\n@@ -3,2 +3,3 @@\n same\n-old <b>\n+new\n+more");
        let starts = [
            "file||--- a",
            "file||+++ b",
            "hunk||@@ -3",
            "same|3| same",
            "removed|4|-old &lt;b&gt;",
            "added|4|+new",
            "added|5|+more",
        ];
        for (row, start) in rows.iter().zip(starts) {
            assert!(row.starts_with(start), "{row} {start}");
        }
        assert_eq!(rows.len(), starts.len());
    }

    #[test]
    fn a_removed_line_that_starts_with_dashes_is_not_a_header() {
        assert!(rows("@@ -1 +1 @@\n--- a\n+++ b")[1].starts_with("removed|1|--- a"));
    }

    #[test]
    fn a_replacement_shows_old_and_new_lines() {
        let markup = replacement("a\n", "b\nc\n").into_string();
        assert_eq!((markup.matches("removed").count(), markup.matches("added").count()), (1, 2));
    }
}
