//! The agent of a try. Its tools and commands cannot leave its copy of the project; without a copy, it only reads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use osier_agent::SystemPromptSource;
use osier_model::ModelInfo;
use osier_tools::sandbox::SandboxRules;
use osier_tools::{
    ApprovalMode, Confinement, ProtectedPaths, Sandbox, ToolContext, ToolKind, ToolSet, Toolbox,
};
use osier_tree::time::Millis;

use super::project_copy::ProjectRoot;
use crate::agents::{AgentSpec, AgentStart};
use crate::subagents::followed_run::KILL_GRACE;
use crate::tool_limit::ToolLimit;
use crate::workspace::Workspace;

/// The copy that a try works in.
#[derive(Debug, Clone)]
pub(super) struct TryCopy {
    pub(super) project: ProjectRoot,
    /// The folder of the explore.
    pub(super) explore: PathBuf,
    /// The copy of the root of the project.
    pub(super) root: PathBuf,
}

/// The agent of a try: that of the session, in its copy. May wait for a process that tests the sandbox.
///
/// Tools of hooks run in the project and not in the copy, so a try does not have them. It never backtracks: a checkpoint before
/// its start is outside its branch.
pub(super) fn try_spec(
    spec: &AgentSpec,
    tools: Arc<dyn Toolbox>,
    model: Arc<ModelInfo>,
    copy: Option<&TryCopy>,
) -> AgentSpec {
    let of_session = &*spec.workspace;
    let (workspace, approval) = match copy {
        Some(copy) => {
            let tool_context = confined_context(&of_session.tool_context, copy);
            let sandboxed = tool_context.sandbox.as_ref().is_some_and(|sandbox| sandbox.state().is_ok());
            // Nothing in the copy is worth a question. A command that no sandbox confines is.
            let approval = if sandboxed { ApprovalMode::Sandbox } else { ApprovalMode::AutoEdit };
            let system_prompt = Arc::new(TrySystemPrompt {
                of_session: of_session.system_prompt.clone(),
                cwd: of_session.tool_context.cwd.clone(),
                copy: tool_context.cwd.clone(),
            });
            let workspace =
                Workspace { tool_context, system_prompt, backtracking: false, ..of_session.clone() };
            (workspace, Some(approval))
        }
        None => {
            let tools = reading_tools(&of_session.tools);
            (Workspace { tools, backtracking: false, ..of_session.clone() }, spec.approval)
        }
    };
    AgentSpec {
        workspace: Arc::new(workspace),
        model,
        overrides_session: true,
        thinking: spec.thinking,
        approval,
        start: AgentStart::default(),
        tool_limit: Some(ToolLimit { tools, names: None, allows_hook_tools: false }),
        ..spec.clone()
    }
}

/// The tools that change nothing.
fn reading_tools(tools: &ToolSet) -> ToolSet {
    let specs = tools.specs().into_iter().filter(|spec| spec.kind == ToolKind::Reads);
    let names: Vec<String> = specs.map(|spec| spec.name).collect();
    tools.clone().only(&names).unwrap_or_default()
}

fn confined_context(of_session: &ToolContext, copy: &TryCopy) -> ToolContext {
    let mut limits = of_session.limits;
    limits.kill_grace = limits.kill_grace.min(KILL_GRACE);
    let readable = [&of_session.artifacts].into_iter().filter_map(|folder| folder.canonicalize().ok());
    ToolContext {
        cwd: copy.root.join(&copy.project.prefix),
        protected: Arc::new(
            ProtectedPaths::clone(&of_session.protected).with_writable_folder(copy.root.clone()),
        ),
        sandbox: of_session.sandbox.as_ref().map(|sandbox| Arc::new(confined_sandbox(sandbox, copy))),
        confinement: Some(Arc::new(Confinement { root: copy.root.clone(), readable: readable.collect() })),
        limits,
        ..of_session.clone()
    }
}

/// The sandbox of the session, around the copy instead of the project.
fn confined_sandbox(sandbox: &Sandbox, copy: &TryCopy) -> Sandbox {
    let rules = &sandbox.rules;
    let project = &copy.project.root;
    let touches_project = |path: &Path| path.starts_with(project) || project.starts_with(path);
    let write = rules.write.iter().filter(|path| {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        !touches_project(&real)
    });
    sandbox.with_rules(SandboxRules {
        project: copy.root.clone(),
        write: write.cloned().collect(),
        show: rules.show.iter().cloned().chain([copy.root.clone(), copy.explore.join("base.git")]).collect(),
        ..rules.clone()
    })
}

/// The system prompt of the session, with the copy as the working directory.
#[derive(Debug)]
struct TrySystemPrompt {
    of_session: Arc<dyn SystemPromptSource>,
    cwd: PathBuf,
    copy: PathBuf,
}

impl SystemPromptSource for TrySystemPrompt {
    fn sections(&self, now: Millis) -> Vec<(String, String)> {
        let (cwd, copy) = (self.cwd.display().to_string(), self.copy.display().to_string());
        let mut sections = self.of_session.sections(now);
        for (name, text) in &mut sections {
            if name == "environment" {
                *text = format!(
                    "{}\n- This is your own copy of the project in {cwd}. Work only in the copy, with relative paths.",
                    text.replace(&cwd, &copy)
                );
            }
        }
        sections
    }
}
