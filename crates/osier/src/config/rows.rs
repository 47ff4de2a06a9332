//! The rows of `osier config`: effective settings, defaults, and ignored settings of an untrusted project.

use osier_model::KeySource;
use serde::Serialize;
use serde_json::{Value, json};

use crate::home::{self, Home};
use crate::settings::choice::{Wanted, Why, choose};
use crate::settings::table::{KEYS, Key, NAME, Reach};
use crate::settings::{Loaded, Owner, Project, Set, dotted};

/// One row of the output.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    pub(super) key: String,
    /// `null` if it is not set, or is a secret.
    value: Value,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    secret: bool,
    #[serde(flatten)]
    from: From,
    #[serde(skip)]
    provider: Option<String>,
}

/// The source of a value.
#[derive(Debug, Serialize)]
#[serde(tag = "from", rename_all = "camelCase")]
enum From {
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

pub(super) fn all(home: &Home, loaded: &Loaded) -> Vec<Row> {
    let layers = &loaded.settings.layers;
    let mut rows = Vec::new();
    for key in KEYS {
        let sets = layers.sets().iter().filter(|set| std::ptr::eq(set.key, key));
        let before = rows.len();
        rows.extend(sets.map(of_set));
        if rows.len() == before && !key.name.contains(NAME) {
            rows.push(if key.name == "model" { chosen_model(home) } else { unset(key) });
        }
    }
    // Group the settings of each provider.
    rows.sort_by_key(|row| row.provider.clone());
    let config = home.project.as_ref().map(Project::config).unwrap_or_default();
    rows.extend(loaded.ignored.iter().map(|found| Row {
        key: dotted(&found.path),
        value: shown(found.key, &found.value),
        secret: found.key.reach == Reach::Secret,
        from: From::Untrusted { file: config.to_string_lossy().into_owned(), line: found.line },
        provider: None,
    }));
    rows
}

fn of_set(set: &Set) -> Row {
    let (file, line) = (set.file.to_string_lossy().into_owned(), set.line);
    Row {
        key: dotted(&set.path),
        value: shown(set.key, &set.value),
        secret: set.key.reach == Reach::Secret,
        from: match set.owner {
            Owner::User => From::User { file, line },
            Owner::Project => From::Project { file, line },
        },
        provider: set
            .path
            .get(1)
            .filter(|_| set.key.name.contains(NAME))
            .map(|name| format!("{}.{name}", set.path[0])),
    }
}

fn unset(key: &'static Key) -> Row {
    let value = key.default_value().map_or(Value::Null, |value| json!(value));
    Row { key: key.name.to_owned(), value, secret: false, from: From::Default, provider: None }
}

/// The model that is used if no file names one.
fn chosen_model(home: &Home) -> Row {
    let (registry, surroundings) = (home.registry(), home.environment());
    let choice = choose(Wanted::default(), &home.settings, &registry, &surroundings);
    let (value, from) = match choice {
        Err(_) => (Value::Null, From::Default),
        Ok(choice) => {
            let key = registry.provider(&choice.model.provider).map(|provider| &provider.key);
            let from = match (choice.why, key) {
                (Why::Key, Some(KeySource::Env(names))) => {
                    match names.iter().find(|name| home::has_env_var(name)) {
                        Some(variable) => From::Environment { variable: variable.clone() },
                        None => From::Default,
                    }
                }
                (Why::Key, _) => From::Chosen { why: "its key is set" },
                (Why::Server, _) => From::Chosen { why: "from your own server" },
                _ => From::Chosen { why: "needs no key" },
            };
            (json!(choice.model.full_name()), from)
        }
    };
    Row { key: "model".to_owned(), value, secret: false, from, provider: None }
}

/// A value with secrets removed.
fn shown(key: &Key, value: &toml::Value) -> Value {
    if key.reach == Reach::Secret {
        return Value::Null;
    }
    match value.as_str() {
        Some(url) if key.name.ends_with(".base_url") => json!(without_secrets(url)),
        Some(url) if key.name.ends_with(".url") => json!(osier_store_mysql::without_password(url)),
        _ => json!(value),
    }
}

/// A url without user, password, query and fragment.
pub(super) fn without_secrets(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = rest[..end].rsplit('@').next().unwrap_or_default();
    let path = rest[end..].split(['?', '#']).next().unwrap_or_default();
    if scheme.is_empty() { format!("{host}{path}") } else { format!("{scheme}://{host}{path}") }
}

impl Row {
    pub(super) fn is_in_force(&self) -> bool {
        !matches!(self.from, From::Untrusted { .. })
    }

    pub(super) fn has_value(&self) -> bool {
        self.secret || !self.value.is_null()
    }

    /// The value as it is written in a file.
    pub(super) fn shown(&self) -> String {
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
    pub(super) fn bare(&self) -> String {
        match &self.value {
            Value::String(text) => text.clone(),
            _ => self.shown(),
        }
    }

    pub(super) fn origin(&self, home: &Home) -> String {
        let at = |file: &str, line: &usize| format!("{}:{line}", home.display_path(file.as_ref()));
        match &self.from {
            From::Default if self.value.is_null() => String::new(),
            From::Default => "default".to_owned(),
            From::Environment { variable } => format!("{variable} is set"),
            From::Chosen { why } => (*why).to_owned(),
            From::User { file, line } | From::Project { file, line } => at(file, line),
            From::Untrusted { file, line } => format!("not trusted: {}", at(file, line)),
        }
    }
}
