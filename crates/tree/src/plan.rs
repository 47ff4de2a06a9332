//! Plans: pure functions that check a request against the tree and return the one entry that carries it out.

use serde_json::{Map, Value, json};

use crate::draft::{DraftParent, EntryDraft};
use crate::entry::{EntryKind, MessageRole, flag};
use crate::error_code::ErrorCode;
use crate::fold::{Checkpoint, Place, SessionTree};
use crate::heads::Seq;
use crate::marks::RUNNING;
use crate::projection::context::with_field;
use crate::projection::settings::expected_if_invalid;
use crate::scan::RawJson;
use crate::short_ids::has_prefix;

/// Why a request cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("no entry {id} in this session")]
    NotFound { id: String },
    #[error("{prefix} is ambiguous: it could mean {}; give more characters", format_candidates(ids))]
    Ambiguous { prefix: String, ids: Vec<String> },
    #[error("entry {id} is in a deleted branch")]
    Hidden { id: String },
    #[error("there is no move to undo")]
    NothingToUndo,
    #[error("there is no move to redo")]
    NothingToRedo,
    #[error("entry {id} is not the start of a deleted branch")]
    NotDeleted { id: String },
    #[error("entry {id} is already deleted")]
    AlreadyDeleted { id: String },
    #[error("entry {id} is finished, and a finished entry never changes")]
    EntryImmutable { id: String },
    #[error("cannot use entry {id} here: it is not on the path to the leaf")]
    NotOnPath { id: String },
    #[error("cannot edit entry {id}: it has no content that is sent to the model")]
    NotEditable { id: String },
    #[error("not a valid entry: {reason}")]
    NotAnEntry { reason: &'static str },
    #[error("{what} must not be empty")]
    Empty { what: &'static str },
    #[error("the setting {key:?} must be {expected}, not {value}")]
    WrongSetting { key: String, expected: &'static str, value: String },
    #[error("a turn is running in this session; wait until it ends, or stop it")]
    SessionBusy,
    #[error("the session has moved to {id}; check it, then try again")]
    LeafChanged { id: String },
    #[error("entry {id} calls tools that have no result")]
    IncompleteToolBatch { id: String },
    /// The model reads this error and the next one.
    #[error("Invalid checkpoint {number}, available: {available}")]
    InvalidCheckpoint { number: i64, available: String },
    #[error(
        "Already returned to checkpoint {number} {times} times, with no file change and no user message since then. \
         Continue from here, or ask the user"
    )]
    TooManyReturns { number: usize, times: usize },
    #[error("cannot graft {id}: it is already on the current path; choose the end of another branch")]
    NothingToGraft { id: String },
}

impl PlanError {
    /// The machine-readable code.
    pub fn code(&self) -> ErrorCode {
        match self {
            PlanError::NotFound { .. } => ErrorCode::EntryNotFound,
            PlanError::Ambiguous { .. } => ErrorCode::EntryAmbiguous,
            PlanError::Hidden { .. } => ErrorCode::EntryHidden,
            PlanError::NothingToUndo => ErrorCode::NothingToUndo,
            PlanError::NothingToRedo => ErrorCode::NothingToRedo,
            PlanError::NotDeleted { .. } => ErrorCode::NotDeleted,
            PlanError::AlreadyDeleted { .. } => ErrorCode::AlreadyDeleted,
            PlanError::EntryImmutable { .. } => ErrorCode::EntryImmutable,
            PlanError::NotOnPath { .. } => ErrorCode::NotOnPath,
            PlanError::NotEditable { .. } => ErrorCode::NotEditable,
            PlanError::NotAnEntry { .. } => ErrorCode::NotAnEntry,
            PlanError::Empty { .. } => ErrorCode::Empty,
            PlanError::WrongSetting { .. } => ErrorCode::WrongSetting,
            PlanError::SessionBusy => ErrorCode::SessionBusy,
            PlanError::LeafChanged { .. } => ErrorCode::LeafChanged,
            PlanError::IncompleteToolBatch { .. } => ErrorCode::IncompleteToolBatch,
            PlanError::InvalidCheckpoint { .. } => ErrorCode::InvalidCheckpoint,
            PlanError::TooManyReturns { .. } => ErrorCode::TooManyReturns,
            PlanError::NothingToGraft { .. } => ErrorCode::NothingToGraft,
        }
    }

