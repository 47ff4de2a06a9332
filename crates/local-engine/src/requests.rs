//! Requests that need no open session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use osier_engine::{CommitOutcome, ConfiguredStore, EngineError, ExportFormat, KeptReason, ListOptions};
use osier_protocol::engine_request::{
    DeletedSession, EngineDescription, ForkedSession, SessionList, StoreDescription,
};
use osier_protocol::search_query::{SearchDetail, SearchQuery};
use osier_protocol::{
    ClientError, EngineReply, EngineRequest, ErrorCode, ForkOptions, JsonText, ListSessions, SessionRef,
};
use osier_session::{KnownRevision, SnapshotOptions};
use osier_settings::settings_page;
use osier_store::StoreError;
use osier_tree::projection::preview::sanitize_line;

use crate::error::LocalEngineError;
use crate::local_engine::LocalEngine;

/// The size of the largest snapshot, path or export that is one reply. It is in memory as a whole, once per client.
pub(crate) const MAX_REPLY: usize = 64 << 20;
/// The most matching messages of a session in a list, and the most lines around a match.
const MAX_HITS: usize = 100;
const MAX_CONTEXT_LINES: usize = 100;

impl LocalEngine {
    pub(crate) async fn handle_request(
        &self,
        request: EngineRequest,
    ) -> Result<EngineReply, LocalEngineError> {
        match request {
            EngineRequest::ListSessions(options) => self.list(options).await.map(EngineReply::Sessions),
            EngineRequest::FindSession { name } => {
                let card = self.find_session(&name, &mut Vec::new()).await?.card().await?;
                Ok(EngineReply::Found { card })
            }
            EngineRequest::RenameSession { session, name } => self.rename_session(&session, name).await,
            EngineRequest::DeleteSession { session } => self.delete(&session).await.map(EngineReply::Deleted),
            EngineRequest::CreateSession(new) => {
                Ok(EngineReply::Operation { result: self.create_session(new).await? })
            }
            EngineRequest::SessionOperation { session, operation } => {
                Ok(EngineReply::Operation { result: self.run_operation(&session, operation).await? })
            }
            EngineRequest::ForkSession(options) => self.fork_session(options).await,
            EngineRequest::Snapshot { session, since, generation, without_context } => {
                let options = SnapshotOptions { without_context, since: known_revision(since, generation)? };
                let snapshot = self.snapshot(&session, options).await?;
                Ok(EngineReply::Snapshot { snapshot })
            }
            EngineRequest::ExportSession { session, format, at } => {
                let text = self.export(&session, &format, at.as_deref()).await?;
                Ok(EngineReply::Exported { text })
            }
            EngineRequest::ListExplores => {
                let (engine, directories) = (self.engine(), self.options.directories.clone());
                let mut explores = on_other_thread(move || engine.list_explores()).await;
                explores
                    .retain(|explore| explore.has_copies() && directories.allows(Path::new(&explore.cwd)));
                Ok(EngineReply::Explores { explores })
            }
            EngineRequest::Settings => {
                let home = self.home();
                let settings = on_other_thread(move || settings_page::setting_rows(&home)).await;
                Ok(EngineReply::Settings { settings })
            }
            EngineRequest::SetSetting { key, value } => {
                self.check_setting(&key)?;
                let home = self.home();
                let change = move || settings_page::change_setting(&key, &value, &home);
                let notice = on_other_thread(change).await?;
                self.reload_home();
                Ok(EngineReply::SettingChanged { notice: sanitize_line(&notice) })
            }
            EngineRequest::Describe => Ok(EngineReply::Description(self.describe())),
        }
    }

    /// The clients of a gateway must not widen what they can reach.
    fn check_setting(&self, key: &str) -> Result<(), ClientError> {
        if self.options.directories.is_unlimited() || !settings_page::is_gateway_setting(key) {
            return Ok(());
        }
        let message = "a client cannot change the settings of its gateway; change them on its machine with `osier config set`";
        Err(ClientError::new(ErrorCode::Forbidden, message))
    }

