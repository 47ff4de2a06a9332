//! What an agent may do without asking now: the approvals of its session and of this run. A sub-agent never may do more than
//! the agent that it works for.

use osier_tools::ApprovalMode;
use osier_tools::approvals::{Allowance, Approvals};

use crate::context::AgentContext;

impl AgentContext {
    /// The approvals in effect.
    pub(crate) fn current_approvals(&self) -> Approvals {
        let (own, mode) = (self.own_approvals(), self.chosen_mode());
        let Some(parent) = &self.config.parent else {
            return self.in_mode(own, mode.unwrap_or_default());
        };
        let mut approvals = parent.approvals();
        own.allowed.into_iter().for_each(|allowance| approvals.allow(allowance));
        let mode = mode.map_or(approvals.mode, |mode| mode.min(approvals.mode));
        self.in_mode(approvals, mode)
    }

    fn in_mode(&self, approvals: Approvals, mode: ApprovalMode) -> Approvals {
        let sandboxed = self.runs_sandboxed(mode);
        let mut approvals = Approvals { mode, sandboxed, ..approvals };
        if self.is_confined() && !sandboxed {
            // What the user allowed was allowed for the project. Here, nothing keeps a command in the copy.
            approvals.forget_commands();
        }
        approvals
    }

    /// What the user allowed in this session, or in this run if the session is not trusted.
    pub(crate) fn own_approvals(&self) -> Approvals {
        let mut approvals = match self.config.trust_session_approvals {
            true => {
                let settings = self.session.tree().marks().settings().clone();
                Approvals::from_settings(&settings.into_iter().collect())
            }
            false => self.state().run_approvals.clone(),
        };
        if self.is_confined() {
            approvals.allowed.retain(|allowance| !matches!(allowance, Allowance::Outside(_)));
        }
        approvals
    }

    /// Whether the agent works in its own copy of the project, which its commands never leave.
    pub(crate) fn is_confined(&self) -> bool {
        self.config.tool_context.confinement.is_some()
    }

    /// The mode that was chosen for this run or for this session. `None` if none was chosen.
    fn chosen_mode(&self) -> Option<ApprovalMode> {
        let of_run = self.state().approval_mode;
        let has_mode = || {
            self.config.trust_session_approvals
                && self.session.tree().marks().settings().contains_key("approvalMode")
        };
        of_run.or_else(|| has_mode().then(|| self.own_approvals().mode))
    }

    /// Whether commands run in the sandbox in this mode. An unavailable sandbox confines nothing.
    pub(crate) fn runs_sandboxed(&self, mode: ApprovalMode) -> bool {
        let sandbox = self.config.tool_context.sandbox.as_ref();
        sandbox.is_some_and(|sandbox| match mode {
            ApprovalMode::Yolo => false,
            ApprovalMode::Sandbox => sandbox.state().is_ok(),
            ApprovalMode::Default | ApprovalMode::AutoEdit => {
                !sandbox.rules.only_in_mode && sandbox.state().is_ok()
            }
        })
    }
}
