//! The contract of clients: what every implementation of [`Client`] does, whatever its transport. A transport passes if all
//! cases pass over its [`ClientFixture`].

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use osier_model::scripted::ScriptedTurn;
use osier_protocol::query::LandmarkKind;
use osier_protocol::{
    Client, ClientCommand, ClientEvent, CommandReply, CustomMessage, EntryEvent, ErrorCode, EventStream,
    LogPosition, MoveCommand, MoveReason, Prompt, PromptTiming, QueryAnswer, SessionQuery, TurnOutcome,
    UserAnswer, UserCommand,
};
use serde_json::json;

use crate::contract_engine::ContractEngine;

/// Runs all cases over the clients of a fixture. The expression makes a new fixture for each case.
#[macro_export]
macro_rules! client_contract_tests {
    ($fixture:expr) => {
        $crate::client_contract_tests! {
            @cases $fixture;
            client_contract::a_prompt_runs_a_turn,
            client_contract::attaching_in_a_turn_has_no_gap_and_no_duplicate,
            client_contract::a_client_that_was_away_misses_no_entry,
            client_contract::a_slow_client_lags_and_catches_up,
            client_contract::any_client_answers_a_question,
            client_contract::queued_prompts_return_when_the_turn_is_canceled,
            client_contract::a_prompt_that_waits_goes_with_the_next_one,
            client_contract::moves_are_announced_to_every_client,
            client_contract::two_clients_receive_the_same_events,
            client_contract::a_client_that_vanishes_disturbs_nobody,
            client_contract::a_turn_goes_on_when_all_clients_are_gone,
            client_contract::a_session_without_clients_can_be_opened_again,
            client_contract::queries_describe_the_session,
            client_contract::entries_and_messages_are_read_in_order,
            client_contract::a_shell_command_is_stopped_alone,
            client_contract::a_tree_shows_labels_and_deleted_branches,
            client_contract::errors_have_a_code,
            client_contract::a_message_of_an_extension_is_stored_or_answered,
            hook_contract::a_move_is_asked_once_and_can_be_refused_or_altered,
            hook_contract::a_summary_of_a_move_is_one_request,
            hook_contract::undo_and_redo_are_asked_once_and_can_be_refused,
            hook_contract::a_compaction_is_asked_once_and_can_be_refused_or_altered,
            hook_contract::a_prompt_is_asked_once_and_can_be_handled_or_altered,
            hook_contract::each_model_call_asks_for_its_context_and_request,
            hook_contract::a_tool_call_is_asked_once_and_can_be_blocked_or_altered,
            hook_contract::a_graft_and_marks_ask_nobody,
        }
    };
    (@cases $fixture:expr; $($module:ident::$case:ident,)*) => {$(
        #[tokio::test]
        async fn $case() {
            $crate::$module::$case(&$fixture).await;
        }
    )*};
}

/// If nothing happens for this long, the client is stuck.
const EVENT_TIMEOUT: Duration = Duration::from_secs(60);

/// Clients of one session, over one transport.
#[async_trait]
pub trait ClientFixture: Send + Sync {
    /// A new client. All clients of a fixture share its session.
    async fn connect(&self) -> Arc<dyn Client>;

    /// The engine at the other end.
    fn engine(&self) -> &ContractEngine;
}

async fn next(events: &mut EventStream) -> ClientEvent {
    let event = tokio::time::timeout(EVENT_TIMEOUT, events.next()).await;
    event.expect("an event arrives").expect("the stream is open")
}

/// The events up to the first that `is_last` accepts.
pub(crate) async fn until(
    events: &mut EventStream,
    is_last: impl Fn(&ClientEvent) -> bool,
) -> Vec<ClientEvent> {
    let mut received = Vec::new();
    while !received.last().is_some_and(&is_last) {
        received.push(next(events).await);
    }
    received
}

pub(crate) fn is_end(event: &ClientEvent) -> bool {
    matches!(event, ClientEvent::TurnEnded { .. })
}

pub(crate) async fn attach(client: &Arc<dyn Client>, after: Option<LogPosition>) -> EventStream {
    client.attach(after).await.expect("attaching works").events
}

