//! Which files an extension may use. Its process checks every path here, and the system's confinement enforces the same again.
//!
//! An extension may read its own folder, and read and write the folder for its data. Everything else needs a grant. Osier's
//! keys, settings, sessions and logs are refused in any case.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::grants::{Grant, Grants};

/// The most files below a folder that Osier reads for an extension.
const MAX_TREE: usize = 10_000;

/// What an extension wants to do with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// Read a file, list a folder, or ask whether it exists.
    Read,
    /// Create, change or remove it.
    Write,
}

/// See the module documentation. Except for `cwd`, all paths are canonical.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileRules {
    /// Relative paths start here.
    pub cwd: PathBuf,
    /// The folders of the extension, from which it may load modules.
    pub roots: Vec<PathBuf>,
    pub data_folder: PathBuf,
    /// Osier's own folders and files that contain keys.
    pub protected: Vec<PathBuf>,
    pub grants: Grants,
}

impl FileRules {
    /// The path to use instead of `path`, without links, if this access is granted. The error is for the extension.
    pub fn granted(&self, path: &Path, access: FileAccess) -> Result<PathBuf, String> {
        let real = resolve(&self.cwd.join(path)).map_err(|reason| refused(path, &reason))?;
        self.check(&real, access).map(|()| real)
    }

    /// Like [`FileRules::granted`], for functions that use a link itself and not its target: `lstat`, `readlink`, `unlink`, `rm`,
    /// `rename`, `symlink`.
    pub fn granted_link(&self, path: &Path, access: FileAccess) -> Result<PathBuf, String> {
        let path = self.cwd.join(path);
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return self.granted(&path, access);
        };
        let real = resolve(folder).map_err(|reason| refused(&path, &reason))?.join(name);
        self.check(&real, access)?;
        // To remove or rename a folder also moves what is in it.
        match access == FileAccess::Write
            && self.protected.iter().any(|protected| protected.starts_with(&real))
        {
            true => Err(refused(&real, "it contains files of Osier")),
            false => Ok(real),
        }
    }

    /// Like [`FileRules::granted`], for a file that Osier itself reads for the extension, or a folder with everything in it.
    pub fn granted_tree(&self, path: &Path) -> Result<PathBuf, String> {
        let real = self.granted(path, FileAccess::Read)?;
        let (mut folders, mut known, mut count) = (vec![real.clone()], HashSet::new(), 0);
        while let Some(folder) = folders.pop() {
            if !known.insert(folder.clone()) {
                continue;
            }
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let target = self.granted(&entry.path(), FileAccess::Read)?;
                count += 1;
                if count > MAX_TREE {
                    return Err(refused(path, "it has too many files"));
                }
                // Osier follows links, so the folder that one leads to counts too.
                if target.is_dir() {
                    folders.push(target);
                }
            }
        }
        Ok(real)
    }

    /// Fails if a file, without links, is in none of the folders from which modules may be loaded.
    pub fn check_module(&self, file: &Path) -> Result<(), String> {
        match self.is_own(file) {
            true => Ok(()),
            false => Err(format!("'{}' is outside the folder of the extension", file.display())),
        }
    }

    /// Whether a file is in a folder of the extension. Osier's files are not, even if that folder contains them; but the folder of
    /// an extension may be inside of Osier's.
    fn is_own(&self, real: &Path) -> bool {
        let is_in = |folder: &&PathBuf| !folder.as_os_str().is_empty() && real.starts_with(folder);
        let depth = |folders: &[PathBuf]| {
            folders.iter().filter(is_in).map(|folder| folder.components().count()).max()
        };
        depth(&self.roots)
            .is_some_and(|root| depth(&self.protected).is_none_or(|protected| root >= protected))
    }

    /// Fails if this access to a file, by its path without links, is not granted.
    pub(crate) fn check(&self, real: &Path, access: FileAccess) -> Result<(), String> {
        let is_in = |folder: &PathBuf| !folder.as_os_str().is_empty() && real.starts_with(folder);
        if is_in(&self.data_folder) || (access == FileAccess::Read && self.is_own(real)) {
            return Ok(());
        }
        if self.protected.iter().any(is_in) {
            return Err(refused(real, "files of Osier are never accessible to extensions"));
        }
        if is_of_process(real) {
            return Err(refused(real, "it belongs to a process"));
        }
        let grant = match access {
            FileAccess::Read => Grant::ReadFiles,
            FileAccess::Write => Grant::WriteFiles,
        };
        self.grants.require(grant).map_err(|reason| refused(real, &reason))
    }
}

fn refused(path: &Path, reason: &str) -> String {
    format!("EACCES: permission denied, '{}': {reason}", path.display())
}

/// Whether a path shows memory, variables or open files of a process.
fn is_of_process(real: &Path) -> bool {
    let Ok(below) = real.strip_prefix("/proc") else { return false };
    let first = below.components().next().and_then(|first| first.as_os_str().to_str());
    first.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()) || name.ends_with("self"))
}

