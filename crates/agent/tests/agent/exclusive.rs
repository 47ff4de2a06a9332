//! MoveKind moves, compactions and grafts interact with everything else that runs.

use std::sync::Arc;

use async_trait::async_trait;
use osier_agent::AgentError;
use osier_agent::SummaryError;
use osier_agent::hooks::{
    CompactionDecision, CompactionPreparation, Hook, HookContext, HookResult, MoveDecision, MovePreparation,
};
use osier_model::ThinkingLevel;
use osier_model::scripted::ScriptedTurn;
use osier_protocol::{
    ClientCommand, ClientEvent, CommandReply, MoveCommand, MoveReply, Prompt, PromptTiming, TurnOutcome,
    UserAnswer,
};
use osier_session::{Gate, GateVerdict, PlannedChange, Session, SessionEnv};
use osier_tools::user_bash::UserCommand;
use osier_tools::{Allowance, ApprovalMode};
use osier_tree::EntryKind;
use tokio::sync::Semaphore;

use crate::harness::{EventListener, Harness};
use crate::scenario::{Scenario, ScenarioConfig};

const SCENE: &str = "say one > first\n say two > second";

async fn to(scenario: &Scenario, move_command: &str) -> ClientCommand {
    ClientCommand::Move(scenario.move_command(move_command).await)
}

/// A turn that hangs in the middle of its reply.
async fn hanging(scenario: &mut Scenario) -> EventListener {
    let turn = scenario.turn("on it !hang");
    scenario.harness.model.push(turn);
    let mut listener = scenario.harness.begin(ClientCommand::prompt("three")).await;
    listener.until_draft("!").await;
    listener
}

fn navigated(reply: CommandReply) -> MoveReply {
    match reply {
        CommandReply::Moved(navigated) => navigated,
        other => panic!("{other:?}"),
    }
}

fn steer(text: &str) -> ClientCommand {
    ClientCommand::timed_prompt(Prompt { text: text.to_owned(), ..Prompt::default() }, PromptTiming::Steer)
}

#[tokio::test]
async fn moves_are_refused_during_a_turn() {
    let mut scenario = Scenario::set_up(ScenarioConfig::default(), SCENE).await;
    let mut listener = hanging(&mut scenario).await;
    let before = scenario.session().version();
    let graft = ClientCommand::Graft {
        tip: scenario.id("second").await.into(),
        summarize: false,
        instructions: None,
    };
    let moving = to(&scenario, "first").await;
    for command in [
        moving,
        ClientCommand::Undo,
        ClientCommand::Redo,
        ClientCommand::UndoCompaction { entry: None },
        graft,
    ] {
        let refused = scenario.harness.worker.send(command).await;
        assert!(matches!(refused, Err(AgentError::TurnRunning)), "{refused:?}");
    }
    assert_eq!(scenario.session().version(), before);
    scenario.harness.send(ClientCommand::Cancel).await;
    assert_eq!(listener.end().await.0, Some(TurnOutcome::Cancelled));
}

#[tokio::test]
async fn move_with_stop_turn_cancels_the_turn_and_returns_the_queue() {
    let mut scenario = Scenario::set_up(ScenarioConfig::default(), SCENE).await;
    let mut listener = hanging(&mut scenario).await;
    scenario.harness.send(steer("to the left")).await;
    let move_command = to(&scenario, "first, stop").await;
    let navigated = navigated(scenario.harness.send(move_command).await);
    assert_eq!(listener.end().await.0, Some(TurnOutcome::Cancelled));
    let tree = scenario.session().tree();
    let position = |id: &str| tree.find(id);
    assert!(tree.same_place(position(&navigated.leaf_id.unwrap()), position(&scenario.id("first").await)));
    let returned: Vec<&str> = navigated.returned.iter().map(|said| said.text.as_str()).collect();
    assert_eq!(returned, ["to the left"]);
    scenario.run_script("say three > third").await;
    assert_eq!(scenario.harness.last_request(), ["user: one", "assistant: first", "user: three"]);
}

