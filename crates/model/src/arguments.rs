//! Parses the arguments of a tool call, which arrive in pieces of JSON and must form an object.
//!
//! A call that was cut off is repaired before it is stored: servers reject every later request that contains incomplete
//! arguments.

use serde_json::{Map, Value};

/// Deeper than any tool needs, and within the limits of every parser.
const MAX_DEPTH: usize = 100;

/// Parses the arguments of a complete call. The error says why the text is not a JSON object.
///
/// Empty text means no arguments. Some servers wrap the object in a string.
pub(crate) fn parse(json: &str) -> Result<Map<String, Value>, String> {
    if json.trim().is_empty() {
        return Ok(Map::new());
    }
    let read = |json: &str| {
        serde_json::from_str::<Value>(json)
            .map_err(|error| format!("not valid JSON: {error}. Received: {}", excerpt(json)))
    };
    let value = match read(json)? {
        Value::String(inner) => read(&inner)?,
        value => value,
    };
    match value {
        Value::Object(arguments) => Ok(arguments),
        Value::Null => Ok(Map::new()),
        _ => Err(format!("not a JSON object. Received: {}", excerpt(json))),
    }
}

/// Shortens a long text to its start and end.
fn excerpt(json: &str) -> String {
    const END: usize = 200;
    let chars = json.chars().count();
    if chars <= 2 * END {
        return json.to_owned();
    }
    let start: String = json.chars().take(END).collect();
    let end: String = json.chars().skip(chars - END).collect();
    format!("{start} … {end}")
}

/// Repairs incomplete arguments. The result may be displayed and stored, but the call must not be run.
pub(crate) fn parse_partial(json: &str) -> Map<String, Value> {
    if let Ok(arguments) = parse(json) {
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
        depth > MAX_DEPTH
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn only_json_objects_are_accepted() {
        assert_eq!(parse(""), Ok(Map::new()));
        assert_eq!(parse(" null "), Ok(Map::new()));
        assert_eq!(parse(r#""{\"a\":1}""#).map(Value::Object), Ok(json!({"a": 1})));
        for invalid in ["{", "[1]", "7", r#""text""#, r#"{"a": 1"#, r#"{"a": 1} x"#] {
            assert!(parse(invalid).is_err(), "{invalid}");
        }
        assert_eq!(
            parse("{\"a\": tru}"),
            Err("not valid JSON: expected ident at line 1 column 10. Received: {\"a\": tru}".to_owned())
        );
        assert_eq!(parse("[1]"), Err("not a JSON object. Received: [1]".to_owned()));
        let long = parse(&format!("{{\"text\": \"{}", "é".repeat(100_000))).unwrap_err();
        assert!(long.len() < 1000, "{long}");
    }

    #[test]
    fn partial_arguments_are_repaired() {
        let mended = |json| Value::Object(super::parse_partial(json));
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
        fn any_prefix_of_a_call_becomes_an_object(cut in 0usize..200, text in ".{0,20}", key in "[a-z]{1,4}") {
            let call = json!({ "path": text, key: [1, -2.5e3, true, null, { "in": "a,b:{" }] }).to_string();
            let cut = (0..=cut.min(call.len())).rev().find(|at| call.is_char_boundary(*at)).unwrap();
            parse_partial(&call[..cut]);
            prop_assert!(cut == call.len() || parse(&call[..cut]).map_or(true, |whole| whole.is_empty()));
        }

        #[test]
        fn no_text_causes_a_panic(text in "[\\[\\]{}:,\"\\\\a1ntf\\. é\\n-]{0,40}") {
            parse_partial(&text);
        }
    }
}
