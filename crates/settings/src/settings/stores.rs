//! The stores in the settings. Only parses and checks them: opens no store and reads no password.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use osier_model::KeySource;
use osier_store::file::DEFAULT_NAME as FILE;
use osier_store_mysql::{Credentials, Limits, MySqlStore};
use toml::{Table, Value};

use super::{SettingsLayers, SettingsOwner, SettingsProblem};

/// The configuration of a store.
#[derive(Debug, Clone)]
pub struct StoreSpec {
    pub place: StoreLocation,
    /// The source of the password of a database, if it is not in the url.
    pub password: KeySource,
    pub timeout: Duration,
    /// How long a session of a database counts as open after its process was killed.
    pub lease: Duration,
}

#[derive(Debug, Clone)]
pub enum StoreLocation {
    Folder {
        /// As it is written in the settings.
        folder: PathBuf,
        /// The folder of the settings file; `folder` is relative to it.
        base: PathBuf,
        /// Set by a project, whose folders other users may be able to write.
        of_project: bool,
    },
    Database(Credentials),
}

/// The stores of all files. An invalid store is reported as a problem and left out.
pub(crate) fn parse_stores(
    layers: &SettingsLayers,
    problems: &mut Vec<SettingsProblem>,
) -> BTreeMap<String, StoreSpec> {
    let mut stores = BTreeMap::new();
    for (name, table) in layers.table("stores") {
        let Value::Table(table) = table else { continue };
        match parse_store(&name, &table, layers) {
            Ok(spec) => drop(stores.insert(name, spec)),
            Err(text) => {
                problems.extend(problem_at(layers, &["stores", &name], format!("stores.{name} {text}")));
            }
        }
    }
    stores
}

/// The store of new sessions. An unknown name is a problem: a typo must not put sessions elsewhere.
pub(crate) fn default_store(
    layers: &SettingsLayers,
    of_agent: Option<String>,
    stores: &BTreeMap<String, StoreSpec>,
    problems: &mut Vec<SettingsProblem>,
) -> String {
    let (key, name) = match of_agent {
        Some(name) => ("agents", name),
        None => ("default_store", layers.text("default_store").unwrap_or_else(|| FILE.to_owned())),
    };
    if name == FILE || stores.contains_key(&name) {
        return name;
    }
    let known: Vec<&str> = std::iter::once(FILE).chain(stores.keys().map(String::as_str)).collect();
    let text = format!("unknown store {name:?}; the stores are {}", known.join(", "));
    problems.extend(problem_at(layers, &[key], text));
    FILE.to_owned()
}

/// Why a store cannot have this name: it is used in commands, cards and paths.
fn invalid_name(name: &str) -> Option<&'static str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    match name {
        FILE | "memory" => Some("has a reserved name; choose another one"),
        _ if name.is_empty() || name.len() > 64 || !name.bytes().all(is_plain) => {
            Some("must have a name of letters, digits, `_` and `-`")
        }
        _ => None,
    }
}

fn parse_store(name: &str, table: &Table, layers: &SettingsLayers) -> Result<StoreSpec, String> {
    if let Some(problem) = invalid_name(name) {
        return Err(problem.to_owned());
    }
    let text = |key: &str| table.get(key).and_then(Value::as_str);
    let place = match (text("url"), text("folder")) {
        (Some(url), None) if url.starts_with("mysql://") => {
            let credentials = Credentials::new(url);
            MySqlStore::new(name, &credentials, Limits::default())
                .map_err(|error| format!("has an invalid `url`: {error}"))?;
            StoreLocation::Database(credentials)
        }
        (Some(_), None) => return Err("must have a `url` that begins with mysql://".to_owned()),
        (None, Some(folder)) => folder_location(name, folder, layers),
        _ => return Err("must have either a `url` or a `folder`".to_owned()),
    };
    let sources = [
        text("password_env").map(|name| KeySource::Env(vec![name.to_owned()])),
        text("password_file").map(|file| KeySource::File(file.into())),
        text("password_command").map(|command| KeySource::Command(command.to_owned())),
    ];
    let mut sources = sources.into_iter().flatten();
    let password = sources.next().unwrap_or_default();
    if sources.next().is_some() {
        return Err("must have only one of password_env, password_file and password_command".to_owned());
    }
    let seconds = |key: &str, default: u64| {
        let given = table.get(key).and_then(Value::as_integer).and_then(|secs| u64::try_from(secs).ok());
        Duration::from_secs(given.unwrap_or(default))
    };
    Ok(StoreSpec { place, password, timeout: seconds("timeout", 5), lease: seconds("lease", 30) })
}

