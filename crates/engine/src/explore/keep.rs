//! Keeps a try: moves the leaf to its end and merges its changes into the working directory. A try that was kept before is taken
//! back, so that the files fit the conversation.
//!
//! The merge is computed first; if anything conflicts, nothing changes. Then a journal names every change. A process that dies
//! in the middle leaves the journal, and keeping the same try again finishes those changes: they are merged again with what the
//! user changed since.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use osier_protocol::explore::{FileChange, KeptTry, MergeConflict, TryReport};
use osier_protocol::{ClientCommand, CommandReply, EntryId, MoveCommand};
use serde::{Deserialize, Serialize};

use super::apply::{ApplyError, OrderedChanges};
use super::compare::find_try;
use super::explore_folder::ExploreFolder;
use super::explore_record::{ExploreRecord, KeptFiles};
use super::project_copy::{BaseRepository, TreeChange};
use super::{ExploreError, on_other_thread};
use crate::error::EngineError;
use crate::local_client::{LocalClient, error_chain};

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

/// The changes that are to be applied, and all that the try makes: some are applied already if a keep was interrupted.
type PlannedKeep = (KeepJournal, Vec<FileChange>);

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
        let is_again = journal.is_some();
        let planned = match journal {
            Some(journal) if journal.r#try != number => {
                return Err(ExploreError::UnfinishedKeep { number: journal.r#try }.into());
            }
            Some(journal) => merge_again(&base, &report.id, journal).await?,
            None => {
                folder.try_folder(number).ok_or(ExploreError::NoCopy { number })?;
                self.plan_merge(&base, &one, &record).await?
            }
        };
        let (journal, files) = match planned {
            Ok(planned) => planned,
            Err(conflicts) => return Ok(KeptTry { conflicts, ..nothing }),
        };
        folder.write_journal(&journal).map_err(reading)?;
        let changes = OrderedChanges::new(&base, &report.id, &journal.changes);
        let applied = self.move_and_apply(&one, changes).await;
        let is_partial =
            matches!(&applied, Err(EngineError::Explore(ExploreError::NotTakenBack { .. }))) || is_again;
        if !is_partial && !matches!(applied, Ok(Some(_))) {
            // Nothing was changed, and what is to be changed may be different the next time.
            folder.remove_journal().map_err(reading)?;
        }
        // `None` if a hook refused.
        let Some(leaf_id) = applied? else { return Ok(nothing) };
        let (kept, instead_of) = (KeptFiles { number, tree: journal.tree }, journal.instead_of);
        finish(&folder, record, kept).map_err(reading)?;
        Ok(KeptTry { kept: true, leaf_id: Some(leaf_id), files, instead_of, ..nothing })
    }

    /// Moves the leaf to the end of a try and applies the changes, or does nothing. `None` if a hook refused.
    async fn move_and_apply(
        &self,
        one: &TryReport,
        changes: OrderedChanges,
    ) -> Result<Option<EntryId>, EngineError> {
        let number = one.number;
        let run = |work: fn(&OrderedChanges) -> Result<(), ApplyError>| {
            let changes = changes.clone();
            async move {
                on_other_thread(move || work(&changes)).await.map_err(|error| explore_error(error, number))
            }
        };
        run(OrderedChanges::stage).await?;
        let before = self.worker().cursor().position();
        let moved = self.move_to_tip(one).await;
        if !matches!(moved, Ok(Some(_))) {
            changes.remove_staged();
            return moved;
        }
        if let Err(error) = run(OrderedChanges::apply).await {
            if let Err(error) = self.worker().cursor().move_to(before).await {
                tracing::warn!(error = error_chain(&error), "cannot move the leaf back");
            }
            return Err(error.into());
        }
        moved
    }

    /// The changes that a merge makes in the working directory, or the conflicts.
    async fn plan_merge(
        &self,
        base: &BaseRepository,
        one: &TryReport,
        record: &ExploreRecord,
    ) -> Result<Result<PlannedKeep, Vec<MergeConflict>>, EngineError> {
        let (base, number) = (base.clone(), one.number);
        let earlier = record.kept.clone().filter(|kept| kept.number != number);
        let tip = one.tip_id.clone().ok_or(ExploreError::NoCopy { number })?;
        let merge = move || -> std::io::Result<Result<PlannedKeep, Vec<MergeConflict>>> {
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
                Err(paths) => return Ok(Err(paths.into_iter().map(merge_conflict).collect())),
            };
            let changes = base.changes(&users, &merged)?;
            let instead_of = earlier.map(|(earlier, _)| earlier);
            let files = changes.iter().map(TreeChange::file_change).collect();
            Ok(Ok((KeepJournal { r#try: number, tip, tree: Some(tree), instead_of, changes }, files)))
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

fn merge_conflict((path, message): (PathBuf, String)) -> MergeConflict {
    conflict((path, conflict_reason(&message).to_owned()))
}

/// Why a file conflicts, from the message of git.
fn conflict_reason(message: &str) -> &'static str {
    let kind = message.strip_prefix("CONFLICT (").and_then(|rest| rest.split_once(')')).map(|(kind, _)| kind);
    match kind {
        Some("content" | "contents") => "you and the try changed the same place",
        Some("add/add") => "you and the try added it with different contents",
        Some("modify/delete") if message.contains("deleted in the working directory") => {
            "you deleted it, and the try changed it"
        }
        Some("modify/delete") => "you changed it, and the try deleted it",
        Some("file/directory") => "it is a file on one side and a folder on the other",
        _ => "your changes and those of the try do not fit together",
    }
}

/// The files that the user changed where an earlier try had changed them.
fn changed_since(paths: Vec<(PathBuf, String)>, earlier: u32) -> Vec<MergeConflict> {
    let reason =
        format!("you changed what try {earlier} had changed, so try {earlier} cannot be taken back here");
    paths.into_iter().map(|(path, _)| conflict((path, reason.clone()))).collect()
}

fn explore_error(error: ApplyError, number: u32) -> ExploreError {
    match error {
        ApplyError::Changed(path) => ExploreError::ChangedMeanwhile { path },
        ApplyError::Io(path, source) => ExploreError::CannotChange { path, source },
        ApplyError::NotTakenBack { cause, paths } => {
            let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            let cause = Box::new(explore_error(*cause, number));
            ExploreError::NotTakenBack { number, paths: paths.join(", "), source: cause }
        }
    }
}

/// Merges what is left of an interrupted keep with the working directory as it is now. Returns the conflicts if the user
/// changed what the try changes.
async fn merge_again(
    base: &BaseRepository,
    id: &str,
    journal: KeepJournal,
) -> Result<Result<PlannedKeep, Vec<MergeConflict>>, ExploreError> {
    let (base, number) = (base.clone(), journal.r#try);
    let interrupted = OrderedChanges::new(&base, id, &journal.changes);
    let merge = move || -> std::io::Result<Result<PlannedKeep, Vec<MergeConflict>>> {
        let paths = || journal.changes.iter().map(|change| change.path.as_path());
        let (before, after) = (
            journal.changes.iter().map(|change| change.before.as_ref()),
            journal.changes.iter().map(|change| change.after.as_ref()),
        );
        let now = base.users_tree()?;
        let was = base.tree_with(&now, paths().zip(before))?;
        let will = base.tree_with(&now, paths().zip(after))?;
        let copy = base.try_folder(number);
        let conflict = |path: PathBuf| {
            let reason = format!(
                "you changed it after keeping try {number} was interrupted; undo that, or take it from {}, and keep the try again",
                copy.display()
            );
            MergeConflict { path: path.to_string_lossy().into_owned(), reason }
        };
        // A file where a folder must be, or the reverse.
        let known: HashSet<&Path> = paths().collect();
        let mut in_the_way: Vec<PathBuf> =
            base.changes(&was, &will)?.into_iter().map(|change| change.path).collect();
        in_the_way.retain(|path| !known.contains(path.as_path()));
        let merged = match base.merge(&was, &now, &will)? {
            _ if !in_the_way.is_empty() => return Ok(Err(in_the_way.into_iter().map(conflict).collect())),
            Err(paths) => return Ok(Err(paths.into_iter().map(|(path, _)| conflict(path)).collect())),
            Ok(merged) => merged,
        };
        let files = journal.changes.iter().map(TreeChange::file_change).collect();
        let changes = base.changes(&now, &merged)?;
        Ok(Ok((KeepJournal { changes, ..journal }, files)))
    };
    let recovered = on_other_thread(move || interrupted.recover()).await;
    recovered.map_err(|error| explore_error(error, number))?;
    on_other_thread(merge).await.map_err(|source| ExploreError::CannotRead { source })
}

/// Puts files back that an interrupted keep has set aside, so that it can be forgotten.
pub(super) fn recover_interrupted(base: &BaseRepository, id: &str, folder: &ExploreFolder) {
    let Ok(Some(journal)) = folder.journal::<KeepJournal>() else { return };
    if let Err(error) = OrderedChanges::new(base, id, &journal.changes).recover() {
        tracing::warn!(explore = id, ?error, "cannot clean up after an interrupted keep");
    }
}

fn finish(folder: &ExploreFolder, record: ExploreRecord, kept: KeptFiles) -> std::io::Result<()> {
    folder.write_record(&ExploreRecord { kept: Some(kept), running: false, ..record })?;
    folder.remove_journal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_is_explained_without_the_words_of_git() {
        for (message, expected) in [
            ("CONFLICT (content): Merge conflict in a.txt", "you and the try changed the same place"),
            (
                "CONFLICT (modify/delete): a deleted in the working directory and modified in the try.",
                "you deleted it, and the try changed it",
            ),
            (
                "CONFLICT (modify/delete): a deleted in the try and modified in the working directory.",
                "you changed it, and the try deleted it",
            ),
            ("CONFLICT", "your changes and those of the try do not fit together"),
        ] {
            assert_eq!(conflict_reason(message), expected);
        }
    }
}
