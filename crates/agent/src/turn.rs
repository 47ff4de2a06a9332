//! A turn: from a prompt to idle, step by step. The path records everything that happened; the state here
//! lasts only as long as the turn.

use std::error::Error as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use osier_model::CancellationToken;
use osier_protocol::{ClientEvent, CommandReply, Prompt, Question, TurnOutcome, UserAnswer};
use osier_tree::{EntryId, Place};
use tokio::sync::oneshot;
use tracing::Instrument;

use crate::backtrack::ScheduledBacktrack;
use crate::compaction::CompactionReason;
use crate::context::AgentContext;
use crate::error::AgentError;
use crate::hooks::{HookEvent, StoredPrompt, TurnChange};
use crate::next_step::{NextStep, PendingWork, next_step};
use crate::queue::QueueKind;
use crate::step_events::TurnSteps;
use crate::summarizer::SummaryError;
use crate::tail::{Tail, last_reply, tail_entries};

/// How often in a row to repeat a step because the log was replaced.
const MAX_REPLACED_RETRIES: usize = 3;

/// Why a turn starts.
#[derive(Debug)]
pub(crate) enum TurnStart {
    Prompt(Prompt, ExpectedLeaf),
    Resume,
    /// Queued prompts are waiting.
    Queued,
}

/// The leaf that a client expects; `Some(None)` is before the first entry, `None` is any leaf.
pub(crate) type ExpectedLeaf = Option<Option<EntryId>>;

/// Sends the reply to the client whose command started the turn.
pub(crate) type ReplySender = oneshot::Sender<Result<CommandReply, AgentError>>;

/// How a turn ended.
#[derive(Debug, Default)]
pub(crate) struct TurnResult {
    /// Whether clients know that the turn started.
    pub(crate) started: bool,
    pub(crate) outcome: Option<TurnOutcome>,
    pub(crate) error: Option<String>,
}

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) agent: Arc<AgentContext>,
    pub(crate) cancel: CancellationToken,
    /// The reply whose calls this turn may run. It never runs calls of other replies or of an earlier
    /// process.
    pub(crate) reply_id: Option<EntryId>,
    /// Model calls since the last prompt or since the user agreed to continue. Those of a sub-agent are its budget, which a
    /// prompt does not renew.
    model_calls: u32,
    /// The last error from the model.
    pub(crate) failure: Option<String>,
    pub(crate) overflow: OverflowState,
    /// Whether compacting has been given up.
    compaction_given_up: CompactionGiveUp,
    scheduled_backtrack: Mutex<Option<ScheduledBacktrack>>,
    /// A message of an extension was stored, and the model has not seen it yet.
    pub(crate) unanswered_custom: bool,
    /// All calls of the last reply asked for the end of the turn.
    calls_end_turn: bool,
    /// The system prompt that hooks chose for this turn.
    pub(crate) system_prompt: Option<String>,
    pub(crate) steps: TurnSteps,
}

/// How this turn has handled a context overflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum OverflowState {
    #[default]
    None,
    /// The last request exceeded the model's limit.
    Detected,
    /// The path was compacted after an overflow. A second overflow is a failure.
    Recovered,
}

/// Whether another attempt to compact is pointless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CompactionGiveUp {
    No,
    /// There was nothing to compact at this position.
    AtPosition(Place),
    /// The summary failed, or a gate refused it.
    ForTurn,
}

impl Turn {
    pub(crate) fn new(agent: Arc<AgentContext>, cancel: CancellationToken) -> Turn {
        Turn {
            steps: TurnSteps::new(agent.session.version()),
            agent,
            cancel,
            reply_id: None,
            model_calls: 0,
            failure: None,
            overflow: OverflowState::None,
            compaction_given_up: CompactionGiveUp::No,
            scheduled_backtrack: Mutex::default(),
            unanswered_custom: false,
            calls_end_turn: false,
            system_prompt: None,
        }
    }

