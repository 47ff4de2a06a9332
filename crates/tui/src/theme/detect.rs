//! Detects color support from environment variables, which the caller reads.

use super::Depth;

/// The color support, from `NO_COLOR`, `TERM` and `COLORTERM`.
pub fn depth(no_color: Option<&str>, term: Option<&str>, colorterm: Option<&str>) -> Depth {
    let term = term.unwrap_or_default();
    match colorterm.unwrap_or_default() {
        _ if no_color.is_some_and(|value| !value.is_empty()) || term == "dumb" => Depth::None,
        "truecolor" | "24bit" => Depth::True,
        _ if term.contains("256color") || term.contains("kitty") || term.contains("alacritty") => Depth::Many,
        _ => Depth::Sixteen,
    }
}

/// Whether the background is light, from `COLORFGBG`: `15;0` is light on dark.
pub fn is_light(colorfgbg: Option<&str>) -> bool {
    let background = colorfgbg.and_then(|value| value.rsplit(';').next()?.parse::<u8>().ok());
    matches!(background, Some(7 | 9..=15))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn color_support_is_detected_from_the_environment() {
        assert_eq!(depth(None, Some("xterm"), None), Depth::Sixteen);
        assert_eq!(depth(None, Some("tmux-256color"), None), Depth::Many);
        assert_eq!(depth(None, Some("xterm-256color"), Some("truecolor")), Depth::True);
        assert_eq!(depth(Some("1"), Some("xterm"), Some("truecolor")), Depth::None);
        assert_eq!(depth(Some(""), Some("xterm"), None), Depth::Sixteen, "an empty NO_COLOR has no effect");
        assert_eq!(depth(None, Some("dumb"), None), Depth::None);
    }

    #[test]
    fn a_light_background_is_detected_from_colorfgbg() {
        assert!(is_light(Some("0;15")) && is_light(Some("0;default;15")) && is_light(Some("0;7")));
        assert!(
            !is_light(Some("15;0")) && !is_light(Some("15;8")) && !is_light(Some("x")) && !is_light(None)
        );
    }
}
