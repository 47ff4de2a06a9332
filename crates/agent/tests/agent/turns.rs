//! Whole turns: what is stored, what is sent, and how they end.

use std::sync::Arc;

use futures_util::StreamExt;
use osier_agent::{Client, Command, Error, Finished, Reply, When};
use osier_model::scripted::{Scripted, Turn};
use osier_model::{
    Block, CancellationToken, Deltas, Failure, Image, Message, Model, ModelInfo, Price, Request,
};
use osier_tools::user_bash::UserCommand;
use serde_json::json;

use crate::desk::Desk;

fn overloaded() -> Failure {
    Failure::Overloaded { provider: "scripted".into(), retry_after: None, said: "busy".into() }
}

#[tokio::test]
async fn everything_that_happens_in_a_turn_is_an_entry() {
    let desk = Desk::new([Turn::reply("Hello.")]).await;
    assert_eq!(desk.say("hi").await, Finished::Done);
    assert_eq!(desk.path().await, ["[model: scripted]", "[system]", "user: \"hi\"", "assistant: \"Hello.\""]);
}

#[tokio::test]
async fn a_second_prompt_stores_only_what_is_new() {
    let desk = Desk::new([Turn::reply("one"), Turn::reply("two")]).await;
    desk.say("a").await;
    let before = desk.path().await.len();
    desk.say("b").await;
    assert_eq!(desk.path().await.len(), before + 2);
}

#[tokio::test]
async fn tools_run_and_their_results_go_back_to_the_model() {
    let desk = Desk::new([
        Turn::new().text("I look.").call("c1", "read", &json!({ "path": "a.txt" })),
        Turn::reply("It says hello."),
    ])
    .await;
    desk.write("a.txt", "hello\n");
    desk.say("what is in a.txt?").await;
    assert_eq!(
        desk.path().await[3..],
        ["assistant: \"I look.\"", "[read: a.txt]", "assistant: \"It says hello.\""]
    );
    assert!(desk.last_results()[0].contains("hello"));
    let last = desk.model.requests().pop().unwrap();
    assert!(last.tools.iter().any(|tool| tool.name == "bash"));
    assert_eq!(last.system, "You work here.");
}

#[tokio::test]
async fn a_prompt_is_answered_with_its_entry_and_the_next_one_is_taken_when_the_turn_has_ended() {
    let desk = Desk::new([Turn::reply("one"), Turn::reply("two")]).await;
    let mut ear = desk.listen().await;
    for text in ["a", "b"] {
        let Reply::Started { entry } = desk.send(Command::prompt(text)).await else { panic!() };
        assert!(desk.session().tree().find(&entry).is_some());
        ear.end().await;
    }
    assert!(matches!(desk.worker.send(Command::prompt(" \n")).await, Err(Error::Empty)));
}

#[tokio::test]
async fn a_prompt_for_now_is_refused_while_a_turn_runs() {
    let desk = Desk::new([Turn::reply("I am thin").hang()]).await;
    let mut ear = desk.begin(Command::prompt("a")).await;
    ear.until_draft("thin").await;
    assert!(matches!(desk.worker.send(Command::prompt("b")).await, Err(Error::Busy)));
    assert!(matches!(desk.worker.send(Command::Resume).await, Err(Error::Busy)));
    desk.send(Command::Cancel).await;
}

#[tokio::test]
async fn images_go_along_with_what_is_said() {
    let desk = Desk::new([Turn::reply("A cat.")]).await;
    let image = Image { data: "AA==".into(), mime_type: "image/png".into() };
    let (text, images) = ("what is this?".to_owned(), vec![image.clone()]);
    desk.run(Command::Prompt { text, images, files: Vec::new(), when: When::Now }).await;
    let Message::User(said) = &desk.model.requests()[0].messages[0] else { panic!() };
    assert_eq!(said.content, [Block::text("what is this?"), Block::Image(image)]);
}

#[tokio::test]
async fn a_failure_of_the_model_is_an_entry_and_does_not_spoil_what_follows() {
    let desk = Desk::new([Turn::new().fail(overloaded()), Turn::reply("Now.")]).await;
    let (finished, error) = desk.begin(Command::prompt("a")).await.end().await;
    assert_eq!(finished, Some(Finished::Failed));
    assert!(error.unwrap().starts_with("scripted has too much to do"));
    let failed = desk.messages().await.pop().unwrap();
    assert_eq!((&failed["stopReason"], failed["content"].as_array().unwrap().len()), (&json!("error"), 0));
    assert!(failed["errorMessage"].as_str().unwrap().starts_with("scripted has too much to do"));
    assert_eq!(desk.say("b").await, Finished::Done);
    assert_eq!(
        desk.last_request(),
        ["user: a", "assistant: ", "user: b"],
        "the empty reply is dropped on the wire"
    );
}

#[tokio::test]
async fn a_failed_reply_is_asked_for_again_beside_it() {
    let desk = Desk::new([
        Turn::new().call("c1", "ls", &json!({})),
        Turn::new().text("Half a sen").fail(overloaded()),
        Turn::reply("A whole sentence."),
    ])
    .await;
    assert_eq!(desk.say("a").await, Finished::Failed);
    assert_eq!(desk.run(Command::Resume).await, Finished::Done);
    let sent = desk.model.requests();
    assert_eq!(sent[1], sent[2], "the very same question");
    assert_eq!(
        desk.path().await[2..],
        ["user: \"a\"", "assistant: (no content)", "[ls: .]", "assistant: \"A whole sentence.\""]
    );
    let tree = desk.session().tree();
    let result = tree.head(tree.leaf().unwrap()).parent.unwrap();
    let replies = tree
        .children()
        .of_entry(result)
        .iter()
        .filter(|seq| tree.head(**seq).role == osier_tree::Role::Assistant);
    assert_eq!(replies.count(), 2, "nothing was lost");
}

