//! What lies in a folder of a project, as far as trust is concerned: the names to show, and a hash that changes with any file.

use std::fs;
use std::path::Path;

use blake3::Hasher;

/// More than so many files, or bytes of one, are not read; their number and size still count.
const FILES: usize = 1_000;
const BYTES: u64 = 1 << 20;

/// The names of what lies in a folder, and the hash of everything in it. Links count as where they lead, not what lies there.
pub(super) fn of(folder: &Path) -> (Vec<String>, String) {
    let mut hasher = Hasher::new();
    let (mut open, mut files) = (vec![folder.to_owned()], 0);
    while let Some(place) = open.pop() {
        let mut entries: Vec<_> = fs::read_dir(&place).into_iter().flatten().flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            add(&mut hasher, path.strip_prefix(folder).unwrap_or(&path).as_os_str().as_encoded_bytes());
            files += 1;
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_symlink() {
                let target = fs::read_link(&path).unwrap_or_default();
                add(&mut hasher, target.as_os_str().as_encoded_bytes());
            } else if kind.is_file() {
                let size = entry.metadata().map(|metadata| metadata.len()).unwrap_or(0);
                hasher.update(&size.to_le_bytes());
                if files <= FILES && size <= BYTES {
                    add(&mut hasher, &fs::read(&path).unwrap_or_default());
                }
            }
        }
    }
    let mut names: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    (names, hasher.finalize().to_hex().to_string())
}

/// Lengths keep two pieces from passing for other two.
fn add(hasher: &mut Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_change_below_the_folder_is_another_hash() {
        let folder = tempfile::tempdir().unwrap();
        let hash = || of(folder.path()).1;
        let mut seen = vec![hash()];
        let mut changed = |what: &str| {
            let now = hash();
            assert!(!seen.contains(&now), "{what}");
            seen.push(now);
        };
        fs::create_dir(folder.path().join("one")).unwrap();
        changed("a folder");
        fs::write(folder.path().join("one/SKILL.md"), "a").unwrap();
        changed("a file");
        fs::write(folder.path().join("one/SKILL.md"), "b").unwrap();
        changed("other content of the same length");
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("two")).unwrap();
        changed("a link");
        assert_eq!(of(folder.path()).0, ["one", "two"]);
        assert_eq!(hash(), hash());
    }
}
