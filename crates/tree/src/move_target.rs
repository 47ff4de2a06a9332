//! Resolves a selected entry to a move: which entry becomes the leaf, what is loaded into the editor, or why the move is
//! refused. All clients use this, so that they behave the same.
//!
//! Heads alone decide the new leaf. The line of the selected entry is needed only for the editor text.

use serde::Serialize;
use serde_json::Value;

use crate::entry::{EntryKind, MessageRole};
use crate::fold::{Place, SessionTree};
use crate::heads::{Head, Seq};
use crate::plan::PlanError;
use crate::projection::Lines;
use crate::projection::preview::{display_text, each_block, editor_text, message_field};

/// What the user selected, and the state that the client saw at that time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MoveRequest<'a> {
    pub selection: Selection<'a>,
    /// The leaf that the client saw. If given, it must still be the current leaf.
    pub expected_leaf: Option<Option<&'a str>>,
    /// Whether a turn is running at the client's current position.
    pub busy: bool,
}

impl<'a> MoveRequest<'a> {
    pub fn entry(id: &'a str) -> MoveRequest<'a> {
        MoveRequest { selection: Selection::Entry(id), ..MoveRequest::default() }
    }
}

/// The selection in a view of the tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Selection<'a> {
    #[default]
    None,
    /// Before the first entry.
    Root,
    /// An entry, by its id.
    Entry(&'a str),
}

/// The result of selecting an entry: the new leaf, and the entry to edit again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoveTarget {
    /// Where the next entry goes.
    pub position: Place,
    /// Whether the leaf must move first. `false` if it is already at `place`.
    pub needs_move: bool,
    /// The message that is loaded into the editor, to be changed and sent again.
    pub editor_entry: Option<Seq>,
}

/// What is loaded into the editor.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EditorContent {
    /// The text that the model got. Sending it unchanged produces the same message. Markers of pasted text are expanded.
    pub text: String,
    /// What the user typed instead, for example the name of a template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typed: Option<String>,
    /// The image blocks of the message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Value>,
}

impl MoveTarget {
    /// What to load into the editor. `lines` must have the line of `editor_entry`.
    pub fn editor_content(&self, lines: &impl Lines) -> Option<EditorContent> {
        let entry = lines.entry(self.editor_entry?)?;
        let text = editor_text(&entry)?;
        let mut images = Vec::new();
        if let Some(content) = message_field(&entry, "content") {
            each_block(content, |kind, block| {
                images
                    .extend((kind == "image").then(|| serde_json::from_slice(block.bytes()).ok()).flatten());
            });
        }
        let typed = display_text(&entry).filter(|typed| **typed != text).map(Into::into);
        Some(EditorContent { text, typed, images })
    }
}

/// Whether `place` is the place of the entry with this id.
fn is_place_of_id(tree: &SessionTree, position: Place, id: Option<&str>) -> bool {
    let named = id.map(|id| tree.find(id));
    named != Some(None) && tree.same_place(position, named.flatten())
}

impl SessionTree {
    /// Resolves a selection while the leaf is `at`; see the module documentation.
    ///
    /// - No selection, or the current leaf: the leaf stays.
    /// - A user message or a custom message: the leaf moves to its parent, and its text is loaded into the editor. This
    ///   includes an unanswered user message at the leaf.
    /// - A tool call or result: the leaf moves to the last result of the batch.
    /// - A mark: the same as the entry it is attached to.
    /// - Anything else becomes the leaf.
    pub fn resolve_move(&self, at: Place, request: &MoveRequest<'_>) -> Result<MoveTarget, PlanError> {
        if request.busy && request.selection != Selection::None {
            return Err(PlanError::SessionBusy);
        }
        if request.expected_leaf.is_some_and(|expected| !is_place_of_id(self, at, expected)) {
            return Err(PlanError::LeafChanged { id: self.place_name(at) });
        }
        let chosen = match request.selection {
            Selection::None => return Ok(MoveTarget { position: at, needs_move: false, editor_entry: None }),
            Selection::Root => None,
            Selection::Entry(id) => self.heads().anchor(Some(self.require_visible(id)?)),
        };
        let is_user_message = chosen.is_some_and(|seq| self.head(seq).is_user());
        if self.same_place(at, chosen) && !is_user_message {
            return Ok(MoveTarget { position: at, needs_move: false, editor_entry: None });
        }
        let Some(chosen) = chosen else {
            return Ok(MoveTarget { position: None, needs_move: true, editor_entry: None });
        };
        let head = self.head(chosen);
        let (position, text_of) = match loads_into_editor(head) {
            true => (head.parent, Some(chosen)),
            false => (Some(self.end_of_tool_batch(at, chosen)?), None),
        };
        Ok(MoveTarget { position, needs_move: !self.same_place(at, position), editor_entry: text_of })
    }

    /// A place as text: the id of the entry, or `root`.
    pub(crate) fn place_name(&self, position: Place) -> String {
        position.map_or_else(|| "root".to_owned(), |seq| self.id(seq).to_string())
    }

    /// The entry itself, or the last result of the tool batch that it belongs to.
    fn end_of_tool_batch(&self, at: Place, chosen: Seq) -> Result<Seq, PlanError> {
        let lacking = self.count_missing_results(chosen);
        if lacking == 0 {
            return Ok(chosen);
        }
        self.last_result(at, chosen, lacking)
            .ok_or_else(|| PlanError::IncompleteToolBatch { id: self.id(chosen).to_string() })
    }

    /// The number of tool calls without a result at an assistant message, a tool result or a sub-agent entry. Results are
    /// counted as for checkpoints.
    fn count_missing_results(&self, chosen: Seq) -> u32 {
        let head = self.head(chosen);
        let in_batch = matches!(head.role, MessageRole::Assistant | MessageRole::ToolResult)
            || matches!(head.kind, EntryKind::SubagentBatch | EntryKind::SubagentResult);
        let mut results = 0;
        for seq in self.heads().ancestors(Some(chosen).filter(|_| in_batch)) {
            let head = self.head(seq);
            match head.role {
                MessageRole::Assistant => return u32::from(head.calls).saturating_sub(results),
                MessageRole::ToolResult => results += 1,
                _ => {}
            }
        }
        0
    }

    /// The result below `chosen` that completes its batch: the one on the path to `at`, otherwise the newest.
    fn last_result(&self, at: Place, chosen: Seq, lacking: u32) -> Option<Seq> {
        let (mut open, mut last) = (vec![(chosen, lacking)], Vec::new());
        while let Some((seq, lacking)) = open.pop() {
            for child in self.children().of_entry(seq).iter().copied() {
                let head = self.head(child);
                if ends_batch(head) || self.marks().is_deleted(self.id(child).as_str()) {
                    continue;
                }
                match lacking - u32::from(head.role == MessageRole::ToolResult) {
                    0 => last.push(child),
                    lacking => open.push((child, lacking)),
                }
            }
        }
        let on_path = last.iter().copied().find(|last| self.heads().is_ancestor(*last, at));
        on_path.or_else(|| last.into_iter().max())
    }
}

/// Whether selecting this entry loads it into the editor.
fn loads_into_editor(head: &Head) -> bool {
    head.role == MessageRole::User || head.kind == EntryKind::CustomMessage
}

/// Whether no more results of the batch can follow this entry: the next message, or a summary.
fn ends_batch(head: &Head) -> bool {
    matches!(head.role, MessageRole::User | MessageRole::Assistant)
        || matches!(head.kind, EntryKind::Compaction | EntryKind::BranchSummary | EntryKind::Backtrack)
}
