//! Whole turns: what is stored, what is sent, and how they end.

use std::sync::Arc;

use futures_util::StreamExt;
use osier_agent::AgentError;
use osier_model::scripted::{ScriptedModel, ScriptedTurn};
use osier_model::{
    CancellationToken, ContentBlock, DeltaStream, Image, Message, Model, ModelError, ModelInfo, Price,
    Request,
};
use osier_protocol::{ClientCommand, CommandReply, Prompt, PromptTiming, TurnOutcome};
use osier_tools::user_bash::UserCommand;
use serde_json::json;

use crate::harness::Harness;

fn overloaded() -> ModelError {
    ModelError::Overloaded { provider: "scripted".into(), retry_after: None, detail: "busy".into() }
}

#[tokio::test]
async fn turn_stores_everything_as_entries() {
    let harness = Harness::new([ScriptedTurn::reply("Hello.")]).await;
    assert_eq!(harness.say("hi").await, TurnOutcome::Done);
    assert_eq!(
        harness.path().await,
        ["[model: scripted]", "[system]", "user: \"hi\"", "assistant: \"Hello.\""]
    );
}

#[tokio::test]
async fn second_prompt_stores_only_new_entries() {
    let harness = Harness::new([ScriptedTurn::reply("one"), ScriptedTurn::reply("two")]).await;
    harness.say("a").await;
    let before = harness.path().await.len();
    harness.say("b").await;
    assert_eq!(harness.path().await.len(), before + 2);
}

#[tokio::test]
async fn tool_results_go_back_to_the_model() {
    let harness = Harness::new([
        ScriptedTurn::new().text("I look.").call("c1", "read", &json!({ "path": "a.txt" })),
        ScriptedTurn::reply("It says hello."),
    ])
    .await;
    harness.write("a.txt", "hello\n");
    harness.say("what is in a.txt?").await;
    assert_eq!(
        harness.path().await[3..],
        ["assistant: \"I look.\"", "[read: a.txt]", "assistant: \"It says hello.\""]
    );
    assert!(harness.last_results()[0].contains("hello"));
    let last = harness.model.requests().pop().unwrap();
    assert!(last.tools.iter().any(|tool| tool.name == "bash"));
    assert_eq!(last.system, "You work here.");
}

#[tokio::test]
async fn prompt_replies_with_its_entry_and_the_next_one_works_after_the_turn() {
    let harness = Harness::new([ScriptedTurn::reply("one"), ScriptedTurn::reply("two")]).await;
    let mut listener = harness.listen().await;
    for text in ["a", "b"] {
        let CommandReply::Started { entry } = harness.send(ClientCommand::prompt(text)).await else {
            panic!()
        };
        assert!(harness.session().tree().find(&entry).is_some());
        listener.end().await;
    }
    assert!(matches!(harness.worker.send(ClientCommand::prompt(" \n")).await, Err(AgentError::EmptyPrompt)));
}

#[tokio::test]
async fn prompt_is_refused_during_a_turn() {
    let harness = Harness::new([ScriptedTurn::reply("I am thin").hang()]).await;
    let mut listener = harness.begin(ClientCommand::prompt("a")).await;
    listener.until_draft("thin").await;
    assert!(matches!(harness.worker.send(ClientCommand::prompt("b")).await, Err(AgentError::TurnRunning)));
    assert!(matches!(harness.worker.send(ClientCommand::Resume).await, Err(AgentError::TurnRunning)));
    harness.send(ClientCommand::Cancel).await;
}

#[tokio::test]
async fn images_are_sent_with_the_prompt() {
    let harness = Harness::new([ScriptedTurn::reply("A cat.")]).await;
    let image = Image { data: "AA==".into(), mime_type: "image/png".into() };
    let (text, images) = ("what is this?".to_owned(), vec![image.clone()]);
    harness
        .run(ClientCommand::timed_prompt(Prompt { text, images, ..Prompt::default() }, PromptTiming::Now))
        .await;
    let Message::User(said) = &harness.model.requests()[0].messages[0] else { panic!() };
    assert_eq!(said.content, [ContentBlock::text("what is this?"), ContentBlock::Image(image)]);
}

#[tokio::test]
async fn model_failure_is_an_entry_and_the_session_continues() {
    let harness = Harness::new([ScriptedTurn::new().fail(overloaded()), ScriptedTurn::reply("Now.")]).await;
    let (finished, error) = harness.begin(ClientCommand::prompt("a")).await.end().await;
    assert_eq!(finished, Some(TurnOutcome::Failed));
    assert!(error.unwrap().starts_with("scripted is overloaded"));
    let failed = harness.messages().await.pop().unwrap();
    assert_eq!((&failed["stopReason"], failed["content"].as_array().unwrap().len()), (&json!("error"), 0));
    assert!(failed["errorMessage"].as_str().unwrap().starts_with("scripted is overloaded"));
    assert_eq!(harness.say("b").await, TurnOutcome::Done);
    assert_eq!(harness.last_request(), ["user: a", "assistant: ", "user: b"], "the empty reply is not sent");
}

#[tokio::test]
async fn resume_retries_a_failed_reply_on_a_new_branch() {
    let harness = Harness::new([
        ScriptedTurn::new().call("c1", "ls", &json!({})),
        ScriptedTurn::new().text("Half a sen").fail(overloaded()),
        ScriptedTurn::reply("A whole sentence."),
    ])
    .await;
    assert_eq!(harness.say("a").await, TurnOutcome::Failed);
    assert_eq!(harness.run(ClientCommand::Resume).await, TurnOutcome::Done);
    let sent = harness.model.requests();
    assert_eq!(sent[1], sent[2], "the same request");
    assert_eq!(
        harness.path().await[2..],
        ["user: \"a\"", "assistant: (no content)", "[ls: .]", "assistant: \"A whole sentence.\""]
    );
    let tree = harness.session().tree();
    let result = tree.head(tree.leaf().unwrap()).parent.unwrap();
    let replies = tree
        .children()
        .of_entry(result)
        .iter()
        .filter(|seq| tree.head(**seq).role == osier_tree::MessageRole::Assistant);
    assert_eq!(replies.count(), 2, "both replies are kept");
}

