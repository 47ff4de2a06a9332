//! The words for entries: what kind one is, who speaks in it, why it ends, and its yes-or-no facts.

/// What an entry is. The kinds below `Usage` are Osier's own; on disk most of them are pi's `custom` (see
/// `docs/session-format.md`), so that pi shows and sends the right thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    Unknown,
    Message,
    ModelChange,
    ThinkingLevelChange,
    Compaction,
    BranchSummary,
    Custom,
    CustomMessage,
    Label,
    SessionInfo,
    ContextEdit,
    Usage,
    Leaf,
    Backtrack,
    Config,
    DeleteBranch,
    RestoreBranch,
    EntryUpdate,
    SubagentBatch,
    SubagentResult,
}

impl Kind {
    pub const ALL: [Kind; 20] = [
        Kind::Unknown,
        Kind::Message,
        Kind::ModelChange,
        Kind::ThinkingLevelChange,
        Kind::Compaction,
        Kind::BranchSummary,
        Kind::Custom,
        Kind::CustomMessage,
        Kind::Label,
        Kind::SessionInfo,
        Kind::ContextEdit,
        Kind::Usage,
        Kind::Leaf,
        Kind::Backtrack,
        Kind::Config,
        Kind::DeleteBranch,
        Kind::RestoreBranch,
        Kind::EntryUpdate,
        Kind::SubagentBatch,
        Kind::SubagentResult,
    ];

    /// The word for this kind in JSON output. On disk Osier's own kinds are spelled as [`Kind::custom_type`] says.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Unknown => "unknown",
            Kind::Message => "message",
            Kind::ModelChange => "model_change",
            Kind::ThinkingLevelChange => "thinking_level_change",
            Kind::Compaction => "compaction",
            Kind::BranchSummary => "branch_summary",
            Kind::Custom => "custom",
            Kind::CustomMessage => "custom_message",
            Kind::Label => "label",
            Kind::SessionInfo => "session_info",
            Kind::ContextEdit => "context_edit",
            Kind::Usage => "usage",
            Kind::Leaf => "leaf",
            Kind::Backtrack => "backtrack",
            Kind::Config => "config",
            Kind::DeleteBranch => "delete_branch",
            Kind::RestoreBranch => "restore_branch",
            Kind::EntryUpdate => "entry_update",
            Kind::SubagentBatch => "subagent_batch",
            Kind::SubagentResult => "subagent_result",
        }
    }

    /// The `customType` under which a kind of Osier's own lies in the file.
    pub fn custom_type(self) -> Option<&'static str> {
        Some(match self {
            Kind::Leaf => "osier.leaf",
            Kind::Backtrack => "osier.backtrack",
            Kind::Config => "osier.config",
            Kind::DeleteBranch => "osier.delete_branch",
            Kind::RestoreBranch => "osier.restore_branch",
            Kind::EntryUpdate => "osier.entry_update",
            _ => return None,
        })
    }

    /// The kind of Osier's own with this name in JSON output.
    pub(crate) fn own(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.custom_type().is_some() && kind.name() == name)
    }

    pub(crate) fn read(kind: &str, custom_type: &str) -> Kind {
        let of_type = |wanted: &[Kind], otherwise| {
            wanted.iter().copied().find(|kind| kind.custom_type() == Some(custom_type)).unwrap_or(otherwise)
        };
        match kind {
            "message" => Kind::Message,
            "model_change" => Kind::ModelChange,
            "thinking_level_change" => Kind::ThinkingLevelChange,
            "compaction" => Kind::Compaction,
            "branch_summary" => Kind::BranchSummary,
            "custom" => of_type(
                &[Kind::Leaf, Kind::Config, Kind::DeleteBranch, Kind::RestoreBranch, Kind::EntryUpdate],
                Kind::Custom,
            ),
            "custom_message" => of_type(&[Kind::Backtrack], Kind::CustomMessage),
            "label" => Kind::Label,
            "session_info" => Kind::SessionInfo,
            "context_edit" => Kind::ContextEdit,
            "usage" => Kind::Usage,
            "subagent_batch" => Kind::SubagentBatch,
            "subagent_result" => Kind::SubagentResult,
            _ => Kind::Unknown,
        }
    }

    /// About the session, not in the conversation: written by a stale window it must move nobody.
    pub fn is_mark(self) -> bool {
        matches!(
            self,
            Kind::Label
                | Kind::SessionInfo
                | Kind::Usage
                | Kind::Config
                | Kind::DeleteBranch
                | Kind::RestoreBranch
                | Kind::EntryUpdate
        )
    }

    /// May change what a model is sent. Two leaves whose paths differ only in other kinds are the same place.
    pub fn reaches_context(self) -> bool {
        !(self.is_mark() || matches!(self, Kind::Custom | Kind::Leaf))
    }

    /// Such an entry points at another one.
    pub fn has_target(self) -> bool {
        matches!(
            self,
            Kind::Compaction
                | Kind::ContextEdit
                | Kind::Label
                | Kind::DeleteBranch
                | Kind::RestoreBranch
                | Kind::EntryUpdate
        )
    }

    /// The fold reads the body of such a line; of all others the head is enough.
    pub fn folds_body(self) -> bool {
        matches!(
            self,
            Kind::Label
                | Kind::SessionInfo
                | Kind::Config
                | Kind::DeleteBranch
                | Kind::RestoreBranch
                | Kind::EntryUpdate
        )
    }
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Role {
    None,
    User,
    Assistant,
    ToolResult,
    BashExecution,
    Custom,
    System,
    Unknown,
}

