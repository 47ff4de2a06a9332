//! The color tokens of pi's themes, and the roles that each sets.

use super::Role;

/// Every token of pi with the roles that it sets. Tokens without roles color elements that Osier does not draw.
#[rustfmt::skip]
pub const PI_TOKENS: &[(&str, &[Role])] = &[
    ("accent", &[Role::Accent]),
    ("border", &[Role::Border]),
    ("borderAccent", &[]),
    ("borderMuted", &[]),
    ("success", &[Role::Good, Role::Active]),
    ("error", &[Role::Bad]),
    ("warning", &[Role::Warn, Role::Label, Role::Backtrack]),
    ("muted", &[Role::Dim, Role::BacktrackInfo]),
    ("dim", &[Role::Dim]),
    ("text", &[Role::Text]),
    ("thinkingText", &[Role::Thinking]),
    ("selectedBg", &[Role::SelectedBg]),
    ("userMessageBg", &[]),
    ("userMessageText", &[Role::User, Role::BacktrackUserMessage]),
    ("customMessageBg", &[Role::CustomMessageBg]),
    ("customMessageText", &[Role::CustomMessageText]),
    ("customMessageLabel", &[Role::CustomMessageLabel]),
    ("toolPendingBg", &[]),
    ("toolSuccessBg", &[]),
    ("toolErrorBg", &[]),
    ("toolTitle", &[]),
    ("toolOutput", &[Role::BacktrackNote]),
    ("mdHeading", &[Role::Heading]),
    ("mdLink", &[Role::Link]),
    ("mdLinkUrl", &[]),
    ("mdCode", &[Role::Code]),
    ("mdCodeBlock", &[]),
    ("mdCodeBlockBorder", &[]),
    ("mdQuote", &[Role::Quote]),
    ("mdQuoteBorder", &[]),
    ("mdHr", &[]),
    ("mdListBullet", &[]),
    ("toolDiffAdded", &[Role::Added]),
    ("toolDiffRemoved", &[Role::Removed]),
    ("toolDiffContext", &[]),
    ("syntaxComment", &[Role::Comment]),
    ("syntaxKeyword", &[Role::Keyword]),
    ("syntaxFunction", &[]),
    ("syntaxVariable", &[]),
    ("syntaxString", &[Role::Literal]),
    ("syntaxNumber", &[Role::Literal]),
    ("syntaxType", &[]),
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
pub(super) fn position(token: &str) -> Option<usize> {
    PI_TOKENS.iter().position(|(name, _)| *name == token)
}
