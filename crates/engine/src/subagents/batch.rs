//! The tasks of one call: stores the batch, runs the tasks, stores the results, and makes the answer for the model.
//!
//! A batch has an end whatever happens to its tasks. After the death of the process, `resume` runs only the tasks that did
//! not end.

use std::sync::Arc;

use futures_util::future::join_all;
use osier_agent::AgentHandle;
use osier_model::CancellationToken;
use osier_protocol::ClientEvent;
use osier_session::Session;
use osier_tools::{ToolContext, ToolOutcome};
use osier_tree::projection::preview::one_line;
use osier_tree::projection::subagents::{TaskOutcome, TaskPanel, task_panel};
use osier_tree::projection::usage::UsageTotals;
use osier_tree::{EntryId, EntryKind};
use serde_json::{Map, Value, json};

use super::batch_task::{Agents, BatchTask, TITLE_CHARS};
use super::task_run::{TaskReport, TaskRun};
use super::task_tools::{Delegation, TaskArgument};
use crate::local_client::error_chain;

/// How much of an answer is stored while other tasks run, in bytes.
const UPDATE_SUMMARY: usize = 1_000;

/// The status of a batch that runs.
const RUNNING: &str = "running";

/// A batch that is stored.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) delegation: Arc<Delegation>,
    pub(super) agent: AgentHandle,
    pub(super) parent: Session,
    pub(super) id: String,
    /// The call that delegated the tasks.
    pub(super) call: String,
    entry: EntryId,
    pub(super) tasks: Vec<Arc<BatchTask>>,
    pub(super) cancel: CancellationToken,
    max_bytes: usize,
    /// What is stored of the tasks that have ended, while others run.
    ended: tokio::sync::Mutex<Vec<Value>>,
}

/// A batch that a dead process left.
struct LeftBatch {
    batch: Batch,
    /// The content of its result, if it has one.
    result: Option<Value>,
}

impl Batch {
    /// Chooses the agents and stores the batch. `Err` is a text for the model.
    pub(super) async fn start(
        delegation: &Arc<Delegation>,
        call: &str,
        tasks: Vec<TaskArgument>,
        ctx: &ToolContext,
    ) -> Result<Batch, String> {
        let agent = delegation.agent().ok_or("the agent is not ready")?.clone();
        let failed = |error: &dyn std::error::Error| format!("cannot delegate: {}", error_chain(error));
        let parent = agent.session().map_err(|error| failed(&error))?;
        let agents = Agents::load(delegation, &agent).await.map_err(|error| failed(&error))?;
        let batch_id = parent.new_entry_id();
        let mut stored = Vec::with_capacity(tasks.len());
        let store = delegation.engine.child_store(&parent);
        let ids = Session::new_session_ids(&*store, parent.env(), tasks.len()).await;
        let ids = ids.map_err(|error| failed(&error))?;
        for ((order, task), session_id) in tasks.into_iter().enumerate().zip(ids) {
            let (definition, model) = agents.choose(task.agent())?;
            let title = task.description.unwrap_or_else(|| task.prompt.clone());
            let json = json!({
                "id": format!("{batch_id}-{}", order + 1),
                "prompt": task.prompt,
                "title": one_line(&title, TITLE_CHARS),
                "agent": definition.name,
                "model": model.full_name(),
                "sessionId": session_id,
            });
            stored.push(Arc::new(BatchTask {
                id: format!("{batch_id}-{}", order + 1),
                order: order as u64,
                stored: json,
                prompt: task.prompt,
                session_id,
                agent: Ok((definition, model)),
            }));
        }
        let (reply, _) = agent.batches_since_reply().await.map_err(|error| failed(&error))?;
        let list: Vec<&Value> = stored.iter().map(|task| &task.stored).collect();
        let content = json!({
            "batchId": batch_id,
            "mode": "parallel",
            "tasks": list,
            "status": RUNNING,
            "parentEntryId": reply,
            "toolCallId": call,
        });
        let fields = Map::from_iter([
            ("type".to_owned(), json!(EntryKind::SubagentBatch.name())),
            ("content".to_owned(), content),
        ]);
        let entry =
            agent.append_entry(EntryKind::SubagentBatch, &fields).await.map_err(|error| failed(&error))?;
        tracing::debug!(session = parent.id(), batch = batch_id, tasks = stored.len(), "a batch starts");
        Ok(Batch {
            delegation: delegation.clone(),
            agent,
            parent,
            id: batch_id,
            call: call.to_owned(),
            entry: entry.id,
            tasks: stored,
            cancel: ctx.cancel.clone(),
            max_bytes: ctx.limits.bytes,
            ended: Default::default(),
        })
    }

