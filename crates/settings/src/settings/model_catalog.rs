//! The models of the settings.

use std::sync::Arc;

use osier_engine::ModelCatalog;
use osier_model::{Environment, ModelRouter, Registry};
use osier_offline::OfflineModel;

use super::Settings;

impl Settings {
    /// All models, including those of the configured servers, and which ones to prefer.
    pub fn model_catalog(&self, environment: Environment) -> ModelCatalog {
        let router = self.model_router(environment.clone());
        ModelCatalog {
            registry: router.registry().clone(),
            model: Arc::new(router),
            environment,
            default_model: self.model.clone(),
            summary_model: self.summary_model.clone(),
            own_providers: self.providers.keys().cloned().collect(),
        }
    }

    /// Handles requests for all models.
    pub fn model_router(&self, environment: Environment) -> ModelRouter {
        let registry = Arc::new(Registry::new(self.providers.clone()));
        let offline = Arc::new(OfflineModel::new(environment.clone()));
        ModelRouter::new(registry, environment).with_retry(self.retry).with_offline(offline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{ProjectSettings, load_settings};
    use osier_engine::{ModelPreferences, ModelSelection};
    use osier_testkit::{Expect, expect};

    /// Selects a model with the given keys in the environment and the given settings; formats the result.
    fn chosen(keys: &[&'static str], config: &str, wanted: ModelPreferences<'_>) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, config).unwrap();
        let loaded = load_settings(&file, ProjectSettings::default(), false);
        assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
        let keys = keys.to_vec();
        let environment = Environment::new(move |name| keys.contains(&name).then(|| "k".to_owned()));
        match loaded.settings.model_catalog(environment).select(wanted) {
            Ok(ModelSelection { model, source: reason, notice }) => {
                let notice = notice.map_or_else(String::new, |notice| format!("\n{notice}"));
                format!("{} ({reason:?}){notice}", model.full_name())
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
    fn requested_precedes_session_and_session_precedes_settings() {
        let config = format!("model = 'local/smol'\n{LOCAL}");
        let asked = Some("gpt-5.5");
        let of_session = Some("anthropic/claude-haiku-4-5");
        let keys = &["ANTHROPIC_API_KEY"];
        check(
            &[
                chosen(keys, &config, ModelPreferences { requested: asked, session: of_session }),
                chosen(keys, &config, ModelPreferences { requested: None, session: of_session }),
                chosen(keys, &config, ModelPreferences::default()),
                chosen(&[], &config, ModelPreferences { requested: None, session: of_session }),
                chosen(&[], &config, ModelPreferences { requested: None, session: Some("gone/model") }),
            ],
            expect![[r#"
                openai/gpt-5.5 (Requested)
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
        let asked = |name| chosen(&[], LOCAL, ModelPreferences { requested: Some(name), session: None });
        check(
            &[asked("smoll"), asked("opus"), asked("claude-opus-5.5"), asked("5"), asked("zzz")],
            expect![[r#"
                unknown model smoll; did you mean local/smol?
                unknown model opus; did you mean anthropic/claude-opus-5-5 or anthropic/claude-opus-5?
                unknown model claude-opus-5.5; did you mean anthropic/claude-opus-5-5 or anthropic/claude-opus-5 or anthropic/claude-sonnet-5-5?
                5 matches more than one model: anthropic/claude-opus-5-5, anthropic/claude-sonnet-5-5, anthropic/claude-haiku-5-5, anthropic/claude-opus-5, anthropic/claude-haiku-4-5, openai/gpt-5.5; use the full name
                unknown model zzz"#]],
        );
        check(
            &[chosen(&[], "model = 'anthropic/claude-opus-55'", ModelPreferences::default())],
            expect![
                "unknown model anthropic/claude-opus-55; did you mean anthropic/claude-opus-5-5 or anthropic/claude-opus-5 or anthropic/claude-sonnet-5-5?"
            ],
        );
    }
}
