//! The extensions of a directory: where they are found, which are off, and what the user allowed them to do.
//!
//! `extensions.json` in the home folder has the installed packages, the extensions that are off, and one decision per extension
//! with a hash of its code.

mod packages;
mod records;

use std::path::{Path, PathBuf};

use osier_agent::PromptFolder;
use osier_extensions::{
    ExtensionCatalog, ExtensionManifest, ExtensionOrigin, ExtensionSource, GrantDecision, entry_files,
    find_extensions,
};

pub use packages::{PackageContents, PackageSource};
pub use records::{ExtensionRecords, PackageRecord};

use crate::home::Home;
use crate::settings::Project;
use crate::trust::TrustRequest;

/// The folder of extensions, in the home folder and in a project's `.osier`.
const FOLDER: &str = "extensions";

impl Home {
    /// The folder that extensions may use for their own files.
    pub fn extension_data(&self) -> PathBuf {
        self.folder.join("extension-data")
    }

    /// Whether a session in this directory may have extensions. Reads no file.
    pub fn may_have_extensions(&self) -> bool {
        let project = self.project.as_ref().map(Project::folder);
        let folders = [Some(self.folder.clone()), project];
        !self.settings.extensions.is_empty()
            || records::file(&self.folder).exists()
            || folders.iter().flatten().any(|folder| folder.join(FOLDER).is_dir())
    }

    /// All extensions that are found, in the order of loading, and whether each is on.
    pub fn found_extensions(&self) -> Vec<(ExtensionSource, bool)> {
        let (records, problem) = ExtensionRecords::load_or_default(&self.folder);
        if let Some(problem) = problem {
            tracing::warn!(problem, "the records of extensions cannot be read");
        }
        let mut found = Vec::new();
        if let Some(folder) = self.trusted_folder() {
            found.extend(find_extensions(&folder.join(FOLDER), ExtensionOrigin::Project));
        }
        found.extend(find_extensions(&self.folder.join(FOLDER), ExtensionOrigin::User));
        for package in records.packages.iter().filter(|package| package.enabled) {
            found.extend(as_sources(PackageContents::read(&package.folder).extensions));
        }
        let environment = self.environment();
        for path in &self.settings.extensions {
            let path = self.cwd.join(environment.expand_path(path.as_ref()));
            found.extend(as_sources(entry_files(&path)));
        }
        let mut seen = std::collections::HashSet::new();
        found.retain(|source| seen.insert(source.path.clone()));
        found.into_iter().map(|source| (source.clone(), !records.disabled.contains(&source.path))).collect()
    }

    /// What the user decided about an extension with this code.
    pub fn extension_decision(
        &self,
        source: &ExtensionSource,
        manifest: &ExtensionManifest,
    ) -> GrantDecision {
        match manifest.needs.is_empty() {
            true => GrantDecision::Allowed,
            false => ExtensionRecords::load_or_default(&self.folder).0.decision(&source.path, manifest),
        }
    }

    /// The skills and prompt templates of installed packages.
    pub(crate) fn package_folders(
        &self,
        kind: impl Fn(PackageContents) -> Vec<PathBuf>,
    ) -> Vec<PromptFolder> {
        let records = ExtensionRecords::load_or_default(&self.folder).0;
        let enabled = records.packages.iter().filter(|package| package.enabled);
        let confine = |package: &PackageRecord| {
            let check = packages::inside(&package.folder);
            let folders = kind(PackageContents::read(&package.folder)).into_iter();
            folders.map(move |path| PromptFolder { path, check: Some(check.clone()) })
        };
        enabled.flat_map(confine).collect()
    }
}

fn as_sources(files: Vec<PathBuf>) -> impl Iterator<Item = ExtensionSource> {
    files.into_iter().map(|path| ExtensionSource { path, origin: ExtensionOrigin::User })
}

/// The extensions of each directory, and those of the command line.
#[derive(Debug)]
pub struct HomeCatalog {
    pub home: Home,
    pub command_line: Vec<ExtensionSource>,
}

