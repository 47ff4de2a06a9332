//! One entry: its content, and where it is in the tree.

use osier_protocol::EntryId;
use osier_store::StoreError;
use osier_tree::entry::parse_entry;
use osier_tree::projection::json::entry_json;
use osier_tree::time::Millis;
use osier_tree::{Entry, EntryKind, Seq, SessionTree};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::reading::resolve_entry;
use crate::stored::StoredSession;

/// An entry of a session.
#[derive(Debug, Clone)]
pub struct EntryDetails {
    pub id: EntryId,
    pub kind: EntryKind,
    /// `None` for a root.
    pub parent: Option<EntryId>,
    pub children: Vec<EntryId>,
    pub time: Option<Millis>,
    pub label: Option<String>,
    pub location: EntryLocation,
    /// The entry as JSON output shows it.
    pub json: Vec<u8>,
    /// The JSON of its message, if it is a message.
    pub message: Option<Vec<u8>>,
}

/// Which branch an entry is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryLocation {
    ActivePath,
    OtherBranch,
    DeletedBranch,
}

impl Engine {
    /// The entry with this id, or with a unique prefix of it. A batch of sub-agents has its latest status.
    pub async fn entry(&self, stored: &StoredSession, id: &str) -> Result<EntryDetails, EngineError> {
        let live = self.open_briefly(stored).await?;
        let state = live.session().state();
        let seq = resolve_entry(&state.tree, id)?;
        let mut details = None;
        let read = |seq: Seq, line: &[u8]| {
            details = parse_entry(line).ok().map(|entry| entry_details(&state.tree, seq, &entry));
            Ok::<_, StoreError>(())
        };
        live.session().for_each_current_line(&state, &[seq], read).await?;
        details.ok_or_else(|| EngineError::UnreadableEntry { id: id.to_owned() })
    }
}

fn entry_details(tree: &SessionTree, seq: Seq, entry: &Entry<'_>) -> EntryDetails {
    let (head, id) = (tree.head(seq), |seq: Seq| tree.id(seq).to_entry_id());
    let location = match (tree.is_hidden(seq), tree.heads().is_ancestor(seq, tree.leaf())) {
        (true, _) => EntryLocation::DeletedBranch,
        (false, true) => EntryLocation::ActivePath,
        (false, false) => EntryLocation::OtherBranch,
    };
    EntryDetails {
        id: id(seq),
        kind: head.kind,
        parent: head.parent.map(id),
        children: tree.children().of_entry(seq).iter().copied().map(id).collect(),
        time: head.time(),
        label: tree.label(seq).map(|label| label.text.to_string()),
        location,
        json: entry_json(entry).into_owned(),
        message: entry
            .message
            .filter(|_| head.kind == EntryKind::Message)
            .map(|message| message.bytes().to_vec()),
    }
}
