//! The contract of hooks: whatever the transport of a client, hooks are asked exactly once about each operation, and can
//! refuse or alter it. Runs over the same fixtures as the contract of clients.

use std::sync::Arc;

use osier_model::scripted::ScriptedTurn;
use osier_protocol::{
    Client, ClientCommand, ClientEvent, CommandReply, EntryId, MoveCommand, MoveReply, QueryAnswer,
    SessionQuery, TurnOutcome, UserAnswer,
};
use serde_json::{Value, json};

use crate::client_contract::{ClientFixture, attach, entries, is_end, run_turn, until};
use crate::recording_hook::ALTERED;

/// A client of a session with two long turns.
async fn connect_client(fixture: &dyn ClientFixture) -> Arc<dyn Client> {
    let client = fixture.connect().await;
    for topic in ["the weather", "the harvest"] {
        fixture.engine().push_turn(ScriptedTurn::reply(format!("I know a lot about {topic}. ").repeat(40)));
        run_turn(&client, &format!("Tell me about {topic}.")).await;
    }
    fixture.engine().hook().take_calls();
    client
}

async fn send(client: &Arc<dyn Client>, command: ClientCommand) -> CommandReply {
    client.send(command).await.unwrap_or_else(|error| panic!("{error}"))
}

async fn log_length(client: &Arc<dyn Client>) -> usize {
    client.attach(None).await.expect("attaching works").state.position.entries
}

fn to_root(summarize: bool) -> ClientCommand {
    ClientCommand::Move(MoveCommand { summarize, ..MoveCommand::default() })
}

async fn move_leaf(client: &Arc<dyn Client>, summarize: bool) -> MoveReply {
    match send(client, to_root(summarize)).await {
        CommandReply::Moved(moved) => moved,
        other => panic!("{other:?}"),
    }
}

async fn entry(client: &Arc<dyn Client>, id: EntryId) -> Value {
    match client.query(SessionQuery::Entry { id }).await {
        Ok(answer) => serde_json::to_value(answer).expect("answers serialize"),
        Err(error) => panic!("{error}"),
    }
}

/// The text of the last reply, and of everything in the events.
fn text(events: &[ClientEvent]) -> String {
    entries(events).iter().map(|entry| String::from_utf8_lossy(entry.entry.bytes()).into_owned()).collect()
}

