//! The registered hooks: their order, their time-outs, and what happens when one fails.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use osier_protocol::ClientEvent;

use super::{Hook, HookContext, HookResult};

/// How long a hook may take by default.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// All hooks, in the order in which they are asked.
#[derive(Debug, Clone, Default)]
pub struct Hooks(Vec<RegisteredHook>);

/// A hook, how long it may take, and what its failure means.
#[derive(Debug, Clone)]
pub struct RegisteredHook {
    /// Names the hook in notices and in the log.
    pub name: String,
    pub hook: Arc<dyn Hook>,
    /// How long each answer may take.
    pub timeout: Duration,
    pub on_failure: OnFailure,
}

/// What it means if a hook fails in a gate that can refuse. See the module documentation for the other gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// The hook has no opinion.
    #[default]
    Allow,
    /// The hook refuses the operation. For hooks that protect something.
    Refuse,
}

impl Hooks {
    pub fn new(hooks: Vec<RegisteredHook>) -> Hooks {
        Hooks(hooks)
    }

    /// Whether no hook is registered. Callers then skip preparations that only hooks need.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &RegisteredHook> {
        self.0.iter()
    }
}

impl RegisteredHook {
    /// A hook with the default time-out, whose failure means that it has no opinion.
    pub fn new(name: impl Into<String>, hook: Arc<dyn Hook>) -> RegisteredHook {
        RegisteredHook { name: name.into(), hook, timeout: DEFAULT_TIMEOUT, on_failure: OnFailure::Allow }
    }

    /// Whether a failure of this hook refuses an operation.
    pub(super) fn refuses_on_failure(&self) -> bool {
        self.on_failure == OnFailure::Refuse
    }

    /// Waits for an answer. Reports a failure and returns its text.
    pub(super) async fn ask<T>(
        &self,
        event: &'static str,
        ctx: &HookContext<'_>,
        answer: impl Future<Output = HookResult<T>> + Send,
    ) -> Result<T, String> {
        let answer = AssertUnwindSafe(tokio::time::timeout(self.timeout, answer)).catch_unwind().await;
        let (kind, reason) = match answer {
            Ok(Ok(Ok(answer))) => return Ok(answer),
            Ok(Ok(Err(error))) => ("error", error.to_string()),
            Ok(Err(_)) => ("time-out", format!("no answer within {} s", self.timeout.as_secs_f64())),
            Err(_) => ("panic", "it crashed".to_owned()),
        };
        // The error text may contain parts of the conversation, so it is not logged.
        tracing::warn!(hook = %self.name, event, kind, "a hook failed");
        let text = format!("the hook {} failed in {event}: {reason}", self.name);
        if let Some(live) = ctx.live {
            live.send(ClientEvent::Notice { text: text.clone() });
        }
        Err(text)
    }
}
