//! Instruction files: `AGENTS.md` and `CLAUDE.md`, from the user's folder and from the project down to the
//! working directory.

use std::io::Read as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use osier_tools::open_regular;

/// File names to look for; the first one found in a folder wins.
const FILE_NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// Larger files are truncated, because instructions that fill the context window leave no room for work.
const MAX_BYTES: usize = 64 << 10;

/// The contents of an instruction file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionFile {
    pub path: PathBuf,
    pub text: String,
    /// Whether the file was truncated.
    pub truncated: bool,
}

/// Finds the instruction files for `cwd`: first the user's own, then from the outermost folder inward, so
/// that the nearest file takes precedence. The search goes up to the folder that contains `.git`, or to the
/// root if there is none.
pub fn find_instructions(user_folder: &Path, cwd: &Path) -> Vec<InstructionFile> {
    let mut folders: Vec<(&Path, Option<&Path>)> = Vec::new();
    let user = owner(cwd);
    let is_repository = |folder: &&Path| {
        let git = folder.join(".git");
        git.exists() && git.symlink_metadata().is_ok_and(|about| is_trusted_owner(about.uid(), user))
    };
    let project = cwd.ancestors().find(is_repository);
    for folder in cwd.ancestors().take_while(|folder| project.is_some() || owner(folder) == user) {
        folders.push((folder, Some(project.unwrap_or(folder))));
        if Some(folder) == project {
            break;
        }
    }
    folders.push((user_folder, None));
    let mut found: Vec<InstructionFile> = Vec::new();
    for (folder, border) in folders.into_iter().rev() {
        let read = FILE_NAMES.iter().find_map(|name| read_instructions(&folder.join(name), border, user));
        // A folder can occur twice; read it only once.
        found.extend(read.filter(|new| found.iter().all(|old| old.path != new.path)));
    }
    found
}

/// The owner of a folder. Without a project, the search stops at the first folder with a different owner, who
/// could have put anything there.
fn owner(folder: &Path) -> Option<u32> {
    folder.metadata().ok().map(|metadata| metadata.uid())
}

/// Whether a file belongs to this user or to root. In a shared folder, another user could have put it there.
/// Root often works on a user's files in a container, so root also trusts the owner of the working directory.
fn is_trusted_owner(uid: u32, owner_of_cwd: Option<u32>) -> bool {
    let me = rustix::process::geteuid().as_raw();
    uid == me || uid == 0 || me == 0 && Some(uid) == owner_of_cwd
}

/// Does not follow a symlink out of `border`: the author of a project could point it at the user's secrets.
fn read_instructions(
    path: &Path,
    border: Option<&Path>,
    owner_of_cwd: Option<u32>,
) -> Option<InstructionFile> {
    let path = path.canonicalize().ok().filter(|path| path.is_file())?;
    if let Some(border) = border
        && !path.starts_with(border.canonicalize().ok()?)
    {
        return None;
    }
    let file = open_regular(&path).ok()?;
    if !is_trusted_owner(file.metadata().ok()?.uid(), owner_of_cwd) {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).ok()?;
    let cut = bytes.len() > MAX_BYTES;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_BYTES)]).into_owned();
    (!text.trim().is_empty()).then_some(InstructionFile { path, text, truncated: cut })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn nearest_folder_comes_last_and_search_stops_at_the_project() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("outside/project/.git")).unwrap();
        fs::create_dir_all(at("outside/project/src")).unwrap();
        fs::create_dir_all(at("user")).unwrap();
        let files = [
            ("outside/AGENTS.md", "too far out"),
            ("outside/project/CLAUDE.md", "project"),
            ("outside/project/src/AGENTS.md", "src"),
            ("outside/project/src/CLAUDE.md", "not this one"),
            ("user/AGENTS.md", "user"),
        ];
        for (path, text) in files {
            fs::write(at(path), text).unwrap();
        }
        let texts: Vec<String> = find_instructions(&at("user"), &at("outside/project/src"))
            .into_iter()
            .map(|found| found.text)
            .collect();
        assert_eq!(texts, ["user", "project", "src"]);
    }

    #[test]
    fn empty_file_is_skipped_and_huge_file_is_truncated() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join(".git")).unwrap();
        fs::write(root.path().join("AGENTS.md"), " \n").unwrap();
        fs::write(root.path().join("CLAUDE.md"), "x".repeat(MAX_BYTES + 1)).unwrap();
        let found = find_instructions(Path::new("/nowhere"), root.path());
        assert_eq!(found.len(), 1);
        assert!(found[0].truncated && found[0].text.len() == MAX_BYTES);
    }

    #[cfg(unix)]
    #[test]
    fn symlink_out_of_the_project_is_not_followed() {
        use std::os::unix::fs::symlink;
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        for folder in ["project/.git", "project/sub", "bare", "user", "elsewhere"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        fs::write(at("elsewhere/secret"), "a key").unwrap();
        fs::write(at("project/CLAUDE.md"), "inside").unwrap();
        symlink(at("elsewhere/secret"), at("project/AGENTS.md")).unwrap();
        symlink("../CLAUDE.md", at("project/sub/AGENTS.md")).unwrap();
        symlink(at("elsewhere/secret"), at("bare/AGENTS.md")).unwrap();
        symlink(at("elsewhere/secret"), at("user/AGENTS.md")).unwrap();
        let texts = |user: &str, cwd: &str| -> Vec<String> {
            find_instructions(&at(user), &at(cwd)).into_iter().map(|found| found.text).collect()
        };
        assert_eq!(texts("missing", "project/sub"), ["inside"]);
        assert!(texts("missing", "bare").is_empty());
        assert_eq!(texts("user", "bare"), ["a key"], "the user's own folder may contain any symlink");
    }

    /// Needs permission to change file owners; tests in a container usually have it.
    #[test]
    fn files_of_another_user_in_a_shared_folder_are_not_read() {
        use std::os::unix::fs::chown;
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("shared/.git")).unwrap();
        fs::create_dir_all(at("shared/mine/code")).unwrap();
        fs::write(at("shared/AGENTS.md"), "theirs").unwrap();
        fs::write(at("shared/mine/AGENTS.md"), "mine").unwrap();
        fs::write(at("shared/mine/code/AGENTS.md"), "planted").unwrap();
        let texts = || -> Vec<String> {
            find_instructions(Path::new("/nowhere"), &at("shared/mine/code"))
                .into_iter()
                .map(|found| found.text)
                .collect()
        };
        assert_eq!(texts(), ["theirs", "mine", "planted"]);
        for theirs in ["shared/.git", "shared/AGENTS.md", "shared/mine/code/AGENTS.md"] {
            if chown(at(theirs), Some(12345), None).is_err() {
                return;
            }
        }
        // Another user's repository does not count: the search continues above it, toward the root.
        fs::create_dir(at("shared/mine/.git")).unwrap();
        assert_eq!(texts(), ["mine"]);
        fs::remove_dir(at("shared/mine/.git")).unwrap();
        assert!(!texts().iter().any(|text| text == "theirs" || text == "planted"));
    }
}
