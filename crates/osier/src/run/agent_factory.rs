//! The agents of a run: in the workspace of the session's directory, with the options of the command line.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use osier_engine::{
    AgentSpec, AgentStart, FollowedEvents, LiveSession, LocalClient, LogVersion, ModelInfo, ModelPreferences,
    ModelSelection, ModelSource, Workspace, reading,
};
use osier_protocol::{ApprovalMode, Client, ClientCommand, LogPosition, Prompt, ThinkingLevel};
use osier_settings::SettingsError;

use super::args::Args;
use super::prompt;
use super::session_selection::SessionSelection;
use crate::home::Home;
use crate::layout::sanitize_line;

/// Everything that is needed to start an agent on a session.
#[derive(Debug)]
pub(super) struct AgentFactory {
    pub(super) home: Home,
    pub(super) args: Args,
    /// A user is present to answer questions.
    attended: bool,
    pub(super) workspace: Arc<Workspace>,
    model: ModelSelection,
    summary_model: Option<Arc<ModelInfo>>,
    /// Notices to show at startup.
    pub(super) notices: Vec<String>,
    /// What hooks learn about the agents that it starts.
    start: AgentStart,
}

/// An open session with a client of its agent and the events.
pub(super) struct RunningSession {
    pub(super) live: Arc<LiveSession>,
    pub(super) client: Arc<dyn Client>,
    pub(super) events: FollowedEvents,
}

impl AgentFactory {
    pub(super) async fn new(
        args: Args,
        home: Home,
        selection: &SessionSelection,
        attended: bool,
    ) -> Result<AgentFactory> {
        let mut notices = Vec::new();
        let home = match selection.other_directory(&home).filter(|_| args.cwd.is_none()) {
            Some(cwd) => home_of_session(&home, cwd, &mut notices)?,
            None => home,
        };
        let workspace = Arc::new(home.workspace(&args.workspace_options())?);
        notices.extend(workspace.models.registry().problems().iter().map(ToString::to_string));
        let of_session = match selection {
            SessionSelection::Existing(live) => reading::model_on_path(live.session()).await?,
            SessionSelection::New { .. } => None,
        };
        let wanted = ModelPreferences { requested: args.model.as_deref(), session: of_session.as_deref() };
        let model = workspace.models.select(wanted).map_err(|error| match &args.model {
            Some(_) => SettingsError::from(error).into(),
            None => anyhow!(error),
        })?;
        // A user can accept another model; a script must name one.
        if let Some(text) = model.notice.as_ref().filter(|_| !attended) {
            bail!("{text}; choose another model with --model, for example --model offline");
        }
        if let Some(text) = &model.notice {
            notices.push(format!("{text}; using {} instead", model.model.full_name()));
        }
        let summary_model =
            workspace.models.find_summary_model(None).context("cannot use the setting summary_model")?;
        if let Some(sandbox) = workspace.tool_context.sandbox.as_ref().filter(|_| attended) {
            sandbox.warm_up();
        }
        Ok(AgentFactory {
            home,
            args,
            attended,
            workspace,
            model,
            summary_model,
            notices,
            start: AgentStart::default(),
        })
    }

    /// The same for another session, with the settings reloaded. `--name` applies only to the first session.
    pub(super) async fn for_session(
        &self,
        selection: &SessionSelection,
        start: AgentStart,
    ) -> Result<AgentFactory> {
        let args = Args { name: None, ..self.args.clone() };
        let factory = AgentFactory::new(args, self.home.reload()?, selection, self.attended).await?;
        Ok(AgentFactory { start, ..factory })
    }

    pub(super) fn model_name(&self) -> String {
        self.model.model.full_name()
    }

    /// The prompt on the command line.
    pub(super) async fn first_prompt(&self) -> Result<Prompt> {
        prompt::compose_prompt(&self.args.words, &self.workspace.tool_context).await
    }

    /// Prints the notices to standard error.
    pub(super) fn print_notices(&self) {
        for text in &self.notices {
            crate::output_writer::notice(&format!("osier: {text}"));
        }
    }

    /// Whether only the built-in model is available.
    pub(super) fn is_offline_only(&self) -> bool {
        self.model.source == ModelSource::Fallback
    }

    /// Opens the chosen session, starts an agent on it, and subscribes to its events.
    pub(super) async fn start(&self, selection: SessionSelection) -> Result<RunningSession> {
        let live = selection.open(&self.home).await?;
        let LogVersion { generation, entries } = live.session().version();
        let client = Arc::new(self.connect(&live).await?);
        let events = FollowedEvents::subscribe(client.clone(), LogPosition { generation, entries }).await?;
        Ok(RunningSession { live, client, events })
    }

    /// Connects to the agent of a session, and starts it if it does not run.
    pub(super) async fn connect(&self, live: &Arc<LiveSession>) -> Result<LocalClient> {
        let client = self.home.engine.connect(live, &self.agent_spec()).await?;
        let tree = live.session().tree();
        if let Some(name) = self.args.name.as_ref().filter(|name| tree.marks().name() != Some(name)) {
            client.send(ClientCommand::Rename { name: name.clone() }).await?;
        }
        Ok(client)
    }

    fn agent_spec(&self) -> AgentSpec {
        let ModelSelection { model, source, notice } = &self.model;
        AgentSpec {
            workspace: self.workspace.clone(),
            model: model.clone(),
            overrides_session: *source == ModelSource::Requested || notice.is_some(),
            thinking: self.args.thinking.as_deref().and_then(ThinkingLevel::parse),
            approval: self.args.approval.as_deref().and_then(ApprovalMode::from_name),
            summary_model: self.summary_model.clone(),
            has_user: self.attended,
            is_one_shot: false,
            start: self.start.clone(),
        }
    }
}

/// The settings for the directory of a session.
fn home_of_session(from: &Home, cwd: &Path, notices: &mut Vec<String>) -> Result<Home> {
    let home = crate::home::for_directory(from, cwd)?;
    notices
        .push(format!("working in {}, the directory of the session", sanitize_line(&home.display_path(cwd))));
    notices.extend(osier_settings::notices::untrusted_notice(&home));
    Ok(home)
}
