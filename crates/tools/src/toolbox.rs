//! The standard implementation of `Toolbox`: a list of tools, found by name.

use std::sync::Arc;

use async_trait::async_trait;

use crate::builtin;
use crate::context::ToolContext;
use crate::matching;
use crate::outcome::ToolOutcome;
use crate::tool::{Preview, Tool, ToolCall, ToolSpec, Toolbox};

/// Tools with their specs, in a fixed order.
#[derive(Debug, Clone, Default)]
pub struct ToolSet(Vec<(ToolSpec, Arc<dyn Tool>)>);

impl ToolSet {
    /// All tools of this crate.
    pub fn standard() -> ToolSet {
        builtin::all_tools().into_iter().fold(ToolSet::default(), ToolSet::with)
    }

    /// Adds a tool at the end, or replaces the tool with the same name.
    pub fn with(mut self, tool: Arc<dyn Tool>) -> ToolSet {
        let spec = tool.spec();
        match self.0.iter_mut().find(|(known, _)| known.name == spec.name) {
            Some(place) => *place = (spec, tool),
            None => self.0.push((spec, tool)),
        }
        self
    }

    /// Keeps only the named tools. The error contains the unknown names.
    pub fn only(mut self, names: &[impl AsRef<str>]) -> Result<ToolSet, Vec<String>> {
        let has = |name: &&str| self.0.iter().any(|(spec, _)| spec.name == *name);
        let unknown: Vec<String> =
            names.iter().map(AsRef::as_ref).filter(|name| !has(name)).map(str::to_owned).collect();
        if !unknown.is_empty() {
            return Err(unknown);
        }
        self.0.retain(|(spec, _)| names.iter().any(|name| name.as_ref() == spec.name));
        Ok(self)
    }

    fn find(&self, name: &str) -> Result<&dyn Tool, ToolOutcome> {
        let found = self.0.iter().find(|(spec, _)| spec.name == name);
        found.map(|(_, tool)| &**tool).ok_or_else(|| self.unknown_tool(name))
    }

    fn unknown_tool(&self, name: &str) -> ToolOutcome {
        let names = || self.0.iter().map(|(spec, _)| spec.name.as_str());
        let all = names().collect::<Vec<_>>().join(", ");
        let hint =
            matching::nearest(name, names()).map(|near| format!(" did you mean {near}?")).unwrap_or_default();
        ToolOutcome::failed(format!("there is no tool `{name}`;{hint} available tools: {all}"))
    }
}

#[async_trait]
impl Toolbox for ToolSet {
    fn specs(&self) -> Vec<ToolSpec> {
        self.0.iter().map(|(spec, _)| spec.clone()).collect()
    }

    async fn preview(&self, call: &ToolCall, ctx: &ToolContext) -> Result<Preview, ToolOutcome> {
        self.find(&call.name)?.preview(&call.arguments, ctx).await
    }

    async fn run(&self, call: ToolCall, ctx: &ToolContext) -> ToolOutcome {
        match self.find(&call.name) {
            Ok(tool) => ctx.secrets.redact_outcome(tool.run(call.arguments, ctx).await),
            Err(outcome) => outcome,
        }
    }
}
