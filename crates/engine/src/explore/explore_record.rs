//! What must be known of an explore after the process that started it.

use std::collections::BTreeMap;

use osier_protocol::explore::{FileChange, TryPlace, TryStatus};
use osier_protocol::{EntryId, SessionRef};
use serde::{Deserialize, Serialize};

use super::project_copy::ProjectRoot;

/// See the module documentation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExploreRecord {
    pub(super) id: String,
    pub(super) session: SessionRef,
    pub(super) session_id: String,
    pub(super) cwd: String,
    pub(super) prompt: String,
    pub(super) created: i64,
    pub(super) start_id: Option<EntryId>,
    pub(super) place: TryPlace,
    pub(super) project: Option<ProjectRoot>,
    /// The leaf has not returned to the start yet.
    pub(super) running: bool,
    /// All tries are in the log. Before, none of them works.
    #[serde(default = "yes")]
    pub(super) started: bool,
    /// How many tries were started.
    #[serde(default)]
    pub(super) tries: u32,
    /// How the tries ended, once all of them have: a log does not tell that a command was canceled.
    #[serde(default)]
    pub(super) ends: BTreeMap<u32, TryEnd>,
    #[serde(default)]
    pub(super) kept: Option<KeptFiles>,
    /// What the tries changed whose copies were removed.
    #[serde(default)]
    pub(super) removed: BTreeMap<u32, RemovedFiles>,
}

/// How a try ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TryEnd {
    pub(super) status: TryStatus,
    pub(super) error: Option<String>,
}

/// Of older versions nobody knows, and what may be there must not be lost.
fn yes() -> bool {
    true
}

/// How many files of a try are stored. Every start of an agent reads the records of all explores.
const MAX_FILES: usize = 100;

/// What a try changed whose copy was removed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredRemovedFiles")]
pub(super) struct RemovedFiles {
    pub(super) count: usize,
    /// The first ones.
    pub(super) files: Vec<FileChange>,
}

/// Older versions stored all files.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredRemovedFiles {
    All(Vec<FileChange>),
    First { count: usize, files: Vec<FileChange> },
}

impl RemovedFiles {
    pub(super) fn new(mut files: Vec<FileChange>) -> RemovedFiles {
        let count = files.len();
        files.truncate(MAX_FILES);
        RemovedFiles { count, files }
    }
}

impl From<StoredRemovedFiles> for RemovedFiles {
    fn from(stored: StoredRemovedFiles) -> RemovedFiles {
        match stored {
            StoredRemovedFiles::All(files) => RemovedFiles::new(files),
            StoredRemovedFiles::First { count, files } => RemovedFiles { count, files },
        }
    }
}

/// The try whose changes are in the working directory, and the tree of its files at that time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredKeptFiles")]
pub(super) struct KeptFiles {
    pub(super) number: u32,
    /// `None` if an older version kept it.
    pub(super) tree: Option<String>,
}

/// Older versions stored only the number.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredKeptFiles {
    Number(u32),
    Files { number: u32, tree: Option<String> },
}

impl From<StoredKeptFiles> for KeptFiles {
    fn from(stored: StoredKeptFiles) -> KeptFiles {
        match stored {
            StoredKeptFiles::Number(number) => KeptFiles { number, tree: None },
            StoredKeptFiles::Files { number, tree } => KeptFiles { number, tree },
        }
    }
}

#[cfg(test)]
mod tests {
    use osier_protocol::explore::FileChangeKind;
    use serde_json::json;

    use super::*;

    #[test]
    fn of_a_try_that_changed_many_files_the_first_ones_and_their_number_are_stored() {
        let file = |at: usize| FileChange { path: format!("{at}.txt"), change: FileChangeKind::Added };
        let files: Vec<FileChange> = (0..MAX_FILES + 50).map(file).collect();
        let removed = RemovedFiles::new(files.clone());
        assert_eq!((removed.count, &removed.files[..]), (MAX_FILES + 50, &files[..MAX_FILES]));
        for stored in [json!(files), json!(removed)] {
            assert_eq!(serde_json::from_value::<RemovedFiles>(stored).unwrap(), removed);
        }
    }
}
