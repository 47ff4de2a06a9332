//! The gateway itself: the engine that it serves, and the rules for requests.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use osier_engine::{Engine, FindOptions, FindScope, StoredSession, is_path};
use osier_protocol::{EngineClient, ErrorCode, OpenRequest, OpenTarget, OpenedSession, SessionRef};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::access::{Access, GatewayToken, Grant, GrantKind, HostRules, TokenError, UsedLinks, millis, now};
use crate::directories::Directories;
use crate::error::ApiError;
use crate::limits::Limits;
use crate::restricted_engine::RestrictedEngine;

/// How long a one-time link is valid.
pub const LINK_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// How long a browser stays logged in.
pub const COOKIE_LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What a gateway serves, and to whom.
#[derive(Debug)]
pub struct GatewayConfig {
    /// Operations on stored sessions.
    pub engine: Engine,
    /// Opens sessions and connects to their agents.
    pub client: Arc<dyn EngineClient>,
    pub token: GatewayToken,
    pub hosts: HostRules,
    /// The directories whose sessions can be opened. The first is the default for new sessions.
    pub directories: Vec<PathBuf>,
    /// The store of new sessions.
    pub default_store: String,
    /// The port in the name of the cookie.
    pub port: u16,
    /// Browsers reach the gateway over TLS, its own or that of a proxy.
    pub is_secure: bool,
    pub limits: Limits,
}

/// See the module documentation.
#[derive(Debug)]
pub struct Gateway {
    config: GatewayConfig,
    directories: Directories,
    cookie_name: String,
    used_links: UsedLinks,
    /// Free WebSockets.
    web_sockets: Arc<Semaphore>,
    closing: CancellationToken,
}

impl Gateway {
    pub fn new(config: GatewayConfig) -> Gateway {
        Gateway {
            directories: Directories::new(&config.directories),
            cookie_name: format!("osier_{}", config.port),
            used_links: UsedLinks::new(now()),
            web_sockets: Arc::new(Semaphore::new(config.limits.web_sockets)),
            closing: CancellationToken::new(),
            config,
        }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.config.engine
    }

    /// The engine as a client with this access may use it.
    pub(crate) fn engine_for(&self, access: &Access) -> Arc<dyn EngineClient> {
        Arc::new(RestrictedEngine { engine: self.config.client.clone(), access: access.clone() })
    }

    pub(crate) fn client(&self) -> Arc<dyn EngineClient> {
        self.engine_for(&Access::Full)
    }

    /// The free places for WebSockets.
    pub(crate) fn web_sockets(&self) -> &Arc<Semaphore> {
        &self.web_sockets
    }

    pub(crate) fn token(&self) -> &GatewayToken {
        &self.config.token
    }

    pub(crate) fn hosts(&self) -> &HostRules {
        &self.config.hosts
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.config.limits
    }

    pub(crate) fn directories(&self) -> &Directories {
        &self.directories
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

    /// Ends when the gateway closes.
    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// The path of a new one-time link.
    pub fn login_path(&self, access: Access) -> Result<String, TokenError> {
        login_path(&self.config.token, access, COOKIE_LIFETIME)
    }

    /// The session that a request names, if the request may read it.
    pub(crate) async fn find(
        &self,
        access: &Access,
        name: &str,
        store: Option<&str>,
        scope: FindScope<'_>,
    ) -> Result<StoredSession, ApiError> {
        // A path could name any file.
        if is_path(name) {
            return Err(ApiError::new(ErrorCode::InvalidId, "name the session by its id"));
        }
        let found = self.engine().find(name, FindOptions { store, scope }).await?;
        let stored = found.read().await.map_err(osier_engine::EngineError::from)?;
        match access {
            Access::ReadSession(only) if *only != session_ref(&stored) => {
                return Err(ApiError::forbidden("the token is for another session"));
            }
            _ => {}
        }
        self.directories.check(&stored.opened.header.cwd)?;
        Ok(stored)
    }

    /// Connects to the agent of a session.
    pub(crate) async fn open(
        &self,
        access: &Access,
        stored: &StoredSession,
    ) -> Result<OpenedSession, ApiError> {
        let target = OpenTarget::Listed { session: session_ref(stored) };
        let opened = self.engine_for(access).open(OpenRequest { target, leaving: None }).await?;
        opened.ok_or_else(|| ApiError::new(ErrorCode::Cancelled, "a hook refused the operation"))
    }
}

pub(crate) fn session_ref(stored: &StoredSession) -> SessionRef {
    SessionRef { store: stored.store.name().into(), key: stored.key.clone() }
}

/// The path of a one-time link. Its cookie is valid for `cookie`.
pub fn login_path(token: &GatewayToken, access: Access, cookie: Duration) -> Result<String, TokenError> {
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
    let grant = Grant::new(GrantKind::Token, Access::ReadSession(session), now(), valid_for)?;
    Ok(grant.sign(token))
}
