//! A turn: from a prompt to idle, step by step. The path records everything that happened; the state here
//! lasts only as long as the turn.

use std::error::Error as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use osier_model::CancellationToken;
use osier_tree::{Place, Why};
use tokio::sync::oneshot;

use crate::asking::{Answer, Question};
use crate::backtrack::Scheduled;
use crate::client::Reply;
use crate::compaction::Reason;
use crate::error::Error;
use crate::live::Live;
use crate::next_step::{Finished, Step, Waiting, next_step};
use crate::queue::Line;
use crate::saying::Said;
use crate::summarizing::NoSummary;
use crate::tail::{Tail, last_reply, tail_entries};
use crate::workplace::Workplace;

/// How often in a row to repeat a step because the log was replaced.
const REPLACEMENTS: usize = 3;

/// Why a turn starts.
#[derive(Debug)]
pub(crate) enum Begin {
    Say(Said),
    Resume,
    /// Queued prompts are waiting.
    Queued,
}

/// Sends the reply to the client whose command started the turn.
pub(crate) type Starter = oneshot::Sender<Result<Reply, Error>>;

/// How a turn ended.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// Whether clients know that the turn started.
    pub(crate) began: bool,
    pub(crate) finished: Option<Finished>,
    pub(crate) error: Option<String>,
}

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) work: Arc<Workplace>,
    pub(crate) cancel: CancellationToken,
    /// The reply whose calls this turn may run. It never runs calls of other replies or of an earlier
    /// process.
    pub(crate) reply: Option<Arc<str>>,
    /// Model calls since the last prompt or since the user agreed to continue.
    calls: u32,
    /// The last error from the model.
    pub(crate) failure: Option<String>,
    pub(crate) overflow: Overflow,
    /// Whether compacting has been given up.
    gave_up: GaveUp,
    scheduled: Mutex<Option<Scheduled>>,
}

/// How this turn has handled a context overflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Overflow {
    #[default]
    None,
    /// The last request exceeded the model's limit.
    Now,
    /// The path was compacted after an overflow. A second overflow is a failure.
    Recovered,
}

/// Whether another attempt to compact is pointless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GaveUp {
    No,
    /// There was nothing to compact at this position.
    Here(Place),
    /// The summary failed, or a gate refused it.
    Altogether,
}

impl Turn {
    pub(crate) fn new(work: Arc<Workplace>, cancel: CancellationToken) -> Turn {
        Turn {
            work,
            cancel,
            reply: None,
            calls: 0,
            failure: None,
            overflow: Overflow::None,
            gave_up: GaveUp::No,
            scheduled: Mutex::default(),
        }
    }

    pub(crate) async fn run(mut self, begin: Begin, starter: Option<Starter>) -> Ended {
        let mut ended = Ended::default();
        let finished = self.whole(begin, starter, &mut ended.began).await;
        match finished {
            Ok(finished) => {
                ended.finished = Some(finished);
                ended.error = match finished {
                    Finished::Failed => self.failure,
                    Finished::StepLimit => Some(limit_reached(self.work.parts.max_steps)),
                    _ => None,
                };
            }
            Err(error) => ended.error = Some(error),
        }
        ended
    }

    /// Returns the error as text, because `starter` may already own the error itself.
    async fn whole(
        &mut self,
        begin: Begin,
        starter: Option<Starter>,
        began: &mut bool,
    ) -> Result<Finished, String> {
        let started = async {
            if let Begin::Resume = begin {
                self.make_way().await?;
            }
            let guard = self.work.cursor.begin_turn().await?;
            *began = true;
            self.work.teller.tell(Live::TurnStarted);
            let reply = self.begin(begin).await?;
            Ok((guard, reply))
        };
        let guard = match started.await {
            Ok((guard, reply)) => {
                if let Some(starter) = starter {
                    // The client may be gone.
                    let _ = starter.send(Ok(reply));
                }
                guard
            }
            Err(error) => {
                let text = told(&error);
                if let Some(starter) = starter {
                    let _ = starter.send(Err(error));
                }
                return Err(text);
            }
        };
        let mut finished = self.steps().await;
        if finished.is_ok() {
            finished = self.work.record_usage().await.and(finished);
        }
        let ended = guard.end().await;
        let finished = finished.map_err(|error| told(&error))?;
        ended.map(|()| finished).map_err(|error| told(&error.into()))
    }

    async fn begin(&mut self, begin: Begin) -> Result<Reply, Error> {
        let Begin::Say(mut prompt) = begin else {
            self.work.brief().await?;
            return Ok(Reply::Done);
        };
        let expanded = self.work.expand(&mut prompt).await?;
        self.work.forget_returned().await?;
        self.work.settle_choice().await?;
        self.work.brief().await?;
        Ok(Reply::Started { entry: self.work.say_as_user(&prompt, expanded).await? })
    }

    /// Prepares a path for resuming: a failed or stopped reply stays on its own branch, and the model is
    /// called again.
    async fn make_way(&self) -> Result<(), Error> {
        let (state, at) = self.work.here();
        match self.tail().await? {
            Tail::Asked | Tail::Answered | Tail::Returned | Tail::Calling(_) => Ok(()),
            Tail::Said(Why::Error | Why::Aborted) | Tail::Broken(..) => {
                let above = last_reply(&state.tree, at).and_then(|seq| state.tree.head(seq).parent);
                self.work.cursor.move_to_entry(above.map(|seq| state.tree.id(seq).to_string())).await?;
                Ok(())
            }
            Tail::Said(_) | Tail::Nothing => Err(Error::NothingToResume),
        }
    }

