//! The version of the protocol.

use osier_tree::ErrorCode;
use serde_json::json;

use crate::error::ClientError;

/// The version that this program speaks. It changes when an old client could misunderstand a new engine, or the other way.
pub const PROTOCOL_VERSION: u32 = 1;

/// Refuses a client of another version.
pub fn check_version(client: u32) -> Result<(), ClientError> {
    if client == PROTOCOL_VERSION {
        return Ok(());
    }
    let message =
        format!("the client speaks version {client} of the protocol, the engine version {PROTOCOL_VERSION}");
    let facts = json!({ "client": client, "engine": PROTOCOL_VERSION });
    Err(ClientError::new(ErrorCode::UnsupportedVersion, message).with_facts(facts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_refused_and_both_are_named() {
        assert!(check_version(PROTOCOL_VERSION).is_ok());
        let error = check_version(7).unwrap_err();
        assert_eq!(error.code, ErrorCode::UnsupportedVersion);
        assert_eq!((error.facts["client"].as_u64(), error.facts["engine"].as_u64()), (Some(7), Some(1)));
    }
}
