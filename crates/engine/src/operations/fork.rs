//! Forking: a path of one session becomes the start of another. The source stays unchanged.

use osier_agent::hooks::{ForkPosition, ForkPreparation, HookContext, HookEvent, Permission};
use osier_model::CancellationToken;
use osier_session::Session;
use osier_tree::move_target::EditorContent;
use osier_tree::{MoveRequest, Place};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::operations::switch::{leaf_id, session_location};
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
    /// Creates a session with a path of another one. `None` if a hook refused; then nothing changed.
    pub async fn fork(
        &self,
        source: &Session,
        request: &ForkRequest,
    ) -> Result<Option<ForkedSession>, EngineError> {
        let (at, editor) = fork_point(source, &request.from).await?;
        // An empty path is of use only if there is text to send next.
        if at.is_none() && editor.is_none() {
            return Err(EngineError::NothingToFork);
        }
        if self.ask_before_fork(source, request, at).await == Permission::Refuse {
            return Ok(None);
        }
        let store = match &request.store {
            Some(name) => self.require_store(name, "")?,
            None => source.store().clone(),
        };
        let header = source.fork_header(&*store).await?;
        let opened = store.create_from(&header, &mut source.fork_lines(at, request.name.as_deref())).await?;
        let stored = StoredSession { store, key: header.id, opened };
        tracing::info!(from = source.id(), to = %stored.key, "forked a session");
        let location = stored.file().map(|file| file.to_string_lossy().into_owned());
        let location = location.unwrap_or_else(|| stored.key.clone());
        self.observe(source, || HookEvent::SessionForked {
            previous_session_file: session_location(source),
            new_session_file: location,
        })
        .await;
        Ok(Some(ForkedSession { stored, editor }))
    }

    async fn ask_before_fork(&self, source: &Session, request: &ForkRequest, at: Place) -> Permission {
        let hooks = &self.config().hooks;
        if hooks.is_empty() {
            return Permission::Allow;
        }
        let last = at.map(|seq| source.tree().id(seq).to_string());
        let preparation = match &request.from {
            ForkFrom::Entry(entry) => {
                // The user may have typed the start of an id.
                let tree = source.tree();
                let chosen = tree.resolve(entry).ok().map(|seq| tree.id(seq).to_string());
                let is_before = chosen != last;
                let position = if is_before { ForkPosition::Before } else { ForkPosition::At };
                ForkPreparation { entry_id: chosen, position }
            }
            ForkFrom::CurrentPosition | ForkFrom::Exactly(_) => {
                ForkPreparation { entry_id: last, position: ForkPosition::At }
            }
        };
        let (leaf, cancel) = (leaf_id(source), CancellationToken::new());
        hooks.before_fork(&preparation, &HookContext::new(source, leaf.as_ref(), &cancel)).await
    }
}

/// The last place of the path to copy, and the content for the editor.
async fn fork_point(
    source: &Session,
    from: &ForkFrom,
) -> Result<(Place, Option<EditorContent>), EngineError> {
    let tree = source.tree();
    let entry = match from {
        ForkFrom::CurrentPosition => return Ok((source.main_cursor().position(), None)),
        ForkFrom::Exactly(entry) => return Ok((resolve_place(&tree, Some(entry))?, None)),
        ForkFrom::Entry(entry) => resolve_place(&tree, Some(entry))?,
    };
    let Some(entry) = entry else { return Ok((None, None)) };
    // The new session has no position yet, so no choice is "already there".
    let target = tree.resolve_move(None, &MoveRequest::entry(tree.id(entry).as_str()))?;
    let lines = read_lines(source, target.editor_entry.as_slice()).await?;
    Ok((target.position, target.editor_content(&lines)))
}
