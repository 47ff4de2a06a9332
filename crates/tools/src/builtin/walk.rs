//! Walks the files for `grep` and `find`: skips files ignored by `.gitignore` and similar files, hidden files unless requested,
//! and `.git` always. Does not follow links, so a walk never leaves the folder or loops.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};

use crate::blocking::Result;
use crate::outcome::ToolOutcome;
use crate::paths::kernel_folder;
use crate::protected_paths::ProtectedPaths;

/// Larger ignore files are not read.
const MAX_IGNORE_FILE_BYTES: u64 = 1 << 20;

/// All entries, sorted by name, without those that are closed.
pub(super) fn walk(
    root: &Path,
    hidden: bool,
    protected: &ProtectedPaths,
) -> impl Iterator<Item = DirEntry> + use<> {
    let closed = protected.closed_entries();
    let is_open = move |entry: &DirEntry| entry.depth() == 0 || !closed.contains_path(entry.path());
    let walk = builder(root)
        .hidden(!hidden)
        .sort_by_file_name(OsStr::cmp)
        .filter_entry(move |entry| {
            should_enter(entry.path()) && is_open(entry) && has_safe_ignore_files(entry.path())
        })
        .build();
    // Skips a folder that cannot be read, as ripgrep does.
    walk.flatten()
}

/// The entries of one folder that are not ignored, including hidden ones, unsorted.
pub(super) fn not_ignored(folder: &Path) -> impl Iterator<Item = DirEntry> {
    let walk = builder(folder).hidden(false).max_depth(Some(1)).build();
    walk.flatten().filter(|entry| entry.depth() == 1)
}

/// The files below a folder that are neither hidden nor ignored.
pub fn unignored_files(root: &Path) -> impl Iterator<Item = DirEntry> {
    let walk = builder(root).filter_entry(|entry| has_safe_ignore_files(entry.path())).build();
    walk.flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
}

/// Applies ignore rules of the folder and its parents only if all these files are safe to read.
fn builder(root: &Path) -> WalkBuilder {
    let is_sound = root.ancestors().all(has_safe_ignore_files);
    let mut builder = WalkBuilder::new(root);
    // Global git settings differ between machines, so they do not apply.
    builder.require_git(false).git_global(false).follow_links(false);
    builder.ignore(is_sound).git_ignore(is_sound).git_exclude(is_sound).parents(is_sound);
    builder
}

/// Whether all ignore files of a folder are regular files of limited size. The walk skips a folder that has any other.
fn has_safe_ignore_files(folder: &Path) -> bool {
    let names = [".gitignore", ".ignore", ".git/info/exclude", ".git", ".git/commondir"];
    names.iter().all(|name| match fs::metadata(folder.join(name)) {
        Ok(found) => found.is_dir() || found.is_file() && found.len() <= MAX_IGNORE_FILE_BYTES,
        Err(_) => true,
    })
}

fn should_enter(path: &Path) -> bool {
    path.file_name() != Some(OsStr::new(".git")) && kernel_folder(path).is_none()
}

/// A glob. Without a slash it matches names, otherwise paths below a folder.
#[derive(Debug)]
pub(super) struct PathGlob {
    glob: GlobMatcher,
    by_name: bool,
    negated: bool,
}

impl PathGlob {
    pub(super) fn new(field: &str, text: &str) -> Result<PathGlob> {
        let (negated, body) = text.strip_prefix('!').map_or((false, text), |body| (true, body));
        let body = body.trim_start_matches("./").trim_start_matches('/');
        let bad = |reason: &str| {
            ToolOutcome::failed(format!(
                "`{field}` is not a valid glob: {reason}; examples: *.rs, src/**/*.{{ts,tsx}}"
            ))
        };
        if body.is_empty() {
            return Err(bad("it is empty"));
        }
        let glob: Glob = GlobBuilder::new(body.trim_end_matches('/'))
            .literal_separator(true)
            .build()
            .map_err(|error| bad(&error.kind().to_string()))?;
        Ok(PathGlob {
            glob: glob.compile_matcher(),
            by_name: !body.trim_end_matches('/').contains('/'),
            negated,
        })
    }

    /// `path` is relative to the searched folder.
    pub(super) fn matches(&self, path: &Path) -> bool {
        let hit = match path.file_name() {
            Some(name) if self.by_name => self.glob.is_match(name),
            _ => self.glob.is_match(path),
        };
        hit != self.negated
    }
}

/// `path` relative to `root`; for the root itself, its name.
pub(super) fn relative_to(root: &Path, path: &Path) -> PathBuf {
    match path.strip_prefix(root) {
        Ok(rest) if !rest.as_os_str().is_empty() => rest.to_owned(),
        _ => path.file_name().map(PathBuf::from).unwrap_or_else(|| path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits<'a>(glob: &str, paths: &[&'a str]) -> Vec<&'a str> {
        let glob = PathGlob::new("glob", glob).unwrap();
        paths.iter().copied().filter(|path| glob.matches(Path::new(path))).collect()
    }

    #[test]
    fn glob_without_slash_matches_names_and_with_slash_matches_paths() {
        let all = ["a.rs", "src/b.rs", "src/deep/c.rs", "src/d.ts"];
        assert_eq!(hits("*.rs", &all), ["a.rs", "src/b.rs", "src/deep/c.rs"]);
        assert_eq!(hits("src/*.rs", &all), ["src/b.rs"]);
        assert_eq!(hits("./src/**/*.rs", &all), ["src/b.rs", "src/deep/c.rs"]);
        assert_eq!(hits("**/*.{ts,rs}", &all), all);
        assert_eq!(hits("!*.rs", &all), ["src/d.ts"]);
    }

    #[test]
    fn walk_from_the_root_skips_kernel_folders() {
        for path in ["/proc", "/proc/kmsg", "/dev/tty", "/sys/kernel", "/home/me/.git"] {
            assert!(!should_enter(Path::new(path)), "{path}");
        }
        for path in ["/", "/process", "/home/proc", "/home/me/.github"] {
            assert!(should_enter(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn invalid_glob_is_explained() {
        for bad in ["", "!", "src/[a", "{a"] {
            let text = PathGlob::new("glob", bad).unwrap_err().plain_text();
            assert!(text.starts_with("`glob` is not a valid glob: "), "{text}");
        }
    }
}
