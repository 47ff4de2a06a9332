//! The current git branch, read from git's files without starting git.

use std::io::Read;
use std::path::{Path, PathBuf};

use osier_tools::open_regular;
use osier_tree::projection::preview::sanitize_line;

/// Maximum number of bytes to read from `HEAD`.
const MAX_BYTES: u64 = 4096;

/// Digits of the commit to show if no branch is checked out.
const COMMIT_DIGITS: usize = 8;

/// The branch that is checked out in a directory, or the commit if `HEAD` is detached.
pub fn current_branch(directory: &Path) -> Option<String> {
    let head = read_start(&git_folder(directory)?.join("HEAD"))?;
    let head = head.trim();
    let name = match head.strip_prefix("ref: ") {
        Some(name) => name.strip_prefix("refs/heads/").unwrap_or(name),
        None => head.get(..COMMIT_DIGITS).unwrap_or(head),
    };
    Some(sanitize_line(name))
}

/// Reads the beginning of a regular file. Pipes and devices are refused: reading them could block forever.
fn read_start(path: &Path) -> Option<String> {
    let mut text = String::new();
    open_regular(path).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The git folder of the repository of a directory. In a linked worktree `.git` is a file that contains its path.
fn git_folder(directory: &Path) -> Option<PathBuf> {
    let found = directory.ancestors().map(|above| above.join(".git")).find(|git| git.exists())?;
    if found.is_dir() {
        return Some(found);
    }
    let text = read_start(&found)?;
    let folder = text.trim().strip_prefix("gitdir: ")?;
    Some(found.parent()?.join(folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn branch_is_found_from_subfolders_and_linked_worktrees() {
        let folder = tempfile::tempdir().expect("a folder");
        let (git, inner) = (folder.path().join(".git"), folder.path().join("src/deep"));
        fs::create_dir_all(&git).expect("a folder");
        fs::create_dir_all(&inner).expect("a folder");
        assert_eq!(current_branch(&inner), None);
        fs::write(git.join("HEAD"), "ref: refs/heads/feature/tree\n").expect("a file");
        assert_eq!(current_branch(&inner).as_deref(), Some("feature/tree"));
        fs::write(inner.join(".git"), "gitdir: ../../.git\n").expect("a file");
        assert_eq!(current_branch(&inner).as_deref(), Some("feature/tree"));
        fs::write(git.join("HEAD"), "0123456789abcdef0123456789abcdef01234567\n").expect("a file");
        assert_eq!(current_branch(folder.path()).as_deref(), Some("01234567"));
    }

    #[test]
    fn pipes_and_devices_are_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let git = folder.path().join(".git");
        std::os::unix::fs::symlink("/dev/zero", &git).expect("a link");
        assert_eq!(current_branch(folder.path()), None);
        fs::remove_file(&git).expect("no link");
        fs::create_dir(&git).expect("a folder");
        rustix::fs::mkfifoat(rustix::fs::CWD, git.join("HEAD"), rustix::fs::Mode::RUSR).expect("a pipe");
        assert_eq!(current_branch(folder.path()), None);
    }

    #[test]
    fn control_characters_in_a_branch_name_are_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join(".git")).expect("a folder");
        fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/a\u{1b}[2J\n").expect("a file");
        assert_eq!(current_branch(folder.path()).as_deref(), Some("a\u{fffd}[2J"));
    }
}
