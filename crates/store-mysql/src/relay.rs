//! Protects the password from a server that requests it in clear text.
//!
//! The driver sends the password itself when a greeting names `mysql_clear_password`, and over TLS also for
//! `sha256_password` and for a full authentication with `caching_sha2_password`. That is safe over a Unix socket, and with a
//! verified server certificate. Every other connection goes through a relay in this process: it connects to the server, over
//! TLS if the mode says so, and offers the driver an unencrypted socket that only this user can open. If the server requests
//! the password, the relay closes the connection before anything is sent.

use std::io;
use std::path::PathBuf;

use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
use sqlx::{ConnectOptions, MySqlConnection};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy, split};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::attempt_error::AttemptError;
use crate::handshake::{Greeting, Packet};
use crate::unverified_tls;

/// Every system supports socket paths of about 100 bytes.
const MAX_SOCKET_PATH: usize = 100;

/// Connects. Sends the password itself only over a Unix socket or to a server whose certificate is verified.
pub(crate) async fn connect(options: &MySqlConnectOptions) -> Result<MySqlConnection, AttemptError> {
    if is_verified(options) {
        return Ok(options.clone().enable_cleartext_plugin(true).connect().await?);
    }
    let host = options.get_host().trim_matches(['[', ']']);
    let mut server = TcpStream::connect((host, options.get_port())).await.map_err(sqlx::Error::Io)?;
    server.set_nodelay(true).map_err(sqlx::Error::Io)?;
    let first = Packet::read(&mut server).await.map_err(handshake_error)?;
    let relay = match first.is_error() {
        true => PasswordRelay { server, greeting: first, tls: None },
        false => PasswordRelay::new(server, Greeting::parse(first).map_err(handshake_error)?, options)?,
    };
    relay.connect(options).await
}

fn is_verified(options: &MySqlConnectOptions) -> bool {
    let mode = options.get_ssl_mode();
    options.get_socket().is_some() || matches!(mode, MySqlSslMode::VerifyCa | MySqlSslMode::VerifyIdentity)
}

struct PasswordRelay {
    server: TcpStream,
    /// The greeting that the driver receives.
    greeting: Packet,
    tls: Option<unverified_tls::UnverifiedConnector>,
}

impl PasswordRelay {
    fn new(
        server: TcpStream,
        greeting: Greeting,
        options: &MySqlConnectOptions,
    ) -> Result<PasswordRelay, AttemptError> {
        if greeting.requests_password() {
            return Err(AttemptError::CleartextPassword);
        }
        let tls = match (options.get_ssl_mode(), greeting.offers_tls()) {
            (MySqlSslMode::Disabled, _) | (MySqlSslMode::Preferred, false) => None,
            (_, false) => return Err(sqlx::Error::Tls("server does not support TLS".into()).into()),
            (_, true) => Some(unverified_tls::UnverifiedConnector::new(options)?),
        };
        Ok(PasswordRelay { server, greeting: greeting.without_tls(), tls })
    }

    /// Returns the driver's connection. The relay ends when it is closed.
    async fn connect(self, options: &MySqlConnectOptions) -> Result<MySqlConnection, AttemptError> {
        let (folder, path) = private_socket_path().map_err(sqlx::Error::Io)?;
        let listener = UnixListener::bind(&path).map_err(sqlx::Error::Io)?;
        let (failure, failed) = oneshot::channel();
        // Aborts the relay if this function returns early.
        let mut task = JoinSet::new();
        task.spawn(async move {
            let accepted = listener.accept().await;
            drop((listener, folder));
            let Ok((driver, _)) = accepted else { return };
            self.run(driver, failure).await;
        });
        let to_relay = options.clone().socket(path).ssl_mode(MySqlSslMode::Disabled);
        match to_relay.enable_cleartext_plugin(false).connect().await {
            Ok(connection) => {
                task.detach_all();
                Ok(connection)
            }
            // The relay sends its error before it closes the socket.
            Err(error) => Err({ failed }.try_recv().unwrap_or(AttemptError::Sql(error))),
        }
    }

