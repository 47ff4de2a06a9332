//! Reads previews of entries.

use anyhow::Result;
use osier_session::Session;
use osier_store::PreviewTexts;

use crate::progress::show_progress;

/// The one-line texts of all entries, from the store's cache where it has them.
pub(crate) async fn read_previews(session: &Session) -> Result<PreviewTexts> {
    let _progress = show_progress(&format!("reading {}", session.id()));
    Ok(session.previews(&session.main_cursor().state_and_place().0).await?)
}
