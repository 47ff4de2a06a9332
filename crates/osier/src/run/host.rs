//! The program around the terminal interface: other sessions and settings of an engine, here or on another machine; the editor
//! and the prompt history of this machine.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Result, bail};
use async_trait::async_trait;
use osier_engine::reading::ROOT;
use osier_engine::{ExportFile, ExportFolder, ExportFormat, PromptHistory, id_in_file_name};
use osier_local_engine::LocalEngine;
use osier_protocol::engine_request::SettingRow;
use osier_protocol::time::Millis;
use osier_protocol::{
    Client, EngineClient, EngineReply, EngineRequest, ForkOptions, Image, ListSessions, NewSessionOptions,
    OpenRequest, OpenTarget as EngineTarget, OpenedSession, SessionInfo, SessionRef,
};
use osier_settings::{WorkspaceOptions, settings_page, themes};
use osier_tui::msg::OpenTarget;
use osier_tui::theme::Theme;
use osier_tui::{
    ConnectionStatus, Host, OpenedSession as SwitchedSession, SessionListing, SessionSearchResult,
    SettingChange,
};

use super::export::export_session;
use super::interface_config::{load_theme, ui_config};
use crate::demo;
use crate::failure::error_chain;
use crate::home::{self, Home};
use crate::layout::sanitize_line;
use crate::output_writer;

/// The store of sessions that are not saved.
const MEMORY_STORE: &str = "memory";

/// The [`Host`] of the terminal interface.
#[derive(Debug)]
pub(super) struct TerminalHost {
    engine: Arc<dyn EngineClient>,
    /// The same engine, if it is in this process.
    local: Option<Arc<LocalEngine>>,
    /// Sessions that `/new` creates.
    new_session: NewSessionOptions,
    connection: Option<ConnectionStatus>,
    /// The host of the gateway.
    gateway: Option<String>,
    state: Mutex<HostState>,
}

/// The current session, and the settings of the interface.
#[derive(Debug, Clone)]
struct HostState {
    home: Arc<Home>,
    session: SessionInfo,
    client: Arc<dyn Client>,
}

impl TerminalHost {
    /// The host of an engine in this process.
    pub(super) fn local(
        engine: Arc<LocalEngine>,
        new_session: NewSessionOptions,
        home: Home,
        opened: OpenedSession,
    ) -> TerminalHost {
        let OpenedSession { info, client } = opened;
        let state = Mutex::new(HostState { home: Arc::new(home), session: info, client });
        TerminalHost {
            engine: engine.clone(),
            local: Some(engine),
            new_session,
            connection: None,
            gateway: None,
            state,
        }
    }

    /// The host of an engine on another machine.
    pub(super) fn remote(
        engine: Arc<dyn EngineClient>,
        gateway: String,
        connection: ConnectionStatus,
        new_session: NewSessionOptions,
        home: Home,
        opened: OpenedSession,
    ) -> TerminalHost {
        let OpenedSession { info, client } = opened;
        let state = Mutex::new(HostState { home: Arc::new(home), session: info, client });
        let (connection, gateway) = (Some(connection), Some(gateway));
        TerminalHost { engine, local: None, new_session, connection, gateway, state }
    }

