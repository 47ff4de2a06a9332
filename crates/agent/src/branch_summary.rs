//! The summary of the branch that a move leaves: an extension or a model writes it, and its entry also moves the leaf.

use osier_model::CancellationToken;
use osier_protocol::{ClientEvent, SummarySubject};
use osier_session::{Commit, CommitOutcome, SessionState};
use osier_tree::abandoned_branch::AbandonedBranch;
use osier_tree::{Place, SessionTree, summary};

use crate::context::AgentContext;
use crate::error::AgentError;
use crate::hooks::{ExtensionSummary, MovePreparation};
use crate::summarizer::{WrittenSummary, extension_fields};

impl AgentContext {
    /// The summary to store, if the user asked for one and the branch has content.
    pub(crate) async fn make_branch_summary(
        &self,
        state: &SessionState,
        leaving: &AbandonedBranch,
        asked: &MovePreparation,
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
        asked: &MovePreparation,
        cancel: &CancellationToken,
    ) -> Result<WrittenSummary, AgentError> {
        let _summary = self.live.end_summary_on_drop();
        self.live.send(ClientEvent::SummaryStarted { of: SummarySubject::Branch });
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
    pub(crate) async fn store_branch_summary(
        &self,
        tree: &SessionTree,
        from: Place,
        to: Place,
        written: &WrittenSummary,
    ) -> Result<CommitOutcome, AgentError> {
        let id = |position: Place| position.map(|seq| tree.id(seq).to_string());
        let (from_id, to_id, written) = (id(from), id(to), written.clone());
        let commit = Commit::new(move |tree, _| {
            let to = to_id.as_deref().map(|id| tree.require_visible(id)).transpose()?;
            let from = from_id.as_deref().map(|id| tree.require(id)).transpose()?;
            Ok(tree.plan_branch_summary(to, from, &written.text, &written.extra))
        });
        Ok(self.cursor.commit(commit.expect_at(tree, from)).await?)
    }
}
