//! Running the tool calls of a reply: asks for approval where needed, and stores one result entry for each
//! call.
//!
//! Calls that only read run in parallel, and so do calls that delegate tasks, and those of extensions, unless a tool of theirs must
//! run alone; all others run alone and in order. Results are stored in call order, each as soon as the earlier ones are stored.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures_util::{FutureExt, StreamExt, stream};
use osier_protocol::{ClientEvent, Question, ToolQuestion, UserAnswer};
use osier_tools::approvals::{Allowance, Decision, denied_outcome};
use osier_tools::{LiveOutput, Progress, ToolCall, ToolContext, ToolKind, ToolOutcome, ToolSpec};
use osier_tree::EntryReason;
use serde_json::json;
use tokio::sync::mpsc;
use tracing::Instrument;

use crate::backtrack;
use crate::error::AgentError;
use crate::hooked_calls::CheckedCall;
use crate::tail::{RecordedCall, Tail};
use crate::tool_events::OutputObserver;
use crate::turn::Turn;

/// How many calls run in parallel.
const MAX_PARALLEL: usize = 8;

/// How long a stopped tool may take to clean up, beyond its own grace period.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Calls of one group that follow each other run in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParallelGroup {
    Reads,
    Delegates,
    Extensions,
}

impl Turn {
    /// Runs calls and stores their results. Returns whether all of them ask for the end of the turn.
    pub(crate) async fn run_tools(&self, calls: Vec<RecordedCall>) -> Result<bool, AgentError> {
        let mut ends_turn = !calls.is_empty();
        let mut calls: Vec<CheckedCall> = calls.into_iter().map(CheckedCall::new).collect();
        let specs = self.agent.tool_specs();
        let spec = |call: &ToolCall| specs.iter().find(|spec| spec.name == call.name);
        let group = |call: &CheckedCall| match spec(&call.call)?.kind {
            ToolKind::Reads => Some(ParallelGroup::Reads),
            ToolKind::Delegates => Some(ParallelGroup::Delegates),
            _ => {
                let is_parallel = self.agent.config.tools.runs_in_parallel(&call.call.name);
                is_parallel.then_some(ParallelGroup::Extensions)
            }
        };
        let count = |calls: &[CheckedCall]| {
            let first = calls.first().and_then(group);
            calls.iter().take_while(|call| first.is_some() && group(call) == first).count()
        };
        let mut rest = calls.as_mut_slice();
        while !rest.is_empty() && !self.cancel.is_cancelled() {
            let batch = count(rest).max(1);
            let (batch, later) = rest.split_at_mut(batch);
            self.ask_before_calls(batch).await;
            let ctx = self.tool_context().await?;
            let mut runs = Vec::with_capacity(batch.len());
            for call in &*batch {
                let span = tracing::error_span!("tool", name = %call.call.name, call = %call.call.id);
                runs.push(self.outcome_of_call(call, spec(&call.call), &ctx).instrument(span).boxed());
            }
            let mut outcomes = stream::iter(runs).buffered(MAX_PARALLEL);
            for call in &*batch {
                let Some(outcome) = outcomes.next().await else { break };
                let outcome = outcome?;
                ends_turn &= outcome.ends_turn;
                let message = outcome.message(&call.call, self.agent.timestamp());
                let message = self.agent.edit_whole_message(message, &self.cancel).await;
                let (line, id) = (message.to_string().into_bytes(), self.agent.session.new_entry_id());
                self.agent.store_or_keep(line, &id, &self.cancel).await?;
            }
            rest = later;
        }
        Ok(ends_turn)
    }