#[tokio::test]
async fn finished_conversation_cannot_be_resumed() {
    let harness = Harness::new([ScriptedTurn::reply("one")]).await;
    assert!(matches!(harness.worker.send(ClientCommand::Resume).await, Err(AgentError::NothingToResume)));
    harness.say("a").await;
    assert!(matches!(harness.worker.send(ClientCommand::Resume).await, Err(AgentError::NothingToResume)));
    assert_eq!(harness.model.requests().len(), 1);
}

#[tokio::test]
async fn retries_are_sent_as_live_events() {
    let harness = Harness::new([ScriptedTurn::reply("at last").retrying(overloaded())]).await;
    let mut listener = harness.begin(ClientCommand::prompt("a")).await;
    listener.end().await;
    let lines: Vec<String> = listener.received.iter().map(osier_protocol::ClientEvent::to_json).collect();
    assert!(
        lines.iter().any(|json| json.starts_with(
            r#"{"type":"retrying","attempt":1,"maxAttempts":4,"seconds":0.0,"kind":"overloaded""#
        )),
        "{lines:#?}"
    );
}

#[tokio::test]
async fn every_reply_has_its_cost() {
    let harness = Harness::with([ScriptedTurn::reply("one").usage(1_000_000, 100_000)], |config| {
        let price = Price { input: 3.0, output: 15.0, ..Price::default() };
        config.default_model = Arc::new(ModelInfo { price, ..ScriptedModel::info() });
    })
    .await;
    harness.say("a").await;
    assert_eq!(harness.messages().await.pop().unwrap()["usage"]["cost"]["total"], json!(4.5));
}

#[tokio::test]
async fn shell_command_is_in_the_context_unless_excluded() {
    let harness = Harness::new([ScriptedTurn::reply("I see.")]).await;
    for command in ["!echo seen", "!!echo unseen"] {
        let command = UserCommand::parse(command).unwrap();
        assert!(matches!(harness.send(ClientCommand::RunShell(command)).await, CommandReply::Ran { .. }));
    }
    harness.say("well?").await;
    assert_eq!(harness.last_request(), ["user: The user ran `echo seen`:\n```\nseen\n```", "user: well?"]);
}

#[tokio::test]
async fn shell_command_runs_during_a_turn() {
    let harness = Harness::new([
        ScriptedTurn::new().call("c1", "bash", &json!({ "command": "true" })),
        ScriptedTurn::reply("done"),
    ])
    .await;
    let mut listener = harness.begin(ClientCommand::prompt("a")).await;
    let (question, _) = listener.until_asked().await;
    harness.send(ClientCommand::RunShell(UserCommand::parse("!echo beside").unwrap())).await;
    harness.send(ClientCommand::Answer { question, answer: osier_protocol::UserAnswer::Once }).await;
    assert_eq!(listener.end().await.0, Some(TurnOutcome::Done));
    assert_eq!(harness.last_request()[3], "user: The user ran `echo beside`:\n```\nbeside\n```");
}

/// A model that panics on the first call.
#[derive(Debug)]
struct PanicOnceModel(ScriptedModel, std::sync::atomic::AtomicBool);

impl Model for PanicOnceModel {
    fn stream(&self, request: Request, cancel: CancellationToken) -> DeltaStream {
        assert!(self.1.swap(true, std::sync::atomic::Ordering::Relaxed), "deliberate panic");
        self.0.stream(request, cancel)
    }
}

#[tokio::test]
async fn panicking_turn_is_reported_and_can_be_resumed() {
    let harness = Harness::with([], |config| {
        config.model =
            Arc::new(PanicOnceModel(ScriptedModel::new([ScriptedTurn::reply("better now")]), false.into()));
    })
    .await;
    let (finished, error) = harness.begin(ClientCommand::prompt("a")).await.end().await;
    assert_eq!(finished, None);
    assert!(error.unwrap().starts_with("the turn crashed"));
    assert_eq!(harness.run(ClientCommand::Resume).await, TurnOutcome::Done);
    assert_eq!(harness.path().await[2..], ["user: \"a\"", "assistant: \"better now\""]);
}

/// Violates the rule that every stream ends with a message or a failure.
#[derive(Debug)]
struct UnterminatedModel(ScriptedModel);

impl Model for UnterminatedModel {
    fn stream(&self, request: Request, cancel: CancellationToken) -> DeltaStream {
        let deltas = self.0.stream(request, cancel);
        Box::pin(deltas.filter(|delta| std::future::ready(!delta.is_end())))
    }
}

#[tokio::test]
async fn unterminated_stream_is_a_failure_and_keeps_partial_text() {
    let harness = Harness::with([], |config| {
        let scripted =
            ScriptedModel::new([ScriptedTurn::reply("Half a sent"), ScriptedTurn::reply("never asked")]);
        config.model = Arc::new(UnterminatedModel(scripted));
    })
    .await;
    let (finished, error) = harness.begin(ClientCommand::prompt("hi")).await.end().await;
    assert_eq!(finished, Some(TurnOutcome::Failed));
    assert_eq!(error.unwrap(), "the reply from scripted was cut off: the stream ended without a final event");
    assert_eq!(harness.path().await[2..], ["user: \"hi\"", "assistant: \"Half a sent\""]);
    let stored = harness.messages().await.pop().unwrap();
    assert_eq!(stored["stopReason"], "error");
}
