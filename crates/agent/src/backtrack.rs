//! The `backtrack` tool: the model returns to a checkpoint and leaves itself a note. The call only schedules it; once the other
//! results of the reply are stored, one entry below the checkpoint carries it out, and the model is asked again from there.

use osier_session::Commit;
use osier_tools::{Kind, ToolCall, ToolOutcome, ToolSpec};
use osier_tree::note::{BUDGET, DESCRIPTION, INVALID_ARGUMENTS, PENDING, SCHEDULED, UNAVAILABLE};
use osier_tree::{Checkpoint, PlanError, Under};
use serde::Deserialize;
use serde_json::json;

use crate::error::Error;
use crate::turn::Turn;

pub(crate) const NAME: &str = "backtrack";

/// What the model asked for, checked and not done yet.
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

/// What models are told about the tool.
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
    /// Answers a call. Needs no approval: it touches the conversation only.
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

    /// The checkpoint with this number, if one may return there.
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

    /// Carries out what was scheduled. If that is no longer possible, the model simply goes on.
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
        // The conversation returned, the user did not: what he chose and what the program offers since then stays.
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
    fn both_arguments_are_needed_and_no_others() {
        let read = |value: Value| serde_json::from_value::<Arguments>(value).is_ok();
        assert!(read(json!({ "checkpoint_id": 0, "note": "n" })));
        assert!(!read(json!({ "checkpoint_id": 0 })));
        assert!(!read(json!({ "note": "n" })));
        assert!(!read(json!({ "checkpoint_id": "0", "note": "n" })));
        assert!(!read(json!({ "checkpoint_id": 0, "note": "n", "more": 1 })));
    }
}
