//! Moving to another position in the tree, optionally with a summary of the branch that is left. One entry
//! does it: the summary below the new position, or a move. A label is stored afterward as a mark. If anything
//! fails or is canceled before that entry is stored, nothing changes.

use std::sync::Arc;

use osier_model::CancellationToken;
use osier_session::{Commit, CommitOutcome, SessionState};
use osier_tree::abandoned_branch::AbandonedBranch;
use osier_tree::move_target::EditorContent;
use osier_tree::{MoveRequest, MoveTarget, Place, Selection, SessionTree, summary};
use serde::Serialize;

use crate::context::AgentContext;
use crate::error::AgentError;
use crate::gates::{ExtensionSummary, TreePreparation};
use crate::live::LiveUpdate;
use crate::model_choice::ModelChoice;
use crate::prompt::Prompt;
use crate::summarizer::{SummaryError, WrittenSummary, extension_fields};

/// Where to move, and how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Navigation {
    /// The chosen entry; `None` means before the first entry.
    pub target: Option<String>,
    /// Move the leaf to exactly this entry, even if it is a user message.
    pub exact: bool,
    pub summarize: bool,
    pub instructions: Option<String>,
    /// Use `instructions` instead of the default summary prompt, not in addition to it.
    pub replace_instructions: bool,
    pub label: Option<String>,
    /// Stop a running turn first. If false, a running turn is an error.
    pub stop_turn: bool,
}

/// The result of a move.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Navigated {
    /// The text to put into the editor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub editor: Option<EditorContent>,
    /// A gate refused the move, or the user canceled it. Nothing changed.
    pub cancelled: bool,
    pub aborted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_entry: Option<Arc<str>>,
    /// The current leaf.
    pub leaf: Option<String>,
    /// Prompts that were queued at the old position. They are not sent at the new one; they go back into the
    /// editor.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub returned: Vec<Prompt>,
}

/// The gate's decision about a move.
enum GateDecision {
    Passed(Box<TreePreparation>, Option<ExtensionSummary>),
    Refused,
    Stopped,
}

impl Navigation {
    /// Where the move ends, starting from `at`.
    pub(crate) fn resolve(&self, tree: &SessionTree, at: Place) -> Result<MoveTarget, AgentError> {
        let Some(target) = self.target.as_deref() else {
            return Ok(
                tree.resolve_move(at, &MoveRequest { selection: Selection::Root, ..MoveRequest::default() })?
            );
        };
        if self.exact {
            let place = Some(tree.require_visible(target)?);
            return Ok(MoveTarget { place, needs_move: !tree.same_place(at, place), editor_entry: None });
        }
        Ok(tree.resolve_move(at, &MoveRequest::entry(target))?)
    }
}

impl AgentContext {
    pub(crate) async fn navigate(
        &self,
        navigation: &Navigation,
        cancel: &CancellationToken,
    ) -> Result<Navigated, AgentError> {
        let (state, at) = self.position();
        let landing = navigation.resolve(&state.tree, at)?;
        let text_of: Vec<_> = landing.editor_entry.into_iter().collect();
        let editor = landing.editor_content(&self.read_lines(&state, &text_of).await?);
        if !landing.needs_move {
            self.set_label(navigation.label.as_deref(), navigation.target.as_deref()).await?;
            return Ok(Navigated { editor, ..self.current_navigated() });
        }
        self.cursor.check_no_foreign_turn(&state.tree, landing.place).await?;
        // Text that returns to the editor is not part of the branch left behind, and neither are tool results
        // at the target.
        let leaving = state.tree.abandoned_branch(at, landing.editor_entry.or(landing.place));
        let (asked, own) = match self.ask_tree_gate(navigation, &state.tree, &leaving, cancel).await {
            GateDecision::Passed(asked, own) => (asked, own),
            GateDecision::Refused => return Ok(Navigated { cancelled: true, ..self.current_navigated() }),
            GateDecision::Stopped => return Ok(self.aborted_navigation()),
        };
        let written = match self.make_branch_summary(&state, &leaving, &asked, own, cancel).await {
            Err(AgentError::Summary(SummaryError::Canceled)) => return Ok(self.aborted_navigation()),
            written => written?,
        };
        let choice = self.model_choice().await?;
        let outcome = match &written {
            None => {
                self.cursor.move_to_entry(landing.place.map(|seq| state.tree.id(seq).to_string())).await?
            }
            Some(written) => self.store_branch_summary(&state.tree, at, landing.place, written).await?,
        };
        if outcome == CommitOutcome::Cancelled {
            return Ok(Navigated { cancelled: true, ..self.current_navigated() });
        }
        self.after_move(choice);
        let summary_entry = outcome.stored().filter(|_| written.is_some()).map(|stored| stored.id);
        let labeled = summary_entry.as_deref().or(asked.target_id.as_deref());
        self.set_label(asked.label.as_deref(), labeled).await?;
        let returned = self.clear_queue().await?;
        Ok(Navigated { editor, summary_entry, returned, ..self.current_navigated() })
    }

