//! What hooks learn about a request over HTTP, and change in its headers.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use osier_model::{ModelInfo, RequestHeaders, RequestObserver};

use super::event::HookEvent;
use crate::context::AgentContext;
use crate::weak_worker::WeakWorker;

/// The event with what a provider sends.
const STREAM_EVENT: &str = "provider_stream_event";

/// The status and the headers of a response.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResponseHead {
    pub(crate) status: Option<u16>,
    pub(crate) headers: BTreeMap<String, String>,
}

/// Asks the hooks of an agent.
#[derive(Debug)]
struct HookObserver {
    worker: WeakWorker,
    model: Arc<ModelInfo>,
}

impl RequestObserver for HookObserver {
    fn edit_headers(&self, headers: RequestHeaders) -> BoxFuture<'_, RequestHeaders> {
        Box::pin(async move {
            let Some(worker) = self.worker.upgrade() else { return headers };
            let agent = &worker.agent;
            let Some(hooks) = agent.hooks() else { return headers };
            let (leaf, cancel) = (agent.leaf_id(), agent.state().cancel_turn.clone());
            let ctx = agent.hook_context(leaf.as_ref(), &cancel);
            let edited = hooks.edit_headers(headers.clone(), &ctx);
            agent.wait_for_gate(edited, &cancel).await.unwrap_or(headers)
        })
    }

    fn response_started(&self, status: u16, headers: RequestHeaders) {
        if let Some(worker) = self.worker.upgrade() {
            let head = ResponseHead { status: Some(status), headers: headers.into_iter().collect() };
            worker.agent.state().last_response = head;
        }
    }

    fn wants_stream_events(&self) -> bool {
        let worker = self.worker.upgrade();
        worker.is_some_and(|worker| {
            worker.agent.hooks().is_some_and(|hooks| hooks.wants(&worker.agent.session, STREAM_EVENT))
        })
    }

    fn stream_event(&self, data: String) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // Some servers end with a line that is not JSON.
            let Ok(data) = serde_json::from_str(&data) else { return };
            let Some(worker) = self.worker.upgrade() else { return };
            let ModelInfo { provider, api, id, .. } = &*self.model;
            let (provider, model) = (provider.clone(), id.clone());
            let api = api.name();
            worker.agent.observe(|| HookEvent::ProviderStreamed { provider, api, model, data }).await;
        })
    }
}

impl AgentContext {
    /// For a request of this agent, if it has hooks.
    pub(super) fn request_observer(&self, model: &Arc<ModelInfo>) -> Option<Arc<dyn RequestObserver>> {
        self.hooks()?;
        Some(Arc::new(HookObserver { worker: self.worker.get()?.clone(), model: model.clone() }))
    }
}
