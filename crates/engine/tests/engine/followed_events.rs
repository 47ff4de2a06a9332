//! Following a session: after events were lost, the follower attaches again where it stopped.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use osier_engine::FollowedEvents;
use osier_protocol::client::AttachedState;
use osier_protocol::{
    Attached, Client, ClientCommand, ClientError, ClientEvent, CommandReply, LogPosition, QueryAnswer,
    SessionQuery,
};
use serde_json::json;

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
