//! The one decision of the loop. Pure: the path and what waits beside it go in, the next step comes out.

use osier_tree::Why;

use crate::tail::{Call, Tail};

/// What waits to be done besides what the path asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waiting {
    /// The user stopped the turn.
    pub cancelled: bool,
    /// The model asked to return to a checkpoint.
    pub backtrack: bool,
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
    /// Give every open call a result that says it was stopped.
    StopCalls(Vec<Call>),
    Backtrack,
    /// Store what the user said while the model worked.
    DeliverSteering,
    DeliverFollowUp,
    Finish(Finished),
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    Done,
    Cancelled,
    /// The model's answer is an error; the entry tells which.
    Failed,
    /// The answer was cut off at the output limit.
    CutOff,
}

/// See the module.
pub fn next_step(tail: &Tail, waiting: Waiting) -> Step {
    match tail {
        Tail::Calling(calls) if waiting.cancelled => Step::StopCalls(calls.clone()),
        _ if waiting.cancelled => Step::Finish(Finished::Cancelled),
        Tail::Calling(calls) => Step::RunTools(calls.clone()),
        Tail::Answered if waiting.backtrack => Step::Backtrack,
        Tail::Answered if waiting.steering => Step::DeliverSteering,
        Tail::Asked | Tail::Answered => Step::CallModel,
        Tail::Said(Why::Error) => Step::Finish(Finished::Failed),
        Tail::Said(Why::Aborted) => Step::Finish(Finished::Cancelled),
        _ if waiting.steering => Step::DeliverSteering,
        _ if waiting.follow_up => Step::DeliverFollowUp,
        Tail::Said(Why::Length) => Step::Finish(Finished::CutOff),
        Tail::Said(_) | Tail::Quiet | Tail::Nothing => Step::Finish(Finished::Done),
    }
}
