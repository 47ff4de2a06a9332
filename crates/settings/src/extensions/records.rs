//! `extensions.json`: packages, extensions that are off, and decisions.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use osier_extensions::{ExtensionManifest, GrantDecision, Grants};
use osier_tools::read_regular;
use serde::{Deserialize, Serialize};

use crate::error::SettingsError;
use crate::trust::replace_file;

/// The largest size of the file.
const MAX_BYTES: u64 = 16 << 20;

/// See the module documentation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExtensionRecords {
    pub packages: Vec<PackageRecord>,
    /// Entry files that are not loaded.
    pub disabled: BTreeSet<PathBuf>,
    decisions: BTreeMap<PathBuf, DecisionRecord>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    keys: BTreeMap<PathBuf, KeyRecord>,
}

/// An installed package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PackageRecord {
    /// As the user named it: `npm:NAME`, `git:URL`, or a path.
    pub source: String,
    pub folder: PathBuf,
    pub enabled: bool,
}

/// What the user decided about an extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct DecisionRecord {
    allowed: bool,
    /// The code that the decision is about.
    hash: String,
    grants: Grants,
}

/// The providers whose keys an extension may have, or not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct KeyRecord {
    /// The code that the decisions are about.
    hash: String,
    providers: BTreeMap<String, bool>,
}

pub(super) fn file(home: &Path) -> PathBuf {
    home.join("extensions.json")
}

impl ExtensionRecords {
    /// Reads the file. If that fails, nothing is installed and nothing is allowed. Also returns why.
    pub fn load_or_default(home: &Path) -> (ExtensionRecords, Option<String>) {
        match ExtensionRecords::open(home) {
            Ok(records) => (records, None),
            Err(reason) => (ExtensionRecords::default(), Some(format!("{}: {reason}", file(home).display()))),
        }
    }

    fn open(home: &Path) -> Result<ExtensionRecords, String> {
        let text = match read_regular(&file(home), MAX_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(ExtensionRecords::default()),
            Err(error) => return Err(format!("cannot read the file: {error}")),
        };
        let damaged =
            |error| format!("the file is damaged; delete it and allow your extensions again: {error}");
        serde_json::from_slice(&text).map_err(damaged)
    }

    /// Changes the file under a lock, so that concurrent changes are not lost.
    pub fn update<T>(
        home: &Path,
        change: impl FnOnce(&mut ExtensionRecords) -> T,
    ) -> Result<T, SettingsError> {
        let _lock = lock(home).map_err(SettingsError::io(format!("cannot write to {}", home.display())))?;
        let named = |reason| SettingsError::Invalid(format!("{}: {reason}", file(home).display()));
        let mut records = ExtensionRecords::open(home).map_err(named)?;
        let result = change(&mut records);
        let text = serde_json::to_vec_pretty(&records).map_err(std::io::Error::from);
        text.and_then(|text| replace_file(&file(home), &text))
            .map_err(SettingsError::io(format!("cannot write {}", file(home).display())))?;
        Ok(result)
    }

    pub fn decision(&self, path: &Path, manifest: &ExtensionManifest) -> GrantDecision {
        match self.decisions.get(path) {
            None => GrantDecision::Undecided,
            Some(record) if record.hash != manifest.hash || record.grants != manifest.grants() => {
                GrantDecision::Changed
            }
            Some(record) if record.allowed => GrantDecision::Allowed,
            Some(_) => GrantDecision::Refused,
        }
    }

    /// Stores what the user decided about an extension with this code.
    pub fn decide(&mut self, path: &Path, manifest: &ExtensionManifest, allowed: bool) {
        let record = DecisionRecord { allowed, hash: manifest.hash.clone(), grants: manifest.grants() };
        self.decisions.insert(path.to_owned(), record);
    }

    /// Whether an extension with this code may have the key of a provider.
    pub fn key_decision(&self, path: &Path, manifest: &ExtensionManifest, provider: &str) -> Option<bool> {
        let record = self.keys.get(path).filter(|record| record.hash == manifest.hash)?;
        record.providers.get(provider).copied()
    }