/// Sends a prompt and waits for the end of its turn.
pub(crate) async fn run_turn(client: &Arc<dyn Client>, text: &str) -> Vec<ClientEvent> {
    let mut events = attach(client, None).await;
    client.send(ClientCommand::prompt(text)).await.expect("the prompt is stored");
    until(&mut events, is_end).await
}

pub(crate) fn entries(events: &[ClientEvent]) -> Vec<&EntryEvent> {
    let mut entries = Vec::new();
    for event in events {
        if let ClientEvent::Entry(entry) = event {
            entries.push(entry);
        }
    }
    entries
}

async fn path_length(client: &Arc<dyn Client>) -> usize {
    match client.query(SessionQuery::Path { limit: None }).await {
        Ok(QueryAnswer::Path(path)) => path.entries.len(),
        other => panic!("{other:?}"),
    }
}

/// A turn stores its entries, and the path has them.
pub async fn a_prompt_runs_a_turn(fixture: &dyn ClientFixture) {
    let client = fixture.connect().await;
    fixture.engine().push_turn(ScriptedTurn::reply("Hello."));
    let events = run_turn(&client, "Hi").await;
    assert!(matches!(events.first(), Some(ClientEvent::TurnStarted)), "{events:?}");
    assert!(
        matches!(
            events.last(),
            Some(ClientEvent::TurnEnded { finished: Some(TurnOutcome::Done), error: None })
        ),
        "{events:?}"
    );
    assert_eq!(path_length(&client).await, 2);
    let Ok(QueryAnswer::LastReply { reply: Some(reply) }) = client.query(SessionQuery::LastReply).await
    else {
        panic!("the reply is on the path")
    };
    assert_eq!(reply.text, "Hello.");
}

/// A client that attaches while a reply is written has its pieces so far, and receives its entry once.
pub async fn attaching_in_a_turn_has_no_gap_and_no_duplicate(fixture: &dyn ClientFixture) {
    let client = fixture.connect().await;
    fixture.engine().push_turn(ScriptedTurn::reply("I am thin").hang());
    let mut first = attach(&client, None).await;
    client.send(ClientCommand::prompt("go")).await.expect("the prompt is stored");
    until(
        &mut first,
        |event| matches!(event, ClientEvent::DraftDelta { delta, .. } if delta.text().contains("thin")),
    )
    .await;
    let attached = fixture.connect().await.attach(None).await.expect("attaching works");
    assert!(attached.state.turn_running);
    let text: String = attached.state.drafts[0].deltas.iter().map(osier_protocol::ReplyDelta::text).collect();
    assert!(text.contains("thin"), "{text}");
    let mut second = attached.events;
    client.send(ClientCommand::Cancel).await.expect("the turn stops");
    let received = until(&mut second, is_end).await;
    assert_eq!(entries(&received).len(), 1, "{received:?}");
}

/// A client that was away gets the entries it missed, each once and in order, and then the later ones.
pub async fn a_client_that_was_away_misses_no_entry(fixture: &dyn ClientFixture) {
    let client = fixture.connect().await;
    let position = client.attach(None).await.expect("attaching works").state.position;
    fixture.engine().push_turn(ScriptedTurn::reply("one"));
    let while_away = run_turn(&client, "first").await;
    let attached = client.attach(Some(position)).await.expect("attaching works");
    let missed = attached.state.last_turn.expect("it knows that it missed a turn");
    assert_eq!(
        (missed.revision, missed.finished),
        (attached.state.position.entries, Some(TurnOutcome::Done))
    );
    let mut events = attached.events;
    fixture.engine().push_turn(ScriptedTurn::reply("two"));
    client.send(ClientCommand::prompt("second")).await.expect("the prompt is stored");
    let received = until(&mut events, is_end).await;
    let seqs: Vec<usize> = entries(&received).iter().map(|entry| entry.seq).collect();
    let expected: Vec<usize> = (position.entries..position.entries + seqs.len()).collect();
    assert_eq!(seqs, expected);
    assert!(seqs.len() > entries(&while_away).len());
}

