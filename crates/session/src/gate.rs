//! Gates: a gate can alter or refuse a planned entry before it is written.
//!
//! A gate runs in the caller's task and can take as long as it needs. It is called again if the plan changes.

use std::fmt::Debug;

use async_trait::async_trait;
use osier_tree::{EntryDraft, Place, SessionTree};

/// Reviews changes before they are written.
#[async_trait]
pub trait Gate: Send + Sync + Debug {
    async fn review(&self, change: PlannedChange<'_>) -> GateVerdict;
}

/// A planned change.
#[derive(Debug, Clone, Copy)]
pub struct PlannedChange<'a> {
    pub tree: &'a SessionTree,
    /// The position that the change is planned from.
    pub at: Place,
    pub draft: &'a EntryDraft,
}

/// The decision of a gate.
#[derive(Debug, Clone, PartialEq)]
pub enum GateVerdict {
    Pass,
    /// Write this draft instead.
    Alter(EntryDraft),
    /// Write nothing. The commit returns `Cancelled`, which is not an error.
    Refuse,
}