#[tokio::test]
async fn impossible_move_does_not_stop_the_turn() {
    let mut scenario = Scenario::set_up(ScenarioConfig::default(), SCENE).await;
    let mut listener = hanging(&mut scenario).await;
    scenario.harness.send(steer("to the left")).await;
    let nowhere =
        MoveCommand { target_id: Some("nowhere".into()), stop_turn: true, ..MoveCommand::default() };
    let refused = scenario.harness.worker.send(ClientCommand::Move(nowhere)).await;
    assert!(matches!(refused, Err(AgentError::Session(_))), "{refused:?}");
    let attached = scenario.harness.worker.attach(None).await.unwrap();
    assert_eq!((attached.state.turn_running, attached.state.queue.steering.len()), (true, 1));
    scenario.harness.send(ClientCommand::Cancel).await;
    listener.end().await;
}

#[tokio::test]
async fn compaction_stops_the_turn_without_resuming_it() {
    let mut scenario = Scenario::set_up(ScenarioConfig::default(), SCENE).await;
    let keep =
        "say three, again a question that takes many words to ask > third, in many words as well it seems";
    scenario.run_script(keep).await;
    let mut listener = hanging(&mut scenario).await;
    let summary = scenario.turn("One and two.");
    scenario.harness.model.push(summary);
    assert!(matches!(
        scenario.harness.send(ClientCommand::Compact { focus: None }).await,
        CommandReply::Compacted(_)
    ));
    assert_eq!(listener.end().await.0, Some(TurnOutcome::Cancelled));
    assert!(!scenario.harness.worker.attach(None).await.unwrap().state.turn_running);
}

#[tokio::test]
async fn move_is_refused_during_a_shell_command() {
    let scenario = Scenario::set_up(ScenarioConfig::default(), SCENE).await;
    let worker = scenario.harness.worker.clone();
    let mut listener = scenario.harness.listen().await;
    let command = UserCommand { command: "echo up; cat go".into(), exclude_from_context: false };
    std::process::Command::new("mkfifo").arg(scenario.harness.folder.path().join("go")).status().unwrap();
    let bash = tokio::spawn(async move { worker.send(ClientCommand::RunShell(command)).await });
    listener.until(|event| matches!(event, ClientEvent::BashOutput { .. }).then_some(())).await;
    let refused = scenario.harness.worker.send(to(&scenario, "first").await).await;
    assert!(matches!(refused, Err(AgentError::ShellCommandRunning)), "{refused:?}");
    std::fs::write(scenario.harness.folder.path().join("go"), "ran to its end\n").unwrap();
    assert!(matches!(bash.await.unwrap(), Ok(CommandReply::Ran { .. })));
    // The command counts as ended when the loop takes the next command.
    navigated(scenario.harness.send(to(&scenario, "first").await).await);
}

/// Blocks a gate until the test releases it.
#[derive(Debug)]
struct GateBarrier {
    arrived: Semaphore,
    release: Semaphore,
}

impl GateBarrier {
    fn new() -> Arc<GateBarrier> {
        Arc::new(GateBarrier { arrived: Semaphore::new(0), release: Semaphore::new(0) })
    }

    async fn pass(&self) {
        self.arrived.add_permits(1);
        self.release.acquire().await.unwrap().forget();
    }

    /// Waits until a gate arrives.
    async fn wait_for_arrival(&self) {
        self.arrived.acquire().await.unwrap().forget();
    }
}

/// A hook that blocks until it is released.
#[derive(Debug)]
struct SlowHook(Arc<GateBarrier>);

#[async_trait]
impl Hook for SlowHook {
    async fn before_move(&self, _: &MovePreparation, _: &HookContext<'_>) -> HookResult<MoveDecision> {
        self.0.pass().await;
        Ok(MoveDecision::default())
    }

    async fn before_compaction(
        &self,
        _: &CompactionPreparation,
        _: &HookContext<'_>,
    ) -> HookResult<CompactionDecision> {
        self.0.pass().await;
        Ok(CompactionDecision::default())
    }
}

