//! Lenient parsing and strict comparison of JSON from two programs. Numbers compare by value; key order does
//! not matter.

use anyhow::{Context, Result, ensure};
use serde_json::{Deserializer, Value};

/// Parses one value of any depth. Lone surrogates, which JavaScript writes and Rust strings cannot hold,
/// become replacement characters.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value> {
    let repaired = repair_surrogates(bytes);
    let mut reader = Deserializer::from_slice(&repaired);
    reader.disable_recursion_limit();
    let mut values = reader.into_iter::<Value>();
    let value = values.next().context("no JSON value")??;
    ensure!(values.next().is_none(), "more than one JSON value");
    Ok(value)
}

fn repair_surrogates(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let step = if bytes[at] == b'\\' { escape_length(&bytes[at..]) } else { 1 };
        if step == LONE_SURROGATE {
            out.extend_from_slice(b"\\ufffd");
            at += 6;
        } else {
            let end = (at + step).min(bytes.len());
            out.extend_from_slice(&bytes[at..end]);
            at = end;
        }
    }
    out
}

const LONE_SURROGATE: usize = 0;

/// The length of an escape in bytes; `LONE_SURROGATE` for half of a surrogate pair.
fn escape_length(rest: &[u8]) -> usize {
    match code_unit(rest) {
        None => 2,
        Some(0xd800..=0xdbff) => match code_unit(rest.get(6..).unwrap_or_default()) {
            Some(0xdc00..=0xdfff) => 12,
            _ => LONE_SURROGATE,
        },
        Some(0xdc00..=0xdfff) => LONE_SURROGATE,
        Some(_) => 6,
    }
}

fn code_unit(escape: &[u8]) -> Option<u32> {
    let digits = escape.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The first difference between two values: its path, and the value on each side.
pub(crate) struct Difference {
    pub(crate) path: String,
    pub(crate) left: String,
    pub(crate) right: String,
}

pub(crate) fn difference(left: &Value, right: &Value) -> Option<Difference> {
    find_difference(String::new(), Some(left), Some(right))
}

fn find_difference(place: String, left: Option<&Value>, right: Option<&Value>) -> Option<Difference> {
    match (left, right) {
        (Some(Value::Array(a)), Some(Value::Array(b))) => (0..a.len().max(b.len()))
            .find_map(|i| find_difference(format!("{place}[{i}]"), a.get(i), b.get(i))),
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            keys.into_iter().find_map(|key| find_difference(format!("{place}.{key}"), a.get(key), b.get(key)))
        }
        (a, b) if same_leaf(a, b) => None,
        (a, b) => Some(Difference { path: place, left: shorten(a), right: shorten(b) }),
    }
}

fn same_leaf(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(Value::Number(x)), Some(Value::Number(y))) => x == y || x.as_f64() == y.as_f64(),
        _ => a == b,
    }
}

fn shorten(value: Option<&Value>) -> String {
    let Some(value) = value else { return "(nothing)".to_owned() };
    let text = value.to_string();
    match text.char_indices().nth(160) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lone_surrogate_is_replaced_and_a_pair_is_kept() {
        let value = parse(br#"["\ud83d x", "\ud83e\uddf5", "\\ud83d", "\udc00"]"#).unwrap();
        assert_eq!(value, json!(["\u{fffd} x", "🧵", "\\ud83d", "\u{fffd}"]));
    }

    #[test]
    fn deeply_nested_value_is_parsed() {
        let deep = "[".repeat(400) + &"]".repeat(400);
        parse(deep.as_bytes()).unwrap();
    }

    #[test]
    fn first_difference_is_reported() {
        let found = difference(&json!({"a": [1, {"b": 2}]}), &json!({"a": [1.0, {"b": 3}]})).unwrap();
        assert_eq!((found.path.as_str(), found.left.as_str(), found.right.as_str()), (".a[1].b", "2", "3"));
        assert!(difference(&json!({"a": 1, "b": 2}), &json!({"b": 2, "a": 1})).is_none());
        assert_eq!(difference(&json!([1]), &json!([1, 2])).unwrap().left, "(nothing)");
    }
}
