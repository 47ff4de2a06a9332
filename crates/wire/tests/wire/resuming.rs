//! A connection that is lost is made again: no entry is missing or repeated, and nothing is sent twice.

use std::time::Duration;

use futures_util::StreamExt;
use osier_engine::FollowedEvents;
use osier_model::scripted::ScriptedTurn;
use osier_protocol::{
    Client, ClientCommand, ClientEvent, EngineClient, EngineRequest, ErrorCode, SessionQuery, TurnOutcome,
};
use osier_wire::LinkStatus;
use proptest::prelude::*;
use serde_json::json;

use crate::support::{PipeServer, open};

/// The number of user messages on the path.
async fn prompts(client: &dyn Client) -> Vec<String> {
    client.fork_points(false).await.unwrap().into_iter().map(|point| point.text).collect()
}

#[tokio::test]
async fn a_stream_ends_with_lagged_and_a_new_attachment_misses_no_entry() {
    let server = PipeServer::start().await;
    let engine = server.remote().await;
    let client = open(&engine).await;
    let attached = client.attach(None).await.unwrap();
    let (position, mut events) = (attached.state.position, attached.events);
    server.cut();
    assert!(matches!(events.next().await, Some(ClientEvent::Lagged { .. })));
    assert_eq!(events.next().await, None);
    server.engine.push_turn(ScriptedTurn::reply("Hello."));
    client.send(ClientCommand::prompt("Hi")).await.unwrap();
    let mut events = client.attach(Some(position)).await.unwrap().events;
    let mut seqs = Vec::new();
    while seqs.len() < 2 {
        if let Some(ClientEvent::Entry(entry)) = events.next().await {
            seqs.push(entry.seq);
        }
    }
    assert_eq!(seqs, [position.entries, position.entries + 1]);
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn a_command_in_flight_fails_and_is_not_sent_again() {
    let server = PipeServer::start().await;
    let engine = server.remote().await;
    let client = open(&engine).await;
    // The reply comes when the shell command has ended, which it does not.
    let shell: ClientCommand =
        serde_json::from_value(json!({ "type": "run_shell", "command": "sleep 1000" })).unwrap();
    let mut events = client.attach(None).await.unwrap().events;
    let (sending, other) = (client.clone(), open(&engine).await);
    let sent = tokio::spawn(async move { sending.send(shell).await });
    // The command has arrived as soon as a later one has been answered.
    tokio::task::yield_now().await;
    other.send(ClientCommand::Rename { name: "busy".to_owned() }).await.unwrap();
    server.cut();
    let error = sent.await.unwrap().unwrap_err();
    assert_eq!((error.code, &error.facts["sent"]), (ErrorCode::ConnectionLost, &json!(true)));
    while events.next().await.is_some() {}
    // The command still runs at the engine, once.
    client.send(ClientCommand::Cancel).await.unwrap();
    let path = client.path(None).await.unwrap();
    let ran = path.entries.iter().filter(|entry| format!("{entry:?}").contains("sleep 1000")).count();
    assert_eq!(ran, 1);
}

#[tokio::test]
async fn a_turn_goes_on_while_its_client_is_away() {
    let server = PipeServer::start().await;
    let engine = server.remote().await;
    let client = open(&engine).await;
    server.engine.push_turn(ScriptedTurn::reply("thinking").hang());
    let mut events = client.attach(None).await.unwrap().events;
    client.send(ClientCommand::prompt("go")).await.unwrap();
    while !matches!(events.next().await, Some(ClientEvent::DraftDelta { .. })) {}
    server.cut();
    let attached = client.attach(None).await;
    let attached = match attached {
        // The request may have been sent into the connection that was being cut.
        Err(error) if error.code == ErrorCode::ConnectionLost => client.attach(None).await.unwrap(),
        attached => attached.unwrap(),
    };
    assert!(attached.state.turn_running);
    assert_eq!(attached.state.drafts.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn requests_wait_for_the_connection_but_not_forever() {
    let server = PipeServer::start().await;
    let engine = server.remote().await;
    let mut changes = engine.watch();
    server.set_down(true);
    server.cut();
    let lost = changes.next().await.unwrap();
    assert!(matches!(lost, LinkStatus::Reconnecting { .. }), "{lost:?}");
    let error = engine.call(EngineRequest::Describe).await.unwrap_err();
    assert_eq!((error.code, &error.facts["sent"]), (ErrorCode::ConnectionLost, &json!(false)));
    let waiting = tokio::spawn({
        let engine = engine.clone();
        async move { engine.call(EngineRequest::Describe).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    server.set_down(false);
    waiting.await.unwrap().unwrap();
    assert_eq!(engine.status(), LinkStatus::Connected);
}

/// Sends prompts over a connection that is cut after some bytes, again and again. Each prompt that was acknowledged is
/// stored once, each that failed at most once, and the entries arrive in order, each once.
async fn talk_over_a_bad_connection(cuts: Vec<usize>) {
    let server = PipeServer::start().await;
    let engine = server.remote().await;
    let client = open(&engine).await;
    let start = client.attach(None).await.unwrap().state.position;
    let mut followed = FollowedEvents::subscribe(client.clone(), start).await.unwrap();
    let (mut acknowledged, mut uncertain) = (Vec::new(), Vec::new());
    for (number, bytes) in cuts.into_iter().enumerate() {
        server.cut_after(Some(bytes));
        server.cut();
        server.engine.push_turn(ScriptedTurn::reply(format!("answer {number}")));
        let text = format!("prompt {number}");
        match client.send(ClientCommand::prompt(&text)).await {
            Ok(_) => acknowledged.push(text),
            Err(error) => {
                assert_eq!(error.code, ErrorCode::ConnectionLost, "{error}");
                uncertain.push(text);
            }
        }
        server.cut_after(None);
        server.cut();
        wait_until_idle(&*client).await;
    }
    let stored = prompts(&*client).await;
    for text in &acknowledged {
        assert_eq!(stored.iter().filter(|stored| *stored == text).count(), 1, "{text}: {stored:?}");
    }
    for text in &uncertain {
        assert!(stored.iter().filter(|stored| *stored == text).count() <= 1, "{text}: {stored:?}");
    }
    let end = client.path(None).await.unwrap().position.entries;
    let mut next = start.entries;
    while next < end {
        match followed.next().await {
            Ok(ClientEvent::Entry(entry)) => {
                assert_eq!(entry.seq, next);
                next += 1;
            }
            Ok(_) => {}
            Err(error) => assert_eq!(error.code, ErrorCode::ConnectionLost, "{error}"),
        }
    }
}

async fn wait_until_idle(client: &dyn Client) {
    loop {
        match client.attach(None).await {
            Ok(attached) if !attached.state.turn_running => return,
            Ok(mut attached) => while attached.events.next().await.is_some_and(|event| !is_end(&event)) {},
            Err(error) => assert_eq!(error.code, ErrorCode::ConnectionLost, "{error}"),
        }
    }
}

fn is_end(event: &ClientEvent) -> bool {
    matches!(event, ClientEvent::TurnEnded { finished: Some(TurnOutcome::Done), .. })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn cuts_at_random_bytes_lose_and_repeat_nothing(cuts in proptest::collection::vec(1_usize..3000, 1..5)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            tokio::time::timeout(Duration::from_secs(120), talk_over_a_bad_connection(cuts)).await.unwrap();
        });
    }
}

#[tokio::test]
async fn a_session_without_messages_survives_a_lost_connection() {
    let server = PipeServer::start().await;
    let engine = server.remote().await;
    let client = open(&engine).await;
    server.cut();
    loop {
        match client.query(SessionQuery::Status).await {
            Ok(_) => break,
            Err(error) => assert_eq!(error.code, ErrorCode::ConnectionLost),
        }
    }
}
