//! Who runs a turn in a session, and where. Whoever holds a lease is alone at that place for as long as the turn lasts.

use std::fmt;

use osier_tree::time::Millis;
use serde::{Deserialize, Serialize};

/// See the module. A lease of a process that died ends by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    /// The name by which the store knows the session.
    pub session: String,
    /// The cursor at which the turn runs: a number that no other process uses.
    pub cursor: u64,
    /// The entry below which the turn began; none is the beginning of the session.
    pub entry: Option<String>,
    /// The first entry of the turn, once there is one. It and everything below belong to the turn.
    pub branch: Option<String>,
    pub process: u32,
    /// The machine on which the process runs; empty if unknown.
    pub host: String,
    /// When the lease ends unless it is renewed. None if it ends with its process.
    #[serde(default)]
    pub expires: Option<Millis>,
}

/// Tells whether a lease of somebody else stands in the way of a new one.
pub type InTheWay<'a> = &'a (dyn Fn(&Lease) -> bool + Send + Sync);

impl Lease {
    /// The process that holds it, for people.
    pub fn holder(&self) -> String {
        match self.host.as_str() {
            "" => format!("process {}", self.process),
            host => format!("process {} on {host}", self.process),
        }
    }
}

impl fmt::Display for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.entry.as_deref().unwrap_or("the beginning");
        write!(f, "{} is running a turn at {place}", self.holder())
    }
}
