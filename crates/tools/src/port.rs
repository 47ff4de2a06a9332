//! The ports: what a tool is, and the box of tools an agent is given. Gates and extensions wrap or replace either.

use std::fmt::Debug;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::ToolContext;
use crate::outcome::ToolOutcome;
use crate::paths::Touches;
use crate::seal::Seal;

/// What a tool does to the world, as far as approval is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// Looks at files and changes nothing.
    Reads,
    /// Changes files, and only those its preview names.
    Writes,
    /// Runs something that may do anything.
    Runs,
    /// Touches the conversation only.
    Neutral,
}

/// What a model is told about a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// A JSON schema of the arguments.
    pub parameters: Value,
    pub kind: Kind,
}

/// A call as the model made it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub arguments: Value,
}

/// What a call would do, in the form in which a person is asked about it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Change {
    /// Nothing outside the conversation.
    Nothing,
    /// This command line would run.
    Command { command: String },
    /// This file would change so. The diff is whole, and as raw as the content: see [`crate::visible`]. It is empty if nothing
    /// changes, or if the new file is empty.
    Diff { path: String, diff: String, created: bool },
    /// A tool that cannot foretell: these are its arguments.
    Call { arguments: Value },
}

/// What a call would touch and change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Preview {
    pub touches: Touches,
    pub change: Change,
    /// The families of commands that a command line consists of; none if it is more than that. See [`crate::approvals`].
    #[serde(skip)]
    pub families: Vec<&'static str>,
    /// Goes into the context of the run, so that nothing but this is done.
    #[serde(skip)]
    pub seal: Option<Seal>,
}

impl Preview {
    /// A call that touches no file by itself.
    pub fn of(change: Change) -> Preview {
        Preview { touches: Touches::default(), change, families: Vec::new(), seal: None }
    }

    pub fn nothing() -> Preview {
        Preview::of(Change::Nothing)
    }
}

/// One thing a model can do.
#[async_trait]
pub trait Tool: Send + Sync + Debug {
    fn spec(&self) -> ToolSpec;

    /// Foretells a call without changing anything. `Err` is the outcome of a call that cannot succeed, so that nobody is
    /// asked to approve it.
    async fn preview(&self, arguments: &Value, _ctx: &ToolContext) -> Result<Preview, ToolOutcome> {
        Ok(Preview::of(Change::Call { arguments: arguments.clone() }))
    }

    /// Runs a call. Dropping the future stops it; so does the context's token, with an outcome.
    async fn run(&self, arguments: Value, ctx: &ToolContext) -> ToolOutcome;
}

/// All the tools of an agent.
#[async_trait]
pub trait Toolbox: Send + Sync + Debug {
    /// In the order in which they are told to the model.
    fn specs(&self) -> Vec<ToolSpec>;

    /// See [`Tool::preview`].
    async fn preview(&self, call: &ToolCall, ctx: &ToolContext) -> Result<Preview, ToolOutcome>;

    /// See [`Tool::run`].
    async fn run(&self, call: ToolCall, ctx: &ToolContext) -> ToolOutcome;
}
