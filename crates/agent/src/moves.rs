//! Moving to another position in the tree, optionally with a summary of the branch that is left. One entry
//! does it: the summary below the new position, or a move. A label is stored afterward as a mark. If anything
//! fails or is canceled before that entry is stored, nothing changes.

use osier_model::CancellationToken;
use osier_protocol::{Image, MoveCommand, MoveReply};
use osier_session::{CommitOutcome, SessionError, SessionState, TurnGuard};
use osier_tree::abandoned_branch::AbandonedBranch;
use osier_tree::move_target::EditorContent;
use osier_tree::{MoveRequest, MoveTarget, Place, Selection, SessionTree};
use serde::Deserialize;

use crate::context::AgentContext;
use crate::error::AgentError;
use crate::hooks::{ExtensionSummary, MovePreparation, entry_id};
use crate::model_choice::ModelChoice;
use crate::queue::into_prompts;
use crate::summarizer::SummaryError;

/// The hooks' decision about a move.
enum GateDecision {
    Passed(Box<MovePreparation>, Option<ExtensionSummary>),
    Refused,
    Stopped,
}

/// Where a move ends, starting from `at`.
pub fn resolve_move(command: &MoveCommand, tree: &SessionTree, at: Place) -> Result<MoveTarget, AgentError> {
    let Some(target) = &command.target_id else {
        let root = MoveRequest { selection: Selection::Root, ..MoveRequest::default() };
        return Ok(tree.resolve_move(at, &root)?);
    };
    if command.exact {
        let position = Some(tree.require_visible(target)?);
        return Ok(MoveTarget { position, needs_move: !tree.same_place(at, position), editor_entry: None });
    }
    Ok(tree.resolve_move(at, &MoveRequest::entry(target))?)
}

/// Adds what goes into the editor.
fn with_editor(reply: MoveReply, editor: Option<EditorContent>) -> MoveReply {
    let Some(EditorContent { text, typed, images }) = editor else { return reply };
    let editor_images = images.into_iter().filter_map(|block| Image::deserialize(block).ok()).collect();
    MoveReply { editor_text: Some(text), typed_text: typed, editor_images, ..reply }
}

impl AgentContext {
    pub(crate) async fn move_leaf(
        &self,
        command: &MoveCommand,
        cancel: &CancellationToken,
    ) -> Result<MoveReply, AgentError> {
        if let Some(expected) = &command.expected_leaf_id {
            self.check_leaf(expected.as_deref()).await?;
        }
        let (state, at) = self.position();
        let target = resolve_move(command, &state.tree, at)?;
        let text_of: Vec<_> = target.editor_entry.into_iter().collect();
        let editor = target.editor_content(&self.read_lines(&state, &text_of).await?);
        if !target.needs_move {
            self.set_label(command.label.as_deref(), command.target_id.as_deref()).await?;
            return Ok(with_editor(self.unmoved(), editor));
        }
        self.cursor.check_no_foreign_turn(&state.tree, target.position).await?;
        // Text that returns to the editor is not part of the branch left behind, and neither are tool results
        // at the target.
        let branch = state.tree.abandoned_branch(at, target.editor_entry.or(target.position));
        let (preparation, own) = match self.ask_before_move_gate(command, &state.tree, &branch, cancel).await
        {
            GateDecision::Passed(preparation, own) => (preparation, own),
            GateDecision::Refused => return Ok(MoveReply { cancelled: true, ..self.unmoved() }),
            GateDecision::Stopped => return Ok(self.aborted_move()),
        };
        let from_hook = preparation.user_wants_summary && own.is_some();
        let written = match self.make_branch_summary(&state, &branch, &preparation, own, cancel).await {
            Err(AgentError::Summary(SummaryError::Canceled)) => return Ok(self.aborted_move()),
            written => written?,
        };
        let choice = self.model_choice().await?;
        let outcome = match &written {
            None => self.move_cursor(command, &state, target.position).await?,
            Some(written) => self.store_branch_summary(&state.tree, at, target.position, written).await?,
        };
        if outcome == CommitOutcome::Cancelled {
            return Ok(MoveReply { cancelled: true, ..self.unmoved() });
        }
        self.after_move(choice);
        let summary_entry = outcome.stored().filter(|_| written.is_some()).map(|stored| stored.id);
        let labeled = summary_entry.as_deref().or(preparation.target_id.as_deref());
        self.set_label(preparation.label.as_deref(), labeled).await?;
        let returned = into_prompts(self.clear_queue().await?);
        let from_hook = from_hook && summary_entry.is_some();
        self.observe_move(entry_id(&state.tree, at), summary_entry.clone(), from_hook).await;
        Ok(with_editor(MoveReply { summary_entry, returned, ..self.unmoved() }, editor))
    }

