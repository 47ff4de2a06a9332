//! The contract of clients over real WebSockets of a gateway.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::Arc;

use async_trait::async_trait;
use osier_engine::client_contract::ClientFixture;
use osier_engine::{AllowedDirectories, ContractEngine};
use osier_gateway::{Gateway, GatewayConfig, GatewayToken, HostRules, Limits, Server, TokenFile};
use osier_protocol::{Client, EngineClient, OpenRequest};
use osier_wire::{RemoteEngine, RemoteOptions, WebSocketConnector};
use tokio::task::JoinHandle;

struct GatewayFixture {
    engine: Arc<ContractEngine>,
    connector: Arc<WebSocketConnector>,
    running: JoinHandle<()>,
    _folder: tempfile::TempDir,
}

impl GatewayFixture {
    async fn new() -> GatewayFixture {
        let (engine, folder) = (Arc::new(ContractEngine::new().await), tempfile::tempdir().unwrap());
        let token = GatewayToken::load_or_create(&folder.path().join("token")).unwrap();
        let server = Server::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
        let address = server.address().unwrap();
        let gateway = Gateway::new(GatewayConfig {
            engine: engine.engine.clone(),
            client: engine.clone(),
            token: TokenFile::open(&folder.path().join("token")).unwrap(),
            hosts: HostRules::default(),
            directories: AllowedDirectories::only(&[folder.path().to_owned()]),
            default_directory: folder.path().to_owned(),
            used_links: folder.path().join("links"),
            default_store: "file".to_owned(),
            port: address.port(),
            is_secure: false,
            limits: Limits::default(),
            web_files: None,
        });
        let running = tokio::spawn(server.run(Arc::new(gateway), std::future::pending()));
        let token = Some(token.reveal().to_owned());
        let connector = Arc::new(WebSocketConnector::new(format!("ws://{address}/ws"), token));
        GatewayFixture { engine, connector, running, _folder: folder }
    }
}

impl Drop for GatewayFixture {
    fn drop(&mut self) {
        self.running.abort();
    }
}

#[async_trait]
impl ClientFixture for GatewayFixture {
    async fn connect(&self) -> Arc<dyn Client> {
        let engine = RemoteEngine::connect(self.connector.clone(), RemoteOptions::default()).await.unwrap();
        engine.open(OpenRequest::default()).await.unwrap().unwrap().client
    }

    fn engine(&self) -> &ContractEngine {
        &self.engine
    }
}

osier_engine::client_contract_tests!(GatewayFixture::new().await);
