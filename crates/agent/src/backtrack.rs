//! The `backtrack` tool: the model returns to a checkpoint and leaves itself a note. The call only schedules
//! the backtrack. When the other results of the reply are stored, one entry below the checkpoint performs it,
//! and the model continues from there.

use osier_session::Commit;
use osier_tools::{Kind, ToolCall, ToolOutcome, ToolSpec};
use osier_tree::note::{BUDGET, DESCRIPTION, INVALID_ARGUMENTS, PENDING, SCHEDULED, UNAVAILABLE};
use osier_tree::{Checkpoint, PlanError, Under};
use serde::Deserialize;
use serde_json::json;

use crate::error::Error;
use crate::turn::Turn;

pub(crate) const NAME: &str = "backtrack";

/// A validated backtrack that has not been performed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scheduled {
    number: i64,
    note: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    checkpoint_id: i64,
    note: String,
}

/// The tool definition that models get.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
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
        kind: Kind::Neutral,
    }
}

impl Turn {
    /// Handles a `backtrack` call. It needs no approval because it changes only the conversation.
    pub(crate) async fn schedule_backtrack(&self, call: &ToolCall) -> Result<ToolOutcome, Error> {
        if !self.work.parts.backtracking {
            return Ok(ToolOutcome::failed(UNAVAILABLE));
        }
        let arguments = match serde_json::from_value::<Arguments>(call.arguments.clone()) {
            Ok(arguments) if arguments.note.trim().is_empty() => {
                return Ok(ToolOutcome::failed(format!("{INVALID_ARGUMENTS}the note is empty")));
            }
            Ok(arguments) => arguments,
            Err(error) => return Ok(ToolOutcome::failed(format!("{INVALID_ARGUMENTS}{error}"))),
        };
        if self.scheduled().is_some() {
            return Ok(ToolOutcome::failed(PENDING));
        }
        match self.checkpoint(arguments.checkpoint_id).await? {
            Err(error) => Ok(ToolOutcome::failed(error.to_string())),
            Ok(_) => {
                let Arguments { checkpoint_id: number, note } = arguments;
                *self.scheduled() = Some(Scheduled { number, note });
                Ok(ToolOutcome::text(SCHEDULED))
            }
        }
    }

    /// Finds the checkpoint with this number and checks that returning to it is allowed.
    async fn checkpoint(&self, number: i64) -> Result<Result<Checkpoint, PlanError>, Error> {
        let (state, at) = self.work.here();
        let checkpoint = match state.tree.require_checkpoint(at, number) {
            Ok(checkpoint) => checkpoint,
            Err(error) => return Ok(Err(error)),
        };
        let mut returning = state.tree.returning(at, checkpoint);
        self.work.answer_all(&state, &mut returning).await?;
        Ok(returning.allowed().map(|()| checkpoint))
    }

    /// Performs the scheduled backtrack. Does nothing if the backtrack is no longer possible.
    pub(crate) async fn backtrack(&mut self) -> Result<(), Error> {
        let Some(Scheduled { number, note }) = self.scheduled().take() else { return Ok(()) };
        let (state, at) = self.work.here();
        let Ok(checkpoint) = state.tree.require_checkpoint(at, number) else { return Ok(()) };
        let mut returning = state.tree.returning(at, checkpoint);
        self.work.answer_all(&state, &mut returning).await?;
        let draft = returning.plan(&note, BUDGET);
        let id = state.tree.id(checkpoint.entry).to_string();
        let commit = Commit::new(move |tree, _| {
            let mut draft = draft.clone();
            draft.under = Under::Place(Some(tree.require(&id)?));
            Ok(draft)
        });
        let choice = self.work.choice().await?;
        self.work.store(commit.expecting(&state.tree, at)).await?;
        // Only the conversation goes back. The user's model choice and the current system prompt stay.
        self.work.keep_choice(choice);
        self.work.settle_choice().await?;
        self.work.brief().await
    }
}

pub(crate) fn is_backtrack(call: &ToolCall) -> bool {
    call.name == NAME
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn both_arguments_are_required_and_no_others_allowed() {
        let read = |value: Value| serde_json::from_value::<Arguments>(value).is_ok();
        assert!(read(json!({ "checkpoint_id": 0, "note": "n" })));
        assert!(!read(json!({ "checkpoint_id": 0 })));
        assert!(!read(json!({ "note": "n" })));
        assert!(!read(json!({ "checkpoint_id": "0", "note": "n" })));
        assert!(!read(json!({ "checkpoint_id": 0, "note": "n", "more": 1 })));
    }
}
