//! Queries: what a client reads of a session when it needs it. They change nothing.

use osier_model::ThinkingLevel;
use osier_tools::approvals::ApprovalMode;
use osier_tree::projection::card::Card;
use osier_tree::projection::compare::Comparison;
use osier_tree::projection::outline::OutlineFilter;
use osier_tree::projection::subagents::SubagentProjection;
use osier_tree::projection::usage::UsageReport;
use osier_tree::tokens::TokenCount;
use osier_tree::{EntryId, EntryLine, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::client::LogPosition;
use crate::explore::{ExploreReport, TryComparison};
use crate::tree_snapshot::TreeSnapshot;

/// A question about a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SessionQuery {
    /// The end of the path, as a transcript shows it.
    Path {
        /// At most this many entries.
        #[serde(default)]
        limit: Option<usize>,
    },
    Entry {
        id: EntryId,
    },
    /// The first page of all entries, or of those that were stored after one of them.
    Entries {
        #[serde(default)]
        after: Option<EntryId>,
    },
    /// The messages at the current position, as pi's `buildSessionContext` returns them.
    Context,
    /// The number of those messages.
    MessageCount,
    /// The last reply on the path that has text.
    LastReply,
    /// The nearest message at or above an entry, which tells people where it is.
    Landmark {
        id: Option<EntryId>,
    },
    /// The whole tree, for a tree view.
    Tree,
    /// Like `Tree`, but in a long session only the rows around an entry have previews: enough to show them before the whole log
    /// is read.
    FirstRows {
        /// What the tree view shows.
        #[serde(default)]
        filter: OutlineFilter,
        /// The entry; without one, the leaf.
        #[serde(default)]
        around: Option<EntryId>,
    },
    /// What a status line shows.
    Status,
    /// Whether commands of the model run in a sandbox.
    Sandbox,
    /// The models that the session can use now.
    Models,
    /// The model in use and those that the session can use, with their properties.
    ModelDetails,
    /// The templates and skills, which a prompt names as `/name`.
    Commands,
    /// The files below the working directory that version control does not ignore.
    Files {
        /// At most this many.
        limit: usize,
    },
    /// The agents that the model can delegate tasks to.
    Agents,
    /// The batches of sub-agents in this session, in log order.
    Subagents,
    /// The prompts that were tried several times in this session, oldest first.
    Explores,
    /// Two tries side by side. Without a name, those of the latest explore.
    CompareTries {
        #[serde(default)]
        explore: Option<String>,
        left: u32,
        right: u32,
    },
    /// The session as lists show it.
    Card,
    Usage,
    /// The entries whose text or label matches: all words of the query, `"a phrase"`, or `re:` and a regular expression.
    Search {
        query: String,
    },
    /// Compares two branches, each named by its last entry, a prefix of its id, or `root`.
    Compare {
        left: EntryId,
        right: EntryId,
    },
    /// The settings of the session.
    Settings,
    /// A compaction and what it dropped; without an entry, the last one on the path.
    Compaction {
        #[serde(default)]
        entry: Option<EntryId>,
    },
    /// The user's messages, newest first: a fork may start before each.
    ForkPoints {
        #[serde(default)]
        all_branches: bool,
    },
}

/// The answer to a query, in the variant of the same name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "an answer is handled at once, never kept")]
pub enum QueryAnswer {
    Path(PathAnswer),
    Entry(EntryAnswer),
    Entries(EntriesAnswer),
    Context {
        messages: Vec<Value>,
    },
    LastReply {
        reply: Option<EntryAnswer>,
    },
    Landmark(Landmark),
    Tree {
        tree: TreeSnapshot,
    },
    Status(SessionStatus),
    Sandbox {
        sandbox: SandboxStatus,
    },
    Models {
        models: Vec<String>,
    },
    ModelDetails(ModelDetails),
    Commands {
        commands: Vec<PromptCommand>,
    },
    Files {
        files: Vec<String>,
    },
    Agents {
        agents: Vec<AgentDescription>,
    },
    Subagents {
        batches: Vec<SubagentProjection>,
    },
    Explores {
        explores: Vec<ExploreReport>,
    },
    CompareTries(Box<TryComparison>),
    Card {
        card: Card,
    },
    Usage {
        usage: UsageReport,
    },
    /// In the order of the log, without those of deleted branches.
    Search {
        ids: Vec<EntryId>,
    },
    Compare {
        comparison: Comparison,
    },
    Settings {
        settings: Map<String, Value>,
    },
    Compaction(CompactionDetails),
    ForkPoints {
        points: Vec<ForkPoint>,
    },
    MessageCount {
        messages: usize,
    },
}

