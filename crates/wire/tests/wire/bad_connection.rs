//! A conversation over a connection that is cut at any byte, whatever carries it.

use futures_util::StreamExt;
use osier_engine::{ContractEngine, FollowedEvents};
use osier_model::scripted::ScriptedTurn;
use osier_protocol::{Client, ClientCommand, ClientEvent, EngineClient, ErrorCode, OpenRequest, TurnOutcome};
use osier_wire::RemoteEngine;

/// A connection that can be cut.
pub(crate) trait BadConnection {
    fn engine(&self) -> &ContractEngine;
    /// Cuts the current connection.
    fn cut(&self);
    /// Cuts each further connection after this many bytes, in both directions together.
    fn cut_after(&self, bytes: Option<usize>);
}

async fn prompts(client: &dyn Client) -> Vec<String> {
    client.fork_points(false).await.unwrap().into_iter().map(|point| point.text).collect()
}

/// Sends prompts over a connection that is cut after some bytes, again and again. Each prompt that was acknowledged is
/// stored once, each that failed at most once, and the entries arrive in order, each once.
pub(crate) async fn talk_over_a_bad_connection(
    connection: &dyn BadConnection,
    engine: &RemoteEngine,
    cuts: Vec<usize>,
) {
    let client = engine.open(OpenRequest::default()).await.unwrap().unwrap().client;
    let start = client.attach(None).await.unwrap().state.position;
    let mut followed = FollowedEvents::subscribe(client.clone(), start).await.unwrap();
    let (mut acknowledged, mut uncertain) = (Vec::new(), Vec::new());
    for (number, bytes) in cuts.into_iter().enumerate() {
        connection.cut_after(Some(bytes));
        connection.cut();
        connection.engine().push_turn(ScriptedTurn::reply(format!("answer {number}")));
        let text = format!("prompt {number}");
        match client.send(ClientCommand::prompt(&text)).await {
            Ok(_) => acknowledged.push(text),
            Err(error) => {
                assert_eq!(error.code, ErrorCode::ConnectionLost, "{error}");
                uncertain.push(text);
            }
        }
        connection.cut_after(None);
        connection.cut();
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
