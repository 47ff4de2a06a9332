//! What the program knows about its process and its machine. The functions are called only when something needs their result.

use std::ffi::OsString;
use std::path::PathBuf;

use osier_model::Environment;

/// See the module documentation.
#[derive(Debug, Clone)]
pub struct HostEnvironment {
    /// Osier's own folder, with the settings of the user.
    pub folder: PathBuf,
    /// The user's home folder, shown as `~`.
    pub user: Option<String>,
    /// The value of an environment variable.
    pub variable: fn(&str) -> Option<String>,
    /// The environment variables that tool commands may receive.
    pub variables: fn() -> Vec<(OsString, OsString)>,
    /// How many seconds the user's clock is ahead of UTC.
    pub utc_offset: fn() -> i64,
    pub host_name: fn() -> String,
    /// The executable that starts commands in a sandbox.
    pub launcher: fn() -> PathBuf,
}

impl HostEnvironment {
    /// What model providers may use: environment variables, the clock, and the home folder.
    pub fn model_environment(&self) -> Environment {
        let environment = Environment::new(self.variable);
        match &self.user {
            Some(user) => environment.with_home(user),
            None => environment,
        }
    }

    /// Whether an environment variable is set. Its value may be a secret.
    pub fn has_variable(&self, name: &str) -> bool {
        (self.variable)(name).is_some_and(|value| !value.is_empty())
    }
}
