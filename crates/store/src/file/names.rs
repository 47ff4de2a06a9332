//! The paths of session files: `<sessions>/<directory>/<time>_<id>.jsonl`.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use osier_tree::{Header, time};

/// How many characters of a directory's path its folder name contains.
const MAX_READABLE_CHARS: usize = 60;

/// The folder name for a working directory: readable, and unique because it ends in a hash of the full path.
pub fn folder_name(cwd: &Path) -> String {
    let text = cwd.to_string_lossy();
    let shown: String = text.chars().map(|ch| if ch.is_alphanumeric() { ch } else { '-' }).collect();
    let shown = shown.trim_matches('-');
    let skip = shown.chars().count().saturating_sub(MAX_READABLE_CHARS);
    let tail: String = shown.chars().skip(skip).collect();
    let hash = blake3::hash(cwd.as_os_str().as_bytes()).to_hex();
    format!("{}-{}", if tail.is_empty() { "root" } else { tail.trim_start_matches('-') }, &hash[..10])
}

/// The file name of a session.
pub(super) fn file_name(header: &Header) -> String {
    let created = time::format(header.created.unwrap_or_default()).replace([':', '.'], "-");
    format!("{created}_{}.jsonl", header.id)
}

/// The session id in a file name.
pub(super) fn id_from_file_name(name: &OsStr) -> Option<&str> {
    let stem = name.to_str()?.strip_suffix(".jsonl")?;
    Some(stem.split_once('_').map_or(stem, |(_, id)| id))
}

/// The session files of a folder, unsorted. Empty if the folder does not exist.
pub(super) fn files_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension() == Some(OsStr::new("jsonl")) {
            files.push(path);
        }
    }
    Ok(files)
}

/// The folders directly below `root`.
pub(super) fn folders_in(root: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    entries
        .filter_map(|entry| entry.map(|entry| Some(entry.path()).filter(|path| path.is_dir())).transpose())
        .collect()
}

/// Creates a folder that only its owner can access.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_that_look_alike_have_different_folders() {
        let names: Vec<String> = ["/a/b", "/a-b", "/a/b/", "/", "/project/一/二"]
            .iter()
            .map(|cwd| folder_name(Path::new(cwd)))
            .collect();
        assert!(
            names[0].starts_with("a-b-") && names[1].starts_with("a-b-") && names[3].starts_with("root-")
        );
        assert!(names[4].starts_with("project-一-二-"));
        let different: std::collections::HashSet<_> = names.iter().collect();
        assert_eq!(different.len(), names.len());
    }

    #[test]
    fn a_file_name_contains_time_and_id() {
        let header = Header::new("4f89da11-5e7b", 1_767_323_045_137, "/x");
        let name = file_name(&header);
        assert_eq!(name, "2026-01-02T03-04-05-137Z_4f89da11-5e7b.jsonl");
        assert_eq!(id_from_file_name(OsStr::new(&name)), Some("4f89da11-5e7b"));
    }
}
