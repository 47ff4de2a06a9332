//! Asking the user whether a tool may run.

use async_trait::async_trait;
use osier_tools::approvals::{Allowance, Why};
use osier_tools::{Change, ToolCall};

/// A call that needs a word from the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub call: ToolCall,
    /// Exactly what would run or change.
    pub what: Change,
    pub why: Why,
    /// What may be allowed for the rest of the session, the narrowest first.
    pub offers: Vec<Allowance>,
}

/// The user's word.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Once,
    Always(Allowance),
    /// The model is told so, and why.
    No(String),
}

/// Asks whoever can answer.
#[async_trait]
pub trait Asker: Send + Sync + std::fmt::Debug {
    async fn ask(&self, question: Question) -> Answer;
}

/// Nobody is there to ask: what needs asking is refused.
#[derive(Debug, Clone, Copy, Default)]
pub struct Refuser;

#[async_trait]
impl Asker for Refuser {
    async fn ask(&self, _question: Question) -> Answer {
        Answer::No("nobody is here who could approve it".to_owned())
    }
}
