//! Running the tool calls of a reply: asks for approval where needed, and stores one result entry for each
//! call.
//!
//! Calls that only read run in parallel; all others run alone and in order. Results are stored in call order,
//! each as soon as the earlier ones are stored.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt, stream};
use osier_tools::approvals::{Approvals, Decision, denied};
use osier_tools::{Kind, Progress, ToolCall, ToolContext, ToolOutcome, ToolSpec};
use osier_tree::Why;
use osier_tree::note::INVALID_ARGUMENTS;
use serde_json::json;
use tokio::sync::mpsc;

use crate::asking::{Answer, Question, ToolQuestion};
use crate::backtrack;
use crate::error::Error;
use crate::live::Live;
use crate::tail::Call;
use crate::turn::Turn;

/// How many calls run in parallel.
const TOGETHER: usize = 8;

/// How long a stopped tool may take to clean up, beyond its own grace period.
const PATIENCE: Duration = Duration::from_secs(5);

impl Turn {
    pub(crate) async fn run_tools(&self, calls: Vec<Call>) -> Result<(), Error> {
        let calls: Vec<Checked> = calls.into_iter().map(Checked::new).collect();
        let specs = self.work.specs();
        let spec = |call: &ToolCall| specs.iter().find(|spec| spec.name == call.name);
        let reads = |call: &Checked| spec(&call.call).is_some_and(|spec| spec.kind == Kind::Reads);
        let mut rest = calls.as_slice();
        while !rest.is_empty() && !self.cancel.is_cancelled() {
            let batch = rest.iter().take_while(|call| reads(call)).count().max(1);
            let (batch, later) = rest.split_at(batch);
            let ctx = self.tool_context().await?;
            let mut runs = Vec::with_capacity(batch.len());
            for call in batch {
                runs.push(self.answer_call(call, spec(&call.call), &ctx).boxed());
            }
            let mut outcomes = stream::iter(runs).buffered(TOGETHER);
            for call in batch {
                let Some(outcome) = outcomes.next().await else { break };
                let message = outcome?.message(&call.call, self.work.clock());
                self.work.store_message_or_wait(&message, &self.cancel).await?;
            }
            rest = later;
        }
        Ok(())
    }

    /// Stores results for calls that do not run.
    pub(crate) async fn stop_calls(&self, calls: Vec<Call>, why: Why) -> Result<(), Error> {
        let outcome = match why {
            Why::Error => ToolOutcome::failed("This call was not run: the reply broke off."),
            Why::Length => ToolOutcome::failed(
                "This call was not run: the reply reached the output limit, so it may be incomplete. Make it shorter.",
            ),
            _ => ToolOutcome::cancelled(),
        };
        for Checked { call, .. } in calls.into_iter().map(Checked::new) {
            self.work.say(&outcome.message(&call, self.work.clock())).await?;
        }
        Ok(())
    }

    async fn tool_context(&self) -> Result<ToolContext, Error> {
        let files_read = self.work.side_state().await?.files;
        let context = self.work.parts.context.clone();
        Ok(ToolContext { cancel: self.cancel.child_token(), files_read, ..context })
    }

    async fn answer_call(
        &self,
        call: &Checked,
        spec: Option<&ToolSpec>,
        ctx: &ToolContext,
    ) -> Result<ToolOutcome, Error> {
        match &call.invalid {
            Some(error) => Ok(ToolOutcome::failed(format!("{INVALID_ARGUMENTS}{error}"))),
            None => self.run_call(&call.call, spec, ctx).await,
        }
    }

    async fn run_call(
        &self,
        call: &ToolCall,
        spec: Option<&ToolSpec>,
        ctx: &ToolContext,
    ) -> Result<ToolOutcome, Error> {
        if backtrack::is_backtrack(call) {
            return self.schedule_backtrack(call).await;
        }
        let (progress, mut output) = Progress::channel(64);
        let mut ctx = ToolContext { progress, ..ctx.clone() };
        if let Some(refusal) = self.refusal(call, spec, &mut ctx).await? {
            return Ok(refusal);
        }
        let teller = &self.work.teller;
        teller.tell(Live::ToolStarted {
            call: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        });
        let mut outcome = self.execute(call, &ctx, &mut output).await;
        if let Some(question) = self.leave_sandbox(call, &ctx, &outcome) {
            outcome = match self.ask_to_leave(question, &outcome).await? {
                Some(outcome) => outcome,
                None => {
                    ctx.sandbox = None;
                    self.execute(call, &ctx, &mut output).await
                }
            };
        }
        teller.tell(Live::ToolEnded { call: call.id.clone(), is_error: outcome.is_error });
        Ok(outcome)
    }

