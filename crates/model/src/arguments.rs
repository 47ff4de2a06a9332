//! The arguments of a tool call, which arrive as pieces of JSON and must end as a whole object.
//!
//! Half a call is never stored as half a string: servers that read it back refuse every later request.

use serde_json::{Map, Value};

/// Deeper than any tool needs, and shallow enough for every parser.
const DEEPEST: usize = 100;

/// The whole arguments of a call that was not cut off; `None` if the text is no object.
///
/// Nothing stands for no arguments, and some servers wrap the object in a string.
pub(crate) fn whole(json: &str) -> Option<Map<String, Value>> {
    if json.trim().is_empty() {
        return Some(Map::new());
    }
    match serde_json::from_str(json).ok()? {
        Value::Object(arguments) => Some(arguments),
        Value::Null => Some(Map::new()),
        Value::String(inner) => match serde_json::from_str(&inner).ok()? {
            Value::Object(arguments) => Some(arguments),
            _ => None,
        },
        _ => None,
    }
}

/// The arguments as far as they came: good for showing and for storing, never for running.
pub(crate) fn mended(json: &str) -> Map<String, Value> {
    if let Some(arguments) = whole(json) {
        return arguments;
    }
    if is_too_deep(json) {
        return Map::new();
    }
    match serde_json::from_str(&partial_json_fixer::fix_json(json)) {
        Ok(Value::Object(arguments)) => arguments,
        _ => Map::new(),
    }
}

fn is_too_deep(json: &str) -> bool {
    let mut depth = 0usize;
    json.bytes().any(|byte| {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > DEEPEST
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn whole_objects_only() {
        assert_eq!(whole(""), Some(Map::new()));
        assert_eq!(whole(" null "), Some(Map::new()));
        assert_eq!(whole(r#""{\"a\":1}""#).map(Value::Object), Some(json!({"a": 1})));
        for not_whole in ["{", "[1]", "7", r#""text""#, r#"{"a": 1"#, r#"{"a": 1} x"#] {
            assert_eq!(whole(not_whole), None, "{not_whole}");
        }
    }

    #[test]
    fn what_came_of_a_call_is_kept() {
        let mended = |json| Value::Object(super::mended(json));
        assert_eq!(
            mended(r#"{"path": "a.rs", "text": "fn main() {\n  print"#),
            json!({"path": "a.rs", "text": "fn main() {\n  print"})
        );
        assert_eq!(
            mended(r#"{"edits": [{"old": "x", "new": "#),
            json!({"edits": [{"old": "x", "new": null}]})
        );
        assert_eq!(mended(r#"{"path": "grü\u00"#), json!({"path": "grü"}));
        assert_eq!(mended("rm -rf"), json!({}));
        assert_eq!(mended(&"[".repeat(200_000)), json!({}));
    }

    proptest! {
        #[test]
        fn any_beginning_of_a_call_becomes_an_object(cut in 0usize..200, text in ".{0,20}", key in "[a-z]{1,4}") {
            let call = json!({ "path": text, key: [1, -2.5e3, true, null, { "in": "a,b:{" }] }).to_string();
            let cut = (0..=cut.min(call.len())).rev().find(|at| call.is_char_boundary(*at)).unwrap();
            mended(&call[..cut]);
            prop_assert!(cut == call.len() || whole(&call[..cut]).is_none_or(|whole| whole.is_empty()));
        }

        #[test]
        fn no_text_whatever_makes_it_panic(text in "[\\[\\]{}:,\"\\\\a1ntf\\. é\\n-]{0,40}") {
            mended(&text);
        }
    }
}
