//! The gateway itself: the engine that it serves, and the rules for requests.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use osier_engine::{AllowedDirectories, Engine, EngineError, FindOptions, FindScope, StoredSession, is_path};
use osier_protocol::{EngineClient, ErrorCode, OpenRequest, OpenTarget, OpenedSession, SessionRef};
use osier_wire::HeldSessions;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::access::{
    GatewayToken, Grant, GrantKind, GrantedAccess, HostRules, TokenError, TokenFile, UsedLinks, millis, now,
};
use crate::error::ApiError;
use crate::limits::Limits;
use crate::read_only_engine::ReadOnlyEngine;

/// How long a one-time link is valid.
pub const LINK_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// How long the sessions of a lost WebSocket stay open, so that its client can connect again.
const HOLD_SESSIONS: Duration = Duration::from_secs(60);
/// How long a browser stays logged in.
pub const COOKIE_LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What a gateway serves, and to whom.
#[derive(Debug)]
pub struct GatewayConfig {
    /// Operations on stored sessions.
    pub engine: Engine,
    /// Opens sessions and connects to their agents.
    pub client: Arc<dyn EngineClient>,
    pub token: TokenFile,
    pub hosts: HostRules,
    /// The directories whose sessions can be opened.
    pub directories: AllowedDirectories,
    /// The directory of new sessions that name none.
    pub default_directory: PathBuf,
    /// A folder that remembers which one-time links were used. Gateways with the same token share it.
    pub used_links: PathBuf,
    /// The store of new sessions.
    pub default_store: String,
    /// The port in the name of the cookie.
    pub port: u16,
    /// Browsers reach the gateway over TLS, its own or that of a proxy.
    pub is_secure: bool,
    pub limits: Limits,
    /// A folder with files of the page that replace those of the program, for work on the page.
    pub web_files: Option<PathBuf>,
}

/// See the module documentation.
#[derive(Debug)]
pub struct Gateway {
    config: GatewayConfig,
    cookie_name: String,
    used_links: UsedLinks,
    held_sessions: HeldSessions,
    /// Free WebSockets.
    web_sockets: Arc<Semaphore>,
    closing: CancellationToken,
    /// Requests that change something, and WebSockets. They end before the gateway does.
    unfinished: TaskTracker,
}

impl Gateway {
    pub fn new(config: GatewayConfig) -> Gateway {
        Gateway {
            cookie_name: format!("osier_{}", config.port),
            used_links: UsedLinks::new(&config.used_links),
            held_sessions: HeldSessions::new(HOLD_SESSIONS, config.limits.held_sessions),
            web_sockets: Arc::new(Semaphore::new(config.limits.web_sockets)),
            closing: CancellationToken::new(),
            unfinished: TaskTracker::new(),
            config,
        }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.config.engine
    }

    /// The engine as a client with this access may use it.
    pub(crate) fn engine_for(&self, access: &GrantedAccess) -> Arc<dyn EngineClient> {
        let client = self.config.client.clone();
        match access {
            GrantedAccess::Full => client,
            GrantedAccess::ReadSession(session) => Arc::new(ReadOnlyEngine {
                client,
                engine: self.config.engine.clone(),
                directories: self.config.directories.clone(),
                session: session.clone(),
            }),
        }
    }

    pub(crate) fn client(&self) -> Arc<dyn EngineClient> {
        self.engine_for(&GrantedAccess::Full)
    }

    /// The free places for WebSockets.
    pub(crate) fn web_sockets(&self) -> &Arc<Semaphore> {
        &self.web_sockets
    }

    pub(crate) fn held_sessions(&self) -> &HeldSessions {
        &self.held_sessions
    }

    pub(crate) fn token_file(&self) -> &TokenFile {
        &self.config.token
    }

    pub(crate) fn web_files(&self) -> Option<&Path> {
        self.config.web_files.as_deref()
    }