    pub(crate) async fn run(mut self, start: TurnStart, reply_sender: Option<ReplySender>) -> TurnResult {
        let mut ended = TurnResult::default();
        let finished = self.run_to_end(start, reply_sender, &mut ended.started).await;
        match &finished {
            Ok(outcome) => tracing::debug!(?outcome, "the turn ended"),
            Err(error) => tracing::warn!(%error, "the turn failed"),
        }
        if ended.started {
            self.observe_turn_end(finished.as_ref().ok().copied()).await;
        }
        match finished {
            Ok(finished) => {
                ended.outcome = Some(finished);
                ended.error = match finished {
                    TurnOutcome::Failed => self.failure,
                    TurnOutcome::StepLimit => Some(step_limit_message(self.agent.config.max_steps)),
                    _ => None,
                };
            }
            Err(error) => ended.error = Some(error),
        }
        ended
    }

    /// Returns the error as text, because `starter` may already own the error itself.
    async fn run_to_end(
        &mut self,
        start: TurnStart,
        reply_sender: Option<ReplySender>,
        began: &mut bool,
    ) -> Result<TurnOutcome, String> {
        let has_prompt = matches!(start, TurnStart::Prompt(..));
        let is_resume = matches!(start, TurnStart::Resume);
        let started = async {
            self.agent.store_unstored().await?;
            if is_resume {
                self.prepare_resume().await?;
            }
            let guard = match &start {
                TurnStart::Prompt(_, Some(expected)) => self.agent.begin_turn_at(expected.as_deref()).await?,
                _ => self.agent.cursor.begin_turn().await?,
            };
            *began = true;
            tracing::debug!("the turn starts");
            self.agent.live.send(ClientEvent::TurnStarted);
            let reply = self.store_start(start).await?;
            self.agent.observe(|| HookEvent::TurnStarted).await;
            Ok((guard, reply))
        };
        let guard = match started.await {
            Ok((guard, reply)) => {
                if let Some(reply_sender) = reply_sender {
                    // The client may be gone.
                    let _ = reply_sender.send(Ok(reply));
                }
                guard
            }
            Err(error) => {
                let text = error_chain(&error);
                if let Some(reply_sender) = reply_sender {
                    let _ = reply_sender.send(Err(error));
                }
                return Err(text);
            }
        };
        let resumed = if is_resume { self.resume_calls().await } else { Ok(()) };
        let mut finished = match resumed {
            Ok(()) => self.run_steps(has_prompt).await,
            Err(error) => Err(error),
        };
        if finished.is_ok() {
            finished = self.agent.store_unrecorded_usage().await.and(finished);
        }
        let ended = guard.end().await;
        let finished = finished.map_err(|error| error_chain(&error))?;
        ended.map(|()| finished).map_err(|error| error_chain(&error.into()))
    }

    async fn store_start(&mut self, start: TurnStart) -> Result<CommandReply, AgentError> {
        let TurnStart::Prompt(mut prompt, _) = start else {
            self.agent.update_system_prompt().await?;
            return Ok(CommandReply::Done);
        };
        let expanded = self.agent.expand_prompt(&mut prompt).await?;
        self.abandon_calls().await?;
        self.agent.clear_returned_prompts().await?;
        self.agent.record_model_choice().await?;
        self.agent.update_system_prompt().await?;
        let stored = self.agent.append_prompt(&prompt, expanded).await?;
        self.unanswered_custom = prompt.is_custom();
        // The prompt is stored, so the sender must not send it again.
        let entry = stored.entry_id.clone();
        if let Err(error) = self.store_hook_messages(stored).await {
            let text = format!("cannot store the message of a hook: {}", error_chain(&error));
            self.agent.live.send(ClientEvent::Notice { text });
        }
        Ok(CommandReply::Started { entry })
    }

