//! Applies changes to the working directory so that nothing of the user is overwritten: each file is exchanged in one step,
//! and taken back if it was not what the merge had seen.
//!
//! All new contents are written to a staging folder before the first file changes, so a full disk changes nothing. What is
//! exchanged stays there until all changes are applied, so taking them back needs no space.

use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::project_copy::{BaseRepository, TreeChange, TreeFile};

/// Why the changes were not applied. Everything is as before, except after `NotTakenBack`.
#[derive(Debug)]
pub(super) enum ApplyError {
    /// A file changed after the merge.
    Changed(PathBuf),
    Io(PathBuf, io::Error),
    /// It failed, and these files could not be changed back.
    NotTakenBack {
        cause: Box<ApplyError>,
        paths: Vec<PathBuf>,
    },
}

/// Changes in an order in which all of them are possible: a folder that becomes a file, or the reverse, must be empty first.
#[derive(Debug, Clone)]
pub(super) struct OrderedChanges {
    base: BaseRepository,
    /// The id of the explore.
    id: String,
    changes: Vec<TreeChange>,
}

impl OrderedChanges {
    pub(super) fn new(base: &BaseRepository, id: &str, changes: &[TreeChange]) -> OrderedChanges {
        let mut ordered = changes.to_vec();
        ordered.sort_by_key(|change| match change.after {
            None => (false, usize::MAX - change.path.components().count()),
            Some(_) => (true, 0),
        });
        OrderedChanges { base: base.clone(), id: id.to_owned(), changes: ordered }
    }

    fn root(&self) -> &Path {
        &self.base.project().root
    }

    /// Where a file is staged before and after it is exchanged. It is the same when the changes are applied again.
    fn staged(&self, at: usize) -> PathBuf {
        self.staging_folder(&self.changes[at].path).join(at.to_string())
    }

    /// The staging folder for a file: at the top of the project, or of another file system in it.
    fn staging_folder(&self, path: &Path) -> PathBuf {
        let device = |folder: &Path| fs::symlink_metadata(folder).map(|found| (found.dev(), found.is_dir()));
        let (mut top, mut folder) = (self.root().to_owned(), self.root().to_owned());
        let mut of_top = device(&top).ok();
        for part in path.parent().into_iter().flat_map(Path::components) {
            folder.push(part);
            match device(&folder) {
                Ok(found) if found.1 && Some(found) != of_top => {
                    (top, of_top) = (folder.clone(), Some(found));
                }
                Ok((_, true)) => {}
                _ => break,
            }
        }
        top.join(format!(".osier-keep-{}", self.id))
    }

    /// Writes all new contents. Changes no file.
    pub(super) fn stage(&self) -> Result<(), ApplyError> {
        self.remove_staged();
        for (at, change) in self.changes.iter().enumerate() {
            if let Err(error) = self.stage_file(at, change) {
                self.remove_staged();
                return Err(ApplyError::Io(change.path.clone(), error));
            }
        }
        Ok(())
    }

    fn stage_file(&self, at: usize, change: &TreeChange) -> io::Result<()> {
        let staged = self.staged(at);
        create_staging_folder(staged.parent().unwrap_or(&staged))?;
        let Some(after) = &change.after else { return Ok(()) };
        let content = self.base.read_blob(&after.blob)?;
        let unfinished = staged.with_extension("new");
        write_file(&unfinished, after, &content)?;
        let old = fs::symlink_metadata(self.root().join(&change.path)).ok().filter(fs::Metadata::is_file);
        if let Some(old) = old.filter(|_| after.mode != "120000") {
            // Keeps who may read and write.
            let executable = if after.mode == "100755" { 0o111 } else { 0 };
            let mode = (old.permissions().mode() & 0o666) | executable;
            fs::set_permissions(&unfinished, fs::Permissions::from_mode(mode))?;
        }
        fs::rename(&unfinished, &staged)
    }

