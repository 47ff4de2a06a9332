//! Running calls: which together, which alone, in which order their results are stored, and whose they are to run.

use std::sync::Arc;

use async_trait::async_trait;
use osier_agent::{Command, Finished, Parts};
use osier_model::scripted::Turn;
use osier_tools::{Kind, Mode, Preview, Tool, ToolContext, ToolOutcome, ToolSpec, Tools};
use serde_json::{Value, json};
use tokio::sync::{Barrier, Semaphore};

use crate::desk::Desk;

/// A tool that only reads, and waits for others like it.
#[derive(Debug)]
struct Meet {
    all: Barrier,
    /// The call named `last` comes back when all others have.
    others: Semaphore,
}

#[async_trait]
impl Tool for Meet {
    fn spec(&self) -> ToolSpec {
        let (name, description) = ("meet".to_owned(), "Meets others.".to_owned());
        ToolSpec { name, description, parameters: json!({ "type": "object" }), kind: Kind::Reads }
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

/// A tool that breaks down.
#[derive(Debug)]
struct Broken;

#[async_trait]
impl Tool for Broken {
    fn spec(&self) -> ToolSpec {
        let (name, description) = ("broken".to_owned(), "Breaks down.".to_owned());
        ToolSpec { name, description, parameters: json!({ "type": "object" }), kind: Kind::Neutral }
    }

    async fn run(&self, _: Value, _: &ToolContext) -> ToolOutcome {
        panic!("this tool breaks down, as the test wants it")
    }
}

fn with(tool: impl Tool + 'static) -> impl FnOnce(&mut Parts) {
    |parts: &mut Parts| parts.tools = Arc::new(Tools::standard().with(Arc::new(tool)))
}

fn yolo(parts: &mut Parts) {
    parts.approval = Some(Mode::Yolo);
}

#[tokio::test]
async fn calls_that_only_read_run_together_and_their_results_keep_the_order_of_the_calls() {
    let meet = |turn: Turn, id: &str| turn.call(id, "meet", &json!({ "name": id }));
    let calls = ["slow", "b", "c"].iter().fold(Turn::new(), |turn, id| meet(turn, id));
    let tool = Meet { all: Barrier::new(3), others: Semaphore::new(0) };
    let desk = Desk::with([calls, Turn::reply("done")], with(tool)).await;
    assert_eq!(desk.say("meet").await, Finished::Done);
    assert_eq!(desk.last_results(), ["slow was there", "b was there", "c was there"]);
}

#[tokio::test]
async fn calls_that_change_something_run_alone_and_see_what_went_before() {
    let bash = |turn: Turn, id: &str, command: &str| turn.call(id, "bash", &json!({ "command": command }));
    let calls = bash(Turn::new(), "c1", "echo one > log").call("c2", "read", &json!({ "path": "log" }));
    let calls = bash(bash(calls, "c3", "echo two >> log"), "c4", "cat log");
    let desk = Desk::with([calls, Turn::reply("done")], yolo).await;
    desk.say("go").await;
    let results = desk.last_results();
    assert!(results[1].contains("one") && !results[1].contains("two"), "{results:?}");
    assert!(results[3].contains("one\ntwo"), "{results:?}");
}

#[tokio::test]
async fn a_tool_that_breaks_down_or_does_not_exist_is_told_to_the_model() {
    let calls = Turn::new().call("c1", "broken", &json!({})).call("c2", "raed", &json!({}));
    let desk = Desk::with([calls, Turn::reply("oh")], with(Broken)).await;
    assert_eq!(desk.say("go").await, Finished::Done);
    let results = desk.last_results();
    assert!(results[0].starts_with("broken broke down"), "{results:?}");
    assert!(results[1].contains("there is no tool `raed`; did you mean read?"), "{results:?}");
}

/// A session whose process died with two calls, of which one had its result.
async fn left_behind() -> Desk {
    let calls = Turn::new().call("c1", "bash", &json!({ "command": "touch first" })).call(
        "c2",
        "bash",
        &json!({ "command": "touch second" }),
    );
    let desk = Desk::new([calls]).await;
    let mut ear = desk.begin(Command::prompt("go")).await;
    let (question, _) = ear.until_asked().await;
    desk.send(Command::Answer { question, answer: osier_agent::Answer::Once }).await;
    ear.until_asked().await;
    desk
}

#[tokio::test]
async fn calls_of_a_process_that_died_are_told_as_interrupted_and_never_run() {
    let died = left_behind().await;
    let desk = Desk::open(died.store.clone(), died.folder.clone(), [Turn::reply("I see.")], yolo).await;
    let before = desk.session().version().entries;
    assert_eq!(desk.run(Command::Resume).await, Finished::Done);
    assert!(desk.has("first") && !desk.has("second"));
    assert_eq!(desk.last_results()[1], "This call was interrupted: there is no result.");
    assert_eq!(desk.session().version().entries, before + 1, "the reply is all that is new");
}

#[tokio::test]
async fn the_next_prompt_goes_through_and_later_requests_begin_alike() {
    let died = left_behind().await;
    let turns = [Turn::new().call("c3", "ls", &json!({})), Turn::reply("fine")];
    let desk = Desk::open(died.store.clone(), died.folder.clone(), turns, yolo).await;
    assert_eq!(desk.say("what happened?").await, Finished::Done);
    let sent = desk.model.requests();
    assert_eq!(sent[1].messages[..sent[0].messages.len()], sent[0].messages[..]);
    assert_eq!(
        desk.last_request()[3..5],
        ["result: This call was interrupted: there is no result.", "user: what happened?"]
    );
}
