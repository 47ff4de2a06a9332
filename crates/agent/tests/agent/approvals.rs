//! Who may do what: questions, answers, and what the model hears.

use osier_agent::{Answer, Client, Command, Error, Finished, Question};
use osier_model::scripted::Turn;
use osier_tools::{Allowance, Change, Mode};
use serde_json::json;

use crate::desk::{Desk, Ear};

fn write(id: &str, path: &str) -> Turn {
    Turn::new().call(id, "write", &json!({ "path": path, "content": "x" }))
}

fn bash(id: &str, command: &str) -> Turn {
    Turn::new().call(id, "bash", &json!({ "command": command }))
}

/// Answers the next question, and tells what it was about.
async fn answer(desk: &Desk, ear: &mut Ear, answer: impl FnOnce(Vec<Allowance>) -> Answer) -> Change {
    let (question, asked) = ear.until_asked().await;
    let Question::Tool(asked) = asked else { panic!("{asked:?}") };
    desk.send(Command::Answer { question, answer: answer(asked.offers) }).await;
    asked.what
}

#[tokio::test]
async fn once_allows_this_call_only() {
    let desk = Desk::new([write("c1", "a"), write("c2", "b"), Turn::reply("done")]).await;
    let mut ear = desk.begin(Command::prompt("go")).await;
    answer(&desk, &mut ear, |_| Answer::Once).await;
    answer(&desk, &mut ear, |_| Answer::No("enough".into())).await;
    assert_eq!(ear.end().await.0, Some(Finished::Done));
    assert!(desk.has("a") && !desk.has("b"));
    assert!(desk.last_results()[0].starts_with("not allowed: enough\n"), "the model hears why");
    assert_eq!(desk.session().tree().marks().settings().get("approvalTools"), None);
}

#[tokio::test]
async fn always_allows_the_tool_for_the_rest_of_the_session() {
    let desk = Desk::new([write("c1", "a"), write("c2", "b"), bash("c3", "true"), Turn::reply("done")]).await;
    let mut ear = desk.begin(Command::prompt("go")).await;
    answer(&desk, &mut ear, |mut offers| Answer::Always(offers.remove(0))).await;
    let next = answer(&desk, &mut ear, |_| Answer::Once).await;
    assert!(matches!(next, Change::Command { .. }), "other tools are still asked about: {next:?}");
    assert_eq!(ear.end().await.0, Some(Finished::Done));
    assert_eq!(desk.session().tree().marks().settings()["approvalTools"], json!(["write"]));
    let again = desk.reopen([write("c4", "c"), Turn::reply("done")]).await;
    assert_eq!(again.say("more").await, Finished::Done);
    assert!(again.has("c"), "and for the session when it is opened again");
    let other = Desk::new([write("c1", "d"), Turn::reply("done")]).await;
    other.begin(Command::prompt("go")).await.until_asked().await;
}

#[tokio::test]
async fn always_allows_a_family_of_commands_and_nothing_else() {
    let desk =
        Desk::new([bash("c1", "ls"), bash("c2", "ls -l"), bash("c3", "git push"), Turn::reply("done")]).await;
    let mut ear = desk.begin(Command::prompt("go")).await;
    answer(&desk, &mut ear, |mut offers| Answer::Always(offers.remove(0))).await;
    let asked = answer(&desk, &mut ear, |_| Answer::No(String::new())).await;
    assert_eq!(asked, Change::Command { command: "git push".into() });
    ear.end().await;
    assert_eq!(desk.session().tree().marks().settings()["approvalTools"], json!(["bash:ls"]));
}

#[tokio::test]
async fn what_needs_asking_is_refused_when_nobody_is_there_and_the_flags_are_named() {
    let desk = Desk::with([write("c1", "a"), bash("c2", "touch b"), Turn::reply("Then not.")], |parts| {
        parts.attended = false;
    })
    .await;
    assert_eq!(desk.say("go").await, Finished::Done);
    assert!(!desk.has("a") && !desk.has("b"));
    let told = desk.last_request();
    assert!(told[2].contains("nobody is here to approve it; `--approval autoEdit` allows"), "{}", told[2]);
    assert!(told[4].contains("nobody is here to approve it; `--approval yolo` allows it"), "{}", told[4]);
}

#[tokio::test]
async fn the_mode_of_a_run_counts_for_it_alone_and_a_mode_that_is_set_stays() {
    let desk = Desk::with([write("c1", "a"), Turn::reply("done")], |parts| {
        parts.attended = false;
        parts.approval = Some(Mode::AutoEdit);
    })
    .await;
    desk.say("go").await;
    assert!(desk.has("a"));
    assert_eq!(desk.session().tree().marks().settings().get("approvalMode"), None);
    let again = desk.reopen([write("c2", "b"), bash("c3", "true"), Turn::reply("done")]).await;
    again.send(Command::SetApproval(Mode::Yolo)).await;
    assert_eq!(again.say("go").await, Finished::Done);
    assert!(again.has("b"));
    assert_eq!(again.session().tree().marks().settings()["approvalMode"], json!("yolo"));
}

#[tokio::test]
async fn whoever_joins_sees_the_open_question_and_only_open_ones_can_be_answered() {
    let desk = Desk::new([write("c1", "a"), Turn::reply("done")]).await;
    let mut ear = desk.begin(Command::prompt("go")).await;
    let (question, asked) = ear.until_asked().await;
    assert_eq!(desk.worker.attach(None).await.unwrap().asked, [(question, asked)]);
    desk.send(Command::Answer { question, answer: Answer::Once }).await;
    ear.end().await;
    let late = desk.worker.send(Command::Answer { question, answer: Answer::Once }).await;
    assert!(matches!(late, Err(Error::NoQuestion { id }) if id == question));
}

#[tokio::test]
async fn a_file_that_changed_while_somebody_was_asked_is_left_alone() {
    let desk = Desk::new([write("c1", "a"), Turn::reply("done")]).await;
    let mut ear = desk.begin(Command::prompt("go")).await;
    let (question, _) = ear.until_asked().await;
    desk.write("a", "mine");
    desk.send(Command::Answer { question, answer: Answer::Once }).await;
    assert_eq!(ear.end().await.0, Some(Finished::Done));
    let told = &desk.last_results()[0];
    assert!(told.starts_with("nothing was changed: a has another content than when"), "{told}");
}