    /// Applies all changes, or none. They are staged.
    pub(super) fn apply(&self) -> Result<(), ApplyError> {
        let mut begun = Vec::new();
        for at in 0..self.changes.len() {
            match self.apply_one(at) {
                Ok(false) => {}
                Ok(true) => begun.push(at),
                Err(error) => {
                    begun.push(at);
                    return Err(self.take_back(&begun, error));
                }
            }
        }
        self.remove_staged();
        Ok(())
    }

    /// Applies one change. Returns whether it was not applied already.
    fn apply_one(&self, at: usize) -> Result<bool, ApplyError> {
        let change = &self.changes[at];
        let (target, staged) = (self.root().join(&change.path), self.staged(at));
        let failed = |error: io::Error| ApplyError::Io(change.path.clone(), error);
        let now = self.read_file(&target).map_err(failed)?;
        if now == change.after {
            return Ok(false);
        }
        if change.before.is_none() && now.as_ref().is_some_and(|now| now.mode == "040000") {
            // It has files that are not part of the project.
            return Err(failed(io::ErrorKind::IsADirectory.into()));
        }
        if now != change.before {
            return Err(ApplyError::Changed(change.path.clone()));
        }
        check_folders(self.root(), &change.path).map_err(failed)?;
        let is_expected = match (&change.before, &change.after) {
            (Some(_), Some(_)) => self.exchange_if(&staged, &target, change.before.as_ref()),
            (None, _) => place_new(&staged, &target),
            (_, None) => self.move_if(&target, &staged, change.before.as_ref()),
        };
        if !is_expected.map_err(failed)? {
            return Err(ApplyError::Changed(change.path.clone()));
        }
        if change.after.is_none() {
            remove_empty_folders(self.root(), &target);
        }
        Ok(true)
    }

    /// Takes back changes that may have been applied. Returns the error, and which files it could not change back.
    fn take_back(&self, begun: &[usize], cause: ApplyError) -> ApplyError {
        let mut paths = Vec::new();
        for at in begun.iter().rev() {
            let path = &self.changes[*at].path;
            match self.take_back_one(*at) {
                Ok(true) => {}
                // The user changed it in this moment, so it stays.
                Ok(false) => paths.push(path.clone()),
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "cannot take back a change");
                    paths.push(path.clone());
                }
            }
        }
        if paths.is_empty() {
            self.remove_staged();
            return cause;
        }
        ApplyError::NotTakenBack { cause: Box::new(cause), paths }
    }

    /// Returns whether the file is as before.
    fn take_back_one(&self, at: usize) -> io::Result<bool> {
        let change = &self.changes[at];
        let (target, staged) = (self.root().join(&change.path), self.staged(at));
        let is_staged = fs::symlink_metadata(&staged).is_ok();
        let is_back = self.read_file(&target)? == change.before
            || match (&change.before, &change.after) {
                (Some(_), Some(_)) => {
                    self.read_file(&staged)? == change.after
                        || self.exchange_if(&staged, &target, change.after.as_ref())?
                }
                (None, _) => is_staged || self.move_if(&target, &staged, change.after.as_ref())?,
                (_, None) => !is_staged || place_new(&staged, &target)?,
            };
        if is_back && change.before.is_none() {
            remove_empty_folders(self.root(), &target);
        }
        Ok(is_back)
    }

    /// Handles what a process left that died in the middle. Afterwards each file is as before, as after, or as the user made it.
    pub(super) fn recover(&self) -> Result<(), ApplyError> {
        for (at, change) in self.changes.iter().enumerate() {
            self.recover_one(at, change).map_err(|error| ApplyError::Io(change.path.clone(), error))?;
        }
        self.remove_staged();
        Ok(())
    }

    fn recover_one(&self, at: usize, change: &TreeChange) -> io::Result<()> {
        let (target, staged) = (self.root().join(&change.path), self.staged(at));
        let left = self.read_file(&staged)?;
        // What the merge knows is in the repository.
        if left.is_none() || left == change.before || left == change.after {
            return Ok(());
        }
        // The user changed the file just before it was exchanged.
        if change.after.is_some() && self.read_file(&target)? == change.after {
            return match self.exchange_if(&staged, &target, change.after.as_ref())? {
                true => Ok(()),
                false => Err(io::Error::other("it changed in this moment")),
            };
        }
        Ok(renameat_with(CWD, &staged, CWD, &target, RenameFlags::NOREPLACE)?)
    }

    pub(super) fn remove_staged(&self) {
        let mut folders: Vec<PathBuf> =
            self.changes.iter().map(|change| self.staging_folder(&change.path)).collect();
        folders.sort();
        folders.dedup();
        for folder in folders {
            match fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(folder = %folder.display(), %error, "cannot remove a staging folder");
                }
                _ => {}
            }
        }
    }

    /// Exchanges two files. Returns false, and changes nothing, if another file is at the target than expected.
    fn exchange_if(&self, staged: &Path, target: &Path, expected: Option<&TreeFile>) -> io::Result<bool> {
        exchange(staged, target)?;
        let found = self.read_file(staged);
        if found.as_ref().is_ok_and(|found| found.as_ref() == expected) {
            return Ok(true);
        }
        exchange(staged, target)?;
        found.map(|_| false)
    }

    /// Moves a file where none is. Returns false, and changes nothing, if it is another file than expected.
    fn move_if(&self, from: &Path, to: &Path, expected: Option<&TreeFile>) -> io::Result<bool> {
        renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?;
        let found = self.read_file(to);
        if found.as_ref().is_ok_and(|found| found.as_ref() == expected) {
            return Ok(true);
        }
        renameat_with(CWD, to, CWD, from, RenameFlags::NOREPLACE)?;
        found.map(|_| false)
    }

    /// A file as a tree would have it. `None` if there is none.
    fn read_file(&self, path: &Path) -> io::Result<Option<TreeFile>> {
        read_file(&self.base, path)
    }
}