/// Garbage collection can remove the position where an exclusive command started.
#[tokio::test]
async fn move_survives_a_log_that_shrinks() {
    let barrier = GateBarrier::new();
    let scenario = Scenario::set_up(ScenarioConfig::hooked(SlowHook(barrier.clone())), SCENE).await;
    let (worker, move_command) = (scenario.harness.worker.clone(), to(&scenario, "first").await);
    let moving = tokio::spawn(async move { worker.send(move_command).await });
    barrier.wait_for_arrival().await;
    let session = scenario.harness.worker.session().clone();
    let first =
        br#"{"type":"message","id":"alone000","parentId":null,"message":{"role":"user","content":"alone"}}"#;
    session.store().rewrite_in_use(session.key(), session.version(), &[first.to_vec()]).await.unwrap();
    session.refresh().await.unwrap();
    let worker = scenario.harness.worker.clone();
    let chosen =
        tokio::spawn(
            async move { worker.send(ClientCommand::SetThinking { level: ThinkingLevel::Low }).await },
        );
    // The test has one thread, so the loop has received the command by then.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    barrier.release.add_permits(1);
    let moved = moving.await.unwrap();
    assert!(!matches!(moved, Err(AgentError::Closed)), "{moved:?}");
    let chosen = chosen.await.unwrap();
    assert!(chosen.is_ok(), "{chosen:?}");
}

#[tokio::test]
async fn other_commands_are_refused_during_a_move_and_model_changes_wait() {
    let barrier = GateBarrier::new();
    let mut scenario = Scenario::set_up(ScenarioConfig::hooked(SlowHook(barrier.clone())), SCENE).await;
    let (worker, move_command) = (scenario.harness.worker.clone(), to(&scenario, "first").await);
    let moving = tokio::spawn(async move { worker.send(move_command).await });
    barrier.wait_for_arrival().await;
    let bash = UserCommand { command: "true".into(), exclude_from_context: false };
    for command in [
        ClientCommand::prompt("three"),
        ClientCommand::Resume,
        ClientCommand::Undo,
        ClientCommand::RunShell(bash),
        steer("x"),
    ] {
        let refused = scenario.harness.worker.send(command).await;
        assert!(matches!(refused, Err(AgentError::ExclusiveRunning)), "{refused:?}");
    }
    let before = scenario.session().version();
    scenario.harness.send(ClientCommand::SetModel { model: "scripted/other".into() }).await;
    assert_eq!(scenario.session().version(), before, "nothing is stored at the old position");
    barrier.release.add_permits(1);
    navigated(moving.await.unwrap().unwrap());
    scenario.run_script("say three > third").await;
    assert_eq!(scenario.harness.model.requests().pop().unwrap().model.id, "other");
}

/// Blocks labels until they are released.
#[derive(Debug)]
struct SlowLabels(Arc<GateBarrier>);

#[async_trait]
impl Gate for SlowLabels {
    async fn review(&self, change: PlannedChange<'_>) -> GateVerdict {
        if change.draft.kind == EntryKind::Label {
            self.0.pass().await;
        }
        GateVerdict::Pass
    }
}

#[tokio::test]
async fn next_command_waits_until_a_stored_move_is_done() {
    let scenario = Scenario::set_up(ScenarioConfig::default(), SCENE).await;
    let barrier = GateBarrier::new();
    let env = SessionEnv { gate: Some(Arc::new(SlowLabels(barrier.clone()))), ..SessionEnv::default() };
    let (store, folder) = (scenario.harness.store.clone(), scenario.harness.folder.clone());
    let harness = Harness::open_in(env, store, folder, [], |_| {}).await;
    let ask = |command: ClientCommand| {
        let worker = harness.worker.clone();
        tokio::spawn(async move { worker.send(command).await })
    };
    let moving = ask(to(&scenario, "first, label here").await);
    barrier.wait_for_arrival().await;
    let undoing = ask(ClientCommand::Undo);
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    assert!(!moving.is_finished() && !undoing.is_finished(), "the move is stored, and its label is blocked");
    barrier.release.add_permits(1);
    navigated(moving.await.unwrap().unwrap());
    let undone = undoing.await.unwrap();
    assert!(matches!(undone, Ok(CommandReply::Moved(_))), "{undone:?}");
}