    /// Stores the messages that hooks add to a prompt.
    async fn store_hook_messages(&mut self, mut prompt: StoredPrompt) -> Result<(), AgentError> {
        let agent = self.agent.clone();
        let Some(hooks) = agent.hooks() else { return Ok(()) };
        let (state, at) = agent.position();
        let system_prompt = agent.system_prompt_at(&state, at).await?;
        prompt.system_prompt = system_prompt.text();
        prompt.sections = system_prompt.sections().clone();
        let ctx = agent.hook_context(Some(&prompt.entry_id), &self.cancel);
        let change = agent.wait_for_gate(hooks.before_turn(&prompt, &ctx), &self.cancel).await;
        let TurnChange { messages, system_prompt, tools_changed } = change.unwrap_or_default();
        self.system_prompt = system_prompt;
        if tools_changed {
            agent.update_system_prompt().await?;
        }
        for message in messages {
            agent.append_custom_message(&message).await?;
        }
        Ok(())
    }

    async fn run_steps(&mut self, has_prompt: bool) -> Result<TurnOutcome, AgentError> {
        if has_prompt {
            // A steering message that waited for the prompt goes with it.
            self.deliver_queued(QueueKind::Steering).await?;
        }
        let mut replaced = 0;
        loop {
            match self.run_step().await {
                Ok(Some(finished)) => return Ok(finished),
                Ok(None) => replaced = 0,
                // The new log has the same path, so decide the step again.
                Err(error) if error.is_log_replaced() && replaced < MAX_REPLACED_RETRIES => {
                    tracing::debug!("the log was replaced; deciding the step again");
                    replaced += 1;
                    self.agent.session.refresh().await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Runs the next step. Returns how the turn ended, if it did.
    async fn run_step(&mut self) -> Result<Option<TurnOutcome>, AgentError> {
        let tail = self.read_tail().await?;
        match next_step(&tail, self.pending_work(&tail).await?) {
            NextStep::CallModel => match self.check_step_limit().await {
                Some(true) => {
                    self.observe_step_start().await;
                    let span = tracing::error_span!("request");
                    self.call_model().instrument(span).await?;
                }
                Some(false) => return Ok(Some(TurnOutcome::StepLimit)),
                // The turn was stopped; the next step ends it.
                None => {}
            },
            NextStep::RunTools(calls) => self.calls_end_turn = self.run_tools(calls).await?,
            NextStep::StopCalls(calls, reason) => self.stop_calls(calls, reason).await?,
            NextStep::DeliverSteering => self.deliver_queued(QueueKind::Steering).await?,
            NextStep::DeliverFollowUp => self.deliver_queued(QueueKind::FollowUp).await?,
            NextStep::Finish(finished) => match self.end_step().await || self.before_settle(finished).await {
                // The path does not show that a hook wants another reply.
                true => (self.unanswered_custom, self.calls_end_turn) = (true, false),
                false => return Ok(Some(finished)),
            },
            NextStep::Backtrack => self.backtrack().await?,
            NextStep::Compact => self.compact_before_call().await?,
            NextStep::Recover => self.compact_after_overflow().await?,
        }
        Ok(None)
    }

    /// Whether the model may be called again. At the limit, the user decides. `None` if the turn was stopped.
    async fn check_step_limit(&mut self) -> Option<bool> {
        let limit = self.agent.config.max_steps;
        if self.model_calls >= limit {
            let question = Question::Continue { model_calls: limit };
            match self.agent.ask_user(question, &self.cancel).await? {
                UserAnswer::Once | UserAnswer::Always { .. } => self.model_calls = 0,
                UserAnswer::No { .. } | UserAnswer::Text { .. } => return Some(false),
            }
        }
        self.model_calls += 1;
        Some(true)
    }

    /// The backtrack to perform after the other calls of the reply.
    pub(crate) fn scheduled_backtrack(&self) -> MutexGuard<'_, Option<ScheduledBacktrack>> {
        self.scheduled_backtrack.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn pending_work(&self, tail: &Tail) -> Result<PendingWork, AgentError> {
        let (state, at) = self.agent.position();
        let reply = last_reply(&state.tree, at).map(|seq| state.tree.id(seq));
        let left_behind = reply.is_some_and(|id| Some(id.as_str()) != self.reply_id.as_deref());
        let asks = matches!(tail, Tail::Prompted | Tail::Answered | Tail::Backtracked)
            || matches!(tail, Tail::Calling(_) if left_behind);
        let full = asks
            && !self.cancel.is_cancelled()
            && !self.has_given_up_compaction(at)
            && self.agent.needs_compaction().await?;
        let agent_state = self.agent.state();
        Ok(PendingWork {
            cancelled: self.cancel.is_cancelled(),
            calls_from_before_turn: left_behind,
            backtrack: self.scheduled_backtrack().is_some(),
            calls_end_turn: self.calls_end_turn,
            context_full: full,
            context_overflowed: self.overflow == OverflowState::Detected
                && self.agent.config.compaction.automatic,
            steering: !agent_state.prompts.queue().steering.is_empty(),
            follow_up: !agent_state.prompts.queue().follow_up.is_empty(),
        })
    }

    fn has_given_up_compaction(&self, at: Place) -> bool {
        self.compaction_given_up == CompactionGiveUp::ForTurn
            || self.compaction_given_up == CompactionGiveUp::AtPosition(at)
    }

    /// Compacts before the next model call. If that fails, the model is called anyway: the context may still
    /// fit.
    async fn compact_before_call(&mut self) -> Result<(), AgentError> {
        let (state, at) = self.agent.position();
        match self.agent.compact(&state, at, CompactionReason::Threshold, None, &self.cancel).await {
            Ok(compacted) if compacted.compressed => {}
            Err(AgentError::NothingToCompact(_)) => {
                self.compaction_given_up = CompactionGiveUp::AtPosition(at);
            }
            refused => {
                self.compaction_given_up = CompactionGiveUp::ForTurn;
                self.report_compaction_error(refused.map(drop)).await?;
            }
        }
        Ok(())
    }

    /// Compacts after an overflow, above the failed reply, which stays on its own branch.
    async fn compact_after_overflow(&mut self) -> Result<(), AgentError> {
        let (state, at) = self.agent.position();
        let above = last_reply(&state.tree, at).and_then(|seq| state.tree.head(seq).parent);
        self.overflow = OverflowState::Recovered;
        let compacted =
            self.agent.compact(&state, above, CompactionReason::Overflow, None, &self.cancel).await;
        self.report_compaction_error(compacted.map(drop)).await
    }

    /// Reports a failed compaction as a notice; the turn continues. A canceled compaction ends with its turn.
    async fn report_compaction_error(&self, compacted: Result<(), AgentError>) -> Result<(), AgentError> {
        match compacted {
            Err(AgentError::Summary(SummaryError::Canceled)) => Ok(()),
            Err(error @ (AgentError::Summary(_) | AgentError::NothingToCompact(_))) => {
                let text = format!("cannot compact the conversation: {}", error_chain(&error));
                self.agent.live.send(ClientEvent::Notice { text });
                Ok(())
            }
            done => done,
        }
    }

    pub(crate) async fn read_tail(&self) -> Result<Tail, AgentError> {
        let (state, at) = self.agent.position();
        let lines = self.agent.read_lines(&state, &tail_entries(&state.tree, at)).await?;
        match Tail::from_path(&state.tree, at, &lines) {
            // The path does not show that a message of an extension wants an answer.
            Tail::Empty | Tail::Replied(_) if self.unanswered_custom => Ok(Tail::Prompted),
            tail => Ok(tail),
        }
    }

    /// Stores the oldest queued prompt, then removes it from the queue.
    async fn deliver_queued(&mut self, line: QueueKind) -> Result<(), AgentError> {
        let Some(mut prompt) = self.agent.start_delivery(line) else { return Ok(()) };
        if self.agent.config.parent.is_none() {
            self.model_calls = 0;
        }
        // A skill or file that no longer exists must not block the queue.
        let expanded = self.agent.expand_prompt(&mut prompt).await.unwrap_or_default();
        let stored = self.agent.append_prompt(&prompt, expanded).await;
        self.unanswered_custom |= prompt.is_custom() && stored.is_ok();
        self.agent.finish_delivery(line, stored.is_ok()).await?;
        stored.map(drop)
    }
}

fn step_limit_message(limit: u32) -> String {
    format!("stopped after {limit} model calls, the limit for one prompt (the setting max_steps)")
}

/// An error with its causes, as one line.
pub(crate) fn error_chain(error: &AgentError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
