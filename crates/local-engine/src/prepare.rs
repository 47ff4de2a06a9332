//! Choosing the session to open. Creates nothing, except the session of a fork.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use osier_engine::{
    FindOptions, ForkFrom, ForkRequest, KeepWhen, ListOptions, LiveSession, StoredSession, is_path, reading,
    session_location,
};
use osier_protocol::{
    ForkOptions, ForkPosition, Image, NewSessionOptions, OpenRequest, OpenTarget, Prompt, SessionRef,
};
use osier_settings::{CliOverrides, Home};
use osier_tree::move_target::EditorContent;
use serde::Deserialize;

use crate::agent_setup::AgentSetup;
use crate::error::LocalEngineError;
use crate::local_engine::LocalEngine;
use crate::prepared_session::{LocalSession, PreparedSession, SessionSource};

/// A session that a request selects.
#[derive(Debug)]
struct SelectedSession {
    source: SessionSource,
    /// What is configured for its directory.
    home: Home,
    name: Option<String>,
    editor: Option<EditorContent>,
}

/// The session that a request means.
#[derive(Debug)]
enum FoundTarget {
    New(NewSessionOptions),
    Stored(StoredSession),
    /// It may not be stored.
    Live(Arc<LiveSession>),
    Forked(StoredSession, Option<EditorContent>),
}

impl FoundTarget {
    /// The file or id that hooks are asked about; `None` is a new session. They were asked about a fork before.
    fn asked_location(&self) -> Option<Option<String>> {
        match self {
            FoundTarget::New(_) => Some(None),
            FoundTarget::Stored(stored) => Some(Some(stored.location())),
            FoundTarget::Live(live) => Some(Some(session_location(live.session()))),
            FoundTarget::Forked(..) => None,
        }
    }
}

impl LocalEngine {
    /// Opens or creates a session and connects to its agent. `None` if a hook refused; then nothing changed.
    pub async fn open_session(&self, request: OpenRequest) -> Result<Option<LocalSession>, LocalEngineError> {
        match self.prepare(request).await? {
            Some(prepared) => prepared.open().await.map(Some),
            None => Ok(None),
        }
    }

    /// Chooses the session and its agent. A new session is not created yet. `None` if a hook refused.
    pub async fn prepare(&self, request: OpenRequest) -> Result<Option<PreparedSession>, LocalEngineError> {
        let mut notices = Vec::new();
        let left = self.left_session(request.leaving.as_ref(), &request.target).await;
        let Some(target) = self.find_target(request.target, &mut notices).await? else { return Ok(None) };
        if let Some((left, location)) = left.as_ref().zip(target.asked_location())
            && !left.may_switch(&self.engine(), location).await
        {
            return Ok(None);
        }
        let selected = self.select(target, &mut notices).await?;
        let session_model = match selected.source.live() {
            Some(live) => reading::model_on_path(live.session()).await?,
            None => None,
        };
        let setup = AgentSetup::new(selected.home, &self.options, session_model.as_deref(), &mut notices)?;
        let SelectedSession { source, name, editor, .. } = selected;
        let editor = editor.map(editor_prompt);
        Ok(Some(PreparedSession {
            options: self.options.clone(),
            setup,
            notices,
            source,
            name,
            editor,
            left,
        }))
    }

    /// The session that a request means. Nothing is opened, so that hooks can refuse first. `None` if a hook refused a fork.
    async fn find_target(
        &self,
        target: OpenTarget,
        notices: &mut Vec<String>,
    ) -> Result<Option<FoundTarget>, LocalEngineError> {
        Ok(Some(match target {
            OpenTarget::New(new) => FoundTarget::New(new),
            OpenTarget::Latest { cwd } => match self.find_latest(cwd.as_deref(), notices).await? {
                Some(stored) => FoundTarget::Stored(stored),
                None => {
                    notices.push("no session to continue in this directory; starting a new one".to_owned());
                    FoundTarget::New(NewSessionOptions { cwd, ..NewSessionOptions::default() })
                }
            },
            OpenTarget::Named { name } => FoundTarget::Stored(self.find_session(&name, notices).await?),
            OpenTarget::Listed { session } => {
                match self.engine().live_session(&session.store, &session.key) {
                    Some(live) => FoundTarget::Live(live),
                    None => FoundTarget::Stored(self.stored_session(&session).await?),
                }
            }
            OpenTarget::Fork(options) => match self.fork(options).await? {
                Some((stored, editor)) => FoundTarget::Forked(stored, editor),
                None => return Ok(None),
            },
        }))
    }

    async fn select(
        &self,
        target: FoundTarget,
        notices: &mut Vec<String>,
    ) -> Result<SelectedSession, LocalEngineError> {
        let (live, editor) = match target {
            FoundTarget::New(new) => return self.select_new(new, notices),
            FoundTarget::Stored(stored) => (self.engine().open(&stored).await?, None),
            FoundTarget::Forked(stored, editor) => (self.engine().open(&stored).await?, editor),
            FoundTarget::Live(live) => {
                let session = live.session();
                (self.engine().open_at(session.store().name(), session.key()).await?, None)
            }
        };
        Ok(SelectedSession { editor, ..self.select_existing(live, notices)? })
    }

    fn select_new(
        &self,
        new: NewSessionOptions,
        notices: &mut Vec<String>,
    ) -> Result<SelectedSession, LocalEngineError> {
        let directory = self.new_session_directory(new.cwd.as_deref())?;
        let run = self.home().overrides.clone();
        let overrides = CliOverrides { store: new.store.or(run.store), agent: new.agent_id.or(run.agent) };
        let home = self.home_for(&directory, &overrides, notices)?;
        let keep = if new.in_memory { KeepWhen::Never } else { self.options.keep };
        let source = SessionSource::New(home.new_session(keep));
        Ok(SelectedSession { source, home, name: new.name, editor: None })
    }

