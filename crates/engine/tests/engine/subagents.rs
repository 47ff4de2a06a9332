//! Tasks that a model delegates: their sessions, results, budgets, questions and failures.

use std::sync::Arc;
use std::time::Duration;

use osier_agent::{AgentBudget, AgentLibrary};
use osier_engine::{AgentSpec, KeepWhen, LiveSession, LocalClient, SubagentConfig, Workspace};
use osier_model::scripted::{ScriptedModel, ScriptedTurn};
use osier_model::{
    CancellationToken, ContentBlock, DeltaStream, Message, Model, ModelError, ModelInfo, Price, Request,
    StopReason,
};
use osier_protocol::subagents::{SubagentProjection, TaskPanel};
use osier_protocol::{
    Allowance, Client, ClientCommand, ClientEvent, CommandReply, EventStream, QueryAnswer, SessionQuery,
    TurnOutcome, UserAnswer,
};
use osier_tools::ApprovalMode;
use serde_json::{Value, json};

use crate::support::{TestEngine, next_event};

/// A model that does what the prompt says, so that agents can work at the same time.
///
/// A prompt `delegate [..]` calls `task` with that list. Any other prompt is a list of words: `answer TEXT`, `fail`,
/// `break`, which fails in the middle of a reply, `fail-later`, which fails after a call, `hang`, `write FILE`, `call TOOL`, `list`, `loop`, `big`, or `describe`, which answers with the tools and the system prompt.
#[derive(Debug)]
struct ObedientModel;

fn text_of(message: &Message) -> String {
    let blocks = match message {
        Message::User(user) => &user.content,
        Message::ToolResult(result) => &result.content,
        _ => return String::new(),
    };
    let text = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => text.text.clone(),
        _ => String::new(),
    };
    blocks.iter().map(text).collect()
}

fn broken() -> ModelError {
    ModelError::BadRequest { provider: "scripted".to_owned(), status: 400, detail: "it failed".to_owned() }
}

fn reply(request: &Request) -> ScriptedTurn {
    let last = request.messages.last();
    if let Some(message @ Message::ToolResult(result)) = last {
        if request.messages.iter().any(|message| text_of(message).starts_with("loop")) {
            let calls = request.messages.len();
            return ScriptedTurn::new().call(format!("c{calls}"), "ls", &json!({ "path": "." })).usage(10, 5);
        }
        if request.messages.iter().any(|message| text_of(message).starts_with("fail-later")) {
            return ScriptedTurn::new().fail(broken());
        }
        let name = result.tool_name.as_str();
        return ScriptedTurn::reply(format!("{name}: {}", text_of(message))).usage(10, 5);
    }
    let prompt = last.map(text_of).unwrap_or_default();
    let (word, rest) = prompt.split_once(' ').unwrap_or((&prompt, ""));
    match word {
        "delegate" => {
            let tasks: Value = serde_json::from_str(rest).unwrap();
            ScriptedTurn::new().call("call_1", "task", &json!({ "tasks": tasks })).usage(100, 10)
        }
        "answer" => ScriptedTurn::reply(rest).usage(10, 5),
        "long" => ScriptedTurn::reply(rest).stop(StopReason::Length).usage(10, 5),
        "fail" => ScriptedTurn::new().fail(broken()),
        "break" => ScriptedTurn::reply("I begin, and then").fail(broken()),
        "fail-later" => ScriptedTurn::new().call("f", "ls", &json!({ "path": "." })).usage(10, 5),
        "hang" => ScriptedTurn::reply("I wait").hang(),
        "write" => {
            ScriptedTurn::new().call("w", "write", &json!({ "path": rest, "content": "x" })).usage(10, 5)
        }
        "call" => ScriptedTurn::new().call("c", rest, &json!({})).usage(10, 5),
        "list" | "loop" => ScriptedTurn::new().call("c0", "ls", &json!({ "path": "." })).usage(10, 5),
        "describe" => {
            let tools: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
            ScriptedTurn::reply(format!("{} | {}", tools.join(" "), request.system)).usage(10, 5)
        }
        "big" => ScriptedTurn::new().call("c0", "ls", &json!({ "path": "." })).usage(10_000, 5),
        _ => ScriptedTurn::reply(format!("what is {word}?")),
    }
}

/// The reply of the model.
pub(crate) fn scripted_reply(request: Request, cancel: CancellationToken) -> DeltaStream {
    ScriptedModel::new([reply(&request)]).stream(request, cancel)
}

pub(crate) fn last_prompt(request: &Request) -> String {
    let is_user = |message: &&Message| matches!(message, Message::User(_));
    request.messages.iter().rev().find(is_user).map(text_of).unwrap_or_default()
}

