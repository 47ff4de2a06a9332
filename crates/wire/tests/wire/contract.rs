//! The contract of clients over pipes and over a WebSocket.

use std::sync::Arc;

use async_trait::async_trait;
use osier_engine::ContractEngine;
use osier_engine::client_contract::ClientFixture;
use osier_protocol::{Client, ClientError, EngineClient};
use osier_wire::{
    Connector, MAX_CLIENT_FRAME, MAX_SERVER_FRAME, RemoteEngine, ServeOptions, Transport, WebSocketConnector,
    serve,
};
use tokio::net::TcpListener;
use tokio::net::unix::pipe;

use crate::support::{PipeServer, open, quick_options};

struct PipeFixture(Arc<PipeServer>);

#[async_trait]
impl ClientFixture for PipeFixture {
    async fn connect(&self) -> Arc<dyn Client> {
        open(&self.0.remote().await).await
    }

    fn engine(&self) -> &ContractEngine {
        &self.0.engine
    }
}

/// Clients that share one connection.
struct SharedPipeFixture {
    server: Arc<PipeServer>,
    engine: RemoteEngine,
}

impl SharedPipeFixture {
    async fn new() -> SharedPipeFixture {
        let server = PipeServer::start().await;
        let engine = server.remote().await;
        SharedPipeFixture { server, engine }
    }
}

#[async_trait]
impl ClientFixture for SharedPipeFixture {
    async fn connect(&self) -> Arc<dyn Client> {
        open(&self.engine).await
    }

    fn engine(&self) -> &ContractEngine {
        &self.server.engine
    }
}

/// Clients over pipes of the operating system, such as those of `osier --mode rpc --protocol osier`.
#[derive(Debug)]
struct OsPipeFixture(Arc<ContractEngine>);

#[async_trait]
impl Connector for OsPipeFixture {
    async fn connect(&self) -> Result<Transport, ClientError> {
        let (to_server, from_client) = pipe::pipe().unwrap();
        let (to_client, from_server) = pipe::pipe().unwrap();
        let served = Transport::lines(from_client, to_client, MAX_CLIENT_FRAME);
        let options = ServeOptions { has_half_close: true, ..ServeOptions::default() };
        tokio::spawn(serve(self.0.clone(), served, options));
        Ok(Transport::lines(from_server, to_server, MAX_SERVER_FRAME))
    }
}

#[async_trait]
impl ClientFixture for OsPipeFixture {
    async fn connect(&self) -> Arc<dyn Client> {
        let connector = Arc::new(OsPipeFixture(self.0.clone()));
        open(&RemoteEngine::connect(connector, quick_options()).await.unwrap()).await
    }

    fn engine(&self) -> &ContractEngine {
        &self.0
    }
}

struct WebSocketFixture {
    engine: Arc<ContractEngine>,
    url: String,
}

impl WebSocketFixture {
    async fn new() -> WebSocketFixture {
        let engine = Arc::new(ContractEngine::new().await);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}/ws", listener.local_addr().unwrap());
        tokio::spawn(accept_sockets(listener, engine.clone()));
        WebSocketFixture { engine, url }
    }
}

async fn accept_sockets(listener: TcpListener, engine: Arc<dyn EngineClient>) {
    while let Ok((stream, _)) = listener.accept().await {
        let engine = engine.clone();
        tokio::spawn(async move {
            let socket = tokio_tungstenite::accept_async(stream).await.unwrap();
            serve(engine, Transport::websocket(socket), ServeOptions::default()).await;
        });
    }
}

#[async_trait]
impl ClientFixture for WebSocketFixture {
    async fn connect(&self) -> Arc<dyn Client> {
        let connector = Arc::new(WebSocketConnector::new(&self.url, None));
        open(&RemoteEngine::connect(connector, quick_options()).await.unwrap()).await
    }

    fn engine(&self) -> &ContractEngine {
        &self.engine
    }
}

mod pipes {
    use super::*;

    osier_engine::client_contract_tests!(PipeFixture(PipeServer::start().await));
}

mod os_pipes {
    use super::*;

    osier_engine::client_contract_tests!(OsPipeFixture(Arc::new(ContractEngine::new().await)));
}

mod one_pipe {
    use super::*;

    osier_engine::client_contract_tests!(SharedPipeFixture::new().await);
}

mod websocket {
    use super::*;

    osier_engine::client_contract_tests!(WebSocketFixture::new().await);
}
