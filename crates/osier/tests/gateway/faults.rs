//! A gateway that is killed and started again: nothing that was acknowledged is lost, and nothing is repeated.

use std::sync::Arc;
use std::time::Duration;

use osier_engine::FollowedEvents;
use osier_protocol::{Client, ClientCommand, ClientEvent, EngineClient, ErrorCode, OpenRequest, TurnOutcome};
use osier_wire::{RemoteEngine, RemoteOptions, WebSocketConnector};

use crate::server::TestGateway;

/// The events up to the end of the turn, which may run and end before the client is attached again. Each entry must follow
/// the one before it.
async fn follow_turn(events: &mut FollowedEvents, next: &mut usize) {
    loop {
        match events.next().await {
            Ok(ClientEvent::Entry(entry)) => {
                assert_eq!(entry.seq, *next);
                *next += 1;
            }
            Ok(ClientEvent::TurnEnded { finished, error }) => {
                assert_eq!(finished, Some(TurnOutcome::Done), "{error:?}");
                return;
            }
            Ok(_) => {}
            Err(error) => assert_eq!(error.code, ErrorCode::ConnectionLost, "{error}"),
        }
    }
}

/// Sends a prompt. A connection that was just lost refuses it without sending it.
async fn send_prompt(client: &dyn Client, text: &str) {
    loop {
        match client.send(ClientCommand::prompt(text)).await {
            Ok(_) => return,
            Err(error) => {
                assert_eq!(error.code, ErrorCode::ConnectionLost, "{error}");
                assert_eq!(error.facts["sent"], false, "the gateway was started before: {error}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_is_killed_and_started_again_loses_and_repeats_nothing() {
    let mut gateway = TestGateway::start();
    let (port, token) = (gateway.port(), gateway.token.clone());
    let connector = Arc::new(WebSocketConnector::new(format!("ws://127.0.0.1:{port}/ws"), Some(token)));
    let delay = Duration::from_millis(20);
    let options = RemoteOptions { first_delay: delay, max_delay: delay, ..RemoteOptions::default() };
    let engine = RemoteEngine::connect(connector, options).await.unwrap();
    let client = engine.open(OpenRequest::default()).await.unwrap().unwrap().client;
    // The session is new: it is stored with its first entry.
    let start = client.attach(None).await.unwrap().state.position;
    let mut events = FollowedEvents::subscribe(client.clone(), start).await.unwrap();
    let mut next = start.entries;
    for text in ["say zero", "say one", "say two", "say three"] {
        send_prompt(&*client, text).await;
        follow_turn(&mut events, &mut next).await;
        // The client notices the loss before it sends the next prompt.
        let mut changes = engine.watch();
        let env = gateway.kill();
        assert!(changes.next().await.is_some());
        gateway = TestGateway::start_on(env, port);
    }
    let points = client.fork_points(false).await.unwrap();
    let mut stored: Vec<&str> = points.iter().map(|point| point.text.as_str()).collect();
    stored.reverse();
    assert_eq!(stored, ["say zero", "say one", "say two", "say three"]);
}
