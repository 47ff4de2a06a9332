//! The errors of a model call, distinguished by what the caller can do about them.
//!
//! The messages are stored in sessions and shown to users. They never contain a key: text from a server is redacted first.

use std::time::Duration;

/// Why a reply is missing or incomplete.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Compact the conversation, or choose a model with a larger window.
    #[error("the conversation is too long for the model{}; compact it, or choose a model with a larger window. {said}", sizes(*needed, *window))]
    Overflow { needed: Option<u64>, window: Option<u64>, said: String },
    #[error("rate limited by {provider}{}. {said}", in_a_while(*retry_after))]
    RateLimited { provider: String, retry_after: Option<Duration>, said: String },
    /// The account is out of credit; retrying does not help.
    #[error("{provider} rejected the request: the quota or credit of the account is used up. {said}")]
    Quota { provider: String, said: String },
    #[error("{provider} is overloaded{}; try again later or choose another model. {said}", in_a_while(*retry_after))]
    Overloaded { provider: String, retry_after: Option<Duration>, said: String },
    #[error("{provider} failed with status {status}. {said}")]
    Server { provider: String, status: u16, said: String },
    #[error("{provider} rejected the API key; check it with `osier doctor`. {said}")]
    Unauthorized { provider: String, said: String },
    #[error("{provider} has no model {model}; `osier models` lists the available models. {said}")]
    NoSuchModel { provider: String, model: String, said: String },
    #[error("{provider} rejected the request (status {status}). {said}")]
    BadRequest { provider: String, status: u16, said: String },
    /// The model or its provider refused to answer this prompt.
    #[error("the model declined to answer. {said}")]
    Refused { said: String },
    #[error("cannot reach {provider}: {said}")]
    Network { provider: String, said: String },
    /// The stream ended before the reply did.
    #[error("the reply from {provider} was cut off{}", colon(said))]
    Cut { provider: String, said: String },
    #[error("unexpected response from {provider}: {said}")]
    Malformed { provider: String, said: String },
    #[error("cancelled")]
    Cancelled,
    /// A setting is missing or wrong.
    #[error("cannot use {provider}: {hint}")]
    NotConfigured { provider: String, hint: String },
}

impl Failure {
    /// Whether the same request may succeed if retried.
    pub fn is_transient(&self) -> bool {
        match self {
            Failure::RateLimited { .. }
            | Failure::Overloaded { .. }
            | Failure::Server { .. }
            | Failure::Network { .. }
            | Failure::Cut { .. }
            | Failure::Malformed { .. } => true,
            Failure::Overflow { .. }
            | Failure::Quota { .. }
            | Failure::Unauthorized { .. }
            | Failure::NoSuchModel { .. }
            | Failure::BadRequest { .. }
            | Failure::Refused { .. }
            | Failure::Cancelled
            | Failure::NotConfigured { .. } => false,
        }
    }

    /// How long the server asked the client to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Failure::RateLimited { retry_after, .. } | Failure::Overloaded { retry_after, .. } => {
                *retry_after
            }
            _ => None,
        }
    }

    /// A short machine-readable code.
    pub fn kind(&self) -> &'static str {
        match self {
            Failure::Overflow { .. } => "overflow",
            Failure::RateLimited { .. } => "rate_limited",
            Failure::Quota { .. } => "quota",
            Failure::Overloaded { .. } => "overloaded",
            Failure::Server { .. } => "server",
            Failure::Unauthorized { .. } => "unauthorized",
            Failure::NoSuchModel { .. } => "no_such_model",
            Failure::BadRequest { .. } => "bad_request",
            Failure::Refused { .. } => "refused",
            Failure::Network { .. } => "network",
            Failure::Cut { .. } => "cut",
            Failure::Malformed { .. } => "malformed",
            Failure::Cancelled => "cancelled",
            Failure::NotConfigured { .. } => "not_configured",
        }
    }

    /// Passes the free text of the error through `clean`.
    pub(crate) fn map_said(mut self, clean: impl FnOnce(&str) -> String) -> Failure {
        match &mut self {
            Failure::Overflow { said, .. }
            | Failure::RateLimited { said, .. }
            | Failure::Quota { said, .. }
            | Failure::Overloaded { said, .. }
            | Failure::Server { said, .. }
            | Failure::Unauthorized { said, .. }
            | Failure::NoSuchModel { said, .. }
            | Failure::BadRequest { said, .. }
            | Failure::Refused { said }
            | Failure::Network { said, .. }
            | Failure::Cut { said, .. }
            | Failure::Malformed { said, .. }
            | Failure::NotConfigured { hint: said, .. } => *said = clean(said),
            Failure::Cancelled => {}
        }
        self
    }

    /// The text for users, without the trailing space that an empty server message leaves.
    pub fn message(&self) -> String {
        self.to_string().trim_end().to_owned()
    }
}

fn sizes(needed: Option<u64>, window: Option<u64>) -> String {
    match (needed, window) {
        (Some(needed), Some(window)) => format!(" ({needed} tokens, limit {window})"),
        (None, Some(window)) => format!(" (limit {window} tokens)"),
        (Some(needed), None) => format!(" ({needed} tokens)"),
        (None, None) => String::new(),
    }
}

fn in_a_while(delay: Option<Duration>) -> String {
    delay.map_or_else(String::new, |delay| format!(" (retry after {} s)", delay.as_secs_f64().ceil()))
}

fn colon(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(": {said}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_problem_and_the_next_step() {
        let overflow = Failure::Overflow { needed: Some(4010), window: Some(2048), said: String::new() };
        assert_eq!(
            overflow.message(),
            "the conversation is too long for the model (4010 tokens, limit 2048); compact it, or choose a model with a larger window."
        );
        let busy = Failure::RateLimited {
            provider: "anthropic".to_owned(),
            retry_after: Some(Duration::from_millis(1500)),
            said: "Too many requests".to_owned(),
        };
        assert_eq!(busy.message(), "rate limited by anthropic (retry after 2 s). Too many requests");
        assert!(busy.is_transient() && !overflow.is_transient());
    }
}
