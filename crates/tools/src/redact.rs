//! Redacts secrets (model keys and store passwords) in the output of commands and in file contents, for the model, the log and
//! the interface. Only exact occurrences are found; an encoded or transformed secret is not.

use std::fmt;

use memchr::memmem;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::outcome::{ResultBlock, ToolOutcome};

/// Replaces a secret.
const PLACEHOLDER: &str = "[key]";

/// Shorter secrets are not redacted, because they could match ordinary words.
const MIN_SECRET_LEN: usize = 12;

/// The secrets to redact.
#[derive(Clone, Default)]
pub struct Secrets(Vec<SecretString>);

impl Secrets {
    pub fn new(keys: impl IntoIterator<Item = SecretString>) -> Secrets {
        Secrets(keys.into_iter().filter(|key| key.expose_secret().len() >= MIN_SECRET_LEN).collect())
    }

    fn all(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|key| key.expose_secret().as_bytes())
    }

    /// Offset and length of the first secret in `bytes`; the longest if several start there.
    fn find_first(&self, bytes: &[u8]) -> Option<(usize, usize)> {
        let found = self.all().filter_map(|key| Some((memmem::find(bytes, key)?, key.len())));
        found.min_by_key(|(at, len)| (*at, usize::MAX - len))
    }

    /// The offset from which the rest of `bytes` could be the start of a secret.
    fn partial_match_start(&self, bytes: &[u8]) -> usize {
        let begun =
            |key: &[u8]| (1..key.len().min(bytes.len() + 1)).rev().find(|len| bytes.ends_with(&key[..*len]));
        bytes.len() - self.all().filter_map(begun).max().unwrap_or(0)
    }

    fn redact_in_place(&self, text: &mut String) {
        let mut from = 0;
        while let Some((at, len)) = self.find_first(&text.as_bytes()[from..]) {
            text.replace_range(from + at..from + at + len, PLACEHOLDER);
            from += at + PLACEHOLDER.len();
        }
    }

    /// The text with all secrets replaced.
    pub fn redact(&self, mut text: String) -> String {
        self.redact_in_place(&mut text);
        text
    }

    /// Whether the new content of a file would overwrite a secret of the old content with its placeholder.
    pub(crate) fn would_be_overwritten(&self, old: &[u8], new: &[u8]) -> bool {
        memmem::find(new, PLACEHOLDER.as_bytes()).is_some()
            && self.all().any(|key| memmem::find(old, key).is_some() && memmem::find(new, key).is_none())
    }

    /// Redacts secrets in all strings of a JSON value.
    pub fn redact_json(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.redact_in_place(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_json(item)),
            Value::Object(fields) => {
                fields.values_mut().for_each(|item| self.redact_json(item));
                if fields.keys().any(|name| self.find_first(name.as_bytes()).is_some()) {
                    let named = std::mem::take(fields).into_iter();
                    *fields = named.map(|(name, item)| (self.redact(name), item)).collect();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Redacts secrets in a tool outcome.
    pub fn redact_outcome(&self, mut outcome: ToolOutcome) -> ToolOutcome {
        if !self.0.is_empty() {
            for content in &mut outcome.content {
                if let ResultBlock::Text { text } = content {
                    self.redact_in_place(text);
                }
            }
            self.redact_json(&mut outcome.details);
        }
        outcome
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({})", self.0.len())
    }
}

/// Redacts secrets in a byte stream.
#[derive(Debug, Default)]
pub struct Redactor {
    secrets: Secrets,
    /// Bytes that may be the start of a secret.
    held: Vec<u8>,
}

impl Redactor {
    pub fn new(keys: &Secrets) -> Redactor {
        Redactor { secrets: keys.clone(), held: Vec::new() }
    }

    /// Takes the next piece and returns the redacted bytes that are final so far.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        let held = std::mem::take(&mut self.held);
        let (redacted, rest) = self.redact_until(&held, self.secrets.partial_match_start(&held));
        self.held = rest.to_vec();
        redacted
    }

    /// Redacts secrets that start before `sure`. Returns the redacted bytes and the rest.
    fn redact_until<'a>(&self, bytes: &'a [u8], sure: usize) -> (Vec<u8>, &'a [u8]) {
        let (mut redacted, mut from) = (Vec::with_capacity(bytes.len()), 0);
        while let Some((at, len)) = self.secrets.find_first(&bytes[from..]).filter(|(at, _)| from + at < sure)
        {
            redacted.extend_from_slice(&bytes[from..from + at]);
            redacted.extend_from_slice(PLACEHOLDER.as_bytes());
            from += at + len;
        }
        redacted.extend_from_slice(&bytes[from..sure.max(from)]);
        (redacted, &bytes[sure.max(from)..])
    }

    /// Like `push`, for text.
    pub fn push_text(&mut self, piece: &str) -> String {
        // Pieces of text and secrets never split a character.
        String::from_utf8_lossy(&self.push(piece.as_bytes())).into_owned()
    }

    /// Like `finish`, for text.
    pub fn finish_text(&mut self) -> String {
        String::from_utf8_lossy(&self.finish()).into_owned()
    }

    /// Returns the remaining bytes at the end of the stream.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        self.redact_until(&held, held.len()).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Secrets {
        Secrets::new(["sk-secret-one", "sk-secret-one-and-more", "short"].map(SecretString::from))
    }

    fn redact_pieces(pieces: &[&str]) -> String {
        let mut redactor = Redactor::new(&keys());
        let mut bytes: Vec<u8> = pieces.iter().flat_map(|piece| redactor.push(piece.as_bytes())).collect();
        bytes.extend(redactor.finish());
        String::from_utf8(bytes).expect("valid UTF-8")
    }

    #[test]
    fn secret_is_redacted_however_the_text_is_split() {
        let text = "a sk-secret-one b sk-secret-on c sk-secret-one-and-more. short sk-";
        let redacted = "a [key] b sk-secret-on c [key]. short sk-";
        assert_eq!(redact_pieces(&[text]), redacted);
        for at in 0..text.len() {
            assert_eq!(redact_pieces(&[&text[..at], &text[at..]]), redacted);
        }
        let single: Vec<String> = text.chars().map(String::from).collect();
        let single: Vec<&str> = single.iter().map(String::as_str).collect();
        assert_eq!(redact_pieces(&single), redacted);
    }

    #[test]
    fn text_without_secrets_is_unchanged() {
        assert_eq!(redact_pieces(&["sk-", "secret", "-two\n"]), "sk-secret-two\n");
        let mut redactor = Redactor::default();
        assert_eq!(redactor.push(b"all\xff"), b"all\xff");
    }

    #[test]
    fn secrets_are_redacted_in_results_and_details() {
        let outcome = ToolOutcome::text("it is sk-secret-one")
            .with_detail("diff", serde_json::json!(["+sk-secret-one"]));
        let outcome = outcome.with_detail("named", serde_json::json!({ "a sk-secret-one": 1, "b": 2 }));
        let hidden = keys().redact_outcome(outcome);
        let expected = ToolOutcome::text("it is [key]").with_detail("diff", serde_json::json!(["+[key]"]));
        assert_eq!(hidden, expected.with_detail("named", serde_json::json!({ "a [key]": 1, "b": 2 })));
    }
}
