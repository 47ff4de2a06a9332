//! The folder of an explore below `$OSIER_HOME/worktrees`: its record, its lock, and the copies of its tries.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use osier_protocol::explore::StoredExplore;
use osier_tools::CommandEnv;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::explore_record::{ExploreRecord, RemovedFiles};
use super::project_copy::{BaseRepository, TreeChange};

const RECORD: &str = "explore.json";
const LOCK: &str = "lock";
/// The repository with the project at the start.
pub(super) const BASE: &str = "base.git";
/// The changes that `keep` is applying.
const JOURNAL: &str = "keep.json";
/// The extension of a copy or of a folder that is being removed.
const HALF_REMOVED: &str = "removed";

/// The extension of a folder that has no record yet.
const NEW: &str = "new";

/// After which time nobody creates such a folder any more.
const NEW_AGE: Duration = Duration::from_secs(3600);

/// How often, and after which delay, a lock is tried.
const LOCK_ATTEMPTS: u32 = 10;
const LOCK_DELAY: Duration = Duration::from_millis(5);

/// A folder. It exists.
#[derive(Debug, Clone)]
pub(super) struct ExploreFolder {
    pub(super) path: PathBuf,
}

/// Held while a process works in a folder.
#[derive(Debug)]
pub(super) struct FolderLock {
    file: File,
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // A process that is being started may still have the file, and with it the lock.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl ExploreFolder {
    /// Creates a folder with its record, and locks it. What is in it later belongs to the record, also if the process dies.
    pub(super) fn create(
        worktrees: &Path,
        record: &ExploreRecord,
    ) -> io::Result<(ExploreFolder, FolderLock)> {
        DirBuilder::new().recursive(true).mode(0o700).create(worktrees)?;
        let path = worktrees.canonicalize()?.join(&record.id);
        let unfinished = ExploreFolder { path: path.with_extension(NEW) };
        DirBuilder::new().mode(0o700).create(&unfinished.path)?;
        let lock = unfinished.lock()?.ok_or_else(|| io::Error::other("the new folder is in use"))?;
        unfinished.write_record(record)?;
        fs::rename(&unfinished.path, &path)?;
        Ok((ExploreFolder { path }, lock))
    }