#[tokio::test]
async fn undo_and_redo_wait_for_each_other() {
    let barrier = GateBarrier::new();
    let scenario = Scenario::set_up(ScenarioConfig::hooked(SlowHook(barrier.clone())), SCENE).await;
    let ask = |command: ClientCommand| {
        let worker = scenario.harness.worker.clone();
        tokio::spawn(async move { worker.send(command).await })
    };
    barrier.release.add_permits(1);
    navigated(ask(to(&scenario, "first").await).await.unwrap().unwrap());
    barrier.wait_for_arrival().await;
    let undoing = ask(ClientCommand::Undo);
    barrier.wait_for_arrival().await;
    let others = [ask(ClientCommand::Redo), ask(ClientCommand::Undo)];
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    assert!(others.iter().all(|going| !going.is_finished()), "they are deferred");
    barrier.release.add_permits(3);
    for going in [undoing].into_iter().chain(others) {
        let moved = going.await.unwrap();
        assert!(matches!(moved, Ok(CommandReply::Moved(_))), "{moved:?}");
    }
    for _ in 0..2 {
        barrier.wait_for_arrival().await;
    }
    let (waits, follows) = (ask(ClientCommand::Redo), ask(ClientCommand::Undo));
    barrier.wait_for_arrival().await;
    scenario.harness.send(ClientCommand::Cancel).await;
    assert_eq!(waits.await.unwrap().unwrap(), CommandReply::Cancelled, "it was canceled");
    assert!(
        matches!(follows.await.unwrap(), Err(AgentError::ExclusiveRunning)),
        "cancel also drops deferred commands"
    );
}

#[tokio::test]
async fn waiting_for_a_gate_can_be_canceled() {
    let barrier = GateBarrier::new();
    let setup_script =
        "say one, a question of many words that fill the line > first, with many words in its answer as well
        say two, a question of many words that fill the line > second, with many words in its answer as well";
    let scenario = Scenario::set_up(ScenarioConfig::hooked(SlowHook(barrier.clone())), setup_script).await;
    let before = scenario.session().version();
    let stopped = |command: ClientCommand| async {
        let worker = scenario.harness.worker.clone();
        let going = tokio::spawn(async move { worker.send(command).await });
        barrier.wait_for_arrival().await;
        scenario.harness.send(ClientCommand::Cancel).await;
        going.await.unwrap()
    };
    let moved = navigated(stopped(to(&scenario, "first").await).await.unwrap());
    assert!(moved.cancelled && moved.aborted);
    let compacted = stopped(ClientCommand::Compact { focus: None }).await;
    assert!(matches!(compacted, Err(AgentError::Summary(SummaryError::Canceled))), "{compacted:?}");
    assert_eq!(scenario.session().version(), before);
}

#[tokio::test]
async fn hooks_also_decide_about_undo() {
    #[derive(Debug)]
    struct RefusingHook;
    #[async_trait]
    impl Hook for RefusingHook {
        async fn before_move(
            &self,
            asked: &MovePreparation,
            _: &HookContext<'_>,
        ) -> HookResult<MoveDecision> {
            Ok(MoveDecision { cancel: asked.old_leaf_id.is_some(), ..MoveDecision::default() })
        }
    }
    let scenario = Scenario::set_up(ScenarioConfig::hooked(RefusingHook), SCENE).await;
    let tree = scenario.session().tree();
    scenario.harness.worker.cursor().move_to(tree.find(&scenario.id("first").await)).await.unwrap();
    let before = scenario.session().version();
    assert_eq!(scenario.harness.send(ClientCommand::Undo).await, CommandReply::Cancelled);
    assert_eq!(scenario.session().version(), before);
}

/// Starts a move with a summary, and runs `happens` before it ends.
async fn while_moving(happens: impl AsyncFnOnce(&Scenario)) -> (Scenario, Result<CommandReply, AgentError>) {
    let barrier = GateBarrier::new();
    let mut scenario = Scenario::set_up(ScenarioConfig::hooked(SlowHook(barrier.clone())), SCENE).await;
    let summary = scenario.turn("Two was tried.");
    scenario.harness.model.push(summary);
    let (worker, move_command) =
        (scenario.harness.worker.clone(), to(&scenario, "first, summarize, label x").await);
    let moving = tokio::spawn(async move { worker.send(move_command).await });
    barrier.wait_for_arrival().await;
    happens(&scenario).await;
    barrier.release.add_permits(1);
    let moved = moving.await.unwrap();
    (scenario, moved)
}

