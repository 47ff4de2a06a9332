//! What this crate may know of the machine it runs on. The binary fills it in; nothing here looks around by itself.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

type Env = dyn Fn(&str) -> Option<String> + Send + Sync;
type Clock = dyn Fn() -> i64 + Send + Sync;

/// See the module.
#[derive(Clone)]
pub struct Surroundings {
    env: Arc<Env>,
    clock: Arc<Clock>,
    home: Option<PathBuf>,
}

impl Surroundings {
    /// `env` looks up environment variables.
    pub fn new(env: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Surroundings {
        Surroundings { env: Arc::new(env), clock: Arc::new(machine_clock), home: None }
    }

    /// An empty environment.
    pub fn none() -> Surroundings {
        Surroundings::new(|_| None)
    }

    /// Where `~` leads in the paths of settings.
    pub fn with_home(mut self, home: impl Into<PathBuf>) -> Surroundings {
        self.home = Some(home.into());
        self
    }

    /// Milliseconds since 1970, for tests.
    pub fn with_clock(mut self, clock: impl Fn() -> i64 + Send + Sync + 'static) -> Surroundings {
        self.clock = Arc::new(clock);
        self
    }

    /// A variable that is set to something.
    pub(crate) fn var(&self, name: &str) -> Option<String> {
        (self.env)(name).filter(|value| !value.trim().is_empty())
    }

    pub(crate) fn now(&self) -> i64 {
        (self.clock)()
    }

    /// A path as a user writes it, with `~` for the home folder.
    pub fn path(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), &self.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.to_owned(),
        }
    }
}

fn machine_clock() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The environment may hold secrets, so it is not shown.
impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings").field("home", &self.home).finish_non_exhaustive()
    }
}
