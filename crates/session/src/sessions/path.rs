//! `getActivePath`: the entries from the root to the leaf, and where a damaged log ends that way too early.

use osier_store::PagedHeads;
use osier_tree::entry::read_entry;
use osier_tree::header;

use super::Sessions;
use crate::error::Error;

/// The entries from the root to the leaf, the oldest first, as programs see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivePath {
    pub entries: Vec<Vec<u8>>,
    /// Why there is no more of it. What there is can be used.
    pub broken: Option<Broken>,
}

/// What is wrong with the first entry of a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    #[error("entry {id} hangs below {parent}, which is not in the log")]
    MissingParent { id: String, parent: String },
    #[error("entry {id} hangs below {parent}, which hangs below it")]
    Circle { id: String, parent: String },
}

impl Sessions {
    /// See the module. Costs what the path holds, however long the log is.
    pub async fn active_path(&self, id: &str) -> Result<ActivePath, Error> {
        if !header::is_valid_id(id) {
            return Err(self.not_found(id));
        }
        let version = self.store().open(id).await?.version;
        let mut heads = PagedHeads::new(&**self.store(), id, version);
        let leaf = heads.leaf().await?;
        let path = heads.path(leaf).await?;
        let entries = self.entries(id, version.generation, &path).await?;
        let broken = match entries.first().and_then(|first| named_parent(first)) {
            Some((entry, parent)) => Some(self.broken(id, entry, parent).await?),
            None => None,
        };
        Ok(ActivePath { entries, broken })
    }

    async fn broken(&self, session: &str, id: String, parent: String) -> Result<Broken, Error> {
        Ok(match self.open(session).await?.tree().find(&parent) {
            Some(_) => Broken::Circle { id, parent },
            None => Broken::MissingParent { id, parent },
        })
    }
}

/// The ids of a root and of the parent that it names all the same.
fn named_parent(root: &[u8]) -> Option<(String, String)> {
    let entry = read_entry(root).ok()?;
    Some((entry.id.to_string(), entry.parent?.into_owned()))
}