/// The last entries of a path.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PathAnswer {
    /// Oldest first. A batch of sub-agents has the status of its latest update.
    pub entries: Vec<EntryLine>,
    /// The number of entries above them, of all kinds; 0 if none of those is shown in a conversation.
    pub hidden_entries: usize,
    pub leaf_id: Option<EntryId>,
    /// The end of the log when the path was read. Events report later entries.
    pub position: LogPosition,
    /// The last turn on the path did not finish.
    #[serde(default)]
    pub unfinished_turn: bool,
}

/// A page of entries, in the order in which they were stored.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntriesAnswer {
    pub entries: Vec<EntryLine>,
    pub leaf_id: Option<EntryId>,
    /// The `after` of the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<EntryId>,
}

/// A complete entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EntryAnswer {
    pub entry: EntryLine,
    /// Its text, as a person copies it.
    pub text: String,
}

/// A message that tells people where an entry is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Landmark {
    pub kind: LandmarkKind,
    /// One line.
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LandmarkKind {
    /// Before the first message.
    Start,
    UserMessage,
    Reply,
    BranchSummary,
    Compaction,
    /// The note that a model left itself at a checkpoint.
    Note,
}

/// What a status line shows about a session. It has many fields because a client reads all of them with one query.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionStatus {
    pub id: SessionId,
    /// The shortest prefix of the id that is unique in its store.
    pub short_id: String,
    pub name: Option<String>,
    pub store: String,
    /// The full name of the model in use.
    pub model: String,
    pub thinking: ThinkingLevel,
    /// `None` if the session has a mode that this version does not know.
    pub approval_mode: Option<ApprovalMode>,
    /// The tokens of the current context.
    pub context: TokenCount,
    /// The context window of the model, in tokens.
    pub context_window: u64,
    pub cost: f64,
    /// The number of entries on the path.
    pub depth: usize,
    /// The number of tips in the tree.
    pub tips: usize,
    pub has_messages: bool,
    /// The session that this one was forked from.
    pub parent_session_id: Option<SessionId>,
    /// The session that delegated a task to this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_of: Option<SessionId>,
    /// The git branch of the working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_branch: Option<String>,
    /// The lines of the log that are not valid entries, for example after a crash. They are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub invalid_lines: usize,
}

impl SessionStatus {
    /// A warning if lines of the log are damaged.
    pub fn damage_note(&self) -> Option<String> {
        let lines = match self.invalid_lines {
            0 => return None,
            1 => "1 line of this session is damaged and left out".to_owned(),
            lines => format!("{lines} lines of this session are damaged and left out"),
        };
        Some(format!("{lines}; `osier sessions verify {}` lists the damage", self.short_id))
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The models of a session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelDetails {
    /// The model in use. It may be missing in `usable`, for example without a key.
    pub current: ModelDescription,
    pub usable: Vec<ModelDescription>,
    /// Whether the context is compacted when it is nearly full.
    pub automatic_compaction: bool,
}

/// A model and its properties.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelDescription {
    pub provider: String,
    pub id: String,
    pub name: String,
    /// The name of the wire protocol.
    pub api: String,
    /// Empty for the built-in model.
    pub base_url: String,
    pub images: bool,
    pub can_think: bool,
    /// The supported thinking levels in order.
    pub thinking_levels: Vec<ThinkingLevel>,
    /// The maximum of prompt and answer together, in tokens.
    pub context_window: u64,
    pub max_output: u64,
    /// In dollars per million tokens.
    pub price: ModelPrice,
}

/// The price of a model, in dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelPrice {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
}

/// A command of the user that is not built in: of an extension, a template or a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptCommand {
    /// Without the slash.
    pub name: String,
    pub description: String,
    #[serde(default)]
    pub source: CommandSource,
}

/// What a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandSource {
    /// A template.
    #[default]
    Prompt,
    Skill,
    Extension,
}

/// An agent that a model can delegate tasks to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AgentDescription {
    pub name: String,
    pub description: String,
    /// Its tools; `None` means all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Its model; `None` means the current one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The file that defines it; `None` if it is built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// Whether commands of the model run in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SandboxStatus {
    /// The settings disable it.
    #[default]
    Disabled,
    Active {
        protection: String,
    },
    Unavailable {
        reason: String,
    },
}

/// A compaction and what it dropped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionDetails {
    pub entry: EntryId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// The model that wrote the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub first_kept_entry_id: Option<EntryId>,
    pub tokens_before: TokenCount,
    pub tokens_after: TokenCount,
    /// The entries that the model got before and no longer gets, oldest first.
    pub dropped: Vec<DroppedEntry>,
    pub read_files: Vec<String>,
    pub modified_files: Vec<String>,
    pub summary: String,
}

/// An entry that a compaction dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DroppedEntry {
    pub id: EntryId,
    pub kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub role: String,
    /// One sanitized line.
    pub text: String,
}

/// A message of the user, before which a fork may start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForkPoint {
    pub id: EntryId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// What goes into the editor.
    pub text: String,
    /// One line for people.
    pub preview: String,
}
