//! One task: starts its agent, follows it, and reports how it ended.

use std::sync::Arc;
use std::time::Duration;

use osier_agent::AgentDefinition;
use osier_model::{CancellationToken, ModelInfo};
use osier_protocol::entry_view::{EntryContent, MessageView, ReplyBlockView};
use osier_protocol::query::PathAnswer;
use osier_protocol::{
    Client, ClientCommand, ClientError, ClientEvent, Prompt, PromptTiming, QueryAnswer, SessionQuery,
};
use osier_tree::projection::preview::one_line;
use osier_tree::projection::subagents::TaskOutcome;
use osier_tree::projection::usage::UsageTotals;
use serde_json::{Value, json};

use super::batch::Batch;
use super::batch_task::BatchTask;
use super::child::is_child;
use super::followed_run::{FollowedRun, RunEnd, RunObserver, Spent, UsageSoFar, WAITS_FOR_USER};
use super::record::{TaskRecord, call_label};
use super::running_tasks::RegisteredTask;
use crate::error::EngineError;
use crate::followed_events::FollowedEvents;
use crate::live_sessions::LiveSession;
use crate::local_client::{LocalClient, error_chain};
use crate::queries::answer_from_session;

/// The longest activity text, in characters.
const MAX_ACTIVITY: usize = 100;

/// How a task ended, and what it did.
#[derive(Debug)]
pub(super) struct TaskReport {
    /// The row of the results.
    pub(super) outcome: TaskOutcome,
    pub(super) events: Vec<Value>,
    pub(super) evidence: Vec<Value>,
    pub(super) usage: UsageTotals,
}

/// What is known of a task while it runs.
#[derive(Debug, Clone, Default)]
struct TaskProgress {
    started: Option<i64>,
    turns: u64,
    tool_calls: u64,
    usage: UsageSoFar,
    activity: Option<String>,
    waits_for_user: bool,
    last_text: String,
}

/// A task that runs.
#[derive(Debug)]
pub(super) struct TaskRun {
    batch: Arc<Batch>,
    task: Arc<BatchTask>,
    progress: TaskProgress,
    /// How long its agent worked in processes that died, and how often it called its model there.
    time_spent: Duration,
    turns_spent: u64,
}

impl TaskRun {
    pub(super) fn new(batch: &Arc<Batch>, task: &Arc<BatchTask>) -> TaskRun {
        TaskRun {
            batch: batch.clone(),
            task: task.clone(),
            progress: TaskProgress::default(),
            time_spent: Duration::ZERO,
            turns_spent: 0,
        }
    }

