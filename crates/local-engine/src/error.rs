//! The errors of a local engine.

use osier_engine::{EngineError, error_chain};
use osier_model::LookupError;
use osier_protocol::ClientError;
use osier_session::SessionError;
use osier_settings::SettingsError;
use osier_store::StoreError;
use osier_tree::ErrorCode;
use osier_tree::search_query::InvalidPattern;
use serde_json::json;

/// Why a session could not be opened, or a request failed.
#[derive(Debug, thiserror::Error)]
pub enum LocalEngineError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Model(LookupError),
    #[error("cannot use the setting summary_model")]
    SummaryModel { source: LookupError },
    /// Nobody is there to accept another model.
    #[error("{notice}")]
    SessionModelUnusable { notice: String },
    #[error(transparent)]
    BadPattern(#[from] InvalidPattern),
    #[error("the generation {text} is not a hexadecimal number; use the one of an earlier snapshot")]
    BadGeneration { text: String },
    #[error("the session contains bytes that are not text, so it cannot be sent as text")]
    NotText,
    #[error(
        "the {what} is larger than 64 MB, which is too much for one message; read the entries in pages, print it with `osier sessions {what}`, or read it over HTTP, which streams it: `GET /api/sessions/ID/{what}`"
    )]
    ReplyTooLarge { what: &'static str },
}

impl LocalEngineError {
    /// The machine-readable code.
    pub fn code(&self) -> ErrorCode {
        match self {
            LocalEngineError::Engine(error) => error.code(),
            LocalEngineError::Settings(error) => error.code(),
            LocalEngineError::Client(error) => error.code,
            LocalEngineError::Model(_)
            | LocalEngineError::SummaryModel { .. }
            | LocalEngineError::SessionModelUnusable { .. } => ErrorCode::ModelNotFound,
            LocalEngineError::BadGeneration { .. } => ErrorCode::Usage,
            LocalEngineError::NotText => ErrorCode::Failed,
            LocalEngineError::ReplyTooLarge { .. } => ErrorCode::AnswerTooLarge,
            LocalEngineError::BadPattern(_) => ErrorCode::BadPattern,
        }
    }
}

impl From<StoreError> for LocalEngineError {
    fn from(error: StoreError) -> LocalEngineError {
        EngineError::from(error).into()
    }
}

impl From<SessionError> for LocalEngineError {
    fn from(error: SessionError) -> LocalEngineError {
        EngineError::from(error).into()
    }
}

impl From<LocalEngineError> for ClientError {
    fn from(error: LocalEngineError) -> ClientError {
        let facts = match &error {
            LocalEngineError::Engine(error) => error.fields(),
            _ => json!({}),
        };
        match error {
            LocalEngineError::Client(error) => error,
            error => ClientError::new(error.code(), error_chain(&error)).with_facts(facts),
        }
    }
}
