//! The session that a command names: by the first characters of its id, or by the path of its file.

use std::sync::Arc;

use anyhow::Result;
use osier_engine::{EngineError, FindOptions, FindScope, FoundSession, LiveSession, StoredSession, is_path};

use crate::failure::usage_error;
use crate::home::Home;
use crate::layout::sanitize_line;
use crate::output_writer::notice;
use crate::progress::show_progress;
use crate::stores;

pub(crate) async fn find(home: &Home, name: &str) -> Result<StoredSession> {
    read(home, name, FindScope::Any).await
}

/// Like `find`, for a session whose tree is drawn.
pub(crate) async fn find_for_tree(home: &Home, name: &str) -> Result<StoredSession> {
    let _progress = show_progress(&format!("reading {name}"));
    let found = locate(home, name, FindScope::Any).await?;
    found.store.expect_previews();
    Ok(found.read().await?)
}

/// Like `find`, but prefers a copy that is not in this store.
pub(crate) async fn find_outside(home: &Home, name: &str, store: &str) -> Result<StoredSession> {
    read(home, name, FindScope::Outside(store)).await
}

async fn read(home: &Home, name: &str, scope: FindScope<'_>) -> Result<StoredSession> {
    let _progress = show_progress(&format!("reading {name}"));
    Ok(locate(home, name, scope).await?.read().await?)
}

/// Like `find`, for a session to delete. Returns `None` if it does not exist and `may_be_gone` is set.
pub(crate) async fn find_to_delete(
    home: &Home,
    name: &str,
    may_be_gone: bool,
) -> Result<Option<StoredSession>> {
    let _progress = show_progress(&format!("reading {name}"));
    let found = match locate(home, name, FindScope::ToDelete).await {
        Err(error) if may_be_gone && is_not_found(&error) => return Ok(None),
        found => found?,
    };
    let elsewhere = home.named_store().filter(|named| *named != found.store.name() && !is_path(name));
    if let Some(named) = elsewhere {
        notice(&format!("osier: {} is in {}, not in {named}", sanitize_line(name), found.store.name()));
    }
    Ok(Some(found.read().await?))
}

fn is_not_found(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(EngineError::SessionNotFound { .. }))
}

/// An empty name would mean every session.
pub(crate) fn check_name(name: &str) -> Result<()> {
    match name.is_empty() {
        true => Err(usage_error("give a session: the first characters of its id, or a .jsonl file")),
        false => Ok(()),
    }
}

/// Finds a session without reading it. Reports stores that do not answer.
pub(crate) async fn locate(home: &Home, name: &str, scope: FindScope<'_>) -> Result<FoundSession> {
    check_name(name)?;
    let found = home.engine.find(name, FindOptions { store: home.named_store(), scope }).await?;
    stores::show_unavailable(&found.unavailable);
    Ok(found)
}

/// Opens a session that was found, for one command.
pub(crate) async fn open_live(home: &Home, stored: &StoredSession) -> Result<Arc<LiveSession>> {
    let _progress = show_progress(&format!("reading {}", stored.opened.header.id));
    Ok(home.engine.open_briefly(stored).await?)
}

/// Finds and opens a session.
pub(crate) async fn find_and_open(home: &Home, name: &str) -> Result<Arc<LiveSession>> {
    open_live(home, &find(home, name).await?).await
}