    async fn run(mut self, mut driver: UnixStream, failure: oneshot::Sender<AttemptError>) {
        let authenticated = match self.tls.take() {
            None => self.authenticate_plain(&mut driver).await,
            Some(tls) => self.authenticate_tls(&mut driver, tls).await,
        };
        match authenticated {
            Ok(server) => forward(driver, server).await,
            Err(error) => drop(failure.send(error)),
        }
    }

    async fn authenticate_plain(
        self,
        driver: &mut UnixStream,
    ) -> Result<Box<dyn DuplexStream>, AttemptError> {
        let mut server = self.server;
        driver.write_all(self.greeting.as_bytes()).await.map_err(sqlx::Error::Io)?;
        let response = Packet::read(driver).await.map_err(handshake_error)?;
        authenticate(driver, &mut server, &response).await?;
        Ok(Box::new(server))
    }

    async fn authenticate_tls(
        mut self,
        driver: &mut UnixStream,
        tls: unverified_tls::UnverifiedConnector,
    ) -> Result<Box<dyn DuplexStream>, AttemptError> {
        driver.write_all(self.greeting.as_bytes()).await.map_err(sqlx::Error::Io)?;
        let response = Packet::read(driver).await.map_err(handshake_error)?;
        let (request, response) = response.split_for_tls().map_err(handshake_error)?;
        self.server.write_all(request.as_bytes()).await.map_err(sqlx::Error::Io)?;
        let mut server = tls.connect(self.server).await?;
        authenticate(driver, &mut server, &response).await?;
        Ok(Box::new(server))
    }
}

trait DuplexStream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> DuplexStream for S {}

/// Forwards the packets of the authentication, unless the server requests the password.
async fn authenticate(
    driver: &mut UnixStream,
    server: &mut impl DuplexStream,
    response: &Packet,
) -> Result<(), AttemptError> {
    send(server, response).await?;
    loop {
        let packet = Packet::read(server).await.map_err(handshake_error)?;
        if packet.requests_password() {
            return Err(AttemptError::CleartextPassword);
        }
        send(driver, &packet).await?;
        if packet.is_ok() || packet.is_error() {
            return Ok(());
        }
        if packet.is_auth_switch() {
            send(server, &Packet::read(driver).await.map_err(handshake_error)?).await?;
        }
    }
}

async fn send(to: &mut impl DuplexStream, packet: &Packet) -> Result<(), AttemptError> {
    to.write_all(packet.as_bytes()).await.map_err(sqlx::Error::Io)?;
    Ok(to.flush().await.map_err(sqlx::Error::Io)?)
}

/// Forwards bytes in both directions until one side closes its connection.
async fn forward(driver: UnixStream, server: Box<dyn DuplexStream>) {
    let (mut from_driver, mut to_driver) = split(driver);
    let (mut from_server, mut to_server) = split(server);
    tokio::select! {
        _ = copy(&mut from_driver, &mut to_server) => {}
        _ = copy(&mut from_server, &mut to_driver) => {}
    }
}

/// A socket path in a new folder that only this user can open.
fn private_socket_path() -> io::Result<(TempDir, PathBuf)> {
    let mut folder = tempfile::Builder::new().prefix("osier-").tempdir()?;
    if folder.path().as_os_str().len() > MAX_SOCKET_PATH - 2 {
        folder = tempfile::Builder::new().prefix("osier-").tempdir_in("/tmp")?;
    }
    let path = folder.path().join("s");
    Ok((folder, path))
}

/// The error for a server that closes the connection or violates the protocol.
fn handshake_error(error: io::Error) -> AttemptError {
    match error.kind() {
        io::ErrorKind::Other => AttemptError::Sql(sqlx::Error::Protocol(error.to_string())),
        _ => AttemptError::Sql(sqlx::Error::Io(error)),
    }
}
