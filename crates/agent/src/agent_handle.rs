//! What an agent offers to the tools of the engine that run inside its turns: entries at its cursor, events and questions for
//! its clients, and its current rights. It does not keep the agent alive.

use std::sync::{Arc, Weak};

use osier_model::CancellationToken;
use osier_protocol::{ClientEvent, Question, UserAnswer};
use osier_session::{Commit, Session, StoredEntry};
use osier_store::StoreError;
use osier_tools::approvals::Approvals;
use osier_tree::entry::parse_entry;
use osier_tree::scan::RawJson;
use osier_tree::{DraftParent, EntryDraft, EntryId, EntryKind, PlanError, Seq};
use serde_json::{Map, Value};

use crate::context::AgentContext;
use crate::error::AgentError;
use crate::model_choice::ModelChoice;
use crate::tail::last_reply;

/// See the module documentation. Clones refer to the same agent.
#[derive(Debug, Clone)]
pub struct AgentHandle(Weak<AgentContext>);

impl AgentHandle {
    pub(crate) fn new(agent: &Arc<AgentContext>) -> AgentHandle {
        AgentHandle(Arc::downgrade(agent))
    }

    fn agent(&self) -> Result<Arc<AgentContext>, AgentError> {
        self.0.upgrade().ok_or(AgentError::Closed)
    }

    pub fn session(&self) -> Result<Session, AgentError> {
        Ok(self.agent()?.session.clone())
    }

    /// The model and thinking level in use.
    pub async fn model_choice(&self) -> Result<ModelChoice, AgentError> {
        self.agent()?.model_choice().await
    }

    /// Whether a user is present to answer questions.
    pub fn has_user(&self) -> bool {
        self.agent().is_ok_and(|agent| agent.config.has_user)
    }

    /// The rights of the agent now. Without the agent there are none beyond the defaults.
    pub fn approvals(&self) -> Approvals {
        self.agent().map(|agent| agent.current_approvals()).unwrap_or_default()
    }

    /// Appends an entry at the cursor. `fields` has everything except id, parent and time.
    pub async fn append_entry(
        &self,
        kind: EntryKind,
        fields: &Map<String, Value>,
    ) -> Result<StoredEntry, AgentError> {
        let line = serde_json::to_vec(fields).unwrap_or_default();
        self.agent()?.commit(move |_, at| entry_draft(kind, DraftParent::At(at), &line)).await
    }

    /// Records how far a batch of sub-agents is, or how it ended.
    pub async fn update_batch(
        &self,
        batch: &EntryId,
        status: &str,
        payload: Value,
    ) -> Result<(), AgentError> {
        let (batch, status) = (batch.to_string(), status.to_owned());
        let update = Commit::new(move |tree, _| tree.plan_entry_update(&batch, &status, &payload));
        self.agent()?.session.commit(update).await?;
        Ok(())
    }

    /// Tells all attached clients.
    pub fn send_event(&self, event: ClientEvent) {
        if let Ok(agent) = self.agent() {
            agent.live.send(event);
        }
    }

    /// Asks the attached clients on behalf of another agent. Returns `None` if `cancel` comes first.
    pub async fn ask(
        &self,
        question: Question,
        on_behalf_of: String,
        cancel: &CancellationToken,
    ) -> Option<UserAnswer> {
        self.agent().ok()?.ask_clients(question, Some(on_behalf_of), cancel).await
    }

    /// The entry of the last reply on the path, and the batches and results of sub-agents after it. The tasks that have ended
    /// have their results.
    pub async fn batches_since_reply(&self) -> Result<(Option<EntryId>, Vec<Value>), AgentError> {
        let agent = self.agent()?;
        let (state, at) = agent.position();
        let reply = last_reply(&state.tree, at);
        let is_ours = |seq: &Seq| {
            let kind = state.tree.head(*seq).kind;
            matches!(kind, EntryKind::SubagentBatch | EntryKind::SubagentResult)
        };
        let since = state.tree.heads().ancestors(at).take_while(|seq| Some(*seq) != reply);
        let wanted: Vec<Seq> = since.filter(is_ours).collect();
        let mut entries: Vec<(Seq, Value)> = Vec::new();
        let read = |seq, line: &[u8]| {
            let entry = parse_entry(line).ok().and_then(|_| serde_json::from_slice(line).ok());
            entries.extend(entry.map(|entry| (seq, entry)));
            Ok::<_, StoreError>(())
        };
        agent.session.for_each_current_line(&state, &wanted, read).await?;
        entries.sort_by_key(|(seq, _)| *seq);
        let reply = reply.map(|seq| state.tree.id(seq).to_entry_id());
        Ok((reply, entries.into_iter().map(|(_, entry)| entry).collect()))
    }
}

fn entry_draft(kind: EntryKind, parent: DraftParent, object: &[u8]) -> Result<EntryDraft, PlanError> {
    let object = RawJson::parse(object).map_err(|_| PlanError::NotAnEntry { reason: "it is not JSON" })?;
    Ok(EntryDraft::from_object(kind, parent, object))
}
