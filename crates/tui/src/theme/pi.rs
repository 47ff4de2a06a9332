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
    ("syntaxVariable", &[]),
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

/// The index of a token in the list.
pub(super) fn token_position(token: &str) -> Option<usize> {
    PI_TOKENS.iter().position(|(name, _)| *name == token)
}
