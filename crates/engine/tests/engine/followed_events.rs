//! Following a session: after events were lost, the follower attaches again where it stopped.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use osier_engine::{FollowedEvents, KeepWhen};
use osier_model::scripted::ScriptedTurn;
use osier_protocol::client::AttachedState;
use osier_protocol::{
    Attached, Client, ClientCommand, ClientError, ClientEvent, CommandReply, EndedTurn, LogPosition,
    OpenQuestion, OpenReply, Prompt, PromptQueue, QueryAnswer, Question, ReplyDelta, SessionQuery,
    TurnOutcome,
};
use serde_json::json;

use crate::support::TestEngine;

/// A client whose attachments are prepared, and which records where they start.
#[derive(Debug, Default)]
struct PreparedClient {
    attachments: Mutex<VecDeque<(AttachedState, Vec<ClientEvent>)>>,
    positions: Mutex<Vec<LogPosition>>,
}

#[async_trait]
impl Client for PreparedClient {
    async fn send(&self, _: ClientCommand) -> Result<CommandReply, ClientError> {
        panic!("a follower only attaches")
    }

    async fn query(&self, _: SessionQuery) -> Result<QueryAnswer, ClientError> {
        panic!("a follower only attaches")
    }

    async fn attach(&self, after: Option<LogPosition>) -> Result<Attached, ClientError> {
        self.positions.lock().unwrap().extend(after);
        let (state, events) = self.attachments.lock().unwrap().pop_front().unwrap();
        Ok(Attached { state, events: stream::iter(events).boxed() })
    }
}

const LAGGED: ClientEvent = ClientEvent::Lagged { missed: 1 };

fn position(generation: u64, entries: usize) -> LogPosition {
    LogPosition { generation, entries }
}

fn entry(seq: usize) -> ClientEvent {
    let line = json!({ "type": "message", "id": "a", "parentId": null, "timestamp": "2026-01-01T00:00:00.000Z",
        "message": { "role": "user", "content": "hello" } });
    let event =
        json!({ "type": "entry", "seq": seq, "id": "a", "draftId": null, "foreign": false, "entry": line });
    serde_json::from_value(event).unwrap()
}

async fn follow(
    from: LogPosition,
    attachments: Vec<(AttachedState, Vec<ClientEvent>)>,
) -> (FollowedEvents, Arc<PreparedClient>) {
    let client =
        Arc::new(PreparedClient { attachments: Mutex::new(attachments.into()), ..Default::default() });
    (FollowedEvents::subscribe(client.clone(), from).await.unwrap(), client)
}

#[tokio::test]
async fn a_log_that_was_replaced_unnoticed_is_reported_before_its_entries() {
    let running = AttachedState { position: position(1, 2), turn_running: true, ..Default::default() };
    let replaced = AttachedState { position: position(2, 1), reset: true, ..Default::default() };
    let (mut events, _) =
        follow(position(1, 2), vec![(running, vec![LAGGED]), (replaced, vec![entry(0)])]).await;
    assert_eq!(events.next().await.unwrap(), LAGGED);
    assert_eq!(events.next().await.unwrap(), ClientEvent::Reset(position(2, 1)));
    assert_eq!(events.next().await.unwrap(), entry(0));
    assert!(matches!(events.next().await.unwrap(), ClientEvent::TurnEnded { .. }), "after all entries");
}

#[tokio::test]
async fn entries_that_were_missed_twice_arrive() {
    let state = AttachedState { position: position(1, 5), ..Default::default() };
    let (mut events, client) =
        follow(position(1, 2), vec![(state.clone(), vec![LAGGED]), (state, vec![entry(2)])]).await;
    assert_eq!(events.next().await.unwrap(), LAGGED);
    assert_eq!(events.next().await.unwrap(), entry(2));
    assert_eq!(*client.positions.lock().unwrap(), [position(1, 2); 2]);
}

/// A new session is kept in memory until something is said. Its first entry must not look like another log.
#[tokio::test]
async fn a_client_of_a_new_session_continues_after_its_first_prompt() {
    let test = TestEngine::new();
    let live = test.create(KeepWhen::Used).await;
    let client = test.engine.connect(&live, &test.agent()).await.unwrap();
    let before = client.attach(None).await.unwrap();
    let position = before.state.position;
    test.push_turn(ScriptedTurn::reply("Hello."));
    client.send(ClientCommand::prompt("Hi")).await.unwrap();
    let mut events = before.events;
    while !matches!(events.next().await, Some(ClientEvent::TurnEnded { .. })) {}
    let after = client.attach(Some(position)).await.unwrap();
    assert_ne!(after.state.position.generation, position.generation, "the log is in a file now");
    assert!(!after.state.reset);
    let mut events = after.events;
    let Some(ClientEvent::Entry(entry)) = events.next().await else { panic!("an entry") };
    assert_eq!(entry.seq, position.entries);
}

fn state(entries: usize, turn_running: bool) -> AttachedState {
    AttachedState { position: position(1, entries), turn_running, ..Default::default() }
}

fn question(id: u64) -> OpenQuestion {
    OpenQuestion { id, question: Question::Continue { model_calls: 9 }, agent: None }
}

