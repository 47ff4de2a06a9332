//! Applies changes to the working directory so that nothing of the user is overwritten: each file is exchanged in one step,
//! and taken back if it was not what the merge had seen.

use std::fs;
use std::hash::BuildHasher;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustc_hash::FxBuildHasher;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::project_copy::{BaseRepository, TreeChange, TreeFile};

/// How much of the name of a file is in the name of its temporary file, in bytes.
const MAX_NAME: usize = 150;

/// Why the changes were not applied. Everything is as before.
#[derive(Debug)]
pub(super) enum ApplyError {
    /// A file changed after the merge.
    Changed(PathBuf),
    Io(PathBuf, io::Error),
}

/// The changes in an order in which all of them are possible: a folder that becomes a file, or the reverse, must be empty first.
pub(super) fn in_order(changes: &[TreeChange]) -> Vec<TreeChange> {
    let mut ordered = changes.to_vec();
    ordered.sort_by_key(|change| match change.after {
        None => (false, usize::MAX - change.path.components().count()),
        Some(_) => (true, 0),
    });
    ordered
}

/// Applies all changes in this order, or none.
pub(super) fn apply_all(base: &BaseRepository, id: &str, changes: &[TreeChange]) -> Result<(), ApplyError> {
    for (at, change) in changes.iter().enumerate() {
        if let Err(error) = apply(base, id, change) {
            for done in changes[..at].iter().rev() {
                // It is exactly what was just written, or the user changed it in this moment: then it stays.
                if let Err(error) = apply(base, id, &reversed(done)) {
                    tracing::warn!(path = %done.path.display(), ?error, "cannot take back a change");
                }
            }
            return Err(error);
        }
    }
    Ok(())
}

fn reversed(change: &TreeChange) -> TreeChange {
    TreeChange { path: change.path.clone(), before: change.after.clone(), after: change.before.clone() }
}

/// Applies one change. Does nothing if it is already applied.
pub(super) fn apply(base: &BaseRepository, id: &str, change: &TreeChange) -> Result<(), ApplyError> {
    let root = &base.project().root;
    let target = root.join(&change.path);
    let failed = |error: io::Error| ApplyError::Io(change.path.clone(), error);
    let temporary = temporary_path(&target, id);
    recover(base, &target, &temporary, change).map_err(failed)?;
    let now = read_file(base, &target).map_err(failed)?;
    if now == change.after {
        return Ok(());
    }
    if change.before.is_none() && now.as_ref().is_some_and(|now| now.mode == "040000") {
        // It has files that are not part of the project.
        return Err(failed(io::ErrorKind::IsADirectory.into()));
    }
    if now != change.before {
        return Err(ApplyError::Changed(change.path.clone()));
    }
    check_folders(root, &change.path).map_err(failed)?;
    let applied = match &change.after {
        Some(after) => put(base, &target, &temporary, change.before.as_ref(), after),
        None => take_away(base, &target, &temporary, change.before.as_ref()),
    };
    if !applied.map_err(failed)? {
        return Err(ApplyError::Changed(change.path.clone()));
    }
    if change.after.is_none() {
        remove_empty_folders(root, &target);
    }
    Ok(())
}

/// Handles what a process left that died in the middle of this change.
fn recover(base: &BaseRepository, target: &Path, temporary: &Path, change: &TreeChange) -> io::Result<()> {
    remove_if_there(&unfinished(temporary))?;
    let left = read_file(base, temporary)?;
    if left.is_none() {
        return Ok(());
    }
    if left != change.before && left != change.after {
        // The user changed the file just before it was exchanged.
        match read_file(base, target)? == change.after {
            true if change.after.is_some() => exchange(temporary, target)?,
            _ => return Ok(renameat_with(CWD, temporary, CWD, target, RenameFlags::NOREPLACE)?),
        }
    }
    // It is in the repository.
    remove_if_there(temporary)
}

/// Where a file is while it is exchanged. It is the same when this change is applied again.
fn temporary_path(target: &Path, id: &str) -> PathBuf {
    let name = target.file_name().unwrap_or_default();
    let mut text = name.to_string_lossy().into_owned();
    if text.len() > MAX_NAME {
        // A longer name than the longest one is not possible.
        text.truncate(text.floor_char_boundary(MAX_NAME));
        text.push_str(&format!("-{:016x}", FxBuildHasher.hash_one(name)));
    }
    target.with_file_name(format!(".{text}.osier-{id}"))
}

/// The name of a file while it is written.
fn unfinished(temporary: &Path) -> PathBuf {
    let mut name = temporary.as_os_str().to_owned();
    name.push(".new");
    PathBuf::from(name)
}

/// Puts a file in place. Returns false, and changes nothing, if another file is there than expected.
fn put(
    base: &BaseRepository,
    target: &Path,
    temporary: &Path,
    before: Option<&TreeFile>,
    after: &TreeFile,
) -> io::Result<bool> {
    fs::create_dir_all(target.parent().unwrap_or(target))?;
    let content = base.read_blob(&after.blob)?;
    let unfinished = unfinished(temporary);
    write_file(&unfinished, after, &content)?;
    let old_mode = fs::symlink_metadata(target).ok().filter(fs::Metadata::is_file);
    if let Some(old) = old_mode.filter(|_| after.mode != "120000") {
        // Keeps who may read and write.
        let executable = if after.mode == "100755" { 0o111 } else { 0 };
        let mode = (old.permissions().mode() & 0o666) | executable;
        fs::set_permissions(&unfinished, fs::Permissions::from_mode(mode))?;
    }
    fs::rename(&unfinished, temporary)?;
    let Some(before) = before else {
        return match renameat_with(CWD, temporary, CWD, target, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(true),
            Err(error) => {
                remove_if_there(temporary)?;
                if error == rustix::io::Errno::EXIST { Ok(false) } else { Err(error.into()) }
            }
        };
    };
    exchange(temporary, target)?;
    let is_expected = read_file(base, temporary)?.as_ref() == Some(before);
    if !is_expected {
        exchange(temporary, target)?;
    }
    remove_if_there(temporary)?;
    Ok(is_expected)
}

fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

/// Removes a file. Returns false, and changes nothing, if another file is there than expected.
fn take_away(
    base: &BaseRepository,
    target: &Path,
    temporary: &Path,
    before: Option<&TreeFile>,
) -> io::Result<bool> {
    fs::rename(target, temporary)?;
    if read_file(base, temporary)?.as_ref() == before {
        fs::remove_file(temporary)?;
        return Ok(true);
    }
    renameat_with(CWD, temporary, CWD, target, RenameFlags::NOREPLACE)?;
    Ok(false)
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

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error)
            if error.kind() != io::ErrorKind::NotFound && error.kind() != io::ErrorKind::NotADirectory =>
        {
            Err(error)
        }
        _ => Ok(()),
    }
}

fn remove_empty_folders(root: &Path, target: &Path) {
    let folders = target.ancestors().skip(1).take_while(|folder| *folder != root);
    for folder in folders {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}
