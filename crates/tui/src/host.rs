//! What the interface needs of the program around it: other sessions, and facts that only the program may look for.

use std::fmt::Debug;

use async_trait::async_trait;
use osier_agent::Worker;

use crate::msg::Which;
use crate::state::Setting;
use crate::theme::Theme;

/// See the module. Errors are texts for the user.
#[async_trait]
pub trait Host: Send + Sync + Debug {
    /// Opens a session and puts an agent to work on it.
    async fn open(&self, which: Which, from: &Worker) -> Result<Worker, String>;

    /// The branch of the directory, if git keeps it.
    fn git_branch(&self) -> Option<String> {
        None
    }

    /// The command line of the user's own editor.
    fn editor(&self) -> Option<String> {
        None
    }
}

/// What the interface is started with.
#[derive(Debug)]
pub struct Setup {
    pub setting: Setting,
    pub theme: Theme,
    /// What is said at once.
    pub first: Option<String>,
}