    /// Removes what processes left that died while they created or removed folders.
    pub(super) fn remove_leftovers(worktrees: &Path) {
        for path in fs::read_dir(worktrees).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let folder = ExploreFolder { path };
            let is_leftover = match folder.path.extension().and_then(|extension| extension.to_str()) {
                Some(HALF_REMOVED) => true,
                // A new one is not locked yet.
                Some(NEW) => {
                    let modified = fs::metadata(&folder.path).and_then(|found| found.modified());
                    modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > NEW_AGE))
                }
                // Older versions wrote the record last, and removed it with the copies.
                None => folder.path.join(LOCK).is_file() && !folder.path.join(RECORD).exists(),
                Some(_) => false,
            };
            if is_leftover
                && (!folder.path.join(LOCK).exists() || folder.lock().is_ok_and(|lock| lock.is_some()))
                && let Err(error) = remove_folder(&folder.path)
            {
                tracing::warn!(folder = %folder.path.display(), %error, "cannot remove what is left of an explore");
            }
        }
    }

    pub(super) fn find(worktrees: &Path, id: &str) -> Option<ExploreFolder> {
        // An id comes from a log, which may contain anything.
        let is_plain = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let path = worktrees.canonicalize().ok()?.join(id);
        (is_plain && path.join(RECORD).is_file()).then_some(ExploreFolder { path })
    }

    /// All folders, oldest first.
    pub(super) fn all(worktrees: &Path) -> Vec<(ExploreFolder, ExploreRecord)> {
        let (Ok(entries), Ok(worktrees)) = (fs::read_dir(worktrees), worktrees.canonicalize()) else {
            return Vec::new();
        };
        let folders =
            entries.flatten().map(|entry| ExploreFolder { path: worktrees.join(entry.file_name()) });
        let is_whole = |folder: &ExploreFolder| folder.path.extension().is_none();
        let mut all: Vec<(ExploreFolder, ExploreRecord)> = folders
            .filter(is_whole)
            .filter_map(|folder| folder.record().ok().map(|record| (folder, record)))
            .collect();
        all.sort_by(|(_, a), (_, b)| (a.created, &a.id).cmp(&(b.created, &b.id)));
        all
    }

    pub(super) fn record(&self) -> io::Result<ExploreRecord> {
        Ok(serde_json::from_slice(&fs::read(self.path.join(RECORD))?)?)
    }

    pub(super) fn write_record(&self, record: &ExploreRecord) -> io::Result<()> {
        self.write_json(RECORD, record)
    }

    /// Replaces a file completely, and survives a crash.
    fn write_json(&self, name: &str, value: &impl Serialize) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.path)?;
        serde_json::to_writer(&mut file, value)?;
        file.as_file().sync_all()?;
        file.persist(self.path.join(name)).map_err(|error| error.error)?;
        File::open(&self.path)?.sync_all()
    }

    pub(super) fn journal<T: for<'de> Deserialize<'de>>(&self) -> io::Result<Option<T>> {
        match fs::read(self.path.join(JOURNAL)) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn write_journal(&self, journal: &impl Serialize) -> io::Result<()> {
        self.write_json(JOURNAL, journal)
    }

    pub(super) fn remove_journal(&self) -> io::Result<()> {
        match fs::remove_file(self.path.join(JOURNAL)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// `None` if another process, or another part of this one, works here.
    pub(super) fn lock(&self) -> io::Result<Option<FolderLock>> {
        // Somebody may just be looking whether it is locked.
        for _ in 0..LOCK_ATTEMPTS {
            if let Some(lock) = self.try_lock(FlockOperation::NonBlockingLockExclusive)? {
                return Ok(Some(lock));
            }
            std::thread::sleep(LOCK_DELAY);
        }
        Ok(None)
    }

    fn try_lock(&self, operation: FlockOperation) -> io::Result<Option<FolderLock>> {
        let file = File::options().create(true).truncate(false).write(true).open(self.path.join(LOCK))?;
        match flock(&file, operation) {
            Ok(()) => Ok(Some(FolderLock { file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn is_locked(&self) -> bool {
        matches!(self.try_lock(FlockOperation::NonBlockingLockShared), Ok(None))
    }

    pub(super) fn base(&self, env: &Arc<CommandEnv>, record: &ExploreRecord) -> Option<BaseRepository> {
        let project = record.project.clone()?;
        Some(BaseRepository::open(env.clone(), &self.path, project))
    }

    pub(super) fn try_folder(&self, number: u32) -> Option<PathBuf> {
        Some(self.path.join(number.to_string())).filter(|path| path.is_dir())
    }

    /// The numbers of the tries whose copies exist.
    pub(super) fn copies(&self) -> Vec<u32> {
        let names = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut numbers: Vec<u32> =
            names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Removes the copy of a try, or all copies. The record stays, with what the tries changed if `env` is given.
    pub(super) fn remove_copies(&self, env: Option<&Arc<CommandEnv>>, number: Option<u32>) -> io::Result<()> {
        let removed: Vec<u32> =
            self.copies().into_iter().filter(|copy| number.is_none_or(|number| number == *copy)).collect();
        for number in &removed {
            // On a full disk nothing can be recorded, and removing must still work.
            if let Some(env) = env
                && let Err(error) = self.record_changes(env, *number)
            {
                tracing::warn!(folder = %self.path.display(), number, %error, "cannot record what a try changed");
            }
        }
        for number in removed {
            // In one step, so that half of a copy is never taken for the files of the try.
            let copy = self.path.join(number.to_string());
            let half_removed = copy.with_extension(HALF_REMOVED);
            remove_folder(&half_removed)?;
            fs::rename(&copy, &half_removed)?;
        }
        self.finish_removals()
    }

    /// Records what a try changed, before its copy is removed.
    fn record_changes(&self, env: &Arc<CommandEnv>, number: u32) -> io::Result<()> {
        let mut record = self.record()?;
        let Some(base) = self.base(env, &record) else { return Ok(()) };
        if record.removed.contains_key(&number) {
            // A removal has begun before, and may have left half of the copy.
            return Ok(());
        }
        let changes = base.changes(&base.base_tree()?, &base.try_tree(number)?)?;
        let files = changes.iter().map(TreeChange::file_change).collect();
        record.removed.insert(number, RemovedFiles::new(files));
        self.write_record(&record)
    }

    /// Removes what this or an earlier removal has begun to remove, and the repository if no copy needs it.
    fn finish_removals(&self) -> io::Result<()> {
        for path in fs::read_dir(&self.path)?.flatten().map(|entry| entry.path()) {
            if path.extension().is_some_and(|extension| extension == HALF_REMOVED) {
                remove_folder(&path)?;
            }
        }
        match self.copies().is_empty() {
            true => remove_folder(&self.path.join(BASE)),
            false => Ok(()),
        }
    }

    /// Removes everything. The first step is a rename, so an interrupted removal never leaves half an explore.
    pub(super) fn remove(&self) -> io::Result<()> {
        let half_removed = self.path.with_extension(HALF_REMOVED);
        remove_folder(&half_removed)?;
        match fs::rename(&self.path, &half_removed) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            renamed => renamed?,
        }
        remove_folder(&half_removed)
    }

    pub(super) fn describe(&self, record: ExploreRecord) -> StoredExplore {
        let unfinished: Option<serde_json::Value> = self.journal().ok().flatten();
        let unfinished = unfinished.and_then(|journal| u32::try_from(journal["try"].as_u64()?).ok());
        StoredExplore {
            id: record.id,
            session: record.session,
            session_id: record.session_id.as_str().into(),
            cwd: record.cwd,
            prompt: record.prompt,
            created: record.created,
            folder: self.path.display().to_string(),
            tries: record.tries,
            copies: self.copies(),
            running: self.is_locked(),
            kept: record.kept.map(|kept| kept.number),
            unfinished_keep: unfinished,
        }
    }
}

/// Removes a folder, also one with folders that their owner may not write to.
fn remove_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_writable(path);
            fs::remove_dir_all(path)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

fn make_writable(folder: &Path) {
    // What fails here fails again, with a better error, when it is removed.
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}
