//! What moves, compactions and grafts have to do with whatever else goes on.

use std::sync::Arc;

use async_trait::async_trait;
use osier_agent::gates::{BeforeCompact, BeforeTree, CompactPreparation, Gates, TreePreparation};
use osier_agent::{Answer, Client, Command, Error, Finished, Live, Navigated, Navigation, Reply, When};
use osier_agent::{Event, NoSummary};
use osier_model::scripted::Turn;
use osier_model::{CancellationToken, ThinkingLevel};
use osier_session::{Change, Env, Gate, Session, Verdict};
use osier_tools::user_bash::UserCommand;
use osier_tools::{Allowance, Mode};
use osier_tree::Kind;
use tokio::sync::Semaphore;

use crate::desk::{Desk, Ear};
use crate::stage::{Props, Stage};

const SCENE: &str = "say one > first\n say two > second";

async fn to(stage: &Stage, wish: &str) -> Command {
    Command::Navigate(stage.navigation(wish).await)
}

/// A turn that hangs in its reply.
async fn hanging(stage: &mut Stage) -> Ear {
    let turn = stage.turn("on it !hang");
    stage.desk.model.push(turn);
    let mut ear = stage.desk.begin(Command::prompt("three")).await;
    ear.until_draft("!").await;
    ear
}

fn navigated(reply: Reply) -> Navigated {
    match reply {
        Reply::Navigated(navigated) => navigated,
        other => panic!("{other:?}"),
    }
}

fn steer(text: &str) -> Command {
    Command::Prompt { text: text.to_owned(), images: Vec::new(), files: Vec::new(), when: When::Steer }
}

#[tokio::test]
async fn while_a_turn_runs_nobody_moves() {
    let mut stage = Stage::set(Props::default(), SCENE).await;
    let mut ear = hanging(&mut stage).await;
    let before = stage.session().version();
    let graft = Command::Graft { tip: stage.id("second").await, summarize: false, instructions: None };
    let moving = to(&stage, "first").await;
    for command in [moving, Command::Undo, Command::Redo, Command::UndoCompaction { entry: None }, graft] {
        let refused = stage.desk.worker.send(command).await;
        assert!(matches!(refused, Err(Error::Busy)), "{refused:?}");
    }
    assert_eq!(stage.session().version(), before);
    stage.desk.send(Command::Cancel).await;
    assert_eq!(ear.end().await.0, Some(Finished::Cancelled));
}

#[tokio::test]
async fn on_request_the_turn_is_stopped_first_and_what_was_queued_goes_back() {
    let mut stage = Stage::set(Props::default(), SCENE).await;
    let mut ear = hanging(&mut stage).await;
    stage.desk.send(steer("to the left")).await;
    let wish = to(&stage, "first, stop").await;
    let navigated = navigated(stage.desk.send(wish).await);
    assert_eq!(ear.end().await.0, Some(Finished::Cancelled));
    let tree = stage.session().tree();
    let place = |id: &str| tree.find(id);
    assert!(tree.same_place(place(&navigated.leaf.unwrap()), place(&stage.id("first").await)));
    let returned: Vec<&str> = navigated.returned.iter().map(|said| said.text.as_str()).collect();
    assert_eq!(returned, ["to the left"]);
    stage.play("say three > third").await;
    assert_eq!(stage.desk.last_request(), ["user: one", "assistant: first", "user: three"]);
}

#[tokio::test]
async fn a_move_that_cannot_be_does_not_stop_the_turn() {
    let mut stage = Stage::set(Props::default(), SCENE).await;
    let mut ear = hanging(&mut stage).await;
    stage.desk.send(steer("to the left")).await;
    let nowhere = Navigation { target: Some("nowhere".into()), stop_turn: true, ..Navigation::default() };
    let refused = stage.desk.worker.send(Command::Navigate(nowhere)).await;
    assert!(matches!(refused, Err(Error::Session(_))), "{refused:?}");
    let attached = stage.desk.worker.attach(None).await.unwrap();
    assert_eq!((attached.running, attached.queue.steering.len()), (true, 1));
    stage.desk.send(Command::Cancel).await;
    ear.end().await;
}

