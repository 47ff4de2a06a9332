//! The tools of an agent that works for another one: at most those that the other agent has at this moment, and of these only the
//! ones that its definition names. Hooks add tools to each session, so the limit stands in front of these too.

use std::sync::Arc;

use async_trait::async_trait;
use osier_tools::{Preview, ToolCall, ToolContext, ToolOutcome, ToolSpec, Toolbox};

/// Which tools an agent has at most.
#[derive(Debug, Clone)]
pub struct ToolLimit {
    /// The tools of the other agent.
    pub tools: Arc<dyn Toolbox>,
    /// The names that are allowed; `None` means all of them.
    pub names: Option<Vec<String>>,
    /// Tools of hooks run in the project. An agent with its own copy of the project cannot have them.
    pub allows_hook_tools: bool,
}

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct LimitedTools {
    inner: Arc<dyn Toolbox>,
    limit: ToolLimit,
}

impl LimitedTools {
    pub(crate) fn new(inner: Arc<dyn Toolbox>, limit: ToolLimit) -> LimitedTools {
        LimitedTools { inner, limit }
    }

    fn check(&self, name: &str) -> Result<(), ToolOutcome> {
        let is_known = self.inner.specs().iter().any(|spec| spec.name == name);
        // The inner toolbox explains which tools exist.
        if !is_known || self.specs().iter().any(|spec| spec.name == name) {
            return Ok(());
        }
        Err(ToolOutcome::failed(format!("there is no tool `{name}`")))
    }
}

#[async_trait]
impl Toolbox for LimitedTools {
    fn specs(&self) -> Vec<ToolSpec> {
        let ToolLimit { tools, names, .. } = &self.limit;
        let allowed = tools.specs();
        let is_allowed = |spec: &ToolSpec| {
            names.as_ref().is_none_or(|names| names.contains(&spec.name))
                && allowed.iter().any(|other| other.name == spec.name)
        };
        self.inner.specs().into_iter().filter(is_allowed).collect()
    }

    fn runs_in_parallel(&self, name: &str) -> bool {
        self.inner.runs_in_parallel(name)
    }

    fn prompt_section(&self, tools: &[ToolSpec]) -> Option<String> {
        self.inner.prompt_section(tools)
    }

    async fn preview(&self, call: &ToolCall, ctx: &ToolContext) -> Result<Preview, ToolOutcome> {
        self.check(&call.name)?;
        self.inner.preview(call, ctx).await
    }

    async fn run(&self, call: ToolCall, ctx: &ToolContext) -> ToolOutcome {
        match self.check(&call.name) {
            Ok(()) => self.inner.run(call, ctx).await,
            Err(outcome) => outcome,
        }
    }

    async fn resume(&self, call: &ToolCall, ctx: &ToolContext) -> Option<ToolOutcome> {
        self.check(&call.name).ok()?;
        self.inner.resume(call, ctx).await
    }

    async fn abandon(&self, call: &ToolCall, ctx: &ToolContext) {
        self.inner.abandon(call, ctx).await;
    }
}
