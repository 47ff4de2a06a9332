//! The trust decisions: `trusted.json` in the home folder stores, for each project folder, the decision and a hash of what the
//! project requested.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use osier_tools::read_regular;
use serde::{Deserialize, Serialize};

use super::{TrustItem, TrustStatus};
use crate::error::SettingsError;
use crate::settings::SettingsProblem;

/// Maximum size of the file.
const MAX_BYTES: u64 = 16 << 20;

/// All trust decisions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrustRecords {
    folders: BTreeMap<String, TrustRecord>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct TrustRecord {
    trusted: bool,
    /// A hash of what the project requested.
    wishes: String,
}

fn trust_file(home: &Path) -> PathBuf {
    home.join("trusted.json")
}

impl TrustRecords {
    /// Reads the file. If that fails, no folder is trusted.
    pub fn load_or_default(home: &Path) -> (TrustRecords, Option<SettingsProblem>) {
        match TrustRecords::open(home) {
            Ok(records) => (records, None),
            Err(error) => {
                let text = format!("no folder is trusted: {error}");
                (
                    TrustRecords::default(),
                    Some(SettingsProblem { file: trust_file(home), line: None, text, is_fatal: false }),
                )
            }
        }
    }

    /// Reads the file to list or change it; the error names the file.
    pub fn read(home: &Path) -> Result<TrustRecords, SettingsError> {
        let named = |reason| SettingsError::Invalid(format!("{}: {reason}", trust_file(home).display()));
        TrustRecords::open(home).map_err(named)
    }

    /// The error is the reason, without the name of the file.
    fn open(home: &Path) -> Result<TrustRecords, String> {
        let text = match read_regular(&trust_file(home), MAX_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(TrustRecords::default()),
            Err(error) => return Err(format!("cannot read the file: {error}")),
        };
        let damaged =
            |error| format!("the file is damaged; delete it and trust your projects again: {error}");
        serde_json::from_slice(&text).map_err(damaged)
    }

    pub fn status(&self, root: &Path, wishes: &[TrustItem]) -> TrustStatus {
        match root.to_str().and_then(|root| self.folders.get(root)) {
            None => TrustStatus::Unknown,
            Some(record) if record.wishes != hash_items(wishes) => TrustStatus::Changed,
            Some(record) if record.trusted => TrustStatus::Trusted,
            Some(_) => TrustStatus::Refused,
        }
    }

    pub fn set(&mut self, root: &Path, wishes: &[TrustItem], trusted: bool) -> Result<(), SettingsError> {
        let Some(name) = root.to_str() else {
            let text = format!("cannot trust {}: its name is not UTF-8", root.display());
            return Err(SettingsError::Invalid(text));
        };
        self.folders.insert(name.to_owned(), TrustRecord { trusted, wishes: hash_items(wishes) });
        Ok(())
    }

    /// Returns whether there was a decision.
    pub fn remove(&mut self, root: &Path) -> bool {
        root.to_str().is_some_and(|root| self.folders.remove(root).is_some())
    }

    /// The folders with a decision, and whether they are trusted.
    pub fn folders(&self) -> impl Iterator<Item = (&Path, bool)> {
        self.folders.iter().map(|(root, record)| (Path::new(root), record.trusted))
    }
}

fn hash_items(wishes: &[TrustItem]) -> String {
    let mut hasher = blake3::Hasher::new();
    for item in wishes {
        hasher.update(&(item.content.len() as u64).to_le_bytes());
        hasher.update(item.content.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// Changes the file under a lock, so that concurrent changes are not lost.
pub fn update_records<T>(home: &Path, f: impl FnOnce(&mut TrustRecords) -> T) -> Result<T, SettingsError> {
    let _lock =
        lock_records(home).map_err(SettingsError::io(format!("cannot write to {}", home.display())))?;
    let before = TrustRecords::read(home)?;
    let mut records = before.clone();
    let result = f(&mut records);
    if records != before {
        let cannot_write = format!("cannot write {}", trust_file(home).display());
        let text = serde_json::to_vec_pretty(&records).map_err(io::Error::from);
        text.and_then(|text| replace_file(&trust_file(home), &text))
            .map_err(SettingsError::io(cannot_write))?;
    }
    Ok(result)
}

fn lock_records(home: &Path) -> std::io::Result<fs::File> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(home)?;
    let path = home.join("trusted.lock");
    let mut options = OpenOptions::new();
    // Opening a pipe that has no reader would block forever.
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    let file = options.create(true).truncate(false).write(true).mode(0o600).open(path)?;
    file.lock()?;
    Ok(file)
}

/// Replaces a file atomically, readable only by its owner. Follows links: replaces their target.
pub fn replace_file(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut new = tempfile::Builder::new().prefix(".osier-").tempfile_in(folder)?;
    new.write_all(bytes)?;
    new.as_file().sync_all()?;
    new.persist(&path)?;
    Ok(())
}