/// A client that does not read gets `Lagged` and no more events, and catches up when it attaches again.
pub async fn a_slow_client_lags_and_catches_up(fixture: &dyn ClientFixture) {
    let (slow, busy) = (fixture.connect().await, fixture.connect().await);
    let attached = slow.attach(None).await.expect("attaching works");
    fixture.engine().push_turn(ScriptedTurn::reply("word ".repeat(3000)));
    busy.send(ClientCommand::prompt("go")).await.expect("the prompt is stored");
    while busy.attach(None).await.expect("attaching works").state.turn_running {
        tokio::task::yield_now().await;
    }
    let received: Vec<ClientEvent> = attached.events.collect().await;
    assert!(matches!(received.last(), Some(ClientEvent::Lagged { .. })), "{:?}", received.last());
    let mut events = attach(&slow, Some(attached.state.position)).await;
    let is_reply = |event: &ClientEvent| matches!(event, ClientEvent::Entry(entry) if String::from_utf8_lossy(entry.entry.bytes()).contains("word word"));
    until(&mut events, is_reply).await;
}

/// A question reaches every client, and any of them may answer it, once.
pub async fn any_client_answers_a_question(fixture: &dyn ClientFixture) {
    let (asking, answering) = (fixture.connect().await, fixture.connect().await);
    fixture.engine().push_turn(ScriptedTurn::new().call("c1", "bash", &json!({ "command": "true" })));
    fixture.engine().push_turn(ScriptedTurn::reply("Done."));
    let mut events = attach(&answering, None).await;
    asking.send(ClientCommand::prompt("run it")).await.expect("the prompt is stored");
    let received = until(&mut events, |event| matches!(event, ClientEvent::Asked { .. })).await;
    let Some(ClientEvent::Asked { id, .. }) = received.last() else { panic!("a question is open") };
    let open = asking.attach(None).await.expect("attaching works").state.open_questions;
    assert_eq!(open.iter().map(|open| open.id).collect::<Vec<_>>(), [*id]);
    let answer = ClientCommand::Answer { question: *id, answer: UserAnswer::Once };
    assert_eq!(answering.send(answer.clone()).await, Ok(CommandReply::Done));
    until(&mut events, is_end).await;
    assert!(asking.send(answer).await.is_err(), "it is answered already");
}

/// Prompts sent during a turn wait in the queue, and come back when the turn is canceled.
pub async fn queued_prompts_return_when_the_turn_is_canceled(fixture: &dyn ClientFixture) {
    let client = fixture.connect().await;
    fixture.engine().push_turn(ScriptedTurn::reply("thinking").hang());
    let mut events = attach(&client, None).await;
    client.send(ClientCommand::prompt("go")).await.expect("the prompt is stored");
    until(&mut events, |event| matches!(event, ClientEvent::DraftDelta { .. })).await;
    let busy = client.send(ClientCommand::prompt("now")).await.expect_err("a turn is running");
    assert_eq!(busy.code, ErrorCode::SessionBusy);
    let steer = ClientCommand::timed_prompt(Prompt::text("to the left"), PromptTiming::Steer);
    assert_eq!(client.send(steer).await, Ok(CommandReply::Queued));
    let returned = client.send(ClientCommand::Cancel).await;
    assert_eq!(
        returned,
        Ok(CommandReply::Returned { prompts: vec![Prompt::text("to the left")], follow_ups: 0 })
    );
}

/// A prompt that must not start a turn waits, and is sent together with the next prompt.
pub async fn a_prompt_that_waits_goes_with_the_next_one(fixture: &dyn ClientFixture) {
    let client = fixture.connect().await;
    let later = ClientCommand::timed_prompt(Prompt::text("later"), PromptTiming::SteerLater);
    assert_eq!(client.send(later).await.expect("it is queued"), CommandReply::Queued);
    let state = client.attach(None).await.expect("a state").state;
    assert_eq!((state.turn_running, state.queue.steering.len()), (false, 1));
    fixture.engine().push_turn(ScriptedTurn::reply("Both."));
    run_turn(&client, "first").await;
    let prompts: Vec<String> =
        client.fork_points(false).await.expect("prompts").into_iter().map(|point| point.text).collect();
    assert_eq!(prompts.len(), 2, "{prompts:?}");
    let request = format!("{:?}", fixture.engine().last_request().messages);
    assert!(request.contains("first") && request.contains("later"), "{request}");
    assert!(client.attach(None).await.expect("a state").state.queue.is_empty());
}

