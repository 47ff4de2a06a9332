//! Reads previews of entries, and shows them.

use std::borrow::Cow;

use anyhow::Result;
use osier_session::Session;
use osier_store::PreviewTexts;

use crate::progress::show_progress;

/// The one-line texts of all entries, from the store's cache where it has them.
pub(crate) async fn read_previews(session: &Session) -> Result<PreviewTexts> {
    let _progress = show_progress(&format!("reading {}", session.id()));
    Ok(session.previews(&session.main_cursor().state_and_place().0).await?)
}

/// A preview with `~` for the user's home folder.
pub(crate) fn shorten_home<'a>(text: &'a str, home: Option<&str>) -> Cow<'a, str> {
    let home = home.filter(|home| home.len() > 1 && text.starts_with('['));
    let place = home.and_then(|home| Some((text.find(home)?, home.len())));
    match place.map(|(start, len)| (&text[..start], &text[start + len..])) {
        Some((before, behind)) if behind.starts_with(['/', ']', ' ', ':']) => {
            Cow::Owned(format!("{before}~{behind}"))
        }
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_folder_is_shortened_only_as_a_whole_path_component() {
        let home = Some("/home/dev");
        assert_eq!(shorten_home("[read: /home/dev/a.rs:1-9]", home), "[read: ~/a.rs:1-9]");
        assert_eq!(shorten_home("[ls: /home/dev]", home), "[ls: ~]");
        assert_eq!(shorten_home("[ls: /home/device]", home), "[ls: /home/device]");
        assert_eq!(shorten_home("user: \"/home/dev/a\"", home), "user: \"/home/dev/a\"");
        assert_eq!(shorten_home("[ls: /]", Some("/")), "[ls: /]");
    }
}
