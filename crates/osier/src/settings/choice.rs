//! Which model answers: what somebody said now, else what the session used, else the settings, else whatever has a key.
//!
//! What was said in so many words is obeyed or refused, never replaced; only what nobody chose is chosen here.

use std::sync::Arc;

use osier_model::{Environment, LookupError, ModelInfo, Registry};

use super::Settings;

/// For a provider whose key is there, the model to begin with. The first provider that fits counts.
const FIRST: [(&str, &str); 3] =
    [("anthropic", "claude-opus-5-5"), ("openai", "gpt-5.5"), ("google", "gemini-3.1-pro-preview")];

/// A model, and why it is this one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Choice {
    pub(crate) model: Arc<ModelInfo>,
    pub(crate) why: Why,
    /// What a person should know: the model of the session could not be taken.
    pub(crate) remark: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// Named on the command line.
    Asked,
    /// The path used it last.
    Session,
    Settings,
    /// A key for its provider is there.
    Key,
    /// A server of the user's own has it.
    Server,
    /// Nothing else can be used.
    Nothing,
}

/// What there is to choose by. `of_session` is the `provider/id` that the path used last.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted<'w> {
    pub(crate) asked: Option<&'w str>,
    pub(crate) of_session: Option<&'w str>,
}

pub(crate) fn choose(
    wanted: Wanted<'_>,
    settings: &Settings,
    registry: &Registry,
    surroundings: &Environment,
) -> Result<Choice, LookupError> {
    let choice = |model, why| Choice { model, why, remark: None };
    if let Some(name) = wanted.asked {
        return Ok(choice(registry.find(name)?, Why::Asked));
    }
    let missing = match wanted.of_session.map(|name| (name, exact(name, registry, surroundings))) {
        Some((_, Ok(model))) => return Ok(choice(model, Why::Session)),
        Some((name, Err(why))) => Some((name, why)),
        None => None,
    };
    let mut choice = match &settings.model {
        Some(name) => choice(registry.find(name)?, Why::Settings),
        None => unasked(settings, registry, surroundings),
    };
    choice.remark =
        missing.map(|(name, why)| format!("{name}, which this session used, cannot be used ({why})"));
    Ok(choice)
}

/// The model that writes summaries, if somebody chose one for that: now, or in the settings.
pub(crate) fn for_summaries(
    asked: Option<&str>,
    settings: &Settings,
    registry: &Registry,
) -> Result<Option<Arc<ModelInfo>>, LookupError> {
    asked.or(settings.summary_model.as_deref()).map(|name| registry.find(name)).transpose()
}

/// The model a session names, if it can be asked now.
pub(crate) fn exact(
    name: &str,
    registry: &Registry,
    surroundings: &Environment,
) -> Result<Arc<ModelInfo>, String> {
    let model = registry.find(name).map_err(|_| "no such model".to_owned())?;
    registry.check_configured(&model, surroundings).map(|()| model)
}

fn unasked(settings: &Settings, registry: &Registry, surroundings: &Environment) -> Choice {
    let ready = |model: &&Arc<ModelInfo>| registry.check_configured(model, surroundings).is_ok();
    let named = |(provider, id): (&str, &str)| {
        let mut models = registry.models().iter();
        models.find(|model| model.provider == provider && model.id == id)
    };
    let with_key = FIRST.into_iter().filter_map(named).find(ready);
    let of_user = || {
        let mut models =
            registry.models().iter().filter(|model| settings.providers.contains_key(&model.provider));
        models.find(ready)
    };
    let (model, why) = match with_key {
        Some(model) => (model.clone(), Why::Key),
        None => match of_user() {
            Some(model) => (model.clone(), Why::Server),
            None => (offline(registry), Why::Nothing),
        },
    };
    Choice { model, why, remark: None }
}

/// The model that is always there.
pub(crate) fn offline(registry: &Registry) -> Arc<ModelInfo> {
    let built_in = || Arc::new(ModelInfo::new("offline", "offline", osier_model::Api::Offline));
    registry.find("offline/offline").unwrap_or_else(|_| built_in())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{OfProject, load};
    use osier_testkit::{Expect, expect};

    /// Chooses with some keys in the environment, and settings; tells what was chosen, and why.
    fn chosen(keys: &[&'static str], config: &str, wanted: Wanted<'_>) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, config).unwrap();
        let loaded = load(&file, OfProject::default(), false);
        assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
        let registry = Registry::new(loaded.settings.providers.clone());
        let keys = keys.to_vec();
        let surroundings = Environment::new(move |name| keys.contains(&name).then(|| "k".to_owned()));
        match choose(wanted, &loaded.settings, &registry, &surroundings) {
            Ok(Choice { model, why, remark }) => {
                let remark = remark.map_or_else(String::new, |remark| format!("\n{remark}"));
                format!("{} ({why:?}){remark}", model.full_name())
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
    fn what_nobody_chose_is_the_first_thing_that_has_a_key() {
        let unasked = |keys: &[&'static str], config: &str| chosen(keys, config, Wanted::default());
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
                offline/offline (Nothing)
                google/gemini-3.1-pro-preview (Key)
                openai/gpt-5.5 (Key)
                anthropic/claude-opus-5-5 (Key)
                offline/offline (Nothing)
                local/smol (Server)
                openai/gpt-5.5 (Key)
                anthropic/claude-opus-5-5 (Key)"#]],
        );
    }

    #[test]
    fn what_was_said_counts_over_the_session_and_that_over_the_settings() {
        let config = format!("model = 'local/smol'\n{LOCAL}");
        let asked = Some("gpt-5.5");
        let of_session = Some("anthropic/claude-haiku-4-5");
        let keys = &["ANTHROPIC_API_KEY"];
        check(
            &[
                chosen(keys, &config, Wanted { asked, of_session }),
                chosen(keys, &config, Wanted { asked: None, of_session }),
                chosen(keys, &config, Wanted::default()),
                chosen(&[], &config, Wanted { asked: None, of_session }),
                chosen(&[], &config, Wanted { asked: None, of_session: Some("gone/model") }),
            ],
            expect![[r#"
                openai/gpt-5.5 (Asked)
                anthropic/claude-haiku-4-5 (Session)
                local/smol (Settings)
                local/smol (Settings)
                anthropic/claude-haiku-4-5, which this session used, cannot be used (set ANTHROPIC_API_KEY)
                local/smol (Settings)
                gone/model, which this session used, cannot be used (no such model)"#]],
        );
    }

    #[test]
    fn a_name_that_means_nothing_or_two_things_is_refused_with_the_nearest() {
        let asked = |name| chosen(&[], LOCAL, Wanted { asked: Some(name), of_session: None });
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
            &[chosen(&[], "model = 'anthropic/claude-opus-55'", Wanted::default())],
            expect![
                "unknown model anthropic/claude-opus-55; did you mean anthropic/claude-opus-5-5 or anthropic/claude-opus-5 or anthropic/claude-sonnet-5-5? `osier models` lists the available models"
            ],
        );
    }

    #[test]
    fn the_models_to_begin_with_are_in_the_list() {
        let registry = Registry::built_in();
        for (provider, id) in FIRST {
            assert!(
                registry.models().iter().any(|model| model.provider == provider && model.id == id),
                "{id}"
            );
        }
    }
}
