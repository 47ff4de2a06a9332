//! Hooks in a turn: what they are asked, what they observe, in which order, and what their failure means.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use osier_agent::hooks::{
    Hook, HookContext, HookError, HookEvent, HookResult, MoveDecision, MovePreparation, OnFailure,
    PromptDecision, PromptPreparation, SessionStartReason, StoredPrompt, ToolCallDecision, ToolResultChange,
    TurnChange,
};
use osier_agent::{Hooks, RegisteredHook};
use osier_model::ThinkingLevel;
use osier_model::scripted::ScriptedTurn;
use osier_protocol::{
    ClientCommand, ClientEvent, CommandReply, CustomMessage, MoveCommand, Prompt, PromptTiming, Question,
    TurnOutcome, UserAnswer,
};
use osier_session::Session;
use osier_tools::{ResultBlock, ToolCall, ToolOutcome};
use serde_json::{Value, json};

use crate::harness::Harness;

/// Records what it is asked and what it observes, with a prefix that names it.
#[derive(Debug, Default)]
struct Recorder {
    name: &'static str,
    calls: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    fn record(&self, what: impl AsRef<str>) {
        self.calls.lock().unwrap().push(format!("{}{}", self.name, what.as_ref()));
    }
}

#[async_trait]
impl Hook for Recorder {
    async fn before_prompt(
        &self,
        prompt: &PromptPreparation,
        _: &HookContext<'_>,
    ) -> HookResult<PromptDecision> {
        self.record(format!("input {}", prompt.text));
        Ok(PromptDecision::Continue)
    }

    async fn before_turn(&self, prompt: &StoredPrompt, ctx: &HookContext<'_>) -> HookResult<TurnChange> {
        assert_eq!(ctx.leaf_id, Some(&prompt.entry_id), "the prompt is stored");
        self.record("before_agent_start");
        let messages = vec![CustomMessage::text("note", format!("{}note", self.name))];
        Ok(TurnChange { messages, ..TurnChange::default() })
    }

    async fn edit_context(&self, messages: &[Value], _: &HookContext<'_>) -> HookResult<Option<Vec<Value>>> {
        self.record(format!("context of {}", messages.len()));
        Ok(None)
    }

    fn wants(&self, _: &Session, event: &str) -> bool {
        event == "context"
    }

    async fn before_tool_call(&self, call: &ToolCall, _: &HookContext<'_>) -> HookResult<ToolCallDecision> {
        self.record(format!("tool_call {}", call.name));
        Ok(ToolCallDecision::Continue)
    }

    async fn edit_tool_result(
        &self,
        call: &ToolCall,
        _: &ToolOutcome,
        _: &HookContext<'_>,
    ) -> HookResult<ToolResultChange> {
        self.record(format!("tool_result {}", call.name));
        Ok(ToolResultChange::default())
    }

    async fn observe(&self, event: &HookEvent, _: &HookContext<'_>) -> HookResult<()> {
        self.record(match event {
            HookEvent::TurnEnded { outcome, entries } => format!("agent_end {outcome:?} {}", entries.len()),
            HookEvent::StepStarted { turn_index, .. } => format!("turn_start {turn_index}"),
            HookEvent::StepEnded { turn_index, tool_result_entry_ids: results, .. } => {
                format!("turn_end {turn_index} with {} results", results.len())
            }
            HookEvent::ModelChanged { model, previous_model } => {
                format!("model_select {previous_model} to {model}")
            }
            event => event.name().to_owned(),
        });
        Ok(())
    }
}

fn registered(hooks: Vec<Arc<dyn Hook>>) -> Arc<Hooks> {
    let register = |hook| RegisteredHook::new("test", hook);
    Arc::new(Hooks::new(hooks.into_iter().map(register).collect()))
}

async fn harness_with(hook: impl Hook + 'static, turns: impl IntoIterator<Item = ScriptedTurn>) -> Harness {
    Harness::with(turns, |config| config.hooks = registered(vec![Arc::new(hook)])).await
}

fn bash(command: &str) -> ScriptedTurn {
    ScriptedTurn::new().call("c1", "bash", &json!({ "command": command }))
}

fn read(path: &str) -> ScriptedTurn {
    ScriptedTurn::new().call("c1", "read", &json!({ "path": path }))
}

