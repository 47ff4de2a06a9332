//! Removes the marks of Markdown from previews. The page does the same in `plainText`.

use std::borrow::Cow;

/// The preview of a message without the marks of Markdown. Other previews stay as they are.
pub fn without_markdown(preview: &str) -> Cow<'_, str> {
    let quoted = ["user: \"", "assistant: \""].iter().find(|name| preview.starts_with(**name));
    let Some((name, text)) = quoted.and_then(|name| preview.split_at_checked(name.len())) else {
        return Cow::Borrowed(preview);
    };
    let plain = without_block_mark(text);
    if plain.len() == text.len() && !plain.contains(['`', '*', '[']) {
        return Cow::Borrowed(preview);
    }
    let plain = without_links(&without_bold(&without_code_marks(plain)));
    Cow::Owned(format!("{name}{plain}"))
}

/// A line without the mark of a heading, a list or a quote.
fn without_block_mark(line: &str) -> &str {
    let marks = match line.len() - line.trim_start_matches('#').len() {
        0 => usize::from(line.starts_with(['-', '*', '+', '>'])),
        hashes => hashes,
    };
    let rest = &line[marks..];
    if (1..=6).contains(&marks) && rest.starts_with(' ') { rest.trim_start_matches(' ') } else { line }
}

/// Removes backticks. Three or more start or end a block, and the name of a language may follow them.
fn without_code_marks(line: &str) -> String {
    let (mut plain, mut rest) = (String::with_capacity(line.len()), line);
    while let Some(at) = rest.find('`') {
        plain.push_str(&rest[..at]);
        let after = rest[at..].trim_start_matches('`');
        let is_block = rest.len() - at - after.len() >= 3;
        let is_language = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '_' | '+' | '#' | '-');
        rest = match is_block.then(|| after.trim_start_matches(is_language)) {
            Some(after) => after.strip_prefix(' ').unwrap_or(after),
            None => after,
        };
    }
    plain + rest
}

fn without_bold(line: &str) -> String {
    let (mut plain, mut rest) = (String::with_capacity(line.len()), line);
    while let Some(at) = rest.find("**") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        plain.push_str(before);
        let is_end = |(end, _): &(usize, &str)| after[..*end].ends_with(|ch: char| !ch.is_whitespace());
        let end = match after.starts_with(|ch: char| !ch.is_whitespace()) {
            true => after.match_indices("**").find(is_end),
            false => None,
        };
        match end {
            Some((end, _)) => {
                plain.push_str(&after[..end]);
                rest = &after[end + 2..];
            }
            None => {
                plain.push('*');
                rest = &rest[at + 1..];
            }
        }
    }
    plain + rest
}

/// Replaces links and images by their text.
fn without_links(line: &str) -> String {
    let (mut plain, mut rest) = (String::with_capacity(line.len()), line);
    while let Some(at) = rest.find('[') {
        match link_at(&rest[at..]) {
            Some((text, len)) => {
                plain.push_str(rest[..at].strip_suffix('!').unwrap_or(&rest[..at]));
                plain.push_str(text);
                rest = &rest[at + len..];
            }
            None => {
                plain.push_str(&rest[..=at]);
                rest = &rest[at + 1..];
            }
        }
    }
    plain + rest
}

/// The text of the link at the start, and the length of the link.
fn link_at(text: &str) -> Option<(&str, usize)> {
    let (shown, rest) = text.strip_prefix('[')?.split_once(']')?;
    let address = rest.strip_prefix('(')?;
    let end = address.find(|ch: char| ch == '(' || ch == ')' || ch.is_whitespace())?;
    address[end..].starts_with(')').then(|| (shown, shown.len() + end + 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_messages_are_removed() {
        for (text, plain) in [
            ("# Counting words", "Counting words"),
            ("####### seven", "####### seven"),
            ("#tag", "#tag"),
            ("- one `two` three", "one two three"),
            ("```rust fn main() {} ``` end", "fn main() {} end"),
            ("a **bold word** and ** not ** 2 ** 3", "a bold word and ** not ** 2 ** 3"),
            ("see [the page](https://example.org/a) or ![x](y.png)", "see the page or x"),
            ("a[0] = b(1); [c](d e)", "a[0] = b(1); [c](d e)"),
            ("光标 **分页**", "光标 分页"),
            ("plain", "plain"),
        ] {
            assert_eq!(without_markdown(&format!("user: \"{text}\"")), format!("user: \"{plain}\""));
            assert_eq!(
                without_markdown(&format!("assistant: \"{text}\"")),
                format!("assistant: \"{plain}\"")
            );
        }
        for other in ["[bash: echo `date`]", "assistant: (no content)", "user: [image]", ""] {
            assert_eq!(without_markdown(other), other);
        }
    }
}
