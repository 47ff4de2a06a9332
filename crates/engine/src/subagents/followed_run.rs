//! Follows an agent that works for another one: passes its questions on to the clients of the other agent, and stops it when it
//! exceeds its budget or is canceled.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use osier_agent::{AgentBudget, AgentHandle};
use osier_model::CancellationToken;
use osier_protocol::entry_view::AssistantView;
use osier_protocol::{Client, ClientCommand, ClientEvent, Question, TurnOutcome, UserAnswer};
use osier_tree::EntryKind;
use osier_tree::entry::parse_entry;
use osier_tree::projection::usage::{UsageTotals, entry_usage};
use tokio::time::Instant;

use super::running_tasks::RegisteredTask;
use crate::followed_events::FollowedEvents;
use crate::local_client::LocalClient;

/// How long a stopped agent may take to end. Then nobody waits for it any more; it ends when its tools and its model do.
const STOP_TIMEOUT: Duration = Duration::from_millis(700);

/// How long a command of a stopped agent may take to clean up. A canceled turn ends all its tasks within a second.
pub(crate) const KILL_GRACE: Duration = Duration::from_millis(400);

/// What an agent does while a question of it is open.
pub(crate) const WAITS_FOR_USER: &str = "waiting for your answer";

const FAILED: &str = "the agent failed";
const CUT_OFF: &str = "the last reply reached the output limit of the model";

/// How the agent ended.
#[derive(Debug, Clone)]
pub(crate) enum RunEnd {
    Completed,
    Failed(String),
    Cancelled,
}

impl RunEnd {
    pub(crate) fn status(&self) -> &'static str {
        match self {
            RunEnd::Completed => "completed",
            RunEnd::Failed(_) => "failed",
            RunEnd::Cancelled => "cancelled",
        }
    }

    /// How an agent ended whose last reply this is.
    pub(crate) fn of_reply(reply: &AssistantView) -> RunEnd {
        match reply.stop_reason.as_deref() {
            Some("error") => RunEnd::Failed(reply.error.clone().unwrap_or_else(|| FAILED.to_owned())),
            Some("aborted") => RunEnd::Cancelled,
            Some("length") => RunEnd::Failed(CUT_OFF.to_owned()),
            _ => RunEnd::Completed,
        }
    }
}

/// Learns what the agent does.
pub(crate) trait RunObserver {
    fn note(&mut self, event: &ClientEvent);

    /// Whether the agent waits for an answer of the user now.
    fn note_questions(&mut self, are_open: bool);

    /// What the agent has used so far.
    fn usage(&self) -> UsageTotals;

    /// How often it has called its model.
    fn turns(&self) -> u64;
}

/// What an agent has used so far: its own requests, and those of the tasks that it delegated.
#[derive(Debug, Clone, Default)]
pub(crate) struct UsageSoFar {
    own: UsageTotals,
    tasks: BTreeMap<String, UsageTotals>,
}

impl UsageSoFar {
    pub(crate) fn starting_at(own: UsageTotals) -> UsageSoFar {
        UsageSoFar { own, tasks: BTreeMap::new() }
    }

    pub(crate) fn note(&mut self, event: &ClientEvent) {
        match event {
            ClientEvent::Entry(entry) if !entry.off_path => {
                let Ok(entry) = parse_entry(entry.entry.bytes()) else { return };
                // The events of its tasks include it already.
                if entry.kind != EntryKind::SubagentResult
                    && let Some(used) = entry_usage(&entry)
                {
                    self.own.add(&used.usage);
                }
            }
            ClientEvent::SubagentTask { panel, .. } => {
                self.tasks.insert(panel.key.clone(), panel.usage);
            }
            _ => {}
        }
    }

    pub(crate) fn total(&self) -> UsageTotals {
        std::iter::once(&self.own).chain(self.tasks.values()).sum()
    }
}

/// What an agent used in processes that died. It counts against its budget.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spent {
    pub(crate) turns: u32,
    pub(crate) time: Duration,
    pub(crate) usage: UsageTotals,
}

