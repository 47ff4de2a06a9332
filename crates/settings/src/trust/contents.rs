//! The contents of a project's folder for a trust decision: the names to show, and a hash over all files.
//!
//! Links inside the project are followed, and their targets are hashed too. A folder that the hash cannot cover cannot be
//! trusted: links to places outside the project, too many files or bytes, special files, or files of other users.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use blake3::Hasher;
use osier_engine::is_owned_by_another;
use osier_tools::open_regular;

/// Limits. A project with more cannot be trusted.
const MAX_FILES: usize = 1_000;
const MAX_BYTES: u64 = 16 << 20;

/// The file names in a folder, and the hash of its contents.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FolderContents {
    pub(crate) names: Vec<String>,
    pub(crate) hash: String,
}

/// Hashes a folder below `root`, which must be canonical. `Err` contains the reason why the project cannot be trusted.
pub(crate) fn hash_folder(folder: &Path, root: &Path) -> Result<FolderContents, String> {
    let mut walk = FolderHasher { root, hasher: Hasher::new(), files: 0, bytes: 0 };
    let mut open = vec![walk.canonical_path(folder)?];
    let mut names: Option<Vec<String>> = None;
    while let Some(next) = open.pop() {
        let entries = walk.read_folder(&next)?;
        if names.is_none() {
            names = Some(
                entries
                    .iter()
                    .filter_map(|path| path.file_name())
                    .map(|name| name.to_string_lossy().into_owned())
                    .collect(),
            );
        }
        for path in entries {
            open.extend(walk.add_path(&path)?);
        }
    }
    Ok(FolderContents { names: names.unwrap_or_default(), hash: walk.hasher.finalize().to_hex().to_string() })
}

struct FolderHasher<'a> {
    root: &'a Path,
    hasher: Hasher,
    files: usize,
    bytes: u64,
}

impl FolderHasher<'_> {
    /// The canonical path, which must be inside the project.
    fn canonical_path(&self, path: &Path) -> Result<PathBuf, String> {
        let real = path.canonicalize().map_err(|error| read_error(path, &error))?;
        match real.starts_with(self.root) {
            true => Ok(real),
            false => Err(format!("{} is a link that points outside the project", path.display())),
        }
    }

    fn read_folder(&mut self, folder: &Path) -> Result<Vec<PathBuf>, String> {
        let mut paths = Vec::new();
        for entry in fs::read_dir(folder).map_err(|error| read_error(folder, &error))? {
            self.files += 1;
            if self.files > MAX_FILES {
                return Err(format!("{} contains more than {MAX_FILES} files", folder.display()));
            }
            paths.push(entry.map_err(|error| read_error(folder, &error))?.path());
        }
        paths.sort();
        Ok(paths)
    }

    /// Adds a path to the hash. Returns it if it is a folder, to be read next.
    fn add_path(&mut self, path: &Path) -> Result<Option<PathBuf>, String> {
        let real = self.canonical_path(path)?;
        let metadata = fs::symlink_metadata(&real).map_err(|error| read_error(path, &error))?;
        if is_owned_by_another(&metadata) {
            return Err(format!("{} belongs to another user", path.display()));
        }
        // Hash the name and the link target too, so that swapping two files changes the hash.
        for name in [path, &real] {
            self.add_bytes(name.strip_prefix(self.root).unwrap_or(name).as_os_str().as_encoded_bytes());
        }
        if metadata.is_dir() {
            return Ok(Some(real));
        }
        if !metadata.is_file() {
            return Err(format!("{} is neither a file nor a folder", path.display()));
        }
        let mut bytes = Vec::new();
        let room = MAX_BYTES.saturating_sub(self.bytes);
        let read = open_regular(&real).and_then(|file| file.take(room + 1).read_to_end(&mut bytes));
        self.bytes += read.map_err(|error| read_error(path, &error))? as u64;
        if self.bytes > MAX_BYTES {
            return Err(format!(
                "the folder contains more than {} MiB in {}",
                MAX_BYTES >> 20,
                path.display()
            ));
        }
        self.add_bytes(&bytes);
        Ok(None)
    }

    /// Includes the length, so that different splits of the same bytes have different hashes.
    fn add_bytes(&mut self, bytes: &[u8]) {
        self.hasher.update(&(bytes.len() as u64).to_le_bytes());
        self.hasher.update(bytes);
    }
}

