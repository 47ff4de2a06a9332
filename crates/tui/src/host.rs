//! What the interface needs of the program around it: other sessions, settings, and facts that only the program may look for.

use std::fmt::Debug;

use async_trait::async_trait;
use osier_agent::{Said, Worker};
use osier_session::{Session, Stores};

use crate::msg::Which;
use crate::state::Setting;
use crate::text::Line;
use crate::theme::Theme;

/// See the module. Errors are texts for the user.
#[async_trait]
pub trait Host: Send + Sync + Debug {
    /// Opens a session in the place of another, and puts an agent to work on it.
    async fn open(&self, which: Which, from: &Worker) -> Result<Opened, String>;

    /// The stores whose sessions are listed, renamed and deleted here.
    fn stores(&self, session: &Session) -> Stores {
        Stores::new(vec![session.store().clone()])
    }

    /// A session is gone; what was kept for it elsewhere may go too.
    fn session_deleted(&self, _id: &str) {}

    /// What the last compaction on the path left out, in lines to be read.
    async fn compaction(&self, _from: &Worker, _columns: usize) -> Result<Vec<Line>, String> {
        Err("what a compaction left out is not told here".to_owned())
    }

    /// The branch of the directory, if git keeps it. Asked often, so it must be quick.
    fn git_branch(&self) -> Option<String> {
        None
    }

    /// The command line of the user's own editor.
    fn editor(&self) -> Option<String> {
        None
    }

    /// What was typed in all sessions, the newest last.
    fn history(&self) -> Vec<String> {
        Vec::new()
    }

    /// Keeps something that was typed for [`Host::history`]. Failures are not worth a word.
    fn remember(&self, _text: &str) {}

    /// The settings a person may change here, in the order in which they are shown.
    fn settings(&self) -> Vec<SettingRow> {
        Vec::new()
    }

    /// Changes a setting for good. Tells what holds from now on.
    fn set(&self, key: &str, _value: &str) -> Result<Changed, String> {
        Err(format!("{key} cannot be changed here"))
    }
}

/// A session that was opened.
#[derive(Debug)]
pub struct Opened {
    pub worker: Worker,
    /// Where the work is done now, and what else differs there.
    pub setting: Setting,
    /// What returns to the editor, to be said differently.
    pub text: Option<String>,
    /// A turn still ran in the other session, and was stopped.
    pub stopped: bool,
    /// What there is to say about it.
    pub remarks: Vec<String>,
}

/// One setting as `/settings` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SettingRow {
    pub key: String,
    /// Empty if it has none.
    pub value: String,
    /// Where the value came from: a file and line, or that it is the default.
    pub from: String,
    pub help: String,
    /// What it may be; empty if that is any text or number.
    pub choices: Vec<String>,
}

/// What a changed setting leads to.
#[derive(Debug)]
pub struct Changed {
    /// A line for the user.
    pub told: String,
    pub theme: Theme,
    pub setting: Setting,
}

/// What the interface is started with.
#[derive(Debug)]
pub struct Setup {
    pub setting: Setting,
    pub theme: Theme,
    /// The terminal may be asked whether its background is light: the user did not say.
    pub ask_background: bool,
    /// What is said at once.
    pub first: Option<Said>,
    /// Begin with the list of sessions.
    pub choose_session: bool,
}