    fn state(&self) -> MutexGuard<'_, HostState> {
        // The value is only ever replaced whole, so it is consistent even after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn home(&self) -> Arc<Home> {
        self.state().home.clone()
    }

    /// The current session.
    pub(super) fn session(&self) -> SessionInfo {
        self.state().session.clone()
    }

    /// The short id of the current session, if it is stored and has messages. Users paste it into a shell, and a gateway may have
    /// chosen it.
    pub(super) async fn resumable_id(&self) -> Option<String> {
        let client = self.state().client.clone();
        let status = client.status().await.ok()?;
        let is_resumable = status.has_messages && status.store != MEMORY_STORE;
        Some(status.short_id).filter(|id| is_resumable && id_in_file_name(id) == *id)
    }

    /// The settings of the interface as they are now in the files.
    fn reload_home(&self) -> Home {
        let home = self.home();
        home.reload().unwrap_or_else(|_| (*home).clone())
    }

    /// The prompt history, unless it is disabled.
    fn history_file(&self) -> Option<PromptHistory> {
        let is_kept = self.reload_home().settings.screen.prompt_history && !self.new_session.in_memory;
        is_kept.then(|| PromptHistory::new(&self.home().folder))
    }

    /// `None` if a hook refused.
    async fn switch_session(&self, target: OpenTarget) -> Result<Option<SwitchedSession>> {
        let leaving = self.session().session;
        let target = match target {
            OpenTarget::Demo => self.create_demo().await?,
            target => self.engine_target(target, &leaving),
        };
        let request = OpenRequest { target, leaving: Some(leaving) };
        let Some(opened) = self.engine.open(request).await? else { return Ok(None) };
        let home = self.interface_home(&opened.info);
        let (info, client) = (opened.info, opened.client);
        let held = output_writer::take_held_notices();
        let notices = held.iter().chain(&info.notices).map(|text| sanitize_line(text)).collect();
        let config = ui_config(&home, &info, self.gateway.as_deref());
        let (editor_text, keeps_turn) = (info.editor_text.clone(), info.is_task_of_left);
        *self.state() = HostState { home: Arc::new(home), session: info, client: client.clone() };
        Ok(Some(SwitchedSession { client, config, keeps_turn, editor_text, notices }))
    }

    /// Creates a demo session in the current directory.
    async fn create_demo(&self) -> Result<EngineTarget> {
        if self.local.is_none() {
            bail!("cannot start the tour: the engine is on another machine; run osier without --connect");
        }
        let stored = demo::create(&self.home()).await?;
        Ok(EngineTarget::Named { name: stored.key })
    }

    fn engine_target(&self, target: OpenTarget, current: &SessionRef) -> EngineTarget {
        match target {
            OpenTarget::New | OpenTarget::Demo => EngineTarget::New(self.new_session.clone()),
            OpenTarget::Named(name) => EngineTarget::Named { name },
            OpenTarget::Listed(session) | OpenTarget::Found(session, _) => EngineTarget::Listed { session },
            OpenTarget::Fork { from } => {
                let session = current.clone();
                EngineTarget::Fork(ForkOptions { session, from, store: None, name: None })
            }
        }
    }

    /// The settings of the interface for a session: those of its directory, if that is on this machine.
    fn interface_home(&self, session: &SessionInfo) -> Home {
        let (home, directory) = (self.home(), Path::new(&session.cwd));
        if self.local.is_none() || directory == home.cwd {
            return self.reload_home();
        }
        let (other, _) = home.load_directory(directory);
        other.with_overrides(&home.overrides).unwrap_or_else(|_| (*home).clone())
    }

    async fn list(&self, limit: usize) -> Result<SessionListing> {
        let request = ListSessions { limit: Some(limit), ..ListSessions::default() };
        let EngineReply::Sessions(list) = self.engine.call(EngineRequest::ListSessions(request)).await?
        else {
            bail!("unexpected reply from the engine")
        };
        let more = list.has_more.then(|| format!("only the latest {limit} sessions are listed"));
        let missing: Vec<String> = list.problems.into_iter().chain(more).collect();
        Ok(SessionListing {
            cards: list.sessions,
            missing: (!missing.is_empty()).then(|| missing.join("; ")),
        })
    }

    async fn search(&self, query: &str) -> Result<SessionSearchResult> {
        let request =
            ListSessions { query: Some(query.to_owned()), hits: 1, context: 1, ..ListSessions::default() };
        let EngineReply::Sessions(list) = self.engine.call(EngineRequest::ListSessions(request)).await?
        else {
            bail!("unexpected reply from the engine")
        };
        let messages =
            list.hits.into_iter().map(|hits| hits.into_iter().next()).chain(std::iter::repeat(None));
        let hits = list.sessions.iter().map(SessionRef::from_card).zip(messages).collect();
        let problem = (!list.problems.is_empty()).then(|| list.problems.join("; "));
        Ok(SessionSearchResult { hits, problem })
    }

    /// The rows of the engine; those of the interface have the values of this machine.
    async fn setting_rows(&self) -> Result<Vec<SettingRow>> {
        let EngineReply::Settings { mut settings } = self.engine.call(EngineRequest::Settings).await? else {
            bail!("unexpected reply from the engine")
        };
        if self.local.is_none() {
            let home = self.home();
            for own in settings_page::setting_rows(&home) {
                let row = settings.iter_mut().find(|row| row.key == own.key);
                if let Some(row) = row.filter(|row| settings_page::is_interface_setting(&row.key)) {
                    *row = own;
                }
            }
        }
        Ok(settings)
    }

    async fn change_setting(&self, key: &str, value: &str) -> Result<SettingChange> {
        let mut notice = match settings_page::is_interface_setting(key) {
            true => settings_page::change_setting(key, value, &self.home())?,
            false => {
                let request = EngineRequest::SetSetting { key: key.to_owned(), value: value.to_owned() };
                match self.engine.call(request).await? {
                    EngineReply::SettingChanged { notice } => notice,
                    _ => bail!("unexpected reply from the engine"),
                }
            }
        };
        let home = self.reload_home();
        if key == "theme" {
            let problems = themes::load(&home).problems;
            notice += &problems.iter().map(|problem| format!("; {problem}")).collect::<String>();
        }
        let config = ui_config(&home, &self.session(), self.gateway.as_deref());
        Ok(SettingChange { notice: sanitize_line(&notice), theme: load_theme(&home), config })
    }

    async fn export_path(&self, file: Option<&str>) -> Result<PathBuf> {
        if let Some(local) = &self.local {
            return Ok(export_session(local, &self.session().session, file).await?);
        }
        let home = self.home();
        let folder = ExportFolder { cwd: home.cwd.clone(), home: home.user.as_ref().map(PathBuf::from) };
        self.export_remote(file, &folder, self.session()).await
    }

    /// Writes the export of a session on another machine to a file here.
    async fn export_remote(
        &self,
        file: Option<&str>,
        folder: &ExportFolder,
        info: SessionInfo,
    ) -> Result<PathBuf> {
        let path = folder.resolve(file, &info.short_id);
        let format = ExportFormat::from_path(&path)?.extension().to_owned();
        let mut file = ExportFile::create(&path)?;
        let client = self.state().client.clone();
        let leaf = client.attach(None).await?.state.leaf_id;
        let at = Some(leaf.unwrap_or_else(|| ROOT.into()));
        let request = EngineRequest::ExportSession { session: info.session, format, at };
        let EngineReply::Exported { text } = self.engine.call(request).await? else {
            bail!("unexpected reply from the engine")
        };
        file.write(text.as_bytes())?;
        file.finish()?;
        Ok(path)
    }
}

