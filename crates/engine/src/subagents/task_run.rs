//! One task: starts its agent, passes its questions on to the clients of the parent, watches its budget, and reports how it
//! ended.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use osier_agent::AgentBudget;
use osier_model::CancellationToken;
use osier_protocol::entry_view::{EntryContent, MessageView, ReplyBlockView};
use osier_protocol::{
    Attached, Client, ClientCommand, ClientError, ClientEvent, EventStream, Prompt, PromptTiming,
    QueryAnswer, Question, SessionQuery, TurnOutcome, UserAnswer,
};
use osier_tree::projection::preview::one_line;
use osier_tree::projection::subagents::TaskOutcome;
use osier_tree::projection::usage::UsageTotals;
use serde_json::{Value, json};

use super::batch::{Batch, BatchTask};
use super::record::{TaskRecord, call_label};
use super::running_tasks::RegisteredTask;
use crate::local_client::{LocalClient, error_chain};

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

/// How a task ended.
#[derive(Debug)]
enum TaskEnd {
    Completed,
    Failed(String),
    Cancelled,
}

impl TaskEnd {
    fn status(&self) -> &'static str {
        match self {
            TaskEnd::Completed => "completed",
            TaskEnd::Failed(_) => "failed",
            TaskEnd::Cancelled => "cancelled",
        }
    }
}

/// What is known of a task while it runs.
#[derive(Debug, Clone, Default)]
struct TaskProgress {
    started: Option<i64>,
    turns: u64,
    tool_calls: u64,
    usage: UsageTotals,
    activity: Option<String>,
    last_text: String,
}

/// A task that runs.
#[derive(Debug)]
pub(super) struct TaskRun<'a> {
    batch: &'a Batch,
    task: &'a BatchTask,
    progress: TaskProgress,
}

