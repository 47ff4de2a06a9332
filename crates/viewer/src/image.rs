//! Images of messages, as `data:` addresses. Only the types that every browser decodes without running anything.

use maud::{Markup, html};
use osier_protocol::entry_view::ImageView;

const TYPES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

pub(crate) fn images(images: &[ImageView<'_>]) -> Markup {
    html! {
        @if !images.is_empty() {
            div.images { @for image in images { (render(image)) } }
        }
    }
}

fn render(image: &ImageView<'_>) -> Markup {
    let known = TYPES.iter().find(|known| image.mime_type.eq_ignore_ascii_case(known));
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    match known.filter(|_| image.data.as_bytes().iter().all(is_base64)) {
        Some(known) => {
            let source = html! { img src={ "data:" (known) ";base64," (image.data) } alt="attached image" loading="lazy"; };
            html! { button.zoom type="button" aria-pressed="false" title="Enlarge" { (source) } }
        }
        None => html! { p.notice { "An image of an unknown type is not shown." } },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(mime_type: &str, data: &str) -> String {
        images(&[ImageView { mime_type: mime_type.into(), data: data.into() }]).into_string()
    }

    #[test]
    fn known_types_are_shown() {
        assert!(draw("image/png", "iVBORw0=").contains("src=\"data:image/png;base64,iVBORw0=\""));
        assert!(draw("IMAGE/JPEG", "AAAA").contains("data:image/jpeg;"));
        assert_eq!(images(&[]).into_string(), "");
    }

    #[test]
    fn other_types_and_broken_data_are_not_shown() {
        for (mime_type, data) in [
            ("image/svg+xml", "AAAA"),
            ("text/html", "AAAA"),
            ("image/png", "\" onerror=\"x"),
            ("image/png", "A A"),
        ] {
            assert!(!draw(mime_type, data).contains("<img"), "{mime_type} {data}");
        }
    }
}
