//! Which model answers, and how hard it thinks. Both belong to the path: what its entries say is in force, unless the user
//! chose otherwise since, and then one more entry says so.

use std::sync::Arc;

use osier_model::{ModelInfo, ThinkingLevel};
use osier_session::State;
use osier_tree::Place;
use osier_tree::projection::Lines;
use osier_tree::projection::context::thinking_of;

use crate::error::Error;
use crate::live::Live;
use crate::workplace::Workplace;

/// What is in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    pub model: Arc<ModelInfo>,
    pub thinking: ThinkingLevel,
    /// The path names a model that is not known here; this one answers instead.
    pub unknown: Option<String>,
}

/// What the entries of a path say, by name.
#[derive(Debug, Default)]
struct OnPath {
    model: Option<(String, String)>,
    thinking: Option<String>,
}

impl Workplace {
    /// What is in force where the cursor stands.
    pub(crate) async fn choice(&self) -> Result<Choice, Error> {
        let (state, at) = self.here();
        self.choice_at(&state, at).await
    }

    /// What is in force at a place.
    pub(crate) async fn choice_at(&self, state: &State, at: Place) -> Result<Choice, Error> {
        self.on_path(state, at).await.map(|on_path| self.chosen(&on_path))
    }

    /// Brings the path to what is in force, and tells what that is.
    pub(crate) async fn settle_choice(&self) -> Result<Choice, Error> {
        let (state, at) = self.here();
        let on_path = self.on_path(&state, at).await?;
        let choice = self.chosen(&on_path);
        if let Some(name) = &choice.unknown {
            let text =
                format!("{name} is not known here any more; {} answers instead", choice.model.full_name());
            self.teller.tell(Live::Notice { text });
        }
        let model = (choice.model.provider.clone(), choice.model.id.clone());
        if on_path.model.as_ref() != Some(&model) {
            self.commit(move |tree, at| tree.plan_model_change(at, &model.0, &model.1)).await?;
        }
        let level = choice.thinking.name();
        // Readers take a path that says nothing for `off`; here it means the default, so another choice has to be said.
        let silence = if self.parts.default_thinking == ThinkingLevel::Off { "off" } else { "" };
        if on_path.thinking.as_deref().unwrap_or(silence) != level {
            self.commit(move |tree, at| tree.plan_thinking_level(at, level)).await?;
        }
        // What was chosen meanwhile is not on the path yet.
        let mut now = self.now();
        now.model.take_if(|model| **model == *choice.model);
        now.thinking.take_if(|level| *level == choice.thinking);
        Ok(choice)
    }

    /// Lets what is in force stay so at another place. A choice that the user made meanwhile goes before it.
    pub(crate) fn keep_choice(&self, choice: Choice) {
        let mut now = self.now();
        now.model.get_or_insert(choice.model);
        now.thinking.get_or_insert(choice.thinking);
    }

    fn chosen(&self, on_path: &OnPath) -> Choice {
        let now = self.now();
        let of_path = on_path.thinking.as_deref().and_then(ThinkingLevel::parse);
        let thinking = now.thinking.or(of_path).unwrap_or(self.parts.default_thinking);
        let default = &self.parts.default_model;
        let (model, unknown) = match (&now.model, &on_path.model) {
            (Some(model), _) => (model.clone(), None),
            (None, None) => (default.clone(), None),
            (None, Some((provider, id))) => match self.known(provider, id) {
                Some(model) => (model, None),
                None => (default.clone(), Some(format!("{provider}/{id}"))),
            },
        };
        Choice { model, thinking, unknown }
    }

    /// A name may be read in several ways; only the very model of the path will do.
    fn known(&self, provider: &str, id: &str) -> Option<Arc<ModelInfo>> {
        let is_meant = |model: &Arc<ModelInfo>| model.provider == provider && model.id == id;
        let found = || self.parts.lookup.find(&format!("{provider}/{id}")).ok().filter(is_meant);
        Some(&self.parts.default_model).filter(|model| is_meant(model)).cloned().or_else(found)
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
