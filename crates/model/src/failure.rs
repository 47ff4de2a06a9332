//! What can go wrong while a model answers, as far as a caller can do something about it.
//!
//! The texts are stored in sessions and shown to people. They never hold a key: what a server said is cleaned first.

use std::time::Duration;

/// Why there is no whole reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Compact the conversation, or choose a model with a larger window.
    #[error("the conversation is too long for the model{}; compact it, or choose a model with a larger window. {said}", sizes(*needed, *window))]
    Overflow { needed: Option<u64>, window: Option<u64>, said: String },
    #[error("{provider} asks to slow down{}. {said}", in_a_while(*retry_after))]
    RateLimited { provider: String, retry_after: Option<Duration>, said: String },
    /// Waiting does not help; paying may.
    #[error("{provider} refuses further work on this account: the quota is used up or unpaid. {said}")]
    Quota { provider: String, said: String },
    #[error("{provider} has too much to do{}; try again later, or choose another model. {said}", in_a_while(*retry_after))]
    Overloaded { provider: String, retry_after: Option<Duration>, said: String },
    #[error("{provider} failed with status {status}. {said}")]
    Server { provider: String, status: u16, said: String },
    #[error("{provider} does not accept the key; check it with `osier doctor`. {said}")]
    Unauthorized { provider: String, said: String },
    #[error("{provider} has no model {model}; `osier models` lists what there is. {said}")]
    NoSuchModel { provider: String, model: String, said: String },
    #[error("{provider} does not understand the request (status {status}). {said}")]
    BadRequest { provider: String, status: u16, said: String },
    /// The model or its provider will not answer this.
    #[error("the model declined to answer. {said}")]
    Refused { said: String },
    #[error("cannot talk to {provider}: {said}")]
    Network { provider: String, said: String },
    /// The stream ended before the reply did.
    #[error("{provider} broke off in the middle of the reply{}", colon(said))]
    Cut { provider: String, said: String },
    #[error("{provider} sent something that makes no sense: {said}")]
    Malformed { provider: String, said: String },
    #[error("cancelled")]
    Cancelled,
    /// Nothing was sent: a setting is missing or wrong.
    #[error("{provider} cannot be used yet: {hint}")]
    NotConfigured { provider: String, hint: String },
}

impl Failure {
    /// Whether the same request may succeed a little later.
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

    /// How long the server asked to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Failure::RateLimited { retry_after, .. } | Failure::Overloaded { retry_after, .. } => {
                *retry_after
            }
            _ => None,
        }
    }

    /// A short name for programs.
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

    /// The same failure with its free text passed through `clean`.
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

    /// The text for people, without the space a silent server leaves at its end.
    pub fn message(&self) -> String {
        self.to_string().trim_end().to_owned()
    }
}

fn sizes(needed: Option<u64>, window: Option<u64>) -> String {
    match (needed, window) {
        (Some(needed), Some(window)) => format!(" ({needed} tokens, {window} fit)"),
        (None, Some(window)) => format!(" ({window} tokens fit)"),
        (Some(needed), None) => format!(" ({needed} tokens)"),
        (None, None) => String::new(),
    }
}

fn in_a_while(delay: Option<Duration>) -> String {
    delay.map_or_else(String::new, |delay| format!(" for {} s", delay.as_secs_f64().ceil()))
}

fn colon(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(": {said}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_the_thing_and_what_to_do() {
        let overflow = Failure::Overflow { needed: Some(4010), window: Some(2048), said: String::new() };
        assert_eq!(
            overflow.message(),
            "the conversation is too long for the model (4010 tokens, 2048 fit); compact it, or choose a model with a larger window."
        );
        let busy = Failure::RateLimited {
            provider: "anthropic".to_owned(),
            retry_after: Some(Duration::from_millis(1500)),
            said: "Too many requests".to_owned(),
        };
        assert_eq!(busy.message(), "anthropic asks to slow down for 2 s. Too many requests");
        assert!(busy.is_transient() && !overflow.is_transient());
    }
}
