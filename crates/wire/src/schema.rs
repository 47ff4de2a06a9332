//! The JSON schema of the frames, for clients in other languages.

use osier_protocol::protocol_schema;
use schemars::schema_for;
use serde_json::{Value, json};

use crate::frame::{ClientFrame, ServerFrame};

/// The schemas of the frames and of everything in them, by name, and the version of the protocol.
pub fn wire_schema() -> Value {
    let mut schema = protocol_schema();
    schema["clientFrame"] = json!(schema_for!(ClientFrame));
    schema["serverFrame"] = json!(schema_for!(ServerFrame));
    schema
}
