//! The classification of entries: kind, role, reason and flags.

/// The kind of an entry. The kinds after `Usage` are specific to Osier. On disk most of them are `custom` entries of pi (see
/// `docs/session-format.md`), so that pi handles them correctly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum EntryKind {
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
    ExploreTry,
}

impl EntryKind {
    pub const ALL: [EntryKind; 21] = [
        EntryKind::Unknown,
        EntryKind::Message,
        EntryKind::ModelChange,
        EntryKind::ThinkingLevelChange,
        EntryKind::Compaction,
        EntryKind::BranchSummary,
        EntryKind::Custom,
        EntryKind::CustomMessage,
        EntryKind::Label,
        EntryKind::SessionInfo,
        EntryKind::ContextEdit,
        EntryKind::Usage,
        EntryKind::Leaf,
        EntryKind::Backtrack,
        EntryKind::Config,
        EntryKind::DeleteBranch,
        EntryKind::RestoreBranch,
        EntryKind::EntryUpdate,
        EntryKind::SubagentBatch,
        EntryKind::SubagentResult,
        EntryKind::ExploreTry,
    ];

    /// The name in JSON output. On disk, Osier's own kinds use their `custom_type` instead.
    pub fn name(self) -> &'static str {
        match self {
            EntryKind::Unknown => "unknown",
            EntryKind::Message => "message",
            EntryKind::ModelChange => "model_change",
            EntryKind::ThinkingLevelChange => "thinking_level_change",
            EntryKind::Compaction => "compaction",
            EntryKind::BranchSummary => "branch_summary",
            EntryKind::Custom => "custom",
            EntryKind::CustomMessage => "custom_message",
            EntryKind::Label => "label",
            EntryKind::SessionInfo => "session_info",
            EntryKind::ContextEdit => "context_edit",
            EntryKind::Usage => "usage",
            EntryKind::Leaf => "leaf",
            EntryKind::Backtrack => "backtrack",
            EntryKind::Config => "config",
            EntryKind::DeleteBranch => "delete_branch",
            EntryKind::RestoreBranch => "restore_branch",
            EntryKind::EntryUpdate => "entry_update",
            EntryKind::SubagentBatch => "subagent_batch",
            EntryKind::SubagentResult => "subagent_result",
            EntryKind::ExploreTry => "explore_try",
        }
    }

    /// The kind with this name in JSON output.
    pub fn from_name(name: &str) -> EntryKind {
        EntryKind::ALL.into_iter().find(|kind| kind.name() == name).unwrap_or(EntryKind::Unknown)
    }

    /// The `customType` on disk, for Osier's own kinds.
    pub fn custom_type(self) -> Option<&'static str> {
        Some(match self {
            EntryKind::Leaf => "osier.leaf",
            EntryKind::Backtrack => "osier.backtrack",
            EntryKind::Config => "osier.config",
            EntryKind::DeleteBranch => "osier.delete_branch",
            EntryKind::RestoreBranch => "osier.restore_branch",
            EntryKind::EntryUpdate => "osier.entry_update",
            EntryKind::ExploreTry => "osier.explore_try",
            _ => return None,
        })
    }

    /// The kind with this name in JSON output, if it is one of Osier's own.
    pub(crate) fn from_osier_name(name: &str) -> Option<EntryKind> {
        EntryKind::ALL.into_iter().find(|kind| kind.custom_type().is_some() && kind.name() == name)
    }

    pub(crate) fn parse(kind: &str, custom_type: &str) -> EntryKind {
        let of_type = |wanted: &[EntryKind], otherwise| {
            wanted.iter().copied().find(|kind| kind.custom_type() == Some(custom_type)).unwrap_or(otherwise)
        };
        match kind {
            "message" => EntryKind::Message,
            "model_change" => EntryKind::ModelChange,
            "thinking_level_change" => EntryKind::ThinkingLevelChange,
            "compaction" => EntryKind::Compaction,
            "branch_summary" => EntryKind::BranchSummary,
            "custom" => of_type(
                &[
                    EntryKind::Leaf,
                    EntryKind::Config,
                    EntryKind::DeleteBranch,
                    EntryKind::RestoreBranch,
                    EntryKind::EntryUpdate,
                    EntryKind::ExploreTry,
                ],
                EntryKind::Custom,
            ),
            "custom_message" => of_type(&[EntryKind::Backtrack], EntryKind::CustomMessage),
            "label" => EntryKind::Label,
            "session_info" => EntryKind::SessionInfo,
            "context_edit" => EntryKind::ContextEdit,
            "usage" => EntryKind::Usage,
            "subagent_batch" => EntryKind::SubagentBatch,
            "subagent_result" => EntryKind::SubagentResult,
            _ => EntryKind::Unknown,
        }
    }

    /// Whether the entry is about the session and not part of the conversation. A mark written by a client with an outdated
    /// view must not move the leaf.
    pub fn is_mark(self) -> bool {
        matches!(
            self,
            EntryKind::Label
                | EntryKind::SessionInfo
                | EntryKind::Usage
                | EntryKind::Config
                | EntryKind::DeleteBranch
                | EntryKind::RestoreBranch
                | EntryKind::EntryUpdate
        )
    }

    /// Whether the entry can change what is sent to a model. Two leaves whose paths differ only in other kinds are the same
    /// place.
    pub fn reaches_context(self) -> bool {
        !(self.is_mark() || matches!(self, EntryKind::Custom | EntryKind::Leaf))
    }

    /// Whether the entry points at another one.
    pub fn has_target(self) -> bool {
        matches!(
            self,
            EntryKind::Compaction
                | EntryKind::ContextEdit
                | EntryKind::Label
                | EntryKind::DeleteBranch
                | EntryKind::RestoreBranch
                | EntryKind::EntryUpdate
        )
    }

    /// Whether the fold reads the body of the line. For all other kinds the head is enough.
    pub fn folds_body(self) -> bool {
        matches!(
            self,
            EntryKind::Label
                | EntryKind::SessionInfo
                | EntryKind::Config
                | EntryKind::DeleteBranch
                | EntryKind::RestoreBranch
                | EntryKind::EntryUpdate
        )
    }
}