/// A move returns the text to the editor, and every client hears of it; undo moves back.
pub async fn moves_are_announced_to_every_client(fixture: &dyn ClientFixture) {
    let (moving, watching) = (fixture.connect().await, fixture.connect().await);
    fixture.engine().push_turn(ScriptedTurn::reply("Hello."));
    let turn = run_turn(&moving, "Hi").await;
    let reply = entries(&turn).last().expect("the reply is stored").id.clone();
    let Ok(QueryAnswer::ForkPoints { points }) =
        moving.query(SessionQuery::ForkPoints { all_branches: false }).await
    else {
        panic!("there is a prompt")
    };
    let mut events = attach(&watching, None).await;
    let to_prompt = MoveCommand { target_id: Some(points[0].id.clone()), ..MoveCommand::default() };
    let Ok(CommandReply::Moved(moved)) = moving.send(ClientCommand::Move(to_prompt)).await else {
        panic!("the move works")
    };
    assert_eq!((moved.editor_text.as_deref(), moved.cancelled), (Some("Hi"), false));
    let received = until(&mut events, |event| matches!(event, ClientEvent::Moved(_))).await;
    let Some(ClientEvent::Moved(event)) = received.last() else { panic!("{received:?}") };
    assert_eq!((event.reason, event.old_leaf_id.as_ref()), (MoveReason::Move, Some(&reply)));
    assert_eq!(event.new_leaf_id, moved.leaf_id);
    moving.send(ClientCommand::Undo).await.expect("undo works");
    let received = until(&mut events, |event| matches!(event, ClientEvent::Moved(_))).await;
    let Some(ClientEvent::Moved(event)) = received.last() else { panic!("{received:?}") };
    assert_eq!((event.reason, event.new_leaf_id.as_ref()), (MoveReason::Undo, Some(&reply)));
}

/// Two clients receive the same events.
pub async fn two_clients_receive_the_same_events(fixture: &dyn ClientFixture) {
    let (one, other) = (fixture.connect().await, fixture.connect().await);
    let (mut first, mut second) = (attach(&one, None).await, attach(&other, None).await);
    fixture.engine().push_turn(ScriptedTurn::reply("Hello to both."));
    one.send(ClientCommand::prompt("Hi")).await.expect("the prompt is stored");
    assert_eq!(until(&mut first, is_end).await, until(&mut second, is_end).await);
}

/// A turn goes on when the client that started it is gone.
pub async fn a_client_that_vanishes_disturbs_nobody(fixture: &dyn ClientFixture) {
    let staying = fixture.connect().await;
    let mut events = attach(&staying, None).await;
    fixture.engine().push_turn(ScriptedTurn::reply("Still here."));
    let leaving = fixture.connect().await;
    let stream = attach(&leaving, None).await;
    leaving.send(ClientCommand::prompt("Hi")).await.expect("the prompt is stored");
    drop((leaving, stream));
    let received = until(&mut events, is_end).await;
    assert!(
        matches!(received.last(), Some(ClientEvent::TurnEnded { finished: Some(TurnOutcome::Done), .. })),
        "{received:?}"
    );
}

/// A turn goes on when all clients are gone, and a later client finds it.
pub async fn a_turn_goes_on_when_all_clients_are_gone(fixture: &dyn ClientFixture) {
    let leaving = fixture.connect().await;
    let mut events = attach(&leaving, None).await;
    fixture.engine().push_turn(ScriptedTurn::reply("Nobody listens").hang());
    leaving.send(ClientCommand::prompt("Hi")).await.expect("the prompt is stored");
    until(&mut events, |event| matches!(event, ClientEvent::DraftDelta { .. })).await;
    drop((leaving, events));
    let client = fixture.connect().await;
    let attached = client.attach(None).await.expect("attaching works");
    assert!(attached.state.turn_running, "{:?}", attached.state);
    assert_eq!(attached.state.drafts.len(), 1);
    client.send(ClientCommand::Cancel).await.expect("the turn stops");
    assert_eq!(path_length(&client).await, 2);
}

/// A session that closed because its last client left is there again for the next one.
pub async fn a_session_without_clients_can_be_opened_again(fixture: &dyn ClientFixture) {
    let leaving = fixture.connect().await;
    fixture.engine().push_turn(ScriptedTurn::reply("Hello."));
    run_turn(&leaving, "Hi").await;
    drop(leaving);
    let client = fixture.connect().await;
    assert_eq!(path_length(&client).await, 2);
    fixture.engine().push_turn(ScriptedTurn::reply("Hello again."));
    run_turn(&client, "Hi again").await;
    assert_eq!(path_length(&client).await, 4);
}

