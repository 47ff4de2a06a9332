//! Which session a run is about: a new one, one that is there, a copy of one, or none that is kept.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use osier_session::{Env, Session};
use osier_store::{MemoryStore, Store};
use osier_tree::Header;
use osier_tree::projection::card::Card;

use super::args::Args;
use super::picker;
use crate::failure::usage;
use crate::home::Home;
use crate::out::remark;
use crate::reading;
use crate::sessions::fork;
use crate::target::{self, Target};

/// The agent whose sessions people go on with; sessions of other agents belong to the work of those.
const MAIN: &str = "main";

/// What was chosen. A new session is made only when something is to be kept, so looking in leaves no file.
#[derive(Debug)]
pub(super) enum Choice {
    New { kept: bool },
    There(Session),
}

impl Choice {
    pub(super) async fn make(args: &Args, home: &Home) -> Result<Choice> {
        if args.go_on {
            return last(home).await;
        }
        if let Some(wanted) = &args.resume {
            return resume(wanted.as_deref(), home).await;
        }
        if let Some(file) = &args.session {
            return file_of(file, home).await;
        }
        match &args.fork {
            Some(word) => forked(word, home).await,
            None => Ok(Choice::New { kept: !args.no_session }),
        }
    }

    /// The session itself, made now if it is new.
    pub(super) async fn open(self, home: &Home) -> Result<Session> {
        match self {
            Choice::There(session) => Ok(session),
            Choice::New { kept } => begin(kept, home).await,
        }
    }

    /// Where the session belongs, if that is another directory than the current one, and is there.
    pub(super) fn elsewhere(&self, home: &Home) -> Option<&Path> {
        let Choice::There(session) = self else { return None };
        let cwd = Path::new(&session.header().cwd);
        // The copy of a foreign file has its directory from there.
        let parent = session.header().parent_session.as_deref();
        let is_own_copy =
            parent.is_none_or(|parent| Path::new(parent).starts_with(home.folder.join("sessions")));
        (session.file().is_some() && is_ours(session, home) && is_own_copy && cwd != home.cwd && cwd.is_dir())
            .then_some(cwd)
    }
}

fn env(home: &Home) -> Env {
    Env { watch: true, ..home.env() }
}

async fn begin(kept: bool, home: &Home) -> Result<Session> {
    let store: Arc<dyn Store> = if kept { home.store() } else { Arc::new(MemoryStore::default()) };
    let header: Header = home.header(&*store, &home.cwd.to_string_lossy()).await?;
    Ok(Session::create(store, &header, &[], env(home)).await?)
}

/// The sessions of this directory that a person would go on with, the one used last first.
pub(super) async fn cards(home: &Home) -> Result<Vec<Card>> {
    let mut cards = home.store().list(&home.filter(false)).await?.cards;
    cards.retain(|card| card.agent_id == MAIN);
    Ok(cards)
}

async fn last(home: &Home) -> Result<Choice> {
    match cards(home).await?.first() {
        Some(card) => resume_card(card, home).await,
        None => {
            remark("osier: nothing to continue in this directory; a new session begins");
            Ok(Choice::New { kept: true })
        }
    }
}

/// By its file, where it has one: of copies of a session the one in the list is meant.
pub(super) async fn resume_card(card: &Card, home: &Home) -> Result<Choice> {
    by_word(card.file.as_deref().unwrap_or(&card.id), home).await
}

async fn resume(wanted: Option<&str>, home: &Home) -> Result<Choice> {
    match wanted {
        Some(word) => by_word(word, home).await,
        None => match picker::pick(&cards(home).await?, home)? {
            Some(card) => resume_card(&card, home).await,
            None => Ok(Choice::New { kept: true }),
        },
    }
}

/// The session that a word means.
pub(super) async fn by_word(word: &str, home: &Home) -> Result<Choice> {
    let target = Target::find(home, word).await?;
    Ok(Choice::There(Session::open(target.store, &target.key, env(home)).await?))
}

async fn file_of(file: &str, home: &Home) -> Result<Choice> {
    if !target::is_path(file) {
        return Err(usage(format!("--session takes a file; for a session of the list: --resume {file}")));
    }
    by_word(file, home).await
}

/// Whether Osier made the file of a session. Any other may have been made by anybody, and says what it likes.
pub(super) fn is_ours(session: &Session, home: &Home) -> bool {
    session.file().is_none_or(|file| file.starts_with(home.folder.join("sessions")))
}

async fn forked(word: &str, home: &Home) -> Result<Choice> {
    let (word, entry) = match word.rsplit_once('@') {
        Some((word, entry)) if !word.is_empty() && !entry.contains(['/', '.']) => (word, Some(entry)),
        _ => (word, None),
    };
    let source = target::session(home, word).await?;
    let at = reading::place(&source.tree(), entry)?;
    let fork = fork::fork(&source, at, false, None, home).await?;
    remark(&format!("osier: forked into session {}", fork.id()));
    gone_on_with(fork, home).await
}

/// A session that was just made, to be talked in from now on.
pub(super) async fn gone_on_with(session: Session, home: &Home) -> Result<Choice> {
    let (store, key) = (session.store().clone(), session.key().to_owned());
    drop(session);
    Ok(Choice::There(Session::open(store, &key, env(home)).await?))
}