impl<'a> TaskRun<'a> {
    pub(super) fn new(batch: &'a Batch, task: &'a BatchTask) -> TaskRun<'a> {
        TaskRun { batch, task, progress: TaskProgress::default() }
    }

    pub(super) async fn run(mut self) -> TaskReport {
        self.announce("queued");
        let cancel = self.batch.cancel.child_token();
        let registered = self.batch.delegation.running.register(&self.task.id, cancel.clone());
        let slot = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            slot = self.batch.delegation.slots.acquire() => slot.ok(),
        };
        let report = match slot {
            None => self.report(TaskEnd::Cancelled, TaskRecord::default(), UsageTotals::default()),
            Some(_slot) => match self.work(&cancel, &registered).await {
                Ok(report) => report,
                Err(problem) => {
                    self.report(TaskEnd::Failed(problem), TaskRecord::default(), self.progress.usage)
                }
            },
        };
        self.batch.announce(self.batch.panel(self.task, &report.outcome));
        report
    }

    async fn work(
        &mut self,
        cancel: &CancellationToken,
        registered: &RegisteredTask,
    ) -> Result<TaskReport, String> {
        let (definition, model) = self.task.agent.clone()?;
        let (batch, task) = (self.batch, self.task);
        let engine = &batch.delegation.engine;
        let failed = |error: crate::error::EngineError| error_chain(&error);
        let live = engine
            .open_child(&batch.parent, &task.session_id, &definition.name, &batch.call)
            .await
            .map_err(failed)?;
        let spec = batch.delegation.child_spec(&batch.agent, &definition, model);
        let client = engine.start_agent(&live, live.session().main_cursor(), &spec).await.map_err(failed)?;
        drop(live);
        registered.set_client(client.clone());
        self.progress.started = Some(engine.now());
        self.announce("running");
        let text = |error: ClientError| error.message;
        let attached = client.attach(None).await.map_err(text)?;
        let end = match self.start_command(&client).await.map_err(text)? {
            None => TaskEnd::Completed,
            Some(command) => {
                client.send(command).await.map_err(text)?;
                let budget = batch.delegation.budget(&definition);
                self.follow(&client, attached.events, budget, cancel).await
            }
        };
        let entries = match client.query(SessionQuery::Path { limit: None }).await.map_err(text)? {
            QueryAnswer::Path(path) => path.entries,
            _ => Vec::new(),
        };
        let usage = match client.query(SessionQuery::Usage).await.map_err(text)? {
            QueryAnswer::Usage { usage } => usage.session,
            _ => self.progress.usage,
        };
        Ok(self.report(end, TaskRecord::from_path(&task.id, &entries), usage))
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

    /// Follows the agent until it is idle.
    async fn follow(
        &mut self,
        client: &LocalClient,
        mut events: EventStream,
        budget: AgentBudget,
        cancel: &CancellationToken,
    ) -> TaskEnd {
        let mut questions = PassedQuestions::new(self.batch, self.task);
        let (mut stop, mut ended): (Option<TaskEnd>, Option<TaskEnd>) = (None, None);
        let timer = async {
            match budget.max_seconds {
                Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(timer);
        loop {
            let idle = async {
                match ended {
                    Some(_) => client.worker().wait_until_idle().await,
                    None => std::future::pending().await,
                }
            };
            let event = tokio::select! {
                biased;
                event = events.next() => match event {
                    Some(event) => event,
                    None => break,
                },
                () = questions.next_answer(client) => continue,
                () = idle => {
                    // What was sent before it became idle.
                    match events.next().now_or_never().flatten() {
                        Some(event) => event,
                        None => break,
                    }
                }
                () = cancel.cancelled(), if stop.is_none() => {
                    stop = Some(TaskEnd::Cancelled);
                    stop_agent(client);
                    continue;
                }
                () = &mut timer, if stop.is_none() => {
                    let seconds = budget.max_seconds.unwrap_or_default();
                    stop = Some(TaskEnd::Failed(format!("stopped after {seconds} seconds, its budget")));
                    stop_agent(client);
                    continue;
                }
            };
            match event {
                ClientEvent::TurnStarted => ended = None,
                ClientEvent::TurnEnded { finished, error } => ended = Some(turn_end(finished, error, budget)),
                ClientEvent::Asked { id, question, agent } => questions.pass_on(id, *question, agent),
                ClientEvent::Answered { id, .. } => questions.withdraw(id),
                ClientEvent::Lagged { .. } => match client.attach(None).await {
                    Ok(Attached { state, events: again }) => {
                        events = again;
                        for open in state.open_questions {
                            questions.pass_on(open.id, open.question, open.agent);
                        }
                        if !state.turn_running && ended.is_none() {
                            ended = Some(TaskEnd::Completed);
                        }
                    }
                    Err(error) => return TaskEnd::Failed(error.message),
                },
                event => self.note(&event),
            }
            if stop.is_none()
                && let Some(problem) = self.over_budget(budget)
            {
                stop = Some(TaskEnd::Failed(problem));
                stop_agent(client);
            }
        }
        match (stop, ended) {
            // It may have ended just before it was stopped.
            (Some(_), Some(TaskEnd::Completed)) => TaskEnd::Completed,
            (Some(stop), _) => stop,
            (None, Some(ended)) => ended,
            (None, None) => TaskEnd::Failed("the agent ended unexpectedly".to_owned()),
        }
    }

    /// Updates what is known of the task, and tells the clients of the parent.
    fn note(&mut self, event: &ClientEvent) {
        match event {
            ClientEvent::Entry(entry) if !entry.off_path => {
                let Some(EntryContent::Message(MessageView::Assistant(reply))) =
                    entry.entry.view().map(|view| &view.content)
                else {
                    return;
                };
                self.progress.turns += 1;
                self.progress.usage.add(&reply.usage.unwrap_or_default());
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
            ClientEvent::Retrying { message, .. } => {
                self.progress.activity = Some(one_line(&format!("retrying: {message}"), MAX_ACTIVITY));
            }
            _ => return,
        }
        self.announce("running");
    }

    fn over_budget(&self, budget: AgentBudget) -> Option<String> {
        let used = &self.progress.usage;
        if let Some(limit) = budget.max_tokens.filter(|limit| used.total_tokens > *limit) {
            return Some(format!("stopped after {} tokens; its budget is {limit}", used.total_tokens));
        }
        let limit = budget.max_cost.filter(|limit| used.cost > *limit)?;
        Some(format!("stopped after {:.4} dollars; its budget is {limit}", used.cost))
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
            .with("usage", json!(usage));
        match started {
            Some(started) => row.with("startedAt", json!(started)),
            None => row,
        }
    }

    fn announce(&self, status: &str) {
        let mut panel = self.batch.panel(self.task, &self.current_row(status));
        panel.activity.clone_from(&self.progress.activity);
        self.batch.announce(panel);
    }

    fn report(&self, end: TaskEnd, record: TaskRecord, usage: UsageTotals) -> TaskReport {
        let status = end.status();
        let started = self.progress.started;
        let ended = started.map(|_| self.batch.delegation.engine.now());
        // A task that ended in an earlier process has the times of its entries.
        let (started, ended) = match self.progress.turns {
            0 if record.turns > 0 && matches!(end, TaskEnd::Completed) => {
                (record.first_time, record.last_time)
            }
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
        if let TaskEnd::Failed(problem) = end {
            outcome = outcome.with("error", json!(problem));
        }
        TaskReport { outcome, events, evidence: record.evidence, usage }
    }
}

/// Stops the agent without waiting for it; its events tell when it has ended.
fn stop_agent(client: &LocalClient) {
    let client = client.clone();
    tokio::spawn(async move {
        if let Err(error) = client.send(ClientCommand::Cancel).await {
            tracing::debug!(%error, "cannot cancel a sub-agent cleanly");
        }
    });
}

fn turn_end(finished: Option<TurnOutcome>, error: Option<String>, budget: AgentBudget) -> TaskEnd {
    let error = || error.unwrap_or_else(|| "the agent failed".to_owned());
    match finished {
        Some(TurnOutcome::Done) => TaskEnd::Completed,
        Some(TurnOutcome::Cancelled) => TaskEnd::Cancelled,
        Some(TurnOutcome::CutOff) => {
            TaskEnd::Failed("the last reply reached the output limit of the model".to_owned())
        }
        Some(TurnOutcome::StepLimit) => match budget.max_turns {
            Some(turns) => TaskEnd::Failed(format!("stopped after {turns} model calls, its budget")),
            None => TaskEnd::Failed(error()),
        },
        Some(TurnOutcome::Failed) | None => TaskEnd::Failed(error()),
    }
}

/// The questions of the agent that were passed on to the clients of its parent.
struct PassedQuestions<'a> {
    batch: &'a Batch,
    /// The agent and its task, for people.
    name: String,
    answers: FuturesUnordered<BoxFuture<'a, (u64, Option<UserAnswer>)>>,
    open: BTreeMap<u64, CancellationToken>,
}

impl<'a> PassedQuestions<'a> {
    fn new(batch: &'a Batch, task: &BatchTask) -> PassedQuestions<'a> {
        let name = format!("{}: {}", task.agent_name(), task.title());
        PassedQuestions { batch, name, answers: FuturesUnordered::new(), open: BTreeMap::new() }
    }

    /// `asker` is the agent of a nested task.
    fn pass_on(&mut self, id: u64, question: Question, asker: Option<String>) {
        if self.open.contains_key(&id) {
            return;
        }
        let cancel = CancellationToken::new();
        self.open.insert(id, cancel.clone());
        let agent = self.batch.agent.clone();
        let name = asker.map_or_else(|| self.name.clone(), |asker| format!("{} › {asker}", self.name));
        let answer = async move {
            // The limit of model calls is a budget, which nobody extends.
            let answer = match question {
                Question::Continue { .. } => Some(UserAnswer::No { reason: String::new() }),
                question => agent.ask(question, name, &cancel).await,
            };
            (id, answer)
        };
        self.answers.push(answer.boxed());
    }

    fn withdraw(&mut self, id: u64) {
        if let Some(cancel) = self.open.remove(&id) {
            cancel.cancel();
        }
    }

    /// Waits for an answer and gives it to the agent.
    async fn next_answer(&mut self, client: &LocalClient) {
        let Some((id, answer)) = self.answers.next().await else { return std::future::pending().await };
        if let Some(answer) = answer.filter(|_| self.open.remove(&id).is_some()) {
            let command = ClientCommand::Answer { question: id, answer };
            if let Err(error) = client.send(command).await {
                tracing::debug!(%error, "a question of a sub-agent is no longer open");
            }
        }
    }
}
