//! The directories that a gateway serves. Agents work only there.

use std::path::{Path, PathBuf};

use osier_engine::resolve_links;
use osier_protocol::ErrorCode;

use crate::error::ApiError;

/// See the module documentation.
#[derive(Debug, Clone)]
pub(crate) struct Directories(Vec<PathBuf>);

impl Directories {
    pub(crate) fn new(allowed: &[PathBuf]) -> Directories {
        Directories(allowed.iter().filter_map(|path| resolve_links(path)).collect())
    }

    /// The directory of new sessions.
    pub(crate) fn first(&self) -> Option<&Path> {
        self.0.first().map(PathBuf::as_path)
    }

    /// Whether a session of this directory can be opened. The directory may be gone.
    fn allows(&self, cwd: &Path) -> bool {
        let real = resolve_links(cwd).filter(|_| cwd.is_absolute());
        real.is_some_and(|real| self.0.iter().any(|allowed| real.starts_with(allowed)))
    }

    pub(crate) fn check(&self, cwd: &str) -> Result<(), ApiError> {
        if self.allows(Path::new(cwd)) {
            return Ok(());
        }
        let message = format!("the gateway does not serve the directory {cwd}");
        Err(ApiError::new(ErrorCode::DirectoryNotAllowed, message))
    }

    /// Like `check`, for the directory of a new session, which must exist.
    pub(crate) fn check_new(&self, cwd: &str) -> Result<(), ApiError> {
        self.check(cwd)?;
        match Path::new(cwd).is_dir() {
            true => Ok(()),
            false => Err(ApiError::invalid(format!("no directory {cwd}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_below_an_allowed_one_are_served() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        for name in ["a/below", "ab"] {
            std::fs::create_dir_all(path(name)).unwrap();
        }
        std::os::unix::fs::symlink(path("ab"), path("a/link")).unwrap();
        let directories = Directories::new(&[folder.path().join("a"), folder.path().join("missing")]);
        for inside in ["a", "a/below", "a/gone", "missing"] {
            assert!(directories.check(&path(inside)).is_ok(), "{inside}");
        }
        for outside in ["ab", "a/../ab", "a/link", "a/link/gone", ""] {
            assert!(directories.check(&path(outside)).is_err(), "{outside}");
        }
        for relative in ["", ".", "a"] {
            assert!(directories.check(relative).is_err(), "{relative}");
        }
        assert!(
            directories.check_new(&path("a/below")).is_ok()
                && directories.check_new(&path("a/gone")).is_err()
        );
    }
}
