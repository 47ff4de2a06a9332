//! The model and thinking level in use. The entries of the path determine both. When the user chooses
//! something else, a new entry records it.

use std::sync::Arc;

use osier_model::{ModelInfo, ThinkingLevel};
use osier_protocol::ClientEvent;
use osier_session::SessionState;
use osier_tree::Place;
use osier_tree::projection::Lines;
use osier_tree::projection::context::thinking_level;

use crate::context::AgentContext;
use crate::error::AgentError;

/// The model and thinking level in use.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelChoice {
    pub model: Arc<ModelInfo>,
    pub thinking: ThinkingLevel,
    /// The model that the path names, if it is not configured. `model` replaces it.
    pub unknown_model: Option<String>,
}

/// What the user chose and the path does not name yet.
#[derive(Debug, Default)]
pub(crate) struct UserChoice {
    model: Option<Arc<ModelInfo>>,
    thinking: Option<ThinkingLevel>,
}

impl UserChoice {
    pub(crate) fn new(model: Option<Arc<ModelInfo>>, thinking: Option<ThinkingLevel>) -> UserChoice {
        UserChoice { model, thinking }
    }

    pub(crate) fn set_model(&mut self, model: Arc<ModelInfo>) {
        self.model = Some(model);
    }

    pub(crate) fn set_thinking(&mut self, level: ThinkingLevel) {
        self.thinking = Some(level);
    }
}

/// The model and thinking level that the entries of a path name.
#[derive(Debug, Default)]
struct PathSettings {
    model: Option<(String, String)>,
    thinking: Option<String>,
}

impl AgentContext {
    /// The model and thinking level at the cursor.
    pub(crate) async fn model_choice(&self) -> Result<ModelChoice, AgentError> {
        let (state, at) = self.position();
        self.model_choice_at(&state, at).await
    }

    /// The model and thinking level at a position.
    pub(crate) async fn model_choice_at(
        &self,
        state: &SessionState,
        at: Place,
    ) -> Result<ModelChoice, AgentError> {
        self.read_path_settings(state, at).await.map(|on_path| self.resolve_model_choice(&on_path))
    }

    /// Records the model and thinking level in use on the path, and returns them.
    pub(crate) async fn record_model_choice(&self) -> Result<ModelChoice, AgentError> {
        let (state, at) = self.position();
        let on_path = self.read_path_settings(&state, at).await?;
        let choice = self.resolve_model_choice(&on_path);
        if let Some(name) = &choice.unknown_model {
            let text = format!("{name} is no longer configured; using {} instead", choice.model.full_name());
            self.live.send(ClientEvent::Notice { text });
        }
        let model = (choice.model.provider.clone(), choice.model.id.clone());
        if on_path.model.as_ref() != Some(&model) {
            self.commit(move |tree, at| tree.plan_model_change(at, &model.0, &model.1)).await?;
        }
        let level = choice.thinking.name();
        // Other readers take a path without a level as `off`. Here it means the default level, so a different
        // level must be recorded.
        let unset_level = if self.config.default_thinking == ThinkingLevel::Off { "off" } else { "" };
        if on_path.thinking.as_deref().unwrap_or(unset_level) != level {
            self.commit(move |tree, at| tree.plan_thinking_level(at, level)).await?;
        }
        // Keep a choice that the user made while this function was waiting.
        let user_choice = &mut self.state().user_choice;
        user_choice.model.take_if(|model| **model == *choice.model);
        user_choice.thinking.take_if(|level| *level == choice.thinking);
        Ok(choice)
    }

    /// Keeps the model and thinking level after a move, unless the user has made a newer choice.
    pub(crate) fn keep_model_choice(&self, choice: ModelChoice) {
        let user_choice = &mut self.state().user_choice;
        user_choice.model.get_or_insert(choice.model);
        user_choice.thinking.get_or_insert(choice.thinking);
    }

    fn resolve_model_choice(&self, on_path: &PathSettings) -> ModelChoice {
        let user_choice = &self.state().user_choice;
        let of_path = on_path.thinking.as_deref().and_then(ThinkingLevel::parse);
        let thinking = user_choice.thinking.or(of_path).unwrap_or(self.config.default_thinking);
        let default = &self.config.default_model;
        let (model, unknown) = match (&user_choice.model, &on_path.model) {
            (Some(model), _) => (model.clone(), None),
            (None, None) => (default.clone(), None),
            (None, Some((provider, id))) => match self.find_exact_model(provider, id) {
                Some(model) => (model, None),
                None => (default.clone(), Some(format!("{provider}/{id}"))),
            },
        };
        ModelChoice { model, thinking, unknown_model: unknown }
    }

    /// `find` also matches partial names; only the exact model of the path is acceptable.
    fn find_exact_model(&self, provider: &str, id: &str) -> Option<Arc<ModelInfo>> {
        let is_exact = |model: &Arc<ModelInfo>| model.provider == provider && model.id == id;
        let found = || self.config.model_lookup.find(&format!("{provider}/{id}")).ok().filter(is_exact);
        Some(&self.config.default_model).filter(|model| is_exact(model)).cloned().or_else(found)
    }

    async fn read_path_settings(&self, state: &SessionState, at: Place) -> Result<PathSettings, AgentError> {
        let mut model = state.tree.active_model_search(at);
        self.supply_lines(state, &mut model).await?;
        let thinking = at.and_then(|seq| state.tree.head(seq).thinking);
        let lines = self.read_lines(state, thinking.as_slice()).await?;
        let entry = thinking.and_then(|seq| lines.entry(seq));
        let level = entry.as_ref().and_then(thinking_level).and_then(|level| level.text().map(String::from));
        Ok(PathSettings { model: model.finish(), thinking: level })
    }
}
