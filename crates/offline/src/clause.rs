//! Splits a request into clauses, and a clause into words. Text in quotes, backticks or a code fence is one word.

/// A word or a quoted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClauseWord {
    pub(super) text: String,
    pub(super) quoted: bool,
}

/// Pairs of quotation marks.
const QUOTES: &[(char, char)] =
    &[('`', '`'), ('"', '"'), ('“', '”'), ('「', '」'), ('『', '』'), ('《', '》'), ('\'', '\'')];

/// Separators between clauses.
const SEPARATORS: &[&str] = &[
    ", and then ",
    " and then ",
    ", then ",
    "; then ",
    " then ",
    "; ",
    "，然后",
    "，再",
    "然后",
    "；",
    "。",
];

/// The clauses of a text, in order.
pub(super) fn split_clauses(text: &str) -> Vec<String> {
    let mut clauses = Vec::new();
    let mut current = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some((length, _)) = parse_quoted(rest, current.chars().next_back()) {
            current.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        let is_command = current.trim_start().starts_with('$');
        let mark = SEPARATORS.iter().find(|mark| !is_command && starts_with_ignoring_case(rest, mark));
        if let Some(length) = mark.map(|mark| mark.len()).or_else(|| rest.starts_with('\n').then_some(1)) {
            clauses.push(std::mem::take(&mut current));
            rest = &rest[length..];
            continue;
        }
        let next = rest.chars().next().map_or(0, char::len_utf8);
        current.push_str(&rest[..next]);
        rest = &rest[next..];
    }
    clauses.push(current);
    clauses.iter().map(|clause| clause.trim().to_owned()).filter(|clause| !clause.is_empty()).collect()
}

pub(super) fn split_words(clause: &str) -> Vec<ClauseWord> {
    let mut words = Vec::new();
    let mut current = String::new();
    let mut rest = clause;
    while !rest.is_empty() {
        if let Some((length, inner)) = parse_quoted(rest, current.chars().next_back()) {
            push_word(&mut words, &mut current);
            words.push(ClauseWord { text: inner.to_owned(), quoted: true });
            rest = rest[length..]
                .trim_start_matches(['.', ',', ';', '!', '?', '，', '。', '；', '！', '？', '、']);
            continue;
        }
        let c = rest.chars().next().unwrap_or_default();
        if c.is_whitespace() {
            push_word(&mut words, &mut current);
        } else {
            current.push(c);
        }
        rest = &rest[c.len_utf8()..];
    }
    push_word(&mut words, &mut current);
    words
}

/// Adds the current word, without trailing punctuation.
fn push_word(words: &mut Vec<ClauseWord>, current: &mut String) {
    let text = current.trim_end_matches([',', ';', '!', '?', ':', '，', '。', '；', '！', '？', '：', '、']);
    let text = text.strip_suffix('.').filter(|text| !text.is_empty() && !text.ends_with('.')).unwrap_or(text);
    if !text.is_empty() {
        words.push(ClauseWord { text: text.to_owned(), quoted: false });
    }
    current.clear();
}

/// The length of a quoted text at the start, and its content.
fn parse_quoted(text: &str, before: Option<char>) -> Option<(usize, &str)> {
    if let Some(fenced) = text.strip_prefix("```") {
        let begin = fenced.find('\n')? + 1;
        let end = fenced[begin..].find("```")? + begin;
        return Some((3 + end + 3, &fenced[begin..end]));
    }
    let first = text.chars().next()?;
    let (open, close) = QUOTES.iter().find(|(open, _)| *open == first)?;
    // An apostrophe inside a word is not a quotation mark.
    if *open == '\'' && before.is_some_and(char::is_alphanumeric) {
        return None;
    }
    let begin = open.len_utf8();
    let end = text[begin..].find(*close)? + begin;
    let inner = &text[begin..end];
    (!inner.is_empty() && (!inner.contains('\n') || *open != '\'')).then_some((end + close.len_utf8(), inner))
}

fn starts_with_ignoring_case(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_are_not_split_inside_quotes() {
        assert_eq!(
            split_clauses("read a.txt, then run `ls; then pwd`"),
            ["read a.txt", "run `ls; then pwd`"]
        );
        assert_eq!(
            split_clauses("列出 src，然后读取 README.md。谢谢"),
            ["列出 src", "读取 README.md", "谢谢"]
        );
        assert_eq!(split_clauses("$ a; b then c\nread x"), ["$ a; b then c", "read x"]);
        assert_eq!(
            split_clauses("write a.rs with\n```rust\nfn a() {}\n; then\n```"),
            ["write a.rs with", "```rust\nfn a() {}\n; then\n```"]
        );
    }

    #[test]
    fn punctuation_is_stripped_outside_quotes() {
        let texts = |clause| split_words(clause).into_iter().map(|word| word.text).collect::<Vec<_>>();
        assert_eq!(texts("Read src/main.rs, please."), ["Read", "src/main.rs", "please"]);
        assert_eq!(texts("don't say 'a b.' or “c，d”."), ["don't", "say", "a b.", "or", "c，d"]);
        assert_eq!(texts("ls .. ."), ["ls", "..", "."]);
    }
}