    /// What programs need to know in addition to the code: an object whose fields `docs/json.md` lists.
    pub fn fields(&self) -> Value {
        match self {
            PlanError::NotFound { id }
            | PlanError::Hidden { id }
            | PlanError::NotDeleted { id }
            | PlanError::AlreadyDeleted { id }
            | PlanError::EntryImmutable { id }
            | PlanError::NotOnPath { id }
            | PlanError::NotEditable { id }
            | PlanError::IncompleteToolBatch { id }
            | PlanError::NothingToGraft { id } => json!({ "entry": id }),
            PlanError::Ambiguous { ids, .. } => json!({ "entries": ids }),
            PlanError::LeafChanged { id } => json!({ "leaf": id }),
            _ => json!({}),
        }
    }
}

impl SessionTree {
    /// Finds an entry by its exact id.
    pub fn require(&self, id: &str) -> Result<Seq, PlanError> {
        self.find(id).ok_or_else(|| PlanError::NotFound { id: id.to_owned() })
    }

    /// Finds the entry that a user names: by its id or by a unique prefix of it, ignoring case. For ids that come from
    /// programs use [`SessionTree::require`].
    pub fn resolve(&self, word: &str) -> Result<Seq, PlanError> {
        if let Some(seq) = self.find(word) {
            return Ok(seq);
        }
        let is_current = |seq: &Seq| !self.head(*seq).has_flag(flag::SUPERSEDED);
        let has_word = |seq: &Seq| !word.is_empty() && has_prefix(self.id(*seq).as_str(), word);
        let all = || self.heads().iter().map(|(seq, _)| seq).filter(is_current).filter(has_word);
        let is_exact = |seq: &Seq| self.id(*seq).as_str().len() == word.len();
        let mut found = all();
        match (found.next(), found.next()) {
            (None, _) => Err(PlanError::NotFound { id: word.to_owned() }),
            (Some(seq), None) => Ok(seq),
            _ => all().find(is_exact).ok_or_else(|| PlanError::Ambiguous {
                prefix: word.to_owned(),
                ids: all().map(|seq| self.id(seq).to_string()).collect(),
            }),
        }
    }

    /// Finds an entry that is not in a deleted branch.
    pub fn require_visible(&self, id: &str) -> Result<Seq, PlanError> {
        let seq = self.require(id)?;
        if self.is_hidden(seq) { Err(PlanError::Hidden { id: id.to_owned() }) } else { Ok(seq) }
    }

    /// Plans a message below a place. `message` is a JSON object; the role `tool` becomes `toolResult`.
    pub fn plan_message(&self, at: Place, message: RawJson<'_>) -> Result<EntryDraft, PlanError> {
        if !message.is_object() {
            return Err(PlanError::NotAnEntry { reason: "a message must be a JSON object" });
        }
        require_role(message)?;
        let renamed = with_tool_result_role(message);
        let message = renamed.as_deref().unwrap_or(message.bytes());
        Ok(EntryDraft::new(EntryKind::Message, DraftParent::At(at)).with_raw("message", message))
    }

