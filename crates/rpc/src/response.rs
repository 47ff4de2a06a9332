//! Responses to commands.

use osier_protocol::{ClientError, ErrorCode};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// The data of a response, or nothing.
pub(crate) type ResponseData = Option<Box<RawValue>>;
pub(crate) type CommandResult = Result<ResponseData, ClientError>;

#[derive(Debug, Serialize)]
struct Response<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Value>,
    r#type: &'static str,
    command: &'a str,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: ResponseData,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    /// Beyond pi: a code that never changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<ErrorCode>,
}

/// A response as a line.
pub(crate) fn response_line(id: Option<&Value>, command: &str, result: CommandResult) -> String {
    let (data, error) = match result {
        Ok(data) => (data, None),
        Err(error) => (None, Some(error)),
    };
    let response = Response {
        id,
        r#type: "response",
        command,
        success: error.is_none(),
        data,
        error: error.as_ref().map(|error| error.message.as_str()),
        code: error.as_ref().map(|error| error.code),
    };
    serde_json::to_string(&response).unwrap_or_default()
}

/// Data of a response.
pub(crate) fn response_data(value: &impl Serialize) -> CommandResult {
    to_raw_value(value).map(Some).map_err(|error| ClientError::new(ErrorCode::Failed, error.to_string()))
}

/// The data `null`.
pub(crate) fn null_data() -> CommandResult {
    response_data(&())
}