#[tokio::test]
async fn a_conversation_that_asks_for_nothing_is_not_resumed() {
    let desk = Desk::new([Turn::reply("one")]).await;
    assert!(matches!(desk.worker.send(Command::Resume).await, Err(Error::NothingToResume)));
    desk.say("a").await;
    assert!(matches!(desk.worker.send(Command::Resume).await, Err(Error::NothingToResume)));
    assert_eq!(desk.model.requests().len(), 1);
}

#[tokio::test]
async fn retries_are_told_while_they_happen() {
    let desk = Desk::new([Turn::reply("at last").retrying(overloaded())]).await;
    let mut ear = desk.begin(Command::prompt("a")).await;
    ear.end().await;
    let told: Vec<String> = ear.heard.iter().map(osier_agent::Event::json).collect();
    assert!(
        told.iter()
            .any(|json| json
                .starts_with(r#"{"type":"retrying","attempt":1,"seconds":0.0,"kind":"overloaded""#)),
        "{told:#?}"
    );
}

#[tokio::test]
async fn every_reply_has_its_cost() {
    let desk = Desk::with([Turn::reply("one").usage(1_000_000, 100_000)], |parts| {
        let price = Price { input: 3.0, output: 15.0, ..Price::default() };
        parts.default_model = Arc::new(ModelInfo { price, ..Scripted::info() });
    })
    .await;
    desk.say("a").await;
    assert_eq!(desk.messages().await.pop().unwrap()["usage"]["cost"]["total"], json!(4.5));
}

#[tokio::test]
async fn what_the_user_runs_is_told_to_the_model_unless_it_is_excluded() {
    let desk = Desk::new([Turn::reply("I see.")]).await;
    for command in ["!echo seen", "!!echo unseen"] {
        let command = UserCommand::parse(command).unwrap();
        assert!(matches!(desk.send(Command::Bash(command)).await, Reply::Ran { .. }));
    }
    desk.say("well?").await;
    assert_eq!(desk.last_request(), ["user: The user ran `echo seen`:\n```\nseen\n```", "user: well?"]);
}

#[tokio::test]
async fn a_command_of_the_users_does_not_disturb_the_turn_that_runs() {
    let desk =
        Desk::new([Turn::new().call("c1", "bash", &json!({ "command": "true" })), Turn::reply("done")]).await;
    let mut ear = desk.begin(Command::prompt("a")).await;
    let (question, _) = ear.until_asked().await;
    desk.send(Command::Bash(UserCommand::parse("!echo beside").unwrap())).await;
    desk.send(Command::Answer { question, answer: osier_agent::Answer::Once }).await;
    assert_eq!(ear.end().await.0, Some(Finished::Done));
    assert_eq!(desk.last_request()[3], "user: The user ran `echo beside`:\n```\nbeside\n```");
}

/// A model that breaks down the first time it is asked.
#[derive(Debug)]
struct Fragile(Scripted, std::sync::atomic::AtomicBool);

impl Model for Fragile {
    fn stream(&self, request: Request, cancel: CancellationToken) -> Deltas {
        assert!(self.1.swap(true, std::sync::atomic::Ordering::Relaxed), "broken, as the test wants it");
        self.0.stream(request, cancel)
    }
}

#[tokio::test]
async fn a_turn_that_breaks_down_is_told_and_can_be_resumed() {
    let desk = Desk::with([], |parts| {
        parts.model = Arc::new(Fragile(Scripted::new([Turn::reply("better now")]), false.into()));
    })
    .await;
    let (finished, error) = desk.begin(Command::prompt("a")).await.end().await;
    assert_eq!(finished, None);
    assert!(error.unwrap().starts_with("the turn broke down"));
    assert_eq!(desk.run(Command::Resume).await, Finished::Done);
    assert_eq!(desk.path().await[2..], ["user: \"a\"", "assistant: \"better now\""]);
}

/// Breaks the rule that every stream ends with a message or a failure.
#[derive(Debug)]
struct Endless(Scripted);

impl Model for Endless {
    fn stream(&self, request: Request, cancel: CancellationToken) -> Deltas {
        let deltas = self.0.stream(request, cancel);
        Box::pin(deltas.filter(|delta| std::future::ready(!delta.is_end())))
    }
}

#[tokio::test]
async fn a_stream_that_ends_without_an_end_is_a_failure_and_what_was_said_is_kept() {
    let desk = Desk::with([], |parts| {
        let scripted = Scripted::new([Turn::reply("Half a sent"), Turn::reply("never asked")]);
        parts.model = Arc::new(Endless(scripted));
    })
    .await;
    let (finished, error) = desk.begin(Command::prompt("hi")).await.end().await;
    assert_eq!(finished, Some(Finished::Failed));
    assert_eq!(error.unwrap(), "scripted broke off in the middle of the reply: its stream just ended");
    assert_eq!(desk.path().await[2..], ["user: \"hi\"", "assistant: \"Half a sent\""]);
    let stored = desk.messages().await.pop().unwrap();
    assert_eq!(stored["stopReason"], "error");
}
