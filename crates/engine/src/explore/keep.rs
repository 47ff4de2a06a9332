//! Keeps a try: moves the leaf to its end and merges its changes into the working directory. A try that was kept before is taken
//! back, so that the files fit the conversation.
//!
//! The merge is computed first; if anything conflicts, nothing changes. Then a journal names every change. A process that dies
//! in the middle leaves the journal, and keeping the same try again finishes exactly those changes.

use std::path::PathBuf;

use osier_protocol::explore::{FileChange, KeptTry, MergeConflict, TryReport};
use osier_protocol::{ClientCommand, CommandReply, EntryId, MoveCommand};
use serde::{Deserialize, Serialize};

use super::apply::{self, ApplyError};
use super::compare::find_try;
use super::explore_folder::ExploreFolder;
use super::explore_record::{ExploreRecord, KeptFiles};
use super::project_copy::{BaseRepository, TreeChange};
use super::{ExploreError, on_other_thread};
use crate::error::EngineError;
use crate::local_client::LocalClient;

/// The changes that are being applied.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct KeepJournal {
    r#try: u32,
    tip: EntryId,
    /// The files of the try. Older versions did not store them.
    #[serde(default)]
    tree: Option<String>,
    /// The try that is taken back.
    #[serde(default)]
    instead_of: Option<u32>,
    changes: Vec<TreeChange>,
}

