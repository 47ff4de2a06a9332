//! The images of a message. They are large, so they are not part of the view of an entry; callers that draw them read them here.

use std::borrow::Cow;

use crate::entry::Entry;
use crate::projection::preview::{each_block, message_field};
use crate::scan::RawJson;

/// An image as it is stored. Neither the type nor the data are checked here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageView<'a> {
    pub mime_type: Cow<'a, str>,
    /// Base64.
    pub data: Cow<'a, str>,
}

/// The images of a message, in order.
pub fn entry_images<'a>(entry: &Entry<'a>) -> Vec<ImageView<'a>> {
    let mut images = Vec::new();
    if let Some(content) = message_field(entry, "content") {
        each_block(content, |kind, block| {
            let text = |key: &str| block.get(key).and_then(RawJson::text);
            if let ("image", Some(mime_type), Some(data)) = (kind, text("mimeType"), text("data")) {
                images.push(ImageView { mime_type, data });
            }
        });
    }
    images
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::parse_entry;

    #[test]
    fn images_have_a_type_and_data() {
        let line =
            br#"{"type":"message","id":"1","message":{"role":"user","content":[{"type":"text","text":"a"},
            {"type":"image","mimeType":"image/png","data":"AAAA"},{"type":"image","data":"BBBB"}]}}"#;
        let images = entry_images(&parse_entry(line).unwrap());
        assert_eq!(images, [ImageView { mime_type: "image/png".into(), data: "AAAA".into() }]);
    }
}
