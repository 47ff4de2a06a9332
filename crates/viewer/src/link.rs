//! The addresses that a link may have. All others are shown as text.

const SCHEMES: &[&str] = &["https://", "http://", "mailto:"];

/// The address, if a browser may open it.
pub(crate) fn safe_address(address: &str) -> Option<&str> {
    let is_plain =
        !address.chars().any(|ch| ch.is_control() || ch.is_whitespace() || osier_protocol::is_hidden(ch));
    let has_scheme = SCHEMES
        .iter()
        .any(|scheme| address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    Some(address).filter(|address| is_plain && has_scheme && address.len() <= 2_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_web_and_of_mail_are_links() {
        for address in ["https://example.org/a?b=c#d", "HTTP://example.org", "mailto:a@example.org"] {
            assert_eq!(safe_address(address), Some(address));
        }
        for address in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            " javascript:x",
            "java\nscript:x",
            "data:text/html,x",
            "vbscript:x",
            "file:///etc/passwd",
            "//example.org",
            "/a",
            "a.md",
            "#a",
            "",
            "https://a b",
            "https://\u{202e}x",
            "blob:x",
            "view-source:https://x",
            "https:/",
            "about:blank",
            "ftp://x",
        ] {
            assert_eq!(safe_address(address), None, "{address:?}");
        }
    }
}
