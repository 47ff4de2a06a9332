//! `getActivePath`: the entries from the root to the leaf, and where the path is broken in a damaged log.

use osier_tree::Entry;
use osier_tree::entry::parse_entry;
use osier_tree::projection::json::entry_json;

use super::SessionOperations;
use crate::error::EngineError;

/// The entries from the root to the leaf, oldest first, as JSON output shows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivePath {
    pub entries: Vec<Vec<u8>>,
    /// Why the path is incomplete. The entries can still be used.
    pub broken: Option<PathError>,
}

/// What is wrong with the parent of the first entry of a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("entry {id} has parent {parent}, which is not in the log")]
    MissingParent { id: String, parent: String },
    #[error("entry {id} and its parent {parent} form a cycle")]
    Cycle { id: String, parent: String },
}

impl SessionOperations {
    /// `getActivePath`. The cost depends on the length of the path, not of the log.
    pub async fn active_path(&self) -> Result<ActivePath, EngineError> {
        self.active_path_within(usize::MAX).await
    }

    /// The same, and an error if the entries have more bytes than this.
    pub async fn active_path_within(&self, max_bytes: usize) -> Result<ActivePath, EngineError> {
        let (mut entries, mut bytes) = (Vec::new(), 0);
        let read = |entry: &Entry<'_>| -> Result<(), EngineError> {
            let json = entry_json(entry).into_owned();
            bytes += json.len();
            if bytes > max_bytes {
                return Err(EngineError::AnswerTooLarge { what: "path" });
            }
            entries.push(json);
            Ok(())
        };
        self.engine.for_each_path_entry(&self.stored, None, read).await?;
        let broken = match entries.first().and_then(|first| named_parent(first)) {
            Some((entry, parent)) => Some(self.path_error(entry, parent).await?),
            None => None,
        };
        Ok(ActivePath { entries, broken })
    }

    async fn path_error(&self, id: String, parent: String) -> Result<PathError, EngineError> {
        Ok(match self.open().await?.session().tree().find(&parent) {
            Some(_) => PathError::Cycle { id, parent },
            None => PathError::MissingParent { id, parent },
        })
    }
}

/// The ids of the first entry and of its missing parent.
fn named_parent(root: &[u8]) -> Option<(String, String)> {
    let entry = parse_entry(root).ok()?;
    Some((entry.id.to_string(), entry.parent?.into_owned()))
}
