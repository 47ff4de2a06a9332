//! The token file of a running gateway. Another gateway can replace the token; this one then uses the new token at once.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use super::token::{GatewayToken, TokenError};

/// See the module documentation.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    last: Mutex<LastRead>,
}

/// What the file contained when it was read last.
#[derive(Debug)]
struct LastRead {
    stamp: Option<FileVersion>,
    current: CurrentToken,
}

/// The token as it is now.
#[derive(Debug, Clone)]
pub(crate) struct CurrentToken {
    pub(crate) token: GatewayToken,
    /// Canceled when another token replaces this one.
    pub(crate) replaced: CancellationToken,
}

/// Changes when the file is replaced or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileVersion {
    device: u64,
    inode: u64,
    modified: (i64, i64),
    /// Its permissions may have changed.
    changed: (i64, i64),
    size: u64,
}

impl TokenFile {
    /// Reads the file. Creates it if it does not exist.
    pub fn open(path: &Path) -> Result<TokenFile, TokenError> {
        let stamp = file_version(path);
        Ok(TokenFile::new(path, stamp, GatewayToken::load_or_create(path)?))
    }

    /// Writes a new token to the file.
    pub fn rotate(path: &Path) -> Result<TokenFile, TokenError> {
        let token = GatewayToken::rotate(path)?;
        Ok(TokenFile::new(path, None, token))
    }

    fn new(path: &Path, stamp: Option<FileVersion>, token: GatewayToken) -> TokenFile {
        let current = CurrentToken { token, replaced: CancellationToken::new() };
        TokenFile { path: path.to_owned(), last: Mutex::new(LastRead { stamp, current }) }
    }

    /// The token in the file. If the file is missing or invalid now, the last valid token stays.
    pub(crate) fn current(&self) -> CurrentToken {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = file_version(&self.path);
        if stamp != last.stamp {
            last.stamp = stamp;
            match GatewayToken::read(&self.path) {
                Ok(token) if token != last.current.token => {
                    tracing::info!("the token was replaced");
                    let new = CurrentToken { token, replaced: CancellationToken::new() };
                    std::mem::replace(&mut last.current, new).replaced.cancel();
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "cannot read the token again"),
            }
        }
        last.current.clone()
    }
}

fn file_version(path: &Path) -> Option<FileVersion> {
    let metadata = fs::metadata(path).ok()?;
    Some(FileVersion {
        device: metadata.dev(),
        inode: metadata.ino(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
        size: metadata.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_another_gateway_wrote_is_used_at_once() {
        let home = tempfile::tempdir().unwrap();
        let path = GatewayToken::file(home.path());
        let file = TokenFile::open(&path).unwrap();
        let old = file.current();
        assert!(file.current().token == old.token && !old.replaced.is_cancelled());
        let new = GatewayToken::rotate(&path).unwrap();
        assert_eq!(file.current().token, new);
        assert!(old.replaced.is_cancelled() && !file.current().replaced.is_cancelled());
    }

    #[test]
    fn a_file_that_cannot_be_read_changes_nothing() {
        let home = tempfile::tempdir().unwrap();
        let path = GatewayToken::file(home.path());
        let file = TokenFile::rotate(&path).unwrap();
        let token = file.current();
        fs::write(&path, "junk").unwrap();
        assert_eq!(file.current().token, token.token);
        fs::remove_file(&path).unwrap();
        assert_eq!(file.current().token, token.token);
        assert!(!token.replaced.is_cancelled());
        let new = GatewayToken::load_or_create(&path).unwrap();
        assert_eq!(file.current().token, new);
    }
}
