//! Two gateways on one folder of session files.

use osier_protocol::OpenTarget;
use serde_json::json;

use crate::pair_support::{BusyPair, follow_foreign_entries, follow_foreign_turn, wait_for_text};
use crate::run_support::ModelServer;
use crate::server::TestGateway;
use crate::socket_support;

#[tokio::test]
async fn a_turn_belongs_to_one_gateway_and_both_show_it() {
    let model = ModelServer::new();
    let pair = BusyPair::new(&model, TestGateway::start_in(model.env(), &[]), json!({})).await;
    pair.check_lease().await;
    pair.request.reply("Hello from the first.");
    wait_for_text(&pair.second, &pair.session, "Hello from the first.").await;
    wait_for_text(&pair.first, &pair.session, "Hello from the first.").await;
}

#[tokio::test]
async fn the_turn_of_a_gateway_that_died_is_free() {
    let model = ModelServer::new();
    let pair = BusyPair::new(&model, TestGateway::start_in(model.env(), &[]), json!({})).await;
    let BusyPair { first, second, session, .. } = pair;
    first.kill();
    second.post(&format!("{session}/prompt"), json!({ "text": "are you there?" })).await;
    model.next_request().reply("Yes.");
    wait_for_text(&second, &session, "Yes.").await;
}

#[tokio::test]
async fn a_client_of_one_gateway_sees_what_the_other_stores() {
    let gateway = TestGateway::start();
    let second = gateway.start_beside();
    let (session, _) = gateway.create_with(&["hello"]).await;
    follow_foreign_entries(&gateway, &second, &session).await;
}

#[tokio::test]
async fn a_client_of_one_gateway_gets_the_entries_of_a_turn_of_the_other_but_no_pieces() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let second = gateway.start_beside();
    let (session, _) = gateway.create_with(&["hello"]).await;
    follow_foreign_turn(&model, &gateway, &second, &session).await;
}

/// The prompts that one gateway has queued belong to it. They return to the editor only if it dies.
#[tokio::test]
async fn queued_prompts_are_returned_by_another_gateway_only_after_their_gateway_died() {
    let model = ModelServer::new();
    let pair = BusyPair::new(&model, TestGateway::start_in(model.env(), &[]), json!({})).await;
    let BusyPair { first, second, session, request: _request } = pair;
    first.post(&format!("{session}/prompt"), json!({ "text": "later", "when": "follow_up" })).await;
    let state = format!("{session}/state");
    wait_for_text(&second, &session, "later").await;
    assert_eq!(second.get(&state).await["returnedPrompts"], json!([]), "without an agent");
    let engine = socket_support::connect(&second, &second.token).await;
    let name = session.rsplit('/').next().unwrap().to_owned();
    let client = socket_support::open(&engine, OpenTarget::Named { name }).await.client;
    assert_eq!(client.attach(None).await.unwrap().state.returned_prompts, [], "with an agent");
    first.kill();
    assert_eq!(client.attach(None).await.unwrap().state.returned_prompts[0].text, "later");
    assert_eq!(second.get(&state).await["returnedPrompts"][0]["text"], "later");
}
