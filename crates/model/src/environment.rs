//! Access to environment variables, the home folder and the clock. The caller provides them; this crate reads none of
//! them directly.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

type EnvFn = dyn Fn(&str) -> Option<String> + Send + Sync;
type ClockFn = dyn Fn() -> i64 + Send + Sync;

/// Environment variables, clock and home folder, provided by the caller.
#[derive(Clone)]
pub struct Environment {
    env: Arc<EnvFn>,
    clock: Arc<ClockFn>,
    home: Option<PathBuf>,
}

impl Environment {
    /// `env` looks up environment variables.
    pub fn new(env: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Environment {
        Environment { env: Arc::new(env), clock: Arc::new(system_clock), home: None }
    }

    /// An empty environment.
    pub fn empty() -> Environment {
        Environment::new(|_| None)
    }

    /// Sets the folder that `~` stands for in paths.
    pub fn with_home(mut self, home: impl Into<PathBuf>) -> Environment {
        self.home = Some(home.into());
        self
    }

    /// Replaces the clock, for tests. It returns milliseconds since 1970.
    pub fn with_clock(mut self, clock: impl Fn() -> i64 + Send + Sync + 'static) -> Environment {
        self.clock = Arc::new(clock);
        self
    }

    /// The value of a variable, unless it is empty or blank.
    pub(crate) fn var(&self, name: &str) -> Option<String> {
        (self.env)(name).filter(|value| !value.trim().is_empty())
    }

    pub fn now(&self) -> i64 {
        (self.clock)()
    }

    /// Expands `~` in a path.
    pub fn expand_path(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), &self.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.to_owned(),
        }
    }
}

fn system_clock() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Omits the variables, which may contain secrets.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings").field("home", &self.home).finish_non_exhaustive()
    }
}
