//! The second beat: before a planned entry is written, a gate may alter or refuse it.
//!
//! A gate runs in the caller's task and may take as long as it needs. It is asked again if the plan had to change.

use std::fmt::Debug;

use async_trait::async_trait;
use osier_tree::{Draft, Place, SessionTree};

/// Asked before a change.
#[async_trait]
pub trait Gate: Send + Sync + Debug {
    async fn ask(&self, change: Change<'_>) -> Verdict;
}

/// A change that waits for its verdict.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    pub tree: &'a SessionTree,
    /// Where whoever asks for the change stands.
    pub at: Place,
    pub draft: &'a Draft,
}

/// What a gate says.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    Pass,
    /// This draft instead.
    Alter(Draft),
    /// Silently nothing: no error, and everything as before.
    Refuse,
}
