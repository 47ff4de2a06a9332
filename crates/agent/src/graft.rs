//! Grafting: adds the conclusion of another branch to the current position as one summary entry that names
//! its origin.

use osier_model::CancellationToken;
use osier_protocol::{ClientEvent, SummarySubject};
use osier_session::{Commit, CommitOutcome};
use osier_tree::EntryId;
use osier_tree::abandoned_branch::AbandonedBranch;
use osier_tree::graft::Graft;
use osier_tree::summary;
use serde_json::Map;

use crate::context::AgentContext;
use crate::error::AgentError;

impl AgentContext {
    /// Builds the text from the messages of the branch; with `summarize`, a model writes it.
    pub(crate) async fn graft(
        &self,
        tip: &str,
        summarize: bool,
        instructions: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<EntryId, AgentError> {
        let (state, at) = self.position();
        // Users type this id, so a prefix is enough.
        let tip = state.tree.id(state.tree.resolve(tip)?).to_string();
        let mut grafting = state.tree.graft_builder(at, &tip)?;
        self.cursor.check_no_foreign_turn(&state.tree, at).await?;
        self.supply_lines(&state, &mut grafting).await?;
        let graft = grafting.finish();
        let (mut written, mut extra) = (None, Map::new());
        if summarize {
            let _summary = self.live.end_summary_on_drop();
            self.live.send(ClientEvent::SummaryStarted { of: SummarySubject::Graft });
            let mut summarizer = self.summarizer(cancel).await?;
            let branch: AbandonedBranch = state.tree.abandoned_branch(Some(graft.tip), at);
            let mut preparing = branch.text_collector(&state.tree, summarizer.input_budget());
            self.supply_lines(&state, &mut preparing).await?;
            let left = preparing.finish();
            if !left.text.is_empty() {
                let text =
                    summarizer.summarize(summary::branch_prompt(&left.text, instructions, false)).await?;
                written = Some(summary::without_file_lists(&text).to_owned());
            }
            extra = summarizer.entry_fields(&graft.files);
        }
        let commit = Commit::new(move |tree, at| {
            let tip = tree.require_visible(&tip)?;
            Ok(Graft { tip, ..graft.clone() }.to_draft(tree, at, written.as_deref(), &extra))
        });
        match self.cursor.commit(commit.expect_at(&state.tree, at)).await? {
            CommitOutcome::Stored(stored) => Ok(stored.id),
            CommitOutcome::Nothing | CommitOutcome::Cancelled => Err(AgentError::RefusedByGate),
        }
    }
}
