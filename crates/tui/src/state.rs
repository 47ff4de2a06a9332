//! Everything the interface knows. Nothing of it is conversation: that is in the session, and on the screen already.

use std::sync::Arc;

use osier_model::ThinkingLevel;
use osier_tools::approvals::Mode;

use crate::clock::Clock;
use crate::complete::Completion;
use crate::draft::Draft;
use crate::editor::Editor;
use crate::overlay::Overlay;
use crate::text::Line;
use crate::transcript::{Look, Script};
use crate::update::answering::Held;

/// What the program around the interface tells it once.
#[derive(Debug, Clone, Default)]
pub struct Setting {
    /// Where the work is done, as it is to be shown.
    pub directory: String,
    /// The user's home folder, which is written `~`.
    pub home: Option<String>,
    pub store: String,
    /// What Escape pressed twice opens.
    pub double_escape: DoubleEscape,
    /// What the tree shows at first.
    pub tree_filter: osier_tree::projection::outline::Filter,
    /// The tree shows the branch one is on before its siblings.
    pub active_first: bool,
    /// Do not ask about a summary on leaving a branch.
    pub never_summarize: bool,
    /// Keys that are not to be the usual ones, by the name of what they do.
    pub keys: std::collections::BTreeMap<String, String>,
    /// The directory as sessions name it.
    pub cwd: String,
    /// Names of models, for completion.
    pub models: Vec<String>,
    /// Names of templates and skills, which are said like commands, and what each is for.
    pub templates: Vec<(String, String)>,
    /// Seconds that the user's time is east of UTC.
    pub utc_offset: i32,
    /// Lines for somebody who is here for the first time.
    pub welcome: Vec<String>,
    /// Confines commands; `None` if the settings want none.
    pub sandbox: Option<std::sync::Arc<osier_tools::Sandbox>>,
}

impl Setting {
    /// Which protection commands run with in the sandbox, or why there is none.
    pub(crate) fn protection(&self) -> Result<&str, &str> {
        self.sandbox.as_ref().ok_or("the setting sandbox.when is never").and_then(|sandbox| sandbox.state())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DoubleEscape {
    #[default]
    Tree,
    Fork,
    Nothing,
}

/// What the status line tells about the session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    /// The id of the session, and the prefix of it that names no other session of its store.
    pub id: String,
    pub session: String,
    pub name: Option<String>,
    pub git_branch: Option<String>,
    pub model: String,
    pub thinking: ThinkingLevel,
    /// What the session says may be done without asking.
    pub approval: Option<Mode>,
    /// Tokens of the context, and those that the model takes at most.
    pub context: u64,
    pub window: u64,
    pub cost: f64,
    /// How many entries the path has, and how many ends the tree.
    pub depth: usize,
    pub tips: usize,
}

/// What goes on.
#[derive(Debug, Clone, Default)]
pub struct Work {
    pub turn: bool,
    /// When it began, by the clock of [`State::now`].
    pub since: u64,
    /// Calls that run, with what they printed.
    pub tools: Vec<(String, String)>,
    /// A command of the user's, with what it printed.
    pub bash: Option<(String, String)>,
    /// A summary being written: of what, and its text.
    pub summary: Option<(&'static str, String)>,
    /// Questions that wait for an answer.
    pub asked: Vec<u64>,
    /// Why the model is asked again.
    pub retrying: Option<String>,
    pub stopping: bool,
}

impl Work {
    pub fn is_going_on(&self) -> bool {
        self.turn || self.bash.is_some() || self.summary.is_some()
    }
}

/// Waiting for a tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    /// It is for the fork dialog.
    pub(crate) fork: bool,
    /// Since when, by the clock of [`State::now`].
    pub(crate) since: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub struct State {
    pub columns: usize,
    pub rows: usize,
    /// Milliseconds since the start.
    pub now: u64,
    /// The time of day.
    pub clock: Clock,
    pub setting: Arc<Setting>,
    pub facts: Facts,
    /// Tokens of the context when the model was asked last.
    pub context: u64,
    pub editor: Editor,
    pub completion: Option<Completion>,
    pub(crate) overlays: Vec<Box<dyn Overlay>>,
    pub(crate) script: Script,
    pub(crate) draft: Draft,
    pub work: Work,
    pub steering: Vec<String>,
    pub follow_up: Vec<String>,
    /// A line for the user, until the next key.
    pub notice: Option<Line>,
    /// Show what is folded otherwise.
    pub open: bool,
    /// When something was typed or pasted last.
    pub(crate) typed: Option<u64>,
    pub(crate) held: Option<Held>,
    /// When Escape, and Ctrl-C, were pressed last.
    pub(crate) escaped: Option<u64>,
    pub(crate) warned: bool,
    /// Entries before this place in the log are on the screen, if they are to be.
    pub(crate) shown_to: usize,
    /// A tree is being read.
    pub(crate) reading: Option<Reading>,
    /// Files below the directory, for completion; none before they were asked for.
    pub(crate) files: Option<Arc<Vec<String>>>,
}

impl State {
    pub fn new(setting: Setting, columns: usize, rows: usize) -> State {
        let clock = Clock { now: 0, offset: setting.utc_offset };
        State {
            columns: columns.max(1),
            rows: rows.max(1),
            clock,
            setting: Arc::new(setting),
            ..State::default()
        }
    }

    pub(crate) fn look(&self) -> Look<'_> {
        Look {
            width: self.columns,
            home: self.setting.home.as_deref(),
            open: self.open,
            pastes: Some(&self.editor.pastes),
        }
    }

    /// When [`Msg::Timer`](crate::msg::Msg::Timer) is wanted, by the clock of [`State::now`].
    pub fn due(&self) -> Option<u64> {
        self.held.map(|held| held.until)
    }

    /// What was drawn last is on the screen.
    pub(crate) fn drawn(&mut self) {
        if let Some(overlay) = self.overlays.last_mut() {
            overlay.shown(self.now);
        }
    }

    /// Whether something is open that covers the conversation until it is closed.
    pub(crate) fn is_covered(&self) -> bool {
        !self.overlays.is_empty() || self.completion.is_some()
    }

    /// Whether something on the screen moves by itself.
    pub fn is_moving(&self) -> bool {
        self.work.is_going_on() || self.reading.is_some()
    }
}
