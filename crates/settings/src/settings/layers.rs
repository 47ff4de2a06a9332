//! Merges the settings of several files key by key, and records where each value came from.

use std::path::PathBuf;

use toml::{Table, Value};

use super::file::ParsedSetting;
use super::kind::SettingKind;
use super::table::{SETTING_KEYS, SettingKey};

/// The owner of a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsOwner {
    User,
    Project,
}

/// The effective value of a setting, and the line that set it.
#[derive(Clone)]
pub struct EffectiveSetting {
    pub path: Vec<String>,
    pub key: &'static SettingKey,
    pub value: Value,
    pub owner: SettingsOwner,
    pub file: PathBuf,
    pub line: usize,
}

/// Omits the value, which may be a secret.
impl std::fmt::Debug for EffectiveSetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}:{}", self.path.join("."), self.file.display(), self.line)
    }
}

/// The effective settings, each key once.
#[derive(Debug, Clone, Default)]
pub struct SettingsLayers {
    settings: Vec<EffectiveSetting>,
}

impl SettingsLayers {
    /// Adds a file that overrides the previous ones.
    pub fn add(&mut self, owner: SettingsOwner, file: &std::path::Path, found: Vec<ParsedSetting>) {
        self.drop_key_sources(&found);
        for found in found {
            let ParsedSetting { path, key, value, line } = found;
            let base = self.settings.iter().position(|set| set.path == path);
            let base = base.map(|at| self.settings.remove(at).value);
            let value = match base {
                Some(base) => merge_values(key.kind, base, value),
                None => value,
            };
            self.settings.push(EffectiveSetting { path, key, value, owner, file: file.to_owned(), line });
        }
    }

    /// A file that sets the source of a provider's key or of a store's password replaces all sources in lower files. A file
    /// that sets the url of a store drops the password of lower files: it belongs to another server.
    fn drop_key_sources(&mut self, found: &[ParsedSetting]) {
        let source = |path: &[String]| {
            let names_one =
                path.last().is_some_and(|word| word.starts_with("api_key_") || word.starts_with("password_"));
            names_one.then(|| path[..path.len() - 1].to_vec())
        };
        let server = |path: &[String]| match path {
            [stores, name, url] if stores == "stores" && url == "url" => {
                Some(vec![stores.clone(), name.clone()])
            }
            _ => None,
        };
        for provider in found.iter().filter_map(|found| source(&found.path).or_else(|| server(&found.path))) {
            self.settings.retain(|set| source(&set.path).as_ref() != Some(&provider));
        }
    }

    pub fn settings(&self) -> &[EffectiveSetting] {
        &self.settings
    }

    pub fn find(&self, name: &str) -> Option<&EffectiveSetting> {
        self.settings.iter().find(|set| set.key.name == name)
    }

    /// The effective value or the default of a key without `NAME`.
    fn value(&self, name: &str) -> Option<Value> {
        let default = || SETTING_KEYS.iter().find(|key| key.name == name).and_then(SettingKey::default_value);
        self.find(name).map(|set| set.value.clone()).or_else(default)
    }

    pub fn text(&self, name: &str) -> Option<String> {
        self.value(name)?.as_str().map(str::to_owned)
    }

    pub fn bool(&self, name: &str) -> Option<bool> {
        self.value(name)?.as_bool()
    }

    pub fn count<N: TryFrom<i64>>(&self, name: &str) -> Option<N> {
        N::try_from(self.value(name)?.as_integer()?).ok()
    }

    pub fn texts(&self, name: &str) -> Option<Vec<String>> {
        super::string_list(&self.value(name)?)
    }

    /// A list of numbers.
    pub fn counts<N: TryFrom<i64>>(&self, name: &str) -> Vec<N> {
        let list = self.value(name).and_then(|value| value.as_array().cloned()).unwrap_or_default();
        list.iter().filter_map(|item| N::try_from(item.as_integer()?).ok()).collect()
    }

    /// The settings of one name in a table, such as `agents.reviewer`.
    pub fn named_table(&self, word: &str, name: &str) -> Table {
        match self.table(word).remove(name) {
            Some(Value::Table(table)) => table,
            _ => Table::new(),
        }
    }

    /// All settings below a word, such as `providers`, as one table.
    pub fn table(&self, word: &str) -> Table {
        let mut root = Table::new();
        for set in self.settings.iter().filter(|set| set.path.first().is_some_and(|first| first == word)) {
            let Some((last, above)) = set.path[1..].split_last() else { continue };
            insert_value(&mut root, above, last, set.value.clone());
        }
        root
    }
}