impl HomeCatalog {
    /// What is configured for a directory now. Trust may have been given since the start.
    fn home_of(&self, directory: &Path) -> Home {
        let is_trusted = self.home.trust_request.as_ref().is_none_or(TrustRequest::is_trusted);
        match directory == self.home.cwd && is_trusted {
            true => self.home.clone(),
            false => self.home.load_directory(directory).0,
        }
    }
}

impl ExtensionCatalog for HomeCatalog {
    fn extensions(&self, directory: &Path) -> Vec<ExtensionSource> {
        let found = self.home_of(directory).found_extensions().into_iter();
        let found = found.filter_map(|(source, is_on)| is_on.then_some(source));
        let named =
            |source: &ExtensionSource| self.command_line.iter().any(|named| named.path == source.path);
        found.filter(|source| !named(source)).chain(self.command_line.iter().cloned()).collect()
    }

    fn decision(&self, source: &ExtensionSource, manifest: &ExtensionManifest) -> GrantDecision {
        self.home.extension_decision(source, manifest)
    }

    fn store_decision(
        &self,
        source: &ExtensionSource,
        manifest: &ExtensionManifest,
        allowed: bool,
    ) -> Result<(), String> {
        let changed = ExtensionRecords::update(&self.home.folder, |records| {
            records.decide(&source.path, manifest, allowed);
        });
        changed.map_err(|error| error.to_string())
    }

    fn key_decision(
        &self,
        source: &ExtensionSource,
        manifest: &ExtensionManifest,
        provider: &str,
    ) -> Option<bool> {
        ExtensionRecords::load_or_default(&self.home.folder).0.key_decision(&source.path, manifest, provider)
    }

    fn store_key_decision(
        &self,
        source: &ExtensionSource,
        manifest: &ExtensionManifest,
        provider: &str,
        allowed: bool,
    ) -> Result<(), String> {
        let changed = ExtensionRecords::update(&self.home.folder, |records| {
            records.decide_about_key(&source.path, manifest, provider, allowed);
        });
        changed.map_err(|error| error.to_string())
    }

    fn is_trusted(&self, directory: &Path) -> bool {
        self.home_of(directory).trust_request.as_ref().is_none_or(TrustRequest::is_trusted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_environment::HostEnvironment;

    #[test]
    fn packages_read_no_file_outside_of_their_folder() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["work", "home", "package/prompts", "package/skills/key", "elsewhere/listed"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        let secret = "---\ndescription: secret\n---\nthe secret";
        std::fs::write(at("home/config.toml"), secret).unwrap();
        std::fs::write(at("elsewhere/listed/secret.md"), secret).unwrap();
        std::fs::write(at("package/prompts/own.md"), "own").unwrap();
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(at(target), at(name)).unwrap();
        link("home/config.toml", "package/prompts/key.md");
        link("home/config.toml", "package/skills/key/SKILL.md");
        link("package/prompts/own.md", "package/prompts/same.md");
        let host = HostEnvironment {
            folder: at("home"),
            user: None,
            variable: |_| None,
            variables: Vec::new,
            utc_offset: || 0,
            host_name: || "test".to_owned(),
            launcher: PathBuf::new,
        };
        let record = |folder: PathBuf| PackageRecord { source: "x".to_owned(), folder, enabled: true };
        ExtensionRecords::update(&at("home"), |records| records.packages.push(record(at("package"))))
            .unwrap();
        let (home, _) = Home::load(&at("work"), host);
        let library = home.workspace_without_tools(&crate::WorkspaceOptions::default()).prompt_library;
        assert_eq!(library.expand("/own").unwrap().as_deref(), Some("own"));
        assert_eq!(library.expand("/same").unwrap().as_deref(), Some("own"));
        assert_eq!(library.expand("/key").unwrap(), None);
        let (_, skills, problems) = library.find_all();
        assert!(skills.is_empty(), "{skills:?}");
        assert!(problems.iter().all(|problem| problem.message == "leads out of the package"), "{problems:?}");
        assert_eq!(problems.len(), 2);
        // A folder that is a link, without a `package.json`.
        std::fs::remove_dir_all(at("package/prompts")).unwrap();
        link("elsewhere/listed", "package/prompts");
        assert_eq!(library.expand("/secret").unwrap(), None);
    }
}
