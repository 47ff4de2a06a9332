//! Finds the session that a command names: by the first characters of its id, or by the path of its file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use osier_session::{Down, Owned, Session};
use osier_store::{FileStore, Filter, Opened, PagedHeads, Store, StoreError};
use osier_tree::projection::card::Card;
use osier_tree::short_ids::{SESSION_ID_LENGTH, ShortIds, has_prefix};
use osier_tree::{ErrorCode, Seq};

use crate::failure::{fail, failure, usage};
use crate::home::Home;
use crate::layout::plain;
use crate::out::remark;
use crate::progress::waiting;
use crate::stores::{self, Shelf};

/// How many ids an error message lists.
const NAMED: usize = 5;

/// A session and the store that holds it.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) store: Arc<dyn Store>,
    /// The key of the session in the store.
    pub(crate) key: String,
    pub(crate) opened: Opened,
}

/// Whether the argument for a session is a path.
pub(crate) fn is_path(word: &str) -> bool {
    word.contains('/') || word.ends_with(".jsonl")
}

impl Target {
    pub(crate) async fn find(home: &Home, word: &str) -> Result<Target> {
        Target::find_by(home, word, Reach::Any).await
    }

    /// Like `find`, but prefers a copy that is not in this store.
    pub(crate) async fn find_outside(home: &Home, word: &str, store: &str) -> Result<Target> {
        Target::find_by(home, word, Reach::Outside(store)).await
    }

    async fn find_by(home: &Home, word: &str, reach: Reach<'_>) -> Result<Target> {
        let _progress = waiting(&format!("reading {word}"));
        match seek(home, word, reach).await? {
            Sought::Found(store, key) => Target::open(store, key).await,
            Sought::Nowhere(error) => Err(error),
        }
    }

    /// Like `find`, for a session to delete. Returns `None` if it does not exist and `may_be_gone` is set.
    pub(crate) async fn find_to_delete(home: &Home, word: &str, may_be_gone: bool) -> Result<Option<Target>> {
        let _progress = waiting(&format!("reading {word}"));
        match seek(home, word, Reach::ToDelete).await? {
            Sought::Found(store, key) => {
                if let Some(named) =
                    home.named_store().filter(|named| *named != store.name() && !is_path(word))
                {
                    remark(&format!("osier: {} is in {}, not in {named}", plain(word), store.name()));
                }
                Target::open(store, key).await.map(Some)
            }
            Sought::Nowhere(_) if may_be_gone => Ok(None),
            Sought::Nowhere(error) => Err(error),
        }
    }

    /// The session of a card: exactly this copy, if there are several.
    pub(crate) async fn of_card(home: &Home, card: &Card) -> Result<Target> {
        let key = card.file.as_deref().unwrap_or(&card.id);
        match home.shelf(&card.store) {
            Some(handle) => Target::open(handle.store(), key.to_owned()).await,
            None => Target::find(home, key).await,
        }
    }

    async fn open(store: Arc<dyn Store>, key: String) -> Result<Target> {
        let opened = store.open(&key).await?;
        Ok(Target { store, key, opened })
    }

    /// The card, with a short id that is unique in the store.
    pub(crate) async fn card(&self) -> Result<Card> {
        let card = self.store.card(&self.key).await?;
        Ok(Card { short_id: self.store.short_id(&card.id).await?, ..card })
    }

    /// The heads, read only as far as needed.
    pub(crate) fn heads(&self) -> PagedHeads<'_> {
        PagedHeads::new(&*self.store, &self.key, self.opened.version)
    }

    /// Reads lines in batches and calls `each` with each line.
    pub(crate) async fn each_line<E: From<StoreError>>(
        &self,
        wanted: &[Seq],
        each: impl FnMut(Seq, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        osier_store::each_line(&*self.store, &self.key, self.opened.version.generation, wanted, each).await
    }

    /// Opens the session, with its whole tree in memory.
    pub(crate) async fn session(&self, home: &Home) -> Result<Session> {
        let _progress = waiting(&format!("reading {}", self.opened.header.id));
        Ok(Session::open(self.store.clone(), &self.key, home.env()).await?)
    }
}

/// Finds and opens a session.
pub(crate) async fn session(home: &Home, word: &str) -> Result<Session> {
    Target::find(home, word).await?.session(home).await
}

/// Where the log of a session is.
#[derive(Debug)]
pub(crate) enum LogPlace {
    File(PathBuf),
    Database(Box<Target>),
}

