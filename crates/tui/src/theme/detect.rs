//! Detects color support from environment variables, which the caller reads.

use super::ColorDepth;

/// The color support, from `NO_COLOR`, `TERM` and `COLORTERM`.
pub fn detect_color_depth(no_color: Option<&str>, term: Option<&str>, colorterm: Option<&str>) -> ColorDepth {
    let term = term.unwrap_or_default();
    match colorterm.unwrap_or_default() {
        _ if no_color.is_some_and(|value| !value.is_empty()) || term == "dumb" => ColorDepth::None,
        "truecolor" | "24bit" => ColorDepth::TrueColor,
        _ if term.contains("256color") || term.contains("kitty") || term.contains("alacritty") => {
            ColorDepth::Palette256
        }
        _ => ColorDepth::Sixteen,
    }
}

/// Whether the background is light, from `COLORFGBG`: `15;0` is light on dark.
pub fn detect_light_background(colorfgbg: Option<&str>) -> bool {
    let background = colorfgbg.and_then(|value| value.rsplit(';').next()?.parse::<u8>().ok());
    matches!(background, Some(7 | 9..=15))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn color_support_is_detected_from_the_environment() {
        assert_eq!(detect_color_depth(None, Some("xterm"), None), ColorDepth::Sixteen);
        assert_eq!(detect_color_depth(None, Some("tmux-256color"), None), ColorDepth::Palette256);
        assert_eq!(
            detect_color_depth(None, Some("xterm-256color"), Some("truecolor")),
            ColorDepth::TrueColor
        );
        assert_eq!(detect_color_depth(Some("1"), Some("xterm"), Some("truecolor")), ColorDepth::None);
        assert_eq!(
            detect_color_depth(Some(""), Some("xterm"), None),
            ColorDepth::Sixteen,
            "an empty NO_COLOR has no effect"
        );
        assert_eq!(detect_color_depth(None, Some("dumb"), None), ColorDepth::None);
    }

    #[test]
    fn a_light_background_is_detected_from_colorfgbg() {
        assert!(
            detect_light_background(Some("0;15"))
                && detect_light_background(Some("0;default;15"))
                && detect_light_background(Some("0;7"))
        );
        assert!(
            !detect_light_background(Some("15;0"))
                && !detect_light_background(Some("15;8"))
                && !detect_light_background(Some("x"))
                && !detect_light_background(None)
        );
    }
}
