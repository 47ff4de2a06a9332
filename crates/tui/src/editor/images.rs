//! Pasted images: the editor shows a marker and sends the image along with the prompt. The session stores the images by marker,
//! so they survive a restart.

use std::collections::{BTreeMap, BTreeSet};

use osier_protocol::Image;

/// See the module.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PastedImages {
    images: BTreeMap<String, Image>,
    /// Markers that the session does not store yet.
    unsaved: BTreeSet<String>,
    last_number: usize,
}

impl PastedImages {
    /// Starts with the images that the session stores.
    pub fn new(kept: BTreeMap<String, Image>) -> PastedImages {
        let number =
            |marker: &String| marker.strip_prefix("[image #")?.split([' ', ']']).next()?.parse().ok();
        let last = kept.keys().filter_map(number).max().unwrap_or(0);
        PastedImages { images: kept, unsaved: BTreeSet::new(), last_number: last }
    }

    /// Adds an image; returns its marker.
    pub(crate) fn add(&mut self, name: &str, image: Image) -> String {
        self.last_number += 1;
        let name = name.replace(['[', ']', '\n'], "");
        let marker = match name.trim() {
            "" => format!("[image #{}]", self.last_number),
            name => format!("[image #{} {name}]", self.last_number),
        };
        self.unsaved.insert(marker.clone());
        self.images.insert(marker.clone(), image);
        marker
    }

    /// The images whose markers are in a text, in order.
    pub(crate) fn images_in(&self, text: &str) -> Vec<Image> {
        let mut found: Vec<(usize, &Image)> = self
            .images
            .iter()
            .filter_map(|(marker, image)| Some((text.find(marker.as_str())?, image)))
            .collect();
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().map(|(_, image)| image.clone()).collect()
    }

    /// The images in a text that the session does not store yet. Returns each only once.
    pub(crate) fn take_unsaved(&mut self, text: &str) -> Vec<(String, Image)> {
        let used: Vec<String> =
            self.unsaved.iter().filter(|marker| text.contains(marker.as_str())).cloned().collect();
        self.unsaved.retain(|marker| !used.contains(marker));
        used.into_iter()
            .filter_map(|marker| self.images.get(&marker).cloned().map(|image| (marker, image)))
            .collect()
    }

    pub(super) fn markers(&self) -> impl Iterator<Item = &String> {
        self.images.keys()
    }
}

/// The path, if a pasted text is only the path of an image, as terminals and file managers write it.
pub(crate) fn image_path(pasted: &str) -> Option<String> {
    const ENDINGS: [&str; 5] = [".png", ".jpg", ".jpeg", ".gif", ".webp"];
    let text = pasted.trim();
    let text =
        ['\'', '"'].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(text);
    let path = match text.strip_prefix("file://") {
        Some(address) => percent_decode(address),
        None => text.replace("\\ ", " "),
    };
    let is_image = ENDINGS.iter().any(|ending| path.to_lowercase().ends_with(ending));
    let is_path = path.starts_with(['/', '~', '.']) && path.contains('/') && !path.contains('\n');
    (is_image && is_path && path.len() < 4096).then_some(path)
}

/// Decodes percent-encoding: `%20` is a space.
fn percent_decode(address: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = address.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let code =
            behind.get(..2).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match code.filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_an_image_is_recognized_in_every_notation() {
        let path = |text: &str| image_path(text).unwrap_or_default();
        assert_eq!(path("/a/shot.png\n"), "/a/shot.png");
        assert_eq!(path("'/a/my shot.PNG' "), "/a/my shot.PNG");
        assert_eq!(path("/a/my\\ shot.jpg"), "/a/my shot.jpg");
        assert_eq!(path("file:///a/my%20%E4%BD%A0.webp"), "/a/my 你.webp");
        assert_eq!(path("~/x.gif"), "~/x.gif");
        for text in ["shot.png", "see /a/shot.png", "/a/b.txt", "/a\n/b.png", "https://x/y.png", ""] {
            assert_eq!(image_path(text), None, "{text}");
        }
    }

    #[test]
    fn marker_numbers_continue_and_each_image_is_stored_once() {
        let image = |data: &str| Image { data: data.to_owned(), mime_type: "image/png".to_owned() };
        let mut images = PastedImages::new([("[image #4 a.png]".to_owned(), image("a"))].into());
        let marker = images.add("b].png", image("b"));
        assert_eq!(marker, "[image #5 b.png]");
        let text = format!("{marker} and [image #4 a.png]");
        assert_eq!(images.images_in(&text), [image("b"), image("a")]);
        assert_eq!(images.take_unsaved(&text), [(marker, image("b"))]);
        assert_eq!(images.take_unsaved(&text), []);
    }
}