fn delta(index: usize) -> ClientEvent {
    let delta = Arc::new(ReplyDelta::TextDelta { block: 0, delta: index.to_string() });
    ClientEvent::DraftDelta { id: "d".into(), index, delta }
}

/// The events until the prepared ones end.
async fn all(mut events: FollowedEvents) -> Vec<ClientEvent> {
    let mut all = Vec::new();
    while let Ok(event) = events.next().await {
        all.push(event);
    }
    all
}

#[tokio::test]
async fn a_turn_that_started_unnoticed_is_announced_before_its_entries() {
    let attachments = vec![(state(2, false), vec![LAGGED]), (state(3, true), vec![entry(2)])];
    let (events, _) = follow(position(1, 2), attachments).await;
    assert_eq!(all(events).await, [LAGGED, ClientEvent::TurnStarted, entry(2)]);
}

#[tokio::test]
async fn a_turn_that_ran_unnoticed_is_announced_around_its_entries() {
    let turn = |revision| {
        let error = Some("no credit".to_owned());
        Some(EndedTurn { revision, finished: Some(TurnOutcome::Failed), error })
    };
    let known = AttachedState { last_turn: turn(2), ..state(2, false) };
    let later = AttachedState { last_turn: turn(4), ..state(5, false) };
    let attachments = vec![
        (known.clone(), vec![LAGGED]),
        (known, vec![LAGGED]),
        (later, vec![entry(2), entry(3), entry(4)]),
    ];
    let (events, _) = follow(position(1, 2), attachments).await;
    let ended =
        ClientEvent::TurnEnded { finished: Some(TurnOutcome::Failed), error: Some("no credit".to_owned()) };
    let expected = [LAGGED, LAGGED, ClientEvent::TurnStarted, entry(2), entry(3), entry(4), ended];
    assert_eq!(all(events).await, expected);
}

/// A client that attaches again learns what runs, and nothing of it twice.
#[tokio::test]
async fn a_tool_that_started_unnoticed_is_announced_with_its_output() {
    let started = |call: &str| ClientEvent::ToolStarted {
        call: call.to_owned(),
        name: "bash".to_owned(),
        arguments: json!({}),
    };
    let output = |call: &str, text: &str| ClientEvent::ToolOutput {
        call: call.to_owned(),
        text: text.to_owned(),
        skipped: 0,
    };
    let first = AttachedState { running: vec![started("a"), output("a", "one ")], ..state(2, true) };
    let running = vec![started("a"), output("a", "one two three"), started("b"), output("b", "four")];
    let second = AttachedState { running, ..state(2, true) };
    let attachments = vec![(first, vec![output("a", "two "), LAGGED]), (second, vec![])];
    let (events, _) = follow(position(1, 2), attachments).await;
    let expected = [output("a", "two "), LAGGED, output("a", "three"), started("b"), output("b", "four")];
    assert_eq!(all(events).await, expected);
}

#[tokio::test]
async fn an_open_question_is_asked_once_and_a_closed_one_is_withdrawn() {
    let asked = |id| ClientEvent::Asked { id, question: Box::new(question(id).question), agent: None };
    let first = AttachedState { open_questions: vec![question(1)], ..state(2, true) };
    let second = AttachedState { open_questions: vec![question(2), question(3)], ..state(3, true) };
    let attachments =
        vec![(first, vec![asked(2), LAGGED]), (second.clone(), vec![entry(2), LAGGED]), (second, vec![])];
    let (events, _) = follow(position(1, 2), attachments).await;
    let withdrawn = ClientEvent::Answered { id: 1, allowed: false };
    assert_eq!(all(events).await, [asked(2), LAGGED, entry(2), withdrawn, asked(3), LAGGED]);
}

#[tokio::test]
async fn a_reply_goes_on_where_its_pieces_were_lost() {
    let deltas = |count: usize| {
        let text = |index: usize| ReplyDelta::TextDelta { block: 0, delta: index.to_string() };
        vec![OpenReply { id: "d".into(), off_path: false, deltas: (0..count).map(text).collect() }]
    };
    let begun = ClientEvent::DraftStarted { id: "d".into(), off_path: false };
    let second = AttachedState { drafts: deltas(3), ..state(2, true) };
    let third = state(2, true);
    let attachments = vec![
        (state(2, true), vec![begun.clone(), delta(0), LAGGED]),
        (second, vec![delta(3), LAGGED]),
        (third, vec![]),
    ];
    let (events, _) = follow(position(1, 2), attachments).await;
    let dropped = ClientEvent::DraftDropped { id: "d".into() };
    let expected = [begun, delta(0), LAGGED, delta(1), delta(2), delta(3), LAGGED, dropped];
    assert_eq!(all(events).await, expected);
}

#[tokio::test]
async fn a_queue_that_changed_unnoticed_is_announced() {
    let queue = PromptQueue { steering: vec![Prompt::text("later")], ..Default::default() };
    let second = AttachedState { queue, ..state(2, true) };
    let attachments = vec![(state(2, true), vec![LAGGED]), (second.clone(), vec![LAGGED]), (second, vec![])];
    let (events, _) = follow(position(1, 2), attachments).await;
    let queue = ClientEvent::Queue { steering: vec!["later".to_owned()], follow_up: Vec::new() };
    assert_eq!(all(events).await, [LAGGED, queue, LAGGED]);
}