    /// Stores whether an extension with this code may have the key of a provider. Decisions about other code are forgotten.
    pub fn decide_about_key(
        &mut self,
        path: &Path,
        manifest: &ExtensionManifest,
        provider: &str,
        allowed: bool,
    ) {
        let record = self.keys.entry(path.to_owned()).or_default();
        if record.hash != manifest.hash {
            *record = KeyRecord { hash: manifest.hash.clone(), providers: BTreeMap::new() };
        }
        record.providers.insert(provider.to_owned(), allowed);
    }

    /// Forgets the decisions about everything below a folder.
    pub fn forget_below(&mut self, folder: &Path) {
        self.decisions.retain(|path, _| !path.starts_with(folder));
        self.keys.retain(|path, _| !path.starts_with(folder));
        self.disabled.retain(|path| !path.starts_with(folder));
    }
}

fn lock(home: &Path) -> std::io::Result<fs::File> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(home)?;
    let mut options = OpenOptions::new();
    // Opening a pipe that has no reader would block forever.
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    let file =
        options.create(true).truncate(false).write(true).mode(0o600).open(home.join("extensions.lock"))?;
    file.lock()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use osier_extensions::Grant;

    use super::*;

    fn manifest(hash: &str, grant: Grant) -> ExtensionManifest {
        let needs = [(grant, "x.ts:1: fetch".to_owned())].into();
        ExtensionManifest { needs, flags: BTreeMap::new(), hash: hash.to_owned(), files: 1 }
    }

    #[test]
    fn a_decision_about_a_key_is_about_this_code_and_this_provider() {
        let path = Path::new("/x/a.ts");
        let (first, second) = (manifest("1", Grant::Network), manifest("2", Grant::Network));
        let mut records = ExtensionRecords::default();
        assert_eq!(records.key_decision(path, &first, "one"), None);
        records.decide_about_key(path, &first, "one", true);
        records.decide_about_key(path, &first, "two", false);
        let decisions = ["one", "two", "three"].map(|provider| records.key_decision(path, &first, provider));
        assert_eq!(decisions, [Some(true), Some(false), None]);
        assert_eq!(records.key_decision(path, &second, "one"), None, "the code changed");
        records.forget_below(Path::new("/x"));
        assert_eq!(records.key_decision(path, &first, "one"), None);
    }

    #[test]
    fn a_decision_is_about_this_code() {
        let home = tempfile::tempdir().unwrap();
        let (path, first) = (Path::new("/x/a.ts"), manifest("1", Grant::Network));
        let decision = |manifest: &ExtensionManifest| {
            ExtensionRecords::load_or_default(home.path()).0.decision(path, manifest)
        };
        assert_eq!(decision(&first), GrantDecision::Undecided);
        ExtensionRecords::update(home.path(), |records| records.decide(path, &first, true)).unwrap();
        assert_eq!(decision(&first), GrantDecision::Allowed);
        assert_eq!(decision(&manifest("2", Grant::Network)), GrantDecision::Changed);
        assert_eq!(decision(&manifest("1", Grant::RunPrograms)), GrantDecision::Changed);
        ExtensionRecords::update(home.path(), |records| records.decide(path, &first, false)).unwrap();
        assert_eq!(decision(&first), GrantDecision::Refused);
        ExtensionRecords::update(home.path(), |records| records.forget_below(Path::new("/x"))).unwrap();
        assert_eq!(decision(&first), GrantDecision::Undecided);
    }

    #[test]
    fn a_damaged_file_allows_nothing_and_is_not_overwritten() {
        let home = tempfile::tempdir().unwrap();
        fs::write(file(home.path()), "{").unwrap();
        let (records, problem) = ExtensionRecords::load_or_default(home.path());
        assert_eq!(records, ExtensionRecords::default());
        assert!(problem.unwrap().contains("damaged"));
        assert!(ExtensionRecords::update(home.path(), |_| ()).is_err());
        assert_eq!(fs::read_to_string(file(home.path())).unwrap(), "{");
    }
}
