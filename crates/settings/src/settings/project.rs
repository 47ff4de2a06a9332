//! Finds the project of a directory: the nearest parent folder that contains `.osier` or `.git`.
//!
//! Osier's home folder is not a project, and folders of other users are ignored.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use osier_engine::is_owned_by_another;

/// A project folder, which may have its own settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The canonical path.
    pub root: PathBuf,
}

impl Project {
    /// `homes` are folders called `.osier` that belong to the user, not to a project.
    pub fn find(cwd: &Path, homes: &[PathBuf]) -> Option<Project> {
        let cwd = cwd.canonicalize().ok()?;
        let homes: Vec<PathBuf> = homes.iter().filter_map(|home| home.canonicalize().ok()).collect();
        let is_marked = |folder: &&Path| {
            let (own, git) = (folder.join(".osier"), folder.join(".git"));
            let is_home = || own.canonicalize().is_ok_and(|own| homes.contains(&own));
            // In a shared folder another user could create a `.git` above this user's project.
            let is_repository = git.symlink_metadata().is_ok_and(|metadata| !is_owned_by_another(&metadata));
            is_repository && git.exists() || (own.is_dir() && !is_home())
        };
        let root = cwd.ancestors().find(is_marked)?.to_owned();
        let is_home = root.join(".osier").canonicalize().is_ok_and(|own| homes.contains(&own));
        (!is_home).then_some(Project { root })
    }

    pub fn folder(&self) -> PathBuf {
        self.root.join(".osier")
    }

    pub fn config_file(&self) -> PathBuf {
        self.folder().join("config.toml")
    }

    /// Why its settings are not read at all: other users could change them at any time.
    pub fn unsafe_reason(&self) -> Option<String> {
        for path in [self.root.clone(), self.folder(), self.config_file()] {
            let Ok(metadata) = std::fs::metadata(&path) else { continue };
            if is_owned_by_another(&metadata) {
                return Some(format!("{} belongs to another user", path.display()));
            }
            if path.canonicalize().is_ok_and(|real| !real.starts_with(&self.root)) {
                return Some(format!("{} is a link that points outside the project", path.display()));
            }
            // In a sticky folder like /tmp users cannot replace files of others.
            let is_guarded = metadata.is_dir() && metadata.mode() & 0o1000 != 0;
            if metadata.mode() & 0o002 != 0 && !is_guarded {
                return Some(format!("{} is writable by everyone", path.display()));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    struct TestFolder(tempfile::TempDir);

    impl TestFolder {
        fn with(folders: &[&str]) -> TestFolder {
            let temp = TestFolder(tempfile::tempdir().unwrap());
            for folder in folders {
                fs::create_dir_all(temp.at(folder)).unwrap();
            }
            temp
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(path)
        }

        fn project(&self, cwd: &str) -> Option<String> {
            let project = Project::find(&self.at(cwd), &[self.at("user/.osier")])?;
            Some(project.root.strip_prefix(self.at("")).unwrap().to_string_lossy().into_owned())
        }
    }

    #[test]
    fn the_nearest_marked_folder_is_the_project() {
        let temp =
            TestFolder::with(&["a/.osier", "a/src", "a/repo/.git", "a/repo/src", "a/repo/own/.osier", "b"]);
        let projects = ["a", "a/src", "a/repo", "a/repo/src", "a/repo/own", "b", "none"];
        assert_eq!(
            projects.map(|cwd| temp.project(cwd)),
            [Some("a"), Some("a"), Some("a/repo"), Some("a/repo"), Some("a/repo/own"), None, None]
                .map(|root| root.map(str::to_owned))
        );
    }

    #[test]
    fn the_home_folder_is_not_a_project_even_through_links() {
        let temp = TestFolder::with(&["user/.osier", "user/code", "other"]);
        assert_eq!(temp.project("user/code"), None);
        fs::create_dir(temp.at("user/.git")).unwrap();
        assert_eq!(temp.project("user/code"), None);
        symlink(temp.at("user/.osier"), temp.at("other/.osier")).unwrap();
        assert_eq!(temp.project("other"), None);
        symlink(temp.at("user/code"), temp.at("other/code")).unwrap();
        assert_eq!(temp.project("other/code/../code"), None);
    }

    #[test]
    fn links_lead_to_the_same_project() {
        let temp = TestFolder::with(&["real/.osier", "real/src"]);
        symlink(temp.at("real"), temp.at("link")).unwrap();
        assert_eq!(temp.project("link/src/../src").as_deref(), Some("real"));
    }

    #[test]
    fn world_writable_projects_are_ignored() {
        let temp = TestFolder::with(&["p/.osier"]);
        let project = Project { root: temp.at("p") };
        let config = project.config_file();
        fs::write(&config, "").unwrap();
        assert_eq!(project.unsafe_reason(), None);
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        for path in [project.root.clone(), project.folder(), config] {
            let usual = fs::metadata(&path).unwrap().mode();
            mode(&path, 0o777);
            assert!(project.unsafe_reason().unwrap().ends_with(" is writable by everyone"), "{path:?}");
            mode(&path, usual);
        }
        mode(&project.root, 0o1777);
        assert_eq!(project.unsafe_reason(), None, "users cannot replace files of others in a sticky folder");
    }
}