#[tokio::test]
async fn a_compaction_stops_the_turn_and_does_not_go_on_with_it() {
    let mut stage = Stage::set(Props::default(), SCENE).await;
    let keep =
        "say three, again a question that takes many words to ask > third, in many words as well it seems";
    stage.play(keep).await;
    let mut ear = hanging(&mut stage).await;
    let summary = stage.turn("One and two.");
    stage.desk.model.push(summary);
    assert!(matches!(stage.desk.send(Command::Compact { focus: None }).await, Reply::Compacted(_)));
    assert_eq!(ear.end().await.0, Some(Finished::Cancelled));
    assert!(!stage.desk.worker.attach(None).await.unwrap().running);
}

#[tokio::test]
async fn a_command_of_the_users_is_not_killed_by_a_move() {
    let stage = Stage::set(Props::default(), SCENE).await;
    let worker = stage.desk.worker.clone();
    let mut ear = stage.desk.listen().await;
    let command = UserCommand { command: "echo up; cat go".into(), exclude_from_context: false };
    std::process::Command::new("mkfifo").arg(stage.desk.folder.path().join("go")).status().unwrap();
    let bash = tokio::spawn(async move { worker.send(Command::Bash(command)).await });
    ear.until(|event| matches!(event, Event::Live(Live::BashOutput { .. })).then_some(())).await;
    let refused = stage.desk.worker.send(to(&stage, "first").await).await;
    assert!(matches!(refused, Err(Error::CommandRuns)), "{refused:?}");
    std::fs::write(stage.desk.folder.path().join("go"), "ran to its end\n").unwrap();
    assert!(matches!(bash.await.unwrap(), Ok(Reply::Ran { .. })));
    // Its end is told only when the next command is taken.
    navigated(stage.desk.send(to(&stage, "first").await).await);
}

/// Where a gate stands before it answers.
#[derive(Debug)]
struct Door {
    knocked: Semaphore,
    open: Semaphore,
}

impl Door {
    fn shut() -> Arc<Door> {
        Arc::new(Door { knocked: Semaphore::new(0), open: Semaphore::new(0) })
    }

    async fn pass(&self) {
        self.knocked.add_permits(1);
        self.open.acquire().await.unwrap().forget();
    }

    /// Returns when somebody stands before it.
    async fn knocked(&self) {
        self.knocked.acquire().await.unwrap().forget();
    }
}

/// Hangs until it is let go.
#[derive(Debug)]
struct Slow(Arc<Door>);

#[async_trait]
impl Gates for Slow {
    async fn before_tree(&self, _: &TreePreparation, _: &CancellationToken) -> BeforeTree {
        self.0.pass().await;
        BeforeTree::default()
    }

    async fn before_compact(&self, _: &CompactPreparation, _: &CancellationToken) -> BeforeCompact {
        self.0.pass().await;
        BeforeCompact::default()
    }
}

/// Where the errand began may not be there any more in a log that was cleaned up meanwhile.
#[tokio::test]
async fn a_log_that_shrinks_meanwhile_breaks_nothing() {
    let door = Door::shut();
    let stage = Stage::set(Props::gated(Slow(door.clone())), SCENE).await;
    let (worker, wish) = (stage.desk.worker.clone(), to(&stage, "first").await);
    let moving = tokio::spawn(async move { worker.send(wish).await });
    door.knocked().await;
    let session = stage.desk.worker.session().clone();
    let first =
        br#"{"type":"message","id":"alone000","parentId":null,"message":{"role":"user","content":"alone"}}"#;
    session.store().rewrite_in_use(session.key(), session.version(), &[first.to_vec()]).await.unwrap();
    session.refresh().await.unwrap();
    let worker = stage.desk.worker.clone();
    let chosen = tokio::spawn(async move { worker.send(Command::SetThinking(ThinkingLevel::Low)).await });
    // On the one thread of this test, the desk has taken it by then.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    door.open.add_permits(1);
    let moved = moving.await.unwrap();
    assert!(!matches!(moved, Err(Error::Closed)), "{moved:?}");
    let chosen = chosen.await.unwrap();
    assert!(chosen.is_ok(), "{chosen:?}");
}

