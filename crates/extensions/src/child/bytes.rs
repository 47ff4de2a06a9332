//! Bytes of JavaScript. They arrive as text with one character per byte: the engine has no safe function that reads an array.

/// The bytes of such a text.
pub(super) fn from_text(text: &str) -> Vec<u8> {
    text.chars().map(|char| char as u32 as u8).collect()
}