    pub(super) async fn run(mut self) -> TaskReport {
        if self.task.recorded_end().is_some() {
            let batch = self.batch.clone();
            let (task, report) = (self.task.clone(), self.report_left().await);
            batch.announce(batch.panel(&task, &report.outcome));
            return report;
        }
        self.announce("queued");
        let cancel = self.batch.cancel.child_token();
        let delegation = self.batch.delegation.clone();
        let registered = delegation.running.register(&self.task.id, cancel.clone());
        let slot = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            slot = delegation.slots.acquire() => slot.ok(),
        };
        let report = match slot {
            None => self.report(RunEnd::Cancelled, TaskRecord::default(), UsageTotals::default()),
            Some(_slot) => match self.work(&cancel, &registered).await {
                Ok(report) => report,
                Err(problem) => {
                    self.report(RunEnd::Failed(problem), TaskRecord::default(), self.progress.usage.total())
                }
            },
        };
        self.batch.announce(self.batch.panel(&self.task, &report.outcome));
        report
    }

    async fn work(
        &mut self,
        cancel: &CancellationToken,
        registered: &RegisteredTask,
    ) -> Result<TaskReport, String> {
        let (definition, model) = self.task.agent.clone()?;
        let (batch, task) = (self.batch.clone(), self.task.clone());
        let started = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            started = self.start(&definition, model, registered) => Some(started?),
        };
        let Some((client, events)) = started else {
            registered.stop();
            return Ok(self.report(RunEnd::Cancelled, TaskRecord::default(), UsageTotals::default()));
        };
        let end = match events {
            None => None,
            Some(events) => {
                let budget = batch.delegation.budget(&definition);
                let asker = format!("{}: {}", task.agent_name(), task.title());
                let run = FollowedRun {
                    client: &client,
                    parent: &batch.agent,
                    asker,
                    budget,
                    time_spent: self.time_spent,
                    cancel,
                    registered: Some(registered),
                };
                Some(run.follow(events, self).await)
            }
        };
        // A message would start a turn that nobody follows.
        registered.clear_client().await;
        let text = |error: ClientError| error.message;
        let QueryAnswer::Path(path) = client.query(SessionQuery::Path { limit: None }).await.map_err(text)?
        else {
            return Err("the session of the task cannot be read".to_owned());
        };
        let record = TaskRecord::from_path(&task.id, &path.entries);
        // It ended before the process that started it died.
        let end = end.or_else(|| record.end(&path)).unwrap_or(RunEnd::Completed);
        let usage = match client.query(SessionQuery::Usage).await.map_err(text)? {
            QueryAnswer::Usage { usage } => usage.session,
            _ => self.progress.usage.total(),
        };
        Ok(self.report(end, record, usage))
    }

    /// Starts the agent. Returns its events, unless it ended before the process that started it died.
    async fn start(
        &mut self,
        definition: &AgentDefinition,
        model: Arc<ModelInfo>,
        registered: &RegisteredTask,
    ) -> Result<(LocalClient, Option<FollowedEvents>), String> {
        let (batch, task) = (self.batch.clone(), self.task.clone());
        let engine = &batch.delegation.engine;
        let failed = |error: EngineError| error_chain(&error);
        let live = engine
            .open_child(&batch.parent, &task.session_id, &definition.name, &batch.call)
            .await
            .map_err(failed)?;
        let spent = match live.session().version().entries {
            0 => Spent::default(),
            _ => self.read_spent(&live).await.map_err(failed)?,
        };
        (self.time_spent, self.turns_spent) = (spent.time, u64::from(spent.turns));
        self.progress.usage = UsageSoFar::starting_at(spent.usage);
        let spec = batch.delegation.child_spec(&batch.agent, definition, model, &spent);
        let client = engine.start_agent(&live, live.session().main_cursor(), &spec).await.map_err(failed)?;
        drop(live);
        registered.set_client(client.clone());
        let text = |error: ClientError| error.message;
        let (_, events) = FollowedEvents::attach(Arc::new(client.clone())).await.map_err(text)?;
        let Some(command) = self.start_command(&client).await.map_err(text)? else {
            return Ok((client, None));
        };
        self.progress.started = Some(engine.now());
        self.announce("running");
        client.send(command).await.map_err(text)?;
        Ok((client, Some(events)))
    }

    /// What its agent used in processes that died.
    async fn read_spent(&self, live: &LiveSession) -> Result<Spent, EngineError> {
        let Some((path, usage)) = read_child(live).await? else { return Ok(Spent::default()) };
        let record = TaskRecord::from_path(&self.task.id, &path.entries);
        Ok(Spent {
            turns: u32::try_from(record.turns).unwrap_or(u32::MAX),
            time: Duration::from_millis(u64::try_from(record.work_millis).unwrap_or_default()),
            usage,
        })
    }

    /// The report of a task whose code panicked.
    pub(super) fn report_crash(self) -> TaskReport {
        let end = RunEnd::Failed("the task crashed; its effects are unknown".to_owned());
        let report = self.report(end, TaskRecord::default(), UsageTotals::default());
        self.batch.announce(self.batch.panel(&self.task, &report.outcome));
        report
    }

    /// What a task did in a process that died. Runs nothing.
    pub(super) async fn report_left(self) -> TaskReport {
        let interrupted = || RunEnd::Failed("interrupted: the process ended before the task did".to_owned());
        let recorded = self.task.recorded_end();
        let read = async {
            let store = self.batch.delegation.engine.child_store(&self.batch.parent);
            let live = self.batch.delegation.engine.open_live(store, &self.task.session_id).await.ok()?;
            if !is_child(live.session().header(), &self.batch.parent, Some(&self.batch.call)) {
                return None;
            }
            read_child(&live).await.ok()?
        };
        let Some((path, usage)) = read.await else {
            let end = recorded.unwrap_or_else(interrupted);
            return self.report(end, TaskRecord::default(), UsageTotals::default());
        };
        let record = TaskRecord::from_path(&self.task.id, &path.entries);
        // What its batch says counts: its session does not tell that it was canceled.
        let end = recorded.or_else(|| record.end(&path)).unwrap_or_else(interrupted);
        self.report(end, record, usage)
    }

    /// The command that starts or continues the agent. `None` if it ended before the process that started it died.
    async fn start_command(&self, client: &LocalClient) -> Result<Option<ClientCommand>, ClientError> {
        let path = match client.query(SessionQuery::Path { limit: Some(1) }).await? {
            QueryAnswer::Path(path) => path,
            _ => return Ok(None),
        };
        let prompt = Prompt::text(self.task.prompt.clone());
        Ok(match (path.entries.is_empty(), path.unfinished_turn) {
            (true, _) => Some(ClientCommand::timed_prompt(prompt, PromptTiming::Now)),
            (false, true) => Some(ClientCommand::Resume),
            (false, false) => None,
        })
    }

    /// Updates what is known of the task, and tells the clients of the parent.
    fn note_event(&mut self, event: &ClientEvent) {
        self.progress.usage.note(event);
        match event {
            ClientEvent::Entry(entry) if !entry.off_path => {
                let Some(EntryContent::Message(MessageView::Assistant(reply))) =
                    entry.entry.view().map(|view| &view.content)
                else {
                    return;
                };
                self.progress.turns += 1;
                let texts = reply.blocks.iter().filter_map(|block| match block {
                    ReplyBlockView::Text(text) => Some(text.as_str()),
                    _ => None,
                });
                let text: String = texts.collect();
                if !text.trim().is_empty() {
                    self.progress.last_text = one_line(&text, MAX_ACTIVITY);
                }
            }
            ClientEvent::ToolStarted { name, arguments, .. } => {
                self.progress.tool_calls += 1;
                let label = call_label(name, arguments);
                let activity = if label == *name { label } else { format!("{name} {label}") };
                self.progress.activity = Some(one_line(&activity, MAX_ACTIVITY));
            }
            ClientEvent::ToolEnded { .. } => self.progress.activity = None,
            // What its own tasks use counts for it too.
            ClientEvent::SubagentTask { .. } => {}
            ClientEvent::Retrying { message, .. } => {
                self.progress.activity = Some(one_line(&format!("retrying: {message}"), MAX_ACTIVITY));
            }
            _ => return,
        }
        self.announce("running");
    }

    /// The row of the task as it is now.
    fn current_row(&self, status: &str) -> TaskOutcome {
        let TaskProgress { started, turns, tool_calls, usage, last_text, .. } = &self.progress;
        let row = self
            .task
            .outcome(status)
            .with("summary", json!(last_text))
            .with("turns", json!(turns))
            .with("toolCalls", json!(tool_calls))
            .with("usage", json!(usage.total()));
        match started {
            Some(started) => row.with("startedAt", json!(started)),
            None => row,
        }
    }

    fn announce(&self, status: &str) {
        let mut panel = self.batch.panel(&self.task, &self.current_row(status));
        panel.activity = match self.progress.waits_for_user {
            true => Some(WAITS_FOR_USER.to_owned()),
            false => self.progress.activity.clone(),
        };
        self.batch.announce(panel);
    }

    fn report(&self, end: RunEnd, record: TaskRecord, usage: UsageTotals) -> TaskReport {
        let status = end.status();
        let started = self.progress.started;
        let ended = started.map(|_| self.batch.delegation.engine.now());
        // A task that ended in an earlier process has the times of its entries.
        let is_earlier = started.is_none();
        let (started, ended) = match self.progress.turns {
            0 if record.turns > 0 && is_earlier => (record.first_time, record.last_time),
            _ => (started, ended),
        };
        let events = match started {
            Some(_) => record.timeline(&self.task.id, started, ended, status),
            None => Vec::new(),
        };
        let mut outcome = self
            .task
            .outcome(status)
            .with("agent", json!(self.task.agent_name()))
            .with("sessionId", json!(self.task.session_id))
            .with("summary", json!(record.summary))
            .with("turns", json!(record.turns))
            .with("toolCalls", json!(record.tool_calls))
            .with("usage", json!(usage))
            .with("startedAt", json!(started))
            .with("endedAt", json!(ended))
            .with("resultPayload", json!({ "evidenceSummary": record.evidence, "processEvents": events }));
        if let RunEnd::Failed(problem) = end {
            outcome = outcome.with("error", json!(problem));
        }
        TaskReport { outcome, events, evidence: record.evidence, usage }
    }
}

impl RunObserver for TaskRun {
    fn note(&mut self, event: &ClientEvent) {
        self.note_event(event);
    }

    fn note_questions(&mut self, are_open: bool) {
        if are_open != self.progress.waits_for_user {
            self.progress.waits_for_user = are_open;
            self.announce("running");
        }
    }

    fn usage(&self) -> UsageTotals {
        self.progress.usage.total()
    }

    fn turns(&self) -> u64 {
        self.turns_spent + self.progress.turns
    }
}

/// The path of the session of a task, and what the session used.
pub(super) async fn read_child(live: &LiveSession) -> Result<Option<(PathAnswer, UsageTotals)>, EngineError> {
    let cursor = live.session().main_cursor();
    let path = answer_from_session(&cursor, SessionQuery::Path { limit: None }).await?;
    let usage = answer_from_session(&cursor, SessionQuery::Usage).await?;
    Ok(match (path, usage) {
        (Some(QueryAnswer::Path(path)), Some(QueryAnswer::Usage { usage })) => Some((path, usage.session)),
        _ => None,
    })
}
