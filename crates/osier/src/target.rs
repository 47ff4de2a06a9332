//! Which session a person means: the first digits of an id, or the path of a file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use osier_session::Session;
use osier_store::{FileStore, Filter, Opened, PagedHeads, Store, StoreError};
use osier_tree::Seq;

use crate::failure::usage;
use crate::home::Home;
use crate::progress::waiting;

/// How many ids an error names.
const NAMED: usize = 5;

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
        let _waiting = waiting(&format!("reading {word}"));
        let store = home.store();
        let key = key_of(&store, word).await?;
        let opened = store.open(&key).await?;
        Ok(Target { store, key, opened })
    }

    /// The heads, read only as far as they are needed.
    pub(crate) fn heads(&self) -> PagedHeads<'_> {
        PagedHeads::new(&*self.store, &self.key, self.opened.version)
    }

    /// Fetches lines, a batch at a time, and hands each to `each`.
    pub(crate) async fn each_line<E: From<StoreError>>(
        &self,
        wanted: &[Seq],
        each: impl FnMut(Seq, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        osier_store::each_line(&*self.store, &self.key, self.opened.version.generation, wanted, each).await
    }

    /// The line of one entry.
    pub(crate) async fn line(&self, seq: Seq) -> Result<Vec<u8>> {
        let mut found = Vec::new();
        self.each_line(&[seq], |_, line| {
            found = line.to_vec();
            Ok::<_, StoreError>(())
        })
        .await?;
        Ok(found)
    }

    /// The session with its whole tree in memory, ready to be changed.
    pub(crate) async fn session(&self, home: &Home) -> Result<Session> {
        let _waiting = waiting(&format!("reading {}", self.opened.header.id));
        Ok(Session::open(self.store.clone(), &self.key, home.env()).await?)
    }
}

/// A session, open to be changed.
pub(crate) async fn session(home: &Home, word: &str) -> Result<Session> {
    Target::find(home, word).await?.session(home).await
}

/// The file of a session. One that is named by its path is not even opened.
pub(crate) async fn file(home: &Home, word: &str) -> Result<PathBuf> {
    let store = home.store();
    let key = key_of(&store, word).await?;
    match is_path(&key) {
        true => Ok(PathBuf::from(key)),
        false => store.open(&key).await?.file.context("only a file can be verified"),
    }
}

async fn key_of(store: &FileStore, word: &str) -> Result<String> {
    if is_path(word) {
        let path = Path::new(word);
        return match path.metadata() {
            Ok(metadata) if metadata.is_dir() => bail!("{word} is a folder; name a .jsonl file in it"),
            Ok(_) => Ok(FileStore::id_of_path(path)?),
            Err(_) => bail!("no file {word}"),
        };
    }
    if word.is_empty() {
        return Err(usage("name a session: the first digits of its id, or a .jsonl file"));
    }
    let mut known = store.find("").await?;
    let named: Vec<String> = known.iter().filter(|id| id.starts_with(word)).cloned().collect();
    // The store gives them in order, so copies of one session lie side by side.
    if named.windows(2).any(|two| two[0] == two[1]) {
        return by_header(store, word, &mut known).await;
    }
    match one(word, named, "say more of it")? {
        Some(key) => Ok(key),
        None => by_header(store, word, &mut known).await,
    }
}

/// A file that somebody copied or renamed is still the session that its header names.
async fn by_header(store: &FileStore, word: &str, known: &mut Vec<String>) -> Result<String> {
    let cards = store.list(&Filter::default()).await?.cards;
    let named = cards.iter().filter(|card| card.id.starts_with(word));
    let files: Vec<String> = named.filter_map(|card| card.file.clone()).collect();
    known.extend(cards.iter().map(|card| card.id.clone()));
    match one(word, files, "name one of these files")? {
        Some(key) => Ok(key),
        None => bail!("no session {word}{}", nearest(known, word)),
    }
}

/// The only one of those found; none if there is none.
fn one(word: &str, found: Vec<String>, advice: &str) -> Result<Option<String>> {
    let exact = found.iter().any(|id| id == word);
    match found.as_slice() {
        _ if exact => Ok(Some(word.to_owned())),
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        many => bail!("{word} could mean {} sessions: {}; {advice}", many.len(), some(many)),
    }
}

fn some(ids: &[String]) -> String {
    let shown: Vec<&str> = ids.iter().take(NAMED).map(String::as_str).collect();
    format!("{}{}", shown.join(", "), if ids.len() > NAMED { ", …" } else { "" })
}

/// Of all ids those that begin most like `word`.
pub(crate) fn alike<'a>(ids: impl Iterator<Item = &'a str>, word: &str) -> Vec<String> {
    let mut best = 1;
    let mut near: Vec<String> = Vec::new();
    for id in ids {
        let shared = id.bytes().zip(word.bytes()).take_while(|(a, b)| a == b).count();
        if shared > best {
            near.clear();
            best = shared;
        }
        if shared == best && near.len() <= NAMED {
            near.push(id.to_owned());
        }
    }
    near.sort();
    near.dedup();
    near
}

fn nearest(known: &[String], word: &str) -> String {
    let near = alike(known.iter().map(String::as_str), word);
    match near.is_empty() {
        true => "; `osier sessions list --all` shows what there is".to_owned(),
        false => format!("; the nearest: {}", some(&near)),
    }
}

/// What an error says about an entry that is not there.
pub(crate) fn nearest_entries<'a>(ids: impl Iterator<Item = &'a str>, word: &str) -> String {
    let near = alike(ids, word);
    match near.is_empty() {
        true => "`osier sessions tree --ids` shows what there is".to_owned(),
        false => format!("the nearest: {}", some(&near)),
    }
}