    /// Begins a turn if the cursor is at this entry. Nothing else moves the cursor until the turn ends.
    pub(crate) async fn begin_turn_at(&self, expected: Option<&str>) -> Result<TurnGuard, AgentError> {
        // The cursor follows other processes only between turns.
        self.session.refresh().await?;
        let turn = self.cursor.begin_turn().await?;
        self.check_leaf(expected).await?;
        Ok(turn)
    }

    /// Fails unless the cursor is at this entry, also after what other processes appended.
    async fn check_leaf(&self, expected: Option<&str>) -> Result<(), AgentError> {
        self.session.refresh().await?;
        let (state, at) = self.position();
        let position = expected.map(|id| state.tree.find(id));
        let is_there = position.is_none_or(|position| position.is_some())
            && state.tree.same_place(position.flatten(), at);
        let now = || at.map(|seq| state.tree.id(seq).to_string());
        if is_there { Ok(()) } else { Err(SessionError::LeafChanged { now: now() }.into()) }
    }

    /// Moves without a summary.
    async fn move_cursor(
        &self,
        command: &MoveCommand,
        state: &SessionState,
        to: Place,
    ) -> Result<CommitOutcome, AgentError> {
        Ok(match &command.expected_leaf_id {
            Some(expected) => self.cursor.move_if_at(expected.as_deref(), to).await?,
            None => self.cursor.move_to_entry(to.map(|seq| state.tree.id(seq).to_string())).await?,
        })
    }

    /// The reply with nothing but the current leaf.
    pub(crate) fn unmoved(&self) -> MoveReply {
        let (state, at) = self.position();
        MoveReply { leaf_id: at.map(|seq| state.tree.id(seq).to_entry_id()), ..MoveReply::default() }
    }

    fn aborted_move(&self) -> MoveReply {
        MoveReply { cancelled: true, aborted: true, ..self.unmoved() }
    }

    /// Keeps the model and thinking level of the old position if the configuration says so.
    pub(crate) fn after_move(&self, choice: ModelChoice) {
        if !self.config.restore_on_move {
            self.keep_model_choice(choice);
        }
    }

    async fn set_label(&self, label: Option<&str>, target: Option<&str>) -> Result<(), AgentError> {
        if let (Some(label), Some(target)) = (label, target) {
            self.session.label(target, Some(label)).await?;
        }
        Ok(())
    }

    /// Asks the hooks, which may change the move.
    async fn ask_before_move_gate(
        &self,
        command: &MoveCommand,
        tree: &SessionTree,
        branch: &AbandonedBranch,
        cancel: &CancellationToken,
    ) -> GateDecision {
        let mut preparation = MovePreparation {
            user_wants_summary: command.summarize,
            custom_instructions: command.custom_instructions.clone(),
            replace_instructions: command.replace_instructions,
            label: command.label.clone(),
            ..MovePreparation::new(tree, command.target_id.as_deref().map(str::to_owned), branch)
        };
        let Some(answer) = self.ask_before_move(&preparation, cancel).await else {
            return GateDecision::Stopped;
        };
        if answer.cancel {
            return GateDecision::Refused;
        }
        preparation.custom_instructions = answer.custom_instructions.or(preparation.custom_instructions);
        preparation.replace_instructions =
            answer.replace_instructions.unwrap_or(preparation.replace_instructions);
        preparation.label = answer.label.or(preparation.label);
        GateDecision::Passed(Box::new(preparation), answer.summary)
    }
}
