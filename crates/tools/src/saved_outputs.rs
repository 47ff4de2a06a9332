//! Files with the full text of truncated outputs. Each session has a folder, which is deleted with the session. All outputs
//! together have a size limit.

use std::fs::{self, DirBuilder, File, Metadata};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The size limit for all saved outputs together.
const MAX_BYTES: u64 = 2 << 30;

/// Creates a file for an output of a session.
pub(crate) fn create_output_file(root: &Path, session: &str) -> io::Result<(File, PathBuf)> {
    let folder = session_folder(root, session).unwrap_or_else(|| root.to_owned());
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    remove_oldest(root, MAX_BYTES);
    let file = tempfile::Builder::new().prefix("bash-").suffix(".log").tempfile_in(folder)?;
    file.keep().map_err(|error| error.error)
}

/// Removes all saved outputs of a deleted session.
pub fn remove_outputs(root: &Path, session: &str) -> io::Result<()> {
    match session_folder(root, session).map(fs::remove_dir_all) {
        Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The folder of a session. `None` for an id that could be a path.
fn session_folder(root: &Path, session: &str) -> Option<PathBuf> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_plain = !session.is_empty() && !session.starts_with('.') && session.bytes().all(is_name);
    is_plain.then(|| root.join(session))
}

/// Removes the oldest outputs until the rest is within `max` bytes.
fn remove_oldest(root: &Path, max: u64) {
    let mut kept: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                kept.extend(
                    fs::read_dir(entry.path())
                        .into_iter()
                        .flatten()
                        .flatten()
                        .filter_map(|file| file_info(&file)),
                );
            }
            _ => kept.extend(file_info(&entry)),
        }
    }
    kept.sort();
    let mut total: u64 = kept.iter().map(|(_, size, _)| size).sum();
    for (_, size, path) in kept {
        if total <= max {
            return;
        }
        // A file that cannot be removed is tried again next time.
        let _ = fs::remove_file(path);
        total -= size;
    }
}

fn file_info(entry: &fs::DirEntry) -> Option<(SystemTime, u64, PathBuf)> {
    let found = entry.metadata().ok().filter(Metadata::is_file)?;
    Some((found.modified().ok()?, found.len(), entry.path()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn oldest_outputs_are_removed_when_the_size_limit_is_exceeded() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("session")).unwrap();
        for (at, name) in ["old", "session/middle", "new"].iter().enumerate() {
            let file = File::create(root.path().join(name)).unwrap();
            file.set_len(100).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000 + at as u64);
            file.set_modified(time).unwrap();
        }
        let left = || ["old", "session/middle", "new"].map(|name| root.path().join(name).exists());
        for (max, expected) in [(300, [true; 3]), (250, [false, true, true]), (150, [false, false, true])] {
            remove_oldest(root.path(), max);
            assert_eq!(left(), expected, "{max}");
        }
    }

    #[test]
    fn removing_outputs_affects_only_that_session() {
        let root = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let [(_, one), (_, two), (_, odd)] =
            ["one", "two", "../.."].map(|id| create_output_file(root.path(), id).unwrap());
        assert_eq!(odd.parent(), Some(root.path()));
        remove_outputs(root.path(), "one").unwrap();
        assert_eq!([&one, &two, &odd].map(|path| path.exists()), [false, true, true]);
        std::os::unix::fs::symlink(outside.path(), root.path().join("link")).unwrap();
        fs::write(outside.path().join("file"), "").unwrap();
        for id in ["one", "", ".", "..", "../..", "a/b", "link"] {
            let _ = remove_outputs(root.path(), id);
        }
        assert!(two.exists() && outside.path().join("file").exists());
    }
}
