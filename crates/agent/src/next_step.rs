//! The one decision of the agent loop, as a pure function: from the end of the path and the pending work to
//! the next step.

use osier_protocol::TurnOutcome;
use osier_tree::EntryReason;

use crate::tail::{RecordedCall, Tail};

/// Pending work that the path does not show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PendingWork {
    /// The user stopped the turn.
    pub cancelled: bool,
    /// The tool calls at the end of the path come from before this turn: from a process that died or from
    /// another process. Only the process that made a call runs it and stores its result. The request tells
    /// the model that the call was interrupted.
    pub calls_from_before_turn: bool,
    /// The model called `backtrack`.
    pub backtrack: bool,
    /// The context is close to the model's limit.
    pub context_full: bool,
    /// The context exceeded the model's limit, for the first time since the last prompt.
    pub context_overflowed: bool,
    /// All calls of the last reply asked for the end of the turn.
    pub calls_end_turn: bool,
    /// A steering message is queued.
    pub steering: bool,
    /// A follow-up message is queued.
    pub follow_up: bool,
}

/// What the loop does next.
#[derive(Debug, Clone, PartialEq)]
pub enum NextStep {
    CallModel,
    RunTools(Vec<RecordedCall>),
    /// Store a result for every open call that says why it did not run.
    StopCalls(Vec<RecordedCall>, EntryReason),
    Backtrack,
    /// Shorten the context before the next model call.
    Compact,
    /// Shorten the context and repeat the failed model call.
    Recover,
    /// Store a message that the user queued during the turn.
    DeliverSteering,
    DeliverFollowUp,
    Finish(TurnOutcome),
}

/// Decides the next step of the loop.
pub fn next_step(tail: &Tail, waiting: PendingWork) -> NextStep {
    match tail {
        Tail::BrokenOff(reason, calls) if !waiting.calls_from_before_turn => {
            NextStep::StopCalls(calls.clone(), *reason)
        }
        Tail::Calling(calls) if waiting.cancelled && !waiting.calls_from_before_turn => {
            NextStep::StopCalls(calls.clone(), EntryReason::Aborted)
        }
        _ if waiting.cancelled => NextStep::Finish(TurnOutcome::Cancelled),
        Tail::Calling(calls) if !waiting.calls_from_before_turn => NextStep::RunTools(calls.clone()),
        Tail::Answered if waiting.backtrack => NextStep::Backtrack,
        Tail::Answered | Tail::Backtracked | Tail::Calling(_) if waiting.steering => {
            NextStep::DeliverSteering
        }
        Tail::Answered if waiting.calls_end_turn && waiting.follow_up => NextStep::DeliverFollowUp,
        Tail::Answered if waiting.calls_end_turn => NextStep::Finish(TurnOutcome::Done),
        Tail::Prompted | Tail::Answered | Tail::Backtracked | Tail::Calling(_) if waiting.context_full => {
            NextStep::Compact
        }
        Tail::Prompted | Tail::Answered | Tail::Backtracked | Tail::Calling(_) => NextStep::CallModel,
        Tail::Replied(EntryReason::Error) if waiting.context_overflowed => NextStep::Recover,
        Tail::Replied(EntryReason::Error) => NextStep::Finish(TurnOutcome::Failed),
        Tail::Replied(EntryReason::Aborted) => NextStep::Finish(TurnOutcome::Cancelled),
        _ if waiting.steering => NextStep::DeliverSteering,
        _ if waiting.follow_up => NextStep::DeliverFollowUp,
        Tail::Replied(EntryReason::Length) => NextStep::Finish(TurnOutcome::CutOff),
        Tail::Replied(_) | Tail::BrokenOff(..) | Tail::Empty => NextStep::Finish(TurnOutcome::Done),
    }
}
