//! Confines the process of extensions to what they may do: it starts no programs and opens no sockets, and the files that it may use
//! are limited by the system too, as far as the system can.

use serde::{Deserialize, Serialize};

use crate::file_rules::FileRules;
use crate::grants::Grant;

/// What all extensions of a process may do. They have equal grants.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Confinement {
    pub(crate) rules: Vec<FileRules>,
}

/// Confines this process permanently. Returns the names of what is in force.
#[cfg(target_os = "linux")]
pub(super) fn confine(confinement: &Confinement) -> Vec<String> {
    use osier_tools::sandbox::{ProcessConfinement, confine_process};
    let rules = &confinement.rules;
    let has = |grant| rules.iter().any(|rules| rules.grants.has(grant));
    confine_process(&ProcessConfinement {
        read: rules.iter().flat_map(|rules| rules.roots.clone()).collect(),
        write: rules.iter().map(|rules| rules.data_folder.clone()).collect(),
        hide: rules.first().map(|rules| rules.protected.clone()).unwrap_or_default(),
        reads_all: has(Grant::ReadFiles),
        writes_all: has(Grant::WriteFiles),
    })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn confine(_: &Confinement) -> Vec<String> {
    Vec::new()
}
