//! Packages of extensions: where they come from, and what is in them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use osier_agent::FileCheck;
use osier_extensions::{ExtensionOrigin, entry_files, find_extensions};
use serde_json::Value;

/// How deep patterns look for files, and how many files they may find.
const MAX_DEPTH: usize = 6;
const MAX_FILES: usize = 2_000;

/// Where a package comes from, as the user names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackageSource {
    /// `npm:NAME` or `npm:NAME@VERSION`.
    Npm {
        name: String,
        version: Option<String>,
    },
    /// `git:URL`, `https://…` or `ssh://…`, with `@REF` or `#REF`.
    Git {
        url: String,
        reference: Option<String>,
    },
    Path(PathBuf),
}

impl PackageSource {
    /// `None` if the text is empty or cannot be a source.
    pub fn parse(text: &str) -> Option<PackageSource> {
        if let Some(spec) = text.strip_prefix("npm:") {
            let at = spec.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| at);
            let (name, version) = at.map_or((spec, None), |at| (&spec[..at], Some(&spec[at + 1..])));
            return is_npm_name(name).then(|| PackageSource::Npm {
                name: name.to_owned(),
                version: version.filter(|version| !version.is_empty()).map(str::to_owned),
            });
        }
        let url = text.strip_prefix("git:").or_else(|| {
            ["https://", "http://", "ssh://", "git@"]
                .iter()
                .any(|start| text.starts_with(start))
                .then_some(text)
        });
        if let Some(url) = url {
            // An option of git is no address.
            return (!url.is_empty() && !url.starts_with('-')).then(|| split_reference(url));
        }
        (!text.is_empty()).then(|| PackageSource::Path(PathBuf::from(text)))
    }

    /// The folder below that of packages in which it is installed. `None` if it stays where it is.
    pub fn folder_name(&self) -> Option<PathBuf> {
        let plain = |text: &str| -> String {
            text.chars()
                .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' })
                .collect()
        };
        match self {
            PackageSource::Npm { name, .. } => {
                Some(Path::new("npm").join(plain(name).trim_matches(['-', '.'])))
            }
            PackageSource::Git { url, .. } => {
                let short = url.split("://").last().unwrap_or(url).trim_end_matches(".git");
                Some(Path::new("git").join(plain(short).trim_matches(['-', '.'])))
            }
            PackageSource::Path(_) => None,
        }
    }

    /// The folder below that of packages for runs that name this source and version with `-e`. No other source has it.
    pub fn run_folder_name(&self) -> Option<PathBuf> {
        let (kind, name, version) = match self {
            PackageSource::Npm { name, version } => ("npm", name, version),
            PackageSource::Git { url, reference } => ("git", url, reference),
            PackageSource::Path(_) => return None,
        };
        let version = version.as_ref().map(|version| format!("@{version}")).unwrap_or_default();
        let escape = |c: char| match c {
            c if c.is_ascii_alphanumeric() || c == '-' || c == '.' => c.to_string(),
            c => format!("_{:x}_", u32::from(c)),
        };
        let name: String = format!("{name}{version}").chars().map(escape).collect();
        Some(Path::new("run").join(kind).join(name))
    }
}

fn is_npm_name(name: &str) -> bool {
    let bare = name.strip_prefix('@').unwrap_or(name);
    !bare.is_empty()
        && !bare.starts_with(['.', '-', '/'])
        && bare.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
        && bare.matches('/').count() <= usize::from(name.starts_with('@'))
        && !bare.contains("..")
}

/// `URL@REF` or `URL#REF`. The `@` of `git@host` is no reference.
fn split_reference(text: &str) -> PackageSource {
    let at = text
        .rfind('#')
        .or_else(|| text.rfind('@').filter(|at| text[*at..].find([':', '/']).is_none() && *at > 3));
    let (url, reference) = at.map_or((text, None), |at| (&text[..at], Some(&text[at + 1..])));
    let url =
        if url.contains("://") || url.starts_with("git@") || url.starts_with('/') || url.starts_with('.') {
            url.to_owned()
        } else {
            format!("https://{url}")
        };
    let reference = reference.filter(|reference| !reference.is_empty() && !reference.starts_with('-'));
    PackageSource::Git { url, reference: reference.map(str::to_owned) }
}

/// What a package contains, by its `package.json` or its folders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackageContents {
    pub name: Option<String>,
    pub version: Option<String>,
    /// Entry files.
    pub extensions: Vec<PathBuf>,
    /// Folders with skills, and with prompt templates.
    pub skills: Vec<PathBuf>,
    pub prompts: Vec<PathBuf>,
}

impl PackageContents {
    /// Reads a package. A single file is a package with one extension.
    pub fn read(folder: &Path) -> PackageContents {
        if folder.is_file() {
            return PackageContents { extensions: entry_files(folder), ..PackageContents::default() };
        }
        let manifest = std::fs::read(folder.join("package.json")).ok();
        let manifest: Value =
            manifest.and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default();
        let text = |key: &str| manifest[key].as_str().map(str::to_owned);
        let listed = |kind: &str| -> Option<Vec<String>> {
            let list = manifest.pointer(&format!("/pi/{kind}"))?.as_array()?;
            Some(list.iter().filter_map(|item| Some(item.as_str()?.to_owned())).collect())
        };
        let extensions = match listed("extensions") {
            Some(patterns) => select(folder, &patterns).iter().flat_map(|path| extensions_at(path)).collect(),
            None => default_extensions(folder),
        };
        let folders = |kind: &str| match listed(kind) {
            Some(patterns) => select(folder, &patterns).into_iter().filter(|path| path.is_dir()).collect(),
            None => [folder.join(kind)].into_iter().filter(|path| path.is_dir()).collect(),
        };
        PackageContents {
            name: text("name"),
            version: text("version"),
            extensions,
            skills: folders("skills"),
            prompts: folders("prompts"),
        }
    }
}

