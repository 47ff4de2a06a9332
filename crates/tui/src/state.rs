//! The state of the interface. It does not contain the conversation, which is in the session and already on the screen.

use std::sync::Arc;

use osier_model::ThinkingLevel;
use osier_tools::approvals::Mode;
use osier_tree::tokens::TokenCount;

use crate::clock::Clock;
use crate::complete::Completion;
use crate::draft::Draft;
use crate::editor::Editor;
use crate::overlay::Overlay;
use crate::text::Line;
use crate::transcript::{Look, Script};
use crate::update::answering::Held;
use crate::view;

/// The configuration of the interface, from the program that runs it.
#[derive(Debug, Clone, Default)]
pub struct Setting {
    /// The working directory in display form.
    pub directory: String,
    /// The user's home folder, which is displayed as `~`.
    pub home: Option<String>,
    pub store: String,
    /// What Escape pressed twice opens.
    pub double_escape: DoubleEscape,
    /// The initial filter of the tree.
    pub tree_filter: osier_tree::projection::outline::Filter,
    /// The tree shows the active branch before its siblings.
    pub active_first: bool,
    /// Do not offer a summary when you leave a branch.
    pub never_summarize: bool,
    /// Changed key bindings, by the name of the key action.
    pub keys: std::collections::BTreeMap<String, String>,
    /// The working directory as sessions store it.
    pub cwd: String,
    /// The names of the models, for completion.
    pub models: Vec<String>,
    /// The names and descriptions of templates and skills, which you run like commands.
    pub templates: Vec<(String, String)>,
    /// The user's offset from UTC in seconds; positive is east.
    pub utc_offset: i32,
    /// Welcome lines for a new user.
    pub welcome: Vec<String>,
    /// The sandbox for commands; `None` if the settings disable it.
    pub sandbox: Option<std::sync::Arc<osier_tools::Sandbox>>,
}

impl Setting {
    /// The protection that the sandbox provides, or why it is unavailable.
    pub(crate) fn protection(&self) -> Result<&str, &str> {
        self.sandbox.as_ref().ok_or("sandbox.when is set to never").and_then(|sandbox| sandbox.state())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DoubleEscape {
    #[default]
    Tree,
    Fork,
    Nothing,
}

/// What the status line shows about the session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    /// The full id of the session.
    pub id: String,
    /// The shortest prefix of the id that is unique in its store.
    pub session: String,
    pub name: Option<String>,
    pub git_branch: Option<String>,
    pub model: String,
    pub thinking: ThinkingLevel,
    /// The approval mode of the session.
    pub approval: Option<Mode>,
    /// The tokens of the current context.
    pub context: TokenCount,
    /// The context window of the model, in tokens.
    pub window: u64,
    pub cost: f64,
    /// The number of entries on the path.
    pub depth: usize,
    /// The number of tips in the tree.
    pub tips: usize,
}

/// Work in progress.
#[derive(Debug, Clone, Default)]
pub struct Work {
    pub turn: bool,
    /// When it started, in the time of `UiState::now`.
    pub since: u64,
    /// Running tool calls with their output.
    pub tools: Vec<(String, String)>,
    /// A running command of the user with its output.
    pub bash: Option<(String, String)>,
    /// A summary in progress: what it summarizes, and its text so far.
    pub summary: Option<(&'static str, String)>,
    /// The ids of unanswered questions.
    pub asked: Vec<u64>,
    /// Why the model is called again.
    pub retrying: Option<String>,
    pub stopping: bool,
}

impl Work {
    pub fn is_going_on(&self) -> bool {
        self.turn || self.bash.is_some() || self.summary.is_some()
    }
}

/// A pending request for the tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    /// The request is for the fork dialog.
    pub(crate) fork: bool,
    /// When it was made, in the time of `UiState::now`.
    pub(crate) since: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub struct State {
    pub columns: usize,
    pub rows: usize,
    /// Milliseconds since the interface started.
    pub now: u64,
    /// The time of day.
    pub clock: Clock,
    pub setting: Arc<Setting>,
    pub facts: Facts,
    /// The tokens of the context at the last model call.
    pub context: TokenCount,
    pub editor: Editor,
    pub completion: Option<Completion>,
    pub(crate) overlays: Vec<Box<dyn Overlay>>,
    pub(crate) script: Script,
    pub(crate) draft: Draft,
    pub work: Work,
    pub steering: Vec<String>,
    pub follow_up: Vec<String>,
    /// A notice that is shown until the next key.
    pub notice: Option<Line>,
    /// Show folded content expanded.
    pub open: bool,
    /// When you last typed or pasted something.
    pub(crate) typed: Option<u64>,
    pub(crate) held: Option<Held>,
    /// When Escape was last pressed.
    pub(crate) escaped: Option<u64>,
    /// The last key was Ctrl+C and showed the hint how to quit.
    pub(crate) warned: bool,
    /// Entries before this index in the log are already shown.
    pub(crate) shown_to: usize,
    /// The tree is being read.
    pub(crate) reading: Option<Reading>,
    /// Files below the working directory, for completion; `None` until they are requested.
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

    /// When to send [`Msg::Timer`](crate::msg::Msg::Timer), in the time of `UiState::now`.
    pub fn due(&self) -> Option<u64> {
        self.held.map(|held| held.until)
    }

    /// Notes that the last frame is on the screen.
    pub(crate) fn drawn(&mut self) {
        let room = view::whole_room(self);
        if let (Some(overlay), Some(room)) = (self.overlays.last_mut(), room) {
            overlay.shown(room);
        }
    }

    /// Whether an overlay or a completion list covers the conversation.
    pub(crate) fn is_covered(&self) -> bool {
        !self.overlays.is_empty() || self.completion.is_some()
    }

    /// Whether the screen must be redrawn as time passes.
    pub fn is_moving(&self) -> bool {
        self.work.is_going_on() || self.reading.is_some()
    }
}
