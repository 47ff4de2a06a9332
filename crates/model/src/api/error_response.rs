//! Classifies error responses: turns the status, body and wording of many servers into one `ModelError`.

mod overflow;

use std::time::Duration;

use serde_json::Value;

use crate::error::ModelError;

/// An error response, received over HTTP or in the middle of a stream.
#[derive(Debug, Default)]
pub(crate) struct ErrorResponse {
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) status: Option<u16>,
    pub(crate) retry_after: Option<Duration>,
    /// The request was so long that an empty error response probably means an overflow.
    pub(crate) is_long_request: bool,
    /// The type, code and status fields of the error, in lower case.
    codes: String,
    message: String,
    token_counts: (Option<u64>, Option<u64>),
}

impl ErrorResponse {
    /// Reads an error event in the middle of a stream.
    pub(crate) fn from_event(provider: &str, value: &Value) -> ErrorResponse {
        let mut response = ErrorResponse { provider: provider.to_owned(), ..ErrorResponse::default() };
        response.read(value);
        response
    }

    /// Reads the body of an HTTP error response.
    pub(crate) fn from_http(provider: &str, model: &str, status: u16, body: &[u8]) -> ErrorResponse {
        let mut response = ErrorResponse {
            provider: provider.to_owned(),
            model: model.to_owned(),
            status: Some(status),
            ..ErrorResponse::default()
        };
        match serde_json::from_slice::<Value>(body) {
            Ok(value) => response.read(&value),
            Err(_) => response.message = strip_tags(&String::from_utf8_lossy(body)),
        }
        response
    }

    fn read(&mut self, value: &Value) {
        let value = value.get(0).unwrap_or(value);
        let error = if value["error"].is_null() { value } else { &value["error"] };
        let first = [&error["message"], &error["detail"], error, &value["message"], &value["detail"]]
            .into_iter()
            .find_map(|text| text.as_str().filter(|text| !text.is_empty()));
        // Routers put the message of the upstream server into a separate field.
        let upstream = error["metadata"]["raw"].as_str();
        let message = [first, upstream].into_iter().flatten().collect::<Vec<_>>().join(" ");
        self.message = if message.is_empty() && !error.is_null() {
            error.to_string()
        } else {
            message.trim().to_owned()
        };
        for word in [&error["type"], &error["code"], &error["status"], &value["type"], &value["code"]] {
            match word {
                Value::String(word) => self.codes += &format!("{} ", word.to_lowercase()),
                Value::Number(code) => {
                    let code = code
                        .as_u64()
                        .and_then(|code| u16::try_from(code).ok())
                        .filter(|code| (400..600).contains(code));
                    self.status = self.status.or(code);
                }
                _ => {}
            }
        }
        self.token_counts = (error["n_prompt_tokens"].as_u64(), error["n_ctx"].as_u64());
        for detail in error["details"].as_array().into_iter().flatten() {
            if let Some(reason) = detail["reason"].as_str() {
                self.codes += &format!("{} ", reason.to_lowercase());
            }
            let delay =
                detail["retryDelay"].as_str().and_then(|delay| delay.strip_suffix('s')?.parse::<f64>().ok());
            let delay = delay.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            self.retry_after = self.retry_after.or(delay);
        }
    }

    fn has_code(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.codes.contains(word))
    }
}

/// Removes HTML tags. Does not shorten the text: secrets must be redacted first.
fn strip_tags(text: &str) -> String {
    let mut deltas = String::new();
    let mut in_tag = false;
    for c in text.chars() {
        match c {
            '<' => in_tag = true,
            '>' if in_tag => {
                in_tag = false;
                deltas.push(' ');
            }
            _ if !in_tag => deltas.push(c),
            _ => {}
        }
    }
    deltas.trim().to_owned()
}

/// Classifies an error response.
pub(crate) fn classify_error(response: &ErrorResponse) -> ModelError {
    let ErrorResponse { status, retry_after, .. } = *response;
    let (provider, message) = (response.provider.clone(), response.message.clone());
    let phrase = message.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    let is_rate =
        status == Some(429) || response.has_code(&["rate_limit", "resource_exhausted", "too_many_requests"]);
    if let Some((needed, window)) = overflow::overflow_token_counts(response, &phrase, is_rate) {
        return ModelError::ContextOverflow { needed, window, detail: message };
    }
    if response.has_code(&["insufficient_quota", "billing", "payment_required", "credits"])
        || status == Some(402)
    {
        return ModelError::Quota { provider, detail: message };
    }
    if is_rate {
        return ModelError::RateLimited { provider, retry_after, detail: message };
    }
    if is_key_error(response, &phrase) {
        return ModelError::Unauthorized { provider, detail: message };
    }
    if response.has_code(&["overloaded", "unavailable"]) || matches!(status, Some(503 | 529)) {
        return ModelError::Overloaded { provider, retry_after, detail: message };
    }
    match status {
        Some(404) if phrase.contains("model") => {
            ModelError::UnknownModel { provider, model: response.model.clone(), detail: message }
        }
        Some(404) if message.is_empty() => {
            let message = "The address was not found; check `base_url`.".to_owned();
            ModelError::BadRequest { provider, status: 404, detail: message }
        }
        Some(status @ 300..400) => {
            let message =
                format!("The server redirected to another address; set `base_url` to it. {message}");
            ModelError::BadRequest { provider, status, detail: message }
        }
        Some(status) if is_transient(status) && !is_permanent(&phrase) => {
            ModelError::Server { provider, status, detail: message }
        }
        Some(status) => ModelError::BadRequest { provider, status, detail: message },
        None if response.has_code(&[
            "invalid_request",
            "invalid_prompt",
            "not_found",
            "invalid_argument",
        ]) =>
        {
            ModelError::BadRequest { provider, status: 400, detail: message }
        }
        None => ModelError::Server { provider, status: 500, detail: message },
    }
}