    /// Plans any entry, given as a JSON object. Its ids are checked as in the typed plans.
    pub fn plan_entry(&self, at: Option<Place>, object: RawJson<'_>) -> Result<EntryDraft, PlanError> {
        let line = with_field(object, "id", b"\"0\"");
        let entry = crate::entry::parse_entry(&line)
            .map_err(|_| PlanError::NotAnEntry { reason: "it must be a JSON object with a `type`" })?;
        if object.get("type").is_none_or(|kind| !kind.is_string()) {
            return Err(PlanError::NotAnEntry { reason: "it has no `type`" });
        }
        if entry.kind == EntryKind::Message && entry.message.is_none() {
            return Err(PlanError::NotAnEntry { reason: "a message entry needs a `message`" });
        }
        // An entry that already exists was allowed before. The writer checks whether it is the same one.
        let already_exists =
            object.get("id").and_then(RawJson::text).is_some_and(|id| self.find(&id).is_some());
        if let Some(message) = entry.message.filter(|_| entry.kind == EntryKind::Message && !already_exists) {
            require_role(message)?;
        }
        match (entry.kind, entry.target.as_deref()) {
            (EntryKind::Label | EntryKind::ContextEdit, Some(target)) if !already_exists => {
                self.require_visible(target)?;
            }
            (
                EntryKind::Label
                | EntryKind::ContextEdit
                | EntryKind::DeleteBranch
                | EntryKind::RestoreBranch,
                Some(target),
            ) => {
                self.require(target)?;
            }
            _ => {}
        }
        if entry.kind == EntryKind::EntryUpdate && !already_exists {
            let status = entry.get("data").and_then(|data| data.get("status")).and_then(RawJson::text);
            let target = entry.target.as_deref().unwrap_or_default();
            self.check_update(target, status.as_deref().unwrap_or_default())?;
        }
        if entry.kind == EntryKind::Config && !already_exists {
            check_settings(&entry)?;
        }
        let parent = match (entry.kind, &entry.target) {
            _ if already_exists => at.map_or(DraftParent::CurrentLeaf, DraftParent::At),
            // Its parent decides whether the leaf stays inside the deleted branch.
            (EntryKind::DeleteBranch, Some(target)) if at.is_none() => {
                self.plan_delete_branch(target)?.parent
            }
            (EntryKind::DeleteBranch | EntryKind::RestoreBranch, None) => {
                return Err(PlanError::NotAnEntry { reason: "it needs a `targetId`" });
            }
            (EntryKind::Leaf, _) if at.is_none() => {
                return Err(PlanError::NotAnEntry {
                    reason: "it needs a `parentId`: the place to move to, or null",
                });
            }
            _ => at.map_or(DraftParent::CurrentLeaf, DraftParent::At),
        };
        let message = entry.message.and_then(with_tool_result_role);
        match message.map(|message| with_field(object, "message", &message)) {
            None => Ok(EntryDraft::from_object(entry.kind, parent, object)),
            Some(renamed) => {
                let renamed = RawJson::parse(&renamed)
                    .map_err(|_| PlanError::NotAnEntry { reason: "it is not JSON" })?;
                Ok(EntryDraft::from_object(entry.kind, parent, renamed))
            }
        }
    }

    pub fn plan_model_change(&self, at: Place, provider: &str, model: &str) -> Result<EntryDraft, PlanError> {
        if provider.is_empty() || model.is_empty() {
            return Err(PlanError::Empty { what: "provider and model" });
        }
        Ok(EntryDraft::new(EntryKind::ModelChange, DraftParent::At(at))
            .with("provider", provider)
            .with("modelId", model))
    }

    pub fn plan_thinking_level(&self, at: Place, level: &str) -> Result<EntryDraft, PlanError> {
        if level.is_empty() {
            return Err(PlanError::Empty { what: "the thinking level" });
        }
        Ok(EntryDraft::new(EntryKind::ThinkingLevelChange, DraftParent::At(at)).with("thinkingLevel", level))
    }

    /// Labels an entry; an empty label removes it.
    pub fn plan_label(&self, target: &str, label: Option<&str>) -> Result<EntryDraft, PlanError> {
        self.require_visible(target)?;
        let draft = EntryDraft::new(EntryKind::Label, DraftParent::CurrentLeaf).with("targetId", target);
        Ok(match label.map(one_line).filter(|label| !label.is_empty()) {
            Some(label) => draft.with("label", &label),
            None => draft,
        })
    }

    /// Names the session; an empty name removes it.
    pub fn plan_name(&self, name: &str) -> EntryDraft {
        EntryDraft::new(EntryKind::SessionInfo, DraftParent::CurrentLeaf).with("name", &one_line(name))
    }

    /// Changes individual settings of the session.
    pub fn plan_config(&self, set: &Map<String, Value>, unset: &[String]) -> Result<EntryDraft, PlanError> {
        if set.is_empty() && unset.is_empty() {
            return Err(PlanError::Empty { what: "a change of settings" });
        }
        set.iter().try_for_each(|(key, value)| check_setting(key, value))?;
        Ok(EntryDraft::new(EntryKind::Config, DraftParent::CurrentLeaf)
            .with_value("data", &json!({ "set": set, "unset": unset })))
    }

    /// Moves the leaf. `None` if it is already at `to`.
    pub fn plan_move(&self, from: Place, to: Place) -> Option<EntryDraft> {
        (!self.same_place(from, to)).then(|| self.move_entry(from, to, "move"))
    }

    fn move_entry(&self, from: Place, to: Place, reason: &str) -> EntryDraft {
        let from = from.map(|seq| self.id(seq).to_string());
        EntryDraft::new(EntryKind::Leaf, DraftParent::At(to))
            .with_value("data", &json!({ "fromId": from, "why": reason }))
    }

    pub fn plan_undo(&self, from: Place, to: Option<Place>) -> Result<EntryDraft, PlanError> {
        to.map(|to| self.move_entry(from, to, "undo")).ok_or(PlanError::NothingToUndo)
    }

