//! The color tokens of pi's themes, and the roles that each sets.

use super::ColorRole;

/// Every token of pi with the roles that it sets. Tokens without roles color elements that Osier does not draw.
#[rustfmt::skip]
pub const PI_TOKENS: &[(&str, &[ColorRole])] = &[
    ("accent", &[ColorRole::Accent]),
    ("border", &[ColorRole::Border]),
    ("borderAccent", &[]),
    ("borderMuted", &[]),
    ("success", &[ColorRole::Good, ColorRole::Active]),
    ("error", &[ColorRole::Bad]),
    ("warning", &[ColorRole::Warn, ColorRole::Label, ColorRole::Backtrack]),
    ("muted", &[ColorRole::Dim, ColorRole::BacktrackInfo]),
    ("dim", &[ColorRole::Dim]),
    ("text", &[ColorRole::Text]),
    ("thinkingText", &[ColorRole::Thinking]),
    ("selectedBg", &[ColorRole::SelectedBg]),
    ("userMessageBg", &[ColorRole::UserBg]),
    ("userMessageText", &[ColorRole::User, ColorRole::BacktrackUserMessage]),
    ("customMessageBg", &[ColorRole::CustomMessageBg]),
    ("customMessageText", &[ColorRole::CustomMessageText]),
    ("customMessageLabel", &[ColorRole::CustomMessageLabel]),
    ("toolPendingBg", &[]),
    ("toolSuccessBg", &[ColorRole::AddedBg, ColorRole::AddedWordBg]),
    ("toolErrorBg", &[ColorRole::RemovedBg, ColorRole::RemovedWordBg]),
    ("toolTitle", &[]),
    ("toolOutput", &[ColorRole::BacktrackNote]),
    ("mdHeading", &[ColorRole::Heading]),
    ("mdLink", &[ColorRole::Link]),
    ("mdLinkUrl", &[]),
    ("mdCode", &[ColorRole::Code]),
    ("mdCodeBlock", &[]),
    ("mdCodeBlockBorder", &[]),
    ("mdQuote", &[ColorRole::Quote]),
    ("mdQuoteBorder", &[]),
    ("mdHr", &[]),
    ("mdListBullet", &[]),
    ("toolDiffAdded", &[ColorRole::Added]),
    ("toolDiffRemoved", &[ColorRole::Removed]),
    ("toolDiffContext", &[]),
    ("syntaxComment", &[ColorRole::Comment]),
    ("syntaxKeyword", &[ColorRole::Keyword]),
    ("syntaxFunction", &[ColorRole::Function]),
    ("syntaxVariable", &[ColorRole::Property]),
    ("syntaxString", &[ColorRole::Literal]),
    ("syntaxNumber", &[ColorRole::Literal]),
    ("syntaxType", &[ColorRole::Type]),
    ("syntaxOperator", &[]),
    ("syntaxPunctuation", &[]),
    ("thinkingOff", &[]),
    ("thinkingMinimal", &[]),
    ("thinkingLow", &[]),
    ("thinkingMedium", &[]),
    ("thinkingHigh", &[]),
    ("thinkingXhigh", &[]),
    ("bashMode", &[]),
    // Newer tokens, which are optional in pi's themes.
    ("thinkingMax", &[]),
    ("scrollbarTrack", &[]),
    ("scrollbarThumb", &[]),
    ("searchMatchBg", &[]),
    ("searchMatchText", &[]),
];

/// The role that an extension means by the token with an index, as foreground and as background. Tokens without roles of their
/// own look like the ones that are closest to them.
pub(crate) fn token_role(index: usize) -> Option<ColorRole> {
    let (name, roles) = PI_TOKENS.get(index)?;
    let nearest = match *name {
        "borderAccent" => Some(ColorRole::Accent),
        "borderMuted" | "mdHr" | "mdQuoteBorder" | "mdCodeBlockBorder" | "scrollbarTrack" => {
            Some(ColorRole::Border)
        }
        "mdLinkUrl" | "toolDiffContext" | "thinkingOff" | "scrollbarThumb" => Some(ColorRole::Dim),
        "toolOutput" | "muted" => Some(ColorRole::Dim),
        "mdListBullet" | "mdCodeBlock" => Some(ColorRole::Code),
        "bashMode" => Some(ColorRole::Warn),
        "searchMatchBg" => Some(ColorRole::SelectedBg),
        name if name.starts_with("thinking") && roles.is_empty() => Some(ColorRole::Thinking),
        // Cards have no background.
        name if name.starts_with("tool") && name.ends_with("Bg") => return None,
        _ => None,
    };
    Some(nearest.or(roles.first().copied()).unwrap_or(ColorRole::Text))
}

/// The index of a token in the list.
pub(super) fn token_position(token: &str) -> Option<usize> {
    PI_TOKENS.iter().position(|(name, _)| *name == token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_those_that_extensions_number() {
        let names: Vec<&str> = PI_TOKENS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, osier_protocol::THEME_TOKENS);
    }
}
