//! Canceling tasks: all of them end, also those whose model or tool does not listen, and every batch has an end.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use osier_engine::{AgentSpec, KeepWhen, LiveSession, SubagentConfig, Workspace};
use osier_model::{CancellationToken, DeltaStream, Model, Request};
use osier_protocol::{Client, ClientCommand, ClientEvent};
use osier_tools::{Tool, ToolContext, ToolKind, ToolOutcome, ToolSpec};
use osier_tree::ErrorCode;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::subagents::{Delegation, batches, config, last_prompt, scripted_reply, spec};
use crate::support::TestEngine;

/// Its model calls and tool calls never end, even if they are canceled. It counts them.
#[derive(Debug, Clone)]
struct Deaf {
    calls: Arc<Semaphore>,
}

impl Model for Deaf {
    fn stream(&self, request: Request, cancel: CancellationToken) -> DeltaStream {
        match last_prompt(&request).as_str() {
            "deaf model" => {
                self.calls.add_permits(1);
                stream::pending().boxed()
            }
            _ => scripted_reply(request, cancel),
        }
    }
}

#[async_trait]
impl Tool for Deaf {
    fn spec(&self) -> ToolSpec {
        let parameters = json!({ "type": "object" });
        let (name, description) = ("deaf".to_owned(), "Never ends".to_owned());
        ToolSpec { name, description, parameters, kind: ToolKind::Reads }
    }

    async fn run(&self, _: Value, _: &ToolContext) -> ToolOutcome {
        self.calls.add_permits(1);
        std::future::pending().await
    }
}

/// Delegates tasks of which `count` hang, and waits until these hang.
async fn start_hanging(config: SubagentConfig, tasks: &Value, count: u32) -> Delegation {
    let engine = TestEngine::new();
    let spec = spec(&engine, config);
    let deaf = Deaf { calls: Arc::new(Semaphore::new(0)) };
    let mut workspace = Workspace::clone(&spec.workspace);
    workspace.models.model = Arc::new(deaf.clone());
    workspace.tools = workspace.tools.with(Arc::new(deaf.clone()));
    // The call that delegates would wait this long for its tasks.
    workspace.tool_context.limits.kill_grace = Duration::from_secs(3600);
    let spec = AgentSpec { workspace: Arc::new(workspace), ..spec };
    let live = engine.create(KeepWhen::Used).await;
    let client = engine.engine.connect(&live, &spec).await.unwrap();
    let events = client.attach(None).await.unwrap().events;
    client.send(ClientCommand::prompt(format!("delegate {tasks}"))).await.unwrap();
    deaf.calls.acquire_many(count).await.unwrap().forget();
    Delegation { engine, live, client, events }
}

async fn wait_until_idle(run: &Delegation, session: &str) -> Arc<LiveSession> {
    let child = run.engine.open(session).await;
    while child.session().main_cursor().state().busy {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    child
}

#[tokio::test(start_paused = true)]
async fn canceling_ends_tasks_whose_model_or_tool_does_not_listen() {
    let tasks = json!([{ "prompt": "deaf model" }, { "prompt": "call deaf" }, { "prompt": "call deaf" }, { "prompt": "hang" }]);
    let run = start_hanging(SubagentConfig { max_parallel: 3, ..config() }, &tasks, 3).await;
    let before = Instant::now();
    // The reply comes when everything has ended.
    run.client.send(ClientCommand::Cancel).await.unwrap();
    // The clock of this test only counts what somebody waits for.
    assert!(before.elapsed() < Duration::from_secs(1), "{:?}", before.elapsed());
    let batch = run.batches().await.remove(0);
    assert_eq!((batch.status.as_str(), batch.diagnostics.fallback_used), ("cancelled", false));
    assert!(batch.task_panels.iter().all(|panel| panel.status == "cancelled"), "{:?}", batch.task_panels);
    assert!(!run.live.session().main_cursor().state().busy);
    // The agents that were left behind end too.
    for panel in batch.task_panels.iter().filter(|panel| panel.started_at.is_some()) {
        wait_until_idle(&run, panel.session_id.as_deref().unwrap()).await;
    }
}

#[tokio::test(start_paused = true)]
async fn canceling_ends_hanging_tasks_of_tasks_and_their_batches() {
    let inner = json!([{ "prompt": "call deaf" }, { "prompt": "deaf model" }]);
    let tasks = json!([{ "prompt": format!("delegate {inner}") }]);
    let run = start_hanging(SubagentConfig { max_depth: 2, ..config() }, &tasks, 2).await;
    let before = Instant::now();
    run.client.send(ClientCommand::Cancel).await.unwrap();
    assert!(before.elapsed() < Duration::from_secs(1), "{:?}", before.elapsed());
    let batch = run.batches().await.remove(0);
    assert_eq!(batch.status, "cancelled");
    // The agent of the task stores the end of its own batch before its turn ends.
    let child = wait_until_idle(&run, batch.task_panels[0].session_id.as_deref().unwrap()).await;
    let client = run.engine.engine.connect(&child, &spec(&run.engine, config())).await.unwrap();
    let inner = batches(&client).await.remove(0);
    assert_eq!((inner.status.as_str(), inner.diagnostics.fallback_used), ("cancelled", false));
}

#[tokio::test]
async fn canceling_ends_tasks_that_run_and_those_that_wait_for_their_turn() {
    let tasks = json!(vec![json!({ "prompt": "hang" }); 8]);
    let mut run = Delegation::start(SubagentConfig { max_parallel: 4, ..config() }, &tasks).await;
    let mut running = std::collections::BTreeSet::new();
    run.until(|event| {
        if let ClientEvent::SubagentTask { panel, .. } = event
            && panel.status == "running"
        {
            running.insert(panel.key.clone());
        }
        running.len() == 4
    })
    .await;
    run.client.send(ClientCommand::Cancel).await.unwrap();
    let batch = run.batches().await.remove(0);
    assert_eq!(batch.status, "cancelled");
    assert!(batch.task_panels.iter().all(|panel| panel.status == "cancelled"), "{batch:?}");
    for panel in batch.task_panels.iter().filter(|panel| panel.started_at.is_some()) {
        let child = run.engine.open(panel.session_id.as_deref().unwrap()).await;
        assert!(!child.session().main_cursor().state().busy);
    }
    run.until_end().await;
}

#[tokio::test]
async fn there_must_be_a_task_to_cancel() {
    let mut run = Delegation::start(config(), &json!([{ "prompt": "answer a" }])).await;
    run.until_end().await;
    let error = run.client.send(ClientCommand::CancelTasks { task: None }).await.unwrap_err();
    assert_eq!((error.message.as_str(), error.code), ("no task is running", ErrorCode::TaskNotRunning));
}