    /// Continues the calls that a dead process left, as far as their tools can, and stores the results.
    pub(crate) async fn resume_calls(&self) -> Result<(), AgentError> {
        let Tail::Calling(calls) = self.read_tail().await? else { return Ok(()) };
        let ctx = self.tool_context().await?;
        for CheckedCall { call, .. } in calls.into_iter().map(CheckedCall::new) {
            let Some(outcome) = self.agent.config.tools.resume(&call, &ctx).await else { continue };
            let message = outcome.message(&call, self.agent.timestamp());
            let (line, id) = (message.to_string().into_bytes(), self.agent.session.new_entry_id());
            self.agent.store_or_keep(line, &id, &self.cancel).await?;
        }
        Ok(())
    }

    /// Ends what the calls of a dead process left. Their results stay missing.
    pub(crate) async fn abandon_calls(&self) -> Result<(), AgentError> {
        let Tail::Calling(calls) = self.read_tail().await? else { return Ok(()) };
        let ctx = self.tool_context().await?;
        for CheckedCall { call, .. } in calls.into_iter().map(CheckedCall::new) {
            self.agent.config.tools.abandon(&call, &ctx).await;
        }
        Ok(())
    }

    /// Stores results for calls that do not run.
    pub(crate) async fn stop_calls(
        &self,
        calls: Vec<RecordedCall>,
        ask_reason: EntryReason,
    ) -> Result<(), AgentError> {
        let outcome = match ask_reason {
            EntryReason::Error => ToolOutcome::failed("This call was not run because the reply was cut off."),
            EntryReason::Length => ToolOutcome::failed(
                "This call was not run: the reply reached the output limit, so it may be incomplete. Make it shorter.",
            ),
            _ => ToolOutcome::cancelled(),
        };
        for CheckedCall { call, .. } in calls.into_iter().map(CheckedCall::new) {
            self.agent.append_message(&outcome.message(&call, self.agent.timestamp())).await?;
        }
        Ok(())
    }

    async fn tool_context(&self) -> Result<ToolContext, AgentError> {
        let files_read = self.agent.side_state().await?.files;
        let context = self.agent.config.tool_context.clone();
        Ok(ToolContext { cancel: self.cancel.child_token(), files_read, ..context })
    }

    async fn outcome_of_call(
        &self,
        call: &CheckedCall,
        spec: Option<&ToolSpec>,
        ctx: &ToolContext,
    ) -> Result<ToolOutcome, AgentError> {
        let (outcome, duration) = match &call.refusal {
            Some(refusal) => (refusal.clone(), None),
            None => self.run_call(call, spec, ctx).await?,
        };
        self.observe_call_end(&call.call, &outcome, duration).await;
        Ok(outcome)
    }

    /// Also returns how long the tool ran, if it did.
    async fn run_call(
        &self,
        checked: &CheckedCall,
        spec: Option<&ToolSpec>,
        ctx: &ToolContext,
    ) -> Result<(ToolOutcome, Option<Duration>), AgentError> {
        let call = &checked.call;
        if backtrack::is_backtrack(call) {
            let outcome = self.schedule_backtrack(call).await?;
            return Ok((self.edit_result(checked, outcome).await, None));
        }
        let (progress, mut output) = Progress::channel(64);
        let mut ctx = ToolContext { progress, ..ctx.clone() };
        if let Some(refusal) = self.check_approval(call, spec, &mut ctx).await? {
            return Ok((refusal, None));
        }
        let live = &self.agent.live;
        tracing::debug!(sandboxed = ctx.sandbox.is_some(), "the tool starts");
        live.send(ClientEvent::ToolStarted {
            call: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        });
        let started = Instant::now();
        let mut outcome = self.execute(call, &ctx, &mut output).await;
        if let Some(question) = self.sandbox_escape_question(call, &ctx, &outcome) {
            outcome = match self.ask_to_leave_sandbox(question, &outcome).await? {
                Some(outcome) => outcome,
                None => {
                    ctx.sandbox = None;
                    self.execute(call, &ctx, &mut output).await
                }
            };
        }
        let duration = started.elapsed();
        let outcome = self.edit_result(checked, outcome).await;
        tracing::debug!(is_error = outcome.is_error, "the tool ended");
        live.send(ClientEvent::ToolEnded { call: call.id.clone(), is_error: outcome.is_error });
        Ok((outcome, Some(duration)))
    }