impl Model for ObedientModel {
    fn stream(&self, request: Request, cancel: CancellationToken) -> DeltaStream {
        scripted_reply(request, cancel)
    }
}

pub(crate) fn spec(engine: &TestEngine, config: SubagentConfig) -> AgentSpec {
    let spec = engine.agent();
    let mut workspace = Workspace::clone(&spec.workspace);
    workspace.models.model = Arc::new(ObedientModel);
    workspace.subagents = Some(config);
    // A million tokens of input cost 100 dollars.
    let price = Price { input: 100.0, ..spec.model.price.clone() };
    let model = Arc::new(ModelInfo { price, ..ModelInfo::clone(&spec.model) });
    AgentSpec { workspace: Arc::new(workspace), model, ..spec }
}

pub(crate) fn config() -> SubagentConfig {
    SubagentConfig {
        library: AgentLibrary::default(),
        max_parallel: 8,
        max_depth: 1,
        budget: AgentBudget { max_turns: Some(20), ..AgentBudget::default() },
    }
}

pub(crate) struct Delegation {
    pub(crate) engine: TestEngine,
    pub(crate) live: Arc<LiveSession>,
    pub(crate) client: LocalClient,
    pub(crate) events: EventStream,
}

impl Delegation {
    pub(crate) async fn start(config: SubagentConfig, tasks: &Value) -> Delegation {
        Delegation::start_with(TestEngine::new(), config, tasks).await
    }

    pub(crate) async fn start_with(engine: TestEngine, config: SubagentConfig, tasks: &Value) -> Delegation {
        let live = engine.create(KeepWhen::Used).await;
        let client = engine.engine.connect(&live, &spec(&engine, config)).await.unwrap();
        let events = client.attach(None).await.unwrap().events;
        client.send(ClientCommand::prompt(format!("delegate {tasks}"))).await.unwrap();
        Delegation { engine, live, client, events }
    }

    /// The events up to the end of the turn.
    pub(crate) async fn until_end(&mut self) -> Vec<ClientEvent> {
        let mut received = Vec::new();
        loop {
            let event = next_event(&mut self.events).await;
            let is_end = matches!(event, ClientEvent::TurnEnded { .. });
            received.push(event);
            if is_end {
                return received;
            }
        }
    }

    pub(crate) async fn until(&mut self, mut is_it: impl FnMut(&ClientEvent) -> bool) -> ClientEvent {
        loop {
            let event = next_event(&mut self.events).await;
            if is_it(&event) {
                return event;
            }
        }
    }

    pub(crate) async fn batches(&self) -> Vec<SubagentProjection> {
        batches(&self.client).await
    }