#[tokio::test]
async fn a_turn_asks_and_tells_in_this_order() {
    let calls = Arc::new(Mutex::default());
    let recorder = Recorder { name: "", calls: Arc::clone(&calls) };
    let harness = harness_with(recorder, [read("a.txt"), ScriptedTurn::reply("done")]).await;
    harness.write("a.txt", "alpha\n");
    assert_eq!(harness.say("go").await, TurnOutcome::Done);
    let expected = [
        "input go",
        "before_agent_start",
        "agent_start",
        "turn_start 0",
        "context of 2",
        "after_provider_response",
        "tool_call read",
        "tool_result read",
        "turn_end 0 with 1 results",
        "turn_start 1",
        "context of 4",
        "after_provider_response",
        "turn_end 1 with 0 results",
        "agent_end Some(Done) 7",
    ];
    assert_eq!(*calls.lock().unwrap(), expected);
    let path = harness.path().await;
    assert!(path.iter().any(|line| line.contains("note")), "{path:?}");
}

#[tokio::test]
async fn all_hooks_are_asked_in_the_order_of_registration() {
    let calls = Arc::new(Mutex::default());
    let hook = |name| Arc::new(Recorder { name, calls: Arc::clone(&calls) }) as Arc<dyn Hook>;
    let hooks = registered(vec![hook("1 "), hook("2 ")]);
    let harness = Harness::with([ScriptedTurn::reply("done")], |config| config.hooks = hooks).await;
    harness.say("go").await;
    let calls = calls.lock().unwrap();
    let asked: Vec<&str> = calls.iter().map(String::as_str).filter(|call| call.contains("start")).collect();
    let expected = ["1 before_agent_start", "2 before_agent_start", "1 agent_start", "2 agent_start"];
    assert_eq!(asked[..4], expected);
    assert_eq!(harness.last_request(), ["user: go", "user: 1 note", "user: 2 note"]);
}

/// Answers about moves: a label, a refusal, or a failure.
#[derive(Debug, Default)]
struct MoveAnswer {
    label: Option<&'static str>,
    cancel: bool,
    failure: Option<TestFailure>,
    labels_seen: Mutex<Vec<Option<String>>>,
}

#[derive(Debug, Clone, Copy)]
enum TestFailure {
    Error,
    Panic,
    Hang,
}

async fn fail<T>(failure: TestFailure) -> HookResult<T> {
    match failure {
        TestFailure::Error => Err(HookError::new("it is broken")),
        TestFailure::Panic => panic!("it crashes"),
        TestFailure::Hang => pending().await,
    }
}

#[async_trait]
impl Hook for MoveAnswer {
    async fn before_move(&self, asked: &MovePreparation, _: &HookContext<'_>) -> HookResult<MoveDecision> {
        self.labels_seen.lock().unwrap().push(asked.label.clone());
        if let Some(failure) = self.failure {
            return fail(failure).await;
        }
        let label = self.label.map(str::to_owned);
        Ok(MoveDecision { cancel: self.cancel, label, ..MoveDecision::default() })
    }
}

/// Moves to the root, past these hooks.
async fn move_past(hooks: Vec<RegisteredHook>) -> (Harness, bool, Vec<String>) {
    let harness = Harness::with([ScriptedTurn::reply("hi")], |config| {
        config.hooks = Arc::new(Hooks::new(hooks));
    })
    .await;
    harness.say("hello").await;
    let mut listener = harness.listen().await;
    let CommandReply::Moved(moved) = harness.send(ClientCommand::Move(MoveCommand::default())).await else {
        panic!("it is the reply to a move")
    };
    // An event of the agent after the move, so that all notices have arrived.
    harness.send(ClientCommand::Rename { name: "end".to_owned() }).await;
    let is_end =
        |event: &ClientEvent| matches!(event, ClientEvent::Entry(entry) if entry.off_path).then_some(());
    listener.until(is_end).await;
    let notices = listener.notices();
    (harness, moved.cancelled, notices)
}

#[tokio::test]
async fn each_hook_sees_what_the_one_before_it_changed() {
    let first = Arc::new(MoveAnswer { label: Some("good"), ..MoveAnswer::default() });
    let second = Arc::new(MoveAnswer::default());
    let hooks = vec![RegisteredHook::new("1", first), RegisteredHook::new("2", second.clone())];
    let (_, cancelled, _) = move_past(hooks).await;
    assert!(!cancelled);
    assert_eq!(*second.labels_seen.lock().unwrap(), [Some("good".to_owned())]);
}