fn is_key_error(response: &ErrorResponse, phrase: &str) -> bool {
    matches!(response.status, Some(401 | 403))
        || response.has_code(&[
            "authentication",
            "permission",
            "api_key_invalid",
            "invalid_api_key",
            "unauthenticated",
        ])
        || phrase.contains("api key not valid")
}

fn is_transient(status: u16) -> bool {
    matches!(status, 408 | 409 | 425) || status >= 500
}

/// Some servers return status 500 for requests that can never succeed.
fn is_permanent(phrase: &str) -> bool {
    phrase.contains("not supported") || phrase.contains("failed to parse tool call")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn kind(status: u16, body: &str) -> (&'static str, String) {
        let failure = classify_error(&ErrorResponse::from_http("p", "m", status, body.as_bytes()));
        (failure.code(), failure.message())
    }

    #[test]
    fn classifies_errors_of_many_servers() {
        for (status, body, expected) in [
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages: at least one message is required"}}"#,
                "bad_request",
            ),
            (
                401,
                r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
                "unauthorized",
            ),
            (403, r#"{"error":{"type":"permission_error","message":"no"}}"#, "unauthorized"),
            (404, r#"{"error":{"type":"not_found_error","message":"model: claude-9"}}"#, "no_such_model"),
            (404, r#"{"error":"model \"llama9\" not found, try pulling it first"}"#, "no_such_model"),
            (404, "", "bad_request"),
            (
                413,
                r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
                "overflow",
            ),
            (
                429,
                r#"{"error":{"type":"rate_limit_error","message":"Number of request tokens has exceeded your per-minute rate limit"}}"#,
                "rate_limited",
            ),
            (
                429,
                r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
                "quota",
            ),
            (402, r#"{"error":{"code":402,"message":"Insufficient credits"}}"#, "quota"),
            (500, r#"{"error":{"type":"api_error","message":"Internal server error"}}"#, "server"),
            (
                500,
                r#"{"error":{"code":500,"message":"image input is not supported - hint: …","type":"server_error"}}"#,
                "bad_request",
            ),
            (502, "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>", "server"),
            (
                503,
                r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
                "overloaded",
            ),
            (
                529,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                "overloaded",
            ),
            (
                400,
                r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]"#,
                "unauthorized",
            ),
            (422, r#"{"detail":[{"msg":"field required"}]}"#, "bad_request"),
            (308, "", "bad_request"),
        ] {
            assert_eq!(kind(status, body).0, expected, "{status} {body}");
        }
    }

    #[test]
    fn html_error_page_is_reduced_to_its_text() {
        let (_, text) = kind(502, "<html>\n<body><h1>502 Bad Gateway</h1></body></html>");
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(words.join(" "), "p failed with status 502. 502 Bad Gateway");
    }

    #[test]
    fn retry_delay_is_read_from_the_body() {
        let body = json!({ "error": { "code": 429, "status": "RESOURCE_EXHAUSTED", "message": "slow", "details": [{ "retryDelay": "23.5s" }] } });
        let failure = classify_error(&ErrorResponse::from_http("p", "m", 429, body.to_string().as_bytes()));
        assert_eq!(failure.retry_after(), Some(Duration::from_millis(23_500)));
    }

    #[test]
    fn classifies_stream_errors_without_status() {
        let kind = |value: Value| classify_error(&ErrorResponse::from_event("p", &value)).code();
        assert_eq!(
            kind(
                json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } })
            ),
            "overloaded"
        );
        assert_eq!(kind(json!({ "error": { "code": 502, "message": "upstream" } })), "server");
        assert_eq!(
            kind(json!({ "type": "error", "code": "rate_limit_exceeded", "message": "slow down" })),
            "rate_limited"
        );
        assert_eq!(
            kind(json!({ "error": { "code": "context_length_exceeded", "message": "too long" } })),
            "overflow"
        );
        assert_eq!(kind(json!({ "error": { "code": "server_error", "message": "sorry" } })), "server");
        assert_eq!(kind(Value::Null), "server");
    }
}
