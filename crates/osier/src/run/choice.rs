//! Selects the session of a run: a new one, an existing one, a fork, or one that is not saved.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use osier_session::{ListResult, Session, SessionEnv};
use osier_store::{MemoryStore, Store};
use osier_tree::Header;
use osier_tree::projection::card::Card;

use super::args::{Args, Way};
use super::late::LateStore;
use super::picker;
use crate::failure::usage_error;
use crate::home::Home;
use crate::out::notice;
use crate::reading;
use crate::sessions::fork;
use crate::target::{self, SessionTarget};

/// The selected session. A new session is created only with its first message, so an unused one leaves no file.
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
        match &args.resume {
            Some(Some(word)) => return by_word(word, home).await,
            // The terminal interface starts with the session list.
            Some(None) if args.way() == Way::Screen => return Ok(Choice::New { kept: true }),
            Some(None) => return Err(picker::unnamed(&cards(home).await?, home)),
            None => {}
        }
        if let Some(file) = &args.session {
            return file_of(file, home).await;
        }
        match &args.fork {
            Some(word) => forked(word, home).await,
            None => Ok(Choice::New { kept: !args.no_session }),
        }
    }

    /// Runs `work` on the selection, and closes the store if it fails.
    pub(super) async fn used<T>(self, work: impl AsyncFnOnce(Choice) -> Result<T>) -> Result<T> {
        let store = match &self {
            Choice::There(session) => Some(session.store().clone()),
            Choice::New { .. } => None,
        };
        let done = work(self).await;
        if let (Err(_), Some(store)) = (&done, store) {
            store.close().await;
        }
        done
    }

    /// Opens the session, or creates it if it is new.
    pub(super) async fn open(self, home: &Home) -> Result<Session> {
        match self {
            Choice::There(session) => Ok(session),
            Choice::New { kept } => begin(kept, home).await,
        }
    }

    /// Opens the session. A new one is created in the store with its first message.
    pub(super) async fn open_late(self, home: &Home) -> Result<Session> {
        match self {
            Choice::New { kept: true } => {
                let store: Arc<dyn Store> = home.default_store();
                let header = home.new_header(&*store, &home.cwd.to_string_lossy()).await?;
                let late = LateStore::new(store, header.clone()).await?;
                Ok(Session::open(Arc::new(late), &header.id, env(home)).await?)
            }
            choice => choice.open(home).await,
        }
    }

    /// The directory of the session, if it exists and is not the current one.
    pub(super) fn elsewhere(&self, home: &Home) -> Option<&Path> {
        let Choice::There(session) = self else { return None };
        let cwd = Path::new(&session.header().cwd);
        // The directory of a fork comes from its source, so the source must be our own too.
        let Header { parent_session, parent_session_id, .. } = session.header();
        let is_own_copy = parent_session.as_deref().is_none_or(|parent| home.is_own_file(Path::new(parent)))
            && parent_session_id.as_deref().is_none_or(|parent| !home.is_foreign(parent));
        (session.file().is_some() && is_ours(session, home) && is_own_copy && cwd != home.cwd && cwd.is_dir())
            .then_some(cwd)
    }
}

fn env(home: &Home) -> SessionEnv {
    SessionEnv { watch: true, ..home.session_env() }
}

async fn begin(kept: bool, home: &Home) -> Result<Session> {
    let store: Arc<dyn Store> = if kept { home.default_store() } else { Arc::new(MemoryStore::default()) };
    let header: Header = home.new_header(&*store, &home.cwd.to_string_lossy()).await?;
    Ok(Session::create(store, &header, &[], env(home)).await?)
}

/// The sessions of this directory and this agent, most recent first.
async fn cards(home: &Home) -> Result<Vec<Card>> {
    let ListResult { page, unavailable: down } =
        home.listed_stores().list(&home.session_filter(false)).await?;
    crate::stores::show_unavailable(&down);
    let mut cards = page.cards;
    cards.retain(|card| card.agent_id == home.settings.agent);
    Ok(cards)
}

async fn last(home: &Home) -> Result<Choice> {
    match cards(home).await?.first() {
        Some(card) => resume_card(card, home).await,
        None => {
            notice("osier: no session to continue in this directory; starting a new one");
            Ok(Choice::New { kept: true })
        }
    }
}

/// Opens the listed session, even if other stores have copies of it.
async fn resume_card(card: &Card, home: &Home) -> Result<Choice> {
    there(SessionTarget::from_card(home, card).await?, home).await
}

/// The session that an id, a prefix or a path names.
pub(super) async fn by_word(word: &str, home: &Home) -> Result<Choice> {
    there(SessionTarget::find(home, word).await?, home).await
}

async fn there(target: SessionTarget, home: &Home) -> Result<Choice> {
    Ok(Choice::There(Session::open(target.store, &target.key, env(home)).await?))
}

async fn file_of(file: &str, home: &Home) -> Result<Choice> {
    if !target::is_path(file) {
        return Err(usage_error(format!(
            "--session takes a file; to resume a session by its id: --resume {file}"
        )));
    }
    by_word(file, home).await
}

/// Whether this user's Osier created the session. Files from elsewhere, sessions in shared databases, and copies of either
/// are not trusted.
pub(super) fn is_ours(session: &Session, home: &Home) -> bool {
    let is_forgotten = || session.store().name() == "memory";
    session.file().map_or_else(is_forgotten, |file| home.is_own_file(file) && !home.is_foreign(session.id()))
}

async fn forked(word: &str, home: &Home) -> Result<Choice> {
    let (word, entry) = match word.rsplit_once('@') {
        Some((word, entry)) if !word.is_empty() && !entry.contains(['/', '.']) => (word, Some(entry)),
        _ => (word, None),
    };
    let source = target::open_session(home, word).await?;
    let at = reading::resolve_place(&source.tree(), entry)?;
    let fork = fork::fork(&source, at, false, None, home).await?;
    notice(&format!("osier: forked to session {}", fork.id()));
    gone_on_with(fork, home).await
}

/// Reopens a session that was just created, for interactive use.
pub(super) async fn gone_on_with(session: Session, home: &Home) -> Result<Choice> {
    let (store, key) = (session.store().clone(), session.key().to_owned());
    drop(session);
    Ok(Choice::There(Session::open(store, &key, env(home)).await?))
}
