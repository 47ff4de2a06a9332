//! Canceling: at any point, the tree stays valid and every call gets a result.

use osier_model::scripted::ScriptedTurn;
use osier_model::{ModelError, StopReason};
use osier_protocol::{ClientCommand, CommandReply, Prompt, PromptTiming, TurnOutcome};
use osier_tools::user_bash::UserCommand;
use serde_json::json;

use crate::harness::Harness;

fn steer(text: &str) -> ClientCommand {
    ClientCommand::timed_prompt(Prompt { text: text.to_owned(), ..Prompt::default() }, PromptTiming::Steer)
}

#[tokio::test]
async fn canceled_reply_keeps_its_partial_text() {
    let harness = Harness::new([
        ScriptedTurn::reply("I am thin").hang(),
        ScriptedTurn::reply("again thin").hang(),
        ScriptedTurn::reply("well"),
    ])
    .await;
    for _ in 0..2 {
        let mut listener = harness.begin(ClientCommand::prompt("go")).await;
        listener.until_draft("thin").await;
        assert_eq!(
            harness.send(ClientCommand::Cancel).await,
            CommandReply::Returned { prompts: vec![], follow_ups: 0 }
        );
        assert_eq!(listener.end().await.0, Some(TurnOutcome::Cancelled));
    }
    let stopped = harness.messages().await.pop().unwrap();
    assert_eq!(
        (&stopped["stopReason"], &stopped["content"][0]["text"]),
        (&json!("aborted"), &json!("again thin"))
    );
    assert_eq!(harness.say("go on").await, TurnOutcome::Done);
}

#[tokio::test]
async fn calls_of_a_canceled_reply_get_results_and_never_run() {
    let harness = Harness::new([
        ScriptedTurn::new().call("c1", "write", &json!({ "path": "x", "content": "x" })).text("and").hang(),
        ScriptedTurn::reply("fine"),
    ])
    .await;
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    listener.until_draft("and").await;
    harness.send(ClientCommand::Cancel).await;
    assert_eq!(listener.end().await.0, Some(TurnOutcome::Cancelled));
    assert!(!harness.has("x"));
    harness.say("never mind").await;
    assert_eq!(
        harness.last_request(),
        [
            "user: go",
            "assistant: and calls write",
            "result: [canceled before it finished]",
            "user: never mind"
        ]
    );
}

#[tokio::test]
async fn calls_of_an_incomplete_reply_never_run() {
    let write = json!({ "path": "x", "content": "x" });
    let cut = ModelError::CutOff { provider: "scripted".into(), detail: String::new() };
    let broken = ScriptedTurn::new().call("c1", "write", &write).fail(cut);
    let long = ScriptedTurn::new().call("c2", "write", &write).stop(StopReason::Length);
    let harness = Harness::with([broken, long, ScriptedTurn::reply("fine")], |config| {
        config.approval_mode = Some(osier_tools::ApprovalMode::Yolo);
    })
    .await;
    assert_eq!(harness.say("a").await, TurnOutcome::Failed);
    assert_eq!(harness.say("b").await, TurnOutcome::CutOff);
    assert!(!harness.has("x"));
    assert_eq!(harness.say("c").await, TurnOutcome::Done);
    let lines = harness.last_request();
    assert_eq!(lines[2], "result: This call was not run because the reply was cut off.");
    assert!(
        lines[5].starts_with("result: This call was not run: the reply reached the output limit"),
        "{lines:#?}"
    );
}

#[tokio::test]
async fn cancel_kills_the_running_tool_and_skips_later_calls() {
    let harness =
        Harness::with(
            [
                ScriptedTurn::new()
                    .call("c1", "bash", &json!({ "command": "echo started; sleep 600" }))
                    .call("c2", "write", &json!({ "path": "x", "content": "x" })),
                ScriptedTurn::reply("fine"),
            ],
            |config| config.approval_mode = Some(osier_tools::ApprovalMode::Yolo),
        )
        .await;
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    listener.until(|event| event.to_json().contains("tool_output").then_some(())).await;
    harness.send(ClientCommand::Cancel).await;
    assert_eq!(listener.end().await.0, Some(TurnOutcome::Cancelled));
    assert!(!harness.has("x"));
    harness.say("never mind").await;
    let lines = harness.last_request();
    assert!(lines[2].contains("started") && lines[2].contains("canceled"), "{lines:#?}");
    assert_eq!(lines[3..], ["result: [canceled before it finished]", "user: never mind"]);
}

#[tokio::test]
async fn canceled_turn_closes_its_question() {
    let harness =
        Harness::new([ScriptedTurn::new().call("c1", "write", &json!({ "path": "x", "content": "x" }))])
            .await;
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    listener.until_asked().await;
    harness.send(ClientCommand::Cancel).await;
    assert_eq!(listener.end().await.0, Some(TurnOutcome::Cancelled));
    let ended = listener
        .received
        .iter()
        .map(osier_protocol::ClientEvent::to_json)
        .filter(|json| json.contains("answered"));
    assert_eq!(ended.collect::<Vec<_>>(), [r#"{"type":"answered","id":1,"allowed":false}"#]);
    assert!(harness.messages().await.pop().unwrap()["details"]["cancelled"] == true);
}

#[tokio::test]
async fn cancel_returns_queued_prompts() {
    let harness = Harness::new([ScriptedTurn::reply("I am thin").hang()]).await;
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    listener.until_draft("thin").await;
    harness.send(steer("left")).await;
    let CommandReply::Returned { prompts: texts, .. } = harness.send(ClientCommand::Cancel).await else {
        panic!()
    };
    assert_eq!(texts[0].text, "left");
    assert!(!harness.session().tree().marks().settings().contains_key("queue"));
}

#[tokio::test]
async fn cancel_when_idle_is_ok_and_cancel_stops_a_shell_command() {
    let harness = Harness::new([]).await;
    assert_eq!(
        harness.send(ClientCommand::Cancel).await,
        CommandReply::Returned { prompts: vec![], follow_ups: 0 }
    );
    let mut listener = harness.listen().await;
    let run = harness.send(ClientCommand::RunShell(UserCommand::parse("!echo up; sleep 600").unwrap()));
    let stop = async {
        listener.until(|event| event.to_json().contains("bash_output").then_some(())).await;
        harness.send(ClientCommand::Cancel).await;
    };
    let (ran, ()) = tokio::join!(run, stop);
    assert!(matches!(ran, CommandReply::Ran { .. }));
    assert_eq!(harness.messages().await.pop().unwrap()["cancelled"], json!(true));
}