fn insert_value(table: &mut Table, above: &[String], last: &str, value: Value) {
    match above.split_first() {
        None => drop(table.insert(last.to_owned(), value)),
        Some((word, rest)) => {
            let inner = table.entry(word.clone()).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                insert_value(inner, rest, last, value);
            }
        }
    }
}

/// Merges two values of a key: lists of models are concatenated, tables of switches are merged, other values are replaced.
fn merge_values(kind: SettingKind, base: Value, override_value: Value) -> Value {
    match (kind, base, override_value) {
        (SettingKind::Models, Value::Array(mut base), Value::Array(override_value)) => {
            base.extend(override_value);
            Value::Array(base)
        }
        (SettingKind::Compat, Value::Table(mut base), Value::Table(override_value)) => {
            base.extend(override_value);
            Value::Table(base)
        }
        (_, _, override_value) => override_value,
    }
}

impl SettingKey {
    pub fn default_value(&self) -> Option<Value> {
        toml::from_str::<Table>(&format!("v = {}", self.default)).ok()?.remove("v")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::file::parse;
    use osier_testkit::expect;
    use std::path::Path;

    fn layers(user: &str, project: &str) -> SettingsLayers {
        let mut layers = SettingsLayers::default();
        layers.add(SettingsOwner::User, Path::new("user"), parse(Path::new("user"), user).settings);
        layers.add(
            SettingsOwner::Project,
            Path::new("project"),
            parse(Path::new("project"), project).settings,
        );
        layers
    }

    #[test]
    fn the_upper_file_overrides_key_by_key() {
        let layers = layers(
            "thinking = 'low'\nmodel = 'a/b'\n[providers.p]\nbase_url = 'http://user'\nname = 'P'\n",
            "thinking = 'high'\n[providers.p]\nbase_url = 'http://project'\n",
        );
        assert_eq!(layers.text("thinking").as_deref(), Some("high"));
        assert_eq!(layers.text("model").as_deref(), Some("a/b"));
        assert_eq!(layers.text("durability").as_deref(), Some("turn"), "the default");
        let thinking = layers.find("thinking").unwrap();
        assert_eq!((thinking.owner, thinking.line), (SettingsOwner::Project, 1));
        expect![[r#"
            [p]
            base_url = "http://project"
            name = "P"
        "#]]
        .assert_eq(&layers.table("providers").to_string());
    }

    /// Otherwise a project could send the password to its own server.
    #[test]
    fn a_new_store_url_drops_the_password_of_a_lower_file() {
        let layers = layers(
            "[stores.team]\nurl = 'mysql://me@db/osier'\npassword_command = 'pass team'\ntimeout = 7\n[stores.other]\nurl = 'mysql://me@other/osier'\npassword_env = 'OTHER'\n",
            "[stores.team]\nurl = 'mysql://me@evil/osier'\n",
        );
        expect![[r#"
            [other]
            password_env = "OTHER"
            url = "mysql://me@other/osier"

            [team]
            timeout = 7
            url = "mysql://me@evil/osier"
        "#]]
        .assert_eq(&layers.table("stores").to_string());
    }

    #[test]
    fn model_lists_are_concatenated_and_switches_are_merged() {
        let layers = layers(
            "[providers.p]\ncompat = { store = true, null_content = true }\nmodels = [{ id = 'a' }]\n",
            "[providers.p]\ncompat = { store = false }\nmodels = [{ id = 'a', images = true }, { id = 'b' }]\n",
        );
        expect![[r#"
            [p.compat]
            null_content = true
            store = false

            [[p.models]]
            id = "a"

            [[p.models]]
            id = "a"
            images = true

            [[p.models]]
            id = "b"
        "#]]
        .assert_eq(&layers.table("providers").to_string());
    }

    #[test]
    fn a_new_key_source_replaces_the_one_of_a_lower_file() {
        let layers = layers(
            "[providers.p]\napi_key_env = 'A'\n[providers.q]\napi_key_env = 'Q'\n",
            "[providers.p]\napi_key_file = 'f'\n",
        );
        let names: Vec<String> = layers.settings().iter().map(|set| set.path[1..].join(".")).collect();
        assert_eq!(names, ["q.api_key_env", "p.api_key_file"]);
    }
}
