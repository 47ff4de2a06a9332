//! JSON inside HTML: no character of it can end the element that contains it.

use serde::Serialize;

/// JSON in which `<`, `>`, `&` and the line separators of JavaScript are escaped. They occur only inside strings.
pub(crate) fn script_json(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).unwrap_or_default();
    let mut out = String::with_capacity(json.len() + json.len() / 8);
    let mut plain_from = 0;
    for (at, ch) in json.char_indices() {
        let escape = match ch {
            '<' => "\\u003c",
            '>' => "\\u003e",
            '&' => "\\u0026",
            '\u{2028}' => "\\u2028",
            '\u{2029}' => "\\u2029",
            _ => continue,
        };
        out.push_str(&json[plain_from..at]);
        out.push_str(escape);
        plain_from = at + ch.len_utf8();
    }
    out.push_str(&json[plain_from..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_the_element() {
        let text = "</script><!--<script>&\u{2028}\u{2029}\"\\";
        let json = script_json(&text);
        assert!(!json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }
}