/// Creates a folder that git ignores.
fn create_staging_folder(folder: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
        Ok(()) => fs::write(folder.join(".gitignore"), "*\n"),
    }
}

/// Puts a staged file where none is. Returns false, and changes nothing, if there is one.
fn place_new(staged: &Path, target: &Path) -> io::Result<bool> {
    fs::create_dir_all(target.parent().unwrap_or(target))?;
    match renameat_with(CWD, staged, CWD, target, RenameFlags::NOREPLACE) {
        Err(rustix::io::Errno::EXIST) => Ok(false),
        placed => Ok(placed.map(|()| true)?),
    }
}

fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

fn write_file(path: &Path, file: &TreeFile, content: &[u8]) -> io::Result<()> {
    if file.mode == "120000" {
        return symlink(std::ffi::OsStr::from_bytes(content), path);
    }
    let mode = if file.mode == "100755" { 0o777 } else { 0o666 };
    let mut opened = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    opened.write_all(content)?;
    opened.sync_all()
}

/// A file as a tree would have it. `None` if there is none.
fn read_file(base: &BaseRepository, path: &Path) -> io::Result<Option<TreeFile>> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let (mode, content) = match () {
        () if found.file_type().is_symlink() => {
            ("120000", fs::read_link(path)?.into_os_string().as_bytes().to_vec())
        }
        () if found.is_file() && found.permissions().mode() & 0o100 != 0 => ("100755", fs::read(path)?),
        () if found.is_file() => ("100644", fs::read(path)?),
        () => return Ok(Some(TreeFile { mode: "040000".to_owned(), blob: String::new() })),
    };
    Ok(Some(TreeFile { mode: mode.to_owned(), blob: base.blob_name(&content)? }))
}

