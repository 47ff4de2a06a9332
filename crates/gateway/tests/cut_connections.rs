//! WebSockets over real sockets that are cut at random bytes: nothing that was acknowledged is lost, and nothing is repeated.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "../../wire/tests/wire/bad_connection.rs"]
mod bad_connection;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use osier_engine::{AllowedDirectories, ContractEngine};
use osier_gateway::{Gateway, GatewayConfig, GatewayToken, HostRules, Limits, Server, TokenFile};
use osier_wire::{RemoteEngine, RemoteOptions, WebSocketConnector};
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use self::bad_connection::{BadConnection, talk_over_a_bad_connection};

/// A gateway behind a proxy that cuts connections.
struct CutGateway {
    engine: Arc<ContractEngine>,
    token: String,
    proxy: SocketAddr,
    state: Mutex<ProxyState>,
    stop: CancellationToken,
    _folder: tempfile::TempDir,
}

#[derive(Default)]
struct ProxyState {
    cut: CancellationToken,
    budget: Option<usize>,
}

impl Drop for CutGateway {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl CutGateway {
    async fn start() -> Arc<CutGateway> {
        let (engine, folder) = (Arc::new(ContractEngine::new().await), tempfile::tempdir().unwrap());
        let token_file = folder.path().join("token");
        let token = GatewayToken::load_or_create(&token_file).unwrap().reveal().to_owned();
        let server = Server::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
        let (address, stop) = (server.address().unwrap(), CancellationToken::new());
        let gateway = Gateway::new(GatewayConfig {
            engine: engine.engine.clone(),
            client: engine.clone(),
            token: TokenFile::open(&token_file).unwrap(),
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
        tokio::spawn(server.run(Arc::new(gateway), stop.clone().cancelled_owned()));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let (proxy, state) = (listener.local_addr().unwrap(), Mutex::default());
        let gateway = Arc::new(CutGateway { engine, token, proxy, state, stop, _folder: folder });
        tokio::spawn(accept(Arc::downgrade(&gateway), listener, address));
        gateway
    }

    async fn remote(&self) -> RemoteEngine {
        let (url, token) = (format!("ws://{}/ws", self.proxy), Some(self.token.clone()));
        let delay = Duration::from_millis(1);
        let options = RemoteOptions { first_delay: delay, max_delay: delay, ..RemoteOptions::default() };
        RemoteEngine::connect(Arc::new(WebSocketConnector::new(url, token)), options).await.unwrap()
    }
}

impl BadConnection for CutGateway {
    fn engine(&self) -> &ContractEngine {
        &self.engine
    }

    fn cut(&self) {
        self.state.lock().unwrap().cut.cancel();
    }

    fn cut_after(&self, bytes: Option<usize>) {
        self.state.lock().unwrap().budget = bytes;
    }
}

/// Passes connections on to the gateway.
async fn accept(gateway: std::sync::Weak<CutGateway>, listener: TcpListener, address: SocketAddr) {
    while let Ok((near, _)) = listener.accept().await {
        let Some(gateway) = gateway.upgrade() else { return };
        let far = TcpStream::connect(address).await.unwrap();
        let mut state = gateway.state.lock().unwrap();
        state.cut = CancellationToken::new();
        let budget = Arc::new(AtomicUsize::new(state.budget.unwrap_or(usize::MAX)));
        let ((near_read, near_write), (far_read, far_write)) = (near.into_split(), far.into_split());
        for (from, to) in [(near_read, far_write), (far_read, near_write)] {
            let (cut, budget) = (state.cut.clone(), budget.clone());
            tokio::spawn(async move {
                let _ = cut.run_until_cancelled(pass_on(from, to, &budget)).await;
                // Both directions end together.
                cut.cancel();
            });
        }
    }
}

/// Copies bytes until the budget of the connection is used up.
async fn pass_on(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, budget: &AtomicUsize) {
    let mut buffer = vec![0; 512];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let take = |left: usize| Some(left.saturating_sub(count));
        let left = budget.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).unwrap();
        if to.write_all(&buffer[..count.min(left)]).await.is_err() || left <= count {
            return;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn cuts_at_random_bytes_lose_and_repeat_nothing(cuts in proptest::collection::vec(1_usize..4000, 1..4)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let gateway = CutGateway::start().await;
            let engine = gateway.remote().await;
            let talk = talk_over_a_bad_connection(&*gateway, &engine, cuts);
            tokio::time::timeout(Duration::from_secs(120), talk).await.unwrap();
        });
    }
}