    async fn list(&self, options: ListSessions) -> Result<SessionList, LocalEngineError> {
        let directories = &self.options.directories;
        let cwd = options.cwd.map(PathBuf::from);
        if let Some(cwd) = &cwd {
            directories.check(cwd)?;
        }
        // Sessions of other directories must not use up the limit.
        let filters_later = cwd.is_none() && !directories.is_unlimited();
        let list = ListOptions {
            store: options.store,
            cwd,
            agent: options.agent_id,
            query: options.query.map(|query| SearchQuery::parse(&query)).transpose()?.map(Arc::new),
            detail: SearchDetail {
                max_hits: options.hits.min(MAX_HITS),
                context: options.context.min(MAX_CONTEXT_LINES),
            },
            named: options.named,
            subagents: options.subagents,
            limit: options.limit.filter(|_| !filters_later),
        };
        let list = self.engine().list(&list).await?;
        let (mut sessions, mut hits, limit) = (list.cards, list.hits, options.limit.unwrap_or(usize::MAX));
        let is_allowed: Vec<bool> =
            sessions.iter().map(|card| directories.allows(Path::new(&card.cwd))).collect();
        retain_allowed(&mut sessions, &is_allowed);
        retain_allowed(&mut hits, &is_allowed);
        let has_more = list.has_more || sessions.len() > limit;
        sessions.truncate(limit);
        hits.truncate(limit);
        let unavailable = list.unavailable.iter().map(|down| down.error.to_string());
        // A problem names a session, which may belong to a directory that is not allowed.
        let search_problem = match filters_later {
            true => list.search_problem.map(|_| "some sessions could not be searched".to_owned()),
            false => list.search_problem,
        };
        let problems = unavailable.chain(search_problem).collect();
        Ok(SessionList { sessions, hits, has_more, problems })
    }

    async fn rename_session(
        &self,
        session: &SessionRef,
        name: String,
    ) -> Result<EngineReply, LocalEngineError> {
        let live = self.open_briefly(session).await?;
        Ok(match self.engine().rename(live.session(), &name).await? {
            CommitOutcome::Cancelled => EngineReply::Cancelled,
            CommitOutcome::Stored(_) | CommitOutcome::Nothing => EngineReply::Done,
        })
    }

    /// Deletes a session and the sessions of its sub-agents. Fails if it is in use, or if one of them belongs to a directory
    /// that is not allowed; a sub-agent's session in use is kept.
    async fn delete(&self, session: &SessionRef) -> Result<DeletedSession, LocalEngineError> {
        let engine = self.engine();
        let nothing = DeletedSession { store: session.store.to_string(), ..DeletedSession::default() };
        let (named, missing) = match self.stored_session(session).await {
            Ok(stored) => (vec![stored.card().await?], Vec::new()),
            // An earlier deletion may have been interrupted.
            Err(LocalEngineError::Engine(EngineError::Store(StoreError::NotFound { .. }))) => {
                (Vec::new(), vec![session.key.clone()])
            }
            Err(error) => return Err(error),
        };
        let plan = engine.plan_delete_with_missing(named, &missing).await?;
        for card in plan.sessions() {
            self.options.directories.check(Path::new(&card.cwd))?;
        }
        for explore in engine
            .list_explores()
            .iter()
            .filter(|explore| plan.missing.contains(&explore.session_id.to_string()))
        {
            self.options.directories.check(Path::new(&explore.cwd))?;
        }
        let mut report = engine.delete(&plan, false).await?;
        if let Some(error) = report.take_named_kept().and_then(KeptReason::into_error) {
            let error = match engine.live_session(&session.store, &session.key) {
                Some(live) => EngineError::OpenHere { id: live.session().id().to_owned() },
                None => error.into(),
            };
            return Err(error.into());
        }
        Ok(report.deleted.iter().fold(nothing, |total, (_, one)| DeletedSession {
            deleted: total.deleted || one.deleted,
            sessions: total.sessions + one.counts.sessions,
            entries: total.entries + one.counts.entries,
            ..total
        }))
    }