/// Finds the log of a session. A session named by its path is not opened.
pub(crate) async fn log_place(home: &Home, word: &str) -> Result<LogPlace> {
    let (store, key) = match seek(home, word, Reach::Any).await? {
        Sought::Found(store, key) => (store, key),
        Sought::Nowhere(error) => return Err(error),
    };
    if is_path(&key) {
        return Ok(LogPlace::File(PathBuf::from(key)));
    }
    let target = Target::open(store, key).await?;
    Ok(match target.opened.file.clone() {
        Some(file) => LogPlace::File(file),
        None => LogPlace::Database(Box::new(target)),
    })
}

/// The result of looking for a session.
enum Sought {
    /// The store that has it, and its key in the store.
    Found(Arc<dyn Store>, String),
    /// No store has it.
    Nowhere(anyhow::Error),
}

/// Which stores to search, and which copies count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach<'a> {
    /// All stores. If several have it, the store of `--store` wins.
    Any,
    /// Like `Any`, but only if the match is certain, because it will be deleted.
    ToDelete,
    /// Like `Any`, but a copy outside this store wins.
    Outside(&'a str),
}

impl Reach<'_> {
    /// The matches that count.
    fn of<T>(self, mut all: Vec<T>, home: &Home, store: impl Fn(&T) -> &str) -> Vec<T> {
        if let Reach::Outside(other) = self
            && home.named_store().is_none()
            && all.iter().any(|one| store(one) != other)
        {
            all.retain(|one| store(one) != other);
        }
        let Some(named) = home.named_store() else { return all };
        let is_named = |one: &T| store(one) == named;
        match all.iter().any(is_named) {
            true => all.into_iter().filter(is_named).collect(),
            false => all,
        }
    }
}

async fn seek(home: &Home, word: &str, reach: Reach<'_>) -> Result<Sought> {
    if is_path(word) {
        return of_path(home, Path::new(word)).map(|(store, key)| Sought::Found(store, key));
    }
    if word.is_empty() {
        return Err(usage("give a session: the first characters of its id, or a .jsonl file"));
    }
    let mut found = home.stores().find(word).await?;
    if reach == Reach::ToDelete
        && let Some(away) = found.down.iter().position(|down| home.named_store() == Some(&down.store))
    {
        return Err(found.down.swap_remove(away).why.into());
    }
    let owned = reach.of(found.owned, home, |owned| owned.store.name());
    let is_in_named = owned.iter().all(|owned| home.named_store() == Some(owned.store.name()));
    if reach == Reach::ToDelete && !is_in_named && !owned.iter().any(|owned| is_whole(&owned.id, word)) {
        sure(word, &found.down)?;
    }
    // A store returns ids in order, so copies of a session are adjacent.
    let same = |two: &[Owned]| two[0].id == two[1].id && two[0].store.name() == two[1].store.name();
    if !owned.windows(2).any(same)
        && let Some(Owned { store, id }) = one(word, owned)?
    {
        stores::tell(&found.down);
        return Ok(Sought::Found(store, id));
    }
    if let Some(file) = by_header(home, word, reach).await? {
        if reach == Reach::ToDelete {
            sure(word, &found.down)?;
        }
        stores::tell(&found.down);
        return of_path(home, Path::new(&file)).map(|(store, key)| Sought::Found(store, key));
    }
    if let Some(Down { store, why }) = found.down.into_iter().next() {
        let missing = format!("no session {word} in the other stores, and {store} is unavailable");
        return Err(anyhow::Error::new(why).context(missing));
    }
    Ok(Sought::Nowhere(nowhere(home, word).await?))
}

/// Fails if a store is unavailable: a prefix that matches one session may match another one there.
fn sure(word: &str, down: &[Down]) -> Result<()> {
    match down.first() {
        Some(Down { store, why }) => {
            let why = plain(&why.to_string());
            fail!(
                SessionAmbiguous,
                "{word} could also mean a session in {store}; give the full id, or choose a store with --store: {why}"
            )
        }
        None => Ok(()),
    }
}

/// The store of a file: the store whose folder contains it, else the store in the home folder.
fn of_path(home: &Home, path: &Path) -> Result<(Arc<dyn Store>, String)> {
    let word = path.display();
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => {
            fail!(NotASession, "{word} is a folder; give a .jsonl file in it")
        }
        Ok(_) => {}
        Err(_) => fail!(SessionNotFound, "no file {word}"),
    }
    let key = FileStore::id_of_path(path)?;
    let handle = home.shelves.iter().find(|handle| handle.holds(Path::new(&key)));
    Ok((handle.map_or_else(|| home.files() as Arc<dyn Store>, Shelf::store), key))
}

