//! A connection that is lost is made again: no entry is missing or repeated, and nothing is sent twice.

use std::time::Duration;

use futures_util::StreamExt;
use osier_model::scripted::ScriptedTurn;
use osier_protocol::{
    ClientCommand, ClientEvent, EngineClient, EngineRequest, ErrorCode, Prompt, PromptTiming, SessionQuery,
};
use osier_wire::LinkStatus;
use proptest::prelude::*;
use serde_json::json;

use crate::bad_connection::talk_over_a_bad_connection;
use crate::support::{PipeServer, open};

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

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn cuts_at_random_bytes_lose_and_repeat_nothing(cuts in proptest::collection::vec(1_usize..3000, 1..5)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = PipeServer::start().await;
            let engine = server.remote().await;
            let talk = talk_over_a_bad_connection(&*server, &engine, cuts);
            tokio::time::timeout(Duration::from_secs(120), talk).await.unwrap();
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_that_wait_for_a_connection_keep_their_order() {
    let server = PipeServer::start().await;
    let engine = server.remote().await;
    let client = open(&engine).await;
    server.set_down(true);
    server.cut();
    while engine.status() == LinkStatus::Connected {
        tokio::task::yield_now().await;
    }
    let texts: Vec<String> = (0..60).map(|number| format!("number {number}")).collect();
    let mut sending = Vec::new();
    for text in &texts {
        let (client, prompt) = (client.clone(), Prompt::text(text));
        let mut send = Box::pin(async move {
            client.send(ClientCommand::timed_prompt(prompt, PromptTiming::SteerLater)).await
        });
        // Each begins to wait before the next one.
        assert!(futures_util::poll!(&mut send).is_pending());
        sending.push(tokio::spawn(send));
    }
    server.set_down(false);
    for sent in sending {
        sent.await.unwrap().unwrap();
    }
    let queue = client.attach(None).await.unwrap().state.queue.steering;
    assert_eq!(queue.iter().map(|prompt| prompt.text.clone()).collect::<Vec<_>>(), texts);
}
