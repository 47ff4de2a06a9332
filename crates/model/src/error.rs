//! The errors of a model call, distinguished by what the caller can do about them.
//!
//! The messages are stored in sessions and shown to users. They never contain a key: text from a server is redacted first.

use std::time::Duration;

/// Why a reply is missing or incomplete.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Compact the conversation, or choose a model with a larger window.
    #[error("the conversation is too long for the model{}; compact it, or choose a model with a larger window. {detail}", token_counts(*needed, *window))]
    ContextOverflow { needed: Option<u64>, window: Option<u64>, detail: String },
    #[error("rate limited by {provider}{}. {detail}", retry_hint(*retry_after))]
    RateLimited { provider: String, retry_after: Option<Duration>, detail: String },
    /// The account is out of credit; retrying does not help.
    #[error("{provider} rejected the request: the quota or credit of the account is used up. {detail}")]
    Quota { provider: String, detail: String },
    #[error("{provider} is overloaded{}; try again later or choose another model. {detail}", retry_hint(*retry_after))]
    Overloaded { provider: String, retry_after: Option<Duration>, detail: String },
    #[error("{provider} failed with status {status}. {detail}")]
    Server { provider: String, status: u16, detail: String },
    #[error("{provider} rejected the API key. {detail}")]
    Unauthorized { provider: String, detail: String },
    #[error("{provider} has no model {model}; choose another model. {detail}")]
    UnknownModel { provider: String, model: String, detail: String },
    #[error("{provider} rejected the request (status {status}). {detail}")]
    BadRequest { provider: String, status: u16, detail: String },
    /// The model or its provider refused to answer this prompt.
    #[error("the model declined to answer. {detail}")]
    Refused { detail: String },
    #[error("cannot reach {provider}: {detail}")]
    Network { provider: String, detail: String },
    /// The stream ended before the reply did.
    #[error("the reply from {provider} was cut off{}", colon_and_detail(detail))]
    CutOff { provider: String, detail: String },
    #[error("unexpected response from {provider}: {detail}")]
    Malformed { provider: String, detail: String },
    /// The reply exceeds a limit. Retrying would receive, and cost, as much again.
    #[error("stopped reading the reply from {provider}: {detail}")]
    TooLarge { provider: String, detail: String },
    #[error("cancelled")]
    Cancelled,
    /// A setting is missing or wrong.
    #[error("cannot use {provider}: {hint}")]
    NotConfigured { provider: String, hint: String },
}

impl ModelError {
    /// Whether the same request may succeed if retried.
    pub fn is_transient(&self) -> bool {
        match self {
            ModelError::RateLimited { .. }
            | ModelError::Overloaded { .. }
            | ModelError::Server { .. }
            | ModelError::Network { .. }
            | ModelError::CutOff { .. }
            | ModelError::Malformed { .. } => true,
            ModelError::ContextOverflow { .. }
            | ModelError::Quota { .. }
            | ModelError::Unauthorized { .. }
            | ModelError::UnknownModel { .. }
            | ModelError::BadRequest { .. }
            | ModelError::Refused { .. }
            | ModelError::TooLarge { .. }
            | ModelError::Cancelled
            | ModelError::NotConfigured { .. } => false,
        }
    }

    /// How long the server asked the client to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            ModelError::RateLimited { retry_after, .. } | ModelError::Overloaded { retry_after, .. } => {
                *retry_after
            }
            _ => None,
        }
    }

    /// A short machine-readable code.
    pub fn code(&self) -> &'static str {
        match self {
            ModelError::ContextOverflow { .. } => "overflow",
            ModelError::RateLimited { .. } => "rate_limited",
            ModelError::Quota { .. } => "quota",
            ModelError::Overloaded { .. } => "overloaded",
            ModelError::Server { .. } => "server",
            ModelError::Unauthorized { .. } => "unauthorized",
            ModelError::UnknownModel { .. } => "no_such_model",
            ModelError::BadRequest { .. } => "bad_request",
            ModelError::Refused { .. } => "refused",
            ModelError::Network { .. } => "network",
            ModelError::CutOff { .. } => "cut",
            ModelError::Malformed { .. } => "malformed",
            ModelError::TooLarge { .. } => "too_large",
            ModelError::Cancelled => "cancelled",
            ModelError::NotConfigured { .. } => "not_configured",
        }
    }

    /// Passes the free text of the error through `clean`.
    pub(crate) fn map_detail(mut self, clean: impl FnOnce(&str) -> String) -> ModelError {
        match &mut self {
            ModelError::ContextOverflow { detail, .. }
            | ModelError::RateLimited { detail, .. }
            | ModelError::Quota { detail, .. }
            | ModelError::Overloaded { detail, .. }
            | ModelError::Server { detail, .. }
            | ModelError::Unauthorized { detail, .. }
            | ModelError::UnknownModel { detail, .. }
            | ModelError::BadRequest { detail, .. }
            | ModelError::Refused { detail }
            | ModelError::Network { detail, .. }
            | ModelError::CutOff { detail, .. }
            | ModelError::Malformed { detail, .. }
            | ModelError::TooLarge { detail, .. }
            | ModelError::NotConfigured { hint: detail, .. } => *detail = clean(detail),
            ModelError::Cancelled => {}
        }
        self
    }

    /// The text for users, without the trailing space that an empty server message leaves.
    pub fn message(&self) -> String {
        self.to_string().trim_end().to_owned()
    }
}

fn token_counts(needed: Option<u64>, window: Option<u64>) -> String {
    match (needed, window) {
        (Some(needed), Some(window)) => format!(" ({needed} tokens, limit {window})"),
        (None, Some(window)) => format!(" (limit {window} tokens)"),
        (Some(needed), None) => format!(" ({needed} tokens)"),
        (None, None) => String::new(),
    }
}

fn retry_hint(delay: Option<Duration>) -> String {
    delay.map_or_else(String::new, |delay| format!(" (retry after {} s)", delay.as_secs_f64().ceil()))
}

fn colon_and_detail(detail: &str) -> String {
    if detail.is_empty() { String::new() } else { format!(": {detail}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_problem_and_the_next_step() {
        let overflow =
            ModelError::ContextOverflow { needed: Some(4010), window: Some(2048), detail: String::new() };
        assert_eq!(
            overflow.message(),
            "the conversation is too long for the model (4010 tokens, limit 2048); compact it, or choose a model with a larger window."
        );
        let busy = ModelError::RateLimited {
            provider: "anthropic".to_owned(),
            retry_after: Some(Duration::from_millis(1500)),
            detail: "Too many requests".to_owned(),
        };
        assert_eq!(busy.message(), "rate limited by anthropic (retry after 2 s). Too many requests");
        assert!(busy.is_transient() && !overflow.is_transient());
    }
}