    pub fn plan_redo(&self, from: Place, to: Option<Place>) -> Result<EntryDraft, PlanError> {
        to.map(|to| self.move_entry(from, to, "redo")).ok_or(PlanError::NothingToRedo)
    }

    /// Starts the branch of a try.
    pub fn plan_explore_try(&self, at: Place, data: &Value) -> EntryDraft {
        EntryDraft::new(EntryKind::ExploreTry, DraftParent::At(at)).with_value("data", data)
    }

    /// Hides an entry and everything below it. If the leaf is inside, the same entry moves it out.
    pub fn plan_delete_branch(&self, first: &str) -> Result<EntryDraft, PlanError> {
        let seq = self.require(first)?;
        if self.is_hidden(seq) {
            return Err(PlanError::AlreadyDeleted { id: first.to_owned() });
        }
        let inside = self.heads().is_ancestor(seq, self.leaf());
        let parent = if inside { DraftParent::At(self.head(seq).parent) } else { DraftParent::CurrentLeaf };
        Ok(EntryDraft::new(EntryKind::DeleteBranch, parent).with_value("data", &json!({ "targetId": first })))
    }

    pub fn plan_restore_branch(&self, first: &str) -> Result<EntryDraft, PlanError> {
        self.require(first)?;
        if !self.marks().is_deleted(first) {
            return Err(PlanError::NotDeleted { id: first.to_owned() });
        }
        Ok(EntryDraft::new(EntryKind::RestoreBranch, DraftParent::CurrentLeaf)
            .with_value("data", &json!({ "targetId": first })))
    }

    /// Adds a summary of the branch that ends at `from` below `at`, which also moves the leaf there.
    pub fn plan_branch_summary(
        &self,
        at: Place,
        from: Place,
        summary: &str,
        extra: &Map<String, Value>,
    ) -> EntryDraft {
        let from = from.map_or_else(|| "root".to_owned(), |seq| self.id(seq).to_string());
        let draft = EntryDraft::new(EntryKind::BranchSummary, DraftParent::At(at))
            .with("fromId", &from)
            .with("summary", summary);
        with_fields(draft, extra)
    }

    /// Replaces everything on the path before `first_kept` with a summary.
    pub fn plan_compaction(
        &self,
        at: Place,
        summary: &str,
        first_kept: &str,
        tokens_before: u64,
        extra: &Map<String, Value>,
    ) -> Result<EntryDraft, PlanError> {
        let kept = self.require(first_kept)?;
        if !self.heads().is_ancestor(kept, at) {
            return Err(PlanError::NotOnPath { id: first_kept.to_owned() });
        }
        let draft = EntryDraft::new(EntryKind::Compaction, DraftParent::At(at))
            .with("summary", summary)
            .with("firstKeptEntryId", first_kept)
            .with_value("tokensBefore", &json!(tokens_before));
        Ok(with_fields(draft, extra))
    }

    /// Omits (`None`) or replaces the content of an earlier entry on the path in the model's context.
    pub fn plan_context_edit(
        &self,
        at: Place,
        target: &str,
        content: Option<&Value>,
    ) -> Result<EntryDraft, PlanError> {
        let seq = self.require(target)?;
        if !self.heads().is_ancestor(seq, at) {
            return Err(PlanError::NotOnPath { id: target.to_owned() });
        }
        let head = self.head(seq);
        let has_content =
            matches!(head.role, MessageRole::User | MessageRole::Assistant | MessageRole::ToolResult)
                || head.kind == EntryKind::CustomMessage;
        if !has_content {
            return Err(PlanError::NotEditable { id: target.to_owned() });
        }
        let replacement = match content {
            None => Value::Null,
            Some(Value::String(text))
                if matches!(head.role, MessageRole::Assistant | MessageRole::ToolResult) =>
            {
                json!({ "content": [{ "type": "text", "text": text }] })
            }
            Some(content) => json!({ "content": content }),
        };
        Ok(EntryDraft::new(EntryKind::ContextEdit, DraftParent::At(at))
            .with("targetId", target)
            .with_value("replacement", &replacement))
    }

    pub fn plan_custom(&self, at: Place, custom_type: &str, data: Option<&Value>) -> EntryDraft {
        let draft = EntryDraft::new(EntryKind::Custom, DraftParent::At(at)).with("customType", custom_type);
        match data {
            Some(data) => draft.with_value("data", data),
            None => draft,
        }
    }