/// Each query has its answer, and the answers agree.
pub async fn queries_describe_the_session(fixture: &dyn ClientFixture) {
    let client = fixture.connect().await;
    fixture.engine().push_turn(ScriptedTurn::reply("Hello.").usage(10, 5));
    run_turn(&client, "Hi").await;
    let path = client.path(Some(1)).await.expect("the path");
    assert_eq!((path.entries.len(), path.hidden_entries, path.unfinished_turn), (1, 3, false));
    let leaf = path.leaf_id.clone().expect("a leaf");
    assert_eq!(client.entry(leaf.clone()).await.expect("the reply").text, "Hello.");
    let landmark = client.landmark(Some(leaf.clone())).await.expect("a landmark");
    assert_eq!((landmark.kind, landmark.text.as_str()), (LandmarkKind::Reply, "Hello."));
    let tree = client.tree().await.expect("the tree");
    assert_eq!(tree.leaf.map(|seq| tree.id(seq)), Some(leaf));
    let status = client.status().await.expect("the status");
    assert_eq!((status.tips, status.has_messages, status.name.as_deref()), (1, true, None));
    assert_eq!(client.card().await.expect("the card").id, status.id.as_str());
    assert_eq!(client.usage().await.expect("the usage").session.total_tokens, 15);
    assert_eq!(client.fork_points(false).await.expect("the messages")[0].text, "Hi");
    assert!(client.models().await.expect("the models").contains(&"offline/offline".to_owned()));
    assert!(client.commands().await.expect("the commands").iter().any(|command| command.name == "init"));
    client.files(10).await.expect("the files");
    client.sandbox().await.expect("the sandbox");
    client.send(ClientCommand::Rename { name: "greeting".to_owned() }).await.expect("it has a name");
    assert_eq!(client.status().await.expect("the status").name.as_deref(), Some("greeting"));
    let set = [("summary".to_owned(), json!("short"))].into_iter().collect();
    client.send(ClientCommand::SetConfig { set, unset: Vec::new() }).await.expect("a setting changes");
    assert_eq!(client.settings().await.expect("the settings")["summary"], "short");
}

/// All entries in the order of the log, those after one of them, and the messages that the model gets.
pub async fn entries_and_messages_are_read_in_order(fixture: &dyn ClientFixture) {
    let client = fixture.connect().await;
    fixture.engine().push_turn(ScriptedTurn::reply("Hello."));
    run_turn(&client, "Hi").await;
    let all = client.entries(None).await.expect("the entries");
    let ids: Vec<_> = all.entries.iter().map(|entry| entry.view().expect("an entry").id.clone()).collect();
    assert_eq!(ids.last(), all.leaf_id.as_ref());
    let last = client.entries(Some(ids[ids.len() - 2].clone())).await.expect("the entries after one");
    assert_eq!(last.entries, all.entries[ids.len() - 1..]);
    let unknown = client.entries(Some("nowhere".into())).await.expect_err("no such entry");
    assert_eq!(unknown.code, ErrorCode::EntryNotFound);
    let messages = client.context().await.expect("the messages");
    assert_eq!(messages.last().expect("the reply")["content"][0]["text"], "Hello.");
    let models = client.model_details().await.expect("the models");
    let status = client.status().await.expect("the status");
    assert_eq!(format!("{}/{}", models.current.provider, models.current.id), status.model);
    assert!(models.usable.iter().any(|model| model.id == "offline"));
}

/// A shell command of the user is stopped, and the turn next to it goes on.
pub async fn a_shell_command_is_stopped_alone(fixture: &dyn ClientFixture) {
    let client = fixture.connect().await;
    let mut events = attach(&client, None).await;
    fixture.engine().push_turn(ScriptedTurn::new().text("Hel").hang());
    client.send(ClientCommand::prompt("Hi")).await.expect("the prompt is stored");
    let shell = UserCommand { command: "echo started; sleep 600".to_owned(), exclude_from_context: false };
    let runner = client.clone();
    let ran = tokio::spawn(async move { runner.send(ClientCommand::RunShell(shell)).await });
    until(&mut events, |event| matches!(event, ClientEvent::BashOutput { .. })).await;
    client.send(ClientCommand::StopShell).await.expect("the command is stopped");
    assert!(matches!(ran.await, Ok(Ok(CommandReply::Ran { .. }))));
    let state = client.attach(None).await.expect("attaching works").state;
    assert!(state.turn_running, "the turn goes on");
    client.send(ClientCommand::Cancel).await.expect("the turn is canceled");
}

