//! Every model, and what is missing to use it. Asks configured servers for their models.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use osier_engine::ModelPreferences;
use osier_model::{Api, KeySource, ModelError, ModelInfo, ModelRouter, Provider};
use osier_tree::projection::preview::one_line;
use serde::Serialize;
use tokio::task::JoinSet;

use crate::home::Home;

/// A server that takes longer to list its models is reported as not responding.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(2);

/// A row of the list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelRow {
    /// The name that selects it, for example `anthropic/claude-opus-5-5`.
    pub full_name: String,
    #[serde(flatten)]
    pub model: ModelInfo,
    pub usable: bool,
    /// What is missing to use it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    pub default: bool,
}

/// What each server that was asked answered, by provider.
pub type DiscoveryResults = BTreeMap<String, Result<Vec<ModelInfo>, String>>;

/// Asks the servers for their models, all at once.
pub async fn discover_models(models: &Arc<ModelRouter>, all: bool, home: &Home) -> DiscoveryResults {
    let is_asked = |provider: &&Arc<Provider>| {
        let is_ours = home.settings.providers.get(&provider.id).is_some_and(|spec| spec.base_url.is_some());
        let is_usual = all && provider.key == KeySource::None;
        // A key command may prompt for a password, which would be a surprise in a list.
        let has_key = !matches!(provider.key, KeySource::Command(_))
            && provider.key.check_configured(&home.environment()).is_ok();
        (is_ours || is_usual) && has_key && provider.api != Api::Offline
    };
    let mut asking = JoinSet::new();
    for provider in models.registry().providers().filter(is_asked) {
        let (models, id) = (models.clone(), provider.id.clone());
        asking.spawn(async move {
            let answer = tokio::time::timeout(DISCOVERY_TIMEOUT, models.discover(&id)).await;
            let late = || format!("no response within {} s", DISCOVERY_TIMEOUT.as_secs());
            (id, answer.map_or_else(|_| Err(late()), |answer| answer.map_err(|failure| error_line(&failure))))
        });
    }
    asking.join_all().await.into_iter().collect()
}

/// The text of an error on one line.
fn error_line(failure: &ModelError) -> String {
    let text = match failure {
        ModelError::Network { detail: said, .. } => said.clone(),
        other => other.to_string(),
    };
    one_line(&text, 200)
}

/// The rows, by provider.
pub fn model_rows(models: &ModelRouter, asked: &DiscoveryResults, home: &Home) -> Vec<ModelRow> {
    let registry = models.registry();
    let environment = home.environment();
    let chosen = home.model_catalog().select(ModelPreferences::default()).ok().map(|choice| choice.model);
    let default = chosen.as_ref().map(|model| model.full_name()).unwrap_or_default();
    let answered = |provider: &str| asked.get(provider).and_then(|answer| answer.as_ref().ok());
    let listed = registry.models().iter().map(|model| {
        let reported =
            answered(&model.provider).and_then(|has| has.iter().find(|reported| reported.id == model.id));
        reported.unwrap_or(model).clone()
    });
    let mut all: Vec<ModelInfo> = listed.collect();
    // Models that only a server knows, and a chosen model that is in no list.
    for model in asked.values().flatten().flatten().chain(chosen.as_deref()) {
        if !all.iter().any(|known| known.provider == model.provider && known.id == model.id) {
            all.push(model.clone());
        }
    }
    let mut rows: Vec<ModelRow> = all
        .into_iter()
        .map(|model| {
            let missing = match asked.get(&model.provider) {
                Some(Err(_)) => Some("its server is not responding".to_owned()),
                _ => registry.check_configured(&model, &environment).err(),
            };
            let full_name = model.full_name();
            ModelRow { default: full_name == default, full_name, usable: missing.is_none(), missing, model }
        })
        .collect();
    rows.sort_by(|a, b| a.model.provider.cmp(&b.model.provider));
    rows
}
