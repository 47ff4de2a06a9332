//! The JSON schema of the protocol, for clients in other languages.

use schemars::schema_for;
use serde_json::{Value, json};

use crate::client::AttachedState;
use crate::command::ClientCommand;
use crate::engine_client::{OpenRequest, SessionInfo};
use crate::engine_request::{EngineReply, EngineRequest};
use crate::error::ClientError;
use crate::event::ClientEvent;
use crate::query::{QueryAnswer, SessionQuery};
use crate::reply::CommandReply;
use crate::version::PROTOCOL_VERSION;

/// The schemas of everything that clients send and receive, by name, and the version of the protocol.
pub fn protocol_schema() -> Value {
    json!({
        "version": PROTOCOL_VERSION,
        "command": schema_for!(ClientCommand),
        "reply": schema_for!(CommandReply),
        "query": schema_for!(SessionQuery),
        "answer": schema_for!(QueryAnswer),
        "attached": schema_for!(AttachedState),
        "event": schema_for!(ClientEvent),
        "engineRequest": schema_for!(EngineRequest),
        "engineReply": schema_for!(EngineReply),
        "open": schema_for!(OpenRequest),
        "opened": schema_for!(SessionInfo),
        "error": schema_for!(ClientError),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_names_the_fields_of_a_move() {
        let schema = protocol_schema();
        let command = schema["command"].to_string();
        for field in ["targetId", "summarize", "customInstructions", "replaceInstructions", "label"] {
            assert!(command.contains(field), "{field}: {command}");
        }
        assert!(schema["event"].to_string().contains("oldLeafId"));
        assert!(command.contains("customType"), "a prompt can be a ready message");
        assert_eq!(schema["version"], PROTOCOL_VERSION);
    }
}
