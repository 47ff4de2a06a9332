//! Code as classes of tokens, for `highlightCode`.

use osier_highlight::{Highlighter, TokenClass};
use serde_json::json;

/// The tokens of each line as JSON: `[[class, text], …]`.
pub(super) fn tokens(code: &str, language: &str) -> String {
    let mut highlighter = Highlighter::new(language);
    let lines = code.split('\n').map(|line| {
        let mut tokens = Vec::new();
        highlighter.line(line, |class, text| tokens.push(json!([name(class), text])));
        json!(tokens)
    });
    json!(lines.collect::<Vec<_>>()).to_string()
}

/// The color of a class in pi's themes. Plain code has none.
fn name(class: TokenClass) -> Option<&'static str> {
    match class {
        TokenClass::Plain => None,
        TokenClass::Comment => Some("syntaxComment"),
        TokenClass::Literal => Some("syntaxString"),
        TokenClass::Number => Some("syntaxNumber"),
        TokenClass::Keyword => Some("syntaxKeyword"),
        TokenClass::Type => Some("syntaxType"),
        TokenClass::Function => Some("syntaxFunction"),
        TokenClass::Property => Some("syntaxVariable"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_the_colors_of_pi_and_together_are_the_code() {
        let lines: Vec<Vec<(Option<String>, String)>> =
            serde_json::from_str(&tokens("let a = 1; // one\n\nfoo(\"b\")", "rust")).unwrap();
        let text: Vec<String> =
            lines.iter().map(|line| line.iter().map(|(_, text)| &**text).collect()).collect();
        assert_eq!(text, ["let a = 1; // one", "", "foo(\"b\")"]);
        let class = |wanted: &str| {
            lines
                .iter()
                .flatten()
                .find(|(_, text)| text.contains(wanted))
                .and_then(|(class, _)| class.clone())
        };
        assert_eq!(class("let").as_deref(), Some("syntaxKeyword"));
        assert_eq!(class("one").as_deref(), Some("syntaxComment"));
        assert_eq!(class("b").as_deref(), Some("syntaxString"));
        assert_eq!(tokens("plain text", "no-such-language"), r#"[[[null,"plain text"]]]"#);
    }
}
