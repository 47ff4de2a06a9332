//! The classification of entries: kind, role, reason and flags.

/// The kind of an entry. The kinds after `Usage` are specific to Osier. On disk most of them are `custom` entries of pi (see
/// `docs/session-format.md`), so that pi handles them correctly.
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

    /// The name in JSON output. On disk, Osier's own kinds use their `custom_type` instead.
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

    /// The `customType` on disk, for Osier's own kinds.
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

    /// The kind with this name in JSON output, if it is one of Osier's own.
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

    /// Whether the entry is about the session and not part of the conversation. A mark written by a client with an outdated
    /// view must not move the leaf.
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

    /// Whether the entry can change what is sent to a model. Two leaves whose paths differ only in other kinds are the same
    /// place.
    pub fn reaches_context(self) -> bool {
        !(self.is_mark() || matches!(self, Kind::Custom | Kind::Leaf))
    }

    /// Whether the entry points at another one.
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

    /// Whether the fold reads the body of the line. For all other kinds the head is enough.
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

/// The role of a message. `None` for entries that are not messages.
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
            // Other programs write `tool`.
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

/// The reason of an entry: why the assistant stopped, or why the leaf moved.
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

/// The flags of an entry, one bit each.
pub mod flag {
    /// The id is not eight bytes long, so the head has only its hash.
    pub const LONG_ID: u8 = 1;
    /// The message has text other than white space.
    pub const HAS_TEXT: u8 = 1 << 1;
    /// The message's `content` is null or absent.
    pub const NO_CONTENT: u8 = 1 << 2;
    /// `display: false`.
    pub const NOT_SHOWN: u8 = 1 << 3;
    /// `inContext: false`.
    pub const NOT_SENT: u8 = 1 << 4;
    /// The parent is not in the log.
    pub const ORPHAN: u8 = 1 << 5;
    /// The ancestors form a cycle, which was broken at this entry.
    pub const CUT: u8 = 1 << 6;
    /// A later line with the same id replaces this one.
    pub const SUPERSEDED: u8 = 1 << 7;
}