    pub fn plan_custom_message(
        &self,
        at: Place,
        custom_type: &str,
        content: &Value,
        display: bool,
        details: Option<&Value>,
    ) -> EntryDraft {
        let draft = EntryDraft::new(EntryKind::CustomMessage, DraftParent::At(at))
            .with("customType", custom_type)
            .with_value("content", content)
            .with_value("display", &json!(display));
        match details {
            Some(details) => draft.with_value("details", details),
            None => draft,
        }
    }

    /// Returns to a checkpoint with a note. One entry is enough: appending below the checkpoint moves the leaf.
    /// `addendum` lists what remains true outside the conversation.
    pub fn plan_backtrack(
        &self,
        from: Place,
        to: Checkpoint,
        note: &str,
        addendum: &str,
        original: &str,
    ) -> EntryDraft {
        let discarded = self.heads().ancestors(from).take_while(|seq| *seq != to.entry);
        let discarded = discarded.filter(|seq| self.head(*seq).is_message()).count();
        let text =
            [note, addendum].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
        // The text must not close the `<system>` tag or look like a checkpoint.
        let text = text.replace("<system>", "[system]").replace("</system>", "[/system]");
        let details = json!({
            "checkpointId": to.number,
            "note": note,
            "addendum": addendum,
            "fromId": from.map(|seq| self.id(seq).to_string()),
            "originalUserMessage": original,
            "discarded": discarded,
        });
        EntryDraft::new(EntryKind::Backtrack, DraftParent::At(Some(to.entry)))
            .with("content", &format!("<system>Note from your future self: {text}</system>"))
            .with_value("display", &json!(true))
            .with_value("details", &details)
    }

    fn check_update(&self, target: &str, status: &str) -> Result<(), PlanError> {
        let seq = self.require(target)?;
        let open = self.head(seq).kind == EntryKind::SubagentBatch && !self.marks().has_ended(target);
        match open && matches!(status, RUNNING | "completed" | "failed" | "cancelled") {
            true => Ok(()),
            false => Err(PlanError::EntryImmutable { id: target.to_owned() }),
        }
    }

    /// Tells how far a running batch of sub-agents is, or how it ended. It is the only entry that can change.
    pub fn plan_entry_update(
        &self,
        target: &str,
        status: &str,
        payload: &Value,
    ) -> Result<EntryDraft, PlanError> {
        self.check_update(target, status)?;
        let data = json!({ "targetId": target, "status": status, "payload": payload });
        Ok(EntryDraft::new(EntryKind::EntryUpdate, DraftParent::CurrentLeaf).with_value("data", &data))
    }
}

/// Lists the first ids, and the number of the others.
fn format_candidates(ids: &[String]) -> String {
    const SHOWN: usize = 10;
    let shown = ids.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match ids.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// A message with the role `tool`, which other programs use, changed to `toolResult`. `None` for other roles.
fn with_tool_result_role(message: RawJson<'_>) -> Option<Vec<u8>> {
    let is_tool = message.get("role").and_then(RawJson::text).as_deref() == Some("tool");
    is_tool.then(|| with_field(message, "role", b"\"toolResult\""))
}

/// Rejects a message that does not say whose it is. Roles that are not known are allowed.
fn require_role(message: RawJson<'_>) -> Result<(), PlanError> {
    match message.get("role").and_then(RawJson::text) {
        Some(role) if !role.is_empty() => Ok(()),
        _ => Err(PlanError::NotAnEntry { reason: "a message needs a `role`, for example `user`" }),
    }
}

/// Rejects a `config` entry with an invalid value.
fn check_settings(entry: &crate::entry::Entry<'_>) -> Result<(), PlanError> {
    let mut checked = Ok(());
    if let Some(set) = entry.get("data").and_then(|data| data.get("set")) {
        set.each_field(|key, value| {
            let value = serde_json::from_slice(value.bytes()).unwrap_or_default();
            checked = checked.clone().and_then(|()| check_setting(key, &value));
        });
    }
    checked
}

fn check_setting(key: &str, value: &Value) -> Result<(), PlanError> {
    match expected_if_invalid(key, value) {
        None => Ok(()),
        Some(expected) => {
            Err(PlanError::WrongSetting { key: key.to_owned(), expected, value: value.to_string() })
        }
    }
}

fn with_fields(draft: EntryDraft, extra: &Map<String, Value>) -> EntryDraft {
    extra.iter().fold(draft, |draft, (key, value)| draft.with_value(key, value))
}

fn one_line(text: &str) -> String {
    text.split(['\r', '\n']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ").trim().to_owned()
}
