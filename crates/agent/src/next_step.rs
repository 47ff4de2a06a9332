//! The one decision of the loop. Pure: the path and what waits beside it go in, the next step comes out.

use osier_tree::Why;
use serde::Serialize;

use crate::tail::{Call, Tail};

/// What waits to be done besides what the path asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waiting {
    /// The user stopped the turn.
    pub cancelled: bool,
    /// The calls at the end of the path were made before this turn: by a process that died, or by somebody else. Only who made
    /// a call runs it and stores its result; the request tells the model that it was interrupted.
    pub left_behind: bool,
    /// The model asked to return to a checkpoint.
    pub backtrack: bool,
    /// The context is nearly too long for the model.
    pub full: bool,
    /// The model failed because it was too long, for the first time since somebody spoke.
    pub overflowed: bool,
    /// The user said something for the model to hear as soon as it can.
    pub steering: bool,
    /// The user said something for when the model is done.
    pub follow_up: bool,
}

/// What the loop does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    CallModel,
    RunTools(Vec<Call>),
    /// Give every open call a result that says why it was not run.
    StopCalls(Vec<Call>, Why),
    Backtrack,
    /// Make the context shorter first.
    Compact,
    /// Make it shorter, and ask again in the place of the reply that failed.
    Recover,
    /// Store what the user said while the model worked.
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
    /// The model's answer is an error; the entry tells which.
    Failed,
    /// The answer was cut off at the output limit.
    CutOff,
    /// The limit of model calls for one prompt was reached.
    StepLimit,
}

/// See the module.
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