#[tokio::test]
async fn after_a_refusal_no_other_hook_is_asked() {
    let first = Arc::new(MoveAnswer { cancel: true, ..MoveAnswer::default() });
    let second = Arc::new(MoveAnswer::default());
    let hooks = vec![RegisteredHook::new("1", first), RegisteredHook::new("2", second.clone())];
    let (harness, cancelled, notices) = move_past(hooks).await;
    assert!(cancelled && notices.is_empty(), "{notices:?}");
    assert!(second.labels_seen.lock().unwrap().is_empty());
    assert!(harness.worker.cursor().position().is_some(), "nothing moved");
}

#[tokio::test]
async fn a_hook_that_fails_is_reported_and_allows_or_refuses_as_registered() {
    for (failure, reason) in [
        (TestFailure::Error, "it is broken"),
        (TestFailure::Panic, "it crashed"),
        (TestFailure::Hang, "no answer within"),
    ] {
        for on_failure in [OnFailure::Allow, OnFailure::Refuse] {
            let hook = Arc::new(MoveAnswer { failure: Some(failure), ..MoveAnswer::default() });
            let timeout = if let TestFailure::Hang = failure { Duration::ZERO } else { Duration::MAX };
            let hook = RegisteredHook { timeout, on_failure, ..RegisteredHook::new("guard", hook) };
            let (harness, cancelled, notices) = move_past(vec![hook]).await;
            assert_eq!(cancelled, on_failure == OnFailure::Refuse, "{failure:?}");
            let [notice] = &notices[..] else { panic!("{notices:?}") };
            assert!(notice.starts_with("the hook guard failed in session_before_tree: "), "{notice}");
            assert!(notice.contains(reason), "{notice}");
            harness.model.push(ScriptedTurn::reply("still here"));
            assert_eq!(harness.say("are you there?").await, TurnOutcome::Done);
        }
    }
}

/// Fails before every prompt.
#[derive(Debug)]
struct FailingGuard;

#[async_trait]
impl Hook for FailingGuard {
    async fn before_prompt(&self, _: &PromptPreparation, _: &HookContext<'_>) -> HookResult<PromptDecision> {
        fail(TestFailure::Error).await
    }
}

#[tokio::test]
async fn a_prompt_that_a_failed_guard_refuses_goes_back_to_its_sender() {
    let guard = RegisteredHook::new("guard", Arc::new(FailingGuard));
    let guard = RegisteredHook { on_failure: OnFailure::Refuse, ..guard };
    let hooks = Arc::new(Hooks::new(vec![guard]));
    let harness = Harness::with([], |config| config.hooks = hooks).await;
    let error = harness.worker.send(ClientCommand::prompt("keep me")).await.unwrap_err();
    assert_eq!(
        error.code(),
        osier_protocol::ErrorCode::Cancelled,
        "a client puts the text back into its editor"
    );
    assert_eq!(harness.worker.session().version().entries, 0);
}

/// Fails in every tool call and every observation.
#[derive(Debug)]
struct Failing;

#[async_trait]
impl Hook for Failing {
    async fn before_tool_call(&self, _: &ToolCall, _: &HookContext<'_>) -> HookResult<ToolCallDecision> {
        fail(TestFailure::Error).await
    }

    async fn edit_context(&self, _: &[Value], _: &HookContext<'_>) -> HookResult<Option<Vec<Value>>> {
        fail(TestFailure::Panic).await
    }

    fn wants(&self, _: &Session, event: &str) -> bool {
        event == "context"
    }

    async fn observe(&self, _: &HookEvent, _: &HookContext<'_>) -> HookResult<()> {
        fail(TestFailure::Panic).await
    }
}

#[tokio::test]
async fn a_failure_blocks_a_tool_call_and_nothing_else() {
    let harness = harness_with(Failing, [bash("touch made"), ScriptedTurn::reply("done")]).await;
    assert_eq!(harness.say("go").await, TurnOutcome::Done);
    assert_eq!(harness.last_results(), ["the hook test failed in tool_call: it is broken"]);
    assert!(!harness.has("made"));
}

/// Changes the arguments and the result of calls.
#[derive(Debug)]
struct CallEditor;

#[async_trait]
impl Hook for CallEditor {
    async fn before_tool_call(&self, _: &ToolCall, _: &HookContext<'_>) -> HookResult<ToolCallDecision> {
        Ok(ToolCallDecision::Alter { arguments: json!({ "command": "touch safe" }) })
    }

