//! An agent as hooks reach it: they use it while it lives, and do not keep it alive.

use std::sync::{Arc, Weak};

use osier_model::CancellationToken;
use osier_protocol::{
    Attached, ClientEvent, DialogQuestion, ExtensionEvent, Question, RequestedSession, UserAnswer,
};
use serde_json::{Map, Value};
use tokio::sync::mpsc::WeakUnboundedSender;

use crate::context::AgentContext;
use crate::error::AgentError;
use crate::skills::{Skill, find_skills};
use crate::worker::{Worker, WorkerMessage};

/// The most events of extensions that wait for the first client.
const MAX_UNSEEN: usize = 1000;

/// See the module documentation.
#[derive(Debug, Clone)]
pub struct WeakWorker {
    agent: Weak<AgentContext>,
    mailbox: WeakUnboundedSender<WorkerMessage>,
}

impl WeakWorker {
    /// The agent, if it still works.
    pub fn upgrade(&self) -> Option<Worker> {
        Some(Worker { agent: self.agent.upgrade()?, mailbox: self.mailbox.upgrade()? })
    }
}

impl Worker {
    pub fn downgrade(&self) -> WeakWorker {
        WeakWorker { agent: Arc::downgrade(&self.agent), mailbox: self.mailbox.downgrade() }
    }

    /// Whether no turn runs.
    pub fn is_idle(&self) -> bool {
        !self.agent.state().turn_running
    }

    /// The system prompt at the position of the agent.
    pub async fn system_prompt(&self) -> Result<String, AgentError> {
        let (state, at) = self.agent.position();
        Ok(self.agent.system_prompt_at(&state, at).await?.text())
    }

    /// The sections of the system prompt at the position of the agent.
    pub async fn system_prompt_sections(&self) -> Result<Map<String, Value>, AgentError> {
        let (state, at) = self.agent.position();
        Ok(self.agent.system_prompt_at(&state, at).await?.sections().clone())
    }

    /// The instruction files that the system prompt contains, with their texts, and the skills.
    pub async fn system_prompt_files(&self) -> (Vec<(String, String)>, Vec<Skill>) {
        let (source, library) = (self.agent.config.system_prompt.clone(), self.agent.prompt_library());
        let read = move || (source.context_files(), find_skills(&library.skill_folders).0);
        // Without the files if reading them panics.
        tokio::task::spawn_blocking(read).await.unwrap_or_default()
    }

    pub fn has_queued_prompts(&self) -> bool {
        !self.agent.state().prompts.queue().is_empty()
    }

    /// Shows something of an extension to all clients. If there are none yet, the first one gets it; what stays on the screen
    /// goes to every client that attaches.
    pub fn show(&self, event: ExtensionEvent) {
        let mut agent_state = self.agent.state();
        if let Some(slot) = event.slot() {
            agent_state.kept.retain(|known| known.slot() != Some(slot));
            agent_state.kept.push(event.clone());
            if agent_state.kept.len() > MAX_UNSEEN {
                agent_state.kept.remove(0);
            }
            self.agent.live.send(ClientEvent::Extension(event));
            return;
        }
        match agent_state.has_clients {
            true => self.agent.live.send(ClientEvent::Extension(event)),
            false if agent_state.unseen.len() < MAX_UNSEEN => agent_state.unseen.push(event),
            false => {}
        }
    }

    /// Asks the client whose user acted last to open another session instead of this one. If it has left, or nobody has acted yet, all clients.
    pub fn request_session(&self, session: RequestedSession) {
        self.ask_active_client(ClientEvent::SessionRequested { session });
    }

    /// Asks the client whose user acted last to end. If it has left, or nobody has acted yet, all clients.
    pub fn request_quit(&self) {
        self.ask_active_client(ClientEvent::QuitRequested);
    }

    fn ask_active_client(&self, request: ClientEvent) {
        let active = self.agent.state().active_client;
        // It may have left, or attached again as another client.
        let recipient = active.filter(|client| self.agent.live.clients.contains(*client));
        self.agent.live.send_to(recipient, request);
    }

    /// Like [`Worker::attach`], for an extension that only observes.
    pub async fn attach_observer(&self) -> Result<Attached, AgentError> {
        self.agent.attach_observer().await
    }

    /// Asks the user for an extension. `None` without an answer.
    pub async fn ask_dialog(
        &self,
        question: DialogQuestion,
        cancel: &CancellationToken,
    ) -> Option<UserAnswer> {
        let answer = self.ask_question(question, cancel).await?;
        Some(answer).filter(|answer| !matches!(answer, UserAnswer::No { .. }))
    }

    /// Like [`Worker::ask_dialog`], but tells a refusal from no answer.
    pub async fn ask_question(
        &self,
        question: DialogQuestion,
        cancel: &CancellationToken,
    ) -> Option<UserAnswer> {
        self.agent.ask_user(Question::Dialog(question), cancel).await
    }
}