#[tokio::test]
async fn meanwhile_nothing_else_begins_and_a_chosen_model_waits() {
    let door = Door::shut();
    let mut stage = Stage::set(Props::gated(Slow(door.clone())), SCENE).await;
    let (worker, wish) = (stage.desk.worker.clone(), to(&stage, "first").await);
    let moving = tokio::spawn(async move { worker.send(wish).await });
    door.knocked().await;
    let bash = UserCommand { command: "true".into(), exclude_from_context: false };
    for command in [Command::prompt("three"), Command::Resume, Command::Undo, Command::Bash(bash), steer("x")]
    {
        let refused = stage.desk.worker.send(command).await;
        assert!(matches!(refused, Err(Error::OnTheWay)), "{refused:?}");
    }
    let before = stage.session().version();
    stage.desk.send(Command::SetModel("scripted/other".into())).await;
    assert_eq!(stage.session().version(), before, "it is not said at the place that is being left");
    door.open.add_permits(1);
    navigated(moving.await.unwrap().unwrap());
    stage.play("say three > third").await;
    assert_eq!(stage.desk.model.requests().pop().unwrap().model.id, "other");
}

/// Lets labels wait.
#[derive(Debug)]
struct SlowLabels(Arc<Door>);

#[async_trait]
impl Gate for SlowLabels {
    async fn ask(&self, change: Change<'_>) -> Verdict {
        if change.draft.kind == Kind::Label {
            self.0.pass().await;
        }
        Verdict::Pass
    }
}

#[tokio::test]
async fn who_heard_of_a_move_may_ask_for_the_next_one_at_once() {
    let stage = Stage::set(Props::default(), SCENE).await;
    let door = Door::shut();
    let env = Env { gate: Some(Arc::new(SlowLabels(door.clone()))), ..Env::default() };
    let (store, folder) = (stage.desk.store.clone(), stage.desk.folder.clone());
    let desk = Desk::open_in(env, store, folder, [], |_| {}).await;
    let ask = |command: Command| {
        let worker = desk.worker.clone();
        tokio::spawn(async move { worker.send(command).await })
    };
    let moving = ask(to(&stage, "first, label here").await);
    door.knocked().await;
    let undoing = ask(Command::Undo);
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    assert!(!moving.is_finished() && !undoing.is_finished(), "the move is stored, and its label waits");
    door.open.add_permits(1);
    navigated(moving.await.unwrap().unwrap());
    let undone = undoing.await.unwrap();
    assert!(matches!(undone, Ok(Reply::Stored { .. })), "{undone:?}");
}

#[tokio::test]
async fn undo_and_redo_follow_each_other_as_fast_as_keys_are_pressed() {
    let door = Door::shut();
    let stage = Stage::set(Props::gated(Slow(door.clone())), SCENE).await;
    let ask = |command: Command| {
        let worker = stage.desk.worker.clone();
        tokio::spawn(async move { worker.send(command).await })
    };
    door.open.add_permits(1);
    navigated(ask(to(&stage, "first").await).await.unwrap().unwrap());
    door.knocked().await;
    let undoing = ask(Command::Undo);
    door.knocked().await;
    let others = [ask(Command::Redo), ask(Command::Undo)];
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    assert!(others.iter().all(|going| !going.is_finished()), "they wait");
    door.open.add_permits(3);
    for going in [undoing].into_iter().chain(others) {
        let moved = going.await.unwrap();
        assert!(matches!(moved, Ok(Reply::Stored { .. })), "{moved:?}");
    }
    for _ in 0..2 {
        door.knocked().await;
    }
    let (waits, follows) = (ask(Command::Redo), ask(Command::Undo));
    door.knocked().await;
    stage.desk.send(Command::Cancel).await;
    assert_eq!(waits.await.unwrap().unwrap(), Reply::Done, "it was stopped");
    assert!(matches!(follows.await.unwrap(), Err(Error::OnTheWay)), "whoever stops does not want the next");
}

