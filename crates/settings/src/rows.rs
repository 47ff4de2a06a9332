//! The rows of `osier config`: effective settings, defaults, and ignored settings of an untrusted project.

use osier_engine::{ModelPreferences, ModelSource};
use osier_model::KeySource;
use serde::Serialize;
use serde_json::{Value, json};

use crate::home::Home;
use crate::settings::table::{NAME_PLACEHOLDER, SETTING_KEYS, SettingAccess, SettingKey};
use crate::settings::{EffectiveSetting, LoadedSettings, Project, SettingsOwner, dotted_key};

/// One row of the output.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigRow {
    pub key: String,
    /// `null` if it is not set, or is a secret.
    value: Value,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    secret: bool,
    #[serde(flatten)]
    from: ValueSource,
    #[serde(skip)]
    provider: Option<String>,
}

/// The source of a value.
#[derive(Debug, Serialize)]
#[serde(tag = "from", rename_all = "camelCase")]
enum ValueSource {
    Default,
    /// Selected because an API key is set.
    Environment {
        variable: String,
    },
    /// Selected as a default.
    Chosen {
        why: &'static str,
    },
    User {
        file: String,
        line: usize,
    },
    Project {
        file: String,
        line: usize,
    },
    /// Ignored: set by a project that is not trusted.
    Untrusted {
        file: String,
        line: usize,
    },
}

pub fn config_rows(home: &Home, loaded: &LoadedSettings) -> Vec<ConfigRow> {
    let layers = &loaded.settings.layers;
    let mut rows = Vec::new();
    for key in SETTING_KEYS {
        let sets = layers.settings().iter().filter(|set| std::ptr::eq(set.key, key));
        let before = rows.len();
        rows.extend(sets.map(setting_row));
        if rows.len() == before && !key.name.contains(NAME_PLACEHOLDER) {
            rows.push(if key.name == "model" { model_row(home) } else { default_row(key) });
        }
    }
    // Group the settings of each provider.
    rows.sort_by_key(|row| row.provider.clone());
    let config = home.project.as_ref().map(Project::config_file).unwrap_or_default();
    rows.extend(loaded.ignored.iter().map(|found| ConfigRow {
        key: dotted_key(&found.path),
        value: display_value(found.key, &found.value),
        secret: found.key.access == SettingAccess::Secret,
        from: ValueSource::Untrusted { file: config.to_string_lossy().into_owned(), line: found.line },
        provider: None,
    }));
    rows
}

fn setting_row(set: &EffectiveSetting) -> ConfigRow {
    let (file, line) = (set.file.to_string_lossy().into_owned(), set.line);
    ConfigRow {
        key: dotted_key(&set.path),
        value: display_value(set.key, &set.value),
        secret: set.key.access == SettingAccess::Secret,
        from: match set.owner {
            SettingsOwner::User => ValueSource::User { file, line },
            SettingsOwner::Project => ValueSource::Project { file, line },
        },
        provider: set
            .path
            .get(1)
            .filter(|_| set.key.name.contains(NAME_PLACEHOLDER))
            .map(|name| format!("{}.{name}", set.path[0])),
    }
}

fn default_row(key: &'static SettingKey) -> ConfigRow {
    let value = key.default_value().map_or(Value::Null, |value| json!(value));
    ConfigRow { key: key.name.to_owned(), value, secret: false, from: ValueSource::Default, provider: None }
}

/// The model that is used if no file names one.
fn model_row(home: &Home) -> ConfigRow {
    let models = home.model_catalog();
    let (value, from) = match models.select(ModelPreferences::default()) {
        Err(_) => (Value::Null, ValueSource::Default),
        Ok(choice) => {
            let key = models.registry().provider(&choice.model.provider).map(|provider| &provider.key);
            let from = match (choice.source, key) {
                (ModelSource::Key, Some(KeySource::Env(names))) => {
                    match names.iter().find(|name| home.host.has_variable(name)) {
                        Some(variable) => ValueSource::Environment { variable: variable.clone() },
                        None => ValueSource::Default,
                    }
                }
                (ModelSource::Key, _) => ValueSource::Chosen { why: "its key is set" },
                (ModelSource::Server, _) => ValueSource::Chosen { why: "from your own server" },
                _ => ValueSource::Chosen { why: "needs no key" },
            };
            (json!(choice.model.full_name()), from)
        }
    };
    ConfigRow { key: "model".to_owned(), value, secret: false, from, provider: None }
}

/// A value with secrets removed.
fn display_value(key: &SettingKey, value: &toml::Value) -> Value {
    if key.access == SettingAccess::Secret {
        return Value::Null;
    }
    match value.as_str() {
        Some(url) if key.name.ends_with(".base_url") => json!(redact_url(url)),
        Some(url) if key.name.ends_with(".url") => json!(osier_store_mysql::without_password(url)),
        _ => json!(value),
    }
}

/// A url without user, password, query and fragment.
pub fn redact_url(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = rest[..end].rsplit('@').next().unwrap_or_default();
    let path = rest[end..].split(['?', '#']).next().unwrap_or_default();
    if scheme.is_empty() { format!("{host}{path}") } else { format!("{scheme}://{host}{path}") }
}

impl ConfigRow {
    pub fn is_effective(&self) -> bool {
        !matches!(self.from, ValueSource::Untrusted { .. })
    }

    pub fn has_value(&self) -> bool {
        self.secret || !self.value.is_null()
    }

    /// The value as it is written in a file.
    pub fn toml_value(&self) -> String {
        let models = self.value.as_array().filter(|_| self.key.ends_with(".models"));
        match (&self.value, models) {
            _ if self.secret => "(set)".to_owned(),
            (Value::Null, _) => "-".to_owned(),
            (_, Some(models)) => {
                let ids: Vec<&str> = models.iter().filter_map(|model| model["id"].as_str()).collect();
                ids.join(", ")
            }
            (value, _) => match serde_json::from_value::<toml::Value>(value.clone()) {
                Ok(value) => value.to_string(),
                Err(_) => value.to_string(),
            },
        }
    }

    /// The value for scripts: strings without quotes.
    pub fn plain_value(&self) -> String {
        match &self.value {
            Value::String(text) => text.clone(),
            _ => self.toml_value(),
        }
    }

    pub fn origin(&self, home: &Home) -> String {
        let at = |file: &str, line: &usize| format!("{}:{line}", home.display_path(file.as_ref()));
        match &self.from {
            ValueSource::Default if self.value.is_null() => String::new(),
            ValueSource::Default => "default".to_owned(),
            ValueSource::Environment { variable } => format!("{variable} is set"),
            ValueSource::Chosen { why } => (*why).to_owned(),
            ValueSource::User { file, line } | ValueSource::Project { file, line } => at(file, line),
            ValueSource::Untrusted { file, line } => format!("not trusted: {}", at(file, line)),
        }
    }
}
