//! The WebSocket: the same engine, with the same access.

use std::sync::Arc;

use osier_protocol::{
    ClientCommand, EngineClient, EngineReply, EngineRequest, ErrorCode, OpenRequest, OpenTarget,
};
use osier_wire::{RemoteEngine, RemoteOptions, WebSocketConnector};

use crate::server::TestGateway;

async fn connect(gateway: &TestGateway, token: &str) -> Result<RemoteEngine, ErrorCode> {
    let url = gateway.url.replace("http:", "ws:") + "/ws";
    let connector = Arc::new(WebSocketConnector::new(url, Some(token.to_owned())));
    RemoteEngine::connect(connector, RemoteOptions::default()).await.map_err(|error| error.code)
}

#[tokio::test]
async fn a_client_opens_a_session_and_sends_commands() {
    let gateway = TestGateway::start();
    let (session, ids) = gateway.create_with(&["one"]).await;
    let engine = connect(&gateway, &gateway.token).await.unwrap();
    let described = engine.call(EngineRequest::Describe).await.unwrap();
    assert!(matches!(described, EngineReply::Description(_)), "{described:?}");
    let name = session.rsplit('/').next().unwrap().to_owned();
    let request = OpenRequest { target: OpenTarget::Named { name }, leaving: None };
    let opened = engine.open(request).await.unwrap().unwrap();
    let label = ClientCommand::Label { entry: Some(ids[0].as_str().into()), label: Some("good".to_owned()) };
    opened.client.send(label).await.unwrap();
    let tree = opened.client.tree().await.unwrap();
    let one = tree.tree.find(&ids[0]).unwrap();
    assert_eq!(tree.tree.label(one).map(|label| label.text.as_str()), Some("good"));
}

#[tokio::test]
async fn only_the_token_of_the_gateway_opens_it() {
    let gateway = TestGateway::start();
    assert_eq!(connect(&gateway, "wrong").await.unwrap_err(), ErrorCode::Unauthorized);
    let (session, _) = gateway.create_with(&["one"]).await;
    let id = session.rsplit('/').next().unwrap();
    let token = gateway.env.args(&["token", "create", id]).out;
    assert_eq!(connect(&gateway, token.trim()).await.unwrap_err(), ErrorCode::Usage);
}
