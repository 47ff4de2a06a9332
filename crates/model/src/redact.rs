//! Prepares text from a server for display and storage: redacts secrets, joins it into one line, and shortens it.
//! Redaction comes first, because shortening could leave part of a key that is no longer recognized.

use secrecy::{ExposeSecret, SecretString};

/// Maximum characters of a message: enough to understand an error, small enough to store.
const MAX_CHARS: usize = 600;
/// Shorter secrets would match ordinary words.
const MIN_SECRET_LENGTH: usize = 4;
/// Minimum length of a part of a value, such as the key after `Bearer`, to be redacted by itself.
const MIN_PART_LENGTH: usize = 8;

/// Redacts secrets, joins lines and shortens the text.
pub(crate) fn redact_and_shorten(text: &str, secrets: &[&SecretString]) -> String {
    let words = redact(text, secrets);
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}…", &words[..at]),
        None => words,
    }
}

/// Redacts secrets, their longer parts, and a partial secret at the end of the text: the size limit for reading a response
/// may fall inside a key.
fn redact(text: &str, secrets: &[&SecretString]) -> String {
    let mut parts: Vec<String> =
        secrets.iter().flat_map(|secret| secret_parts(secret.expose_secret())).collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    let mut text = parts.iter().fold(text.to_owned(), |text, part| text.replace(part, "[key]"));
    let begun = parts.iter().filter(|part| !part.contains(char::is_whitespace));
    if let Some(length) = begun.filter_map(|part| partial_secret_at_end(&text, part)).max() {
        text.truncate(text.len() - length);
        text.push_str("[key]");
    }
    text
}

/// How many bytes at the end of the text are the start of the secret.
fn partial_secret_at_end(text: &str, secret: &str) -> Option<usize> {
    let ends = secret.char_indices().map(|(at, _)| at).filter(|at| *at >= MIN_SECRET_LENGTH);
    ends.rev().find(|end| text.ends_with(&secret[..*end]))
}

/// A secret and its parts, split at spaces and punctuation, each as it is and as escaped in JSON.
fn secret_parts(secret: &str) -> Vec<String> {
    let whole = Some(secret).filter(|secret| secret.len() >= MIN_SECRET_LENGTH);
    let is_separator = |c: char| c.is_whitespace() || matches!(c, '=' | ',' | ';' | ':' | '"' | '\'' | '&');
    let words = secret.split_whitespace().chain(secret.split(is_separator));
    let mut parts: Vec<String> = Vec::new();
    for part in whole.into_iter().chain(words.filter(|word| word.len() >= MIN_PART_LENGTH)) {
        let in_json = serde_json::Value::from(part).to_string();
        parts.push(in_json[1..in_json.len() - 1].to_owned());
        parts.push(part.to_owned());
    }
    parts.sort();
    parts.dedup();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, secret: &str) -> String {
        redact_and_shorten(text, &[&SecretString::from(secret)])
    }

    #[test]
    fn keys_are_redacted() {
        let key = SecretString::from("sk-12345");
        assert_eq!(
            redact_and_shorten("bad key sk-12345, really sk-12345", &[&key]),
            "bad key [key], really [key]"
        );
        assert_eq!(format!("{key:?}"), "SecretBox<str>([REDACTED])");
        assert_eq!(shown("abc", ""), "abc");
    }

    #[test]
    fn key_across_the_length_limit_is_redacted() {
        let key = "sk-very-secret-0123456789";
        for before in 560..620 {
            let shown = shown(&format!("{} {key} and more", "x".repeat(before)), key);
            assert!(!shown.contains("sk-"), "{before}: {shown}");
            assert!(shown.chars().count() <= MAX_CHARS + 1);
        }
    }

    #[test]
    fn partial_key_at_the_end_is_redacted() {
        let key = "sk-very-secret-0123456789";
        for length in MIN_SECRET_LENGTH..=key.len() {
            assert_eq!(shown(&format!("bad {}", &key[..length]), key), "bad [key]", "{length}");
        }
        assert_eq!(shown("use Bearer", "Bearer sk-very-secret"), "use Bearer");
    }

    #[test]
    fn parts_of_a_secret_are_redacted() {
        assert_eq!(
            shown("got sk-very-secret, want Bearer", "Bearer sk-very-secret"),
            "got [key], want Bearer"
        );
        assert_eq!(shown("got 0123456789", "Token key=0123456789;v=1"), "got [key]");
        assert_eq!(shown(r#"{"x":"aaaa\"bbbb"}"#, "aaaa\"bbbb"), r#"{"x":"[key]"}"#);
        assert_eq!(shown("a  two-words\nb two-words", "b two-words"), "a [key] [key]");
    }

    #[test]
    fn long_text_becomes_one_shortened_line() {
        assert_eq!(shown(" a\n\tb ", "none"), "a b");
        assert_eq!(shown(&"x".repeat(5_000), "none").chars().count(), MAX_CHARS + 1);
    }
}
