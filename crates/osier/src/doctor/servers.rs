//! Checks keys and servers. Requests the model list of each server, which is free and tests the key.

use std::sync::Arc;
use std::time::Duration;

use osier_engine::ModelPreferences;
use osier_model::{Api, KeySource, ModelError, ModelRouter, Provider};
use tokio::task::JoinSet;

use super::DoctorCheck;
use crate::home::{self, Home};

const AREA: &str = "server";
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) async fn checks(home: &Home) -> Vec<DoctorCheck> {
    let models = Arc::new(home.settings.model_router(home.environment()));
    let registry = models.registry().clone();
    let environment = home.environment();
    let default = home.model_catalog().select(ModelPreferences::default());
    let default = default.map(|choice| choice.model.provider.clone()).unwrap_or_default();
    let matters = |provider: &&Arc<Provider>| {
        let is_ours = home.settings.providers.contains_key(&provider.id);
        let has_key =
            matches!(provider.key, KeySource::Env(_)) && provider.key.check_configured(&environment).is_ok();
        provider.api != Api::Offline && (is_ours || has_key || provider.id == default)
    };
    let mut checks = Vec::new();
    let mut asking = JoinSet::new();
    for (at, provider) in registry.providers().filter(matters).enumerate() {
        let key = check_key(provider, provider.id == default, home);
        let is_there = key.is_ok();
        checks.push(key.unwrap_or_else(|check| check));
        if is_there {
            let (models, provider, is_default) = (models.clone(), provider.clone(), provider.id == default);
            asking.spawn(async move { (at, check_server(&models, &provider, is_default).await) });
        }
    }
    let mut answers = asking.join_all().await;
    answers.sort_by_key(|(at, _)| *at);
    if checks.is_empty() {
        checks.push(DoctorCheck::ok("key", "none is set; the offline model needs none"));
    }
    checks.extend(answers.into_iter().map(|(_, check)| check));
    checks
}

/// Reports the source of a key without reading it.
fn check_key(provider: &Provider, is_default: bool, home: &Home) -> Result<DoctorCheck, DoctorCheck> {
    const AREA: &str = "key";
    let id = &provider.id;
    if let Err(missing) = provider.key.check_configured(&home.environment()) {
        let problem_check = if is_default { DoctorCheck::fail } else { DoctorCheck::warn };
        return Err(problem_check(AREA, format!("{id} has no key"), missing));
    }
    let key_source = match &provider.key {
        KeySource::None => "needs none".to_owned(),
        KeySource::Env(names) => {
            let set = names.iter().find(|name| home::has_env_var(name));
            format!("{} is set", set.map_or("a variable", String::as_str))
        }
        KeySource::Command(_) => "comes from a command".to_owned(),
        KeySource::File(path) => format!("is in {}, readable only by you", path.display()),
    };
    Ok(DoctorCheck::ok(AREA, format!("{id}: {key_source}")))
}

/// An unreachable server is an error only if it is the default; a rejected key always is.
async fn check_server(models: &ModelRouter, provider: &Provider, is_default: bool) -> DoctorCheck {
    let id = &provider.id;
    let problem_check = |said: String, advice: &str| match is_default {
        true => DoctorCheck::fail(AREA, said, advice),
        false => DoctorCheck::warn(AREA, said, advice),
    };
    match tokio::time::timeout(DISCOVERY_TIMEOUT, models.discover(id)).await {
        Err(_) => problem_check(
            format!("{id}: no answer within {} s", DISCOVERY_TIMEOUT.as_secs()),
            "check that it is running and that base_url is correct",
        ),
        Ok(Ok(models)) => DoctorCheck::ok(
            AREA,
            format!("{id} responds and lists {}", crate::layout::pluralize(models.len(), "model", "models")),
        ),
        Ok(Err(ModelError::Unauthorized { detail: said, .. })) => DoctorCheck::fail(
            AREA,
            format!("{id} rejected the key. {said}"),
            "create a new key, or correct the one that is set",
        ),
        Ok(Err(ModelError::NotConfigured { hint, .. })) => {
            problem_check(format!("{id}: {hint}"), "fix the source of its key")
        }
        Ok(Err(failure @ ModelError::Network { .. })) => problem_check(
            failure.to_string(),
            "check that it is running and that base_url is correct; HTTPS_PROXY sets a proxy",
        ),
        Ok(Err(failure)) => DoctorCheck::warn(
            AREA,
            format!("{id} responds, but cannot list its models: {failure}"),
            "to use its models, add them to the settings",
        ),
    }
}
