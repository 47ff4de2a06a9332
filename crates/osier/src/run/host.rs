//! The program around the terminal interface: other sessions, settings, the git branch, the editor.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use async_trait::async_trait;
use osier_engine::{
    AgentStart, Engine, ExportFolder, ForkFrom, ForkRequest, ForkedSession, KeptReason, ListOptions,
    LocalClient, PromptHistory, StoredSession, SummaryModel, session_location,
};
use osier_protocol::engine_request::SettingRow;
use osier_protocol::search_query::SearchQuery;
use osier_protocol::time::Millis;
use osier_protocol::{Card, ClientCommand, EntryId, Image, SessionRef};
use osier_settings::{settings_page, themes};
use osier_tui::msg::OpenTarget;
use osier_tui::state::UiConfig;
use osier_tui::theme::{Theme, detect_color_depth, detect_light_background};
use osier_tui::{Host, OpenedSession, SessionListing, SettingChange};

use super::agent_factory::AgentFactory;
use super::leaving::LeaveReason;
use super::session_selection::{self, SessionSelection};
use crate::failure::error_chain;
use crate::home::{self, Home};
use crate::layout::{sanitize_line, truncate};
use crate::one_shot::OneShot;
use crate::{output_writer, target};

/// The longest name of a git branch that is shown, in columns.
const MAX_BRANCH_WIDTH: usize = 40;

/// The [`Host`] of the terminal interface.
#[derive(Debug)]
pub(super) struct TerminalHost(Mutex<HostState>);

/// The client of the current session, and the configuration.
#[derive(Debug, Clone)]
struct HostState {
    factory: Arc<AgentFactory>,
    client: LocalClient,
}

impl TerminalHost {
    pub(super) fn new(factory: Arc<AgentFactory>, client: LocalClient) -> TerminalHost {
        TerminalHost(Mutex::new(HostState { factory, client }))
    }

    fn state(&self) -> MutexGuard<'_, HostState> {
        // The value is only ever replaced whole, so it is consistent even after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn factory(&self) -> Arc<AgentFactory> {
        self.state().factory.clone()
    }

    /// The prompt history, unless it is disabled.
    fn history_file(&self) -> Option<PromptHistory> {
        let factory = self.factory();
        let is_kept = reload_home(&factory).settings.screen.prompt_history && !factory.args.no_session;
        is_kept.then(|| PromptHistory::new(&factory.home.folder))
    }

    /// The client of the current session.
    pub(super) fn client(&self) -> LocalClient {
        self.state().client.clone()
    }

    /// `None` if a hook refused.
    async fn switch_session(&self, target: OpenTarget) -> Result<Option<OpenedSession>> {
        let (factory, from) = (self.factory(), self.client());
        let reason = LeaveReason::from(&target);
        let Some((selection, text)) = select_session(target, &from, &factory).await? else { return Ok(None) };
        let left = session_location(from.live().session());
        let start = AgentStart { reason: reason.start_reason(), previous_session_file: Some(left) };
        let factory = Arc::new(factory.for_session(&selection, start).await?);
        let client = factory.connect(&selection.open_deferred(&factory.home).await?).await?;
        reason.announce(&factory.home.engine, &from, &client).await;
        let opened = OpenedSession {
            config: ui_config(&factory, &factory.home),
            client: Arc::new(client.clone()),
            editor_text: text,
            notices: output_writer::take_held_notices()
                .into_iter()
                .chain(factory.notices.clone())
                .map(|text| sanitize_line(&text))
                .collect(),
        };
        *self.state() = HostState { factory, client };
        Ok(Some(opened))
    }
}

/// The session to open, and the text to put back into the editor. `None` if a hook refused.
async fn select_session(
    target: OpenTarget,
    from: &LocalClient,
    factory: &AgentFactory,
) -> Result<Option<(SessionSelection, Option<String>)>> {
    let home = &factory.home;
    let stored = match target {
        OpenTarget::New => None,
        OpenTarget::Named(word) => Some(target::find(home, &word).await?),
        OpenTarget::Listed(target) => Some(home.engine.session_at(&target.store, &target.key).await?),
        OpenTarget::Fork { before } => return fork_session(before, from, factory).await,
    };
    let location = stored.as_ref().map(StoredSession::location);
    if !home.engine.may_switch(from.live().session(), location).await {
        return Ok(None);
    }
    let selection = match stored {
        Some(stored) => session_selection::open_stored(stored, home).await?,
        None => SessionSelection::New { kept: !factory.args.no_session },
    };
    Ok(Some((selection, None)))
}

async fn fork_session(
    before: Option<EntryId>,
    from: &LocalClient,
    factory: &AgentFactory,
) -> Result<Option<(SessionSelection, Option<String>)>> {
    let home = &factory.home;
    let request = ForkRequest {
        from: before.map_or(ForkFrom::CurrentPosition, |entry| ForkFrom::Entry(entry.to_string())),
        store: home.named_store().map(str::to_owned),
        name: None,
    };
    let Some(ForkedSession { stored, editor }) = home.engine.fork(from.live().session(), &request).await?
    else {
        return Ok(None);
    };
    let selection = session_selection::open_stored(stored, home).await?;
    Ok(Some((selection, editor.map(|editor| editor.text))))
}

#[async_trait]
impl Host for TerminalHost {
    async fn open(&self, target: OpenTarget) -> Result<Option<OpenedSession>, String> {
        self.switch_session(target).await.map_err(|error| error_chain(&error))
    }

