//! A hook: it lets the model read files, blocks all other tools, and counts what a turn stores.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures_util::StreamExt;
use osier_engine::hooks::{HookContext, HookEvent, HookResult, OnFailure, ToolCallDecision};
use osier_engine::{
    AgentSpec, Engine, EngineConfig, Hook, Hooks, KeepWhen, ModelCatalog, NewSession, RegisteredHook,
    Workspace,
};
use osier_model::{Environment, Registry};
use osier_offline::OfflineModel;
use osier_protocol::{Client, ClientCommand, ClientEvent};
use osier_tools::{CommandEnv, ToolCall, ToolContext, ToolSet};
use osier_tree::projection::entry_view::MessageView;

type BoxError = Box<dyn std::error::Error>;

#[derive(Debug, Default)]
struct ReadOnly {
    stored: AtomicUsize,
}

#[async_trait]
impl Hook for ReadOnly {
    async fn before_tool_call(&self, call: &ToolCall, _: &HookContext<'_>) -> HookResult<ToolCallDecision> {
        Ok(match call.name.as_str() {
            "read" | "grep" | "find" | "ls" => ToolCallDecision::Continue,
            name => {
                let reason = format!("{name} is not allowed here");
                ToolCallDecision::Block { reason, ends_turn: false }
            }
        })
    }

    async fn observe(&self, event: &HookEvent, _: &HookContext<'_>) -> HookResult<()> {
        if let HookEvent::TurnEnded { entries, .. } = event {
            self.stored.fetch_add(entries.len(), Ordering::Relaxed);
        }
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    println!("{}", run().await?);
    Ok(())
}

/// Asks the built-in model to write a file, and returns the result of its tool call.
pub(crate) async fn run() -> Result<String, BoxError> {
    let hook = Arc::new(ReadOnly::default());
    let registered =
        RegisteredHook { on_failure: OnFailure::Refuse, ..RegisteredHook::new("read-only", hook.clone()) };
    let engine = Engine::new(EngineConfig {
        hooks: Arc::new(Hooks::new(vec![registered])),
        ..EngineConfig::default()
    });
    let session = engine.create(&NewSession { keep: KeepWhen::Never, ..NewSession::default() }).await?;
    let folder = tempfile::tempdir()?;
    let client = engine.connect(&session, &agent(folder.path())?).await?;

    let mut events = client.attach(None).await?.events;
    client.send(ClientCommand::prompt("write hello to new.txt")).await?;
    let mut result = String::new();
    while let Some(event) = events.next().await {
        match event {
            ClientEvent::Entry(entry) => {
                if let Some(MessageView::ToolResult(tool)) =
                    entry.entry.view().and_then(|view| view.message())
                {
                    result.clone_from(&tool.text);
                }
            }
            ClientEvent::TurnEnded { .. } => break,
            _ => {}
        }
    }
    let stored = hook.stored.load(Ordering::Relaxed);
    let is_written = folder.path().join("new.txt").exists();
    Ok(format!("{result}; file written: {is_written}; counted entries: {}", stored > 0))
}

/// An agent with the built-in model, which needs no key.
fn agent(folder: &std::path::Path) -> Result<AgentSpec, BoxError> {
    let registry = Arc::new(Registry::built_in());
    let model = registry.find("offline")?;
    let models = ModelCatalog {
        model: Arc::new(OfflineModel::new(Environment::empty())),
        registry,
        environment: Environment::empty(),
        default_model: None,
        summary_model: None,
        own_providers: Vec::new(),
    };
    let context = ToolContext::new(folder, folder.join("output"), CommandEnv::new([]));
    let workspace = Workspace { tools: ToolSet::standard(), ..Workspace::new(models, context) };
    Ok(AgentSpec::new(Arc::new(workspace), model))
}
