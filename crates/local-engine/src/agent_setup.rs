//! The agent of a session: in the workspace of the session's directory, with the options of the program.

use std::sync::Arc;

use osier_engine::{
    AgentSpec, AgentStart, LocalClient, ModelPreferences, ModelSelection, ModelSource, Workspace,
};
use osier_model::{LookupError, ModelInfo};
use osier_protocol::{Client, ClientCommand};
use osier_settings::{Home, SettingsError};

use crate::error::LocalEngineError;
use crate::local_engine::LocalEngineOptions;

/// Everything that is needed to start an agent in a session.
#[derive(Debug, Clone)]
pub struct AgentSetup {
    /// What is configured for the directory of the session.
    pub home: Home,
    pub workspace: Arc<Workspace>,
    model: ModelSelection,
    /// A model that is not known yet: an extension may register it when it is loaded.
    awaited_model: Option<AwaitedModel>,
    summary_model: Option<Arc<ModelInfo>>,
}

/// See [`AgentSetup::awaited_model`].
#[derive(Debug, Clone)]
struct AwaitedModel {
    name: String,
    /// What to report if no extension registers it.
    error: LookupError,
}

impl AgentSetup {
    /// `session_model` is the model used last on the path of the session.
    pub(crate) fn new(
        home: Home,
        options: &LocalEngineOptions,
        session_model: Option<&str>,
        notices: &mut Vec<String>,
    ) -> Result<AgentSetup, LocalEngineError> {
        let workspace = Arc::new(home.workspace(&options.workspace)?);
        notices.extend(workspace.models.registry().problems().iter().map(ToString::to_string));
        let wanted = ModelPreferences { requested: options.model.as_deref(), session: session_model };
        let mut awaited_model = None;
        let selected = match (workspace.models.select(wanted), &options.model) {
            (Err(error @ LookupError::Unknown { .. }), Some(name)) if has_hooks(&home) => {
                awaited_model = Some(AwaitedModel { name: name.clone(), error });
                workspace.models.select(ModelPreferences::default())
            }
            (selected, _) => selected,
        };
        let mut model = selected.map_err(|error| match &options.model {
            Some(_) => LocalEngineError::Settings(SettingsError::from(error)),
            None => LocalEngineError::Model(error),
        })?;
        // An extension may register a model that is unknown, but no key for one that is known.
        let is_unknown = |name: &str| workspace.models.registry().find(name).is_err();
        let awaited = session_model.zip(model.notice.clone());
        if let Some((name, notice)) = awaited.filter(|(name, _)| has_hooks(&home) && is_unknown(name)) {
            let error = LookupError::Unknown { name: name.to_owned(), nearest: vec![] };
            awaited_model = Some(AwaitedModel { name: name.to_owned(), error });
            model.notice = options.has_user.then_some(notice);
        }
        match &model.notice {
            // A user can accept another model; a script must name one.
            Some(notice) if !options.has_user => {
                return Err(LocalEngineError::SessionModelUnusable { notice: notice.clone() });
            }
            Some(notice) => notices.push(format!("{notice}; using {} instead", model.model.full_name())),
            None => {}
        }
        let summary_model = workspace
            .models
            .find_summary_model(None)
            .map_err(|source| LocalEngineError::SummaryModel { source })?;
        if let Some(sandbox) = workspace.tool_context.sandbox.as_ref().filter(|_| options.has_user) {
            sandbox.warm_up();
        }
        Ok(AgentSetup { home, workspace, model, awaited_model, summary_model })
    }

    /// Chooses the model that an extension registered, after the extensions of the session were loaded.
    pub(crate) async fn choose_awaited_model(
        &mut self,
        client: &LocalClient,
        options: &LocalEngineOptions,
    ) -> Result<(), LocalEngineError> {
        let Some(AwaitedModel { name, error }) = self.awaited_model.take() else { return Ok(()) };
        if client.send(ClientCommand::SetModel { model: name }).await.is_ok() {
            if let Ok(choice) = client.worker().model_choice().await {
                self.model.model = choice.model;
            }
            return Ok(());
        }
        match (&options.model, &self.model.notice) {
            // The user knows that another model is used.
            (None, Some(_)) => Ok(()),
            _ => Err(LocalEngineError::Settings(SettingsError::from(error))),
        }
    }

    /// The full name of the model.
    pub fn model_name(&self) -> String {
        self.model.model.full_name()
    }

    /// Whether only the built-in model is available.
    pub fn is_offline_only(&self) -> bool {
        self.model.source == ModelSource::Fallback
    }

    pub(crate) fn agent_spec(&self, options: &LocalEngineOptions, start: AgentStart) -> AgentSpec {
        let ModelSelection { model, source, notice } = &self.model;
        AgentSpec {
            workspace: self.workspace.clone(),
            model: model.clone(),
            overrides_session: *source == ModelSource::Requested || notice.is_some(),
            thinking: options.thinking,
            approval: options.approval,
            summary_model: self.summary_model.clone(),
            has_user: options.has_user,
            is_one_shot: false,
            start,
            parent: None,
            tool_limit: None,
        }
    }
}

/// Whether extensions may add models.
fn has_hooks(home: &Home) -> bool {
    !home.engine.config().hooks.is_empty()
}
