//! What Osier takes from its surroundings: folders, settings, the terminal. Nothing else reads the environment.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use etcetera::BaseStrategy;
use osier_model::{Models, Registry, Surroundings};
use osier_session::{Env, Session};
use osier_store::{FileStore, Filter, Store};
use osier_tree::Header;
use osier_tree::time::Millis;

use crate::out::remark;
use crate::settings::{self, Loaded, Problem, Project, Settings};

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    pub(crate) folder: PathBuf,
    /// The working directory as headers write it.
    pub(crate) cwd: PathBuf,
    /// The user's home folder, which people write `~`.
    pub(crate) user: Option<String>,
    /// The project the working directory belongs to.
    pub(crate) project: Option<Project>,
    pub(crate) settings: Settings,
}

impl Home {
    /// The surroundings of a command that runs in the current directory. Mistakes in settings stop it.
    pub(crate) fn find() -> Result<Home> {
        let (home, loaded) = Home::look()?;
        home.checked(loaded.problems)
    }

    fn look() -> Result<(Home, Loaded)> {
        let cwd = std::env::current_dir().context("the current directory is gone; change to another one")?;
        let user = etcetera::choose_base_strategy().ok().map(|user| user.home_dir().to_owned());
        let folder = match (set("OSIER_HOME"), &user) {
            (Some(folder), _) => std::path::absolute(folder)?,
            (None, user) => user.as_ref().context("no home folder; set OSIER_HOME")?.join(".osier"),
        };
        let homes: Vec<PathBuf> =
            [Some(folder.clone()), user.as_ref().map(|user| user.join(".osier"))].into_iter().flatten().collect();
        let project = Project::find(&cwd, &homes).filter(|project| project.objection().is_none());
        let loaded = settings::load(&folder.join("config.toml"), project.as_ref(), |_| false);
        let home = Home {
            folder,
            cwd: PathBuf::from(cwd.to_string_lossy().into_owned()),
            user: user.map(|user| user.to_string_lossy().into_owned()),
            project,
            settings: loaded.settings.clone(),
        };
        Ok((home, loaded))
    }

    fn checked(self, problems: Vec<Problem>) -> Result<Home> {
        let (fatal, warnings): (Vec<_>, Vec<_>) = problems.into_iter().partition(|problem| problem.is_fatal);
        for warning in warnings {
            remark(&format!("osier: {}", self.told(&warning)));
        }
        match fatal.as_slice() {
            [] => Ok(self),
            fatal => anyhow::bail!(fatal.iter().map(|problem| self.told(problem)).collect::<Vec<_>>().join("\n")),
        }
    }

    fn told(&self, problem: &Problem) -> String {
        Problem { file: self.shown(&problem.file), ..problem.clone() }.to_string()
    }

    /// A path as people write it, with `~` for their home folder.
    pub(crate) fn shown(&self, path: &Path) -> PathBuf {
        let below = self.user.as_ref().and_then(|user| path.strip_prefix(user).ok());
        below.map_or_else(|| path.to_owned(), |below| Path::new("~").join(below))
    }

    /// What models may see of the surroundings: variables, the clock, and where `~` is.
    pub(crate) fn surroundings(&self) -> Surroundings {
        let surroundings = Surroundings::new(|name| std::env::var(name).ok());
        match &self.user {
            Some(user) => surroundings.with_home(user),
            None => surroundings,
        }
    }

    /// The models there are, with the servers of the settings.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        Arc::new(Registry::new(self.settings.providers.clone()))
    }

    pub(crate) fn models(&self) -> Models {
        Models::new(self.registry(), self.surroundings()).with_retry(self.settings.retry)
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
        Env { durability: self.settings.durability, watch: false, ..Env::default() }
    }

    pub(crate) fn now(&self) -> Millis {
        self.env().clock.now()
    }

    /// The header of a new session.
    pub(crate) async fn header(&self, store: &dyn Store, cwd: &str) -> Result<Header> {
        let env = self.env();
        Ok(Header::new(Session::fresh_id(store, &env).await?, env.clock.now(), cwd))
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
