//! Grafting: adds the conclusion of another branch to the current position as one summary entry that names
//! its origin.

use std::sync::Arc;

use osier_model::CancellationToken;
use osier_session::{Commit, Outcome};
use osier_tree::graft::Graft;
use osier_tree::leaving::Leaving;
use osier_tree::summary;
use serde_json::Map;

use crate::error::Error;
use crate::live::Live;
use crate::workplace::Workplace;

impl Workplace {
    /// Builds the text from the messages of the branch; with `summarize`, a model writes it.
    pub(crate) async fn graft(
        &self,
        tip: &str,
        summarize: bool,
        instructions: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<Arc<str>, Error> {
        let (state, at) = self.here();
        // Users type this id, so a prefix is enough.
        let tip = state.tree.id(state.tree.resolve(tip)?).to_string();
        let mut grafting = state.tree.grafting(at, &tip)?;
        self.cursor.check_free(&state.tree, at).await?;
        self.answer_all(&state, &mut grafting).await?;
        let graft = grafting.finish();
        let (mut written, mut extra) = (None, Map::new());
        if summarize {
            self.teller.tell(Live::SummaryStarted { of: "graft" });
            let mut summarizer = self.summarizer(cancel).await?;
            let leaving: Leaving = state.tree.leaving(Some(graft.tip), at);
            let mut preparing = leaving.preparing(&state.tree, summarizer.budget());
            self.answer_all(&state, &mut preparing).await?;
            let left = preparing.finish();
            if !left.text.is_empty() {
                let text = summarizer.write(summary::ask_branch(&left.text, instructions, false)).await?;
                written = Some(summary::without_files(&text).to_owned());
            }
            extra = summarizer.extra(&graft.files);
        }
        let commit = Commit::new(move |tree, at| {
            let tip = tree.require_shown(&tip)?;
            Ok(Graft { tip, ..graft.clone() }.plan(tree, at, written.as_deref(), &extra))
        });
        match self.cursor.commit(commit.expecting(&state.tree, at)).await? {
            Outcome::Stored(stored) => Ok(stored.id),
            Outcome::Nothing | Outcome::Cancelled => Err(Error::Refused),
        }
    }
}
