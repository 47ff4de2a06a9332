//! Selects the session of a run: a new one, an existing one, a fork, or one that is not saved.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use osier_engine::{ForkFrom, ForkRequest, KeepWhen, ListOptions, LiveSession, StoredSession, is_path};
use osier_tree::projection::card::Card;

use super::args::{Args, FrontEnd};
use super::resume_error;
use crate::failure::{fail, usage_error};
use crate::home::Home;
use crate::output_writer::notice;
use crate::target;

/// The selected session. A new session is created only with its first message, so an unused one leaves no file.
#[derive(Debug)]
pub(super) enum SessionSelection {
    New { kept: bool },
    Existing(Arc<LiveSession>),
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
            SessionSelection::Existing(live) => Some(live.session().store().clone()),
            SessionSelection::New { .. } => None,
        };
        let done = work(self).await;
        if let (Err(_), Some(store)) = (&done, store) {
            store.close().await;
        }
        done
    }

    /// Opens the session, or creates it if it is new.
    pub(super) async fn open(self, home: &Home) -> Result<Arc<LiveSession>> {
        match self {
            SessionSelection::Existing(live) => Ok(live),
            SessionSelection::New { kept: true } => create_session(KeepWhen::Always, home).await,
            SessionSelection::New { kept: false } => create_session(KeepWhen::Never, home).await,
        }
    }

    /// Opens the session. A new one is created in the store with its first message.
    pub(super) async fn open_deferred(self, home: &Home) -> Result<Arc<LiveSession>> {
        match self {
            SessionSelection::New { kept: true } => create_session(KeepWhen::Used, home).await,
            selection => selection.open(home).await,
        }
    }

    /// The directory of the session, if it exists and is not the current one.
    pub(super) fn other_directory(&self, home: &Home) -> Option<&Path> {
        let SessionSelection::Existing(live) = self else { return None };
        let session = live.session();
        let cwd = Path::new(&session.header().cwd);
        (home.engine.has_own_directory(session) && cwd != home.cwd && cwd.is_dir()).then_some(cwd)
    }
}

async fn create_session(keep: KeepWhen, home: &Home) -> Result<Arc<LiveSession>> {
    Ok(home.engine.create(&home.new_session(keep)).await?)
}

/// The sessions of this directory and this agent, most recent first.
async fn resumable_cards(home: &Home) -> Result<Vec<Card>> {
    let agent = Some(home.settings.agent.clone());
    let list = home.engine.list(&ListOptions { agent, ..home.list_options(false) }).await?;
    crate::stores::show_unavailable(&list.unavailable);
    Ok(list.cards)
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
    open_stored(home.engine.session_of_card(card).await?, home).await
}

/// The session that an id, a prefix or a path names.
async fn find_session(word: &str, home: &Home) -> Result<SessionSelection> {
    open_stored(target::find(home, word).await?, home).await
}

pub(super) async fn open_stored(stored: StoredSession, home: &Home) -> Result<SessionSelection> {
    Ok(SessionSelection::Existing(home.engine.open(&stored).await?))
}

async fn open_file(file: &str, home: &Home) -> Result<SessionSelection> {
    if !is_path(file) {
        return Err(usage_error(format!(
            "--session takes a file; to resume a session by its id: --resume {file}"
        )));
    }
    find_session(file, home).await
}

async fn fork_selection(word: &str, home: &Home) -> Result<SessionSelection> {
    let (word, entry) = match word.rsplit_once('@') {
        Some((word, entry)) if !word.is_empty() && !entry.contains(['/', '.']) => (word, Some(entry)),
        _ => (word, None),
    };
    let source = target::find_and_open(home, word).await?;
    let from = entry.map_or(ForkFrom::CurrentPosition, |entry| ForkFrom::Exactly(entry.to_owned()));
    let store = home.named_store().map(str::to_owned);
    let fork = home.engine.fork(source.session(), &ForkRequest { from, store, name: None }).await?;
    let Some(fork) = fork else { fail!(Cancelled, "an extension refused the fork") };
    notice(&format!("osier: forked to session {}", fork.stored.opened.header.id));
    open_stored(fork.stored, home).await
}
