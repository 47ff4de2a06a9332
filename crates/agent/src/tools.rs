//! Running the tools a reply calls: asked about where the session's settings say so, one result entry for each call.

use osier_tools::approvals::{Approvals, Decision, denied};
use osier_tools::{Progress, ToolCall, ToolContext, ToolOutcome, ToolSpec};
use serde_json::Map;

use crate::asking::{Answer, Question};
use crate::tail::Call;
use crate::turn::{Agent, Error, Live};

impl Agent {
    /// Runs the calls in their order. Each result is stored the moment it exists.
    pub(crate) async fn run_tools(&self, calls: Vec<Call>) -> Result<(), Error> {
        for call in calls.into_iter().map(tool_call) {
            if self.cancel.is_cancelled() {
                return Ok(());
            }
            let outcome = self.run(&call).await?;
            self.say(outcome.message(&call, self.now())).await?;
        }
        Ok(())
    }

    pub(crate) async fn stop_calls(&self, calls: Vec<Call>) -> Result<(), Error> {
        for call in calls.into_iter().map(tool_call) {
            self.say(ToolOutcome::cancelled().message(&call, self.now())).await?;
        }
        Ok(())
    }

    async fn run(&self, call: &ToolCall) -> Result<ToolOutcome, Error> {
        let Some(spec) = self.tools.specs().into_iter().find(|spec| spec.name == call.name) else {
            let names: Vec<String> = self.tools.specs().into_iter().map(|spec| spec.name).collect();
            return Ok(ToolOutcome::failed(format!(
                "there is no tool {}; there are {}",
                call.name,
                names.join(", ")
            )));
        };
        let (progress, mut output) = Progress::channel(64);
        let ctx = ToolContext { cancel: self.cancel.child_token(), progress, ..self.settings.tools.clone() };
        if let Some(refusal) = self.refusal(call, &spec, &ctx).await? {
            return Ok(refusal);
        }
        self.tell(Live::ToolStarted {
            call: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        });
        let run = self.tools.run(call.clone(), &ctx);
        tokio::pin!(run);
        let outcome = loop {
            tokio::select! {
                outcome = &mut run => break outcome,
                Some(live) = output.recv() => self.tell(Live::ToolOutput { call: call.id.clone(), text: live.text }),
            }
        };
        self.tell(Live::ToolEnded { call: call.id.clone(), is_error: outcome.is_error });
        Ok(outcome)
    }

    /// What the model is told instead of a result, if the call cannot succeed or may not run.
    async fn refusal(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        ctx: &ToolContext,
    ) -> Result<Option<ToolOutcome>, Error> {
        let preview = match self.tools.preview(call, ctx).await {
            Ok(preview) => preview,
            Err(outcome) => return Ok(Some(outcome)),
        };
        let settings: Map<_, _> = self.session.tree().marks().settings().clone().into_iter().collect();
        let mut approvals = Approvals::from_settings(&settings);
        let Decision::Ask { what, why, offers } = approvals.decide(spec, &preview) else { return Ok(None) };
        match self.asker.ask(Question { call: call.clone(), what, why, offers }).await {
            Answer::Once => Ok(None),
            Answer::No(reason) => Ok(Some(denied(&reason))),
            Answer::Always(allowance) => {
                approvals.allow(allowance);
                let mut set = approvals.to_settings();
                set.retain(|key, _| key == "approvalTools");
                self.session.config(set, Vec::new()).await?;
                Ok(None)
            }
        }
    }

    fn tell(&self, live: Live) {
        // Nobody has to look.
        let _ = self.live.send(live);
    }
}

fn tool_call(call: Call) -> ToolCall {
    ToolCall { id: call.id, name: call.name, arguments: call.arguments }
}