/// An error as a text for the user.
fn text<T>(result: Result<T>) -> Result<T, String> {
    result.map_err(|error| error_chain(&error))
}

#[async_trait]
impl Host for TerminalHost {
    async fn open(&self, target: OpenTarget) -> Result<Option<SwitchedSession>, String> {
        text(self.switch_session(target).await)
    }

    async fn list_sessions(&self, limit: usize) -> Result<SessionListing, String> {
        text(self.list(limit).await)
    }

    async fn search_sessions(&self, query: &str) -> Result<SessionSearchResult, String> {
        text(self.search(query).await)
    }

    async fn rename_session(&self, session: &SessionRef, name: &str) -> Result<(), String> {
        let (session, name) = (session.clone(), name.to_owned());
        text(
            self.engine
                .call(EngineRequest::RenameSession { session, name })
                .await
                .map(drop)
                .map_err(Into::into),
        )
    }

    async fn delete_session(&self, session: &SessionRef) -> Result<(), String> {
        let request = EngineRequest::DeleteSession { session: session.clone() };
        text(self.engine.call(request).await.map(drop).map_err(Into::into))
    }

    async fn export(&self, file: Option<&str>) -> Result<PathBuf, String> {
        text(self.export_path(file).await)
    }

    async fn read_image(&self, path: &str) -> Option<Image> {
        self.home().workspace_without_tools(&WorkspaceOptions::default()).read_image(path).await
    }

    fn now(&self) -> Millis {
        self.home().now()
    }

    fn connection(&self) -> Option<ConnectionStatus> {
        self.connection.clone()
    }

    fn editor(&self) -> Option<String> {
        let own = self.reload_home().settings.screen.editor;
        own.or_else(|| home::env_var("VISUAL")).or_else(|| home::env_var("EDITOR"))
    }

    fn history(&self) -> Vec<String> {
        self.history_file().map(|history| history.read()).unwrap_or_default()
    }

    fn add_to_history(&self, text: &str) {
        if let Some(history) = self.history_file() {
            // A failure loses nothing: the session has the text too.
            let _ = history.add(text);
        }
    }

    async fn settings(&self) -> Result<Vec<SettingRow>, String> {
        text(self.setting_rows().await)
    }

    fn theme(&self, name: &str) -> Option<Theme> {
        themes::read_theme(name, &self.home()).ok().map(|(theme, _)| theme)
    }

    async fn set_setting(&self, key: &str, value: &str) -> Result<SettingChange, String> {
        text(self.change_setting(key, value).await)
    }
}
