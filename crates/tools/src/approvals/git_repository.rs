//! Checks that commands such as `git status` run only git in a repository.
//!
//! A repository can name programs in its settings (`core.fsmonitor`, `diff.*.textconv`, `filter.*.clean`, …), in a hook, and in
//! nested repositories. A clone never contains these, but an unpacked or shared folder may. There are too many dangerous
//! settings to list, so this module lists the harmless ones: a repository with any other setting is not plain.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::regular::open_regular;

/// The largest files that are read, in bytes.
const MAX_CONFIG_BYTES: u64 = 64 << 10;
const MAX_INDEX_BYTES: u64 = 64 << 20;

/// Sections in which every key is harmless.
const HARMLESS_SECTIONS: &[&str] = &["branch", "color", "pull", "push", "user"];

const HARMLESS_KEYS: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "autocrlf",
            "bare",
            "eol",
            "filemode",
            "ignorecase",
            "logallrefupdates",
            "precomposeunicode",
            "quotepath",
            "repositoryformatversion",
            "symlinks",
        ],
    ),
    // Not `lfs.extension.*.clean` and `lfs.customtransfer.*.path`, which are programs.
    ("lfs", &["access", "locksverify", "repositoryformatversion"]),
    ("remote", &["fetch", "gh-resolved", "prune", "pushurl", "tagopt", "url"]),
];

/// The mode of an index entry that is a nested repository (160000).
const GITLINK: &[u8] = &[0, 0, 0xe0, 0];

/// Whether an environment variable makes git use a repository other than the one in the parent folders.
pub(super) fn is_redirected_by(variable: &OsStr) -> bool {
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE"].iter().any(|name| variable == *name)
}

/// Whether git commands that only read run no other programs here. `cwd` is link-free.
pub(super) fn is_plain(cwd: &Path) -> bool {
    let Some(folder) = find_git_folder(cwd) else { return false };
    let Some(common) = common_folder(&folder) else { return false };
    let exists = |path: &str| fs::symlink_metadata(common.join(path)).is_ok();
    read_limited(&common.join("config"), MAX_CONFIG_BYTES).is_some_and(|config| is_plain_config(&config))
        // The only hook that read-only commands run.
        && !exists("hooks/post-index-change")
        && !exists("objects/info/alternates")
        && has_no_nested_repository(&folder)
}

/// The `.git` folder for a working directory, found as git finds it.
fn find_git_folder(cwd: &Path) -> Option<PathBuf> {
    for folder in cwd.ancestors() {
        let own = folder.join(".git");
        match fs::symlink_metadata(&own) {
            Ok(found) if found.is_dir() => return Some(own),
            Ok(found) if found.is_file() => {
                let text = String::from_utf8(read_limited(&own, MAX_CONFIG_BYTES)?).ok()?;
                return Some(folder.join(text.strip_prefix("gitdir: ")?.trim_end_matches('\n')));
            }
            Ok(_) => return None,
            // A bare repository.
            Err(_) if fs::symlink_metadata(folder.join("HEAD")).is_ok() => return None,
            Err(_) => {}
        }
    }
    None
}

/// The folder with the settings. A linked worktree shares the settings of its main repository.
fn common_folder(folder: &Path) -> Option<PathBuf> {
    let file = folder.join("commondir");
    if fs::symlink_metadata(&file).is_err() {
        return Some(folder.to_owned());
    }
    let text = String::from_utf8(read_limited(&file, MAX_CONFIG_BYTES)?).ok()?;
    Some(folder.join(text.trim_end_matches('\n')))
}

/// Nested repositories have their own settings, which `git status` obeys. This may report false positives, but no false
/// negatives.
fn has_no_nested_repository(folder: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(folder) else { return false };
    let is_split = entries.any(|entry| {
        entry.is_ok_and(|entry| entry.file_name().as_encoded_bytes().starts_with(b"sharedindex"))
    });
    let index = folder.join("index");
    if is_split {
        return false;
    }
    match fs::symlink_metadata(&index) {
        Err(_) => true,
        Ok(_) => read_limited(&index, MAX_INDEX_BYTES)
            .is_some_and(|index| memchr::memmem::find(&index, GITLINK).is_none()),
    }
}

