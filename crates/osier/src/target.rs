//! Which session a person means: the first digits of an id, or the path of a file.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use osier_session::Session;
use osier_store::{FileStore, Opened, PagedHeads, Store};

use crate::home::Home;

/// A session that was found, and where.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) store: Arc<FileStore>,
    /// The name by which the store knows it.
    pub(crate) key: String,
    pub(crate) opened: Opened,
}

/// Whether a person's word for a session is a path.
pub(crate) fn is_path(word: &str) -> bool {
    word.contains('/') || word.ends_with(".jsonl")
}

impl Target {
    pub(crate) async fn find(home: &Home, word: &str) -> Result<Target> {
        let store = home.store();
        let key = key_of(&store, word).await?;
        let opened = store.open(&key).await?;
        Ok(Target { store, key, opened })
    }

    /// The heads, read only as far as they are needed.
    pub(crate) fn heads(&self) -> PagedHeads<'_> {
        PagedHeads::new(&*self.store, &self.key, self.opened.version)
    }

    /// The session with its whole tree in memory, ready to be changed.
    pub(crate) async fn session(&self, home: &Home) -> Result<Session> {
        Ok(Session::open(self.store.clone(), &self.key, home.env()).await?)
    }
}

async fn key_of(store: &FileStore, word: &str) -> Result<String> {
    if is_path(word) {
        let path = Path::new(word);
        if !path.exists() {
            bail!("no file {word}");
        }
        return Ok(FileStore::id_of_path(path)?);
    }
    if word.is_empty() {
        bail!("name a session: the first digits of its id, or a .jsonl file");
    }
    let found = store.find(word).await?;
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => bail!("no session {word}{}", nearest(store, word).await),
        many if many.iter().any(|id| id == word) => Ok(word.to_owned()),
        many => bail!("{word} could mean {} sessions: {}; give more digits", many.len(), some(many)),
    }
}

fn some(ids: &[String]) -> String {
    let shown: Vec<&str> = ids.iter().take(5).map(|id| id.get(..13).unwrap_or(id)).collect();
    format!("{}{}", shown.join(", "), if ids.len() > 5 { ", …" } else { "" })
}

/// The sessions whose ids begin most like `word`.
async fn nearest(store: &FileStore, word: &str) -> String {
    let all = store.find("").await.unwrap_or_default();
    let alike = |id: &String| id.bytes().zip(word.bytes()).take_while(|(a, b)| a == b).count();
    let best = all.iter().map(&alike).max().unwrap_or(0);
    let near: Vec<String> = all.iter().filter(|id| best > 0 && alike(id) == best).cloned().collect();
    match near.is_empty() {
        true => "; `osier sessions list --all` shows what there is".to_owned(),
        false => format!("; the nearest: {}", some(&near)),
    }
}
