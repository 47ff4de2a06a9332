//! Who may do what: the token, what it signs, and how requests prove that they have it.

mod authenticate;
mod grant;
mod hosts;
mod links;
mod token;
mod token_file;

pub(crate) use authenticate::{RequestAccess, authenticate};
pub(crate) use grant::millis;
pub use grant::{Grant, GrantKind, GrantedAccess};
pub use hosts::HostRules;
pub(crate) use hosts::{check_host, names_loopback};
pub(crate) use links::UsedLinks;
pub use token::{GatewayToken, TokenError};
pub use token_file::TokenFile;

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis)
}