/// Whether all settings are harmless. Accepts only the simple syntax that git itself writes.
fn is_plain_config(config: &[u8]) -> bool {
    let Ok(config) = std::str::from_utf8(config) else { return false };
    let mut section = String::new();
    config.lines().map(str::trim).all(|line| match line {
        "" => true,
        _ if line.starts_with(['#', ';']) => true,
        _ if line.ends_with('\\') => false,
        _ => match line.strip_prefix('[') {
            Some(rest) => section_name(rest).map(|name| section = name).is_some(),
            None => is_plain_key(&section, line.split('=').next().unwrap_or(line).trim()),
        },
    })
}

/// The section name of a header line without its `[`: `core]` or `remote "origin"]`.
fn section_name(rest: &str) -> Option<String> {
    let inner = rest.strip_suffix(']')?;
    let (name, sub) = inner.split_once(' ').unwrap_or((inner, "\"\""));
    let sub = sub.strip_prefix('"')?.strip_suffix('"')?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (is_name && !sub.contains(['"', '\\', ']'])).then(|| name.to_ascii_lowercase())
}

fn is_plain_key(section: &str, key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let is_name = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let is_known = |(name, keys): &(&str, &[&str])| *name == section && keys.contains(&key.as_str());
    is_name && (HARMLESS_SECTIONS.contains(&section) || HARMLESS_KEYS.iter().any(is_known))
}

/// The bytes of a regular file of at most `most` bytes.
fn read_limited(path: &Path, most: u64) -> Option<Vec<u8>> {
    let found = fs::symlink_metadata(path).ok().filter(|found| found.is_file() && found.len() <= most)?;
    let mut bytes = Vec::with_capacity(found.len() as usize);
    open_regular(path).ok()?.take(most + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= most).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn config_written_by_git_is_plain() {
        let config = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
                      [remote \"origin\"]\n\turl = https://x.y/z.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                      # a comment\n[lfs]\n\trepositoryformatversion = 0\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[user]\n\tname = A B\n";
        assert!(is_plain_config(config.as_bytes()));
        assert!(is_plain_config(b""));
    }

    #[test]
    fn config_that_can_run_programs_is_not_plain() {
        for config in [
            "[core]\n\tfsmonitor = ./x",
            "[core] fsmonitor = ./x",
            "[core]fsmonitor=./x",
            "[CORE]\nFSMONITOR = ./x",
            "[core]\n\thooksPath = x",
            "[core]\n\tpager = sh",
            "[core]\n\tworktree = ..",
            "[core]\n\talternateRefsCommand = ./x",
            "[core]\n\tbare = a\\\n\tfsmonitor = x",
            "[core]\n\tfilemode\n\tfsmonitor",
            "[diff \"x\"]\n\ttextconv = ./x",
            "[diff]\n\texternal = ./x",
            "[filter \"x\"]\n\tclean = ./x",
            "[include]\n\tpath = ../x",
            "[includeIf \"gitdir:/\"]\n\tpath = ../x",
            "[remote \"x\"]\n\tpromisor = true",
            "[remote \"x\"]\n\tuploadpack = ./x",
            "[extensions]\n\tworktreeConfig = true",
            "[log]\n\tshowSignature = true",
            "[gpg]\n\tprogram = ./x",
            "[alias]\n\tstatus = !sh",
            "[lfs \"extension.x\"]\n\tclean = ./x",
            "[lfs \"customtransfer.x\"]\n\tpath = ./x",
            "[branch \"a\"] [core]\n\tfsmonitor = x",
            "[branch \"a\\\"]\n[core \"]\n\tfsmonitor = x",
            "fsmonitor = x",
        ] {
            assert!(!is_plain_config(config.as_bytes()), "{config}");
        }
    }
}
