//! The directories whose sessions clients may use. A client on another machine must not reach all of this one.

use std::path::{Path, PathBuf};

use crate::configured_store::resolve_links;
use crate::error::EngineError;

/// Directories with everything below them.
#[derive(Debug, Clone, Default)]
pub struct AllowedDirectories {
    /// With links resolved; `None` allows everything.
    only: Option<Vec<PathBuf>>,
}

impl AllowedDirectories {
    /// Only these directories, and those below them.
    pub fn only(directories: &[PathBuf]) -> AllowedDirectories {
        let resolve = |path: &PathBuf| resolve_links(path).unwrap_or_else(|| path.clone());
        AllowedDirectories { only: Some(directories.iter().map(resolve).collect()) }
    }

    /// Whether everything is allowed.
    pub fn is_unlimited(&self) -> bool {
        self.only.is_none()
    }

    /// The list; empty if everything is allowed.
    pub fn list(&self) -> &[PathBuf] {
        self.only.as_deref().unwrap_or_default()
    }

    pub fn allows(&self, directory: &Path) -> bool {
        let Some(only) = &self.only else { return true };
        let Some(real) = resolve_links(directory) else { return false };
        directory.is_absolute() && only.iter().any(|allowed| real.starts_with(allowed))
    }

    /// Fails if sessions of a directory cannot be used. The directory may be gone.
    pub fn check(&self, directory: &Path) -> Result<(), EngineError> {
        if self.allows(directory) { Ok(()) } else { Err(self.refuse(directory)) }
    }

    /// Like `check`, for the directory of a new session, which must exist.
    pub fn check_new(&self, directory: &Path) -> Result<(), EngineError> {
        self.check(directory)?;
        match directory.is_absolute() && directory.is_dir() {
            true => Ok(()),
            false => Err(EngineError::NoSuchDirectory { path: directory.to_owned() }),
        }
    }

    /// The error for a path that is not allowed.
    pub fn refuse(&self, path: &Path) -> EngineError {
        EngineError::DirectoryNotAllowed { path: path.to_owned(), allowed: self.list().to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_directory_and_those_below_it_are_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let [inside, outside] = ["work", "workshop"].map(|name| folder.path().join(name));
        std::fs::create_dir_all(inside.join("deep")).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
        let allowed = AllowedDirectories::only(std::slice::from_ref(&inside));
        for path in [inside.clone(), inside.join("deep"), inside.join("removed")] {
            assert!(allowed.allows(&path), "{path:?}");
        }
        let escapes = [outside.clone(), inside.join("link"), inside.join("../workshop"), "work".into()];
        for path in escapes {
            assert!(!allowed.allows(&path), "{path:?}");
        }
        assert!(AllowedDirectories::default().allows(&outside));
        assert!(allowed.check_new(&inside).is_ok() && allowed.check_new(&inside.join("removed")).is_err());
    }
}