/// The events of a turn, without those that its model calls cause.
fn without_steps(calls: Vec<&'static str>) -> Vec<&'static str> {
    let of_steps =
        ["turn_start", "turn_end", "before_provider_request", "after_provider_response", "context"];
    calls.into_iter().filter(|call| !of_steps.contains(call)).collect()
}

pub async fn a_move_is_asked_once_and_can_be_refused_or_altered(fixture: &dyn ClientFixture) {
    let (client, hook) = (connect_client(fixture).await, fixture.engine().hook());
    hook.refuse(&["session_before_tree"]);
    let before = log_length(&client).await;
    let refused = move_leaf(&client, false).await;
    assert!(refused.cancelled && !refused.aborted && refused.leaf_id.is_some(), "{refused:?}");
    assert_eq!(log_length(&client).await, before);
    assert_eq!(hook.take_calls(), ["session_before_tree"]);
    hook.refuse(&[]);
    hook.alter(&["session_before_tree"]);
    let moved = move_leaf(&client, true).await;
    let summary = moved.summary_entry.expect("the hook wrote a summary");
    assert!(entry(&client, summary).await.to_string().contains(ALTERED));
    assert_eq!(hook.take_calls(), ["session_before_tree", "session_tree"], "no model was asked");
}

pub async fn a_summary_of_a_move_is_one_request(fixture: &dyn ClientFixture) {
    let (client, hook) = (connect_client(fixture).await, fixture.engine().hook());
    fixture.engine().push_turn(ScriptedTurn::reply("They talked about farming."));
    let moved = move_leaf(&client, true).await;
    assert!(moved.summary_entry.is_some(), "{moved:?}");
    let expected =
        ["session_before_tree", "before_provider_request", "after_provider_response", "session_tree"];
    assert_eq!(hook.take_calls(), expected);
}

pub async fn undo_and_redo_are_asked_once_and_can_be_refused(fixture: &dyn ClientFixture) {
    let (client, hook) = (connect_client(fixture).await, fixture.engine().hook());
    move_leaf(&client, false).await;
    for command in [ClientCommand::Undo, ClientCommand::Redo] {
        hook.take_calls();
        hook.refuse(&["session_before_tree"]);
        let before = log_length(&client).await;
        assert_eq!(send(&client, command.clone()).await, CommandReply::Cancelled);
        assert_eq!(log_length(&client).await, before);
        assert_eq!(hook.take_calls(), ["session_before_tree"]);
        hook.refuse(&[]);
        assert!(matches!(send(&client, command).await, CommandReply::Moved(_)));
        assert_eq!(hook.take_calls(), ["session_before_tree", "session_tree"]);
    }
}

pub async fn a_compaction_is_asked_once_and_can_be_refused_or_altered(fixture: &dyn ClientFixture) {
    let (client, hook) = (connect_client(fixture).await, fixture.engine().hook());
    let compact = ClientCommand::Compact { focus: None };
    hook.refuse(&["session_before_compact"]);
    let before = log_length(&client).await;
    let CommandReply::Compacted(refused) = send(&client, compact.clone()).await else { panic!("no reply") };
    assert!(!refused.compressed);
    assert_eq!(log_length(&client).await, before);
    assert_eq!(hook.take_calls(), ["session_before_compact"]);
    hook.refuse(&[]);
    hook.alter(&["session_before_compact"]);
    let CommandReply::Compacted(compacted) = send(&client, compact).await else { panic!("no reply") };
    assert_eq!((compacted.compressed, compacted.summary.as_str()), (true, ALTERED));
    assert_eq!(hook.take_calls(), ["session_before_compact", "session_compact"]);
    hook.refuse(&["session_before_tree"]);
    let undo = ClientCommand::UndoCompaction { entry: None };
    assert_eq!(send(&client, undo.clone()).await, CommandReply::Cancelled);
    hook.refuse(&[]);
    assert!(matches!(send(&client, undo).await, CommandReply::Moved(_)));
    assert_eq!(hook.take_calls(), ["session_before_tree", "session_before_tree", "session_tree"]);
}

pub async fn a_prompt_is_asked_once_and_can_be_handled_or_altered(fixture: &dyn ClientFixture) {
    let (client, hook) = (connect_client(fixture).await, fixture.engine().hook());
    hook.refuse(&["input"]);
    let before = log_length(&client).await;
    assert_eq!(send(&client, ClientCommand::prompt("hello")).await, CommandReply::Handled);
    assert_eq!(log_length(&client).await, before);
    assert_eq!(hook.take_calls(), ["input"]);
    hook.refuse(&[]);
    hook.alter(&["input", "before_agent_start"]);
    fixture.engine().push_turn(ScriptedTurn::reply("Fine."));
    let turn = text(&run_turn(&client, "hello").await);
    assert!(!turn.contains("hello"), "{turn}");
    assert_eq!(turn.matches(ALTERED).count(), 2, "the prompt, and a message after it: {turn}");
    assert_eq!(without_steps(hook.take_calls()), ["input", "before_agent_start", "agent_start", "agent_end"]);
}

pub async fn each_model_call_asks_for_its_context_and_request(fixture: &dyn ClientFixture) {
    let (client, hook) = (connect_client(fixture).await, fixture.engine().hook());
    hook.alter(&["context", "before_provider_request"]);
    fixture.engine().push_turn(ScriptedTurn::reply("Fine."));
    let turn = text(&run_turn(&client, "hello").await);
    assert!(!turn.contains(ALTERED), "nothing of it is stored: {turn}");
    let request = fixture.engine().last_request();
    assert_eq!(request.system, ALTERED);
    assert_eq!(request.messages, [osier_model::Message::user(ALTERED)]);
    let calls = hook.take_calls();
    let asked: Vec<_> =
        calls.iter().filter(|call| ["context", "before_provider_request"].contains(call)).collect();
    assert_eq!(asked, [&"context", &"before_provider_request"]);
}

/// Runs a turn with one command, which the user approves.
async fn run_command(fixture: &dyn ClientFixture, client: &Arc<dyn Client>) -> Vec<ClientEvent> {
    fixture.engine().push_turn(ScriptedTurn::new().call(
        "c1",
        "bash",
        &json!({ "command": "echo original" }),
    ));
    fixture.engine().push_turn(ScriptedTurn::reply("Done."));
    let mut events = attach(client, None).await;
    send(client, ClientCommand::prompt("run it")).await;
    let is_asked_or_ended = |event: &ClientEvent| matches!(event, ClientEvent::Asked { .. }) || is_end(event);
    let mut received = until(&mut events, is_asked_or_ended).await;
    if let Some(ClientEvent::Asked { id, .. }) = received.last() {
        send(client, ClientCommand::Answer { question: *id, answer: UserAnswer::Once }).await;
        received.extend(until(&mut events, is_end).await);
    }
    let done = ClientEvent::TurnEnded { finished: Some(TurnOutcome::Done), error: None };
    assert_eq!(received.last(), Some(&done));
    received
}

pub async fn a_tool_call_is_asked_once_and_can_be_blocked_or_altered(fixture: &dyn ClientFixture) {
    let (client, hook) = (connect_client(fixture).await, fixture.engine().hook());
    let of_calls = |calls: Vec<&'static str>| -> Vec<&'static str> {
        calls.into_iter().filter(|call| call.starts_with("tool_")).collect()
    };
    hook.refuse(&["tool_call"]);
    let blocked = run_command(fixture, &client).await;
    assert!(!blocked.iter().any(|event| matches!(event, ClientEvent::Asked { .. })), "{blocked:?}");
    assert_eq!(of_calls(hook.take_calls()), ["tool_call"]);
    hook.refuse(&[]);
    hook.alter(&["tool_call"]);
    let altered = text(&run_command(fixture, &client).await);
    assert!(altered.contains(r#""text":"altered"#), "{altered}");
    assert_eq!(of_calls(hook.take_calls()), ["tool_call", "tool_result"]);
    hook.alter(&["tool_result"]);
    let altered = text(&run_command(fixture, &client).await);
    assert!(altered.contains(r#""text":"altered"}"#), "{altered}");
    assert_eq!(of_calls(hook.take_calls()), ["tool_call", "tool_result"]);
}

pub async fn a_graft_and_marks_ask_nobody(fixture: &dyn ClientFixture) {
    let (client, hook) = (connect_client(fixture).await, fixture.engine().hook());
    let Ok(QueryAnswer::ForkPoints { points }) =
        client.query(SessionQuery::ForkPoints { all_branches: false }).await
    else {
        panic!("there are prompts")
    };
    move_leaf(&client, false).await;
    hook.take_calls();
    let tip = points[0].id.clone();
    send(&client, ClientCommand::Graft { tip: tip.clone(), summarize: false, instructions: None }).await;
    send(&client, ClientCommand::Label { entry: Some(tip), label: Some("here".to_owned()) }).await;
    send(&client, ClientCommand::Rename { name: "farming".to_owned() }).await;
    assert!(hook.take_calls().is_empty());
}