/// An absolute path without links. The end of the path need not exist.
fn resolve(path: &Path) -> Result<PathBuf, String> {
    let mut missing: Vec<Component<'_>> = Vec::new();
    let mut existing = path;
    loop {
        match existing.canonicalize() {
            Ok(real) => return Ok(missing.iter().rev().fold(real, |path, part| path.join(part))),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error.to_string()),
        }
        // A link to nothing: to write it would create its target.
        if existing.symlink_metadata().is_ok() {
            return Err("it is a link to a file that does not exist".to_owned());
        }
        let last = existing.components().next_back();
        match (last, existing.parent()) {
            (Some(part @ Component::Normal(_)), Some(parent)) => {
                missing.push(part);
                existing = parent;
            }
            _ => return Err("no such file or directory".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    struct RulesFolder(tempfile::TempDir);

    impl RulesFolder {
        fn new() -> RulesFolder {
            let folder = RulesFolder(tempfile::tempdir().unwrap());
            for name in ["home/keys", "home/extensions/x", "home/extension-data", "code"] {
                fs::create_dir_all(folder.at(name)).unwrap();
            }
            for name in ["home/config.toml", "home/extensions/x/index.ts", "code/a.txt"] {
                fs::write(folder.at(name), "").unwrap();
            }
            folder
        }

        fn at(&self, name: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(name)
        }

        fn rules(&self, grants: &[Grant]) -> FileRules {
            FileRules {
                cwd: self.at("code"),
                roots: vec![self.at("home/extensions/x")],
                data_folder: self.at("home/extension-data"),
                protected: vec![self.at("home")],
                grants: grants.iter().copied().collect(),
            }
        }
    }

    use FileAccess::{Read, Write};

    #[test]
    fn without_grants_only_the_own_folders_are_open() {
        let folder = RulesFolder::new();
        let rules = folder.rules(&[]);
        assert_eq!(
            rules.granted(&folder.at("home/extensions/x/../x/index.ts"), Read).unwrap(),
            folder.at("home/extensions/x/index.ts")
        );
        assert!(rules.granted(&folder.at("home/extension-data/new/state.json"), Write).is_ok());
        assert!(rules.granted(&folder.at("home/extensions/x/index.ts"), Write).is_err());
        assert!(rules.granted(Path::new("a.txt"), Read).unwrap_err().contains("reads files"));
    }

    #[test]
    fn grants_open_everything_but_files_of_osier() {
        let folder = RulesFolder::new();
        let rules = folder.rules(&[Grant::ReadFiles, Grant::WriteFiles]);
        assert_eq!(rules.granted(Path::new("a.txt"), Read).unwrap(), folder.at("code/a.txt"));
        assert_eq!(rules.granted(Path::new("new/b.txt"), Write).unwrap(), folder.at("code/new/b.txt"));
        symlink(folder.at("home"), folder.at("code/link")).unwrap();
        symlink(folder.at("home/new"), folder.at("code/dangling")).unwrap();
        for name in ["../home/config.toml", "link/config.toml", "link/keys/x", "dangling", "../home/new"] {
            for access in [Read, Write] {
                assert!(rules.granted(Path::new(name), access).is_err(), "{name}");
            }
        }
        assert!(rules.granted(&folder.at("home/extensions/x/index.ts"), Write).is_err());
        for name in ["/proc/self/environ", "/proc/1/mem", "/proc/thread-self/environ"] {
            assert!(rules.granted(Path::new(name), Read).is_err(), "{name}");
        }
        assert!(!folder.rules(&[Grant::ReadFiles]).grants.has(Grant::WriteFiles));
    }

    #[test]
    fn a_folder_of_an_extension_that_contains_osiers_opens_nothing_of_it() {
        let folder = RulesFolder::new();
        let rules = FileRules { roots: vec![folder.at("")], ..folder.rules(&[]) };
        assert!(rules.granted(&folder.at("code/a.txt"), Read).is_ok());
        assert!(rules.granted(&folder.at("home/config.toml"), Read).is_err());
        assert!(rules.check_module(&folder.at("home/config.toml")).is_err());
        assert!(folder.rules(&[]).check_module(&folder.at("home/extensions/x/index.ts")).is_ok());
    }

    #[test]
    fn a_link_itself_can_be_removed_but_no_folder_above_osiers() {
        let folder = RulesFolder::new();
        let rules = folder.rules(&[Grant::ReadFiles, Grant::WriteFiles]);
        symlink(folder.at("home"), folder.at("code/link")).unwrap();
        assert_eq!(rules.granted_link(Path::new("link"), Write).unwrap(), folder.at("code/link"));
        assert!(rules.granted_link(&folder.at(""), Write).unwrap_err().contains("files of Osier"));
        assert!(rules.granted_link(&folder.at("home"), Write).is_err());
        assert!(rules.granted_link(Path::new("link/keys"), Write).is_err());
    }

    #[test]
    fn a_tree_includes_the_folders_that_its_links_lead_to() {
        let folder = RulesFolder::new();
        let rules = folder.rules(&[]);
        let (skills, other) = (folder.at("home/extensions/x/skills"), folder.at("home/extensions/x/other"));
        fs::create_dir_all(&skills).unwrap();
        fs::create_dir_all(&other).unwrap();
        symlink(&other, skills.join("linked")).unwrap();
        symlink(&skills, other.join("back")).unwrap();
        assert_eq!(rules.granted_tree(&skills).unwrap(), skills);
        symlink(folder.at("code/a.txt"), other.join("SKILL.md")).unwrap();
        assert!(rules.granted_tree(&skills).unwrap_err().contains("a.txt"));
    }

    #[test]
    fn parts_that_do_not_exist_cannot_lead_back() {
        let folder = RulesFolder::new();
        let rules = folder.rules(&[Grant::ReadFiles, Grant::WriteFiles]);
        assert!(rules.granted(Path::new("missing/../../home/config.toml"), Read).is_err());
        assert!(rules.granted(Path::new("a.txt/x"), Read).is_err());
    }
}
