//! The settings of a session: the values set by its entries, and the defaults for all other keys.

use serde_json::{Map, Value, json};

use crate::fold::SessionTree;

/// All settings of a session. A key that is not set, or that another program set to an invalid value, has its default.
pub fn settings(tree: &SessionTree) -> Map<String, Value> {
    let mut all = defaults();
    let usable =
        tree.marks().settings().iter().filter(|(key, value)| expected_if_invalid(key, value).is_none());
    all.extend(usable.map(|(key, value)| (key.clone(), value.clone())));
    all
}

fn defaults() -> Map<String, Value> {
    let defaults =
        json!({ "approvalMode": "default", "approvalTools": [], "pastedImageMap": {}, "pastedTextMap": {} });
    defaults.as_object().cloned().unwrap_or_default()
}

/// Parses a value that a user typed: as JSON if it is valid and the setting is not a text, otherwise as text.
pub fn parse_setting(key: &str, text: &str) -> Value {
    let value = serde_json::from_str(text).ok().filter(|value: &Value| key != "summary" || value.is_string());
    value.unwrap_or_else(|| json!(text))
}

/// Describes the expected value of a setting if `value` is invalid.
pub fn expected_if_invalid(key: &str, value: &Value) -> Option<&'static str> {
    let (good, expected) = match key {
        "" => (false, "given a name"),
        "approvalMode" => (
            matches!(value.as_str(), Some("default" | "autoEdit" | "sandbox" | "yolo")),
            "default, autoEdit, sandbox or yolo",
        ),
        "approvalTools" => {
            let names = value.as_array().is_some_and(|tools| tools.iter().all(Value::is_string));
            (names, "a list of tool names")
        }
        "pastedTextMap" | "pastedImageMap" | "metadata" => (value.is_object(), "an object"),
        "summary" | "status" | "cwd" | "agentId" => (value.is_string(), "text"),
        _ => (true, ""),
    };
    (!good).then_some(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_key_has_its_default() {
        let mut tree = SessionTree::default();
        let line = br#"{"type":"custom","id":"1","customType":"osier.config","data":{"set":{"approvalMode":"yolo","mine":1}}}"#;
        tree.append(&crate::entry::parse_entry(line).unwrap(), 0, 0);
        assert_eq!(
            Value::Object(settings(&tree)),
            json!({ "approvalMode": "yolo", "approvalTools": [], "pastedImageMap": {}, "pastedTextMap": {}, "mine": 1 })
        );
    }

    #[test]
    fn an_invalid_value_is_refused_and_reads_as_the_default() {
        let mut tree = SessionTree::default();
        let set = json!({ "approvalMode": null }).as_object().cloned().unwrap();
        let error = tree.plan_config(&set, &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the setting \"approvalMode\" must be default, autoEdit, sandbox or yolo, not null"
        );
        let line =
            br#"{"type":"custom","id":"1","customType":"osier.config","data":{"set":{"approvalMode":null}}}"#;
        assert_eq!(tree.plan_entry(None, crate::scan::RawJson::parse(line).unwrap()).unwrap_err(), error);
        tree.append(&crate::entry::parse_entry(line).unwrap(), 0, 0);
        assert_eq!(settings(&tree)["approvalMode"], "default");
    }

    #[test]
    fn an_invalid_value_returns_the_expected_one() {
        assert_eq!(
            expected_if_invalid("approvalMode", &json!("off")),
            Some("default, autoEdit, sandbox or yolo")
        );
        assert_eq!(expected_if_invalid("approvalTools", &json!(["read", 1])), Some("a list of tool names"));
        assert_eq!(expected_if_invalid("mine", &json!(null)), None);
        assert_eq!(parse_setting("summary", "12"), json!("12"));
        assert_eq!(parse_setting("mine", "12"), json!(12));
    }
}