/// The role of a message. `None` for entries that are not messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MessageRole {
    None,
    User,
    Assistant,
    ToolResult,
    BashExecution,
    Custom,
    System,
    Unknown,
}

impl MessageRole {
    pub const ALL: [MessageRole; 8] = [
        MessageRole::None,
        MessageRole::User,
        MessageRole::Assistant,
        MessageRole::ToolResult,
        MessageRole::BashExecution,
        MessageRole::Custom,
        MessageRole::System,
        MessageRole::Unknown,
    ];

    pub fn parse(role: &str) -> MessageRole {
        match role {
            "user" => MessageRole::User,
            "assistant" => MessageRole::Assistant,
            // Other programs write `tool`.
            "toolResult" | "tool" => MessageRole::ToolResult,
            "bashExecution" => MessageRole::BashExecution,
            "custom" | "hookMessage" => MessageRole::Custom,
            "system" => MessageRole::System,
            _ => MessageRole::Unknown,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            MessageRole::None => "",
            MessageRole::User => "user",
            MessageRole::Assistant => "assistant",
            MessageRole::ToolResult => "toolResult",
            MessageRole::BashExecution => "bashExecution",
            MessageRole::Custom => "custom",
            MessageRole::System => "system",
            MessageRole::Unknown => "unknown",
        }
    }
}

/// The reason of an entry: why the assistant stopped, or why the leaf moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum EntryReason {
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

impl EntryReason {
    pub const ALL: [EntryReason; 9] = [
        EntryReason::None,
        EntryReason::Stop,
        EntryReason::Length,
        EntryReason::ToolUse,
        EntryReason::Error,
        EntryReason::Aborted,
        EntryReason::Move,
        EntryReason::Undo,
        EntryReason::Redo,
    ];

    /// The name in entries; empty for none.
    pub fn name(self) -> &'static str {
        match self {
            EntryReason::None => "",
            EntryReason::Stop => "stop",
            EntryReason::Length => "length",
            EntryReason::ToolUse => "toolUse",
            EntryReason::Error => "error",
            EntryReason::Aborted => "aborted",
            EntryReason::Move => "move",
            EntryReason::Undo => "undo",
            EntryReason::Redo => "redo",
        }
    }

    pub fn from_name(name: &str) -> EntryReason {
        EntryReason::ALL.into_iter().find(|reason| reason.name() == name).unwrap_or(EntryReason::None)
    }

    pub(crate) fn from_stop_reason(reason: &str) -> EntryReason {
        match reason {
            "stop" => EntryReason::Stop,
            "length" => EntryReason::Length,
            "toolUse" => EntryReason::ToolUse,
            "error" => EntryReason::Error,
            "aborted" => EntryReason::Aborted,
            _ => EntryReason::None,
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
    pub const CYCLE_BROKEN: u8 = 1 << 6;
    /// A later line with the same id replaces this one.
    pub const SUPERSEDED: u8 = 1 << 7;
}