    fn current_navigated(&self) -> Navigated {
        let (state, at) = self.position();
        let leaf = at.map(|seq| state.tree.id(seq).to_string());
        Navigated { leaf, ..Navigated::default() }
    }

    fn aborted_navigation(&self) -> Navigated {
        Navigated { cancelled: true, aborted: true, ..self.current_navigated() }
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

    /// Asks the gate, which may change the move.
    async fn ask_tree_gate(
        &self,
        navigation: &Navigation,
        tree: &SessionTree,
        leaving: &AbandonedBranch,
        cancel: &CancellationToken,
    ) -> GateDecision {
        let mut asked = TreePreparation {
            user_wants_summary: navigation.summarize,
            custom_instructions: navigation.instructions.clone(),
            replace_instructions: navigation.replace_instructions,
            label: navigation.label.clone(),
            ..TreePreparation::new(tree, navigation.target.clone(), leaving)
        };
        let answer = self.wait_for_gate(self.config.gates.before_tree(&asked, cancel), cancel).await;
        let Some(answer) = answer else { return GateDecision::Stopped };
        if answer.cancel {
            return GateDecision::Refused;
        }
        asked.custom_instructions = answer.custom_instructions.or(asked.custom_instructions);
        asked.replace_instructions = answer.replace_instructions.unwrap_or(asked.replace_instructions);
        asked.label = answer.label.or(asked.label);
        GateDecision::Passed(Box::new(asked), answer.summary)
    }

    /// The summary to store, if the user asked for one and the branch has content.
    async fn make_branch_summary(
        &self,
        state: &SessionState,
        leaving: &AbandonedBranch,
        asked: &TreePreparation,
        own: Option<ExtensionSummary>,
        cancel: &CancellationToken,
    ) -> Result<Option<WrittenSummary>, AgentError> {
        match own {
            _ if !asked.user_wants_summary => Ok(None),
            Some(own) if own.summary.trim().is_empty() => Ok(None),
            Some(own) => {
                Ok(Some(WrittenSummary { text: own.summary, extra: extension_fields(own.details.as_ref()) }))
            }
            None if leaving.entries.is_empty() => Ok(None),
            None => self.summarize_branch(state, leaving, asked, cancel).await.map(Some),
        }
    }

    async fn summarize_branch(
        &self,
        state: &SessionState,
        leaving: &AbandonedBranch,
        asked: &TreePreparation,
        cancel: &CancellationToken,
    ) -> Result<WrittenSummary, AgentError> {
        self.live.send(LiveUpdate::SummaryStarted { of: "branch" });
        let mut summarizer = self.summarizer(cancel).await?;
        let mut preparing = leaving.text_collector(&state.tree, summarizer.input_budget());
        self.supply_lines(state, &mut preparing).await?;
        let left = preparing.finish();
        let text = match left.text.as_str() {
            "" => summary::NO_CONTENT.to_owned(),
            text => {
                let (own, replace) = (asked.custom_instructions.as_deref(), asked.replace_instructions);
                let text = summarizer.summarize(summary::branch_prompt(text, own, replace)).await?;
                summary::stored_branch_summary(&text, &left.files)
            }
        };
        Ok(WrittenSummary { text, extra: summarizer.entry_fields(&left.files) })
    }

    /// Stores a summary below `to`, which also moves the leaf there.
    async fn store_branch_summary(
        &self,
        tree: &SessionTree,
        from: Place,
        to: Place,
        written: &WrittenSummary,
    ) -> Result<CommitOutcome, AgentError> {
        let id = |place: Place| place.map(|seq| tree.id(seq).to_string());
        let (from_id, to_id, written) = (id(from), id(to), written.clone());
        let commit = Commit::new(move |tree, _| {
            let to = to_id.as_deref().map(|id| tree.require_visible(id)).transpose()?;
            let from = from_id.as_deref().map(|id| tree.require(id)).transpose()?;
            Ok(tree.plan_branch_summary(to, from, &written.text, &written.extra))
        });
        Ok(self.cursor.commit(commit.expect_at(tree, from)).await?)
    }
}