/// An agent that works for another one.
#[derive(Debug)]
pub(crate) struct FollowedRun<'a> {
    pub(crate) client: &'a LocalClient,
    /// The agent whose clients answer the questions.
    pub(crate) parent: &'a AgentHandle,
    /// The name that questions show.
    pub(crate) asker: String,
    pub(crate) budget: AgentBudget,
    /// How long it worked in processes that died.
    pub(crate) time_spent: Duration,
    pub(crate) cancel: &'a CancellationToken,
    /// Its registration, if others can send it messages.
    pub(crate) registered: Option<&'a RegisteredTask>,
}

impl FollowedRun<'_> {
    /// Follows the agent until it is idle, or was stopped and does not end.
    pub(crate) async fn follow(self, mut events: FollowedEvents, observer: &mut impl RunObserver) -> RunEnd {
        let FollowedRun { client, parent, asker, budget, time_spent, cancel, mut registered } = self;
        let mut questions = PassedQuestions::new(parent, asker);
        let (mut stop, mut ended): (Option<RunEnd>, Option<RunEnd>) = (None, None);
        let mut give_up_at: Option<Instant> = None;
        let mut work_time = WorkTime::new(budget.max_seconds, time_spent, Instant::now());
        loop {
            // The time of the user does not count.
            work_time.set_paused(questions.are_open(), Instant::now());
            let is_behind = events.is_behind();
            let idle = async {
                match ended {
                    // What it missed tells how it ended.
                    Some(_) if !is_behind => client.worker().wait_until_idle().await,
                    _ => std::future::pending().await,
                }
            };
            if stop.is_some() && give_up_at.is_none() {
                stop_agent(client);
                give_up_at = Some(Instant::now() + STOP_TIMEOUT);
            }
            let event = tokio::select! {
                biased;
                () = cancel.cancelled(), if stop.is_none() => {
                    stop = Some(RunEnd::Cancelled);
                    continue;
                }
                () = wait_until(work_time.ends_at()), if stop.is_none() => {
                    let seconds = budget.max_seconds.unwrap_or_default();
                    stop = Some(RunEnd::Failed(format!("stopped after {seconds} seconds, its budget")));
                    continue;
                }
                () = wait_until(give_up_at) => break,
                event = events.next() => match event {
                    Ok(event) => event,
                    Err(error) if ended.is_none() && stop.is_none() => return RunEnd::Failed(error.message),
                    Err(_) => break,
                },
                () = questions.next_answer(client) => continue,
                () = idle => {
                    // What was sent before it became idle.
                    match (events.next().now_or_never(), registered.take()) {
                        (Some(Ok(event)), still_registered) => {
                            registered = still_registered;
                            event
                        }
                        // A message that was sent just now starts another turn.
                        (_, Some(registered)) => {
                            registered.clear_client().await;
                            continue;
                        }
                        _ => break,
                    }
                }
            };
            match event {
                ClientEvent::TurnStarted => ended = None,
                ClientEvent::TurnEnded { finished, error } => ended = Some(turn_end(finished, error, budget)),
                ClientEvent::Asked { id, question, agent } => questions.pass_on(id, *question, agent),
                ClientEvent::Answered { id, .. } => questions.withdraw(id),
                event => observer.note(&event),
            }
            observer.note_questions(questions.are_open());
            if stop.is_none()
                && let Some(problem) = over_budget(&observer.usage(), observer.turns(), budget)
            {
                stop = Some(RunEnd::Failed(problem));
            }
        }
        match (stop, ended) {
            // It may have ended just before it was stopped.
            (Some(_), Some(RunEnd::Completed)) => RunEnd::Completed,
            (Some(stop), _) => stop,
            (None, Some(ended)) => ended,
            (None, None) => RunEnd::Failed("the agent ended unexpectedly".to_owned()),
        }
    }
}

/// The time that an agent may still work.
#[derive(Debug)]
struct WorkTime {
    /// `None` if it has no budget.
    left: Option<Duration>,
    /// Since when it works. `None` while it is paused.
    since: Option<Instant>,
}

impl WorkTime {
    fn new(max_seconds: Option<u64>, spent: Duration, now: Instant) -> WorkTime {
        let left = max_seconds.map(|seconds| Duration::from_secs(seconds).saturating_sub(spent));
        WorkTime { left, since: Some(now) }
    }