    async fn last_reply(&self) -> String {
        match self.client.query(SessionQuery::LastReply).await.unwrap() {
            QueryAnswer::LastReply { reply } => reply.unwrap().text,
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) async fn batches(client: &LocalClient) -> Vec<SubagentProjection> {
    match client.query(SessionQuery::Subagents).await.unwrap() {
        QueryAnswer::Subagents { batches } => batches,
        other => panic!("{other:?}"),
    }
}

fn panels(events: &[ClientEvent]) -> Vec<TaskPanel> {
    let mut last: std::collections::BTreeMap<String, TaskPanel> = Default::default();
    for event in events {
        if let ClientEvent::SubagentTask { panel, .. } = event {
            last.insert(panel.key.clone(), (**panel).clone());
        }
    }
    let mut panels: Vec<TaskPanel> = last.into_values().collect();
    panels.sort_by_key(|panel| panel.sort_order);
    panels
}

fn bytes(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

#[tokio::test]
async fn many_tasks_run_in_their_own_sessions_and_the_model_gets_their_answers() {
    for count in [1, 8, 32] {
        let tasks: Vec<Value> = (0..count)
            .map(|n| json!({ "prompt": format!("answer result {n}"), "agent": "explore" }))
            .collect();
        let mut run = Delegation::start(config(), &json!(tasks)).await;
        let events = run.until_end().await;
        assert!(matches!(
            events.last(),
            Some(ClientEvent::TurnEnded { finished: Some(TurnOutcome::Done), .. })
        ));
        let reply = run.last_reply().await;
        assert!((0..count).all(|n| reply.contains(&format!("result {n}"))), "{reply}");
        let batch = run.batches().await.remove(0);
        assert_eq!((batch.status.as_str(), batch.task_panels.len()), ("completed", count));
        assert!(!batch.diagnostics.fallback_used);
        assert_eq!(batch.usage.total_tokens, 15 * count as u64);
        // The last live events are the stored result, byte for byte.
        assert_eq!(bytes(&panels(&events)), bytes(&batch.task_panels));
        for panel in &batch.task_panels {
            let child = run.engine.find(panel.session_id.as_deref().unwrap()).await;
            let header = &child.opened.header;
            assert_eq!(header.parent_session_id.as_deref(), Some(run.live.session().id()));
            assert_eq!(header.parent_tool_call_id.as_deref(), Some("call_1"));
            assert_eq!(header.agent_id.as_deref(), Some("explore"));
        }
    }
}

/// Session ids of which three in a row start alike.
#[derive(Debug, Default)]
struct SimilarIds(std::sync::atomic::AtomicU32);

impl osier_session::IdSource for SimilarIds {
    fn entry(&self) -> String {
        format!("{:08x}", self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
    }

    fn session(&self) -> String {
        let number = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        format!("{:08x}-{number:04x}", number / 3)
    }
}

#[tokio::test]
async fn the_sessions_of_tasks_have_unique_short_ids() {
    let ids = Arc::new(SimilarIds::default());
    let session_env = osier_session::SessionEnv { ids, ..Default::default() };
    let engine = TestEngine::with_config(osier_engine::EngineConfig { session_env, ..Default::default() });
    let tasks = json!(vec![json!({ "prompt": "answer x" }); 8]);
    let mut run = Delegation::start_with(engine, config(), &tasks).await;
    run.until_end().await;
    let panels = run.batches().await.remove(0).task_panels;
    let short: std::collections::BTreeSet<&str> =
        panels.iter().map(|panel| &panel.session_id.as_deref().unwrap()[..8]).collect();
    assert_eq!(short.len(), 8, "{short:?}");
}

#[tokio::test]
async fn a_replay_shows_what_was_shown_live() {
    let tasks = json!([{ "prompt": "answer one" }, { "prompt": "fail" }, { "prompt": "write a.txt", "agent": "explore" }]);
    let mut run = Delegation::start(config(), &tasks).await;
    run.until_end().await;
    let live = bytes(&run.batches().await);
    let id = run.live.session().id().to_owned();
    let Delegation { engine, live: session, client, events } = run;
    let closed = Arc::downgrade(&session);
    drop((session, client, events));
    while closed.upgrade().is_some() {
        tokio::task::yield_now().await;
    }
    let again = engine.open(&id).await;
    let client = engine.engine.connect(&again, &spec(&engine, config())).await.unwrap();
    assert_eq!(bytes(&batches(&client).await), live);
    let status = |batch: &SubagentProjection| -> Vec<String> {
        batch.task_panels.iter().map(|panel| panel.status.clone()).collect()
    };
    let batch = batches(&client).await.remove(0);
    assert_eq!(status(&batch), ["completed", "failed", "completed"]);
    assert!(batch.task_panels[1].error.as_ref().unwrap().contains("it failed"));
    // An agent that only reads has no tool that writes.
    assert!(batch.task_panels[2].summary.contains("no tool"), "{}", batch.task_panels[2].summary);
    let route = batch
        .tool_runtime_routes
        .iter()
        .find(|route| route["agent"] == "explore" && route["toolName"] == "write");
    assert_eq!(route.unwrap()["allowed"], false);
    let never = batch.tool_runtime_routes.iter().filter(|route| route["toolName"] == "backtrack");
    assert!(never.into_iter().all(|route| route["allowed"] == false));
}

#[tokio::test]
async fn usage_of_tasks_counts_in_the_parent_and_is_shown_separately() {
    let mut run =
        Delegation::start(config(), &json!([{ "prompt": "answer a" }, { "prompt": "answer b" }])).await;
    run.until_end().await;
    let QueryAnswer::Usage { usage } = run.client.query(SessionQuery::Usage).await.unwrap() else { panic!() };
    assert_eq!(usage.subagents.total_tokens, 30);
    assert_eq!(usage.session.total_tokens, 110 + 15 + 30);
    let card = run.engine.find(run.live.session().id()).await.card().await.unwrap();
    assert_eq!(card.tokens, 155);
    // Each of the two tasks sent 10 tokens, for 100 dollars a million.
    let is_same = |one: f64, other: f64| (one - other).abs() < 1e-9;
    assert!(usage.subagents.cost >= 0.002, "{usage:?}");
    let own: f64 = usage.models.iter().map(|model| model.usage.cost).sum();
    assert!(own >= 0.01 && is_same(usage.session.cost, own + usage.subagents.cost), "{usage:?}");
    assert!(is_same(card.cost, usage.session.cost), "{card:?}");
}

#[tokio::test]
async fn all_tasks_that_work_are_steered_at_once() {
    let tasks = json!([{ "prompt": "write a.txt" }, { "prompt": "write b.txt" }]);
    let mut run = Delegation::start(config(), &tasks).await;
    let mut questions = Vec::new();
    while questions.len() < 2 {
        let asked = run.until(|event| matches!(event, ClientEvent::Asked { .. })).await;
        let ClientEvent::Asked { id, .. } = asked else { unreachable!() };
        questions.push(id);
    }
    let steer = || ClientCommand::SteerTask { task: None, text: "answer steered".to_owned() };
    run.client.send(steer()).await.unwrap();
    for question in questions {
        run.client.send(ClientCommand::Answer { question, answer: UserAnswer::Once }).await.unwrap();
    }
    run.until_end().await;
    let panels = run.batches().await.remove(0).task_panels;
    assert!(panels.iter().all(|panel| panel.summary == "steered"), "{panels:?}");
    let error = run.client.send(steer()).await.unwrap_err();
    assert_eq!(error.code, osier_protocol::ErrorCode::TaskNotRunning);
}

#[tokio::test]
async fn a_budget_ends_a_task_and_its_result_says_so() {
    let budgets = [
        (AgentBudget { max_turns: Some(3), ..AgentBudget::default() }, "loop", "3 model calls"),
        (AgentBudget { max_tokens: Some(5_000), ..AgentBudget::default() }, "big", "its budget is 5000"),
        (AgentBudget { max_seconds: Some(1), ..AgentBudget::default() }, "hang", "1 seconds"),
        (AgentBudget { max_cost: Some(0.5), ..AgentBudget::default() }, "big", "its budget is 0.5"),
    ];
    for (budget, prompt, expected) in budgets {
        let mut run =
            Delegation::start(SubagentConfig { budget, ..config() }, &json!([{ "prompt": prompt }])).await;
        run.until_end().await;
        let batch = run.batches().await.remove(0);
        let panel = &batch.task_panels[0];
        assert_eq!((batch.status.as_str(), panel.status.as_str()), ("failed", "failed"), "{prompt}");
        assert!(panel.error.as_ref().unwrap().contains(expected), "{:?}", panel.error);
    }
}

#[tokio::test]
async fn one_task_is_canceled_and_another_one_steered() {
    let mut run =
        Delegation::start(config(), &json!([{ "prompt": "hang" }, { "prompt": "write steer.txt" }])).await;
    // The second task waits for an answer, so it is running.
    let asked = run.until(|event| matches!(event, ClientEvent::Asked { .. })).await;
    let ClientEvent::Asked { id, agent, .. } = asked else { unreachable!() };
    assert_eq!(agent.as_deref(), Some("general: write steer.txt"));
    let batch = run.batches().await.remove(0);
    assert_eq!(batch.status, "running");
    assert_eq!(batch.task_panels[1].activity.as_deref(), Some("waiting for your answer"));
    let task = |at: usize| batch.task_panels[at].task_id.clone();
    let steer = ClientCommand::SteerTask { task: Some(task(1)), text: "also this".to_owned() };
    assert!(matches!(run.client.send(steer).await.unwrap(), CommandReply::Queued));
    run.client.send(ClientCommand::Answer { question: id, answer: UserAnswer::Once }).await.unwrap();
    run.client.send(ClientCommand::CancelTasks { task: Some(task(0)) }).await.unwrap();
    run.until_end().await;
    let unknown = ClientCommand::CancelTasks { task: Some(task(0)) };
    assert!(run.client.send(unknown).await.unwrap_err().message.contains("no task"));
    let ended = run.batches().await.remove(0);
    let statuses: Vec<&str> = ended.task_panels.iter().map(|panel| panel.status.as_str()).collect();
    assert_eq!((ended.status.as_str(), statuses), ("completed", vec!["cancelled", "completed"]));
    assert!(run.engine.folder.path().join("steer.txt").exists());
    let child = run.engine.open(ended.task_panels[1].session_id.as_deref().unwrap()).await;
    let prompts = child
        .session()
        .tree()
        .heads()
        .iter()
        .filter(|(_, head)| head.role == osier_tree::MessageRole::User)
        .count();
    assert_eq!(prompts, 2, "the task and the steering message");
}

#[tokio::test]
async fn a_client_opens_a_task_while_it_works() {
    let mut run = Delegation::start(config(), &json!([{ "prompt": "hang" }])).await;
    run.until(|event| matches!(event, ClientEvent::SubagentTask { panel, .. } if panel.status == "running"))
        .await;
    let batch = run.batches().await.remove(0);
    let child = run.engine.open(batch.task_panels[0].session_id.as_deref().unwrap()).await;
    let watcher = run.engine.engine.connect_if_running(&child).await.expect("its agent works");
    // Canceling the task in its own session ends only the task.
    watcher.send(ClientCommand::Cancel).await.unwrap();
    let events = run.until_end().await;
    assert!(matches!(events.last(), Some(ClientEvent::TurnEnded { finished: Some(TurnOutcome::Done), .. })));
    assert_eq!(run.batches().await[0].task_panels[0].status, "cancelled");
}

#[tokio::test]
async fn a_client_that_joins_sees_the_state_of_every_task() {
    let mut run =
        Delegation::start(config(), &json!([{ "prompt": "answer one" }, { "prompt": "hang" }])).await;
    let mut last: std::collections::BTreeMap<u64, TaskPanel> = Default::default();
    run.until(|event| {
        if let ClientEvent::SubagentTask { panel, .. } = event {
            last.insert(panel.sort_order, TaskPanel::clone(panel));
        }
        last.get(&0).is_some_and(|panel| panel.status == "completed")
            && last.get(&1).is_some_and(|panel| panel.status == "running")
    })
    .await;
    let batch = run.batches().await.remove(0);
    let states: Vec<(&str, &str)> =
        batch.task_panels.iter().map(|panel| (panel.status.as_str(), panel.summary.as_str())).collect();
    assert_eq!((batch.status.as_str(), states[0]), ("running", ("completed", "one")));
    assert_eq!(states[1].0, "running");
    run.client.send(ClientCommand::Cancel).await.unwrap();
    assert_eq!(run.batches().await[0].status, "cancelled");
}

#[tokio::test]
async fn a_task_never_has_more_rights_than_its_parent() {
    let engine = TestEngine::new();
    let folder = engine.folder.path().join("agents");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("bold.md"),
        "---\ndescription: d\napproval: yolo\ntools: write, task\n---\nDo it.",
    )
    .unwrap();
    let library = AgentLibrary { folders: vec![folder] };
    let tasks = json!([{ "prompt": "write bold.txt", "agent": "bold" }]);
    let mut run = Delegation::start_with(engine, SubagentConfig { library, ..config() }, &tasks).await;
    // The parent asks before it writes, so the agent asks too.
    let asked = run.until(|event| matches!(event, ClientEvent::Asked { .. })).await;
    let ClientEvent::Asked { id, .. } = asked else { unreachable!() };
    let no = UserAnswer::No { reason: "not now".to_owned() };
    run.client.send(ClientCommand::Answer { question: id, answer: no }).await.unwrap();
    run.until_end().await;
    assert!(!run.engine.folder.path().join("bold.txt").exists());
    // With more rights for the parent, the agent has them too.
    run.client.send(ClientCommand::SetApproval { mode: ApprovalMode::Yolo }).await.unwrap();
    run.client.send(ClientCommand::prompt(format!("delegate {tasks}"))).await.unwrap();
    run.until_end().await;
    assert!(run.engine.folder.path().join("bold.txt").exists());
}

#[tokio::test]
async fn an_agent_file_can_be_stricter_than_its_parent_and_inherits_what_was_allowed() {
    let engine = TestEngine::new();
    let folder = engine.folder.path().join("agents");
    std::fs::create_dir_all(&folder).unwrap();
    let file = "---\ndescription: d\napproval: default\ntools: write\n---\nDo it.";
    std::fs::write(folder.join("careful.md"), file).unwrap();
    let library = AgentLibrary { folders: vec![folder] };
    let delegate = |agent: &str, name: &str| {
        let tasks = json!([{ "prompt": format!("write {name}"), "agent": agent }]);
        ClientCommand::prompt(format!("delegate {tasks}"))
    };
    let config = SubagentConfig { library, ..config() };
    let mut run = Delegation::start_with(engine, config, &json!([{ "prompt": "answer x" }])).await;
    run.until_end().await;
    // The parent writes without a question; this agent asks.
    run.client.send(ClientCommand::SetApproval { mode: ApprovalMode::AutoEdit }).await.unwrap();
    let mut asked = Vec::new();
    for (agent, name) in [("general", "one.txt"), ("careful", "two.txt"), ("careful", "three.txt")] {
        run.client.send(delegate(agent, name)).await.unwrap();
        loop {
            match next_event(&mut run.events).await {
                ClientEvent::Asked { id, .. } => {
                    asked.push(name);
                    let answer = UserAnswer::Always { allowance: Allowance::Tool("write".to_owned()) };
                    run.client.send(ClientCommand::Answer { question: id, answer }).await.unwrap();
                }
                ClientEvent::TurnEnded { .. } => break,
                _ => {}
            }
        }
        assert!(run.engine.folder.path().join(name).exists(), "{name}");
        if name == "two.txt" {
            // What the parent may do from now on, its agents may do too.
            run.client.send(ClientCommand::SetApproval { mode: ApprovalMode::Default }).await.unwrap();
            run.client.send(ClientCommand::prompt("write own.txt")).await.unwrap();
            loop {
                match next_event(&mut run.events).await {
                    ClientEvent::Asked { id, .. } => {
                        let answer = UserAnswer::Always { allowance: Allowance::Tool("write".to_owned()) };
                        run.client.send(ClientCommand::Answer { question: id, answer }).await.unwrap();
                    }
                    ClientEvent::TurnEnded { .. } => break,
                    _ => {}
                }
            }
        }
    }
    assert_eq!(asked, ["two.txt"]);
}

#[tokio::test]
async fn a_question_of_a_nested_task_names_all_its_agents() {
    let inner = json!([{ "prompt": "write deep.txt" }]);
    let tasks = json!([{ "prompt": format!("delegate {inner}"), "description": "outer" }]);
    let mut run = Delegation::start(SubagentConfig { max_depth: 2, ..config() }, &tasks).await;
    let asked = run.until(|event| matches!(event, ClientEvent::Asked { .. })).await;
    let ClientEvent::Asked { id, agent, .. } = asked else { unreachable!() };
    assert_eq!(agent.as_deref(), Some("general: outer › general: write deep.txt"));
    run.client.send(ClientCommand::Answer { question: id, answer: UserAnswer::Once }).await.unwrap();
    run.until_end().await;
    assert!(run.engine.folder.path().join("deep.txt").exists());
}

#[tokio::test]
async fn a_steering_message_does_not_renew_the_budget() {
    let budget = AgentBudget { max_turns: Some(2), ..AgentBudget::default() };
    let config = SubagentConfig { budget, ..config() };
    let mut run = Delegation::start(config, &json!([{ "prompt": "write a.txt" }])).await;
    let asked = run.until(|event| matches!(event, ClientEvent::Asked { .. })).await;
    let ClientEvent::Asked { id, .. } = asked else { unreachable!() };
    let steer = ClientCommand::SteerTask { task: None, text: "list more".to_owned() };
    run.client.send(steer).await.unwrap();
    run.client.send(ClientCommand::Answer { question: id, answer: UserAnswer::Once }).await.unwrap();
    run.until_end().await;
    let panel = run.batches().await.remove(0).task_panels.remove(0);
    assert_eq!((panel.status.as_str(), panel.turns), ("failed", 2), "{panel:?}");
    assert!(panel.error.as_ref().unwrap().contains("2 model calls"), "{panel:?}");
}

#[tokio::test]
async fn an_agent_has_its_own_prompt_model_and_tools_and_never_backtracks() {
    let engine = TestEngine::new();
    let folder = engine.folder.path().join("agents");
    std::fs::create_dir_all(&folder).unwrap();
    let file =
        "---\ndescription: d\nmodel: offline/offline\ntools: ls, read, backtrack\n---\nYou are the scout.";
    std::fs::write(folder.join("scout.md"), file).unwrap();
    let library = AgentLibrary { folders: vec![folder] };
    let tasks = json!([{ "prompt": "describe", "agent": "scout" }, { "prompt": "describe" }]);
    let mut run = Delegation::start_with(engine, SubagentConfig { library, ..config() }, &tasks).await;
    run.until_end().await;
    let panels = run.batches().await.remove(0).task_panels;
    let (tools, system) = panels[0].summary.split_once(" | ").unwrap();
    assert_eq!(tools, "read ls");
    assert!(system.starts_with("You are the scout."), "{system}");
    let models: Vec<Option<&str>> = panels.iter().map(|panel| panel.model.as_deref()).collect();
    assert_eq!(models, [Some("offline/offline"), Some("scripted/scripted")]);
    let (tools, system) = panels[1].summary.split_once(" | ").unwrap();
    assert!(tools.contains("write") && !tools.contains("backtrack"), "{tools}");
    assert!(!system.contains("scout"), "{system}");
}

#[tokio::test]
async fn no_more_tasks_run_at_once_than_the_limit() {
    let tasks = json!(vec![json!({ "prompt": "hang" }); 5]);
    let mut run = Delegation::start(SubagentConfig { max_parallel: 2, ..config() }, &tasks).await;
    let mut started = Vec::new();
    let mut wait_for = async |count: usize, run: &mut Delegation| {
        while started.len() < count {
            let event = run.until(|event| matches!(event, ClientEvent::SubagentTask { .. })).await;
            let ClientEvent::SubagentTask { panel, .. } = event else { unreachable!() };
            if panel.status == "running" && !started.contains(&panel.task_id) {
                started.push(panel.task_id.clone());
            }
        }
        started.clone()
    };
    let first = wait_for(2, &mut run).await;
    // The next one starts when one of them has ended, and not before.
    run.client.send(ClientCommand::CancelTasks { task: Some(first[0].clone()) }).await.unwrap();
    assert_eq!(wait_for(3, &mut run).await.len(), 3);
    run.client.send(ClientCommand::Cancel).await.unwrap();
    let children = run.batches().await.remove(0).task_panels;
    let never_started = children.iter().filter(|panel| panel.started_at.is_none()).count();
    assert_eq!(never_started, 2, "{children:?}");
}

#[tokio::test]
async fn the_result_has_the_timeline_the_evidence_and_the_usage_of_all_tasks() {
    let tasks = json!([{ "prompt": "list a" }, { "prompt": "list b" }]);
    let mut run = Delegation::start(config(), &tasks).await;
    run.until_end().await;
    let batch = run.batches().await.remove(0);
    for panel in &batch.task_panels {
        let own = batch.process_events.iter().filter(|event| event["taskId"] == panel.task_id.as_str());
        let kinds: Vec<&str> = own.map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["run_start", "tool_call", "tool_result", "run_end"]);
        assert_eq!(panel.usage.total_tokens, 30);
        assert!(batch.evidence.iter().any(|found| found["taskId"] == panel.task_id.as_str()));
    }
    let times: Vec<i64> =
        batch.process_events.iter().map(|event| event["timestamp"].as_i64().unwrap()).collect();
    assert!(times.is_sorted());
    assert_eq!(batch.usage.total_tokens, 60);
    let QueryAnswer::Path(path) = run.client.query(SessionQuery::Path { limit: None }).await.unwrap() else {
        panic!("a path")
    };
    let kinds: Vec<&str> =
        path.entries.iter().filter_map(|line| line.view()).map(|view| view.kind.name()).collect();
    let place = |kind: &str| kinds.iter().position(|other| *other == kind);
    assert!(place("subagent_batch") < place("subagent_result"), "{kinds:?}");
    assert_eq!(kinds.iter().filter(|kind| kind.starts_with("subagent")).count(), 2);
}

#[tokio::test]
async fn nesting_is_limited() {
    let inner = json!([{ "prompt": "answer deep" }]);
    let tasks = json!([{ "prompt": format!("delegate {inner}") }]);
    for (max_depth, expected) in [(1, "no tool `task`"), (2, "deep")] {
        let mut run = Delegation::start(SubagentConfig { max_depth, ..config() }, &tasks).await;
        run.until_end().await;
        let reply = run.last_reply().await;
        assert!(reply.contains(expected), "{max_depth}: {reply}");
    }
}

#[tokio::test]
async fn an_unknown_agent_starts_nothing() {
    let mut run = Delegation::start(config(), &json!([{ "prompt": "answer x", "agent": "nobody" }])).await;
    run.until_end().await;
    assert!(run.last_reply().await.contains("there is no agent `nobody`; the agents are explore, general"));
    assert!(run.batches().await.is_empty());
}

#[tokio::test]
async fn deleting_a_session_deletes_its_tasks_also_if_that_was_interrupted() {
    let tasks = json!([{ "prompt": "answer a" }, { "prompt": "answer b" }]);
    let mut run = Delegation::start(config(), &tasks).await;
    run.until_end().await;
    let Delegation { engine, live, client, events } = run;
    let (id, file) = (live.session().id().to_owned(), live.session().file().unwrap().to_owned());
    let card = engine.find(&id).await.card().await.unwrap();
    let plan = engine.engine.plan_delete(vec![card]).await.unwrap();
    assert_eq!(plan.sessions().count(), 3);
    let closed = Arc::downgrade(&live);
    drop((live, client, events));
    while closed.upgrade().is_some() {
        tokio::task::yield_now().await;
    }
    // The deletion stops after the session itself.
    std::fs::remove_file(file).unwrap();
    let plan = engine.engine.plan_delete_with_missing(Vec::new(), &[id[..8].to_owned()]).await.unwrap();
    assert_eq!(plan.sessions().count(), 2);
    let delete = async {
        while !engine.engine.delete(&plan, false).await.unwrap().kept.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), delete).await.unwrap();
    let all = osier_engine::ListOptions { subagents: true, ..Default::default() };
    let left = engine.engine.list(&all).await.unwrap();
    assert!(left.cards.is_empty(), "{:?}", left.cards);
}

#[tokio::test]
async fn a_deletion_that_dies_at_any_moment_is_finished_by_deleting_again() {
    let inner = json!([{ "prompt": "answer deep" }, { "prompt": "answer deeper" }]);
    let tasks = json!([{ "prompt": format!("delegate {inner}") }, { "prompt": "answer x" }]);
    let engine = TestEngine::new();
    let copy = |from: &str, to: &str| {
        let [from, to] = [from, to].map(|name| engine.folder.path().join(name));
        let _ = std::fs::remove_dir_all(&to);
        assert!(std::process::Command::new("cp").arg("-a").args([&from, &to]).status().unwrap().success());
    };
    let run = TestEngine::in_folder(engine.folder.path(), Default::default());
    let mut run = Delegation::start_with(run, SubagentConfig { max_depth: 2, ..config() }, &tasks).await;
    run.until_end().await;
    let id = run.live.session().id().to_owned();
    let Delegation { engine: ran, live, client, events } = run;
    drop((live, client, events));
    ran.engine.close(Duration::from_secs(60)).await;
    copy("sessions", "saved");
    let all = osier_engine::ListOptions { subagents: true, ..Default::default() };
    let mut order: Vec<String> = Vec::new();
    for died_after in 0..=5 {
        copy("saved", "sessions");
        let again = TestEngine::in_folder(engine.folder.path(), Default::default());
        for file in order.iter().take(died_after) {
            std::fs::remove_file(file).unwrap();
        }
        let (named, missing) = match died_after {
            0 => (vec![again.find(&id).await.card().await.unwrap()], Vec::new()),
            _ => (Vec::new(), vec![id.clone()]),
        };
        let plan = again.engine.plan_delete_with_missing(named, &missing).await.unwrap();
        let report = again.engine.delete(&plan, false).await.unwrap();
        assert_eq!((report.deleted.len(), report.kept.len()), (5 - died_after, 0), "{died_after}");
        if died_after == 0 {
            order = report.deleted.iter().map(|(card, _)| card.file.clone().unwrap()).collect();
        }
        let left = again.engine.list(&all).await.unwrap();
        assert!(left.cards.is_empty(), "{died_after}: {:?}", left.cards);
    }
}

#[tokio::test]
async fn what_tasks_of_a_task_use_counts_against_its_budget() {
    let inner = json!([{ "prompt": "big" }]);
    let tasks = json!([{ "prompt": format!("delegate {inner}") }]);
    let budget = AgentBudget { max_tokens: Some(5_000), ..AgentBudget::default() };
    let config = SubagentConfig { max_depth: 2, budget, ..config() };
    let mut run = Delegation::start(config, &tasks).await;
    let events = run.until_end().await;
    let panel = run.batches().await.remove(0).task_panels.remove(0);
    assert_eq!(panel.status, "failed");
    assert!(panel.error.as_ref().unwrap().contains("its budget is 5000"), "{:?}", panel.error);
    assert_eq!(panels(&events)[0].usage, panel.usage, "the last event has the stored usage");
    assert!(panel.usage.total_tokens > 10_000);
}

#[tokio::test]
async fn a_batch_of_another_program_stays_as_that_program_says() {
    let engine = TestEngine::new();
    let live = engine.create(KeepWhen::Used).await;
    let batch = json!({ "type": "subagent_batch", "content": {
        "batchId": "b", "mode": "parallel", "tasks": [{ "id": "t", "prompt": "look" }], "status": "running",
    }});
    let commit = osier_session::Commit::from_entry(batch.to_string().as_bytes()).unwrap();
    live.session().main_cursor().commit(commit).await.unwrap();
    let client = engine.engine.connect(&live, &spec(&engine, config())).await.unwrap();
    assert_eq!(batches(&client).await[0].status, "running");
}

#[tokio::test]
async fn lists_hide_the_sessions_of_tasks_unless_asked() {
    let tasks = json!([{ "prompt": "answer a" }, { "prompt": "answer b" }]);
    let mut run = Delegation::start(config(), &tasks).await;
    run.until_end().await;
    let list = async |options: osier_engine::ListOptions| {
        run.engine.engine.list(&options).await.unwrap().cards.len()
    };
    assert_eq!(list(Default::default()).await, 1);
    assert_eq!(list(osier_engine::ListOptions { limit: Some(1), ..Default::default() }).await, 1);
    assert_eq!(list(osier_engine::ListOptions { subagents: true, ..Default::default() }).await, 3);
}
