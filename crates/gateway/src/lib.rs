//! The gateway: sessions over HTTP and WebSockets, for browsers, programs and teams. A client of the engine like any other.
//!
//! | file | contents |
//! |---|---|
//! | `gateway.rs`, `limits.rs` | what is served; limits |
//! | `access/` | the token, one-time links, cookies, read-only tokens; names and pages that are refused |
//! | `server.rs`, `stalled.rs`, `first_bytes.rs`, `idle.rs` | connections: TLS, time limits, closing |
//! | `routes.rs`, `openapi.rs` | all routes, and the document that describes them |
//! | `api/` | the handlers, one file per resource; they only translate |
//! | `extract.rs`, `body_stream.rs`, `error.rs`, `headers.rs` | reading requests; writing responses, errors and headers |
//! | `web_socket.rs`, `read_only_engine.rs` | the client protocol over a WebSocket; the engine for a read-only token |
//! | `login.rs`, `page.rs` | logging in with a link; the files of the page |

mod access;
mod api;
mod body_stream;
mod error;
mod extract;
mod first_bytes;
mod gateway;
mod headers;
mod idle;
mod limits;
mod login;
mod openapi;
mod page;
mod read_only_engine;
mod routes;
mod server;
mod stalled;
mod web_socket;

pub use access::{GatewayToken, Grant, GrantKind, GrantedAccess, HostRules, TokenError, TokenFile};
pub use gateway::{COOKIE_LIFETIME, Gateway, GatewayConfig, LINK_LIFETIME, login_path, read_only_token};
pub use limits::Limits;
pub use server::Server;
