//! The change of a file as a unified diff.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Map, Value, json};
use similar::{Algorithm, ChangeTag, DiffTag, TextDiff};

/// Longer diffs are truncated in the details of a result. An approval question always shows the whole diff.
const MAX_DETAIL_BYTES: usize = 200 * 1024;
/// After this time a less minimal diff is used.
const DIFF_TIMEOUT: Duration = Duration::from_millis(500);

/// A unified diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Diff {
    /// Empty if nothing changed.
    pub(crate) text: String,
    /// The first changed line of the new text; for removed lines, the line that follows them.
    pub(crate) first_changed_line: Option<usize>,
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

impl Diff {
    /// Compares two texts. Only a line feed ends a line. `None` as the old text means a new file.
    pub(crate) fn new(path: &str, old: Option<&str>, new: &str) -> Diff {
        let old_lines: Vec<&str> = old.unwrap_or_default().split_inclusive('\n').collect();
        let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
        let diff = TextDiff::configure()
            .algorithm(Algorithm::Myers)
            .timeout(DIFF_TIMEOUT)
            .diff_slices(&old_lines, &new_lines);
        let path = path.trim_start_matches('/').replace('\n', "\\n");
        let from = if old.is_some() { format!("a/{path}") } else { "/dev/null".to_owned() };
        let text = unified(&diff, &from, &format!("b/{path}"));
        let first =
            diff.ops().iter().find(|op| op.tag() != DiffTag::Equal).map(|op| op.new_range().start + 1);
        let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
        let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
        Diff { text, first_changed_line: first, added, removed }
    }

    pub(crate) fn details(&self) -> Map<String, Value> {
        let mut details = Map::new();
        details.insert("diff".to_owned(), json!(truncate_diff(self.text.clone())));
        details.insert("firstChangedLine".to_owned(), json!(self.first_changed_line));
        details.insert("added".to_owned(), json!(self.added));
        details.insert("removed".to_owned(), json!(self.removed));
        details
    }
}

fn unified(diff: &TextDiff<'_, '_, str>, from: &str, to: &str) -> String {
    let mut text = String::new();
    for hunk in diff.unified_diff().iter_hunks() {
        if text.is_empty() {
            text = format!("--- {from}\n+++ {to}\n");
        }
        writeln!(text, "{}", hunk.header()).expect("writing to a String cannot fail");
        for change in hunk.iter_changes() {
            let line = change.value();
            let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
            write!(text, "{}{line}{end}", change.tag()).expect("writing to a String cannot fail");
        }
    }
    text
}

fn truncate_diff(mut text: String) -> String {
    if text.len() > MAX_DETAIL_BYTES {
        let end = text[..text.floor_char_boundary(MAX_DETAIL_BYTES)].rfind('\n').unwrap_or(0);
        let left = text[end..].lines().count();
        text.truncate(end);
        text.push_str(&format!("\n[{left} more lines]\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn diff_of_a_change_is_unified_and_has_the_first_changed_line() {
        let old = "one\ntwo\nthree\nfour\nfive\nsix\n";
        let diff = Diff::new("a.txt", Some(old), &old.replace("five", "5"));
        expect![[r"
            --- a/a.txt
            +++ b/a.txt
            @@ -2,5 +2,5 @@
             two
             three
             four
            -five
            +5
             six
        "]]
        .assert_eq(&diff.text);
        assert_eq!((diff.first_changed_line, diff.added, diff.removed), (Some(5), 1, 1));
    }

    #[test]
    fn new_file_is_diffed_against_dev_null_and_no_change_gives_no_diff() {
        expect![[r"
            --- /dev/null
            +++ b/a
            @@ -0,0 +1 @@
            +x
            \ No newline at end of file
        "]]
        .assert_eq(&Diff::new("a", None, "x").text);
        assert_eq!(Diff::new("a", Some("x\n"), "x\n").text, "");
    }

    #[test]
    fn long_diff_is_truncated_only_in_the_details() {
        let diff = Diff::new("a", None, &"a line of the new file\n".repeat(100_000));
        assert!(diff.text.len() > 2_000_000 && diff.text.ends_with("+a line of the new file\n"));
        let text = diff.details()["diff"].as_str().unwrap().to_owned();
        assert!(text.len() < MAX_DETAIL_BYTES + 100 && text.ends_with(" more lines]\n"), "{}", text.len());
    }

    #[test]
    fn only_a_line_feed_ends_a_line() {
        expect![[r#"
            "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\r\n\\ No newline at end of file\n+b\rc\n"
        "#]]
        .assert_eq(&format!("{:?}\n", Diff::new("a", Some("a\r"), "b\rc\n").text));
    }
}