    async fn steps(&mut self) -> Result<Finished, Error> {
        let mut replaced = 0;
        loop {
            match self.step().await {
                Ok(Some(finished)) => return Ok(finished),
                Ok(None) => replaced = 0,
                // The new log has the same path, so decide the step again.
                Err(error) if error.is_replaced() && replaced < REPLACEMENTS => {
                    replaced += 1;
                    self.work.session.refresh().await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Runs the next step. Returns how the turn ended, if it did.
    async fn step(&mut self) -> Result<Option<Finished>, Error> {
        let tail = self.tail().await?;
        match next_step(&tail, self.waiting(&tail).await?) {
            Step::CallModel => match self.may_call().await {
                Some(true) => self.call_model().await?,
                Some(false) => return Ok(Some(Finished::StepLimit)),
                // The turn was stopped; the next step ends it.
                None => {}
            },
            Step::RunTools(calls) => self.run_tools(calls).await?,
            Step::StopCalls(calls, why) => self.stop_calls(calls, why).await?,
            Step::DeliverSteering => self.deliver(Line::Steering).await?,
            Step::DeliverFollowUp => self.deliver(Line::FollowUp).await?,
            Step::Finish(finished) => return Ok(Some(finished)),
            Step::Backtrack => self.backtrack().await?,
            Step::Compact => self.make_room().await?,
            Step::Recover => self.recover().await?,
        }
        Ok(None)
    }

    /// Whether the model may be called again. At the limit, the user decides. `None` if the turn was stopped.
    async fn may_call(&mut self) -> Option<bool> {
        let limit = self.work.parts.max_steps;
        if self.calls >= limit {
            let question = Question::Continue { model_calls: limit };
            match self.work.ask(question, &self.cancel).await? {
                Answer::Once | Answer::Always(_) => self.calls = 0,
                Answer::No(_) => return Some(false),
            }
        }
        self.calls += 1;
        Some(true)
    }

    /// The backtrack to perform after the other calls of the reply.
    pub(crate) fn scheduled(&self) -> MutexGuard<'_, Option<Scheduled>> {
        self.scheduled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn waiting(&self, tail: &Tail) -> Result<Waiting, Error> {
        let (state, at) = self.work.here();
        let reply = last_reply(&state.tree, at).map(|seq| state.tree.id(seq));
        let left_behind = reply.is_some_and(|id| Some(id.as_str()) != self.reply.as_deref());
        let asks = matches!(tail, Tail::Asked | Tail::Answered | Tail::Returned)
            || matches!(tail, Tail::Calling(_) if left_behind);
        let full =
            asks && !self.cancel.is_cancelled() && !self.has_given_up(at) && self.work.is_full().await?;
        let agent_state = self.work.now();
        Ok(Waiting {
            cancelled: self.cancel.is_cancelled(),
            left_behind,
            backtrack: self.scheduled().is_some(),
            full,
            overflowed: self.overflow == Overflow::Now && self.work.parts.compacting.automatic,
            steering: !agent_state.queue.steering.is_empty(),
            follow_up: !agent_state.queue.follow_up.is_empty(),
        })
    }

    fn has_given_up(&self, at: Place) -> bool {
        self.gave_up == GaveUp::Altogether || self.gave_up == GaveUp::Here(at)
    }

    /// Compacts before the next model call. If that fails, the model is called anyway: the context may still
    /// fit.
    async fn make_room(&mut self) -> Result<(), Error> {
        let (state, at) = self.work.here();
        match self.work.compact(&state, at, Reason::Threshold, None, &self.cancel).await {
            Ok(compacted) if compacted.entry.is_some() => {}
            Err(Error::NothingToCut(_)) => self.gave_up = GaveUp::Here(at),
            refused => {
                self.gave_up = GaveUp::Altogether;
                self.tell_of(refused.map(drop))?;
            }
        }
        Ok(())
    }

    /// Compacts after an overflow, above the failed reply, which stays on its own branch.
    async fn recover(&mut self) -> Result<(), Error> {
        let (state, at) = self.work.here();
        let above = last_reply(&state.tree, at).and_then(|seq| state.tree.head(seq).parent);
        self.overflow = Overflow::Recovered;
        let compacted = self.work.compact(&state, above, Reason::Overflow, None, &self.cancel).await;
        self.tell_of(compacted.map(drop))
    }

    /// Reports a failed compaction as a notice; the turn continues. A canceled compaction ends with its turn.
    fn tell_of(&self, compacted: Result<(), Error>) -> Result<(), Error> {
        match compacted {
            Err(Error::NoSummary(NoSummary::Stopped)) => Ok(()),
            Err(error @ (Error::NoSummary(_) | Error::NothingToCut(_))) => {
                let text = format!("cannot compact the conversation: {}", told(&error));
                self.work.teller.tell(Live::Notice { text });
                Ok(())
            }
            done => done,
        }
    }

    async fn tail(&self) -> Result<Tail, Error> {
        let (state, at) = self.work.here();
        let lines = self.work.lines(&state, &tail_entries(&state.tree, at)).await?;
        Ok(Tail::of(&state.tree, at, &lines))
    }

    /// Stores the oldest queued prompt, then removes it from the queue.
    async fn deliver(&mut self, line: Line) -> Result<(), Error> {
        let Some(mut prompt) = self.work.next_to_say(line) else { return Ok(()) };
        self.calls = 0;
        // A skill or file that no longer exists must not block the queue.
        let expanded = self.work.expand(&mut prompt).await.unwrap_or_default();
        let stored = self.work.say_as_user(&prompt, expanded).await;
        self.work.said(line, stored.is_ok()).await?;
        stored.map(drop)
    }
}

fn limit_reached(limit: u32) -> String {
    format!("stopped after {limit} model calls, the limit for one prompt (the setting max_steps)")
}

/// An error with its causes, as one line.
pub(crate) fn told(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
