//! Stopping: whatever it hits, the tree is valid afterwards and every call has its result.

use osier_agent::{Command, Finished, Reply, When};
use osier_model::scripted::Turn;
use osier_model::{Failure, StopReason};
use osier_tools::user_bash::UserCommand;
use serde_json::json;

use crate::desk::Desk;

fn steer(text: &str) -> Command {
    Command::Prompt { text: text.to_owned(), images: Vec::new(), files: Vec::new(), when: When::Steer }
}

#[tokio::test]
async fn a_stopped_reply_is_kept_as_far_as_it_came_and_each_turn_can_be_stopped() {
    let desk =
        Desk::new([Turn::reply("I am thin").hang(), Turn::reply("again thin").hang(), Turn::reply("well")])
            .await;
    for _ in 0..2 {
        let mut ear = desk.begin(Command::prompt("go")).await;
        ear.until_draft("thin").await;
        assert_eq!(desk.send(Command::Cancel).await, Reply::Returned(vec![]));
        assert_eq!(ear.end().await.0, Some(Finished::Cancelled));
    }
    let stopped = desk.messages().await.pop().unwrap();
    assert_eq!(
        (&stopped["stopReason"], &stopped["content"][0]["text"]),
        (&json!("aborted"), &json!("again thin"))
    );
    assert_eq!(desk.say("go on").await, Finished::Done);
}

#[tokio::test]
async fn calls_of_a_stopped_reply_get_a_result_and_are_never_run() {
    let desk = Desk::new([
        Turn::new().call("c1", "write", &json!({ "path": "x", "content": "x" })).text("and").hang(),
        Turn::reply("fine"),
    ])
    .await;
    let mut ear = desk.begin(Command::prompt("go")).await;
    ear.until_draft("and").await;
    desk.send(Command::Cancel).await;
    assert_eq!(ear.end().await.0, Some(Finished::Cancelled));
    assert!(!desk.has("x"));
    desk.say("never mind").await;
    assert_eq!(
        desk.last_request(),
        [
            "user: go",
            "assistant: and calls write",
            "result: [cancelled before it was done]",
            "user: never mind"
        ]
    );
}

#[tokio::test]
async fn calls_of_a_reply_that_broke_off_or_was_cut_are_not_run() {
    let write = json!({ "path": "x", "content": "x" });
    let cut = Failure::Cut { provider: "scripted".into(), said: String::new() };
    let broken = Turn::new().call("c1", "write", &write).fail(cut);
    let long = Turn::new().call("c2", "write", &write).stop(StopReason::Length);
    let desk = Desk::with([broken, long, Turn::reply("fine")], |parts| {
        parts.approval = Some(osier_tools::Mode::Yolo);
    })
    .await;
    assert_eq!(desk.say("a").await, Finished::Failed);
    assert_eq!(desk.say("b").await, Finished::CutOff);
    assert!(!desk.has("x"));
    assert_eq!(desk.say("c").await, Finished::Done);
    let told = desk.last_request();
    assert_eq!(told[2], "result: This call was not run: the reply broke off.");
    assert!(told[5].starts_with("result: This call was not run: the reply reached the limit"), "{told:#?}");
}

#[tokio::test]
async fn a_running_tool_is_killed_and_the_calls_behind_it_are_not_started() {
    let desk = Desk::with(
        [
            Turn::new().call("c1", "bash", &json!({ "command": "echo started; sleep 600" })).call(
                "c2",
                "write",
                &json!({ "path": "x", "content": "x" }),
            ),
            Turn::reply("fine"),
        ],
        |parts| parts.approval = Some(osier_tools::Mode::Yolo),
    )
    .await;
    let mut ear = desk.begin(Command::prompt("go")).await;
    ear.until(|event| event.json().contains("tool_output").then_some(())).await;
    desk.send(Command::Cancel).await;
    assert_eq!(ear.end().await.0, Some(Finished::Cancelled));
    assert!(!desk.has("x"));
    desk.say("never mind").await;
    let told = desk.last_request();
    assert!(told[2].contains("started") && told[2].contains("cancelled"), "{told:#?}");
    assert_eq!(told[3..], ["result: [cancelled before it was done]", "user: never mind"]);
}

#[tokio::test]
async fn a_stopped_turn_asks_no_further() {
    let desk = Desk::new([Turn::new().call("c1", "write", &json!({ "path": "x", "content": "x" }))]).await;
    let mut ear = desk.begin(Command::prompt("go")).await;
    ear.until_asked().await;
    desk.send(Command::Cancel).await;
    assert_eq!(ear.end().await.0, Some(Finished::Cancelled));
    let ended = ear.heard.iter().map(osier_agent::Event::json).filter(|json| json.contains("answered"));
    assert_eq!(ended.collect::<Vec<_>>(), [r#"{"type":"answered","id":1,"allowed":false}"#]);
    assert!(desk.messages().await.pop().unwrap()["details"]["cancelled"] == true);
}

#[tokio::test]
async fn stopping_gives_back_what_waited() {
    let desk = Desk::new([Turn::reply("I am thin").hang()]).await;
    let mut ear = desk.begin(Command::prompt("go")).await;
    ear.until_draft("thin").await;
    desk.send(steer("left")).await;
    let Reply::Returned(texts) = desk.send(Command::Cancel).await else { panic!() };
    assert_eq!(texts[0].text, "left");
    assert!(!desk.session().tree().marks().settings().contains_key("queue"));
}

#[tokio::test]
async fn stopping_when_nothing_runs_is_no_error_and_a_command_of_the_users_stops_too() {
    let desk = Desk::new([]).await;
    assert_eq!(desk.send(Command::Cancel).await, Reply::Returned(vec![]));
    let mut ear = desk.listen().await;
    let run = desk.send(Command::Bash(UserCommand::parse("!echo up; sleep 600").unwrap()));
    let stop = async {
        ear.until(|event| event.json().contains("bash_output").then_some(())).await;
        desk.send(Command::Cancel).await;
    };
    let (ran, ()) = tokio::join!(run, stop);
    assert!(matches!(ran, Reply::Ran { .. }));
    assert_eq!(desk.messages().await.pop().unwrap()["cancelled"], json!(true));
}
