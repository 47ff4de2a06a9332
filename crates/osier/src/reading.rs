//! Reads what projections need: lines in batches, previews, and places named on the command line.

use std::borrow::Cow;

use anyhow::Result;
use osier_session::Session;
use osier_store::{PreviewTexts, StoreError};
use osier_tree::line_consumer::LineConsumer;
use osier_tree::tokens::TokenCount;
use osier_tree::{Place, PlanError, Seq, SessionTree};
use rustc_hash::FxHashMap;

use crate::failure::fail;
use crate::progress::show_progress;
use crate::target;

/// The lines of some entries, in memory.
pub(crate) type EntryLines = FxHashMap<Seq, Vec<u8>>;

pub(crate) async fn read_lines(session: &Session, wanted: &[Seq]) -> Result<EntryLines> {
    let mut held = EntryLines::default();
    session
        .for_each_line(session.version(), wanted, |seq, line| {
            held.insert(seq, line.to_vec());
            Ok::<_, StoreError>(())
        })
        .await?;
    Ok(held)
}

/// Feeds a `LineConsumer` the lines it asks for until it needs no more.
pub(crate) async fn feed_lines(session: &Session, asks: &mut (dyn LineConsumer + Send)) -> Result<()> {
    loop {
        let wanted = asks.needed_lines();
        if wanted.is_empty() {
            return Ok(());
        }
        asks.feed(&read_lines(session, &wanted).await?);
    }
}

/// The tokens of the context at a place: reported by the last reply, or estimated.
pub(crate) async fn context_tokens(session: &Session, at: Place) -> Result<TokenCount> {
    let mut weighing = session.tree().token_counter(at);
    feed_lines(session, &mut weighing).await?;
    Ok(weighing.count())
}

/// The `provider/id` of the model last used on the path of a session.
pub(crate) async fn model_on_path(session: &Session) -> Result<Option<String>> {
    let (state, at) = session.main_cursor().state_and_place();
    let mut model = state.tree.active_model_search(at);
    feed_lines(session, &mut model).await?;
    Ok(model.finish().map(|(provider, id)| format!("{provider}/{id}")))
}

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

/// Resolves an entry id, or a unique prefix of one.
pub(crate) fn resolve_entry(tree: &SessionTree, word: &str) -> Result<Seq> {
    match tree.resolve(word) {
        Err(PlanError::NotFound { .. }) => {
            let ids: Vec<_> = tree.heads().iter().map(|(seq, _)| tree.id(seq)).collect();
            let ids = ids.iter().map(osier_tree::EntryId::as_str);
            let near = target::suggest_entries(ids, word);
            fail!(EntryNotFound, "no entry {word} in this session; {near}")
        }
        resolved => Ok(resolved?),
    }
}

/// The full id of an entry named by a prefix; `root` is returned unchanged.
pub(crate) fn resolve_id(tree: &SessionTree, word: &str) -> Result<String> {
    let seq = resolve_place(tree, Some(word))?;
    Ok(seq.map_or_else(|| word.to_owned(), |seq| tree.id(seq).to_string()))
}

/// The place named by `--at`; without it, the leaf.
pub(crate) fn resolve_place(tree: &SessionTree, at: Option<&str>) -> Result<Place> {
    match at {
        None => Ok(tree.leaf()),
        Some("root") => Ok(None),
        Some(id) => resolve_entry(tree, id).map(Some),
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
