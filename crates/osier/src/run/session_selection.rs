//! Selects the session of a run: a new one, an existing one, a fork, or one that is not saved.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use osier_session::{ListResult, Session, SessionEnv};
use osier_store::{MemoryStore, Store};
use osier_tree::Header;
use osier_tree::projection::card::Card;

use super::args::{Args, FrontEnd};
use super::deferred_store::DeferredStore;
use super::resume_error;
use crate::failure::usage_error;
use crate::home::Home;
use crate::out::notice;
use crate::reading;
use crate::sessions::fork;
use crate::target::{self, SessionTarget};

/// The selected session. A new session is created only with its first message, so an unused one leaves no file.
#[derive(Debug)]
pub(super) enum SessionSelection {
    New { kept: bool },
    Existing(Session),
}

impl SessionSelection {
    pub(super) async fn select(args: &Args, home: &Home) -> Result<SessionSelection> {
        if args.go_on {
            return most_recent(home).await;
        }
        match &args.resume {
            Some(Some(word)) => return find_session(word, home).await,
            // The terminal interface starts with the session list.
            Some(None) if args.front_end() == FrontEnd::Terminal => {
                return Ok(SessionSelection::New { kept: true });
            }
            Some(None) => return Err(resume_error::missing_id_error(&resumable_cards(home).await?, home)),
            None => {}
        }
        if let Some(file) = &args.session {
            return open_file(file, home).await;
        }
        match &args.fork {
            Some(word) => fork_selection(word, home).await,
            None => Ok(SessionSelection::New { kept: !args.no_session }),
        }
    }

    /// Runs `work` on the selection, and closes the store if it fails.
    pub(super) async fn run_or_close<T>(
        self,
        work: impl AsyncFnOnce(SessionSelection) -> Result<T>,
    ) -> Result<T> {
        let store = match &self {
            SessionSelection::Existing(session) => Some(session.store().clone()),
            SessionSelection::New { .. } => None,
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
            SessionSelection::Existing(session) => Ok(session),
            SessionSelection::New { kept } => create_session(kept, home).await,
        }
    }

    /// Opens the session. A new one is created in the store with its first message.
    pub(super) async fn open_deferred(self, home: &Home) -> Result<Session> {
        match self {
            SessionSelection::New { kept: true } => {
                let store: Arc<dyn Store> = home.default_store();
                let header = home.new_header(&*store, &home.cwd.to_string_lossy()).await?;
                let late = DeferredStore::new(store, header.clone()).await?;
                Ok(Session::open(Arc::new(late), &header.id, session_env(home)).await?)
            }
            choice => choice.open(home).await,
        }
    }

    /// The directory of the session, if it exists and is not the current one.
    pub(super) fn other_directory(&self, home: &Home) -> Option<&Path> {
        let SessionSelection::Existing(session) = self else { return None };
        let cwd = Path::new(&session.header().cwd);
        // The directory of a fork comes from its source, so the source must be our own too.
        let Header { parent_session, parent_session_id, .. } = session.header();
        let is_own_copy = parent_session.as_deref().is_none_or(|parent| home.is_own_file(Path::new(parent)))
            && parent_session_id.as_deref().is_none_or(|parent| !home.is_foreign(parent));
        (session.file().is_some()
            && is_own_session(session, home)
            && is_own_copy
            && cwd != home.cwd
            && cwd.is_dir())
        .then_some(cwd)
    }
}

fn session_env(home: &Home) -> SessionEnv {
    SessionEnv { watch: true, ..home.session_env() }
}

async fn create_session(kept: bool, home: &Home) -> Result<Session> {
    let store: Arc<dyn Store> = if kept { home.default_store() } else { Arc::new(MemoryStore::default()) };
    let header: Header = home.new_header(&*store, &home.cwd.to_string_lossy()).await?;
    Ok(Session::create(store, &header, &[], session_env(home)).await?)
}

/// The sessions of this directory and this agent, most recent first.
async fn resumable_cards(home: &Home) -> Result<Vec<Card>> {
    let ListResult { page, unavailable: down } =
        home.listed_stores().list(&home.session_filter(false)).await?;
    crate::stores::show_unavailable(&down);
    let mut cards = page.cards;
    cards.retain(|card| card.agent_id == home.settings.agent);
    Ok(cards)
}

async fn most_recent(home: &Home) -> Result<SessionSelection> {
    match resumable_cards(home).await?.first() {
        Some(card) => resume_card(card, home).await,
        None => {
            notice("osier: no session to continue in this directory; starting a new one");
            Ok(SessionSelection::New { kept: true })
        }
    }
}

/// Opens the listed session, even if other stores have copies of it.
async fn resume_card(card: &Card, home: &Home) -> Result<SessionSelection> {
    open_target(SessionTarget::from_card(home, card).await?, home).await
}

/// The session that an id, a prefix or a path names.
pub(super) async fn find_session(word: &str, home: &Home) -> Result<SessionSelection> {
    open_target(SessionTarget::find(home, word).await?, home).await
}

async fn open_target(target: SessionTarget, home: &Home) -> Result<SessionSelection> {
    Ok(SessionSelection::Existing(Session::open(target.store, &target.key, session_env(home)).await?))
}

async fn open_file(file: &str, home: &Home) -> Result<SessionSelection> {
    if !target::is_path(file) {
        return Err(usage_error(format!(
            "--session takes a file; to resume a session by its id: --resume {file}"
        )));
    }
    find_session(file, home).await
}

/// Whether this user's Osier created the session. Files from elsewhere, sessions in shared databases, and copies of either
/// are not trusted.
pub(super) fn is_own_session(session: &Session, home: &Home) -> bool {
    let is_forgotten = || session.store().name() == "memory";
    session.file().map_or_else(is_forgotten, |file| home.is_own_file(file) && !home.is_foreign(session.id()))
}

async fn fork_selection(word: &str, home: &Home) -> Result<SessionSelection> {
    let (word, entry) = match word.rsplit_once('@') {
        Some((word, entry)) if !word.is_empty() && !entry.contains(['/', '.']) => (word, Some(entry)),
        _ => (word, None),
    };
    let source = target::open_session(home, word).await?;
    let at = reading::resolve_place(&source.tree(), entry)?;
    let fork = fork::fork(&source, at, false, None, home).await?;
    notice(&format!("osier: forked to session {}", fork.id()));
    reopen(fork, home).await
}

/// Reopens a session that was just created, for interactive use.
pub(super) async fn reopen(session: Session, home: &Home) -> Result<SessionSelection> {
    let (store, key) = (session.store().clone(), session.key().to_owned());
    drop(session);
    Ok(SessionSelection::Existing(Session::open(store, &key, session_env(home)).await?))
}