/// The same session in another process.
async fn other(scenario: &Scenario) -> Session {
    Session::open(scenario.harness.store.clone(), "s", SessionEnv::default()).await.unwrap()
}

#[tokio::test]
async fn mark_from_another_process_does_not_break_a_move() {
    let (_, moved) = while_moving(async |scenario| {
        other(scenario).await.label(&scenario.id("one").await, Some("theirs")).await.unwrap();
        scenario.session().refresh().await.unwrap();
    })
    .await;
    assert!(navigated(moved.unwrap()).summary_entry.is_some());
}

#[tokio::test]
async fn move_fails_if_another_process_adds_a_message() {
    let (scenario, moved) = while_moving(async |scenario| {
        let theirs = other(scenario).await;
        for message in [
            r#"{"role":"user","content":"theirs"}"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"said"}],"stopReason":"stop"}"#,
        ] {
            let entry = format!(r#"{{"type":"message","message":{message}}}"#);
            theirs.append_entry(entry.as_bytes()).await.unwrap();
        }
        scenario.session().refresh().await.unwrap();
    })
    .await;
    let changed = matches!(moved, Err(AgentError::Session(osier_session::SessionError::LeafChanged { .. })));
    assert!(changed, "{moved:?}");
    assert_eq!(
        scenario.harness.path().await.last().unwrap(),
        "assistant: \"said\"",
        "nothing is stored after the other process's entry"
    );
    let tree = scenario.session().tree();
    assert_eq!(tree.path(tree.leaf()).len(), tree.len());
}

#[tokio::test]
async fn steering_is_delivered_after_a_backtrack_before_the_model_call() {
    let mut scenario = Scenario::set_up(
        ScenarioConfig { backtracking: true, ..ScenarioConfig::default() },
        "say one > first",
    )
    .await;
    scenario.harness.send(ClientCommand::SetApproval { mode: ApprovalMode::Default }).await;
    let turns = [scenario.turn("[back 1 nothing] [bash true]"), scenario.turn("turning left")];
    turns.into_iter().for_each(|turn| scenario.harness.model.push(turn));
    let mut listener = scenario.harness.begin(ClientCommand::prompt("two")).await;
    let (question, _) = listener.until_asked().await;
    scenario.harness.send(steer("to the left")).await;
    let always = UserAnswer::Always { allowance: Allowance::Command("true".into()) };
    scenario.harness.send(ClientCommand::Answer { question, answer: always }).await;
    assert_eq!(listener.end().await.0, Some(TurnOutcome::Done));
    let lines = scenario.harness.last_request();
    assert!(lines[3].contains("Note from your future self"), "{lines:#?}");
    assert!(lines[4].starts_with("user: to the left"), "{lines:#?}");
    assert_eq!(lines.len(), 5);
}

#[tokio::test]
async fn steering_from_the_left_branch_is_in_the_note() {
    let mut scenario = Scenario::set_up(
        ScenarioConfig { backtracking: true, ..ScenarioConfig::default() },
        "say one > first",
    )
    .await;
    scenario.harness.send(ClientCommand::SetApproval { mode: ApprovalMode::Default }).await;
    let turns =
        [scenario.turn("[bash true]"), scenario.turn("[back 0 nothing]"), scenario.turn("turning left")];
    turns.into_iter().for_each(|turn| scenario.harness.model.push(turn));
    let mut listener = scenario.harness.begin(ClientCommand::prompt("two")).await;
    let (question, _) = listener.until_asked().await;
    scenario.harness.send(steer("to the left")).await;
    scenario.harness.send(ClientCommand::Answer { question, answer: UserAnswer::Once }).await;
    assert_eq!(listener.end().await.0, Some(TurnOutcome::Done));
    let lines = scenario.harness.last_request();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines[1].contains("that still apply:\n- two\n- to the left\n"), "{}", lines[1]);
}

