//! Components drawn over the editor, as a stack. The top one gets the keys. It returns what should happen, and never does it
//! itself.

mod approval;
mod choice;
mod component;
mod dialog;
mod filter_list;
mod fork;
mod help;
mod history_search;
mod pager;
mod picker;
mod progress;
mod sessions;
mod settings;
mod task_picker;
mod text_prompt;
mod tree;

use std::fmt::Debug;

use osier_protocol::{Card, CommandReply, PromptTiming, TreeSnapshot};

pub(crate) use approval::ApprovalPrompt;
pub(crate) use choice::ChoicePrompt;
pub(crate) use component::ComponentOverlay;
pub(crate) use dialog::DialogPrompt;
pub(crate) use filter_list::ListRow;
pub(crate) use fork::ForkPicker;
pub(crate) use help::{HelpGroup, HelpPage};
pub(crate) use history_search::HistorySearch;
pub(crate) use pager::Pager;
pub(crate) use picker::ListPicker;
pub(crate) use progress::SummaryProgress;
pub(crate) use sessions::SessionPicker;
pub(crate) use settings::SettingsPanel;
pub(crate) use task_picker::task_picker;
pub(crate) use text_prompt::TextPrompt;
pub use tree::key_problem;
pub(crate) use tree::{TreeView, key_help};

use crate::clock::LocalClock;
use crate::key::Key;
use crate::msg::{Action, CommandPurpose, SearchHit};
use crate::screen::Frame;
use crate::theme::ColorRole;
use osier_protocol::engine_request::SettingRow;

/// A key counts as an answer if no other key arrives within this many milliseconds before or after it.
pub(crate) const ANSWER_PAUSE_MS: u64 = 300;

/// The space available to a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OverlayArea {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    /// Milliseconds since the start.
    pub(crate) now: u64,
    pub(crate) clock: LocalClock,
}

/// What should happen after a component handled a key or an event.
#[derive(Debug)]
pub(crate) enum OverlayOutcome {
    Stay,
    Close,
    /// Open another component on top.
    Open(Box<dyn Overlay>),
    /// Open another component on top, and run actions.
    OpenAndRun(Box<dyn Overlay>, Vec<Action>),
    Run(Vec<Action>),
    /// Close, and run actions.
    CloseAndRun(Vec<Action>),
    /// Close, and put text into the editor.
    CloseAndInsert(String),
    /// Close, and send exactly this text.
    CloseAndSubmit(String, PromptTiming),
    /// Not handled; the key goes to the editor.
    Pass,
}

/// An event that components may handle.
#[derive(Debug)]
pub(crate) enum OverlayEvent<'a> {
    Tree(&'a TreeSnapshot),
    /// The tree could not be read.
    TreeFailed,
    Sessions(&'a [Card]),
    /// The search matched the session of this card; `None`: the search is complete.
    SearchHit(Option<SearchHit>),
    Settings(&'a [SettingRow]),
    /// An entry was stored.
    Committed,
    /// A question was answered, here or in another client.
    Answered(u64),
    Replied(&'a CommandPurpose, &'a Result<CommandReply, String>),
    /// More text of a summary.
    SummaryText(&'a str),
    /// The lines of a component of an extension.
    Component(u64, &'a [String]),
}

pub(crate) trait Overlay: Debug + Send {
    fn handle_key(&mut self, key: Key, area: OverlayArea) -> OverlayOutcome;

    fn paste(&mut self, _text: &str) {}

    /// The component of an extension that gets keys and pastes.
    fn component(&self) -> Option<u64> {
        None
    }

    /// Whether components of extensions may float over it. They must not cover a question of Osier.
    fn allows_floats(&self) -> bool {
        false
    }

    /// Whether the draft stays visible below it and gets the keys and pastes that this component does not handle.
    fn shares_draft(&self) -> bool {
        false
    }

    /// The letters that answer it; Enter does too. Such a key is held back until it is clear that it is not part of text being
    /// typed. Only called if [`Overlay::shares_draft`].
    fn answer_letters(&self) -> Vec<char> {
        Vec::new()
    }

    /// Whether it was visible long enough, so that a key can be an answer. Only called if [`Overlay::shares_draft`].
    fn is_seen(&self, _now: u64) -> bool {
        false
    }

    /// Whether it leaves Escape to the turn.
    fn escape_stops_turn(&self) -> bool {
        false
    }

    /// Called when everything it drew is on the screen.
    fn note_shown(&mut self, _area: OverlayArea) {}

    /// Its first line is the title, its last line has the keys: the [frame](crate::panel) contains both.
    fn view(&self, area: OverlayArea) -> Frame;

    /// Whether a frame is drawn around it.
    fn has_frame(&self) -> bool {
        true
    }

    /// The color of its frame.
    fn border(&self) -> ColorRole {
        ColorRole::Border
    }

    fn handle_event(&mut self, _event: &OverlayEvent<'_>) -> OverlayOutcome {
        OverlayOutcome::Stay
    }
}
