//! The one decision of the agent loop, as a pure function: from the end of the path and the pending work to
//! the next step.

use osier_tree::Why;
use serde::Serialize;

use crate::tail::{Call, Tail};

/// Pending work that the path does not show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waiting {
    /// The user stopped the turn.
    pub cancelled: bool,
    /// The tool calls at the end of the path come from before this turn: from a process that died or from
    /// another process. Only the process that made a call runs it and stores its result. The request tells
    /// the model that the call was interrupted.
    pub left_behind: bool,
    /// The model called `backtrack`.
    pub backtrack: bool,
    /// The context is close to the model's limit.
    pub full: bool,
    /// The context exceeded the model's limit, for the first time since the last prompt.
    pub overflowed: bool,
    /// A steering message is queued.
    pub steering: bool,
    /// A follow-up message is queued.
    pub follow_up: bool,
}

/// What the loop does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    CallModel,
    RunTools(Vec<Call>),
    /// Store a result for every open call that says why it did not run.
    StopCalls(Vec<Call>, Why),
    Backtrack,
    /// Shorten the context before the next model call.
    Compact,
    /// Shorten the context and repeat the failed model call.
    Recover,
    /// Store a message that the user queued during the turn.
    DeliverSteering,
    DeliverFollowUp,
    Finish(Finished),
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finished {
    Done,
    Cancelled,
    /// The model call failed; the entry has the error.
    Failed,
    /// The reply reached the output limit.
    CutOff,
    /// The turn reached the limit of model calls for one prompt.
    StepLimit,
}

/// Decides the next step of the loop.
pub fn next_step(tail: &Tail, waiting: Waiting) -> Step {
    match tail {
        Tail::Broken(why, calls) if !waiting.left_behind => Step::StopCalls(calls.clone(), *why),
        Tail::Calling(calls) if waiting.cancelled && !waiting.left_behind => {
            Step::StopCalls(calls.clone(), Why::Aborted)
        }
        _ if waiting.cancelled => Step::Finish(Finished::Cancelled),
        Tail::Calling(calls) if !waiting.left_behind => Step::RunTools(calls.clone()),
        Tail::Answered if waiting.backtrack => Step::Backtrack,
        Tail::Answered | Tail::Returned | Tail::Calling(_) if waiting.steering => Step::DeliverSteering,
        Tail::Asked | Tail::Answered | Tail::Returned | Tail::Calling(_) if waiting.full => Step::Compact,
        Tail::Asked | Tail::Answered | Tail::Returned | Tail::Calling(_) => Step::CallModel,
        Tail::Said(Why::Error) if waiting.overflowed => Step::Recover,
        Tail::Said(Why::Error) => Step::Finish(Finished::Failed),
        Tail::Said(Why::Aborted) => Step::Finish(Finished::Cancelled),
        _ if waiting.steering => Step::DeliverSteering,
        _ if waiting.follow_up => Step::DeliverFollowUp,
        Tail::Said(Why::Length) => Step::Finish(Finished::CutOff),
        Tail::Said(_) | Tail::Broken(..) | Tail::Nothing => Step::Finish(Finished::Done),
    }
}
