//! What Osier takes from its surroundings: folders, settings, the terminal. Nothing else reads the environment.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use etcetera::BaseStrategy;
use osier_session::{Durability, Env, Session};
use osier_store::{FileStore, Filter, Store};
use osier_tree::Header;
use osier_tree::time::Millis;
use serde::Deserialize;

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    pub(crate) folder: PathBuf,
    /// The working directory as headers write it.
    pub(crate) cwd: PathBuf,
    /// The user's home folder, which people write `~`.
    pub(crate) user: Option<String>,
    settings: Settings,
}

/// `config.toml`, in the home folder, with the project's own over it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    durability: Option<DurabilityName>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DurabilityName {
    Os,
    Turn,
    Always,
}

impl Home {
    pub(crate) fn find() -> Result<Home> {
        let cwd = std::env::current_dir().context("the current directory is gone; change to another one")?;
        let user = etcetera::choose_base_strategy().ok().map(|user| user.home_dir().to_owned());
        let folder = match (set("OSIER_HOME"), &user) {
            (Some(folder), _) => std::path::absolute(folder)?,
            (None, user) => user.as_ref().context("no home folder; set OSIER_HOME")?.join(".osier"),
        };
        let of_user = read_settings(&folder.join("config.toml"))?;
        let of_project = read_settings(&cwd.join(".osier").join("config.toml"))?;
        let settings = Settings { durability: of_project.durability.or(of_user.durability) };
        Ok(Home {
            folder,
            cwd: PathBuf::from(cwd.to_string_lossy().into_owned()),
            user: user.map(|user| user.to_string_lossy().into_owned()),
            settings,
        })
    }

    pub(crate) fn store(&self) -> Arc<FileStore> {
        Arc::new(FileStore::new(self.folder.join("sessions"), Some(self.folder.join("cache"))))
    }

    /// The sessions of this directory, or all.
    pub(crate) fn filter(&self, all: bool) -> Filter {
        Filter { cwd: (!all).then(|| self.cwd.clone()), ..Filter::default() }
    }

    /// What a session of a command that ends soon needs from the world.
    pub(crate) fn env(&self) -> Env {
        Env { durability: self.durability(), watch: false, ..Env::default() }
    }

    pub(crate) fn now(&self) -> Millis {
        self.env().clock.now()
    }

    /// The header of a new session.
    pub(crate) async fn header(&self, store: &dyn Store, cwd: &str) -> Result<Header> {
        let env = self.env();
        Ok(Header::new(Session::fresh_id(store, &env).await?, env.clock.now(), cwd))
    }

    fn durability(&self) -> Durability {
        match self.settings.durability {
            Some(DurabilityName::Os) => Durability::Os,
            Some(DurabilityName::Always) => Durability::Always,
            Some(DurabilityName::Turn) | None => Durability::Turn,
        }
    }
}

fn read_settings(path: &Path) -> Result<Settings> {
    match std::fs::read_to_string(path) {
        Ok(text) => {
            toml::from_str(&text).with_context(|| format!("cannot read the settings in {}", path.display()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Settings::default()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// A variable of the environment, if it says anything.
fn set(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn is_dumb() -> bool {
    set("TERM").is_some_and(|term| term == "dumb")
}

/// Whether to write colours: on a terminal, unless the user said no.
pub(crate) fn wants_colour() -> bool {
    set("NO_COLOR").is_none() && !is_dumb() && std::io::stdout().is_terminal()
}

/// Whether somebody watches who would like to know that a thing takes long.
pub(crate) fn wants_progress() -> bool {
    !is_dumb() && std::io::stderr().is_terminal()
}

/// How many columns there are; without a terminal as many as one likes.
pub(crate) fn columns() -> Option<usize> {
    let told = set("COLUMNS").and_then(|columns| columns.to_str()?.parse().ok());
    let real = || terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
    told.or_else(real).filter(|columns| *columns > 0)
}