    /// The batch that a dead process left for a call. `None` if it stored no batch.
    async fn find_left(delegation: &Arc<Delegation>, call: &str, ctx: &ToolContext) -> Option<LeftBatch> {
        let agent = delegation.agent()?.clone();
        let (_, entries) = agent.batches_since_reply().await.ok()?;
        let is_kind = |entry: &Value, kind: EntryKind| entry["type"].as_str() == Some(kind.name());
        let batch = entries.iter().find(|entry| {
            is_kind(entry, EntryKind::SubagentBatch) && entry["content"]["toolCallId"].as_str() == Some(call)
        })?;
        let (content, entry) = (&batch["content"], EntryId::from(batch["id"].as_str()?));
        let id = content["batchId"].as_str()?.to_owned();
        let ended = entries.iter().find(|entry| {
            is_kind(entry, EntryKind::SubagentResult) && entry["content"]["batchId"].as_str() == Some(&id)
        });
        let result = ended.map(|result| result["content"].clone());
        let agents = Agents::load(delegation, &agent).await.ok()?;
        let task = |(order, stored): (usize, &Value)| {
            let text = |key: &str| stored[key].as_str().map(str::to_owned);
            Some(Arc::new(BatchTask {
                id: text("id")?,
                order: order as u64,
                prompt: text("prompt")?,
                session_id: text("sessionId")?,
                agent: agents.choose(&text("agent")?),
                stored: stored.clone(),
            }))
        };
        let batch = Batch {
            delegation: delegation.clone(),
            parent: agent.session().ok()?,
            agent,
            id,
            call: call.to_owned(),
            entry,
            tasks: content["tasks"].as_array()?.iter().enumerate().filter_map(task).collect(),
            cancel: ctx.cancel.clone(),
            max_bytes: ctx.limits.bytes,
            ended: Default::default(),
        };
        Some(LeftBatch { batch, result })
    }

    /// Continues the batch of a call that a dead process left. `None` if it stored no batch.
    pub(super) async fn resume(
        delegation: &Arc<Delegation>,
        call: &str,
        ctx: &ToolContext,
    ) -> Option<ToolOutcome> {
        let LeftBatch { batch, result } = Batch::find_left(delegation, call, ctx).await?;
        let Some(content) = result else { return Some(batch.run_detached().await) };
        let status = content["status"].as_str().unwrap_or("completed");
        // It may be recorded already.
        let _ = batch.agent.update_batch(&batch.entry, status, json!({})).await;
        let rows: Vec<Value> = content["results"].as_array().cloned().unwrap_or_default();
        Some(model_answer(&batch.id, status, &rows, ctx.limits.bytes))
    }

    /// Ends the batch of a call that a dead process left, without running its tasks.
    pub(super) async fn abandon(delegation: &Arc<Delegation>, call: &str, ctx: &ToolContext) {
        let Some(LeftBatch { batch, result: None }) = Batch::find_left(delegation, call, ctx).await else {
            return;
        };
        let batch = Arc::new(batch);
        let reports: Vec<TaskReport> =
            join_all(batch.tasks.iter().map(|task| TaskRun::new(&batch, task).report_left())).await;
        let rows: Vec<Value> = reports.iter().map(|report| report.outcome.to_json()).collect();
        let usage: UsageTotals = reports.iter().map(|report| &report.usage).sum();
        if let Err(error) = batch.store_end("cancelled", &reports, rows, &usage).await {
            tracing::warn!(batch = batch.id, %error, "cannot store the end of a batch");
        }
    }

    /// Runs the tasks. The batch ends even if nobody waits for it any more.
    pub(super) async fn run_detached(self) -> ToolOutcome {
        match tokio::spawn(self.run()).await {
            Ok(outcome) => outcome,
            Err(_) => ToolOutcome::failed("the tasks crashed; their effects are unknown"),
        }
    }

    async fn run(self) -> ToolOutcome {
        let batch = Arc::new(self);
        let reports = join_all(batch.tasks.iter().map(|task| batch.run_task(task))).await;
        batch.end(reports).await
    }

    /// Runs a task on its own, so that a crash of one does not end the others.
    async fn run_task(self: &Arc<Batch>, task: &Arc<BatchTask>) -> TaskReport {
        let report = match tokio::spawn(TaskRun::new(self, task).run()).await {
            Ok(report) => report,
            Err(_) => TaskRun::new(self, task).report_crash(),
        };
        self.store_task_end(&report).await;
        report
    }

    /// Stores that a task has ended while others run. The end of the batch tells it of all.
    async fn store_task_end(&self, report: &TaskReport) {
        let mut ended = self.ended.lock().await;
        ended.push(update_row(&report.outcome));
        if ended.len() == self.tasks.len() || self.cancel.is_cancelled() {
            return;
        }
        let payload = json!({ "results": *ended });
        if let Err(error) = self.agent.update_batch(&self.entry, RUNNING, payload).await {
            tracing::warn!(batch = self.id, %error, "cannot store the end of a task");
        }
    }

