//! The `backtrack` tool: the model returns to a checkpoint and leaves itself a note. The call only schedules
//! the backtrack. When the other results of the reply are stored, one entry below the checkpoint performs it,
//! and the model continues from there.

use osier_session::Commit;
use osier_tools::{ToolCall, ToolKind, ToolOutcome, ToolSpec};
use osier_tree::backtrack::{
    ADDENDUM_BUDGET, ALREADY_PENDING, DESCRIPTION, INVALID_ARGUMENTS, SCHEDULED, UNAVAILABLE,
};
use osier_tree::{Checkpoint, DraftParent, PlanError};
use serde::Deserialize;
use serde_json::json;

use crate::error::AgentError;
use crate::hooks::entry_id;
use crate::turn::Turn;

pub(crate) const TOOL_NAME: &str = "backtrack";

/// A validated backtrack that has not been performed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScheduledBacktrack {
    number: i64,
    note: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BacktrackArguments {
    checkpoint_id: i64,
    note: String,
}

/// The tool definition that models get.
pub(crate) fn tool_spec() -> ToolSpec {
    ToolSpec {
        name: TOOL_NAME.to_owned(),
        description: DESCRIPTION.to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "checkpoint_id": { "type": "integer", "description": "The number of the checkpoint to return to." },
                "note": { "type": "string", "description": "What you will need to know: findings, failures and why, context." },
            },
            "required": ["checkpoint_id", "note"],
            "additionalProperties": false,
        }),
        kind: ToolKind::Neutral,
    }
}

impl Turn {
    /// Handles a `backtrack` call. It needs no approval because it changes only the conversation.
    pub(crate) async fn schedule_backtrack(&self, call: &ToolCall) -> Result<ToolOutcome, AgentError> {
        if !self.agent.config.backtracking {
            return Ok(ToolOutcome::failed(UNAVAILABLE));
        }
        let arguments = match serde_json::from_value::<BacktrackArguments>(call.arguments.clone()) {
            Ok(arguments) if arguments.note.trim().is_empty() => {
                return Ok(ToolOutcome::failed(format!("{INVALID_ARGUMENTS}the note is empty")));
            }
            Ok(arguments) => arguments,
            Err(error) => return Ok(ToolOutcome::failed(format!("{INVALID_ARGUMENTS}{error}"))),
        };
        if self.scheduled_backtrack().is_some() {
            return Ok(ToolOutcome::failed(ALREADY_PENDING));
        }
        match self.find_checkpoint(arguments.checkpoint_id).await? {
            Err(error) => Ok(ToolOutcome::failed(error.to_string())),
            Ok(_) => {
                let BacktrackArguments { checkpoint_id: number, note } = arguments;
                *self.scheduled_backtrack() = Some(ScheduledBacktrack { number, note });
                Ok(ToolOutcome::text(SCHEDULED))
            }
        }
    }

    /// Finds the checkpoint with this number and checks that returning to it is allowed.
    async fn find_checkpoint(&self, number: i64) -> Result<Result<Checkpoint, PlanError>, AgentError> {
        let (state, at) = self.agent.position();
        let checkpoint = match state.tree.require_checkpoint(at, number) {
            Ok(checkpoint) => checkpoint,
            Err(error) => return Ok(Err(error)),
        };
        let mut returning = state.tree.backtrack_planner(at, checkpoint);
        self.agent.supply_lines(&state, &mut returning).await?;
        Ok(returning.check_allowed().map(|()| checkpoint))
    }

    /// Performs the scheduled backtrack. Does nothing if the backtrack is no longer possible.
    pub(crate) async fn backtrack(&mut self) -> Result<(), AgentError> {
        let Some(ScheduledBacktrack { number, note }) = self.scheduled_backtrack().take() else {
            return Ok(());
        };
        let (state, at) = self.agent.position();
        let Ok(checkpoint) = state.tree.require_checkpoint(at, number) else { return Ok(()) };
        let mut returning = state.tree.backtrack_planner(at, checkpoint);
        self.agent.supply_lines(&state, &mut returning).await?;
        let draft = returning.plan(&note, ADDENDUM_BUDGET);
        let id = state.tree.id(checkpoint.entry).to_string();
        let commit = Commit::new(move |tree, _| {
            let mut draft = draft.clone();
            draft.parent = DraftParent::At(Some(tree.require(&id)?));
            Ok(draft)
        });
        let choice = self.agent.model_choice().await?;
        self.agent.store_commit(commit.expect_at(&state.tree, at)).await?;
        // Only the conversation goes back. The user's model choice and the current system prompt stay.
        self.agent.keep_model_choice(choice);
        self.agent.record_model_choice().await?;
        self.agent.update_system_prompt().await?;
        self.agent.observe_move(entry_id(&state.tree, at), None, false).await;
        Ok(())
    }
}

pub(crate) fn is_backtrack(call: &ToolCall) -> bool {
    call.name == TOOL_NAME
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn both_arguments_are_required_and_no_others_allowed() {
        let read = |value: Value| serde_json::from_value::<BacktrackArguments>(value).is_ok();
        assert!(read(json!({ "checkpoint_id": 0, "note": "n" })));
        assert!(!read(json!({ "checkpoint_id": 0 })));
        assert!(!read(json!({ "note": "n" })));
        assert!(!read(json!({ "checkpoint_id": "0", "note": "n" })));
        assert!(!read(json!({ "checkpoint_id": 0, "note": "n", "more": 1 })));
    }
}