    async fn edit_tool_result(
        &self,
        call: &ToolCall,
        outcome: &ToolOutcome,
        _: &HookContext<'_>,
    ) -> HookResult<ToolResultChange> {
        assert_eq!(call.arguments["command"], "touch safe");
        assert!(!outcome.is_error);
        let content = vec![ResultBlock::Text { text: "checked".to_owned() }];
        Ok(ToolResultChange { content: Some(content), is_error: Some(true), ..ToolResultChange::default() })
    }
}

#[tokio::test]
async fn the_user_approves_the_call_that_a_hook_changed() {
    let harness = harness_with(CallEditor, [bash("touch danger"), ScriptedTurn::reply("done")]).await;
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    let (id, question) = listener.until_asked().await;
    let Question::Tool(question) = question else { panic!("{question:?}") };
    assert_eq!(question.call.arguments["command"], "touch safe");
    harness.send(ClientCommand::Answer { question: id, answer: UserAnswer::Once }).await;
    listener.end().await;
    assert!(harness.has("safe") && !harness.has("danger"));
    let messages = harness.messages().await;
    let result = messages.iter().find(|message| message["role"] == "toolResult").unwrap();
    assert_eq!((&result["content"][0]["text"], &result["isError"]), (&json!("checked"), &json!(true)));
    assert_eq!(result["details"]["alteredArguments"]["command"], "touch safe");
}

/// Blocks calls with a reason.
#[derive(Debug)]
struct Blocking;

#[async_trait]
impl Hook for Blocking {
    async fn before_tool_call(&self, _: &ToolCall, _: &HookContext<'_>) -> HookResult<ToolCallDecision> {
        Ok(ToolCallDecision::Block { reason: "not on Fridays".to_owned(), ends_turn: false })
    }
}

#[tokio::test]
async fn a_blocked_call_gives_the_model_the_reason_without_asking_the_user() {
    let harness = harness_with(Blocking, [bash("touch made"), ScriptedTurn::reply("done")]).await;
    assert_eq!(harness.say("go").await, TurnOutcome::Done);
    assert_eq!(harness.last_results(), ["not on Fridays"]);
    assert!(!harness.has("made"));
}

/// Sends only the last message.
#[derive(Debug)]
struct Pruning;

#[async_trait]
impl Hook for Pruning {
    async fn edit_context(&self, messages: &[Value], _: &HookContext<'_>) -> HookResult<Option<Vec<Value>>> {
        Ok(Some(messages.last().cloned().into_iter().collect()))
    }

    fn wants(&self, _: &Session, event: &str) -> bool {
        event == "context"
    }
}

#[tokio::test]
async fn a_changed_context_is_sent_and_not_stored() {
    let harness = harness_with(Pruning, ["one", "two"].map(ScriptedTurn::reply)).await;
    harness.say("first").await;
    harness.say("second").await;
    assert_eq!(harness.last_request(), ["user: second"]);
    let prompts = harness.messages().await.iter().filter(|message| message["role"] == "user").count();
    assert_eq!(prompts, 2, "the path still has everything");
}

/// Expands `!`, handles `ping`, and waits for ever on `wait`.
#[derive(Debug)]
struct InputHook;

#[async_trait]
impl Hook for InputHook {
    async fn before_prompt(
        &self,
        prompt: &PromptPreparation,
        _: &HookContext<'_>,
    ) -> HookResult<PromptDecision> {
        Ok(match prompt.text.as_str() {
            "ping" => PromptDecision::Handled,
            "wait" => pending().await,
            text => PromptDecision::Transform { text: text.replace('!', " please"), images: Vec::new() },
        })
    }
}

#[tokio::test]
async fn a_hook_changes_or_handles_a_prompt() {
    let harness = harness_with(InputHook, [ScriptedTurn::reply("done")]).await;
    let before = harness.session().version();
    assert_eq!(harness.send(ClientCommand::prompt("ping")).await, CommandReply::Handled);
    assert_eq!(harness.session().version(), before, "nothing was stored");
    harness.say("help!").await;
    assert_eq!(harness.last_request(), ["user: help please"]);
}

#[tokio::test]
async fn cancel_ends_the_wait_for_a_hook() {
    let harness = harness_with(InputHook, []).await;
    let worker = harness.worker.clone();
    let mut waiting = Box::pin(async move { worker.send(ClientCommand::prompt("wait")).await });
    assert!(futures_util::poll!(&mut waiting).is_pending());
    harness.send(ClientCommand::Cancel).await;
    assert_eq!(waiting.await.unwrap_err().to_string(), "canceled before the prompt was sent");
}

