//! Operations on stored sessions, with the names of a NetaClaw session tree.

use std::path::Path;

use osier_engine::{
    ActivePath, AppendParent, CommitOutcome, EngineError, EntryPage, EntryPlacement, NewCompaction,
    SessionInit, SessionUpdate,
};
use osier_protocol::session_operation::{NewStoredSession, Placement, PropertyChanges, SessionOperation};
use osier_protocol::{JsonText, SessionRef};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::error::LocalEngineError;
use crate::local_engine::LocalEngine;
use crate::requests::MAX_REPLY;

/// The most entries in one page.
const MAX_PAGE: usize = 1000;
const DEFAULT_PAGE: usize = 100;

impl LocalEngine {
    pub(crate) async fn create_session(&self, new: NewStoredSession) -> Result<JsonText, LocalEngineError> {
        let home = self.home();
        let store = new.store.unwrap_or_else(|| home.default_store().to_owned());
        let directory = self.new_session_directory(new.cwd.as_deref())?;
        let cwd = new.cwd.unwrap_or_else(|| directory.to_string_lossy().into_owned());
        let sessions = self.engine().sessions(&store).ok_or(EngineError::StoreNotFound { store })?;
        let init = SessionInit { id: new.id, cwd, agent_id: new.agent_id, title: new.title };
        Ok(json_text(&sessions.create(init).await?))
    }

    pub(crate) async fn run_operation(
        &self,
        session: &SessionRef,
        operation: SessionOperation,
    ) -> Result<JsonText, LocalEngineError> {
        let session = self.engine().operations(self.stored_session(session).await?);
        let outcome = match operation {
            SessionOperation::GetSession => return Ok(json_text(&session.describe().await?)),
            SessionOperation::UpdateSession(changes) => {
                let PropertyChanges { title, status, cwd, agent_id, metadata } = changes;
                if let Some(cwd) = &cwd {
                    self.options.directories.check_new(Path::new(cwd))?;
                }
                let update = SessionUpdate { title, status, cwd, agent_id, metadata };
                return Ok(json_text(&session.update(update).await?));
            }
            SessionOperation::ListEntries { after, limit } => {
                let limit = limit.unwrap_or(DEFAULT_PAGE).min(MAX_PAGE);
                let EntryPage { entries, revision, next } = session.list_entries(after, Some(limit)).await?;
                return Ok(json_text(&EntryList { revision, entries: raw(entries), next }));
            }
            SessionOperation::GetActivePath => {
                let ActivePath { entries, broken } = session.active_path_within(MAX_REPLY).await?;
                let broken = broken.map(|error| error.to_string());
                return Ok(json_text(&PathEntries { entries: raw(entries), broken }));
            }
            SessionOperation::CreateBranchedSession { leaf_id } => {
                return Ok(json_text(&session.create_branched(leaf_id.as_deref()).await?));
            }
            SessionOperation::AppendEntry { entry } => session.append_entry(&bytes(&entry)).await?,
            SessionOperation::AppendMessage { message, placement } => {
                session.append_message(&to_placement(placement), &bytes(&message)).await?
            }
            SessionOperation::AppendThinkingLevelChange { thinking_level, placement } => {
                session.append_thinking_level(&to_placement(placement), &thinking_level).await?
            }
            SessionOperation::AppendModelChange { provider, model_id, placement } => {
                session.append_model_change(&to_placement(placement), &provider, &model_id).await?
            }
            SessionOperation::AppendCompaction {
                summary,
                first_kept_entry_id: first_kept,
                tokens_before,
                details,
                placement,
            } => {
                let extra = details.map(|details| ("details".to_owned(), details)).into_iter().collect();
                let compaction = NewCompaction { summary, first_kept, tokens_before, extra };
                session.append_compaction(&to_placement(placement), &compaction).await?
            }
            SessionOperation::AppendBranchSummary { from_id, summary, placement } => {
                session.append_branch_summary(&to_placement(placement), &from_id, &summary).await?
            }
            SessionOperation::AppendLabelChange { target_id, label } => {
                let label = label.filter(|label| !label.is_empty());
                session.append_label(&target_id, label.as_deref()).await?
            }
            SessionOperation::AppendSessionInfo { name } => session.rename(&name).await?,
            SessionOperation::SwitchLeaf { leaf_id, expected_leaf_id: expected } => {
                session.switch_leaf(&leaf_id, expected.as_ref().map(Option::as_deref)).await?
            }
            SessionOperation::ResetLeaf { expected_leaf_id: expected } => {
                session.reset_leaf(expected.as_ref().map(Option::as_deref)).await?
            }
            SessionOperation::UpdateEntry { entry_id, status, payload } => {
                session.update_entry(&entry_id, &status, &payload).await?
            }
        };
        stored_entry(outcome)
    }
}

fn stored_entry(outcome: CommitOutcome) -> Result<JsonText, LocalEngineError> {
    let stored = match outcome {
        CommitOutcome::Cancelled => return Err(EngineError::Refused.into()),
        CommitOutcome::Nothing => json!({ "id": null, "existed": true, "revision": null }),
        CommitOutcome::Stored(stored) => {
            json!({ "id": stored.id, "existed": stored.existed, "revision": stored.version.entries })
        }
    };
    Ok(json_text(&stored))
}

fn to_placement(placement: Placement) -> EntryPlacement {
    let parent = match placement.parent_id {
        None => AppendParent::Leaf,
        Some(None) => AppendParent::Root,
        Some(Some(id)) => AppendParent::Entry(id.to_string()),
    };
    EntryPlacement { parent, id: placement.entry_id }
}

/// A page of entries. They are text: a [`Value`] would change their numbers, and can be 128 levels deep.
#[derive(Debug, Serialize)]
struct EntryList {
    revision: usize,
    entries: Vec<Option<Box<RawValue>>>,
    next: Option<usize>,
}

#[derive(Debug, Serialize)]
struct PathEntries {
    entries: Vec<Option<Box<RawValue>>>,
    broken: Option<String>,
}

/// Entries as they are stored.
fn raw(entries: Vec<Vec<u8>>) -> Vec<Option<Box<RawValue>>> {
    let raw = |entry| RawValue::from_string(String::from_utf8(entry).ok()?).ok();
    entries.into_iter().map(raw).collect()
}

fn bytes(json: &JsonText) -> Vec<u8> {
    serde_json::to_vec(json).unwrap_or_default()
}

fn json_text(value: &impl Serialize) -> JsonText {
    let json = serde_json::to_vec(value).expect("it has no maps with keys that are not text");
    JsonText::from_json(json).expect("a value is valid JSON")
}
