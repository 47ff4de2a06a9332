//! The events of tool calls, for hooks that want them. They come in the order of the call: its start, the gates, its output, the
//! change of its result, its end.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use osier_tools::{ToolCall, ToolOutcome};
use serde_json::json;

use crate::context::AgentContext;
use crate::hooks::HookEvent;
use crate::turn::Turn;

/// The most bytes of output that wait for a hook. Older ones are left out.
const MAX_WAITING: usize = 256 << 10;

impl Turn {
    pub(crate) async fn observe_call_start(&self, call: &ToolCall) {
        let event = || HookEvent::ToolStarted {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            args: call.arguments.clone(),
        };
        self.agent.observe_if_wanted("tool_execution_start", event).await;
    }

    /// `duration` is that of the tool, if it ran.
    pub(crate) async fn observe_call_end(
        &self,
        call: &ToolCall,
        outcome: &ToolOutcome,
        duration: Option<Duration>,
    ) {
        let event = || HookEvent::ToolEnded {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            args: call.arguments.clone(),
            result: json!({ "content": outcome.content, "details": outcome.details }),
            is_error: outcome.is_error,
            duration_ms: duration.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        };
        self.agent.observe_if_wanted("tool_execution_end", event).await;
    }
}

/// Gives the output of one call to hooks, one piece after another, while the tool runs on. Output that comes while a hook works on
/// an earlier piece is one piece.
pub(crate) struct OutputObserver<'a> {
    agent: &'a Arc<AgentContext>,
    call: &'a ToolCall,
    waiting: String,
    observing: Option<BoxFuture<'static, ()>>,
}

impl<'a> OutputObserver<'a> {
    pub(crate) fn new(agent: &'a Arc<AgentContext>, call: &'a ToolCall) -> OutputObserver<'a> {
        OutputObserver { agent, call, waiting: String::new(), observing: None }
    }

    pub(crate) fn add(&mut self, text: &str) {
        let is_wanted = || {
            self.agent.hooks().is_some_and(|hooks| hooks.wants(&self.agent.session, "tool_execution_update"))
        };
        if text.is_empty() || !is_wanted() {
            return;
        }
        self.waiting.push_str(text);
        if self.waiting.len() > MAX_WAITING {
            let start = self.waiting.ceil_char_boundary(self.waiting.len() - MAX_WAITING);
            self.waiting.drain(..start);
        }
    }

    /// Returns when hooks have seen one more piece. It can be dropped and called again; without output it never returns.
    pub(crate) async fn observe_next(&mut self) {
        if self.observing.is_none() {
            match self.take_event() {
                None => return pending().await,
                Some(event) => {
                    let agent = self.agent.clone();
                    self.observing = Some(async move { agent.observe(|| event).await }.boxed());
                }
            }
        }
        if let Some(observing) = &mut self.observing {
            observing.await;
        }
        self.observing = None;
    }

    /// Waits until hooks have seen everything.
    pub(crate) async fn finish(mut self) {
        while self.observing.is_some() || !self.waiting.is_empty() {
            self.observe_next().await;
        }
    }

    fn take_event(&mut self) -> Option<HookEvent> {
        let text = Some(std::mem::take(&mut self.waiting)).filter(|text| !text.is_empty())?;
        Some(HookEvent::ToolUpdated {
            tool_call_id: self.call.id.clone(),
            tool_name: self.call.name.clone(),
            args: self.call.arguments.clone(),
            partial_result: json!({ "content": [{ "type": "text", "text": text }] }),
        })
    }
}