#[tokio::test]
async fn backtrack_is_one_event() {
    let mut scenario = Scenario::set_up(ScenarioConfig::backtracking(), "").await;
    let turns =
        [scenario.turn("looking [read a.txt]"), scenario.turn("[back 0 nothing]"), scenario.turn("done")];
    turns.into_iter().for_each(|turn| scenario.harness.model.push(turn));
    let mut listener = scenario.harness.begin(ClientCommand::prompt("go")).await;
    listener.end().await;
    let entries = listener
        .received
        .iter()
        .map(|event| serde_json::from_str::<serde_json::Value>(&event.to_json()).unwrap());
    let returns: Vec<_> = entries.filter(|event| event["entry"]["type"] == "backtrack").collect();
    let [event] = &returns[..] else { panic!("{returns:#?}") };
    let entry = &event["entry"];
    assert_eq!((&entry["checkpointId"], &entry["discarded"]), (&0.into(), &4.into()));
    assert_eq!((&entry["note"], &entry["originalUserMessage"]), (&"nothing".into(), &"go".into()));
    assert!(entry["addendum"].as_str().unwrap().contains("- looking"));
    assert!(entry["fromId"].is_string());
}

#[tokio::test]
async fn canceled_turn_does_not_backtrack() {
    let mut scenario = Scenario::set_up(
        ScenarioConfig { backtracking: true, ..ScenarioConfig::default() },
        "say one > first",
    )
    .await;
    scenario.harness.send(ClientCommand::SetApproval { mode: ApprovalMode::Default }).await;
    let turn = scenario.turn("[back 0 nothing] [bash true]");
    scenario.harness.model.push(turn);
    let mut listener = scenario.harness.begin(ClientCommand::prompt("two")).await;
    listener.until_asked().await;
    scenario.harness.send(ClientCommand::Cancel).await;
    assert_eq!(listener.end().await.0, Some(TurnOutcome::Cancelled));
    let path = scenario.harness.path().await;
    assert!(path.last().unwrap().contains("bash"), "{path:#?}");
    scenario.run_script("say three > third").await;
    assert_eq!(scenario.results, [""; 0]);
}

#[tokio::test]
async fn current_tools_and_prompt_stay_after_a_backtrack() {
    let scenario = Scenario::set_up(ScenarioConfig::default(), "say one > first").await;
    let turns =
        [ScriptedTurn::new().call("x", "backtrack", &serde_json::json!({ "checkpoint_id": 0, "note": "n" }))];
    // Another process has the tool and a different preamble.
    let later =
        Harness::open(scenario.harness.store.clone(), scenario.harness.folder.clone(), turns, |config| {
            config.backtracking = true;
            config.system_prompt = Arc::new(vec![("preamble".to_owned(), "You work there.".to_owned())]);
        })
        .await;
    later.model.push(ScriptedTurn::reply("done"));
    assert_eq!(later.say("two").await, TurnOutcome::Done);
    let requests = later.model.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].system, requests[1].system);
    assert_eq!(requests[0].tools, requests[1].tools);
    assert!(requests[1].tools.iter().any(|tool| tool.name == "backtrack"));
}

#[tokio::test]
async fn a_prompt_that_expects_another_leaf_changes_nothing() {
    let scenario = Scenario::set_up(ScenarioConfig::default(), SCENE).await;
    let (worker, before) = (&scenario.harness.worker, scenario.session().version());
    let mut listener = scenario.harness.listen().await;
    for when in [PromptTiming::Now, PromptTiming::NoTurn] {
        for expected in [None, Some(scenario.id("first").await.into())] {
            let prompt = Prompt { text: "three".to_owned(), ..Prompt::default() };
            let command = ClientCommand::Prompt { prompt, when, expected_leaf_id: Some(expected) };
            let refused = worker.send(command).await;
            assert!(refused.is_err_and(|error| error.code().name() == "leaf_changed"));
        }
    }
    assert_eq!(scenario.session().version(), before);
    let leaf = Some(scenario.id("second").await.into());
    let prompt = Prompt { text: "three".to_owned(), ..Prompt::default() };
    let when = PromptTiming::NoTurn;
    let stored = worker.send(ClientCommand::Prompt { prompt, when, expected_leaf_id: Some(leaf) }).await;
    assert!(matches!(stored, Ok(CommandReply::Stored { .. })), "{stored:?}");
    let started = listener
        .until(|event| match event {
            ClientEvent::TurnStarted => Some(true),
            ClientEvent::Entry(_) => Some(false),
            _ => None,
        })
        .await;
    assert!(!started, "no turn starts");
}