    async fn list_sessions(&self, limit: usize) -> Result<SessionListing, String> {
        let options = ListOptions { limit: Some(limit), ..ListOptions::default() };
        let list =
            self.factory().home.engine.list(&options).await.map_err(|error| error_chain(&error.into()))?;
        let unavailable = list.unavailable.iter().map(|down| down.error.to_string());
        let more = list.has_more.then(|| format!("only the latest {limit} sessions are listed"));
        let missing: Vec<String> = unavailable.chain(more).collect();
        Ok(SessionListing { cards: list.cards, missing: (!missing.is_empty()).then(|| missing.join("; ")) })
    }

    async fn search_messages(&self, query: &SearchQuery, card: &Card) -> Result<bool, String> {
        let engine = self.factory().home.engine.clone();
        engine.search_messages(query, card).await.map_err(|error| error_chain(&error.into()))
    }

    async fn rename_session(&self, target: &SessionRef, name: &str) -> Result<(), String> {
        rename_session(&self.factory().home, target, name).await.map_err(|error| error_chain(&error))
    }

    async fn export(&self, file: Option<&str>) -> Result<PathBuf, String> {
        let (home, client) = (self.factory().home.clone(), self.client());
        let folder = ExportFolder { cwd: home.cwd.clone(), home: home.user.as_ref().map(PathBuf::from) };
        let exported = home.engine.export_to(&client, file, &folder).await;
        exported.map_err(|error| error_chain(&error.into()))
    }

    async fn read_image(&self, path: &str) -> Option<Image> {
        self.factory().workspace.read_image(path).await
    }

    fn now(&self) -> Millis {
        self.factory().home.now()
    }

    fn git_branch(&self) -> Option<String> {
        let branch = osier_engine::current_branch(&self.factory().home.cwd)?;
        Some(truncate(&branch, MAX_BRANCH_WIDTH))
    }

    fn editor(&self) -> Option<String> {
        let own = reload_home(&self.factory()).settings.screen.editor;
        own.or_else(|| home::env_var("VISUAL")).or_else(|| home::env_var("EDITOR"))
    }

    fn history(&self) -> Vec<String> {
        self.history_file().map(|history| history.read()).unwrap_or_default()
    }

    async fn delete_session(&self, target: &SessionRef) -> Result<(), String> {
        delete_session(&self.factory().home.engine, target).await.map_err(|error| error_chain(&error))
    }

    fn add_to_history(&self, text: &str) {
        if let Some(history) = self.history_file() {
            // A failure loses nothing: the session has the text too.
            let _ = history.add(text);
        }
    }

    fn settings(&self) -> Vec<SettingRow> {
        settings_page::setting_rows(&self.factory().home)
    }

    fn set_setting(&self, key: &str, value: &str) -> Result<SettingChange, String> {
        let factory = self.factory();
        let mut notice = settings_page::change_setting(key, value, &factory.home)
            .map_err(|error| error_chain(&error.into()))?;
        let home = reload_home(&factory);
        if key == "theme" {
            notice += &themes::load(&home)
                .problems
                .iter()
                .map(|problem| format!("; {problem}"))
                .collect::<String>();
        }
        let config = ui_config(&factory, &home);
        Ok(SettingChange { notice: sanitize_line(&notice), theme: load_theme(&home), config })
    }
}

/// Deletes a session and the sessions of its sub-agents. Fails if it is in use; a sub-agent's session in use is kept.
async fn delete_session(engine: &Engine, target: &SessionRef) -> Result<()> {
    let card = engine.session_at(&target.store, &target.key).await?.card().await?;
    let plan = engine.plan_delete(vec![card]).await?;
    let mut report = engine.delete(&plan, false).await?;
    match report.take_named_kept().and_then(KeptReason::into_error) {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}

async fn rename_session(home: &Home, target: &SessionRef, name: &str) -> Result<()> {
    let live = home.engine.open_briefly(&home.engine.session_at(&target.store, &target.key).await?).await?;
    let one_shot = OneShot::connect(home, live, &SummaryModel::Unused).await?;
    one_shot.send(ClientCommand::Rename { name: name.to_owned() }).await.map(drop)
}

/// The settings as they are now in the files.
fn reload_home(factory: &AgentFactory) -> Home {
    factory.home.reload().unwrap_or_else(|_| factory.home.clone())
}

pub(super) fn load_theme(home: &Home) -> Theme {
    let [none, term, many, ground] = ["NO_COLOR", "TERM", "COLORTERM", "COLORFGBG"].map(home::env_var);
    let by_background =
        || if detect_light_background(ground.as_deref()) { Theme::light() } else { Theme::dark() };
    let theme = themes::load(home).theme.unwrap_or_else(by_background);
    theme.with_color_depth(detect_color_depth(none.as_deref(), term.as_deref(), many.as_deref()))
}

/// The configuration of the interface.
pub(super) fn ui_config(factory: &AgentFactory, home: &Home) -> UiConfig {
    let screen = &home.settings.screen;
    UiConfig {
        directory: sanitize_line(&home.display_path(&home.cwd)),
        home: home.user.clone(),
        double_escape: screen.double_escape,
        tree_filter: screen.tree_filter,
        active_first: screen.active_first,
        keys: screen.keys.clone(),
        utc_offset: i32::try_from((home.host.utc_offset)()).unwrap_or(0),
        never_summarize: !screen.ask_summary,
        cwd: home.cwd.to_string_lossy().into_owned(),
        welcome: welcome_lines(factory),
    }
}

/// The welcome text of an empty session.
fn welcome_lines(factory: &AgentFactory) -> Vec<String> {
    let model = factory.model_name();
    let mut lines = match factory.is_offline_only() {
        true => vec![
            format!(
                "Osier with the built-in model {model}, which needs no key and follows simple requests only."
            ),
            "For a language model, set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or see `osier models`."
                .to_owned(),
        ],
        false => vec![format!("Osier with {model}.")],
    };
    lines.push("/help lists commands and keys. alt+t opens the tree; ctrl+d quits.".to_owned());
    lines
}