    fn select_existing(
        &self,
        live: Arc<LiveSession>,
        notices: &mut Vec<String>,
    ) -> Result<SelectedSession, LocalEngineError> {
        let (own, directory) = (self.home(), PathBuf::from(&live.session().header().cwd));
        self.options.directories.check(&directory)?;
        let is_other = self.moves_to(&live, &directory, &own);
        let home = match is_other {
            true => {
                let shown = own.display_path(&directory);
                notices.push(format!("working in {shown}, the directory of the session"));
                self.home_for(&directory, &own.overrides, notices)?
            }
            false => {
                // Its own directory does not count, so the agent works where the engine was started.
                self.options.directories.check(&own.cwd)?;
                self.home_for(&own.cwd, &own.overrides, notices)?
            }
        };
        Ok(SelectedSession { source: SessionSource::Existing(live), home, name: None, editor: None })
    }

    /// Whether the agent works in the directory of the session, because it exists and is not the engine's own one. Others may
    /// have written the directory of a session in a database: it counts only if it is one of those that the user listed.
    fn moves_to(&self, live: &LiveSession, directory: &Path, own: &Home) -> bool {
        let is_trusted =
            !self.options.directories.is_unlimited() || own.engine.has_own_directory(live.session());
        !self.options.stays_in_directory && is_trusted && directory != own.cwd && directory.is_dir()
    }

    /// Copies a path into a new session. `None` if a hook refused.
    pub(crate) async fn fork(
        &self,
        options: ForkOptions,
    ) -> Result<Option<(StoredSession, Option<EditorContent>)>, LocalEngineError> {
        let (home, session) = (self.home(), &options.session);
        let live = self.open_briefly(session).await?;
        let from = match options.from {
            ForkPosition::Current => ForkFrom::CurrentPosition,
            ForkPosition::Exactly { entry_id } => ForkFrom::Exactly(entry_id.to_string()),
            ForkPosition::Entry { entry_id } => ForkFrom::Entry(entry_id.to_string()),
        };
        let store = options.store.or_else(|| home.named_store().map(str::to_owned));
        let request = ForkRequest { from, store, name: options.name };
        let forked = home.engine.fork(live.session(), &request).await?;
        Ok(forked.map(|forked| (forked.stored, forked.editor)))
    }

    /// Opens a session for one operation, if its directory is allowed.
    pub(crate) async fn open_briefly(
        &self,
        session: &SessionRef,
    ) -> Result<Arc<LiveSession>, LocalEngineError> {
        self.check_location(session)?;
        let live = self.engine().open_briefly_at(&session.store, &session.key).await?;
        self.options.directories.check(Path::new(&live.session().header().cwd))?;
        Ok(live)
    }

    /// A stored session, if its directory is allowed.
    pub(crate) async fn stored_session(
        &self,
        session: &SessionRef,
    ) -> Result<StoredSession, LocalEngineError> {
        self.check_location(session)?;
        let stored = self.engine().session_at(&session.store, &session.key).await?;
        self.options.directories.check(Path::new(&stored.opened.header.cwd))?;
        Ok(stored)
    }

    /// The stored session that a name means, if its directory is allowed.
    pub(crate) async fn find_session(
        &self,
        name: &str,
        notices: &mut Vec<String>,
    ) -> Result<StoredSession, LocalEngineError> {
        let home = self.home();
        let options = FindOptions { store: home.named_store(), ..FindOptions::default() };
        let found = home.engine.find(name, options).await?;
        self.check_location(&SessionRef { store: found.store.name().into(), key: found.key.clone() })?;
        notices.extend(found.unavailable.iter().map(|down| down.error.to_string()));
        let stored = found.read().await?;
        self.options.directories.check(Path::new(&stored.opened.header.cwd))?;
        Ok(stored)
    }

    /// Refuses a file outside the stores if the directories are limited: any file of the machine could be named.
    fn check_location(&self, session: &SessionRef) -> Result<(), LocalEngineError> {
        if self.options.directories.is_unlimited() || !is_path(&session.key) {
            return Ok(());
        }
        let engine = self.engine();
        match engine.configured_store(&session.store) {
            Some(store) if store.contains(Path::new(&session.key)) => Ok(()),
            _ => Err(self.options.directories.refuse(Path::new(&session.key)).into()),
        }
    }

    /// The most recently used session of a directory and of the agent.
    async fn find_latest(
        &self,
        cwd: Option<&str>,
        notices: &mut Vec<String>,
    ) -> Result<Option<StoredSession>, LocalEngineError> {
        let (home, directory) = (self.home(), self.new_session_directory(cwd)?);
        let agent = Some(home.settings.agent.clone());
        let options = ListOptions { agent, cwd: Some(directory), ..home.list_options(true) };
        let list = home.engine.list(&options).await?;
        notices.extend(list.unavailable.iter().map(|down| down.error.to_string()));
        match list.cards.iter().find(|card| !card.is_subagent()) {
            Some(card) => Ok(Some(home.engine.session_of_card(card).await?)),
            None => Ok(None),
        }
    }
}

fn editor_prompt(editor: EditorContent) -> Prompt {
    let images = editor.images.into_iter().filter_map(|block| Image::deserialize(block).ok()).collect();
    Prompt { images, ..Prompt::text(editor.text) }
}
