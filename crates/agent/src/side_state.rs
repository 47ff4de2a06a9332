//! State that follows from the path: the files that the model has read, and its to-do list. Replayed from the
//! tool results on the path, so a move also moves this state.
//!
//! A long path is replayed once. After that, only entries below the known position are read.

use std::collections::HashMap;
use std::sync::Arc;

use osier_session::{Session, SessionState};
use osier_store::StoreError;
use osier_tools::{FileStamp, FilesRead, Todo, todos_from_details};
use osier_tree::entry::{Entry, parse_entry};
use osier_tree::scan::RawJson;
use osier_tree::{EntryKind, MessageRole, Place, Seq, SessionTree};
use serde::Deserialize;
use serde_json::Value;

use crate::context::AgentContext;
use crate::error::AgentError;
use crate::tail::{RecordedCall, tool_calls};

/// The files read and the to-do list at a position.
#[derive(Debug, Clone)]
pub struct SideState {
    pub files: Arc<FilesRead>,
    pub todos: Vec<Todo>,
    /// The tool calls of the last reply. Sessions of other programs name a file only there, not in the
    /// result.
    calls: HashMap<String, RecordedCall>,
}

impl Default for SideState {
    fn default() -> SideState {
        SideState { files: Arc::new(FilesRead::tracking()), todos: Vec::new(), calls: HashMap::new() }
    }
}

impl SideState {
    /// Applies the next entry of the path.
    pub fn apply_entry(&mut self, entry: &Entry<'_>) {
        match entry.role {
            MessageRole::Assistant => {
                self.calls = tool_calls(entry).into_iter().map(|call| (call.id.clone(), call)).collect();
            }
            MessageRole::ToolResult => self.apply_result(entry),
            _ => {}
        }
    }

    fn apply_result(&mut self, entry: &Entry<'_>) {
        let Some(message) = entry.message else { return };
        let text = |key: &str| message.get(key).and_then(RawJson::text).unwrap_or_default();
        let call = self.calls.get(&*text("toolCallId"));
        let name = match text("toolName") {
            name if name.is_empty() => call.map(|call| call.name.clone()).unwrap_or_default(),
            name => name.into_owned(),
        };
        if !matches!(name.as_str(), "read" | "write" | "edit" | "todo") {
            return;
        }
        let details: Value = parse_field(message, "details");
        let failed = parse_field(message, "isError") == Value::Bool(true);
        if let Some(todos) = todos_from_details(&details).filter(|_| name == "todo" && !failed) {
            self.todos = todos;
        }
        let named = details.get("path").or_else(|| call.and_then(|call| call.arguments.get("path")));
        if let Some(path) = named.and_then(Value::as_str).filter(|_| name != "todo" && !failed) {
            let stamp = details.get("stamp").and_then(|stamp| FileStamp::deserialize(stamp).ok());
            Arc::make_mut(&mut self.files).insert(path, stamp);
        }
    }
}

fn parse_field(message: RawJson<'_>, key: &str) -> Value {
    message.get(key).and_then(|raw| serde_json::from_slice(raw.bytes()).ok()).unwrap_or_default()
}

/// A replay and its position.
#[derive(Debug, Default)]
pub(crate) struct SideStateReplay {
    state: SideState,
    at: Place,
    generation: u64,
}

/// The entries on the path to `at` that a replay needs, oldest first, and whether they start directly below
/// `known`. If not, they cover the whole path.
fn entries_to_replay(tree: &SessionTree, at: Place, known: Place) -> (Vec<Seq>, bool) {
    let mut entries = Vec::new();
    let mut above = at;
    while above != known {
        let Some(seq) = above else { break };
        let head = tree.head(seq);
        let is_relevant =
            head.role == MessageRole::ToolResult || (head.role == MessageRole::Assistant && head.calls > 0);
        if head.kind == EntryKind::Message && is_relevant {
            entries.push(seq);
        }
        above = head.parent;
    }
    entries.reverse();
    (entries, above == known)
}

impl SideStateReplay {
    async fn advance_to(
        &mut self,
        session: &Session,
        state: &SessionState,
        at: Place,
    ) -> Result<(), StoreError> {
        if self.generation != state.version.generation {
            *self = SideStateReplay { generation: state.version.generation, ..SideStateReplay::default() };
        }
        let (wanted, continues) = entries_to_replay(&state.tree, at, self.at);
        if !continues {
            self.state = SideState::default();
        }
        // If reading fails, the next replay starts over.
        self.at = None;
        let mut side = std::mem::take(&mut self.state);
        session
            .for_each_line(state.version, &wanted, |_, line| {
                if let Ok(entry) = parse_entry(line) {
                    side.apply_entry(&entry);
                }
                Ok::<_, StoreError>(())
            })
            .await?;
        (self.state, self.at) = (side, at);
        Ok(())
    }
}

impl AgentContext {
    /// The side state at the cursor.
    pub(crate) async fn side_state(&self) -> Result<SideState, AgentError> {
        let (state, at) = self.position();
        let mut replay = self.side_state_replay.lock().await;
        replay.advance_to(&self.session, &state, at).await?;
        Ok(replay.state.clone())
    }
}