#[tokio::test]
async fn a_gate_that_never_answers_can_be_stopped() {
    let door = Door::shut();
    let scene =
        "say one, a question of many words that fill the line > first, with many words in its answer as well
        say two, a question of many words that fill the line > second, with many words in its answer as well";
    let stage = Stage::set(Props::gated(Slow(door.clone())), scene).await;
    let before = stage.session().version();
    let stopped = |command: Command| async {
        let worker = stage.desk.worker.clone();
        let going = tokio::spawn(async move { worker.send(command).await });
        door.knocked().await;
        stage.desk.send(Command::Cancel).await;
        going.await.unwrap()
    };
    let moved = navigated(stopped(to(&stage, "first").await).await.unwrap());
    assert!(moved.cancelled && moved.aborted);
    let compacted = stopped(Command::Compact { focus: None }).await;
    assert!(matches!(compacted, Err(Error::NoSummary(NoSummary::Stopped))), "{compacted:?}");
    assert_eq!(stage.session().version(), before);
}

#[tokio::test]
async fn gates_are_asked_before_an_undo_too() {
    #[derive(Debug)]
    struct Never;
    #[async_trait]
    impl Gates for Never {
        async fn before_tree(&self, asked: &TreePreparation, _: &CancellationToken) -> BeforeTree {
            BeforeTree { cancel: asked.old_leaf_id.is_some(), ..BeforeTree::default() }
        }
    }
    let stage = Stage::set(Props::gated(Never), SCENE).await;
    let tree = stage.session().tree();
    stage.desk.worker.cursor().move_to(tree.find(&stage.id("first").await)).await.unwrap();
    let before = stage.session().version();
    assert_eq!(stage.desk.send(Command::Undo).await, Reply::Done);
    assert_eq!(stage.session().version(), before);
}

/// Begins a move with a summary, and lets something happen before it comes to its end.
async fn while_moving(happens: impl AsyncFnOnce(&Stage)) -> (Stage, Result<Reply, Error>) {
    let door = Door::shut();
    let mut stage = Stage::set(Props::gated(Slow(door.clone())), SCENE).await;
    let summary = stage.turn("Two was tried.");
    stage.desk.model.push(summary);
    let (worker, wish) = (stage.desk.worker.clone(), to(&stage, "first, summarize, label x").await);
    let moving = tokio::spawn(async move { worker.send(wish).await });
    door.knocked().await;
    happens(&stage).await;
    door.open.add_permits(1);
    let moved = moving.await.unwrap();
    (stage, moved)
}

/// Another process at the same session.
async fn other(stage: &Stage) -> Session {
    Session::open(stage.desk.store.clone(), "s", Env::default()).await.unwrap()
}

#[tokio::test]
async fn a_mark_that_another_process_sets_meanwhile_does_not_disturb() {
    let (_, moved) = while_moving(async |stage| {
        other(stage).await.label(&stage.id("one").await, Some("theirs")).await.unwrap();
        stage.session().refresh().await.unwrap();
    })
    .await;
    assert!(navigated(moved.unwrap()).summary_entry.is_some());
}