    /// Runs an approved call and forwards its output.
    async fn execute(
        &self,
        call: &ToolCall,
        ctx: &ToolContext,
        output: &mut mpsc::Receiver<osier_tools::Live>,
    ) -> ToolOutcome {
        let run = AssertUnwindSafe(self.work.parts.tools.run(call.clone(), ctx)).catch_unwind();
        tokio::pin!(run);
        loop {
            tokio::select! {
                outcome = &mut run => break outcome.unwrap_or_else(|_| broke_down(&call.name)),
                Some(live) = output.recv() => {
                    let event = Live::ToolOutput { call: call.id.clone(), text: live.text, skipped: live.skipped };
                    self.work.teller.tell(event);
                }
                () = self.lost_patience(ctx) => break ToolOutcome::cancelled(),
            }
        }
    }

    /// Returns when a stopped tool has used up its grace period.
    async fn lost_patience(&self, ctx: &ToolContext) {
        self.cancel.cancelled().await;
        tokio::time::sleep(ctx.limits.grace + PATIENCE).await;
    }

    /// Returns the outcome of a call that cannot succeed or may not run. If it may run, the seal in the
    /// context limits the tool to exactly the previewed change.
    async fn refusal(
        &self,
        call: &ToolCall,
        spec: Option<&ToolSpec>,
        ctx: &mut ToolContext,
    ) -> Result<Option<ToolOutcome>, Error> {
        let preview = match self.work.parts.tools.preview(call, ctx).await {
            Ok(preview) => preview,
            Err(outcome) => return Ok(Some(outcome)),
        };
        ctx.seal = preview.seal.clone();
        let Some(spec) = spec else {
            return Ok(Some(ToolOutcome::failed(format!("there is no tool `{}`", call.name))));
        };
        let approvals = self.approvals();
        let confined = approvals.confined && !approvals.outside(&preview.change);
        ctx.sandbox = ctx.sandbox.take().filter(|_| confined);
        let Decision::Ask { what, why, offers } = approvals.decide(spec, &preview) else { return Ok(None) };
        let question = Question::Tool(ToolQuestion { call: call.clone(), what, why, because: None, offers });
        match self.work.ask(question, &self.cancel).await {
            None => Ok(Some(ToolOutcome::cancelled())),
            Some(Answer::Once) => Ok(None),
            Some(Answer::No(reason)) => Ok(Some(denied(&reason).with("why", json!(why.name())))),
            Some(Answer::Always(allowance)) => self.remember(allowance).await.map(|()| None),
        }
    }

    /// The session's approvals, with the mode of this run.
    pub(crate) fn approvals(&self) -> Approvals {
        let (chosen, allowed) = {
            let agent_state = self.work.now();
            (agent_state.approval, agent_state.allowed.clone())
        };
        let stored = match self.work.parts.own_approvals {
            true => {
                let settings = self.work.session.tree().marks().settings().clone();
                Approvals::from_settings(&settings.into_iter().collect())
            }
            false => allowed,
        };
        let mode = chosen.unwrap_or(stored.mode);
        Approvals { mode, confined: self.confines(mode), ..stored }
    }
}

fn broke_down(name: &str) -> ToolOutcome {
    ToolOutcome::failed(format!("{name} crashed; its effects are unknown. Try another way."))
}

/// A tool call, and why its arguments could not be parsed.
struct Checked {
    call: ToolCall,
    invalid: Option<String>,
}

impl Checked {
    fn new(call: Call) -> Checked {
        let Call { id, name, arguments, invalid } = call;
        Checked { call: ToolCall { id, name, arguments }, invalid }
    }
}
