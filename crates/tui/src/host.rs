//! What the interface needs from the program that runs it: other sessions, settings, and information about the environment.

use std::fmt::Debug;

use async_trait::async_trait;
use osier_agent::Worker;
use osier_protocol::Prompt;
use osier_session::{Session, Stores};

use crate::msg::{OpenTarget, SessionRef};
use crate::state::UiConfig;
use crate::text::Line;
use crate::theme::Theme;

/// The program that runs the interface. Errors are texts for the user.
#[async_trait]
pub trait Host: Send + Sync + Debug {
    /// Opens another session instead of the current one, and starts an agent on it.
    async fn open(&self, which: OpenTarget, from: &Worker) -> Result<OpenedSession, String>;

    /// The stores whose sessions you can list, rename and delete.
    fn stores(&self, session: &Session) -> Stores {
        Stores::new(vec![session.store().clone()])
    }

    /// Deletes a session and the sessions of its sub-agents, unless it is in use.
    async fn delete_session(&self, _session: &SessionRef) -> Result<(), String> {
        Err("cannot delete sessions here".to_owned())
    }

    /// What the last compaction on the path left out, as lines of a page.
    async fn compaction_lines(&self, _from: &Worker, _columns: usize) -> Result<Vec<Line>, String> {
        Err("compaction details are not available here".to_owned())
    }

    /// The git branch of the working directory. Called often, so it must be fast.
    fn git_branch(&self) -> Option<String> {
        None
    }

    /// The command line of the user's external editor.
    fn editor(&self) -> Option<String> {
        None
    }

    /// The prompts of all sessions, the newest last.
    fn history(&self) -> Vec<String> {
        Vec::new()
    }

    /// Adds a prompt to [`Host::history`]. Failures are ignored.
    fn add_to_history(&self, _text: &str) {}

    /// The settings that you can change in the interface, in display order.
    fn settings(&self) -> Vec<SettingRow> {
        Vec::new()
    }

    /// Changes a setting permanently; returns the new configuration.
    fn set_setting(&self, key: &str, _value: &str) -> Result<SettingChange, String> {
        Err(format!("cannot change {key} here"))
    }
}

/// A newly opened session.
#[derive(Debug)]
pub struct OpenedSession {
    pub worker: Worker,
    /// The configuration for this session, such as its working directory.
    pub config: UiConfig,
    /// The text to put into the editor, so that you can edit and send it again.
    pub editor_text: Option<String>,
    /// A turn was running in the previous session and was stopped.
    pub turn_stopped: bool,
    /// Notices for the user.
    pub notices: Vec<String>,
}

/// A row of `/settings`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SettingRow {
    pub key: String,
    /// Empty if the setting has no value.
    pub value: String,
    /// Where the value comes from: a file and line, or the default.
    pub source: String,
    pub help: String,
    /// The allowed values; empty if any text or number is allowed.
    pub choices: Vec<String>,
}

/// The effect of a changed setting.
#[derive(Debug)]
pub struct SettingChange {
    /// The notice for the user.
    pub notice: String,
    pub theme: Theme,
    pub config: UiConfig,
}

/// How to start the interface.
#[derive(Debug)]
pub struct UiSetup {
    pub config: UiConfig,
    pub theme: Theme,
    /// Ask the terminal whether its background is light, because the user did not choose a theme.
    pub ask_background: bool,
    /// The prompt to send at start.
    pub first_prompt: Option<Prompt>,
    /// Start with the list of sessions.
    pub choose_session: bool,
}
