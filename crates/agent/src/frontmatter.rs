//! The front matter of a Markdown file: `key: value` lines between two lines of `---`. Supports the YAML that
//! templates and skills use (plain and quoted values, folded and literal blocks) and reports lines it cannot
//! parse.

use std::collections::BTreeMap;

/// A Markdown file, split into front matter and body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MarkdownFile<'a> {
    pub(crate) fields: BTreeMap<String, String>,
    pub(crate) body: &'a str,
    /// The first problem in the front matter. The other fields are still valid.
    pub(crate) problem: Option<String>,
}

impl<'a> MarkdownFile<'a> {
    pub(crate) fn parse(text: &'a str) -> MarkdownFile<'a> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Some(rest) = strip_opening_fence(text) else {
            return MarkdownFile { body: text, ..MarkdownFile::default() };
        };
        let mut at = 0;
        for line in rest.split_inclusive('\n') {
            if line.trim_end() == "---" {
                let (fields, problem) = parse_fields(&rest[..at]);
                return MarkdownFile { fields, body: &rest[at + line.len()..], problem };
            }
            at += line.len();
        }
        let problem = Some("the front matter has no closing `---` line".to_owned());
        MarkdownFile { body: text, problem, ..MarkdownFile::default() }
    }

    /// A nonempty value.
    pub(crate) fn field(&self, key: &str) -> Option<&str> {
        self.fields.get(key).map(|value| value.trim()).filter(|value| !value.is_empty())
    }
}

fn strip_opening_fence(text: &str) -> Option<&str> {
    let (first, rest) = text.split_once('\n')?;
    (first.trim_end() == "---").then_some(rest)
}

fn parse_fields(head: &str) -> (BTreeMap<String, String>, Option<String>) {
    let (mut fields, mut problem) = (BTreeMap::new(), None);
    let mut lines = head.lines().enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((key, value)) = line.split_once(':').filter(|(key, _)| is_key(key)) else {
            problem.get_or_insert_with(|| format!("line {} is not `key: value`", number + 2));
            continue;
        };
        let mut more = Vec::new();
        while let Some((_, line)) =
            lines.next_if(|(_, line)| line.starts_with([' ', '\t', '-']) || line.trim().is_empty())
        {
            more.push(line.trim());
        }
        fields.insert(key.trim().to_owned(), join_value(value.trim(), &more));
    }
    (fields, problem)
}

fn is_key(key: &str) -> bool {
    let key = key.trim_end();
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
}

fn join_value(first: &str, more: &[&str]) -> String {
    let literal = first.starts_with('|');
    let first = if first.starts_with(['|', '>']) { "" } else { unquote(first) };
    let lines = std::iter::once(first).chain(more.iter().copied()).filter(|line| literal || !line.is_empty());
    lines.collect::<Vec<_>>().join(if literal { "\n" } else { " " }).trim().to_owned()
}

fn unquote(value: &str) -> &str {
    ['"', '\'']
        .iter()
        .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote))
        .unwrap_or_else(|| value.split(" #").next().unwrap_or(value).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_can_be_plain_quoted_folded_or_literal() {
        let file = MarkdownFile::parse(
            "---\nname: fix # not this\ndescription: >-\n  Repairs\n  things\nquoted: \"a: b\"\nlist:\n- x\nlines: |\n  one\n  two\n---\nBody\n---\n",
        );
        let field = |key: &str| file.field(key);
        assert_eq!(
            ["name", "description", "quoted", "lines", "list", "none"].map(field),
            [Some("fix"), Some("Repairs things"), Some("a: b"), Some("one\ntwo"), Some("- x"), None]
        );
        assert_eq!((file.body, file.problem), ("Body\n---\n", None));
    }

    #[test]
    fn file_without_front_matter_is_all_body() {
        assert_eq!(MarkdownFile::parse("# Title\n---\n").body, "# Title\n---\n");
        assert_eq!(MarkdownFile::parse("\u{feff}---\r\na: 1\r\n---\r\nx").body, "x");
        assert_eq!(MarkdownFile::parse("").body, "");
    }

    #[test]
    fn bad_lines_are_reported_and_other_fields_are_kept() {
        let file = MarkdownFile::parse("---\nname: a\n{oh no\n---\nBody");
        assert_eq!((file.field("name"), file.body), (Some("a"), "Body"));
        assert_eq!(file.problem.as_deref(), Some("line 3 is not `key: value`"));
        let unclosed = MarkdownFile::parse("---\nname: a\n");
        assert_eq!(unclosed.problem.as_deref(), Some("the front matter has no closing `---` line"));
        assert_eq!(unclosed.body, "---\nname: a\n");
    }
}