    fn set_paused(&mut self, is_paused: bool, now: Instant) {
        match self.since {
            Some(since) if is_paused => {
                self.left = self.left.map(|left| left.saturating_sub(now.duration_since(since)));
                self.since = None;
            }
            None if !is_paused => self.since = Some(now),
            _ => {}
        }
    }

    /// When it is over, unless it is paused before.
    fn ends_at(&self) -> Option<Instant> {
        // A time that is too far away never comes.
        self.since?.checked_add(self.left?)
    }
}

fn over_budget(used: &UsageTotals, turns: u64, budget: AgentBudget) -> Option<String> {
    if let Some(limit) = budget.max_turns.filter(|limit| turns > u64::from(*limit)) {
        return Some(format!("stopped after {limit} model calls, its budget"));
    }
    if let Some(limit) = budget.max_tokens.filter(|limit| used.total_tokens > *limit) {
        return Some(format!("stopped after {} tokens; its budget is {limit}", used.total_tokens));
    }
    let limit = budget.max_cost.filter(|limit| used.cost > *limit)?;
    Some(format!("stopped after {:.4} dollars; its budget is {limit}", used.cost))
}

async fn wait_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Stops the agent without waiting for it; its events tell when it has ended.
pub(super) fn stop_agent(client: &LocalClient) {
    let client = client.clone();
    tokio::spawn(async move {
        if let Err(error) = client.send(ClientCommand::Cancel).await {
            tracing::debug!(%error, "cannot cancel a sub-agent cleanly");
        }
    });
}

fn turn_end(finished: Option<TurnOutcome>, error: Option<String>, budget: AgentBudget) -> RunEnd {
    let error = || error.unwrap_or_else(|| FAILED.to_owned());
    match finished {
        Some(TurnOutcome::Done) => RunEnd::Completed,
        Some(TurnOutcome::Cancelled) => RunEnd::Cancelled,
        Some(TurnOutcome::CutOff) => RunEnd::Failed(CUT_OFF.to_owned()),
        Some(TurnOutcome::StepLimit) => match budget.max_turns {
            Some(turns) => RunEnd::Failed(format!("stopped after {turns} model calls, its budget")),
            None => RunEnd::Failed(error()),
        },
        Some(TurnOutcome::Failed) | None => RunEnd::Failed(error()),
    }
}

/// The questions of the agent that were passed on to the clients of its parent.
struct PassedQuestions<'a> {
    parent: &'a AgentHandle,
    /// The agent and its task, for people.
    name: String,
    answers: FuturesUnordered<BoxFuture<'a, (u64, Option<UserAnswer>)>>,
    open: BTreeMap<u64, CancellationToken>,
}

