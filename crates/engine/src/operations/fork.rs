//! Forking: a path of one session becomes the start of another. The source stays unchanged.

use osier_agent::Gates;
use osier_session::Session;
use osier_tree::move_target::EditorContent;
use osier_tree::{MoveRequest, Place};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::reading::{read_lines, resolve_place};
use crate::stored::StoredSession;

/// What to fork.
#[derive(Debug, Clone, Default)]
pub struct ForkRequest {
    pub from: ForkFrom,
    /// The store of the new session; the store of the source by default.
    pub store: Option<String>,
    /// The name of the new session.
    pub name: Option<String>,
}

/// The end of the path to copy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ForkFrom {
    #[default]
    CurrentPosition,
    /// Up to and including exactly this entry, even if it is a user message.
    Exactly(String),
    /// Where a move to this entry would end: before a user message, whose text returns to the editor.
    Entry(String),
}

/// A new session.
#[derive(Debug)]
pub struct ForkedSession {
    pub stored: StoredSession,
    /// The content for the editor.
    pub editor: Option<EditorContent>,
}

impl Engine {
    /// Creates a session with a path of another one.
    pub async fn fork(&self, source: &Session, request: &ForkRequest) -> Result<ForkedSession, EngineError> {
        let (at, editor) = fork_point(source, &request.from).await?;
        // An empty path is of use only if there is text to send next.
        if at.is_none() && editor.is_none() {
            return Err(EngineError::NothingToFork);
        }
        let last = at.map(|seq| source.tree().id(seq).to_string());
        if !self.config().hooks.before_fork(last.as_deref()).await {
            return Err(EngineError::Refused);
        }
        let store = match &request.store {
            Some(name) => self.require_store(name, "")?,
            None => source.store().clone(),
        };
        let header = source.fork_header(&*store).await?;
        let opened = store.create_from(&header, &mut source.fork_lines(at, request.name.as_deref())).await?;
        Ok(ForkedSession { stored: StoredSession { store, key: header.id, opened }, editor })
    }
}

/// The last place of the path to copy, and the content for the editor.
async fn fork_point(
    source: &Session,
    from: &ForkFrom,
) -> Result<(Place, Option<EditorContent>), EngineError> {
    let tree = source.tree();
    let entry = match from {
        ForkFrom::CurrentPosition => return Ok((source.main_cursor().place(), None)),
        ForkFrom::Exactly(entry) => return Ok((resolve_place(&tree, Some(entry))?, None)),
        ForkFrom::Entry(entry) => resolve_place(&tree, Some(entry))?,
    };
    let Some(entry) = entry else { return Ok((None, None)) };
    // The new session has no position yet, so no choice is "already there".
    let target = tree.resolve_move(None, &MoveRequest::entry(tree.id(entry).as_str()))?;
    let lines = read_lines(source, target.editor_entry.as_slice()).await?;
    Ok((target.place, target.editor_content(&lines)))
}
