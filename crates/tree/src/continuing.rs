//! Continuing from an entry: what becomes the leaf, what returns to the editor, or why not. Every client asks here, so that
//! all of them do the same.
//!
//! Where one lands is decided from heads alone; the chosen entry's line is needed only for the text.

use serde::Serialize;
use serde_json::Value;

use crate::entry::{Kind, Role};
use crate::fold::{Place, SessionTree};
use crate::heads::{Head, Seq};
use crate::plan::PlanError;
use crate::projection::Lines;
use crate::projection::preview::{display_text, each_block, editor_text, said_field};

/// What a person wants to go on from, and what his client knew when it asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Choice<'a> {
    pub chosen: Chosen<'a>,
    /// The leaf that the client saw. Given, it must still be the place where one stands.
    pub expected: Option<Option<&'a str>>,
    /// A turn runs where the client stands.
    pub busy: bool,
}

impl<'a> Choice<'a> {
    pub fn entry(id: &'a str) -> Choice<'a> {
        Choice { chosen: Chosen::Entry(id), ..Choice::default() }
    }
}

/// What is selected in a view of the tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Chosen<'a> {
    #[default]
    Nothing,
    /// Before the first entry.
    Root,
    /// An entry, by its id.
    Entry(&'a str),
}

/// Where one comes to stand on choosing an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Landing {
    /// Where the next entry goes.
    pub place: Place,
    /// The leaf must move there first. If not, it stands there already.
    pub moves: bool,
    /// The entry that returns to the editor to be said differently.
    pub text_of: Option<Seq>,
}

/// What the editor is filled with.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Editor {
    /// What the model got: said again as it is, the message is the same again. Markers of pasted texts are expanded in it.
    pub text: String,
    /// What the user saw in its place, for instance the name of a template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typed: Option<String>,
    /// The image blocks that belong to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Value>,
}

impl Landing {
    /// What returns to the editor; `lines` has the line of `text_of`.
    pub fn editor(&self, lines: &impl Lines) -> Option<Editor> {
        let entry = lines.entry(self.text_of?)?;
        let text = editor_text(&entry)?;
        let mut images = Vec::new();
        if let Some(content) = said_field(&entry, "content") {
            each_block(content, |kind, block| {
                images
                    .extend((kind == "image").then(|| serde_json::from_slice(block.bytes()).ok()).flatten());
            });
        }
        let typed = display_text(&entry).filter(|typed| **typed != text).map(Into::into);
        Some(Editor { text, typed, images })
    }

    /// What a client keeps until it hears that the leaf arrived. `None` if it need not move.
    pub fn pending(&self, tree: &SessionTree, at: Place, request: u64) -> Option<PendingLeaf> {
        let id = |place: Place| place.map(|seq| tree.id(seq).to_string());
        self.moves.then(|| PendingLeaf {
            target_entry_id: id(self.place),
            previous_leaf_id: id(at),
            request_id: request,
        })
    }
}

/// A move that a client asked for and that nobody confirmed yet. Meanwhile the client sends nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingLeaf {
    pub target_entry_id: Option<String>,
    pub previous_leaf_id: Option<String>,
    pub request_id: u64,
}

/// What became of a pending move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// The leaf is where it was.
    NothingYet,
    Arrived,
    /// The leaf went to a third place: the former selection is shown again. A client that waits too long does the same.
    Elsewhere,
}

impl PendingLeaf {
    /// What a snapshot or an event with this leaf means.
    pub fn hear(&self, tree: &SessionTree, leaf: Place) -> Heard {
        match () {
            () if stands_at(tree, leaf, self.target_entry_id.as_deref()) => Heard::Arrived,
            () if stands_at(tree, leaf, self.previous_leaf_id.as_deref()) => Heard::NothingYet,
            () => Heard::Elsewhere,
        }
    }
}

/// Whether a place is the one that an id names.
fn stands_at(tree: &SessionTree, place: Place, id: Option<&str>) -> bool {
    let named = id.map(|id| tree.find(id));
    named != Some(None) && tree.same_place(place, named.flatten())
}

