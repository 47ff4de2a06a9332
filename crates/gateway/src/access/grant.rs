//! Grants: signed statements of what their bearer may do, and until when. One-time links, cookies and read-only tokens are
//! grants. The gateway stores none of them. A new token makes all of them invalid.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use osier_protocol::SessionRef;
use serde::{Deserialize, Serialize};

use super::token::{GatewayToken, TokenError, random_text};

/// The purpose of the key that signs grants.
const SIGNING_KEY: &str = "osier gateway 2026-11 signature of grants";
/// The number of random bytes that make a grant unique.
const ID_BYTES: usize = 16;
/// A longer text is not a grant.
const MAX_GRANT_BYTES: usize = 4096;

/// How a grant is used. A grant of one kind is not valid as another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantKind {
    /// In a URL, once.
    Link,
    /// In a cookie.
    Cookie,
    /// In the header `Authorization`.
    Token,
}

/// What the bearer of a request may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantedAccess {
    Full,
    /// Only read this session.
    ReadSession(SessionRef),
}

/// See the module documentation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub kind: GrantKind,
    pub access: GrantedAccess,
    /// Milliseconds since 1970.
    pub created: u64,
    pub expires: u64,
    /// For how many milliseconds the cookie of a link is valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cookie_millis: Option<u64>,
    /// Different for each grant.
    pub id: String,
}

impl Grant {
    /// A grant that is valid from now on.
    pub fn new(
        kind: GrantKind,
        access: GrantedAccess,
        now: u64,
        valid_for: Duration,
    ) -> Result<Grant, TokenError> {
        let expires = now.saturating_add(millis(valid_for));
        Ok(Grant { kind, access, created: now, expires, cookie_millis: None, id: random_text(ID_BYTES)? })
    }

    /// The grant and its signature, as text for headers and URLs.
    pub fn sign(&self, token: &GatewayToken) -> String {
        let content = URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).expect("a grant always serializes"));
        let signature = URL_SAFE_NO_PAD.encode(signature(token, &content).as_bytes());
        format!("{content}.{signature}")
    }

    /// The grant in a text. `None` if its signature is wrong, it has expired, or it is of another kind.
    pub fn verify(text: &str, kind: GrantKind, token: &GatewayToken, now: u64) -> Option<Grant> {
        Grant::read(text, kind, token).filter(|grant| now < grant.expires)
    }

    /// Whether a text was a grant of this kind and has expired.
    pub(super) fn has_expired(text: &str, kind: GrantKind, token: &GatewayToken, now: u64) -> bool {
        Grant::read(text, kind, token).is_some_and(|grant| now >= grant.expires)
    }

    /// The grant in a text, also if it has expired.
    fn read(text: &str, kind: GrantKind, token: &GatewayToken) -> Option<Grant> {
        if text.len() > MAX_GRANT_BYTES {
            return None;
        }
        let (content, given) = text.split_once('.')?;
        let given: [u8; 32] = URL_SAFE_NO_PAD.decode(given).ok()?.try_into().ok()?;
        // Hashes are compared in constant time.
        if signature(token, content) != blake3::Hash::from_bytes(given) {
            return None;
        }
        let grant: Grant = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(content).ok()?).ok()?;
        (grant.kind == kind).then_some(grant)
    }
}

fn signature(token: &GatewayToken, content: &str) -> blake3::Hash {
    blake3::keyed_hash(&token.derive_key(SIGNING_KEY), content.as_bytes())
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn token() -> GatewayToken {
        GatewayToken::random().unwrap()
    }

    fn grant(kind: GrantKind) -> Grant {
        Grant::new(kind, GrantedAccess::Full, 1000, HOUR).unwrap()
    }

    #[test]
    fn a_grant_is_valid_until_it_expires() {
        let (token, grant) = (token(), grant(GrantKind::Cookie));
        let text = grant.sign(&token);
        assert_eq!(Grant::verify(&text, GrantKind::Cookie, &token, 1000), Some(grant.clone()));
        assert_eq!(Grant::verify(&text, GrantKind::Cookie, &token, grant.expires - 1), Some(grant.clone()));
        assert_eq!(Grant::verify(&text, GrantKind::Cookie, &token, grant.expires), None);
        assert!(Grant::has_expired(&text, GrantKind::Cookie, &token, grant.expires));
        assert!(!Grant::has_expired(&text, GrantKind::Cookie, &token, grant.expires - 1));
        assert!(!Grant::has_expired(&text, GrantKind::Token, &token, grant.expires));
    }

    #[test]
    fn a_grant_is_valid_only_as_its_kind_and_with_its_token() {
        let (token, other) = (token(), GatewayToken::random().unwrap());
        let text = grant(GrantKind::Link).sign(&token);
        assert_eq!(Grant::verify(&text, GrantKind::Cookie, &token, 1000), None);
        assert_eq!(Grant::verify(&text, GrantKind::Token, &token, 1000), None);
        assert_eq!(Grant::verify(&text, GrantKind::Link, &other, 1000), None);
    }

    #[test]
    fn every_changed_byte_makes_a_grant_invalid() {
        let token = token();
        let text = grant(GrantKind::Token).sign(&token);
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            assert_eq!(Grant::verify(&changed, GrantKind::Token, &token, 1000), None, "byte {at}");
        }
        for junk in ["", ".", "a.b", &"x".repeat(10_000), &format!("{text}."), &text[..text.len() - 1]] {
            assert_eq!(Grant::verify(junk, GrantKind::Token, &token, 1000), None, "{junk}");
        }
    }
}
