//! Builds the sandbox from the settings.

use std::path::PathBuf;
use std::sync::Arc;

use osier_model::KeySource;
use osier_tools::Sandbox;
use osier_tools::sandbox::SandboxRules;

use crate::home::Home;
use crate::settings::{SandboxSettings, SandboxWhen};

/// Paths in Osier's own folder that stay readable, because the model is asked to read them.
const READABLE: &[&str] = &["skills", "prompts", "AGENTS.md", "CLAUDE.md", "cache/output"];

/// Common locations of credentials.
const CREDENTIALS: &[&str] = &[
    "~/.ssh",
    "~/.gnupg",
    "~/.aws",
    "~/.azure",
    "~/.kube",
    "~/.netrc",
    "~/.git-credentials",
    "~/.config/gcloud",
    "~/.config/gh",
    "~/.docker/config.json",
];

/// The sandbox for commands in the working directory; `None` if the settings disable it.
pub fn from_settings(home: &Home) -> Option<Arc<Sandbox>> {
    let SandboxSettings { when, user_commands, write, hide, show, network, unix_sockets } =
        &home.settings.sandbox;
    let environment = home.environment();
    let path = |text: &str| home.cwd.join(environment.expand_path(text.as_ref()));
    let paths = |texts: &[String]| -> Vec<PathBuf> { texts.iter().map(|text| path(text)).collect() };
    let shown = paths(show);
    let credentials = CREDENTIALS.iter().map(|text| path(text)).filter(|path| !shown.contains(path));
    let rules = SandboxRules {
        project: home.cwd.clone(),
        write: paths(write),
        hide: home
            .home_folders()
            .into_iter()
            .chain(key_files(home))
            .chain(paths(hide))
            .chain(credentials)
            .collect(),
        show: READABLE.iter().map(|name| home.folder.join(name)).collect(),
        network: network.clone(),
        unix_sockets: *unix_sockets,
        only_in_mode: *when == SandboxWhen::Mode,
        user_commands: *user_commands,
    };
    (*when != SandboxWhen::Never).then(|| Arc::new(Sandbox::new(rules, (home.host.launcher)())))
}

/// The files of the settings that hold API keys or store passwords.
pub fn key_files(home: &Home) -> Vec<PathBuf> {
    let environment = home.environment();
    let providers = home.settings.providers.values().filter_map(|spec| spec.api_key_file.as_ref());
    let stores = home.settings.stores.values().filter_map(|spec| match &spec.password {
        KeySource::File(file) => Some(file),
        _ => None,
    });
    providers.chain(stores).map(|file| home.cwd.join(environment.expand_path(file))).collect()
}
