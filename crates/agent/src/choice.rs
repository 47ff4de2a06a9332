//! The model and thinking level in use. The entries of the path determine both. When the user chooses
//! something else, a new entry records it.

use std::sync::Arc;

use osier_model::{ModelInfo, ThinkingLevel};
use osier_session::State;
use osier_tree::Place;
use osier_tree::projection::Lines;
use osier_tree::projection::context::thinking_of;

use crate::error::Error;
use crate::live::Live;
use crate::workplace::Workplace;

/// The model and thinking level in use.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    pub model: Arc<ModelInfo>,
    pub thinking: ThinkingLevel,
    /// The model that the path names, if it is not configured. `model` replaces it.
    pub unknown: Option<String>,
}

/// The model and thinking level that the entries of a path name.
#[derive(Debug, Default)]
struct OnPath {
    model: Option<(String, String)>,
    thinking: Option<String>,
}

impl Workplace {
    /// The model and thinking level at the cursor.
    pub(crate) async fn choice(&self) -> Result<Choice, Error> {
        let (state, at) = self.here();
        self.choice_at(&state, at).await
    }

    /// The model and thinking level at a position.
    pub(crate) async fn choice_at(&self, state: &State, at: Place) -> Result<Choice, Error> {
        self.on_path(state, at).await.map(|on_path| self.chosen(&on_path))
    }

    /// Records the model and thinking level in use on the path, and returns them.
    pub(crate) async fn settle_choice(&self) -> Result<Choice, Error> {
        let (state, at) = self.here();
        let on_path = self.on_path(&state, at).await?;
        let choice = self.chosen(&on_path);
        if let Some(name) = &choice.unknown {
            let text = format!("{name} is no longer configured; using {} instead", choice.model.full_name());
            self.teller.tell(Live::Notice { text });
        }
        let model = (choice.model.provider.clone(), choice.model.id.clone());
        if on_path.model.as_ref() != Some(&model) {
            self.commit(move |tree, at| tree.plan_model_change(at, &model.0, &model.1)).await?;
        }
        let level = choice.thinking.name();
        // Other readers take a path without a level as `off`. Here it means the default level, so a different
        // level must be recorded.
        let unset_level = if self.parts.default_thinking == ThinkingLevel::Off { "off" } else { "" };
        if on_path.thinking.as_deref().unwrap_or(unset_level) != level {
            self.commit(move |tree, at| tree.plan_thinking_level(at, level)).await?;
        }
        // Keep a choice that the user made while this function was waiting.
        let mut agent_state = self.now();
        agent_state.model.take_if(|model| **model == *choice.model);
        agent_state.thinking.take_if(|level| *level == choice.thinking);
        Ok(choice)
    }

    /// Keeps the model and thinking level after a move, unless the user has made a newer choice.
    pub(crate) fn keep_choice(&self, choice: Choice) {
        let mut agent_state = self.now();
        agent_state.model.get_or_insert(choice.model);
        agent_state.thinking.get_or_insert(choice.thinking);
    }

    fn chosen(&self, on_path: &OnPath) -> Choice {
        let agent_state = self.now();
        let of_path = on_path.thinking.as_deref().and_then(ThinkingLevel::parse);
        let thinking = agent_state.thinking.or(of_path).unwrap_or(self.parts.default_thinking);
        let default = &self.parts.default_model;
        let (model, unknown) = match (&agent_state.model, &on_path.model) {
            (Some(model), _) => (model.clone(), None),
            (None, None) => (default.clone(), None),
            (None, Some((provider, id))) => match self.known(provider, id) {
                Some(model) => (model, None),
                None => (default.clone(), Some(format!("{provider}/{id}"))),
            },
        };
        Choice { model, thinking, unknown }
    }

    /// `find` also matches partial names; only the exact model of the path is acceptable.
    fn known(&self, provider: &str, id: &str) -> Option<Arc<ModelInfo>> {
        let is_exact = |model: &Arc<ModelInfo>| model.provider == provider && model.id == id;
        let found = || self.parts.lookup.find(&format!("{provider}/{id}")).ok().filter(is_exact);
        Some(&self.parts.default_model).filter(|model| is_exact(model)).cloned().or_else(found)
    }

    async fn on_path(&self, state: &State, at: Place) -> Result<OnPath, Error> {
        let mut model = state.tree.model_in_force(at);
        self.answer_all(state, &mut model).await?;
        let thinking = at.and_then(|seq| state.tree.head(seq).thinking);
        let lines = self.lines(state, thinking.as_slice()).await?;
        let entry = thinking.and_then(|seq| lines.entry(seq));
        let level = entry.as_ref().and_then(thinking_of).and_then(|level| level.text().map(String::from));
        Ok(OnPath { model: model.finish(), thinking: level })
    }
}