    pub(crate) fn hosts(&self) -> &HostRules {
        &self.config.hosts
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.config.limits
    }

    pub(crate) fn directories(&self) -> &AllowedDirectories {
        &self.config.directories
    }

    pub(crate) fn default_directory(&self) -> &Path {
        &self.config.default_directory
    }

    pub(crate) fn default_store(&self) -> &str {
        &self.config.default_store
    }

    pub(crate) fn cookie_name(&self) -> &str {
        &self.cookie_name
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.config.is_secure
    }

    pub(crate) fn used_links(&self) -> &UsedLinks {
        &self.used_links
    }

    /// Canceled when the gateway closes.
    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    pub(crate) fn unfinished(&self) -> &TaskTracker {
        &self.unfinished
    }

    /// The path of a new one-time link.
    pub fn login_path(&self, access: GrantedAccess) -> Result<String, TokenError> {
        login_path(&self.config.token.current().token, access, COOKIE_LIFETIME)
    }

    /// The session that a request names, if the request may read it.
    pub(crate) async fn find(
        &self,
        access: &GrantedAccess,
        name: &str,
        store: Option<&str>,
        scope: FindScope<'_>,
    ) -> Result<StoredSession, ApiError> {
        // A path could name any file.
        if is_path(name) {
            return Err(ApiError::new(
                ErrorCode::InvalidId,
                "a path does not name a session here; use its id",
            ));
        }
        let stored = match access {
            GrantedAccess::Full => {
                let found = self.engine().find(name, FindOptions { store, scope }).await?;
                found.read().await.map_err(EngineError::from)?
            }
            GrantedAccess::ReadSession(only) => self.find_only(only, name, store).await?,
        };
        self.directories().check(Path::new(&stored.opened.header.cwd))?;
        Ok(stored)
    }

    /// The only session that a read-only token allows, if the request names it. Other sessions are not looked up, so that the
    /// response does not depend on them.
    async fn find_only(
        &self,
        only: &SessionRef,
        name: &str,
        store: Option<&str>,
    ) -> Result<StoredSession, ApiError> {
        let stored = self.engine().session_at(&only.store, &only.key).await?;
        let id = stored.opened.header.id.to_ascii_lowercase();
        let is_named = !name.is_empty() && id.starts_with(&name.to_ascii_lowercase());
        if !is_named || store.is_some_and(|store| store != &*only.store) {
            return Err(ApiError::forbidden(
                "the token is for another session; `osier token create ID` makes one for this session",
            ));
        }
        Ok(stored)
    }

    /// Connects to the agent of a session.
    pub(crate) async fn open(&self, stored: &StoredSession) -> Result<OpenedSession, ApiError> {
        let target = OpenTarget::Listed { session: session_ref(stored) };
        let opened = self.client().open(OpenRequest { target, leaving: None }).await?;
        opened.ok_or_else(|| ApiError::new(ErrorCode::Cancelled, "an extension refused the operation"))
    }
}

pub(crate) fn session_ref(stored: &StoredSession) -> SessionRef {
    SessionRef { store: stored.store.name().into(), key: stored.key.clone() }
}

/// The path of a one-time link. Its cookie is valid for `cookie`.
pub fn login_path(
    token: &GatewayToken,
    access: GrantedAccess,
    cookie: Duration,
) -> Result<String, TokenError> {
    let link = Grant::new(GrantKind::Link, access, now(), LINK_LIFETIME)?;
    let link = Grant { cookie_millis: Some(millis(cookie)), ..link };
    Ok(format!("/login/{}", link.sign(token)))
}

/// A token for reading one session.
pub fn read_only_token(
    token: &GatewayToken,
    session: SessionRef,
    valid_for: Duration,
) -> Result<String, TokenError> {
    let grant = Grant::new(GrantKind::Token, GrantedAccess::ReadSession(session), now(), valid_for)?;
    Ok(grant.sign(token))
}