/// Labels and deleted branches are part of the tree.
pub async fn a_tree_shows_labels_and_deleted_branches(fixture: &dyn ClientFixture) {
    let client = fixture.connect().await;
    fixture.engine().push_turn(ScriptedTurn::reply("Hello."));
    run_turn(&client, "Hi").await;
    let prompt = client.fork_points(false).await.expect("the messages").remove(0).id;
    let label = ClientCommand::Label { entry: Some(prompt.clone()), label: Some("start".to_owned()) };
    client.send(label).await.expect("a label is stored");
    let tree = client.tree().await.expect("the tree").tree;
    let seq = tree.find(&prompt).expect("the prompt");
    assert_eq!(tree.label(seq).map(|label| label.text.as_str()), Some("start"));
    client.send(ClientCommand::DeleteBranch { entry: prompt.clone() }).await.expect("the branch is deleted");
    assert!(client.tree().await.expect("the tree").tree.is_hidden(seq));
    client.send(ClientCommand::RestoreBranch { entry: prompt }).await.expect("the branch is restored");
    assert!(!client.tree().await.expect("the tree").tree.is_hidden(seq));
}

/// Errors have a code and facts.
pub async fn errors_have_a_code(fixture: &dyn ClientFixture) {
    let client = fixture.connect().await;
    let unknown =
        client.query(SessionQuery::Entry { id: "nowhere".into() }).await.expect_err("no such entry");
    assert_eq!(unknown.code, ErrorCode::EntryNotFound);
    let empty = client.send(ClientCommand::prompt("  ")).await.expect_err("it is empty");
    assert_eq!(empty.code, ErrorCode::Empty);
}

/// A message of an extension is stored as such; whether it starts a turn is the client's choice.
pub async fn a_message_of_an_extension_is_stored_or_answered(fixture: &dyn ClientFixture) {
    let client = fixture.connect().await;
    let message =
        CustomMessage { details: Some(json!({ "run": 7 })), ..CustomMessage::text("ci", "the build is red") };
    let prompt = |when| ClientCommand::timed_prompt(Prompt::custom(message.clone()), when);
    let stored = client.send(prompt(PromptTiming::NoTurn)).await.expect("it is stored");
    let CommandReply::Stored { entry } = stored else { panic!("{stored:?}") };
    assert_eq!(path_length(&client).await, 1);
    fixture.engine().push_turn(ScriptedTurn::reply("I will look."));
    let mut events = attach(&client, None).await;
    let started = client.send(prompt(PromptTiming::Now)).await.expect("a turn starts");
    assert!(matches!(&started, CommandReply::Started { entry: other } if *other != entry), "{started:?}");
    let received = until(&mut events, is_end).await;
    let lines: Vec<_> = entries(&received).iter().map(|entry| entry.entry.bytes().to_vec()).collect();
    let is_custom = |line: &Vec<u8>| {
        let entry: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
        entry["type"] == "custom_message" && entry["customType"] == "ci" && entry["details"]["run"] == 7
    };
    assert_eq!(lines.iter().filter(|line| is_custom(line)).count(), 1);
    let from_hook: Vec<bool> = entries(&received).iter().map(|entry| entry.is_hook_message).collect();
    assert_eq!(from_hook.iter().filter(|from_hook| **from_hook).count(), 1, "clients see who wrote it");
    let ready = json!({ "type": "prompt", "message": { "role": "user", "content": "as it is" } });
    let ready: ClientCommand = serde_json::from_value(ready).expect("a ready message is a prompt");
    fixture.engine().push_turn(ScriptedTurn::reply("Thanks."));
    let mut events = attach(&client, None).await;
    client.send(ready).await.expect("the prompt is stored");
    until(&mut events, is_end).await;
    assert_eq!(fixture.engine().last_request().messages.len(), 4);
}
