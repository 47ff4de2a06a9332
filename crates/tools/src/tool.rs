//! The traits `Tool` and `Toolbox`, and their types. Gates and extensions can wrap or replace both.

use std::fmt::Debug;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::ToolContext;
use crate::fingerprint::ChangeFingerprint;
use crate::outcome::ToolOutcome;
use crate::paths::TouchedPaths;

/// What a tool can do, for the approval decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolKind {
    /// Only reads files.
    Reads,
    /// Changes only the files that its preview names.
    Writes,
    /// Runs programs, which may do anything.
    Runs,
    /// Affects only the conversation.
    Neutral,
    /// Starts other agents, whose calls need approval one by one.
    Delegates,
}

/// The description of a tool for the model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// The JSON schema of the arguments.
    pub parameters: Value,
    pub kind: ToolKind,
}

/// A call as the model made it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub arguments: Value,
}

/// What a call would do, as shown in the approval question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ProposedChange {
    /// Nothing outside the conversation.
    Nothing,
    /// Runs this command line.
    Command { command: String },
    /// Changes this file. The diff is complete and unescaped: see [`crate::visible`]. It is empty if nothing changes, or if the
    /// new file is empty.
    Diff { path: String, diff: String, created: bool },
    /// The effect is unknown; these are the arguments.
    Call { arguments: Value },
}

/// What a call would touch and change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Preview {
    pub touches: TouchedPaths,
    pub change: ProposedChange,
    /// The command families that a command line consists of; empty if it contains anything else. See [`crate::approvals`].
    #[serde(skip)]
    pub families: Vec<&'static str>,
    /// Pass this in the context of the run, so that only this change can be made.
    #[serde(skip)]
    pub fingerprint: Option<ChangeFingerprint>,
}

impl Preview {
    /// A call that changes no files directly.
    pub fn from_change(change: ProposedChange) -> Preview {
        Preview { touches: TouchedPaths::default(), change, families: Vec::new(), fingerprint: None }
    }

    pub fn nothing() -> Preview {
        Preview::from_change(ProposedChange::Nothing)
    }
}

/// A tool that the model can call.
#[async_trait]
pub trait Tool: Send + Sync + Debug {
    fn spec(&self) -> ToolSpec;

    /// Predicts the effect of a call without changing anything. `Err` is the outcome of a call that cannot succeed, so that the
    /// user is not asked to approve it.
    async fn preview(&self, arguments: &Value, _ctx: &ToolContext) -> Result<Preview, ToolOutcome> {
        Ok(Preview::from_change(ProposedChange::Call { arguments: arguments.clone() }))
    }

    /// Runs a call. Dropping the future stops it. Canceling the token of the context stops it too, with an outcome.
    async fn run(&self, arguments: Value, ctx: &ToolContext) -> ToolOutcome;
}

/// All the tools of an agent.
#[async_trait]
pub trait Toolbox: Send + Sync + Debug {
    /// All specs, in the order in which the model sees them.
    fn specs(&self) -> Vec<ToolSpec>;

    /// What the system prompt says about these tools, beyond their descriptions.
    fn prompt_section(&self, _tools: &[ToolSpec]) -> Option<String> {
        None
    }

    /// Whether calls of a tool may run beside others of such tools, although it is not one that only reads or delegates.
    fn runs_in_parallel(&self, _name: &str) -> bool {
        false
    }

    /// See [`Tool::preview`].
    async fn preview(&self, call: &ToolCall, ctx: &ToolContext) -> Result<Preview, ToolOutcome>;

    /// See [`Tool::run`].
    async fn run(&self, call: ToolCall, ctx: &ToolContext) -> ToolOutcome;

    /// Continues a call that a process left without a result when it ended. `None` if that is not possible: the call stays
    /// interrupted.
    async fn resume(&self, _call: &ToolCall, _ctx: &ToolContext) -> Option<ToolOutcome> {
        None
    }

    /// Ends what a call left that a process did not finish, because the conversation goes on without its result.
    async fn abandon(&self, _call: &ToolCall, _ctx: &ToolContext) {}
}
