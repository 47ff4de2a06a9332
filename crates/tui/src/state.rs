//! The state of the interface. It does not contain the conversation, which is in the session and already on the screen.

use std::sync::Arc;

use osier_protocol::query::{PromptCommand, SandboxStatus, SessionStatus};
use osier_protocol::subagents::TaskPanel;
use osier_protocol::time::Millis;
use osier_protocol::{EntryId, ExploreReport, ExtensionInput, SummarySubject, TokenCount};

use crate::clock::LocalClock;
use crate::code::CodeColors;
use crate::completion::Completion;
use crate::editor::Editor;
use crate::extension_ui::ExtensionUi;
use crate::overlay::Overlay;
use crate::streamed_reply::StreamedReply;
use crate::text::Line;
use crate::theme::ColorRole;
use crate::tour::TourStep;
use crate::transcript::{RenderOptions, Transcript};
use crate::update::question_keys::HeldAnswer;
use crate::view;

/// The configuration of the interface, from the program that runs it.
#[derive(Debug, Clone, Default)]
pub struct UiConfig {
    /// The working directory in display form.
    pub directory: String,
    /// The host of the gateway, if the session is on one.
    pub gateway: Option<String>,
    /// The user's home folder, which is displayed as `~`.
    pub home: Option<String>,
    /// What Escape pressed twice opens.
    pub double_escape: DoubleEscape,
    /// The initial filter of the tree.
    pub tree_filter: osier_protocol::outline::OutlineFilter,
    /// The tree shows the active branch before its siblings.
    pub active_first: bool,
    /// How the tree is indented.
    pub tree_style: osier_protocol::outline::OutlineStyle,
    /// How the terminal reports the end of a turn while you work in another window.
    pub notify: TurnNotification,
    /// Do not offer a summary when you leave a branch.
    pub never_summarize: bool,
    /// Changed key bindings, by the name of the key action.
    pub keys: std::collections::BTreeMap<String, String>,
    /// The working directory as sessions store it.
    pub cwd: String,
    /// The user's offset from UTC in seconds; positive is east.
    pub utc_offset: i32,
    /// Welcome lines for a new user. What stands in backticks can be pressed or typed.
    pub welcome: Vec<String>,
}

/// How the terminal reports the end of a turn, or a question, while its window is in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TurnNotification {
    Off,
    #[default]
    Bell,
    /// The bell and a desktop notification.
    Desktop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DoubleEscape {
    #[default]
    Tree,
    Fork,
    Nothing,
}

/// Work in progress.
#[derive(Debug, Clone, Default)]
pub struct Activity {
    pub turn_running: bool,
    /// When it started, or when the interface joined it, in the time of `UiState::now`.
    pub started: u64,
    /// How long it had been going on before, in milliseconds.
    pub passed_before: u64,
    /// Running tool calls with their output.
    pub tools: Vec<(String, String)>,
    /// The tasks of sub-agents, each with the call that delegated it.
    pub tasks: Vec<(String, TaskPanel)>,
    /// The tries of a prompt that run now.
    pub explore: Option<ExploreReport>,
    /// A try is being kept, so the next move is part of that.
    pub keeps_try: bool,
    /// A running command of the user with its output.
    pub user_command: Option<(String, String)>,
    /// A summary in progress: what it summarizes, and its text so far.
    pub summary: Option<(SummarySubject, String)>,
    /// The ids of unanswered questions.
    pub open_questions: Vec<u64>,
    /// Why the model is called again.
    pub retrying: Option<String>,
    pub stopping: bool,
    /// What extensions do, by its id: the command, or the check of a prompt.
    pub extension_work: Vec<(u64, Option<String>)>,
    /// A component of an extension floats over the screen: its command waits for the user.
    pub has_float: bool,
}

impl Activity {
    pub fn is_active(&self) -> bool {
        let is_working = self.turn_running || self.user_command.is_some() || self.summary.is_some();
        is_working || self.explore.is_some() || self.working_extension().is_some()
    }

    /// The last work of an extension, unless it waits for the user.
    pub(crate) fn working_extension(&self) -> Option<&(u64, Option<String>)> {
        let waits = self.has_float || !self.open_questions.is_empty();
        self.extension_work.last().filter(|_| !waits)
    }

    /// Tries run, and nothing else does.
    pub(crate) fn is_only_exploring(&self) -> bool {
        let others = self.turn_running || self.user_command.is_some() || self.summary.is_some();
        self.explore.is_some() && self.working_extension().is_none() && !others
    }

    /// How long the work has been going on, in milliseconds: `now` in the time of `UiState::now`, and as the time of day.
    pub(crate) fn elapsed(&self, now: u64, time: Millis) -> u64 {
        let explore_start = self.explore.as_ref().and_then(|report| report.started_at);
        match explore_start.filter(|_| self.is_only_exploring()) {
            Some(started) => time.saturating_sub(started).max(0).unsigned_abs(),
            None => now.saturating_sub(self.started) + self.passed_before,
        }
    }

    /// Work starts now.
    pub(crate) fn start(&mut self, now: u64) {
        (self.started, self.passed_before) = (now, 0);
    }
}

