//! Two tries side by side: what they said, and how their files differ.

use osier_protocol::explore::{ExploreReport, FileChange, TryComparison, TryReport};
use osier_protocol::{QueryAnswer, SessionQuery};

use super::project_copy::{BaseRepository, TreeChange};
use super::{ExploreError, on_other_thread};
use crate::error::EngineError;
use crate::local_client::LocalClient;

/// The files of two tries.
#[derive(Debug, Default)]
struct ComparedFiles {
    left: Vec<FileChange>,
    right: Vec<FileChange>,
    diff: Option<String>,
}

impl LocalClient {
    pub(crate) async fn compare_tries(
        &self,
        explore: Option<&str>,
        left: u32,
        right: u32,
    ) -> Result<TryComparison, EngineError> {
        let report = self.find_explore(explore).await?;
        let (left, right) = (find_try(&report, left)?.clone(), find_try(&report, right)?.clone());
        let tips = (left.tip_id.clone(), right.tip_id.clone());
        let (Some(left_tip), Some(right_tip)) = tips else {
            return Err(ExploreError::Running { explore: report.id }.into());
        };
        let query = SessionQuery::Compare { left: left_tip, right: right_tip };
        let QueryAnswer::Compare { comparison } = crate::queries::answer_query(self.worker(), query).await?
        else {
            return Err(EngineError::NeedsAgent);
        };
        let files = self.compared_files(&report.id, &left, &right).await?;
        Ok(TryComparison {
            explore: report.id,
            left,
            right,
            conversation: comparison,
            left_files: files.left,
            right_files: files.right,
            diff: files.diff,
        })
    }

    async fn compared_files(
        &self,
        explore: &str,
        left: &TryReport,
        right: &TryReport,
    ) -> Result<ComparedFiles, EngineError> {
        let Some((folder, record)) = self.explore_folder(explore) else {
            return Ok(ComparedFiles::default());
        };
        let removed = |one: &TryReport| record.removed.get(&one.number).cloned().unwrap_or_default().files;
        let removed = (removed(left), removed(right));
        let Some(base) = folder.base(&self.spec().workspace.tool_context.env, &record) else {
            return Ok(ComparedFiles::default());
        };
        let (left, right) = (exists(left), exists(right));
        let compare = move || -> std::io::Result<ComparedFiles> {
            let tree = |number: Option<u32>| number.map(|number| base.try_tree(number)).transpose();
            let (left, right) = (tree(left)?, tree(right)?);
            let files = |tree: &Option<String>, removed: Vec<FileChange>| match tree {
                Some(tree) => {
                    let changes = base.changes(&base.base_tree()?, tree)?;
                    Ok(changes.iter().map(TreeChange::file_change).collect())
                }
                None => std::io::Result::Ok(removed),
            };
            let diff = left.as_ref().zip(right.as_ref()).map(|(left, right)| base.diff(left, right));
            Ok(ComparedFiles {
                left: files(&left, removed.0)?,
                right: files(&right, removed.1)?,
                diff: diff.transpose()?,
            })
        };
        Ok(on_other_thread(compare).await.map_err(|source| ExploreError::CannotRead { source })?)
    }

    /// The repository of an explore, if it still exists.
    pub(super) fn explore_base(&self, explore: &str) -> Option<BaseRepository> {
        let (folder, record) = self.explore_folder(explore)?;
        folder.base(&self.spec().workspace.tool_context.env, &record)
    }
}

/// The number of a try whose copy exists.
fn exists(one: &TryReport) -> Option<u32> {
    one.folder.as_ref().map(|_| one.number)
}

pub(super) fn find_try(report: &ExploreReport, number: u32) -> Result<&TryReport, ExploreError> {
    let missing = || ExploreError::NoTry { explore: report.id.clone(), number };
    report.tries.iter().find(|one| one.number == number).ok_or_else(missing)
}
