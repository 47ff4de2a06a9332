//! Errors as clients get them: a code, a text for people, and facts for programs. Hints for the command line are added there.

use osier_tree::ErrorCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Why a command, a query or an attachment failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{message}")]
pub struct ClientError {
    pub code: ErrorCode,
    /// The error and its causes. It may change; the code does not.
    pub message: String,
    /// What a program needs to continue; `docs/json.md` lists the fields.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub facts: Map<String, Value>,
}

impl ClientError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> ClientError {
        ClientError { code, message: message.into(), facts: Map::new() }
    }

    /// Adds the fields of an object.
    #[must_use]
    pub fn with_facts(mut self, facts: Value) -> ClientError {
        if let Value::Object(facts) = facts {
            self.facts.extend(facts);
        }
        self
    }
}
