//! Running tool calls: which run in parallel, in which order results are stored, and which calls never run.

use std::sync::Arc;

use async_trait::async_trait;
use osier_agent::AgentConfig;
use osier_model::scripted::ScriptedTurn;
use osier_protocol::{ClientCommand, TurnOutcome};
use osier_tools::{ApprovalMode, Preview, Tool, ToolContext, ToolKind, ToolOutcome, ToolSet, ToolSpec};
use serde_json::{Value, json};
use tokio::sync::{Barrier, Semaphore};

use crate::harness::Harness;

/// A read-only tool that waits for other calls of itself.
#[derive(Debug)]
struct BarrierTool {
    all: Barrier,
    /// The call named `last` returns after all others.
    others: Semaphore,
}

#[async_trait]
impl Tool for BarrierTool {
    fn spec(&self) -> ToolSpec {
        let (name, description) = ("meet".to_owned(), "Meets others.".to_owned());
        ToolSpec { name, description, parameters: json!({ "type": "object" }), kind: ToolKind::Reads }
    }

    async fn preview(&self, _: &Value, _: &ToolContext) -> Result<Preview, ToolOutcome> {
        Ok(Preview::nothing())
    }

    async fn run(&self, arguments: Value, _: &ToolContext) -> ToolOutcome {
        self.all.wait().await;
        let name = arguments["name"].as_str().unwrap();
        match name {
            "slow" => self.others.acquire_many(2).await.unwrap().forget(),
            _ => self.others.add_permits(1),
        }
        ToolOutcome::text(format!("{name} was there"))
    }
}

/// A tool that panics.
#[derive(Debug)]
struct PanickingTool;

#[async_trait]
impl Tool for PanickingTool {
    fn spec(&self) -> ToolSpec {
        let (name, description) = ("broken".to_owned(), "Breaks down.".to_owned());
        ToolSpec { name, description, parameters: json!({ "type": "object" }), kind: ToolKind::Neutral }
    }

    async fn run(&self, _: Value, _: &ToolContext) -> ToolOutcome {
        panic!("deliberate panic")
    }
}

fn with(tool: impl Tool + 'static) -> impl FnOnce(&mut AgentConfig) {
    |config: &mut AgentConfig| config.tools = Arc::new(ToolSet::standard().with(Arc::new(tool)))
}

fn yolo(config: &mut AgentConfig) {
    config.approval_mode = Some(ApprovalMode::Yolo);
}

#[tokio::test]
async fn read_only_calls_run_in_parallel_and_results_keep_call_order() {
    let meet = |turn: ScriptedTurn, id: &str| turn.call(id, "meet", &json!({ "name": id }));
    let calls = ["slow", "b", "c"].iter().fold(ScriptedTurn::new(), |turn, id| meet(turn, id));
    let tool = BarrierTool { all: Barrier::new(3), others: Semaphore::new(0) };
    let harness = Harness::with([calls, ScriptedTurn::reply("done")], with(tool)).await;
    assert_eq!(harness.say("meet").await, TurnOutcome::Done);
    assert_eq!(harness.last_results(), ["slow was there", "b was there", "c was there"]);
}

#[tokio::test]
async fn calls_with_side_effects_run_one_at_a_time() {
    let bash =
        |turn: ScriptedTurn, id: &str, command: &str| turn.call(id, "bash", &json!({ "command": command }));
    let calls =
        bash(ScriptedTurn::new(), "c1", "echo one > log").call("c2", "read", &json!({ "path": "log" }));
    let calls = bash(bash(calls, "c3", "echo two >> log"), "c4", "cat log");
    let harness = Harness::with([calls, ScriptedTurn::reply("done")], yolo).await;
    harness.say("go").await;
    let results = harness.last_results();
    assert!(results[1].contains("one") && !results[1].contains("two"), "{results:?}");
    assert!(results[3].contains("one\ntwo"), "{results:?}");
}

#[tokio::test]
async fn panicking_or_unknown_tool_is_reported_to_the_model() {
    let calls = ScriptedTurn::new().call("c1", "broken", &json!({})).call("c2", "raed", &json!({}));
    let harness = Harness::with([calls, ScriptedTurn::reply("oh")], with(PanickingTool)).await;
    assert_eq!(harness.say("go").await, TurnOutcome::Done);
    let results = harness.last_results();
    assert!(results[0].starts_with("broken crashed"), "{results:?}");
    assert!(results[1].contains("there is no tool `raed`; did you mean read?"), "{results:?}");
}

/// A session whose process died with two calls, one of which has its result.
async fn left_behind() -> Harness {
    let calls = ScriptedTurn::new().call("c1", "bash", &json!({ "command": "touch first" })).call(
        "c2",
        "bash",
        &json!({ "command": "touch second" }),
    );
    let harness = Harness::new([calls]).await;
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    let (question, _) = listener.until_asked().await;
    harness.send(ClientCommand::Answer { question, answer: osier_protocol::UserAnswer::Once }).await;
    listener.until_asked().await;
    harness
}

#[tokio::test]
async fn calls_of_a_dead_process_are_interrupted_and_never_run() {
    let died = left_behind().await;
    let harness =
        Harness::open(died.store.clone(), died.folder.clone(), [ScriptedTurn::reply("I see.")], yolo).await;
    let before = harness.session().version().entries;
    assert_eq!(harness.run(ClientCommand::Resume).await, TurnOutcome::Done);
    assert!(harness.has("first") && !harness.has("second"));
    assert_eq!(harness.last_results()[1], "This call was interrupted: there is no result.");
    assert_eq!(harness.session().version().entries, before + 1, "only the reply is new");
}

#[tokio::test]
async fn next_prompt_works_and_later_requests_share_the_prefix() {
    let died = left_behind().await;
    let turns = [ScriptedTurn::new().call("c3", "ls", &json!({})), ScriptedTurn::reply("fine")];
    let harness = Harness::open(died.store.clone(), died.folder.clone(), turns, yolo).await;
    assert_eq!(harness.say("what happened?").await, TurnOutcome::Done);
    let sent = harness.model.requests();
    assert_eq!(sent[1].messages[..sent[0].messages.len()], sent[0].messages[..]);
    assert_eq!(
        harness.last_request()[3..5],
        ["result: This call was interrupted: there is no result.", "user: what happened?"]
    );
}
