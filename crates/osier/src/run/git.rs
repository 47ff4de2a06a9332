//! The branch that git is on, read from its files: no program is started for it.

use std::io::Read;
use std::path::{Path, PathBuf};

use osier_tools::open_regular;

use crate::layout::{sanitize_line, truncate};

/// Columns of a branch's name, at most.
const COLUMNS: usize = 40;

/// Bytes of `HEAD` that are read.
const LONGEST: u64 = 4096;

/// How much of a commit is shown where there is no branch.
const COMMIT: usize = 8;

/// The branch of a directory, or the commit if it is on none.
pub(super) fn branch(directory: &Path) -> Option<String> {
    let head = read(&folder(directory)?.join("HEAD"))?;
    let head = head.trim();
    let name = match head.strip_prefix("ref: ") {
        Some(name) => name.strip_prefix("refs/heads/").unwrap_or(name),
        None => head.get(..COMMIT).unwrap_or(head),
    };
    Some(truncate(&sanitize_line(name), COLUMNS))
}

/// The beginning of an ordinary file. A pipe would wait for ever, and a device never end.
fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    open_regular(path).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Git's folder of the repository that a directory belongs to. A second working tree has a file that tells where it is.
fn folder(directory: &Path) -> Option<PathBuf> {
    let found = directory.ancestors().map(|above| above.join(".git")).find(|git| git.exists())?;
    if found.is_dir() {
        return Some(found);
    }
    let text = read(&found)?;
    let told = text.trim().strip_prefix("gitdir: ")?;
    Some(found.parent()?.join(told))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_branch_is_found_from_below_and_from_a_second_working_tree() {
        let folder = tempfile::tempdir().expect("a folder");
        let (git, inner) = (folder.path().join(".git"), folder.path().join("src/deep"));
        fs::create_dir_all(&git).expect("a folder");
        fs::create_dir_all(&inner).expect("a folder");
        assert_eq!(branch(&inner), None);
        fs::write(git.join("HEAD"), "ref: refs/heads/feature/tree\n").expect("a file");
        assert_eq!(branch(&inner).as_deref(), Some("feature/tree"));
        fs::write(inner.join(".git"), "gitdir: ../../.git\n").expect("a file");
        assert_eq!(branch(&inner).as_deref(), Some("feature/tree"));
        fs::write(git.join("HEAD"), "0123456789abcdef0123456789abcdef01234567\n").expect("a file");
        assert_eq!(branch(folder.path()).as_deref(), Some("01234567"));
    }

    #[test]
    fn what_is_no_file_is_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let git = folder.path().join(".git");
        std::os::unix::fs::symlink("/dev/zero", &git).expect("a link");
        assert_eq!(branch(folder.path()), None);
        fs::remove_file(&git).expect("no link");
        fs::create_dir(&git).expect("a folder");
        rustix::fs::mkfifoat(rustix::fs::CWD, git.join("HEAD"), rustix::fs::Mode::RUSR).expect("a pipe");
        assert_eq!(branch(folder.path()), None);
    }

    #[test]
    fn a_hostile_name_is_inert() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join(".git")).expect("a folder");
        fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/a\u{1b}[2J\n").expect("a file");
        assert_eq!(branch(folder.path()).as_deref(), Some("a\u{fffd}[2J"));
    }
}
