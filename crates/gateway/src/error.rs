//! Errors as HTTP responses: `{code, message, facts}`, and the status of each code.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use osier_engine::EngineError;
use osier_protocol::{ClientError, ErrorCode};

/// Why a read-only token is refused.
pub(crate) const READ_ONLY: &str = "the token can only read one session; for everything else, use the token of the gateway (`osier token path`)";

/// An error of a request.
#[derive(Debug)]
pub(crate) struct ApiError {
    error: ClientError,
    /// A status that says more than the code.
    status: Option<StatusCode>,
}

impl ApiError {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> ApiError {
        ClientError::new(code, message).into()
    }

    pub(crate) fn no_token() -> ApiError {
        let message = "the request has no valid token; send `Authorization: Bearer TOKEN` (`osier token path` prints where \
            the token is), or log in with a link of `osier token link`";
        ApiError::new(ErrorCode::Unauthorized, message)
    }

    pub(crate) fn expired() -> ApiError {
        let message = "the token has expired; get a new one, for example with `osier token create`";
        ApiError::new(ErrorCode::Unauthorized, message)
    }

    pub(crate) fn read_only() -> ApiError {
        ApiError::forbidden(READ_ONLY)
    }

    pub(crate) fn forbidden(message: &str) -> ApiError {
        ApiError::new(ErrorCode::Forbidden, message)
    }

    pub(crate) fn invalid(message: impl Into<String>) -> ApiError {
        ApiError::new(ErrorCode::InvalidRequest, message)
    }

    /// An invalid request with its own status.
    pub(crate) fn with_status(status: StatusCode, message: impl Into<String>) -> ApiError {
        ApiError { status: Some(status), ..ApiError::invalid(message) }
    }

    pub(crate) fn code(&self) -> ErrorCode {
        self.error.code
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status.unwrap_or_else(|| status_of(self.error.code))
    }
}

impl From<ClientError> for ApiError {
    fn from(error: ClientError) -> ApiError {
        ApiError { error, status: None }
    }
}

/// What a client can do about an error, for those whose message does not say it.
fn next_step(code: ErrorCode) -> Option<&'static str> {
    Some(match code {
        ErrorCode::SessionNotFound => "`GET /api/sessions` lists the sessions",
        ErrorCode::EntryNotFound | ErrorCode::ParentNotFound => {
            "`GET /api/sessions/ID/entries` lists the entries"
        }
        ErrorCode::SessionAmbiguous => "use more characters of the id, or `?store=NAME`",
        ErrorCode::EntryAmbiguous => "use more characters of the id",
        ErrorCode::ModelNotFound => "`GET /api/models` lists the models",
        ErrorCode::LeafChanged => "read the session again, and repeat the request with its leaf",
        ErrorCode::SessionBusy => {
            "wait until `GET /api/sessions/ID/state` says that no turn runs, or cancel it"
        }
        _ => return None,
    })
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> ApiError {
        ClientError::from(error).into()
    }
}

impl IntoResponse for ApiError {
    fn into_response(mut self) -> Response {
        let status = self.status();
        if let Some(step) = next_step(self.error.code).filter(|_| !self.error.message.contains(';')) {
            self.error.message = format!("{}; {step}", self.error.message);
        }
        if status.is_server_error() {
            tracing::warn!(code = self.error.code.name(), error = %self.error, "a request failed");
        }
        let mut response = (status, Json(self.error)).into_response();
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// The HTTP status of a code.
fn status_of(code: ErrorCode) -> StatusCode {
    use ErrorCode as Code;
    match code {
        Code::Usage
        | Code::InvalidRequest
        | Code::InvalidId
        | Code::NotAnEntry
        | Code::InvalidCheckpoint
        | Code::UnsupportedVersion
        | Code::InvalidFrame
        | Code::Empty
        | Code::WrongSetting
        | Code::BadPattern
        | Code::Attachment => StatusCode::BAD_REQUEST,
        Code::Unauthorized => StatusCode::UNAUTHORIZED,
        Code::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
        Code::AnswerTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::Forbidden | Code::DirectoryNotAllowed => StatusCode::FORBIDDEN,
        Code::SessionNotFound
        | Code::EntryNotFound
        | Code::ParentNotFound
        | Code::SkillNotFound
        | Code::ModelNotFound => StatusCode::NOT_FOUND,
        Code::ModelFailed | Code::SummaryFailed => StatusCode::BAD_GATEWAY,
        Code::StoreUnavailable | Code::Contended | Code::ConnectionLost => StatusCode::SERVICE_UNAVAILABLE,
        Code::SessionDamaged
        | Code::NotASession
        | Code::StoreRefused
        | Code::NotDurable
        | Code::Io
        | Code::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        Code::EntryAmbiguous
        | Code::SessionAmbiguous
        | Code::LeafChanged
        | Code::SessionBusy
        | Code::SessionChanged
        | Code::SessionClosed
        | Code::QuestionClosed
        | Code::AlreadyExists
        | Code::EntryConflict
        | Code::EntryHidden
        | Code::EntryImmutable
        | Code::NotDeleted
        | Code::AlreadyDeleted
        | Code::NotOnPath
        | Code::NotEditable
        | Code::NotACompaction
        | Code::NothingToUndo
        | Code::NothingToRedo
        | Code::NothingToGraft
        | Code::NothingToCompact
        | Code::NothingToResume
        | Code::NothingToFork
        | Code::TaskNotRunning
        | Code::IncompleteToolBatch
        | Code::TooManyReturns
        | Code::StepLimit
        | Code::Cancelled => StatusCode::CONFLICT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_the_gateway_has_the_status_of_every_code() {
        let page = include_str!("../../../docs/gateway.md");
        for code in ErrorCode::ALL {
            let row = format!("| {} |", status_of(*code).as_u16());
            let mut rows = page.lines().filter(|line| line.starts_with(&row));
            let name = format!("`{}`", code.name());
            assert!(rows.any(|line| line.contains(&name)), "{name} is not in the row {row}");
        }
    }
}
