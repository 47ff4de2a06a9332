//! The context: the messages that a model gets at a place, as stored or as a whole request.

use osier_agent::PreparedRequest;
use osier_model::{ContentBlock, Message, Request, SystemMessage, ToolSpec, body_text};
use osier_session::ContextReader;
use osier_tree::ContextPlan;
use osier_tree::projection::request::Repairs;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::operations::reading::ReadError;
use crate::reading::resolve_place;
use crate::stored::StoredSession;
use crate::workspace::Workspace;

/// A whole request, as JSON output shows it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextRequest {
    pub leaf_id: Option<String>,
    /// The full name of the model.
    pub model: String,
    /// Everything the model reads, in order: the system prompt first.
    pub messages: Vec<Message>,
    pub tools: Vec<ToolSpec>,
    pub repairs: Repairs,
    /// The exact body of the HTTP request; `None` for a model without a network.
    pub body: Option<Box<RawValue>>,
}

impl Engine {
    /// Writes the context as a JSON object `{leafId, messages, thinkingLevel, model}`. `at` is an entry or `root`; the
    /// leaf by default.
    pub async fn write_context_json<E: ReadError>(
        &self,
        stored: &StoredSession,
        at: Option<&str>,
        mut write: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let plan = self.context_plan(stored, at).await?;
        write(b"{")?;
        context_reader(stored, &plan).write_members(&mut write).await?;
        write(b"}\n")
    }

    /// Calls `each` with the JSON of every message of the context, oldest first. Returns whether the first kept entry of
    /// the compaction is missing above it; then the context has nothing from before the compaction.
    pub async fn for_each_context_message<E: ReadError>(
        &self,
        stored: &StoredSession,
        at: Option<&str>,
        each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<bool, E> {
        let plan = self.context_plan(stored, at).await?;
        context_reader(stored, &plan).for_each_message(each).await?;
        Ok(plan.dangling)
    }

    /// The request that a prompt at `at` would send. Writes nothing to the session.
    pub async fn context_request(
        &self,
        stored: &StoredSession,
        workspace: &Workspace,
        at: Option<&str>,
    ) -> Result<ContextRequest, EngineError> {
        let live = self.open_briefly(stored).await?;
        let tree = live.session().tree();
        let at = resolve_place(&tree, at)?;
        let PreparedRequest { request, repairs } =
            self.prepare_request(live.session(), workspace, at).await?;
        Ok(ContextRequest {
            leaf_id: at.map(|seq| tree.id(seq).to_string()),
            model: request.model.full_name(),
            messages: messages(&request),
            body: body_text(&request).and_then(|body| RawValue::from_string(body).ok()),
            tools: request.tools,
            repairs,
        })
    }

    /// The entries of the context. The leaf is known from the end of the log; finding an id needs the whole tree.
    async fn context_plan(
        &self,
        stored: &StoredSession,
        at: Option<&str>,
    ) -> Result<ContextPlan, EngineError> {
        if at.is_some() {
            let tree = self.open_briefly(stored).await?.session().tree();
            return Ok(tree.context_entries(resolve_place(&tree, at)?));
        }
        let mut heads = stored.heads();
        let leaf = heads.leaf().await?;
        Ok(heads.context(leaf).await?)
    }
}

fn context_reader<'a>(stored: &'a StoredSession, plan: &'a ContextPlan) -> ContextReader<'a> {
    let generation = stored.opened.version.generation;
    ContextReader { store: &*stored.store, key: &stored.key, generation, plan }
}

fn messages(request: &Request) -> Vec<Message> {
    let prompt =
        SystemMessage { content: vec![ContentBlock::text(&request.system)], extra: serde_json::Map::new() };
    let prompt = (!request.system.is_empty()).then_some(Message::System(prompt));
    prompt.into_iter().chain(request.messages.iter().cloned()).collect()
}