    /// Runs an approved call and forwards its output.
    async fn execute(
        &self,
        call: &ToolCall,
        ctx: &ToolContext,
        output: &mut mpsc::Receiver<LiveOutput>,
    ) -> ToolOutcome {
        let run = AssertUnwindSafe(self.agent.config.tools.run(call.clone(), ctx)).catch_unwind();
        tokio::pin!(run);
        let mut observer = OutputObserver::new(&self.agent, call);
        let forward = |observer: &mut OutputObserver<'_>, live: LiveOutput| {
            observer.add(&live.text);
            let event =
                ClientEvent::ToolOutput { call: call.id.clone(), text: live.text, skipped: live.skipped };
            self.agent.live.send(event);
        };
        let outcome = loop {
            tokio::select! {
                outcome = &mut run => break outcome.unwrap_or_else(|_| panicked_outcome(&call.name)),
                Some(live) = output.recv() => forward(&mut observer, live),
                () = observer.observe_next() => {}
                () = self.wait_for_stop_timeout(ctx) => break ToolOutcome::cancelled(),
            }
        };
        // What the tool wrote last.
        while let Ok(live) = output.try_recv() {
            forward(&mut observer, live);
        }
        tokio::select! {
            () = observer.finish() => {}
            () = self.cancel.cancelled() => {}
        }
        outcome
    }

    /// Returns when a stopped tool has used up its grace period.
    async fn wait_for_stop_timeout(&self, ctx: &ToolContext) {
        self.cancel.cancelled().await;
        tokio::time::sleep(ctx.limits.kill_grace + STOP_TIMEOUT).await;
    }

    /// Returns the outcome of a call that cannot succeed or may not run. If it may run, the fingerprint in the context limits the tool to exactly the previewed change.
    async fn check_approval(
        &self,
        call: &ToolCall,
        spec: Option<&ToolSpec>,
        ctx: &mut ToolContext,
    ) -> Result<Option<ToolOutcome>, AgentError> {
        let preview = match self.agent.config.tools.preview(call, ctx).await {
            Ok(preview) => preview,
            Err(outcome) => return Ok(Some(outcome)),
        };
        ctx.approved = preview.fingerprint.clone();
        let Some(spec) = spec else {
            return Ok(Some(ToolOutcome::failed(format!("there is no tool `{}`", call.name))));
        };
        let approvals = self.agent.current_approvals();
        let confined = approvals.sandboxed && !approvals.may_run_outside_sandbox(&preview.change);
        ctx.sandbox = ctx.sandbox.take().filter(|_| confined);
        let Decision::Ask { change: what, reason: ask_reason, offers } = approvals.decide(spec, &preview)
        else {
            return Ok(None);
        };
        let question = Question::Tool(ToolQuestion {
            call: call.clone(),
            change: what,
            reason: ask_reason,
            sandbox_denial: None,
            allowances: offers,
        });
        match self.agent.ask_user(question, &self.cancel).await {
            None => Ok(Some(ToolOutcome::cancelled())),
            Some(UserAnswer::Once) => Ok(None),
            Some(UserAnswer::No { reason } | UserAnswer::Text { text: reason }) => {
                Ok(Some(denied_outcome(&reason).with_detail("why", json!(ask_reason.name()))))
            }
            Some(UserAnswer::Always { allowance }) => {
                if matches!(allowance, Allowance::Outside(_)) {
                    ctx.sandbox = None;
                }
                self.store_allowance(allowance).await.map(|()| None)
            }
        }
    }
}

fn panicked_outcome(name: &str) -> ToolOutcome {
    tracing::error!("a tool crashed");
    ToolOutcome::failed(format!("{name} crashed; its effects are unknown. Try another way."))
}