/// Allows only files in this folder.
pub(super) fn inside(folder: &Path) -> FileCheck {
    let root = folder.canonicalize();
    Arc::new(move |real| match &root {
        Ok(root) if real.starts_with(root) => Ok(()),
        _ => Err("leads out of the package".to_owned()),
    })
}

/// A named file, a folder that is an extension, or a folder of extensions.
fn extensions_at(path: &Path) -> Vec<PathBuf> {
    let files = entry_files(path);
    if !files.is_empty() {
        return files;
    }
    find_extensions(path, ExtensionOrigin::User).into_iter().map(|source| source.path).collect()
}

fn default_extensions(folder: &Path) -> Vec<PathBuf> {
    let found = find_extensions(&folder.join("extensions"), ExtensionOrigin::User);
    match found.is_empty() {
        true => entry_files(folder),
        false => found.into_iter().map(|source| source.path).collect(),
    }
}

/// The files and folders that patterns name; `!PATTERN` excludes. Nothing outside the package is selected.
fn select(folder: &Path, patterns: &[String]) -> Vec<PathBuf> {
    let Ok(root) = folder.canonicalize() else { return Vec::new() };
    let matcher = |pattern: &str| -> Option<GlobMatcher> {
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
        Some(GlobBuilder::new(pattern).literal_separator(true).build().ok()?.compile_matcher())
    };
    let excluded: Vec<GlobMatcher> =
        patterns.iter().filter_map(|pattern| matcher(pattern.strip_prefix('!')?)).collect();
    let mut selected = Vec::new();
    for pattern in patterns.iter().filter(|pattern| !pattern.starts_with('!')) {
        let found = match pattern.contains(['*', '?', '[', '{']) {
            false => vec![folder.join(pattern.trim_start_matches("./"))],
            true => {
                let mut files = Vec::new();
                list(folder, 0, &mut files);
                let matcher = matcher(pattern);
                let fits = |path: &PathBuf| {
                    matcher
                        .as_ref()
                        .zip(path.strip_prefix(folder).ok())
                        .is_some_and(|(glob, path)| glob.is_match(path))
                };
                files.into_iter().filter(fits).collect()
            }
        };
        selected.extend(found);
    }
    let is_inside = |path: &PathBuf| path.canonicalize().is_ok_and(|real| real.starts_with(&root));
    let is_excluded = |path: &PathBuf| {
        path.strip_prefix(folder).is_ok_and(|below| excluded.iter().any(|glob| glob.is_match(below)))
    };
    selected.retain(|path| is_inside(path) && !is_excluded(path));
    let mut seen = std::collections::HashSet::new();
    selected.retain(|path| seen.insert(path.clone()));
    selected
}

fn list(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if entry.file_name() == "node_modules" || found.len() >= MAX_FILES {
            continue;
        }
        found.push(entry.path());
        if is_dir && depth < MAX_DEPTH {
            list(&entry.path(), depth + 1, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_recognized() {
        let npm = |name: &str, version: Option<&str>| {
            Some(PackageSource::Npm { name: name.to_owned(), version: version.map(str::to_owned) })
        };
        assert_eq!(PackageSource::parse("npm:pi-x"), npm("pi-x", None));
        assert_eq!(PackageSource::parse("npm:@a/b@1.2.3"), npm("@a/b", Some("1.2.3")));
        for bad in ["npm:", "npm:../x", "npm:-g", "npm:a/b", "git:", "git:--upload-pack=x", ""] {
            assert_eq!(PackageSource::parse(bad), None, "{bad}");
        }
        let git = |url: &str, reference: Option<&str>| {
            Some(PackageSource::Git { url: url.to_owned(), reference: reference.map(str::to_owned) })
        };
        assert_eq!(PackageSource::parse("git:github.com/a/b"), git("https://github.com/a/b", None));
        assert_eq!(PackageSource::parse("https://h/a/b@v1"), git("https://h/a/b", Some("v1")));
        assert_eq!(PackageSource::parse("git@h:a/b"), git("git@h:a/b", None));
        assert_eq!(PackageSource::parse("./x"), Some(PackageSource::Path("./x".into())));
        let folder = |text: &str| PackageSource::parse(text).unwrap().folder_name().unwrap();
        assert_eq!(folder("npm:@a/b"), Path::new("npm/a-b"));
        assert_eq!(folder("git:https://h/../b"), Path::new("git/h-..-b"));
    }

    #[test]
    fn a_manifest_selects_by_patterns_and_never_outside() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let pi = r#"{ "extensions": ["./src/*.ts", "!src/b.ts", "../outside.ts", "deep", "many"], "skills": ["./skills"] }"#;
        write("package/package.json", &format!(r#"{{ "name": "x", "version": "2", "pi": {pi} }}"#));
        for name in [
            "src/a.ts",
            "src/b.ts",
            "deep/index.ts",
            "many/one.ts",
            "many/two/index.ts",
            "skills/one/SKILL.md",
            "prompts/p.md",
        ] {
            write(&format!("package/{name}"), "");
        }
        write("outside.ts", "");
        let package = folder.path().join("package");
        let contents = PackageContents::read(&package);
        let expected = ["src/a.ts", "deep/index.ts", "many/one.ts", "many/two/index.ts"];
        assert_eq!(contents.extensions, expected.map(|name| package.join(name)));
        assert_eq!(
            (contents.skills, contents.prompts),
            (vec![package.join("./skills")], vec![package.join("prompts")])
        );
        assert_eq!((contents.name.as_deref(), contents.version.as_deref()), (Some("x"), Some("2")));
    }
}