/// The folders of the file must not be links, which could lead out of the project.
fn check_folders(root: &Path, path: &Path) -> io::Result<()> {
    let mut folder = root.to_owned();
    for part in path.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        if fs::symlink_metadata(&folder).is_ok_and(|found| !found.is_dir()) {
            return Err(io::Error::other(format!("{} is no folder", folder.display())));
        }
    }
    Ok(())
}

fn remove_empty_folders(root: &Path, target: &Path) {
    let folders = target.ancestors().skip(1).take_while(|folder| *folder != root);
    for folder in folders {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use osier_tools::CommandEnv;
    use tempfile::TempDir;

    use super::super::project_copy::ProjectRoot;
    use super::*;

    /// A project with the files `a` and `b`, and changes that make both new and add `c/d`.
    fn staged_changes() -> (TempDir, PathBuf, OrderedChanges) {
        let folder = tempfile::tempdir().unwrap();
        let env = Arc::new(CommandEnv::new(std::env::vars_os().filter(|(name, _)| name != "HOME")));
        let (project, explore) = (folder.path().join("project"), folder.path().join("worktrees/1"));
        for folder in [&project, &explore] {
            fs::create_dir_all(folder).unwrap();
        }
        let write = |text: &str| ["a", "b"].map(|name| fs::write(project.join(name), text).unwrap());
        write("old");
        let root = ProjectRoot::find(&env, &project).unwrap();
        let base = BaseRepository::open(env, &explore, root);
        base.create(u64::MAX).unwrap().unwrap();
        write("new");
        fs::create_dir(project.join("c")).unwrap();
        fs::write(project.join("c/d"), "new").unwrap();
        let changes = base.changes(&base.base_tree().unwrap(), &base.users_tree().unwrap()).unwrap();
        write("old");
        fs::remove_dir_all(project.join("c")).unwrap();
        let changes = OrderedChanges::new(&base, "1", &changes);
        changes.stage().unwrap();
        (folder, project, changes)
    }

    fn names(project: &Path) -> Vec<String> {
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut names: Vec<String> = fs::read_dir(project).unwrap().flatten().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn changes_that_fail_halfway_are_taken_back_and_leave_nothing() {
        for missing in 0..3 {
            let (_folder, project, changes) = staged_changes();
            fs::remove_file(changes.staged(missing)).unwrap();
            assert!(matches!(changes.apply(), Err(ApplyError::Io(..))), "{missing}");
            assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "old", "{missing}");
            assert_eq!(names(&project), ["a", "b"], "{missing}");
        }
    }

    #[test]
    fn what_cannot_be_taken_back_is_reported_and_stays() {
        let (_folder, project, changes) = staged_changes();
        for at in 0..3 {
            assert!(changes.apply_one(at).unwrap());
        }
        fs::write(project.join("a"), "mine").unwrap();
        fs::write(project.join("c/d"), "mine too").unwrap();
        let cause = ApplyError::Changed(PathBuf::from("x"));
        let ApplyError::NotTakenBack { paths, .. } = changes.take_back(&[0, 1, 2], cause) else {
            panic!("two files cannot be taken back")
        };
        assert_eq!(paths, [Path::new("c/d"), Path::new("a")]);
        let texts = || ["a", "b", "c/d"].map(|name| fs::read_to_string(project.join(name)).unwrap());
        assert_eq!(texts(), ["mine", "old", "mine too"]);
        changes.recover().unwrap();
        assert_eq!(texts(), ["mine", "old", "mine too"]);
        assert_eq!(names(&project), ["a", "b", "c"]);
    }

    #[test]
    fn a_file_that_was_set_aside_returns_after_a_crash() {
        let (_folder, project, changes) = staged_changes();
        // The user changed it just before it was exchanged, and then the process died.
        fs::write(project.join("a"), "mine").unwrap();
        exchange(&changes.staged(0), &project.join("a")).unwrap();
        changes.recover().unwrap();
        assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "mine");
        assert_eq!(names(&project), ["a", "b"]);
    }
}