    async fn fork_session(&self, options: ForkOptions) -> Result<EngineReply, LocalEngineError> {
        let Some((stored, editor)) = self.fork(options).await? else { return Ok(EngineReply::Cancelled) };
        let live = self.engine().open_briefly(&stored).await?;
        let (state, at) = live.session().main_cursor().state_and_place();
        Ok(EngineReply::Forked(ForkedSession {
            session: SessionRef { store: stored.store.name().into(), key: stored.key.clone() },
            id: stored.opened.header.id.as_str().into(),
            editor_text: editor.map(|editor| editor.text),
            leaf_id: at.map(|seq| state.tree.id(seq).to_entry_id()),
        }))
    }

    async fn snapshot(
        &self,
        session: &SessionRef,
        options: SnapshotOptions,
    ) -> Result<JsonText, LocalEngineError> {
        let live = self.open_briefly(session).await?;
        let mut json = Vec::new();
        let write = |piece: &[u8]| add_piece(&mut json, piece, "snapshot");
        live.session().write_snapshot(options, write).await?;
        let invalid = || ClientError::new(ErrorCode::Failed, "the snapshot is not valid JSON");
        Ok(JsonText::from_json(json).ok_or_else(invalid)?)
    }

    async fn export(
        &self,
        session: &SessionRef,
        format: &str,
        at: Option<&str>,
    ) -> Result<String, LocalEngineError> {
        let stored = self.stored_session(session).await?;
        let format = ExportFormat::parse(format)?;
        let mut bytes = Vec::new();
        let write = |piece: &[u8]| add_piece(&mut bytes, piece, "export");
        self.engine().write_export(&stored, at, format, write).await?;
        String::from_utf8(bytes).map_err(|_| LocalEngineError::NotText)
    }

    fn describe(&self) -> EngineDescription {
        let home = self.reload_home();
        let describe_store = |store: &ConfiguredStore| StoreDescription {
            name: store.name().to_owned(),
            kind: store.kind().to_owned(),
        };
        let directories = match self.options.directories.is_unlimited() {
            true => vec![home.cwd.clone()],
            false => self.options.directories.list().to_vec(),
        };
        EngineDescription {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            models: home.model_catalog().usable_models().map(|model| model.full_name()).collect(),
            agents: home.settings.agent_names(),
            stores: home.engine.stores().iter().map(describe_store).collect(),
            directories: directories.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
        }
    }
}

fn retain_allowed<T>(items: &mut Vec<T>, is_allowed: &[bool]) {
    let mut allowed = is_allowed.iter();
    items.retain(|_| allowed.next().copied().unwrap_or(false));
}

/// Reads or writes files on another thread, so that a slow disk does not stop others.
async fn on_other_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        // The task is never canceled, so it panicked.
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

fn known_revision(
    since: Option<usize>,
    generation: Option<String>,
) -> Result<Option<KnownRevision>, LocalEngineError> {
    let Some(revision) = since else { return Ok(None) };
    let generation = match generation {
        Some(text) => match u64::from_str_radix(&text, 16) {
            Ok(generation) => Some(generation),
            Err(_) => return Err(LocalEngineError::BadGeneration { text }),
        },
        None => None,
    };
    Ok(Some(KnownRevision { revision, generation }))
}

/// Appends to a reply that is built in memory.
fn add_piece(reply: &mut Vec<u8>, piece: &[u8], what: &'static str) -> Result<(), LocalEngineError> {
    if reply.len() + piece.len() > MAX_REPLY {
        return Err(LocalEngineError::ReplyTooLarge { what });
    }
    reply.extend_from_slice(piece);
    Ok(())
}