impl LocalClient {
    pub(super) async fn keep_try(&self, explore: Option<&str>, number: u32) -> Result<KeptTry, EngineError> {
        let report = self.find_explore(explore).await?;
        self.live().explores.wait_for_end(&report).await;
        let one = find_try(&report, number)?.clone();
        let nothing = KeptTry { explore: report.id.clone(), number, ..KeptTry::default() };
        if one.place.name() == "read-only" {
            let leaf_id = self.move_to_tip(&one).await?;
            return Ok(KeptTry { kept: leaf_id.is_some(), leaf_id, ..nothing });
        }
        let folder = self.require_folder(&report.id, number)?;
        let reading = |source| ExploreError::CannotRead { source };
        let lock = folder.lock().map_err(reading)?;
        let _lock = lock.ok_or_else(|| ExploreError::Running { explore: report.id.clone() })?;
        // The explore may have ended since it was found. From here on, it does not change.
        let report = self.find_explore(Some(&report.id)).await?;
        let one = find_try(&report, number)?.clone();
        let record = folder.record().map_err(reading)?;
        let journal: Option<KeepJournal> = folder.journal().map_err(reading)?;
        let base = self.explore_base(&report.id).ok_or(ExploreError::NoCopy { number })?;
        let (journal, is_again) = match journal {
            Some(journal) if journal.r#try != number => {
                return Err(ExploreError::UnfinishedKeep { number: journal.r#try }.into());
            }
            Some(journal) => (journal, true),
            None => {
                folder.try_folder(number).ok_or(ExploreError::NoCopy { number })?;
                match self.plan_merge(&base, &one, &record).await? {
                    Ok(journal) => (journal, false),
                    Err(conflicts) => return Ok(KeptTry { conflicts, ..nothing }),
                }
            }
        };
        folder.write_journal(&journal).map_err(reading)?;
        let before = self.worker().cursor().position();
        let moved = self.move_to_tip(&one).await;
        if !is_again && !matches!(moved, Ok(Some(_))) {
            // Nothing was changed, and what is to be changed may be different the next time.
            folder.remove_journal().map_err(reading)?;
        }
        // `None` if a hook refused.
        let Some(leaf_id) = moved? else { return Ok(nothing) };
        let (kept, instead_of) = (KeptFiles { number, tree: journal.tree.clone() }, journal.instead_of);
        let files = match apply_changes(&base, &report.id, journal, is_again).await {
            Ok(files) => files,
            Err(error) => {
                self.worker().cursor().move_to(before).await?;
                // What the process that died had applied is not taken back, so the journal stays.
                if !is_again {
                    folder.remove_journal().map_err(reading)?;
                }
                return Err(error.into());
            }
        };
        finish(&folder, record, kept).map_err(reading)?;
        Ok(KeptTry { kept: true, leaf_id: Some(leaf_id), files, instead_of, ..nothing })
    }

    /// The changes that a merge makes in the working directory, or the conflicts.
    async fn plan_merge(
        &self,
        base: &BaseRepository,
        one: &TryReport,
        record: &ExploreRecord,
    ) -> Result<Result<KeepJournal, Vec<MergeConflict>>, EngineError> {
        let (base, number) = (base.clone(), one.number);
        let earlier = record.kept.clone().filter(|kept| kept.number != number);
        let tip = one.tip_id.clone().ok_or(ExploreError::NoCopy { number })?;
        let merge = move || -> std::io::Result<Result<KeepJournal, Vec<MergeConflict>>> {
            let (start, users, tree) = (base.base_tree()?, base.users_tree()?, base.try_tree(number)?);
            let earlier = earlier.map(|kept| kept_tree(&base, kept)).transpose()?.flatten();
            let ours = match &earlier {
                None => users.clone(),
                Some((earlier, tree)) => match base.merge(tree, &users, &start)? {
                    Ok(without_it) => without_it,
                    Err(paths) => return Ok(Err(changed_since(paths, *earlier))),
                },
            };
            let merged = match base.merge(&start, &ours, &tree)? {
                Ok(merged) => merged,
                Err(paths) => return Ok(Err(paths.into_iter().map(conflict).collect())),
            };
            let changes = base.changes(&users, &merged)?;
            let instead_of = earlier.map(|(earlier, _)| earlier);
            Ok(Ok(KeepJournal { r#try: number, tip, tree: Some(tree), instead_of, changes }))
        };
        Ok(on_other_thread(merge).await.map_err(|source| ExploreError::CannotRead { source })?)
    }

    /// Moves the leaf to the end of a try. `None` if a hook refused.
    async fn move_to_tip(&self, one: &TryReport) -> Result<Option<EntryId>, EngineError> {
        let target_id = one.tip_id.clone();
        let command = MoveCommand { target_id: target_id.clone(), exact: true, ..MoveCommand::default() };
        Ok(match self.worker().send(ClientCommand::Move(command)).await? {
            CommandReply::Moved(moved) if moved.cancelled => None,
            CommandReply::Cancelled => None,
            _ => target_id,
        })
    }
}

/// The number and the files of a try that was kept. `None` if they are not known any more, so that it cannot be taken back.
fn kept_tree(base: &BaseRepository, kept: KeptFiles) -> std::io::Result<Option<(u32, String)>> {
    let number = kept.number;
    Ok(match kept.tree {
        Some(tree) => Some((number, tree)),
        None if base.try_folder(number).is_dir() => Some((number, base.try_tree(number)?)),
        None => None,
    })
}

fn conflict((path, reason): (PathBuf, String)) -> MergeConflict {
    MergeConflict { path: path.to_string_lossy().into_owned(), reason }
}

/// The files that the user changed where an earlier try had changed them.
fn changed_since(paths: Vec<(PathBuf, String)>, earlier: u32) -> Vec<MergeConflict> {
    let reason =
        format!("you changed what try {earlier} had changed, so try {earlier} cannot be taken back here");
    paths.into_iter().map(|(path, _)| conflict((path, reason.clone()))).collect()
}

/// Returns the changes that are in the working directory now.
async fn apply_changes(
    base: &BaseRepository,
    id: &str,
    journal: KeepJournal,
    is_again: bool,
) -> Result<Vec<FileChange>, ExploreError> {
    let (base, id) = (base.clone(), id.to_owned());
    let apply = move || {
        let (ordered, mut applied) = (apply::in_order(&journal.changes), Vec::new());
        if !is_again {
            apply::apply_all(&base, &id, &ordered)?;
            return Ok(journal.changes.iter().map(TreeChange::file_change).collect());
        }
        for change in &ordered {
            match apply::apply(&base, &id, change) {
                Ok(()) => applied.push(change.file_change()),
                // What the user changed since the process died stays as it is.
                Err(ApplyError::Changed(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(applied)
    };
    on_other_thread(apply).await.map_err(|error| match error {
        ApplyError::Changed(path) => ExploreError::ChangedMeanwhile { path },
        ApplyError::Io(path, source) => ExploreError::CannotChange { path, source },
    })
}

fn finish(folder: &ExploreFolder, record: ExploreRecord, kept: KeptFiles) -> std::io::Result<()> {
    folder.write_record(&ExploreRecord { kept: Some(kept), running: false, ..record })?;
    folder.remove_journal()
}
