//! Errors of settings and trust.

use std::io;

use osier_model::LookupError;
use osier_tree::ErrorCode;

/// Why settings could not be read, changed or used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The caller named a key, a value, a tool, a model, a theme or a store that does not exist.
    #[error("{0}")]
    Usage(String),
    /// The caller named a model that does not exist.
    #[error(transparent)]
    Model(#[from] LookupError),
    /// The contents of a file are wrong.
    #[error("{0}")]
    Invalid(String),
    #[error("{what}")]
    Io { what: String, source: io::Error },
}

impl SettingsError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> SettingsError {
        let what = what.into();
        move |source| SettingsError::Io { what, source }
    }

    /// The machine-readable code.
    pub fn code(&self) -> ErrorCode {
        match self {
            SettingsError::Usage(_) | SettingsError::Model(_) => ErrorCode::Usage,
            SettingsError::Invalid(_) => ErrorCode::Failed,
            SettingsError::Io { .. } => ErrorCode::Io,
        }
    }
}
