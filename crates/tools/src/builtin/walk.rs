//! The files that `grep` and `find` look at: what `.gitignore` and its kin leave, hidden ones only if asked for, `.git` never.
//! Links are not followed, so no walk leaves the folder or goes in circles.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};

use crate::blocking::Result;
use crate::outcome::ToolOutcome;
use crate::paths::kernel_folder;

/// Larger ignore files are not read: nobody writes so many rules.
const LONGEST_IGNORE: u64 = 1 << 20;

/// In the order of their names.
pub(super) fn walk(root: &Path, hidden: bool) -> impl Iterator<Item = DirEntry> {
    let walk = builder(root)
        .hidden(!hidden)
        .sort_by_file_name(OsStr::cmp)
        .filter_entry(|entry| is_walked(entry.path()) && has_sound_rules(entry.path()))
        .build();
    // A folder that cannot be read is left out, as ripgrep does.
    walk.flatten()
}

/// What is in one folder, hidden or not, without what is ignored. In no order.
pub(super) fn not_ignored(folder: &Path) -> impl Iterator<Item = DirEntry> {
    let walk = builder(folder).hidden(false).max_depth(Some(1)).build();
    walk.flatten().filter(|entry| entry.depth() == 1)
}

/// The files below a folder that version control would see.
pub fn files(root: &Path) -> impl Iterator<Item = DirEntry> {
    let walk = builder(root).filter_entry(|entry| has_sound_rules(entry.path())).build();
    walk.flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
}

/// The rules of the folder and of those above it count only if all of these files can be read without harm.
fn builder(root: &Path) -> WalkBuilder {
    let is_sound = root.ancestors().all(has_sound_rules);
    let mut builder = WalkBuilder::new(root);
    // What another machine's settings hide is nothing a model could explain.
    builder.require_git(false).git_global(false).follow_links(false);
    builder.ignore(is_sound).git_ignore(is_sound).git_exclude(is_sound).parents(is_sound);
    builder
}

/// Whether no ignore file of a folder is a pipe, a device, or endless. The walk leaves out a folder that has one.
fn has_sound_rules(folder: &Path) -> bool {
    let names = [".gitignore", ".ignore", ".git/info/exclude", ".git", ".git/commondir"];
    names.iter().all(|name| match fs::metadata(folder.join(name)) {
        Ok(found) => found.is_dir() || found.is_file() && found.len() <= LONGEST_IGNORE,
        Err(_) => true,
    })
}

fn is_walked(path: &Path) -> bool {
    path.file_name() != Some(OsStr::new(".git")) && kernel_folder(path).is_none()
}

/// A glob that speaks about names if it has no slash, otherwise about paths below a folder.
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
        let bad = |why: &str| {
            ToolOutcome::failed(format!("`{field}` is no glob: {why}; examples: *.rs, src/**/*.{{ts,tsx}}"))
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

    /// `path` is relative to the folder searched.
    pub(super) fn matches(&self, path: &Path) -> bool {
        let hit = match path.file_name() {
            Some(name) if self.by_name => self.glob.is_match(name),
            _ => self.glob.is_match(path),
        };
        hit != self.negated
    }
}

/// `path` below `root`; of the root itself its own name.
pub(super) fn below(root: &Path, path: &Path) -> PathBuf {
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
    fn a_glob_without_slash_speaks_of_names_and_one_with_a_slash_of_paths() {
        let all = ["a.rs", "src/b.rs", "src/deep/c.rs", "src/d.ts"];
        assert_eq!(hits("*.rs", &all), ["a.rs", "src/b.rs", "src/deep/c.rs"]);
        assert_eq!(hits("src/*.rs", &all), ["src/b.rs"]);
        assert_eq!(hits("./src/**/*.rs", &all), ["src/b.rs", "src/deep/c.rs"]);
        assert_eq!(hits("**/*.{ts,rs}", &all), all);
        assert_eq!(hits("!*.rs", &all), ["src/d.ts"]);
    }

    #[test]
    fn a_walk_from_the_root_does_not_enter_the_kernel() {
        for path in ["/proc", "/proc/kmsg", "/dev/tty", "/sys/kernel", "/home/me/.git"] {
            assert!(!is_walked(Path::new(path)), "{path}");
        }
        for path in ["/", "/process", "/home/proc", "/home/me/.github"] {
            assert!(is_walked(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn a_glob_that_is_none_is_explained() {
        for bad in ["", "!", "src/[a", "{a"] {
            let told = PathGlob::new("glob", bad).unwrap_err().plain_text();
            assert!(told.starts_with("`glob` is no glob: "), "{told}");
        }
    }
}