impl Role {
    pub const ALL: [Role; 8] = [
        Role::None,
        Role::User,
        Role::Assistant,
        Role::ToolResult,
        Role::BashExecution,
        Role::Custom,
        Role::System,
        Role::Unknown,
    ];

    pub fn read(role: &str) -> Role {
        match role {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            // Other programs say `tool`.
            "toolResult" | "tool" => Role::ToolResult,
            "bashExecution" => Role::BashExecution,
            "custom" | "hookMessage" => Role::Custom,
            "system" => Role::System,
            _ => Role::Unknown,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Role::None => "",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::ToolResult => "toolResult",
            Role::BashExecution => "bashExecution",
            Role::Custom => "custom",
            Role::System => "system",
            Role::Unknown => "unknown",
        }
    }
}

/// One more fact about an entry: why an assistant stopped, or why a leaf moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Why {
    None,
    Stop,
    Length,
    ToolUse,
    Error,
    Aborted,
    Move,
    Undo,
    Redo,
}

impl Why {
    pub const ALL: [Why; 9] = [
        Why::None,
        Why::Stop,
        Why::Length,
        Why::ToolUse,
        Why::Error,
        Why::Aborted,
        Why::Move,
        Why::Undo,
        Why::Redo,
    ];

    pub(crate) fn of_stop(reason: &str) -> Why {
        match reason {
            "stop" => Why::Stop,
            "length" => Why::Length,
            "toolUse" => Why::ToolUse,
            "error" => Why::Error,
            "aborted" => Why::Aborted,
            _ => Why::None,
        }
    }
}

/// Yes-or-no facts about an entry, a bit each.
pub mod flag {
    /// The id is not eight bytes long, so the head holds only its hash.
    pub const LONG_ID: u8 = 1;
    /// The message has text other than white space.
    pub const HAS_TEXT: u8 = 1 << 1;
    /// The message's `content` is null or absent.
    pub const NO_CONTENT: u8 = 1 << 2;
    /// `display: false`.
    pub const NOT_SHOWN: u8 = 1 << 3;
    /// `inContext: false`.
    pub const NOT_SENT: u8 = 1 << 4;
    /// It names a parent that the log does not have.
    pub const ORPHAN: u8 = 1 << 5;
    /// Its parents run in a circle, and this is where the circle was cut.
    pub const CUT: u8 = 1 << 6;
    /// A later line has the same id and counts instead.
    pub const SUPERSEDED: u8 = 1 << 7;
}
