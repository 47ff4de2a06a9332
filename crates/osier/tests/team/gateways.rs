//! Two gateways on one team database.

use serde_json::json;

use crate::commands::add_team_store;
use crate::pair_support::{BusyPair, follow_foreign_entries, follow_foreign_turn, wait_for_text};
use crate::run_support::ModelServer;
use crate::server::{TestGateway, failed, ok};
use crate::support::TestEnv;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_of_one_gateway_sees_what_the_other_stores() {
    let (env, _) = add_team_store(TestEnv::new()).await;
    let first = TestGateway::start_in(env, &[]);
    let second = first.start_beside();
    let created = first.post("/api/sessions", json!({ "store": "team" })).await;
    assert_eq!((&created["provider"], &created["store"]), (&json!("mysql"), &json!("team")));
    let session = format!("/api/sessions/{}", created["id"].as_str().unwrap());
    follow_foreign_entries(&first, &second, &session).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_belongs_to_one_gateway_and_both_show_it() {
    let model = ModelServer::new();
    let (env, _) = add_team_store(model.env()).await;
    let pair = BusyPair::new(&model, TestGateway::start_in(env, &[]), json!({ "store": "team" })).await;
    pair.check_lease().await;
    pair.request.reply("Hello from the first.");
    wait_for_text(&pair.second, &pair.session, "Hello from the first.").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_of_one_gateway_gets_the_entries_of_a_turn_of_the_other_but_no_pieces() {
    let model = ModelServer::new();
    let (env, _) = add_team_store(model.env()).await;
    let first = TestGateway::start_in(env, &[]);
    let second = first.start_beside();
    let created = first.post("/api/sessions", json!({ "store": "team" })).await;
    let session = format!("/api/sessions/{}", created["id"].as_str().unwrap());
    follow_foreign_turn(&model, &first, &second, &session).await;
}

/// Sends a prompt as soon as no other gateway runs a turn.
async fn prompt_when_free(gateway: &TestGateway, session: &str) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    loop {
        let prompt = gateway.request(reqwest::Method::POST, &format!("{session}/prompt"));
        let response = prompt.json(&json!({ "text": "are you there?" })).send().await.unwrap();
        if response.status().is_success() {
            return;
        }
        assert_eq!(failed(response).await, (409, "session_busy".to_owned()));
        assert!(std::time::Instant::now() < deadline, "the lease expires");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_turn_of_a_gateway_that_died_is_free_when_its_lease_expires() {
    let model = ModelServer::new();
    let (env, _) = add_team_store(model.env()).await;
    let config = env.home().join("config.toml");
    let settings = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, settings + "lease = 3\n").unwrap();
    let pair = BusyPair::new(&model, TestGateway::start_in(env, &[]), json!({ "store": "team" })).await;
    let BusyPair { first, second, session, .. } = pair;
    first.kill();
    prompt_when_free(&second, &session).await;
    model.next_request().reply("Yes.");
    wait_for_text(&second, &session, "Yes.").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_of_the_database_is_deleted_whatever_agent_is_named() {
    let (env, _) = add_team_store(TestEnv::new()).await;
    let gateway = TestGateway::start_in(env, &[]);
    let new = json!({ "store": "team", "agentId": "helper" });
    let created = gateway.post("/api/sessions", new).await;
    let session = format!("/api/sessions/{}", created["id"].as_str().unwrap());
    let delete = || gateway.request(reqwest::Method::DELETE, &format!("{session}?agentId=other"));
    let deleted = ok(delete().send().await.unwrap()).await;
    assert_eq!((&deleted["deleted"], &deleted["store"]), (&json!(true), &json!("team")));
    assert_eq!(ok(delete().send().await.unwrap()).await["deleted"], false);
}
