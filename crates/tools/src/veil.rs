//! Keys of models and passwords of stores, wherever a command prints them or a file holds them: neither the model nor the log
//! nor whoever watches gets to see them. Only as they are; what a command makes of one cannot be known.

use std::fmt;

use memchr::memmem;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::outcome::{Content, ToolOutcome};

/// Stands where a key was.
const INSTEAD: &str = "[key]";

/// Shorter ones would hide words that are none.
const SHORTEST: usize = 12;

/// See the module.
#[derive(Clone, Default)]
pub struct Keys(Vec<SecretString>);

impl Keys {
    pub fn new(keys: impl IntoIterator<Item = SecretString>) -> Keys {
        Keys(keys.into_iter().filter(|key| key.expose_secret().len() >= SHORTEST).collect())
    }

    fn all(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|key| key.expose_secret().as_bytes())
    }

    /// Where the first key lies, and how long it is; of several there the longest.
    fn first_in(&self, bytes: &[u8]) -> Option<(usize, usize)> {
        let found = self.all().filter_map(|key| Some((memmem::find(bytes, key)?, key.len())));
        found.min_by_key(|(at, len)| (*at, usize::MAX - len))
    }

    /// From where on the bytes could be the beginning of a key.
    fn begun_in(&self, bytes: &[u8]) -> usize {
        let begun =
            |key: &[u8]| (1..key.len().min(bytes.len() + 1)).rev().find(|len| bytes.ends_with(&key[..*len]));
        bytes.len() - self.all().filter_map(begun).max().unwrap_or(0)
    }

    fn hide(&self, text: &mut String) {
        let mut from = 0;
        while let Some((at, len)) = self.first_in(&text.as_bytes()[from..]) {
            text.replace_range(from + at..from + at + len, INSTEAD);
            from += at + INSTEAD.len();
        }
    }

    /// A text without keys.
    pub fn redact(&self, mut text: String) -> String {
        self.hide(&mut text);
        text
    }

    /// Whether a new text of a file would put the words for a key in the place of the key that the old one holds.
    pub(crate) fn would_be_lost(&self, old: &[u8], new: &[u8]) -> bool {
        memmem::find(new, INSTEAD.as_bytes()).is_some()
            && self.all().any(|key| memmem::find(old, key).is_some() && memmem::find(new, key).is_none())
    }

    /// Hides keys in all texts of a JSON value.
    pub fn hide_in(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.hide(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in(item)),
            Value::Object(fields) => {
                fields.values_mut().for_each(|item| self.hide_in(item));
                if fields.keys().any(|name| self.first_in(name.as_bytes()).is_some()) {
                    let named = std::mem::take(fields).into_iter();
                    *fields = named.map(|(name, item)| (self.redact(name), item)).collect();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// What came of a call, without keys.
    pub(crate) fn hidden(&self, mut outcome: ToolOutcome) -> ToolOutcome {
        if !self.0.is_empty() {
            for content in &mut outcome.content {
                if let Content::Text { text } = content {
                    self.hide(text);
                }
            }
            self.hide_in(&mut outcome.details);
        }
        outcome
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({})", self.0.len())
    }
}

/// Hides keys in bytes that come in pieces.
#[derive(Debug, Default)]
pub struct Redactor {
    keys: Keys,
    /// What may be the beginning of a key.
    held: Vec<u8>,
}

impl Redactor {
    pub fn new(keys: &Keys) -> Redactor {
        Redactor { keys: keys.clone(), held: Vec::new() }
    }

    /// The next piece, as far as it can be told by now.
    pub(crate) fn pass(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        let held = std::mem::take(&mut self.held);
        let (told, rest) = self.told(&held, self.keys.begun_in(&held));
        self.held = rest.to_vec();
        told
    }

    /// All keys hidden that begin before `sure`, and what is not told yet.
    fn told<'a>(&self, bytes: &'a [u8], sure: usize) -> (Vec<u8>, &'a [u8]) {
        let (mut told, mut from) = (Vec::with_capacity(bytes.len()), 0);
        while let Some((at, len)) = self.keys.first_in(&bytes[from..]).filter(|(at, _)| from + at < sure) {
            told.extend_from_slice(&bytes[from..from + at]);
            told.extend_from_slice(INSTEAD.as_bytes());
            from += at + len;
        }
        told.extend_from_slice(&bytes[from..sure.max(from)]);
        (told, &bytes[sure.max(from)..])
    }

    /// The next piece of a text.
    pub fn pass_text(&mut self, piece: &str) -> String {
        // Text ends between two characters, and so does a key.
        String::from_utf8_lossy(&self.pass(piece.as_bytes())).into_owned()
    }

    /// What is left of a text when nothing more comes.
    pub fn rest_text(&mut self) -> String {
        String::from_utf8_lossy(&self.rest()).into_owned()
    }

    /// Nothing more comes.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        self.told(&held, held.len()).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Keys {
        Keys::new(["sk-secret-one", "sk-secret-one-and-more", "short"].map(SecretString::from))
    }

    fn told(pieces: &[&str]) -> String {
        let mut redactor = Redactor::new(&keys());
        let mut told: Vec<u8> = pieces.iter().flat_map(|piece| redactor.pass(piece.as_bytes())).collect();
        told.extend(redactor.rest());
        String::from_utf8(told).expect("text")
    }

    #[test]
    fn a_key_is_hidden_however_it_comes_in_pieces() {
        let text = "a sk-secret-one b sk-secret-on c sk-secret-one-and-more. short sk-";
        let hidden = "a [key] b sk-secret-on c [key]. short sk-";
        assert_eq!(told(&[text]), hidden);
        for at in 0..text.len() {
            assert_eq!(told(&[&text[..at], &text[at..]]), hidden);
        }
        let single: Vec<String> = text.chars().map(String::from).collect();
        let single: Vec<&str> = single.iter().map(String::as_str).collect();
        assert_eq!(told(&single), hidden);
    }

    #[test]
    fn what_holds_no_key_passes_as_it_is() {
        assert_eq!(told(&["sk-", "secret", "-two\n"]), "sk-secret-two\n");
        let mut redactor = Redactor::default();
        assert_eq!(redactor.pass(b"all\xff"), b"all\xff");
    }

    #[test]
    fn results_and_their_details_hold_none() {
        let outcome =
            ToolOutcome::text("it is sk-secret-one").with("diff", serde_json::json!(["+sk-secret-one"]));
        let outcome = outcome.with("named", serde_json::json!({ "a sk-secret-one": 1, "b": 2 }));
        let hidden = keys().hidden(outcome);
        let expected = ToolOutcome::text("it is [key]").with("diff", serde_json::json!(["+[key]"]));
        assert_eq!(hidden, expected.with("named", serde_json::json!({ "a [key]": 1, "b": 2 })));
    }
}
