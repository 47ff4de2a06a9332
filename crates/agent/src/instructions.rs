//! Project instructions: what `AGENTS.md` and `CLAUDE.md` files tell the agent, from the home folder down to where it works.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The names looked for in each folder; of several in one folder the first counts.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// Larger files are cut: instructions that fill the window leave no room for work.
const MOST: usize = 64 << 10;

/// One file of instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instructions {
    pub path: PathBuf,
    pub text: String,
    /// The file was longer than is taken in.
    pub cut: bool,
}

/// The instructions for `cwd`: those of the user's own folder first, then from the outermost folder inwards, so that the
/// nearest has the last word. The search goes up to the folder that holds `.git`, or to the root without one.
pub fn find(user_folder: &Path, cwd: &Path) -> Vec<Instructions> {
    let mut folders: Vec<(&Path, Option<&Path>)> = Vec::new();
    let owner = owner_of(cwd);
    let is_repository = |folder: &&Path| {
        let git = folder.join(".git");
        git.exists() && git.symlink_metadata().is_ok_and(|about| is_familiar(about.uid(), owner))
    };
    let project = cwd.ancestors().find(is_repository);
    for folder in cwd.ancestors().take_while(|folder| project.is_some() || owner_of(folder) == owner) {
        folders.push((folder, Some(project.unwrap_or(folder))));
        if Some(folder) == project {
            break;
        }
    }
    folders.push((user_folder, None));
    let mut found: Vec<Instructions> = Vec::new();
    for (folder, border) in folders.into_iter().rev() {
        let read = NAMES.iter().find_map(|name| read(&folder.join(name), border, owner));
        // A folder can be reached twice; its instructions are said once.
        found.extend(read.filter(|new| found.iter().all(|old| old.path != new.path)));
    }
    found
}

/// Without a project the search ends below the first folder that belongs to somebody else, who may have put anything there.
fn owner_of(folder: &Path) -> Option<u32> {
    folder.metadata().ok().map(|metadata| metadata.uid())
}

/// Whether a file belongs to this user or the administrator. In a shared folder another user could have put it there. The
/// administrator, who in a container often works on files of a user, reads those of the owner of the working directory.
fn is_familiar(uid: u32, owner_of_cwd: Option<u32>) -> bool {
    let me = rustix::process::geteuid().as_raw();
    uid == me || uid == 0 || me == 0 && Some(uid) == owner_of_cwd
}

/// A link that leads out of `border` is not followed: whoever made a project could make it lead to the user's secrets.
fn read(path: &Path, border: Option<&Path>, owner_of_cwd: Option<u32>) -> Option<Instructions> {
    let path = path.canonicalize().ok().filter(|path| path.is_file())?;
    if let Some(border) = border
        && !path.starts_with(border.canonicalize().ok()?)
    {
        return None;
    }
    let file = File::open(&path).ok()?;
    if !is_familiar(file.metadata().ok()?.uid(), owner_of_cwd) {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MOST as u64 + 1).read_to_end(&mut bytes).ok()?;
    let cut = bytes.len() > MOST;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MOST)]).into_owned();
    (!text.trim().is_empty()).then_some(Instructions { path, text, cut })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_nearest_folder_has_the_last_word_and_the_project_is_the_border() {
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
        let texts: Vec<String> =
            find(&at("user"), &at("outside/project/src")).into_iter().map(|found| found.text).collect();
        assert_eq!(texts, ["user", "project", "src"]);
    }

    #[test]
    fn an_empty_or_huge_file_does_no_harm() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join(".git")).unwrap();
        fs::write(root.path().join("AGENTS.md"), " \n").unwrap();
        fs::write(root.path().join("CLAUDE.md"), "x".repeat(MOST + 1)).unwrap();
        let found = find(Path::new("/nowhere"), root.path());
        assert_eq!(found.len(), 1);
        assert!(found[0].cut && found[0].text.len() == MOST);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_project_is_not_followed() {
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
            find(&at(user), &at(cwd)).into_iter().map(|found| found.text).collect()
        };
        assert_eq!(texts("nobody", "project/sub"), ["inside"]);
        assert!(texts("nobody", "bare").is_empty());
        assert_eq!(
            texts("user", "bare"),
            ["a key"],
            "the user's own folder may link to wherever the user likes"
        );
    }

    /// Needs the right to give files away, which tests in a container have.
    #[test]
    fn what_another_user_put_into_a_shared_folder_is_not_read() {
        use std::os::unix::fs::chown;
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("shared/.git")).unwrap();
        fs::create_dir_all(at("shared/mine/code")).unwrap();
        fs::write(at("shared/AGENTS.md"), "theirs").unwrap();
        fs::write(at("shared/mine/AGENTS.md"), "mine").unwrap();
        fs::write(at("shared/mine/code/AGENTS.md"), "planted").unwrap();
        let texts = || -> Vec<String> {
            find(Path::new("/nowhere"), &at("shared/mine/code")).into_iter().map(|found| found.text).collect()
        };
        assert_eq!(texts(), ["theirs", "mine", "planted"]);
        for theirs in ["shared/.git", "shared/AGENTS.md", "shared/mine/code/AGENTS.md"] {
            if chown(at(theirs), Some(12345), None).is_err() {
                return;
            }
        }
        // Without the repository the search would go on to the root, so this shows that it does not count either.
        fs::create_dir(at("shared/mine/.git")).unwrap();
        assert_eq!(texts(), ["mine"]);
        fs::remove_dir(at("shared/mine/.git")).unwrap();
        assert!(!texts().iter().any(|text| text == "theirs" || text == "planted"));
    }
}
