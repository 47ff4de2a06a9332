//! The directories that a gateway serves. Agents work only there.

use std::path::{Path, PathBuf};

use osier_protocol::ErrorCode;

use crate::error::ApiError;

/// See the module documentation.
#[derive(Debug, Clone)]
pub(crate) struct Directories(Vec<PathBuf>);

impl Directories {
    /// Directories that do not exist are ignored.
    pub(crate) fn new(allowed: &[PathBuf]) -> Directories {
        Directories(allowed.iter().filter_map(|path| path.canonicalize().ok()).collect())
    }

    /// The directory of new sessions.
    pub(crate) fn first(&self) -> Option<&Path> {
        self.0.first().map(PathBuf::as_path)
    }

    /// Whether a session of this directory can be opened. A directory that does not exist here, such as one of another
    /// machine, is accepted: its agent works in the first directory of the gateway.
    pub(crate) fn allows(&self, cwd: &str) -> bool {
        match Path::new(cwd).canonicalize() {
            Ok(cwd) => self.0.iter().any(|allowed| cwd.starts_with(allowed)),
            Err(_) => true,
        }
    }

    pub(crate) fn check(&self, cwd: &str) -> Result<(), ApiError> {
        if self.allows(cwd) { Ok(()) } else { Err(not_allowed(cwd)) }
    }

    /// Like `check`, for the directory of a new session, which must exist.
    pub(crate) fn check_new(&self, cwd: &str) -> Result<(), ApiError> {
        if Path::new(cwd).is_dir() { self.check(cwd) } else { Err(not_allowed(cwd)) }
    }
}

fn not_allowed(cwd: &str) -> ApiError {
    ApiError::new(ErrorCode::DirectoryNotAllowed, format!("the gateway does not serve the directory {cwd}"))
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
        assert!(directories.allows(&path("a")) && directories.allows(&path("a/below")));
        for outside in ["ab", "a/../ab", "a/link", ""] {
            assert!(!directories.allows(&path(outside)), "{outside}");
        }
        assert!(directories.allows(&path("missing")), "its agent works in the first directory");
        assert!(directories.check_new(&path("missing")).is_err());
    }
}
