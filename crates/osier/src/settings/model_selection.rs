//! Selects the model: from the command line, else from the session, else from the settings, else the first provider with a
//! key.
//!
//! A model that you name on the command line or in the settings is used or is an error; it is never replaced.

use std::sync::Arc;

use osier_model::{Environment, LookupError, ModelInfo, Registry};

use super::Settings;

/// The default model of each provider. The first provider with a key is used.
const DEFAULT_MODELS: [(&str, &str); 3] =
    [("anthropic", "claude-opus-5-5"), ("openai", "gpt-5.5"), ("google", "gemini-3.1-pro-preview")];

/// The selected model, and where the selection came from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModelSelection {
    pub(crate) model: Arc<ModelInfo>,
    pub(crate) source: ModelSource,
    /// A notice for the user: why the model of the session is not used.
    pub(crate) notice: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelSource {
    /// Named on the command line.
    CommandLine,
    /// Used last on the path of the session.
    Session,
    Settings,
    /// Its provider has a key.
    Key,
    /// Available on a provider from the settings.
    Server,
    /// No other model is available.
    Fallback,
}

/// The models requested by the command line and by the session; the latter as `provider/id`, used last on the path.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ModelPreferences<'w> {
    pub(crate) command_line: Option<&'w str>,
    pub(crate) session: Option<&'w str>,
}

pub(crate) fn select_model(
    wanted: ModelPreferences<'_>,
    settings: &Settings,
    registry: &Registry,
    surroundings: &Environment,
) -> Result<ModelSelection, LookupError> {
    let choice = |model, why| ModelSelection { model, source: why, notice: None };
    if let Some(name) = wanted.command_line {
        return Ok(choice(registry.find(name)?, ModelSource::CommandLine));
    }
    let missing = match wanted.session.map(|name| (name, usable_model(name, registry, surroundings))) {
        Some((_, Ok(model))) => return Ok(choice(model, ModelSource::Session)),
        Some((name, Err(why))) => Some((name, why)),
        None => None,
    };
    let mut choice = match &settings.model {
        Some(name) => choice(registry.find(name)?, ModelSource::Settings),
        None => default_model(settings, registry, surroundings),
    };
    choice.notice = missing.map(|(name, why)| format!("cannot use {name}, the model of this session: {why}"));
    Ok(choice)
}

/// The model that writes summaries, if the command line or the settings name one.
pub(crate) fn find_summary_model(
    asked: Option<&str>,
    settings: &Settings,
    registry: &Registry,
) -> Result<Option<Arc<ModelInfo>>, LookupError> {
    asked.or(settings.summary_model.as_deref()).map(|name| registry.find(name)).transpose()
}

/// The model that a session names, if it can be used now.
pub(crate) fn usable_model(
    name: &str,
    registry: &Registry,
    surroundings: &Environment,
) -> Result<Arc<ModelInfo>, String> {
    let model = registry.find(name).map_err(|_| "no such model".to_owned())?;
    registry.check_configured(&model, surroundings).map(|()| model)
}

fn default_model(settings: &Settings, registry: &Registry, surroundings: &Environment) -> ModelSelection {
    let ready = |model: &&Arc<ModelInfo>| registry.check_configured(model, surroundings).is_ok();
    let named = |(provider, id): (&str, &str)| {
        let mut models = registry.models().iter();
        models.find(|model| model.provider == provider && model.id == id)
    };
    let with_key = DEFAULT_MODELS.into_iter().filter_map(named).find(ready);
    let of_user = || {
        let mut models =
            registry.models().iter().filter(|model| settings.providers.contains_key(&model.provider));
        models.find(ready)
    };
    let (model, why) = match with_key {
        Some(model) => (model.clone(), ModelSource::Key),
        None => match of_user() {
            Some(model) => (model.clone(), ModelSource::Server),
            None => (offline_model(registry), ModelSource::Fallback),
        },
    };
    ModelSelection { model, source: why, notice: None }
}

