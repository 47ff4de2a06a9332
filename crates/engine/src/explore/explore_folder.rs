//! The folder of an explore below `$OSIER_HOME/worktrees`: its record, its lock, and the copies of its tries.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use osier_protocol::explore::{StoredExplore, TryPlace};
use osier_protocol::{EntryId, SessionRef};
use osier_tools::CommandEnv;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::project_copy::{BaseRepository, ProjectRoot};

const RECORD: &str = "explore.json";
const LOCK: &str = "lock";
/// The changes that `keep` is applying.
const JOURNAL: &str = "keep.json";

/// How often, and after which delay, a lock is tried.
const LOCK_ATTEMPTS: u32 = 10;
const LOCK_DELAY: Duration = Duration::from_millis(5);

/// What must be known of an explore after the process that started it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExploreRecord {
    pub(super) id: String,
    pub(super) session: SessionRef,
    pub(super) session_id: String,
    pub(super) cwd: String,
    pub(super) prompt: String,
    pub(super) created: i64,
    pub(super) start_id: Option<EntryId>,
    pub(super) place: TryPlace,
    pub(super) project: Option<ProjectRoot>,
    /// The leaf has not returned to the start yet.
    pub(super) running: bool,
    #[serde(default)]
    pub(super) kept: Option<u32>,
}

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
    /// Creates an empty folder.
    pub(super) fn create(worktrees: &Path, id: &str) -> io::Result<ExploreFolder> {
        DirBuilder::new().recursive(true).mode(0o700).create(worktrees)?;
        let path = worktrees.canonicalize()?.join(id);
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(ExploreFolder { path })
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
        let mut all: Vec<(ExploreFolder, ExploreRecord)> =
            folders.filter_map(|folder| folder.record().ok().map(|record| (folder, record))).collect();
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
        fs::remove_file(self.path.join(JOURNAL))
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
    pub(super) fn tries(&self) -> Vec<u32> {
        let names = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut tries: Vec<u32> =
            names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        tries.sort_unstable();
        tries
    }

    /// Removes the copy of a try.
    pub(super) fn remove_try(&self, number: u32) -> io::Result<()> {
        remove_folder(&self.path.join(number.to_string()))
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        remove_folder(&self.path)
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
            tries: self.tries(),
            running: self.is_locked(),
            kept: record.kept,
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
