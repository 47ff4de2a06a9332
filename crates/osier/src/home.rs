//! What Osier takes from its surroundings: folders, settings, the terminal. Nothing else reads the environment.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use etcetera::BaseStrategy;
use osier_session::{Durability, Env};
use osier_store::FileStore;
use serde::Deserialize;

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    pub(crate) folder: PathBuf,
    pub(crate) cwd: PathBuf,
    settings: Settings,
}

/// `config.toml`, in the home folder, with the project's own over it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
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
        let folder = match std::env::var_os("OSIER_HOME").filter(|home| !home.is_empty()) {
            Some(folder) => std::path::absolute(folder)?,
            None => etcetera::choose_base_strategy()
                .context("no home folder; set OSIER_HOME")?
                .home_dir()
                .join(".osier"),
        };
        let user = read_settings(&folder.join("config.toml"))?;
        let project = read_settings(&cwd.join(".osier").join("config.toml"))?;
        let settings = Settings { durability: project.durability.or(user.durability) };
        Ok(Home { folder, cwd, settings })
    }

    pub(crate) fn store(&self) -> Arc<FileStore> {
        Arc::new(FileStore::new(self.folder.join("sessions"), Some(self.folder.join("cache"))))
    }

    /// What a session of a command that ends soon needs from the world.
    pub(crate) fn env(&self) -> Env {
        Env { durability: self.durability(), watch: false, ..Env::default() }
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

/// Whether to write colours: on a terminal, unless the user said no.
pub(crate) fn wants_colour() -> bool {
    use std::io::IsTerminal;
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !refused && std::env::var_os("TERM").is_none_or(|term| term != "dumb") && std::io::stdout().is_terminal()
}

/// How wide the terminal is; without one there is no limit.
pub(crate) fn width() -> Option<usize> {
    std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 20)
}
