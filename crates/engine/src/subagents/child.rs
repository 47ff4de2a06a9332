//! The session and the agent of a task. The session names its parent and the call that delegated the task. The agent has at
//! most the tools and rights of its parent, and never backtracks.

use std::sync::Arc;

use osier_agent::{AgentDefinition, AgentHandle, PromptLibrary, SystemPromptSource};
use osier_model::ModelInfo;
use osier_session::Session;
use osier_store::{Store, StoreError};
use osier_tree::Header;
use osier_tree::time::Millis;

use super::followed_run::{KILL_GRACE, Spent};
use super::task_tools::Delegation;
use super::{ParentAgent, TASK_TOOL};
use crate::agents::{AgentSpec, AgentStart};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::live_sessions::LiveSession;
use crate::tool_limit::ToolLimit;
use crate::workspace::Workspace;

impl Engine {
    /// The store for the children of a session: its own, or the first one if it is in none.
    pub(super) fn child_store(&self, parent: &Session) -> Arc<dyn Store> {
        self.store(parent.store().name()).unwrap_or_else(|| parent.store().clone())
    }

    /// Opens the session of a task, and creates it if it does not exist.
    pub(super) async fn open_child(
        &self,
        parent: &Session,
        id: &str,
        agent: &str,
        call: &str,
    ) -> Result<Arc<LiveSession>, EngineError> {
        let store = self.child_store(parent);
        let header = Header {
            parent_session: parent.file().map(|file| file.display().to_string()),
            parent_session_id: Some(parent.id().to_owned()),
            parent_store: Some(parent.store().name().to_owned()),
            agent_id: Some(agent.to_owned()),
            parent_tool_call_id: Some(call.to_owned()),
            ..Header::new(id, self.now(), &parent.header().cwd)
        };
        match store.create(&header, &[]).await {
            Ok(_) => {}
            Err(error @ StoreError::AlreadyExists { .. }) => {
                if !is_child(&store.open(id).await?.header, parent, Some(call)) {
                    return Err(error.into());
                }
            }
            Err(error) => return Err(error.into()),
        }
        self.open_live(store, id).await
    }
}

/// Whether a session belongs to a task of this parent, and of this call. A log can name any session.
pub(super) fn is_child(header: &Header, parent: &Session, call: Option<&str>) -> bool {
    header.parent_session_id.as_deref() == Some(parent.id())
        && header.parent_tool_call_id.as_deref().is_some_and(|own| call.is_none_or(|call| call == own))
}

impl Delegation {
    /// The agent that does a task.
    pub(super) fn child_spec(
        &self,
        parent: &AgentHandle,
        definition: &AgentDefinition,
        model: Arc<ModelInfo>,
        spent: &Spent,
    ) -> AgentSpec {
        let of_parent = &*self.spec.workspace;
        let mut tool_context = of_parent.tool_context.clone();
        tool_context.limits.kill_grace = tool_context.limits.kill_grace.min(KILL_GRACE);
        let depth = self.depth() + 1;
        let workspace = Workspace {
            backtracking: false,
            subagents: self.may_delegate(definition).then(|| self.config.clone()),
            system_prompt: Arc::new(ChildSystemPrompt {
                parent: of_parent.system_prompt.clone(),
                preamble: definition.prompt.clone(),
            }),
            // The text of a task comes from a model, not from a user who names templates.
            prompt_library: PromptLibrary::default(),
            tool_context,
            max_steps: match self.budget(definition).max_turns {
                Some(turns) => turns.saturating_sub(spent.turns),
                None => of_parent.max_steps,
            },
            ..of_parent.clone()
        };
        AgentSpec {
            workspace: Arc::new(workspace),
            model,
            overrides_session: false,
            thinking: definition.thinking,
            approval: definition.approval,
            summary_model: self.spec.summary_model.clone(),
            has_user: parent.has_user(),
            is_one_shot: false,
            start: AgentStart::default(),
            parent: Some(ParentAgent { agent: parent.clone(), depth }),
            tool_limit: Some(ToolLimit {
                tools: self.tools.clone(),
                names: definition.tools.clone(),
                allows_hook_tools: self.spec.tool_limit.as_ref().is_none_or(|limit| limit.allows_hook_tools),
            }),
        }
    }

    pub(super) fn may_delegate(&self, definition: &AgentDefinition) -> bool {
        let is_wanted =
            definition.tools.as_ref().is_none_or(|tools| tools.iter().any(|tool| tool == TASK_TOOL));
        is_wanted && self.depth() + 1 < self.config.max_depth
    }
}

/// The system prompt of the parent's workspace, with the text of the agent's definition instead of its preamble.
#[derive(Debug)]
struct ChildSystemPrompt {
    parent: Arc<dyn SystemPromptSource>,
    preamble: String,
}

impl SystemPromptSource for ChildSystemPrompt {
    fn sections(&self, now: Millis) -> Vec<(String, String)> {
        let is_kept = |(name, _): &(String, String)| !matches!(name.as_str(), "preamble" | "append");
        let others = self.parent.sections(now).into_iter().filter(is_kept);
        [("preamble".to_owned(), self.preamble.clone())].into_iter().chain(others).collect()
    }
}
