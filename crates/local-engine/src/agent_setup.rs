//! The agent of a session: in the workspace of the session's directory, with the options of the program.

use std::sync::Arc;

use osier_engine::{AgentSpec, AgentStart, ModelPreferences, ModelSelection, ModelSource, Workspace};
use osier_model::ModelInfo;
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
    summary_model: Option<Arc<ModelInfo>>,
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
        let model = workspace.models.select(wanted).map_err(|error| match &options.model {
            Some(_) => LocalEngineError::Settings(SettingsError::from(error)),
            None => LocalEngineError::Model(error),
        })?;
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
        Ok(AgentSetup { home, workspace, model, summary_model })
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
        }
    }
}