fn folder_location(name: &str, folder: &str, layers: &SettingsLayers) -> StoreLocation {
    let set = layers.settings().iter().find(|set| set.path == ["stores", name, "folder"]);
    let base = set.and_then(|set| set.file.parent()).map(PathBuf::from).unwrap_or_default();
    let of_project = set.is_none_or(|set| set.owner == SettingsOwner::Project);
    StoreLocation::Folder { folder: folder.into(), base, of_project }
}

fn problem_at(layers: &SettingsLayers, path: &[&str], text: String) -> Option<SettingsProblem> {
    let begins = |set: &&super::EffectiveSetting| set.path.iter().zip(path).all(|(a, b)| a == b);
    let set = layers.settings().iter().find(begins)?;
    Some(SettingsProblem { file: set.file.clone(), line: Some(set.line), text, is_fatal: true })
}

#[cfg(test)]
mod tests {
    use crate::settings::{ProjectSettings, load_settings};
    use osier_testkit::{Expect, expect};

    fn check(config: &str, expect: Expect) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, config).unwrap();
        let loaded = load_settings(&file, ProjectSettings::default(), false);
        let mut output = format!("new sessions in {}\n", loaded.settings.default_store);
        for (name, spec) in &loaded.settings.stores {
            output += &format!("{name}: {spec:?}\n");
        }
        for problem in &loaded.problems {
            output += &format!("! {}: {}\n", problem.line.unwrap_or_default(), problem.text);
        }
        assert!(!format!("{output}{loaded:?}").contains("hunter2"));
        expect.assert_eq(&output.replace(&folder.path().display().to_string(), "$DIR"));
    }

    #[test]
    fn a_store_is_a_database_or_a_folder() {
        check(
            "default_store = 'team'\n[stores.team]\nurl = 'mysql://me:hunter2@db/osier?x=hunter2'\npassword_env = 'PW'\n\
             [stores.old]\nfolder = 'archive'\n",
            expect![[r#"
                new sessions in team
                old: StoreSpec { place: Folder { folder: "archive", base: "$DIR", of_project: false }, password: None, timeout: 5s, lease: 30s }
                team: StoreSpec { place: Database(Credentials("mysql://me@db/osier")), password: Env(["PW"]), timeout: 5s, lease: 30s }
            "#]],
        );
    }

    #[test]
    fn invalid_stores_are_reported_without_their_values() {
        check(
            "default_store = 'tema'\n[stores.a]\nurl = 'postgres://hunter2@x'\n[stores.b]\ntimeout = 3\n\
             [stores.c]\nurl = 'mysql://x'\nfolder = 'y'\n[stores.file]\nfolder = 'x'\n[stores.'../x']\nfolder = 'x'\n\
             [stores.d]\nurl = 'mysql://x'\npassword_env = 'A'\npassword_file = 'B'\n",
            expect![[r#"
                new sessions in file
                ! 12: stores.../x must have a name of letters, digits, `_` and `-`
                ! 3: stores.a must have a `url` that begins with mysql://
                ! 5: stores.b must have either a `url` or a `folder`
                ! 7: stores.c must have either a `url` or a `folder`
                ! 14: stores.d must have only one of password_env, password_file and password_command
                ! 10: stores.file has a reserved name; choose another one
                ! 1: unknown store "tema"; the stores are file
            "#]],
        );
    }

    #[test]
    fn an_agent_can_have_its_own_store() {
        check(
            "agent = 'reviewer'\n[agents.reviewer]\nstore = 'old'\n[stores.old]\nfolder = '/old'\n",
            expect![[r#"
                new sessions in old
                old: StoreSpec { place: Folder { folder: "/old", base: "$DIR", of_project: false }, password: None, timeout: 5s, lease: 30s }
            "#]],
        );
    }
}