impl SessionTree {
    /// Where one lands, standing `at` some place; see the module.
    ///
    /// Nothing chosen, or what one stands on, is going on there. A user's or a custom message is said differently: below its
    /// parent, with its text in the editor; so is a user's message that one stands on, as nobody answered it yet. Calls go with all their results. Everything else is gone on from as it is,
    /// marks as what they hang below.
    pub fn land(&self, at: Place, choice: &Choice<'_>) -> Result<Landing, PlanError> {
        if choice.busy && choice.chosen != Chosen::Nothing {
            return Err(PlanError::SessionBusy);
        }
        if choice.expected.is_some_and(|expected| !stands_at(self, at, expected)) {
            return Err(PlanError::LeafChanged { id: self.name_of(at) });
        }
        let chosen = match choice.chosen {
            Chosen::Nothing => return Ok(Landing { place: at, moves: false, text_of: None }),
            Chosen::Root => None,
            Chosen::Entry(id) => self.heads().anchor(Some(self.require_shown(id)?)),
        };
        let unanswered = chosen.is_some_and(|seq| self.head(seq).is_user());
        if self.same_place(at, chosen) && !unanswered {
            return Ok(Landing { place: at, moves: false, text_of: None });
        }
        let Some(chosen) = chosen else {
            return Ok(Landing { place: None, moves: true, text_of: None });
        };
        let head = self.head(chosen);
        let (place, text_of) = match says_again(head) {
            true => (head.parent, Some(chosen)),
            false => (Some(self.with_results(at, chosen)?), None),
        };
        Ok(Landing { place, moves: !self.same_place(at, place), text_of })
    }

    /// A place in words.
    pub(crate) fn name_of(&self, place: Place) -> String {
        place.map_or_else(|| "root".to_owned(), |seq| self.id(seq).to_string())
    }

    /// The entry itself, or the last result of the batch of calls that it belongs to.
    fn with_results(&self, at: Place, chosen: Seq) -> Result<Seq, PlanError> {
        let lacking = self.lacking_results(chosen);
        if lacking == 0 {
            return Ok(chosen);
        }
        self.last_result(at, chosen, lacking)
            .ok_or_else(|| PlanError::IncompleteToolBatch { id: self.id(chosen).to_string() })
    }

    /// How many calls are unanswered at a reply, a result or a sub-agent's entry. Results are counted as for checkpoints.
    fn lacking_results(&self, chosen: Seq) -> u32 {
        let head = self.head(chosen);
        let in_batch = matches!(head.role, Role::Assistant | Role::ToolResult)
            || matches!(head.kind, Kind::SubagentBatch | Kind::SubagentResult);
        let mut results = 0;
        for seq in self.heads().up(Some(chosen).filter(|_| in_batch)) {
            let head = self.head(seq);
            match head.role {
                Role::Assistant => return u32::from(head.calls).saturating_sub(results),
                Role::ToolResult => results += 1,
                _ => {}
            }
        }
        0
    }

    /// The result below `chosen` that makes its batch whole: on the path to `at`, else the newest.
    fn last_result(&self, at: Place, chosen: Seq, lacking: u32) -> Option<Seq> {
        let (mut open, mut last) = (vec![(chosen, lacking)], Vec::new());
        while let Some((seq, lacking)) = open.pop() {
            for child in self.children().of_entry(seq).iter().copied() {
                let head = self.head(child);
                if ends_batch(head) || self.marks().is_deleted(self.id(child).as_str()) {
                    continue;
                }
                match lacking - u32::from(head.role == Role::ToolResult) {
                    0 => last.push(child),
                    lacking => open.push((child, lacking)),
                }
            }
        }
        let on_path = last.iter().copied().find(|last| self.heads().is_ancestor(*last, at));
        on_path.or_else(|| last.into_iter().max())
    }
}

/// What one chooses in order to say it differently.
fn says_again(head: &Head) -> bool {
    head.role == Role::User || head.kind == Kind::CustomMessage
}

/// Whoever speaks next, or sums up, no longer waits for results.
fn ends_batch(head: &Head) -> bool {
    matches!(head.role, Role::User | Role::Assistant)
        || matches!(head.kind, Kind::Compaction | Kind::BranchSummary | Kind::Backtrack)
}
