//! Which extensions a session loads: files named on the command line, and those in the folders of the user and the project.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::inspect::ExtensionManifest;

/// An extension to load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionSource {
    /// The entry file, absolute.
    pub path: PathBuf,
    pub origin: ExtensionOrigin,
}

/// Where an extension comes from. Extensions of different origins never share a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExtensionOrigin {
    /// `-e FILE`, which is the user's consent for this run.
    CommandLine,
    /// The user's folder.
    User,
    /// The folder of a trusted project.
    Project,
}

/// Whether the user allowed an extension to do what it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrantDecision {
    Allowed,
    Refused,
    /// The user was not asked yet.
    Undecided,
    /// The code changed after the decision.
    Changed,
}

/// Knows the extensions of each directory, and what the user decided about them.
pub trait ExtensionCatalog: Send + Sync + Debug {
    /// The extensions of a session in this directory, in the order in which they are loaded.
    fn extensions(&self, directory: &Path) -> Vec<ExtensionSource>;

    /// What the user decided about an extension with this code.
    fn decision(&self, _: &ExtensionSource, _: &ExtensionManifest) -> GrantDecision {
        GrantDecision::Allowed
    }

    /// Stores what the user decided. The error says what failed.
    fn store_decision(&self, _: &ExtensionSource, _: &ExtensionManifest, _: bool) -> Result<(), String> {
        Ok(())
    }

    /// Whether the user lets an extension with this code have the key of a provider; `None` if nobody was asked yet.
    fn key_decision(&self, _: &ExtensionSource, _: &ExtensionManifest, _provider: &str) -> Option<bool> {
        None
    }

    /// Stores whether the extension may have the key of a provider. The error says what failed.
    fn store_key_decision(
        &self,
        _: &ExtensionSource,
        _: &ExtensionManifest,
        _provider: &str,
        _allowed: bool,
    ) -> Result<(), String> {
        Ok(())
    }

    /// Whether the project of this directory is trusted.
    fn is_trusted(&self, _directory: &Path) -> bool {
        true
    }
}

/// A fixed list, for every directory.
impl ExtensionCatalog for Vec<ExtensionSource> {
    fn extensions(&self, _: &Path) -> Vec<ExtensionSource> {
        self.clone()
    }
}

/// The extensions in a folder: `*.ts` and `*.js`, and folders with a `package.json` that names them, or an `index.ts` or
/// `index.js`. Sorted by name.
pub fn find_extensions(folder: &Path, origin: ExtensionOrigin) -> Vec<ExtensionSource> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let files = paths.iter().flat_map(|path| entry_files(path));
    files.map(|path| ExtensionSource { path, origin }).collect()
}

/// The entry files of an extension that is a file or a folder.
pub fn entry_files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        let is_source = path.extension().is_some_and(|extension| extension == "ts" || extension == "js");
        let is_declaration = path.to_string_lossy().ends_with(".d.ts");
        return if is_source && !is_declaration { vec![path.to_owned()] } else { Vec::new() };
    }
    named_files(path).unwrap_or_else(|| {
        let index = ["index.ts", "index.js"].map(|name| path.join(name));
        index.into_iter().find(|file| file.is_file()).into_iter().collect()
    })
}

/// The files that the `package.json` of a folder names as extensions.
fn named_files(folder: &Path) -> Option<Vec<PathBuf>> {
    let manifest = std::fs::read(folder.join("package.json")).ok()?;
    let manifest: Value = serde_json::from_slice(&manifest).ok()?;
    let named = manifest.pointer("/pi/extensions")?.as_array()?;
    let files = named.iter().filter_map(|name| Some(folder.join(name.as_str()?)));
    Some(files.filter(|file| file.is_file()).collect())
}