/// The built-in model, which is always available.
pub(crate) fn offline_model(registry: &Registry) -> Arc<ModelInfo> {
    let built_in = || Arc::new(ModelInfo::new("offline", "offline", osier_model::Api::Offline));
    registry.find("offline/offline").unwrap_or_else(|_| built_in())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{ProjectSettings, load_settings};
    use osier_testkit::{Expect, expect};

    /// Selects a model with the given keys in the environment and the given settings; formats the result.
    fn chosen(keys: &[&'static str], config: &str, wanted: ModelPreferences<'_>) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, config).unwrap();
        let loaded = load_settings(&file, ProjectSettings::default(), false);
        assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
        let registry = Registry::new(loaded.settings.providers.clone());
        let keys = keys.to_vec();
        let surroundings = Environment::new(move |name| keys.contains(&name).then(|| "k".to_owned()));
        match select_model(wanted, &loaded.settings, &registry, &surroundings) {
            Ok(ModelSelection { model, source: why, notice }) => {
                let notice = notice.map_or_else(String::new, |notice| format!("\n{notice}"));
                format!("{} ({why:?}){notice}", model.full_name())
            }
            Err(error) => error.to_string(),
        }
    }

    const LOCAL: &str =
        "[providers.local]\nbase_url = 'http://127.0.0.1:1'\n[[providers.local.models]]\nid = 'smol'\n";

    fn check(lines: &[String], expect: Expect) {
        expect.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn without_a_choice_the_first_provider_with_a_key_is_used() {
        let unasked = |keys: &[&'static str], config: &str| chosen(keys, config, ModelPreferences::default());
        check(
            &[
                unasked(&[], ""),
                unasked(&["GOOGLE_API_KEY"], ""),
                unasked(&["OPENAI_API_KEY", "GEMINI_API_KEY"], ""),
                unasked(&["OPENAI_API_KEY", "ANTHROPIC_API_KEY"], ""),
                unasked(&["XAI_API_KEY"], ""),
                unasked(&[], LOCAL),
                unasked(&["OPENAI_API_KEY"], LOCAL),
                unasked(&[], "[providers.anthropic]\napi_key_command = 'true'\n"),
            ],
            expect![[r#"
                offline/offline (Fallback)
                google/gemini-3.1-pro-preview (Key)
                openai/gpt-5.5 (Key)
                anthropic/claude-opus-5-5 (Key)
                offline/offline (Fallback)
                local/smol (Server)
                openai/gpt-5.5 (Key)
                anthropic/claude-opus-5-5 (Key)"#]],
        );
    }

    #[test]
    fn command_line_precedes_session_and_session_precedes_settings() {
        let config = format!("model = 'local/smol'\n{LOCAL}");
        let asked = Some("gpt-5.5");
        let of_session = Some("anthropic/claude-haiku-4-5");
        let keys = &["ANTHROPIC_API_KEY"];
        check(
            &[
                chosen(keys, &config, ModelPreferences { command_line: asked, session: of_session }),
                chosen(keys, &config, ModelPreferences { command_line: None, session: of_session }),
                chosen(keys, &config, ModelPreferences::default()),
                chosen(&[], &config, ModelPreferences { command_line: None, session: of_session }),
                chosen(&[], &config, ModelPreferences { command_line: None, session: Some("gone/model") }),
            ],
            expect![[r#"
                openai/gpt-5.5 (CommandLine)
                anthropic/claude-haiku-4-5 (Session)
                local/smol (Settings)
                local/smol (Settings)
                cannot use anthropic/claude-haiku-4-5, the model of this session: set ANTHROPIC_API_KEY
                local/smol (Settings)
                cannot use gone/model, the model of this session: no such model"#]],
        );
    }

    #[test]
    fn unknown_and_ambiguous_names_are_refused_with_suggestions() {
        let asked = |name| chosen(&[], LOCAL, ModelPreferences { command_line: Some(name), session: None });
        check(
            &[asked("smoll"), asked("opus"), asked("claude-opus-5.5"), asked("5"), asked("zzz")],
            expect![[r#"
                unknown model smoll; did you mean local/smol? `osier models` lists the available models
                unknown model opus; did you mean anthropic/claude-opus-5-5 or anthropic/claude-opus-5? `osier models` lists the available models
                unknown model claude-opus-5.5; did you mean anthropic/claude-opus-5-5 or anthropic/claude-opus-5 or anthropic/claude-sonnet-5-5? `osier models` lists the available models
                5 matches more than one model: anthropic/claude-opus-5-5, anthropic/claude-sonnet-5-5, anthropic/claude-haiku-5-5, anthropic/claude-opus-5, anthropic/claude-haiku-4-5, openai/gpt-5.5; use the full name
                unknown model zzz; `osier models` lists the available models"#]],
        );
        check(
            &[chosen(&[], "model = 'anthropic/claude-opus-55'", ModelPreferences::default())],
            expect![
                "unknown model anthropic/claude-opus-55; did you mean anthropic/claude-opus-5-5 or anthropic/claude-opus-5 or anthropic/claude-sonnet-5-5? `osier models` lists the available models"
            ],
        );
    }

    #[test]
    fn default_models_are_in_the_registry() {
        let registry = Registry::built_in();
        for (provider, id) in DEFAULT_MODELS {
            assert!(
                registry.models().iter().any(|model| model.provider == provider && model.id == id),
                "{id}"
            );
        }
    }
}
