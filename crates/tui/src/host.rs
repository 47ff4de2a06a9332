//! What the interface needs from the program that runs it: other sessions, settings, and information about the environment.
//! The program may have its sessions in this process or on another machine.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use osier_protocol::engine_request::SettingRow;
use osier_protocol::search_query::MessageHit;
use osier_protocol::time::Millis;
use osier_protocol::{Card, Client, Image, Prompt, SessionRef};
use tokio::sync::watch;

use crate::msg::OpenTarget;
use crate::state::UiConfig;
use crate::theme::Theme;

/// The program that runs the interface. Errors are texts for the user.
#[async_trait]
pub trait Host: Send + Sync + Debug {
    /// Opens another session instead of the current one. `None` if a hook refused; then nothing changed. Dropping the future cancels
    /// it. The interface stops the turn of the current session.
    async fn open(&self, target: OpenTarget) -> Result<Option<OpenedSession>, String>;

    /// The sessions that you can open, rename and delete, most recently used first; at most `limit`.
    async fn list_sessions(&self, _limit: usize) -> Result<SessionListing, String> {
        Ok(SessionListing::default())
    }

    /// The sessions whose cards or messages match a query.
    async fn search_sessions(&self, _query: &str) -> Result<SessionSearchResult, String> {
        Ok(SessionSearchResult::default())
    }

    async fn rename_session(&self, _session: &SessionRef, _name: &str) -> Result<(), String> {
        Err("cannot rename sessions here".to_owned())
    }

    /// Deletes a session and the sessions of its sub-agents, unless it is in use.
    async fn delete_session(&self, _session: &SessionRef) -> Result<(), String> {
        Err("cannot delete sessions here".to_owned())
    }

    /// Exports the current path to a new file: the named one, or one in the named folder or in the working directory.
    async fn export(&self, _file: Option<&str>) -> Result<PathBuf, String> {
        Err("cannot export here".to_owned())
    }

    /// The image at a path. `None` if there is none.
    async fn read_image(&self, _path: &str) -> Option<Image> {
        None
    }

    fn now(&self) -> Millis {
        0
    }

    /// The connection to the engine, if it is on another machine.
    fn connection(&self) -> Option<ConnectionStatus> {
        None
    }

    /// A theme by its name, without making it the user's choice.
    fn theme(&self, name: &str) -> Option<Theme> {
        Theme::builtin(name)
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
    async fn settings(&self) -> Result<Vec<SettingRow>, String> {
        Ok(Vec::new())
    }

    /// Changes a setting permanently; returns the new configuration.
    async fn set_setting(&self, key: &str, _value: &str) -> Result<SettingChange, String> {
        Err(format!("cannot change {key} here"))
    }
}

/// What to show while there is no connection to the engine; `None` while there is one.
pub type ConnectionStatus = watch::Receiver<Option<String>>;

/// A newly opened session.
#[derive(Debug)]
pub struct OpenedSession {
    pub client: Arc<dyn Client>,
    /// The configuration for this session, such as its working directory.
    pub config: UiConfig,
    /// It does a task for the session that you leave, or the other way around. Nothing is stopped.
    pub keeps_turn: bool,
    /// The text to put into the editor, so that you can edit and send it again.
    pub editor_text: Option<String>,
    /// Notices for the user.
    pub notices: Vec<String>,
}

/// The sessions of all stores.
#[derive(Debug, Default)]
pub struct SessionListing {
    pub cards: Vec<Card>,
    /// What is missing in the list, and why.
    pub missing: Option<String>,
}

/// The sessions that match a query.
#[derive(Debug, Default)]
pub struct SessionSearchResult {
    /// Each session with a message that matches; `None` if only the card matches.
    pub hits: Vec<(SessionRef, Option<MessageHit>)>,
    /// Why some sessions could not be searched.
    pub problem: Option<String>,
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