#[tokio::test]
async fn choices_and_the_life_of_an_agent_are_observed_once() {
    let calls = Arc::new(Mutex::default());
    let recorder = Recorder { name: "", calls: Arc::clone(&calls) };
    let harness = harness_with(recorder, []).await;
    harness.worker.announce_start(SessionStartReason::Startup, None).await;
    harness.send(ClientCommand::SetThinking { level: ThinkingLevel::High }).await;
    harness.send(ClientCommand::SetThinking { level: ThinkingLevel::High }).await;
    harness.worker.finish().await.unwrap();
    harness.worker.finish().await.unwrap();
    assert_eq!(*calls.lock().unwrap(), ["session_start", "thinking_level_select", "session_shutdown"]);
}

#[tokio::test]
async fn undo_and_resume_are_observed_as_moves() {
    let calls = Arc::new(Mutex::default());
    let recorder = Recorder { name: "", calls: Arc::clone(&calls) };
    let failed = ScriptedTurn::new().fail(crate::scenario::overflow());
    let harness = Harness::with([failed, ScriptedTurn::reply("better")], |config| {
        config.compaction.automatic = false;
        config.hooks = registered(vec![Arc::new(recorder)]);
    })
    .await;
    harness.say("go").await;
    calls.lock().unwrap().clear();
    harness.run(ClientCommand::Resume).await;
    assert_eq!(calls.lock().unwrap()[0], "session_tree");
    harness.send(ClientCommand::Move(MoveCommand::default())).await;
    calls.lock().unwrap().clear();
    harness.send(ClientCommand::Undo).await;
    assert_eq!(*calls.lock().unwrap(), ["session_tree"]);
}

fn custom(text: &str, when: PromptTiming) -> ClientCommand {
    ClientCommand::timed_prompt(Prompt::custom(CustomMessage::text("ci", text)), when)
}

#[tokio::test]
async fn a_message_of_an_extension_without_a_turn_is_only_stored() {
    let harness = Harness::new([ScriptedTurn::reply("hi")]).await;
    harness.say("hello").await;
    let reply = harness.send(custom("red", PromptTiming::NoTurn)).await;
    assert!(matches!(reply, CommandReply::Stored { .. }), "{reply:?}");
    assert_eq!(harness.model.requests().len(), 1);
    let resumed = harness.worker.send(ClientCommand::Resume).await;
    assert!(resumed.is_err(), "the message wants no answer: {resumed:?}");
}

#[tokio::test]
async fn a_message_of_an_extension_starts_a_turn_and_is_not_a_user_message() {
    let harness = Harness::new(["hi", "I see"].map(ScriptedTurn::reply)).await;
    harness.say("hello").await;
    assert_eq!(harness.run(custom("red", PromptTiming::Now)).await, TurnOutcome::Done);
    assert_eq!(harness.last_request(), ["user: hello", "assistant: hi", "user: red"]);
    let user_messages = harness.messages().await.iter().filter(|message| message["role"] == "user").count();
    assert_eq!(user_messages, 1);
}

#[tokio::test]
async fn a_message_of_an_extension_waits_for_a_running_turn() {
    let harness = Harness::new([ScriptedTurn::reply("thinking").hang()]).await;
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    listener.until_draft("thinking").await;
    assert_eq!(harness.send(custom("red", PromptTiming::Now)).await, CommandReply::Queued);
    assert_eq!(harness.send(custom("green", PromptTiming::NoTurn)).await, CommandReply::Queued);
    let CommandReply::Returned { prompts, .. } = harness.send(ClientCommand::Cancel).await else { panic!() };
    assert_eq!(prompts.len(), 2);
}

#[tokio::test]
async fn a_queued_message_of_an_extension_is_answered_in_the_same_turn() {
    let harness =
        Harness::new([bash("true"), ScriptedTurn::reply("ok"), ScriptedTurn::reply("and red")]).await;
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    let (id, _) = listener.until_asked().await;
    harness.send(custom("red", PromptTiming::FollowUp)).await;
    harness.send(ClientCommand::Answer { question: id, answer: UserAnswer::Once }).await;
    listener.end().await;
    assert_eq!(harness.last_request().last().unwrap(), "user: red");
}