fn read_error(path: &Path, error: &io::Error) -> String {
    format!("{} cannot be read ({error})", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    struct TestFolder(tempfile::TempDir);

    impl TestFolder {
        fn new() -> TestFolder {
            let temp = TestFolder(tempfile::tempdir().unwrap());
            for folder in ["project/skills", "project/docs", "outside"] {
                fs::create_dir_all(temp.at(folder)).unwrap();
            }
            temp
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(path)
        }

        fn contents(&self) -> Result<FolderContents, String> {
            hash_folder(&self.at("project/skills"), &self.at("project"))
        }
    }

    #[test]
    fn any_change_in_the_folder_changes_the_hash() {
        let temp = TestFolder::new();
        let hash = || temp.contents().unwrap().hash;
        let mut seen = vec![hash()];
        let mut changed = |what: &str| {
            let now = hash();
            assert!(!seen.contains(&now), "{what}");
            seen.push(now);
        };
        fs::create_dir(temp.at("project/skills/one")).unwrap();
        changed("a folder");
        fs::write(temp.at("project/skills/one/SKILL.md"), "a").unwrap();
        changed("a file");
        fs::write(temp.at("project/skills/one/SKILL.md"), "b").unwrap();
        changed("other content of the same length");
        fs::write(temp.at("project/skills/large"), vec![b'a'; 2 << 20]).unwrap();
        changed("a large file");
        fs::write(temp.at("project/skills/large"), vec![b'b'; 2 << 20]).unwrap();
        changed("another large file of the same length");
        fs::write(temp.at("project/docs/a.md"), "a").unwrap();
        symlink("../docs", temp.at("project/skills/two")).unwrap();
        changed("a link");
        fs::write(temp.at("project/docs/a.md"), "b").unwrap();
        changed("the target of a link");
        assert_eq!(temp.contents().unwrap().names, ["large", "one", "two"]);
        assert_eq!(hash(), hash());
    }

    #[test]
    fn folders_that_the_hash_cannot_cover_are_refused() {
        let refused = |make: &dyn Fn(&TestFolder), reason: &str| {
            let temp = TestFolder::new();
            make(&temp);
            let found = temp.contents().unwrap_err();
            assert!(found.contains(reason), "{found}");
        };
        refused(&|temp| symlink("/", temp.at("project/skills/all")).unwrap(), "outside the project");
        refused(
            &|temp| symlink(temp.at("outside"), temp.at("project/skills/x")).unwrap(),
            "outside the project",
        );
        refused(&|temp| symlink("nothing", temp.at("project/skills/x")).unwrap(), "cannot be read");
        refused(&|temp| symlink("..", temp.at("project/skills/circle")).unwrap(), "more than 1000 files");
        let whole = |temp: &TestFolder| {
            fs::remove_dir(temp.at("project/skills")).unwrap();
            symlink("/", temp.at("project/skills")).unwrap();
        };
        refused(&whole, "outside the project");
        let many = |temp: &TestFolder| {
            (0..=MAX_FILES).for_each(|n| fs::write(temp.at(&format!("project/skills/{n}")), "").unwrap());
        };
        refused(&many, "more than 1000 files");
        let large = |temp: &TestFolder| {
            let file = fs::File::create(temp.at("project/skills/x")).unwrap();
            file.set_len(MAX_BYTES + 1).unwrap();
        };
        refused(&large, "more than 16 MiB");
        let pipe = |temp: &TestFolder| {
            let path = temp.at("project/skills/pipe");
            rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
        };
        refused(&pipe, "neither a file nor a folder");
    }
}