#[tokio::test]
async fn what_another_process_says_meanwhile_is_not_left_without_a_summary() {
    let (stage, moved) = while_moving(async |stage| {
        let theirs = other(stage).await;
        for message in [
            r#"{"role":"user","content":"theirs"}"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"said"}],"stopReason":"stop"}"#,
        ] {
            let entry = format!(r#"{{"type":"message","message":{message}}}"#);
            theirs.append_entry(entry.as_bytes()).await.unwrap();
        }
        stage.session().refresh().await.unwrap();
    })
    .await;
    let changed = matches!(moved, Err(Error::Session(osier_session::Error::LeafChanged { .. })));
    assert!(changed, "{moved:?}");
    assert_eq!(
        stage.desk.path().await.last().unwrap(),
        "assistant: \"said\"",
        "nothing was written after it"
    );
    let tree = stage.session().tree();
    assert_eq!(tree.path(tree.leaf()).len(), tree.len());
}

#[tokio::test]
async fn after_a_return_steering_is_heard_before_the_model_is_asked() {
    let mut stage = Stage::set(Props { backtracking: true, ..Props::default() }, "say one > first").await;
    stage.desk.send(Command::SetApproval(Mode::Default)).await;
    let turns = [stage.turn("[back 1 nothing] [bash true]"), stage.turn("turning left")];
    turns.into_iter().for_each(|turn| stage.desk.model.push(turn));
    let mut ear = stage.desk.begin(Command::prompt("two")).await;
    let (question, _) = ear.until_asked().await;
    stage.desk.send(steer("to the left")).await;
    let always = Answer::Always(Allowance::Tool("bash".into()));
    stage.desk.send(Command::Answer { question, answer: always }).await;
    assert_eq!(ear.end().await.0, Some(Finished::Done));
    let told = stage.desk.last_request();
    assert!(told[3].contains("Note from your future self"), "{told:#?}");
    assert!(told[4].starts_with("user: to the left"), "{told:#?}");
    assert_eq!(told.len(), 5);
}

#[tokio::test]
async fn what_was_steered_in_the_part_left_is_in_the_note() {
    let mut stage = Stage::set(Props { backtracking: true, ..Props::default() }, "say one > first").await;
    stage.desk.send(Command::SetApproval(Mode::Default)).await;
    let turns = [stage.turn("[bash true]"), stage.turn("[back 0 nothing]"), stage.turn("turning left")];
    turns.into_iter().for_each(|turn| stage.desk.model.push(turn));
    let mut ear = stage.desk.begin(Command::prompt("two")).await;
    let (question, _) = ear.until_asked().await;
    stage.desk.send(steer("to the left")).await;
    stage.desk.send(Command::Answer { question, answer: Answer::Once }).await;
    assert_eq!(ear.end().await.0, Some(Finished::Done));
    let told = stage.desk.last_request();
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(told[1].contains("still to be heeded:\n- two\n- to the left\n"), "{}", told[1]);
}

#[tokio::test]
async fn programs_hear_of_a_return_in_one_event() {
    let mut stage = Stage::set(Props::backtracking(), "").await;
    let turns = [stage.turn("looking [read a.txt]"), stage.turn("[back 0 nothing]"), stage.turn("done")];
    turns.into_iter().for_each(|turn| stage.desk.model.push(turn));
    let mut ear = stage.desk.begin(Command::prompt("go")).await;
    ear.end().await;
    let entries =
        ear.heard.iter().map(|event| serde_json::from_str::<serde_json::Value>(&event.json()).unwrap());
    let returns: Vec<_> = entries.filter(|event| event["entry"]["type"] == "backtrack").collect();
    let [event] = &returns[..] else { panic!("{returns:#?}") };
    let entry = &event["entry"];
    assert_eq!((&entry["checkpointId"], &entry["discarded"]), (&0.into(), &4.into()));
    assert_eq!((&entry["note"], &entry["originalUserMessage"]), (&"nothing".into(), &"go".into()));
    assert!(entry["addendum"].as_str().unwrap().contains("- looking"));
    assert!(entry["fromId"].is_string());
}

#[tokio::test]
async fn a_turn_that_is_stopped_before_the_return_does_not_return() {
    let mut stage = Stage::set(Props { backtracking: true, ..Props::default() }, "say one > first").await;
    stage.desk.send(Command::SetApproval(Mode::Default)).await;
    let turn = stage.turn("[back 0 nothing] [bash true]");
    stage.desk.model.push(turn);
    let mut ear = stage.desk.begin(Command::prompt("two")).await;
    ear.until_asked().await;
    stage.desk.send(Command::Cancel).await;
    assert_eq!(ear.end().await.0, Some(Finished::Cancelled));
    let path = stage.desk.path().await;
    assert!(path.last().unwrap().contains("bash"), "{path:#?}");
    stage.play("say three > third").await;
    assert_eq!(stage.told, [""; 0]);
}

#[tokio::test]
async fn what_the_program_offers_is_offered_after_a_return_too() {
    let stage = Stage::set(Props::default(), "say one > first").await;
    let turns = [Turn::new().call("x", "backtrack", &serde_json::json!({ "checkpoint_id": 0, "note": "n" }))];
    // Another process has the tool, and another preamble.
    let later = Desk::open(stage.desk.store.clone(), stage.desk.folder.clone(), turns, |parts| {
        parts.backtracking = true;
        parts.briefing = Arc::new(vec![("preamble".to_owned(), "You work there.".to_owned())]);
    })
    .await;
    later.model.push(Turn::reply("done"));
    assert_eq!(later.say("two").await, Finished::Done);
    let requests = later.model.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].system, requests[1].system);
    assert_eq!(requests[0].tools, requests[1].tools);
    assert!(requests[1].tools.iter().any(|tool| tool.name == "backtrack"));
}