/// Whether the `package.json` of a folder makes a file below it an extension of a package: it names the file, a folder around it or a pattern
/// that starts like it, or it names none and the file is in `extensions`.
fn has_extension(folder: &Path, entry: &Path) -> bool {
    let manifest = std::fs::read(folder.join("package.json")).ok();
    let Some(manifest) = manifest.and_then(|json| serde_json::from_slice::<Value>(&json).ok()) else {
        return false;
    };
    let has_keyword = || {
        manifest["keywords"]
            .as_array()
            .is_some_and(|keywords| keywords.iter().any(|word| word == "pi-package"))
    };
    let Some(named) = manifest.pointer("/pi/extensions").and_then(Value::as_array) else {
        let is_package = manifest["pi"].is_object() || has_keyword();
        return is_package && entry.starts_with(folder.join("extensions"));
    };
    named.iter().filter_map(Value::as_str).filter(|name| !name.starts_with('!')).any(|name| {
        let name = name.trim_start_matches("./");
        let plain = name.split(['*', '?', '[', '{']).next().unwrap_or_default();
        // Of a pattern, the folders before it count.
        let plain =
            if plain == name { plain } else { plain.rsplit_once('/').map_or("", |(folders, _)| folders) };
        entry.starts_with(folder.join(plain.trim_end_matches('/')))
    })
}

/// The folder from which an extension may load modules: that of the package that names its entry file, else its own folder or the one
/// above if that has a `package.json`, but not above a folder named `extensions`, else the folder of its entry file.
pub(crate) fn module_root(entry: &Path) -> PathBuf {
    let folder = entry.parent().unwrap_or(entry);
    let names_entry = |folder: &&Path| has_extension(folder, entry);
    let above = folder.parent().filter(|_| !folder.ends_with("extensions"));
    let has_manifest = |folder: &&Path| folder.join("package.json").is_file();
    let nearest = || [Some(folder), above].into_iter().flatten().find(has_manifest);
    folder.ancestors().find(names_entry).or_else(nearest).unwrap_or(folder).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_are_found_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("b.ts", "");
        write("a/index.js", "");
        write("c/package.json", r#"{"pi":{"extensions":["./x.ts","missing.ts"]}}"#);
        write("c/x.ts", "");
        write("c/index.ts", "");
        write("notes.md", "");
        write("types.d.ts", "");
        let found = find_extensions(folder.path(), ExtensionOrigin::User);
        let names: Vec<_> =
            found.iter().map(|source| source.path.strip_prefix(folder.path()).unwrap()).collect();
        assert_eq!(names, [Path::new("a/index.js"), Path::new("b.ts"), Path::new("c/x.ts")]);
        assert_eq!(module_root(&folder.path().join("c/x.ts")), folder.path().join("c"));
        assert!(find_extensions(&folder.path().join("none"), ExtensionOrigin::User).is_empty());
    }

    #[test]
    fn modules_come_from_the_package_that_names_the_entry_file() {
        let folder = tempfile::tempdir().unwrap();
        let entry = folder.path().join("build/adapters/pi/x.js");
        std::fs::create_dir_all(entry.parent().unwrap()).unwrap();
        std::fs::write(&entry, "").unwrap();
        let manifest = folder.path().join("package.json");
        std::fs::write(&manifest, "{}").unwrap();
        assert_eq!(module_root(&entry), entry.parent().unwrap());
        std::fs::write(&manifest, r#"{"pi":{"extensions":["./build/adapters/pi/x.js"]}}"#).unwrap();
        assert_eq!(module_root(&entry), folder.path());
        // It may name a folder or a pattern, or follow the convention.
        let entry = folder.path().join("extensions/one/index.ts");
        for (json, is_its) in [
            (r#"{"pi":{"extensions":["./extensions"]}}"#, true),
            (r#"{"pi":{"extensions":["extensions/*/index.ts","!extensions/two"]}}"#, true),
            (r#"{"pi":{"extensions":["./src"]}}"#, false),
            (r#"{"pi":{"skills":["./skills"]}}"#, true),
            (r#"{"keywords":["pi-package"]}"#, true),
            ("{}", false),
        ] {
            std::fs::write(&manifest, json).unwrap();
            let root = if is_its { folder.path() } else { entry.parent().unwrap() };
            assert_eq!(module_root(&entry), root, "{json}");
        }
    }
}