    async fn end(&self, reports: Vec<TaskReport>) -> ToolOutcome {
        let status = self.status(&reports);
        let rows: Vec<Value> = reports.iter().map(|report| report.outcome.to_json()).collect();
        let usage: UsageTotals = reports.iter().map(|report| &report.usage).sum();
        let mut outcome = model_answer(&self.id, status, &rows, self.max_bytes);
        if let Err(error) = self.store_end(status, &reports, rows, &usage).await {
            tracing::warn!(batch = self.id, %error, "cannot store the end of a batch");
            outcome = outcome.with_detail("notStored", json!(error_chain(&error)));
        }
        self.delegation.running.forget_batch(&self.id);
        outcome
    }

    fn status(&self, reports: &[TaskReport]) -> &'static str {
        let has = |status: &str| reports.iter().any(|report| report.outcome.status() == status);
        match () {
            () if has("completed") && !self.cancel.is_cancelled() => "completed",
            () if self.cancel.is_cancelled() || has("cancelled") => "cancelled",
            () => "failed",
        }
    }

    async fn store_end(
        &self,
        status: &str,
        reports: &[TaskReport],
        rows: Vec<Value>,
        usage: &UsageTotals,
    ) -> Result<(), osier_agent::AgentError> {
        let mut events: Vec<&Value> = reports.iter().flat_map(|report| &report.events).collect();
        // Sorting is stable: events of the same time keep their order.
        events.sort_by_key(|event| event["timestamp"].as_i64());
        let evidence: Vec<&Value> = reports.iter().flat_map(|report| &report.evidence).collect();
        let content = json!({
            "batchId": self.id,
            "status": status,
            "parentEntryId": self.entry,
            "toolCallId": self.call,
            "results": rows,
        });
        let metadata = json!({
            "processEvents": events,
            "evidenceSummaries": evidence,
            "toolRuntimeRoutes": self.routes(),
        });
        let fields = Map::from_iter([
            ("type".to_owned(), json!(EntryKind::SubagentResult.name())),
            ("content".to_owned(), content),
            ("metadata".to_owned(), metadata),
            ("usage".to_owned(), json!(usage)),
        ]);
        self.agent.append_entry(EntryKind::SubagentResult, &fields).await?;
        self.agent.update_batch(&self.entry, status, json!({})).await
    }

    /// The panel of a task.
    pub(super) fn panel(&self, task: &BatchTask, outcome: &TaskOutcome) -> TaskPanel {
        task_panel(&self.id, &task.id, task.order, &task.stored, outcome)
    }

    /// Tells the clients of the parent about a task.
    pub(super) fn announce(&self, panel: TaskPanel) {
        self.delegation.running.set_panel(&self.id, panel.clone());
        let (batch_id, call) = (self.id.clone(), self.call.clone());
        self.agent.send_event(ClientEvent::SubagentTask { batch_id, call, panel: Box::new(panel) });
    }
}

/// What an update stores of a task: how it ended and what it used. Its whole answer is in its session.
fn update_row(outcome: &TaskOutcome) -> Value {
    let kept = ["id", "status", "summary", "error", "turns", "toolCalls", "usage", "startedAt", "endedAt"];
    let value = |key: &str| match outcome.0.get(key)? {
        Value::String(text) if key == "summary" => {
            Some(json!(text[..text.floor_char_boundary(UPDATE_SUMMARY)]))
        }
        value => Some(value.clone()),
    };
    kept.into_iter().filter_map(|key| Some((key.to_owned(), value(key)?))).collect::<Map<_, _>>().into()
}

/// What the delegating model gets.
fn model_answer(batch: &str, status: &str, rows: &[Value], max_bytes: usize) -> ToolOutcome {
    let share = max_bytes / rows.len().max(1);
    let part = |(number, row): (usize, &Value)| {
        let text = |key: &str| row[key].as_str().unwrap_or_default();
        let head = format!("Task {} ({}): {}", number + 1, text("agent"), text("status"));
        let error = row["error"].as_str().map(|error| format!("\nError: {error}")).unwrap_or_default();
        let summary = text("summary");
        let cut = &summary[..summary.floor_char_boundary(share)];
        let note = if cut.len() < summary.len() { "\n[shortened]" } else { "" };
        let session = row["sessionId"].as_str().map(|id| format!("\n(session {id})")).unwrap_or_default();
        format!("{head}{error}\n{cut}{note}{session}")
    };
    let text = rows.iter().enumerate().map(part).collect::<Vec<_>>().join("\n\n");
    let outcome = match rows.iter().any(|row| row["status"].as_str() == Some("completed")) {
        true => ToolOutcome::text(text),
        false => ToolOutcome::failed(text),
    };
    outcome.with_detail("batchId", json!(batch)).with_detail("status", json!(status))
}