impl<'a> PassedQuestions<'a> {
    fn new(parent: &'a AgentHandle, name: String) -> PassedQuestions<'a> {
        PassedQuestions { parent, name, answers: FuturesUnordered::new(), open: BTreeMap::new() }
    }

    /// `asker` is the agent of a nested task.
    fn pass_on(&mut self, id: u64, question: Question, asker: Option<String>) {
        if self.open.contains_key(&id) {
            return;
        }
        let cancel = CancellationToken::new();
        self.open.insert(id, cancel.clone());
        let agent = self.parent.clone();
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

    fn are_open(&self) -> bool {
        !self.open.is_empty()
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

#[cfg(all(test, feature = "contract"))]
mod tests {
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};

    use async_trait::async_trait;
    use futures_util::stream;
    use osier_protocol::client::AttachedState;
    use osier_protocol::{
        Attached, ClientError, CommandReply, EndedTurn, LogPosition, QueryAnswer, SessionQuery,
    };
    use serde_json::json;

    use super::*;
    use crate::contract_engine::ContractEngine;

    /// A client whose attachments are prepared.
    #[derive(Debug)]
    struct PreparedClient(Mutex<VecDeque<(AttachedState, Vec<ClientEvent>)>>);

    #[async_trait]
    impl Client for PreparedClient {
        async fn send(&self, _: ClientCommand) -> Result<CommandReply, ClientError> {
            panic!("a follower only attaches")
        }

        async fn query(&self, _: SessionQuery) -> Result<QueryAnswer, ClientError> {
            panic!("a follower only attaches")
        }

        async fn attach(&self, _: Option<LogPosition>) -> Result<Attached, ClientError> {
            let mut prepared = self.0.lock().expect("no test panics while it holds the lock");
            let (state, events) = prepared.pop_front().expect("one attachment is prepared for each call");
            Ok(Attached { state, events: stream::iter(events).chain(stream::pending()).boxed() })
        }
    }

    #[derive(Debug, Default)]
    struct UsageObserver(UsageSoFar);

    impl RunObserver for UsageObserver {
        fn note(&mut self, event: &ClientEvent) {
            self.0.note(event);
        }

        fn note_questions(&mut self, _: bool) {}

        fn usage(&self) -> UsageTotals {
            self.0.total()
        }

        fn turns(&self) -> u64 {
            0
        }
    }

    #[test]
    fn work_time_stops_while_it_is_paused() {
        let start = Instant::now();
        let after = |seconds: u64| start + Duration::from_secs(seconds);
        let mut time = WorkTime::new(Some(10), Duration::from_secs(3), start);
        assert_eq!(time.ends_at(), Some(after(7)));
        for now in [2, 3] {
            time.set_paused(true, after(now));
            assert_eq!(time.ends_at(), None);
        }
        for now in [100, 101] {
            time.set_paused(false, after(now));
            assert_eq!(time.ends_at(), Some(after(105)));
        }
        assert_eq!(WorkTime::new(None, Duration::ZERO, start).ends_at(), None);
        assert_eq!(WorkTime::new(Some(u64::MAX), Duration::ZERO, start).ends_at(), None);
    }

    #[test]
    fn model_calls_beyond_the_budget_end_an_agent() {
        let budget = AgentBudget { max_turns: Some(2), ..AgentBudget::default() };
        assert_eq!(over_budget(&UsageTotals::default(), 2, budget), None);
        let problem = over_budget(&UsageTotals::default(), 3, budget);
        assert_eq!(problem.as_deref(), Some("stopped after 2 model calls, its budget"));
    }

    #[tokio::test]
    async fn what_a_follower_missed_counts_and_tells_how_the_turn_ended() {
        let engine = ContractEngine::new().await;
        let client = engine.connect().await.unwrap();
        let reply = json!({ "type": "message", "id": "a", "parentId": null,
            "timestamp": "2026-01-01T00:00:00.000Z", "message": {
                "role": "assistant", "content": [], "provider": "scripted", "model": "scripted", "stopReason": "error",
                "usage": { "input": 10, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 15 },
            } });
        let entry = json!({ "type": "entry", "seq": 0, "id": "a", "draftId": null, "foreign": false, "entry": reply });
        let lagged = ClientEvent::Lagged { missed: 1 };
        let running = AttachedState { turn_running: true, ..AttachedState::default() };
        let last_turn =
            EndedTurn { finished: Some(TurnOutcome::Failed), error: Some("broken".to_owned()), revision: 1 };
        let ended = AttachedState {
            position: LogPosition { entries: 1, ..running.position },
            last_turn: Some(last_turn),
            ..AttachedState::default()
        };
        let attachments = [(running, vec![lagged]), (ended, vec![serde_json::from_value(entry).unwrap()])];
        let prepared = Arc::new(PreparedClient(Mutex::new(attachments.into())));
        let (_, events) = FollowedEvents::attach(prepared).await.unwrap();
        let run = FollowedRun {
            client: &client,
            parent: &client.worker().handle(),
            asker: String::new(),
            budget: AgentBudget::default(),
            time_spent: Duration::ZERO,
            cancel: &CancellationToken::new(),
            registered: None,
        };
        let mut observer = UsageObserver::default();
        let end = run.follow(events, &mut observer).await;
        assert!(matches!(&end, RunEnd::Failed(problem) if problem == "broken"), "{end:?}");
        assert_eq!(observer.usage().total_tokens, 15);
    }
}
