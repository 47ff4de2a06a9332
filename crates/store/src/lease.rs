//! A lease records which process runs a turn in a session, and at which entry. The holder has exclusive use of that
//! position until the turn ends.

use std::fmt;

use osier_tree::time::Millis;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A running turn of one process. The lease of a process that died expires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    /// The id of the session in the store.
    pub session: String,
    /// The cursor that runs the turn. No other process uses the same number.
    pub cursor: u64,
    /// The entry below which the turn started. `None` is the start of the session.
    pub entry: Option<String>,
    /// The first entry of the turn, if there is one. It and its descendants belong to the turn.
    pub branch: Option<String>,
    pub process: u32,
    /// The host of the process; empty if unknown.
    pub host: String,
    /// When the lease expires unless it is renewed. `None` if it ends with its process.
    #[serde(default)]
    pub expires: Option<Millis>,
}

/// Returns whether the lease of another holder conflicts with a new one.
pub type LeaseConflictFn<'a> = &'a (dyn Fn(&Lease) -> bool + Send + Sync);

impl Lease {
    /// The process that holds the lease, as text for messages.
    pub fn holder(&self) -> String {
        match self.host.as_str() {
            "" => format!("process {}", self.process),
            host => format!("process {} on {host}", self.process),
        }
    }

    /// The fields of the JSON error for a command that is refused because of it.
    pub(crate) fn fields(&self) -> Value {
        json!({
            "holder": self.holder(),
            "process": self.process,
            "host": self.host,
            "entry": self.entry,
            "branch": self.branch,
        })
    }
}

impl fmt::Display for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The first turn of a session starts before its first entry.
        let place = self.entry.as_deref().or(self.branch.as_deref()).unwrap_or("the start of the session");
        write!(f, "{} is running a turn at {place}", self.holder())
    }
}