/// The only match. An exact id wins over a prefix.
fn one(word: &str, owned: Vec<Owned>) -> Result<Option<Owned>> {
    let exact: Vec<Owned> = owned.iter().filter(|owned| owned.id == word).cloned().collect();
    let whole: Vec<Owned> = owned.iter().filter(|owned| is_whole(&owned.id, word)).cloned().collect();
    let mut owned = [exact, whole, owned].into_iter().find(|meant| !meant.is_empty()).unwrap_or_default();
    if owned.len() < 2 {
        return Ok(owned.pop());
    }
    let stores: Vec<&str> = owned.iter().map(|owned| owned.store.name()).collect();
    if owned.iter().all(|other| other.id == owned[0].id) {
        let id = &owned[0].id;
        fail!(
            SessionAmbiguous,
            "session {id} is in the stores {}; choose one with --store",
            stores.join(" and ")
        );
    }
    let many = stores.iter().any(|store| *store != stores[0]);
    let short = ShortIds::new(owned.iter().map(|owned| &owned.id));
    let named = |owned: &Owned| match (short.shorten(&owned.id, SESSION_ID_LENGTH), many) {
        (id, true) => format!("{id} ({})", owned.store.name()),
        (id, false) => id.to_owned(),
    };
    let ids: Vec<String> = owned.iter().map(named).collect();
    fail!(
        SessionAmbiguous,
        "{word} is ambiguous: it could mean {} sessions: {}; give more characters",
        ids.len(),
        some(&ids)
    )
}

fn is_whole(id: &str, word: &str) -> bool {
    id.eq_ignore_ascii_case(word)
}

/// The error for a session that no store has.
async fn nowhere(home: &Home, word: &str) -> Result<anyhow::Error> {
    let known = home.stores().find("").await?.owned.into_iter().map(|owned| owned.id);
    let by_header = cards_of_files(home).await?.into_iter().map(|card| card.id);
    let known: Vec<String> = known.chain(by_header).collect();
    Ok(failure(ErrorCode::SessionNotFound, format!("no session {word}{}", nearest(&known, word))))
}

async fn cards_of_files(home: &Home) -> Result<Vec<Card>> {
    let mut cards = Vec::new();
    for files in home.shelves.iter().filter_map(Shelf::files) {
        cards.extend(files.list(&Filter::default()).await?.cards);
    }
    Ok(cards)
}

/// Finds a file by the id in its header, which survives copying and renaming.
async fn by_header(home: &Home, word: &str, reach: Reach<'_>) -> Result<Option<String>> {
    let cards = cards_of_files(home).await?;
    let named = cards.into_iter().filter(|card| has_prefix(&card.id, word)).collect();
    let named = reach.of(named, home, |card: &Card| card.store.as_str());
    let mut files: Vec<String> = named.into_iter().filter_map(|card| card.file).collect();
    match files.len() {
        0 | 1 => Ok(files.pop()),
        many => fail!(
            SessionAmbiguous,
            "{word} is ambiguous: it could mean {many} sessions: {}; give one of these files",
            some(&files)
        ),
    }
}

fn some(ids: &[String]) -> String {
    let shown: Vec<&str> = ids.iter().take(NAMED).map(String::as_str).collect();
    format!("{}{}", shown.join(", "), if ids.len() > NAMED { ", …" } else { "" })
}

/// The ids that share the longest prefix with `word`.
pub(crate) fn alike<'a>(ids: impl Iterator<Item = &'a str>, word: &str) -> Vec<String> {
    let mut best = 1;
    let mut near: Vec<String> = Vec::new();
    for id in ids {
        let shared = id.bytes().zip(word.bytes()).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
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
    let short = ShortIds::new(known);
    let near = alike(known.iter().map(|id| short.shorten(id, SESSION_ID_LENGTH)), word);
    match near.is_empty() {
        true => "; `osier sessions list --all` lists the sessions".to_owned(),
        false => format!("; did you mean {}?", some(&near)),
    }
}

/// The hint for an unknown entry.
pub(crate) fn nearest_entries<'a>(ids: impl Iterator<Item = &'a str>, word: &str) -> String {
    let near = alike(ids, word);
    match near.is_empty() {
        true => "`osier sessions tree --ids` lists the entries".to_owned(),
        false => format!("did you mean {}?", some(&near)),
    }
}
