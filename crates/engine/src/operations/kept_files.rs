//! What is stored for a session outside of it, and is deleted with it: long tool outputs, and copies of the project.

use std::io;
use std::path::Path;

use osier_protocol::explore::StoredExplore;
use osier_session::ListResult;
use osier_store::StoreError;
use osier_tree::projection::card::Card;

use super::delete::{DeletePlan, DeleteReport, is_same};
use crate::engine::Engine;

/// See the module documentation.
#[derive(Debug)]
pub(super) struct KeptFiles {
    session: String,
    explores: Vec<StoredExplore>,
    /// Long tool outputs that belong to no other session.
    has_outputs: bool,
}

impl Engine {
    /// What is kept for exactly this session. Copies of it in other files or stores have their own explores; long outputs belong
    /// to all of them.
    pub(super) async fn kept_files(
        &self,
        card: &Card,
        plan: &DeletePlan,
        listed: Option<&ListResult>,
    ) -> Result<KeptFiles, StoreError> {
        let mut explores = Vec::new();
        for explore in self.list_explores().into_iter().filter(|explore| *explore.session_id == *card.id) {
            if self.leads_to(&explore.session, &card.store, card.file.as_deref().map(Path::new)).await? {
                explores.push(explore);
            }
        }
        let is_copy = |other: &Card| {
            other.id == card.id
                && !is_same(other, card)
                && !plan.sessions().any(|planned| is_same(other, planned))
        };
        let is_only =
            |listed: &ListResult| listed.unavailable.is_empty() && !listed.page.cards.iter().any(is_copy);
        let has_outputs = listed.is_some_and(is_only) && self.is_original(card).await?;
        Ok(KeptFiles { session: card.id.clone(), explores, has_outputs })
    }

    pub(super) fn has_outputs(&self, session: &str) -> bool {
        self.config().tool_outputs.as_ref().is_some_and(|folder| folder.join(session).is_dir())
    }

    /// What an interrupted deletion left of a session that no longer exists.
    pub(super) fn kept_files_of_missing(&self, id: &str) -> KeptFiles {
        let mut explores = self.list_explores();
        explores.retain(|explore| *explore.session_id == *id);
        // A session in a store that is not configured here only seems to be missing.
        let has_outputs = explores.iter().all(|explore| self.store(&explore.session.store).is_some());
        KeptFiles { session: id.to_owned(), explores, has_outputs }
    }

    /// Removes long tool outputs and copies of the project.
    pub(super) async fn remove_kept_files(&self, files: KeptFiles, report: &mut DeleteReport) {
        let KeptFiles { session, explores, has_outputs } = files;
        for explore in explores {
            if let Err(error) = self.remove_orphaned_explore(&explore, None).await {
                report.outputs_left.push((session.clone(), io::Error::other(error)));
            }
        }
        self.remove_explore_leftovers();
        let is_kept = report.kept.iter().any(|(kept, _)| kept.id == session);
        if let Some(folder) = self.config().tool_outputs.as_deref().filter(|_| has_outputs && !is_kept)
            && let Err(error) = osier_tools::remove_outputs(folder, &session)
        {
            report.outputs_left.push((session, error));
        }
    }
}