/// A pending request for the tree.
#[derive(Debug, Clone)]
pub(crate) struct TreeRequest {
    /// The request is for the fork dialog.
    pub(crate) fork: bool,
    /// The entry to select, instead of the leaf.
    pub(crate) entry: Option<EntryId>,
    /// When it was made, in the time of `UiState::now`.
    pub(crate) since: u64,
}

/// See the module. It has many fields because the interface has one state, which [`update`](crate::update::update) changes.
#[derive(Debug, Default)]
pub struct UiState {
    pub columns: usize,
    pub rows: usize,
    /// Milliseconds since the interface started.
    pub now: u64,
    /// The time of day.
    pub clock: LocalClock,
    pub config: Arc<UiConfig>,
    pub status: SessionStatus,
    /// What to show while there is no connection to the engine.
    pub connection_problem: Option<String>,
    pub sandbox: SandboxStatus,
    /// The names of the models that the session can use.
    pub models: Vec<String>,
    /// Templates and skills, which you run like commands.
    pub prompt_commands: Vec<PromptCommand>,
    /// The tokens of the context at the last model call.
    pub context: TokenCount,
    pub editor: Editor,
    pub completion: Option<Completion>,
    pub(crate) overlays: Vec<Box<dyn Overlay>>,
    /// The colors of code.
    pub(crate) code: Arc<CodeColors>,
    /// What extensions show.
    pub(crate) extensions: ExtensionUi,
    pub(crate) transcript: Transcript,
    pub(crate) reply: StreamedReply,
    pub activity: Activity,
    /// Prompts that the engine has not answered yet. They are shown while there is no connection.
    pub unanswered: Vec<String>,
    pub steering: Vec<String>,
    pub follow_up: Vec<String>,
    /// A notice that is shown until the next key.
    pub notice: Option<Line>,
    /// The current step of the tour.
    pub(crate) tour: Option<TourStep>,
    /// The window of the terminal lost the focus.
    pub is_unfocused: bool,
    /// Show folded content expanded.
    pub expanded: bool,
    /// The background of the terminal is light.
    pub(crate) is_light: bool,
    /// A number that tells this terminal from others that show the same session.
    pub(crate) client: u64,
    /// When you last typed or pasted something.
    pub(crate) last_input: Option<u64>,
    pub(crate) held_answer: Option<HeldAnswer>,
    /// When Escape was last pressed.
    pub(crate) last_escape: Option<u64>,
    /// The last key was Ctrl+C and showed the hint how to quit.
    pub(crate) quit_hint_shown: bool,
    /// Entries before this index in the log are already shown.
    pub(crate) shown_entries: usize,
    /// The tree is being read.
    pub(crate) tree_request: Option<TreeRequest>,
    /// Files below the working directory, for completion; `None` until they are requested.
    pub(crate) files: Option<Arc<Vec<String>>>,
}

impl UiState {
    pub fn new(config: UiConfig, columns: usize, rows: usize) -> UiState {
        let clock = LocalClock { now: 0, utc_offset: config.utc_offset };
        UiState {
            columns: columns.max(1),
            rows: rows.max(1),
            clock,
            config: Arc::new(config),
            ..UiState::default()
        }
    }

    pub(crate) fn render_options(&self) -> RenderOptions<'_> {
        RenderOptions {
            width: self.columns,
            home: self.config.home.as_deref(),
            expanded: self.expanded,
            pastes: Some(&self.editor.pastes),
            code: Some(&self.code),
            rendered: Some(&self.extensions.rendered).filter(|rendered| !rendered.is_empty()),
            thinking_label: self.extensions.thinking_label.as_deref(),
        }
    }

    /// The screen as extensions know it.
    pub(crate) fn screen_input(&self) -> ExtensionInput {
        let (columns, rows, expanded, light) = (self.columns, self.rows, self.expanded, self.is_light);
        ExtensionInput::Screen { columns, rows, expanded, light }
    }

    /// When to send [`Msg::Timer`](crate::msg::Msg::Timer), in the time of `UiState::now`.
    pub fn timer_due(&self) -> Option<u64> {
        let key = self.extensions.key_listeners.due();
        self.held_answer.map(|held| held.until).into_iter().chain(key).min()
    }

    /// Notes that the last frame is on the screen.
    pub(crate) fn note_drawn(&mut self) {
        let room = view::full_overlay_area(self);
        if let (Some(overlay), Some(room)) = (self.overlays.last_mut(), room) {
            overlay.note_shown(room);
        }
    }

    /// Whether the notice is an error.
    pub(crate) fn shows_error(&self) -> bool {
        let mut spans = self.notice.iter().flat_map(|line| &line.spans);
        spans.any(|span| span.style.role == ColorRole::Bad)
    }

    /// Whether an overlay or a completion list covers the conversation.
    pub(crate) fn is_covered(&self) -> bool {
        !self.overlays.is_empty() || self.completion.is_some()
    }

    /// Whether the screen must be redrawn as time passes.
    pub fn is_animated(&self) -> bool {
        self.activity.is_active() || self.tree_request.is_some()
    }
}
