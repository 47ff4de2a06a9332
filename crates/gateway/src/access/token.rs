//! The token of a gateway. It allows everything. It is in a file that only its owner can read, and survives restarts.

use std::fmt;
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The number of random bytes in a token.
const TOKEN_BYTES: usize = 32;
/// A longer file is not a token.
const MAX_FILE_BYTES: u64 = 1024;

/// Why the token cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("cannot read the token in {}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("cannot write the token to {}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("other users can read the token in {}; replace it with --rotate-token", path.display())]
    Exposed { path: PathBuf },
    #[error("{} does not contain a token; replace it with --rotate-token", path.display())]
    Invalid { path: PathBuf },
    #[error("the system provides no random numbers")]
    Random,
}

/// See the module documentation. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct GatewayToken(String);

impl fmt::Debug for GatewayToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GatewayToken(…)")
    }
}

impl GatewayToken {
    /// The file of the token in the home folder of Osier.
    pub fn file(home: &Path) -> PathBuf {
        home.join("gateway-token")
    }

    /// The token in a file. Creates the file if it does not exist.
    pub fn load_or_create(path: &Path) -> Result<GatewayToken, TokenError> {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let token = GatewayToken::random()?;
                // Another gateway may create it at the same time: the first one wins.
                match token.write(path, |file| file.persist_noclobber(path).map(drop)) {
                    Err(TokenError::Write { source, .. }) if source.kind() == ErrorKind::AlreadyExists => {}
                    written => return written.map(|()| token),
                }
            }
            _ => {}
        }
        GatewayToken::read(path)
    }

    /// Replaces the token. Everything that was signed with the old one is invalid.
    pub fn rotate(path: &Path) -> Result<GatewayToken, TokenError> {
        let token = GatewayToken::random()?;
        token.write(path, |file| file.persist(path).map(drop))?;
        Ok(token)
    }

    pub(super) fn read(path: &Path) -> Result<GatewayToken, TokenError> {
        let failed = |source| TokenError::Read { path: path.to_owned(), source };
        let metadata = fs::metadata(path).map_err(failed)?;
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(TokenError::Exposed { path: path.to_owned() });
        }
        let invalid = || TokenError::Invalid { path: path.to_owned() };
        if metadata.len() > MAX_FILE_BYTES {
            return Err(invalid());
        }
        let text = fs::read_to_string(path).map_err(failed)?;
        let token = text.trim();
        let is_token = URL_SAFE_NO_PAD.decode(token).is_ok_and(|bytes| bytes.len() == TOKEN_BYTES);
        if is_token { Ok(GatewayToken(token.to_owned())) } else { Err(invalid()) }
    }

    fn write(
        &self,
        path: &Path,
        persist: impl FnOnce(tempfile::NamedTempFile) -> Result<(), tempfile::PersistError>,
    ) -> Result<(), TokenError> {
        let failed = |source| TokenError::Write { path: path.to_owned(), source };
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        // Such a file has the mode 0600 from the start.
        let mut file = tempfile::Builder::new().prefix(".token-").tempfile_in(folder).map_err(failed)?;
        writeln!(file, "{}", self.0).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        persist(file).map_err(|error| failed(error.error))
    }

    pub(crate) fn random() -> Result<GatewayToken, TokenError> {
        Ok(GatewayToken(random_text(TOKEN_BYTES)?))
    }

    /// Whether a request gave the token. Takes the same time for every wrong one.
    pub(crate) fn matches(&self, given: &str) -> bool {
        // Hashes are compared in constant time.
        blake3::hash(given.as_bytes()) == blake3::hash(self.0.as_bytes())
    }

    /// A key for one purpose, from which the token cannot be computed.
    pub(crate) fn derive_key(&self, purpose: &str) -> [u8; 32] {
        blake3::derive_key(purpose, self.0.as_bytes())
    }

    /// The token itself, for tests and for clients that read the file.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Random bytes as text for URLs.
pub(super) fn random_text(bytes: usize) -> Result<String, TokenError> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(|_| TokenError::Random)?;
    Ok(URL_SAFE_NO_PAD.encode(random))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_survives_a_restart_and_only_its_owner_can_read_it() {
        let home = tempfile::tempdir().unwrap();
        let file = GatewayToken::file(&home.path().join("new"));
        let token = GatewayToken::load_or_create(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(file.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(GatewayToken::load_or_create(&file).unwrap(), token);
        assert!(token.matches(token.reveal()) && !token.matches("other") && !token.matches(""));
        assert!(!format!("{token:?}").contains(token.reveal()));
    }

    #[test]
    fn a_rotated_token_replaces_the_old_one() {
        let home = tempfile::tempdir().unwrap();
        let file = GatewayToken::file(home.path());
        let old = GatewayToken::load_or_create(&file).unwrap();
        let new = GatewayToken::rotate(&file).unwrap();
        assert!(old != new && !new.matches(old.reveal()));
        assert_eq!(GatewayToken::load_or_create(&file).unwrap(), new);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_token_that_others_can_read_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let file = GatewayToken::file(home.path());
        GatewayToken::load_or_create(&file).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(GatewayToken::load_or_create(&file), Err(TokenError::Exposed { .. })));
        GatewayToken::rotate(&file).unwrap();
        GatewayToken::load_or_create(&file).unwrap();
    }

    #[test]
    fn anything_else_in_the_file_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let file = GatewayToken::file(home.path());
        for text in [String::new(), "short".to_owned(), "é".repeat(22), "a".repeat(5000)] {
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
            assert!(matches!(GatewayToken::load_or_create(&file), Err(TokenError::Invalid { .. })));
        }
    }
}
