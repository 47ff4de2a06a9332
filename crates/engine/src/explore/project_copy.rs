//! The project at the start of an explore, and the copies of it that tries work in.
//!
//! `base.git` is a repository of our own. It has the files of the working directory at the start as one commit, and later those
//! of each try. The user's repository is only read: it gets no objects, branches, work trees or locks.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use osier_protocol::explore::{FileChange, FileChangeKind};
use osier_tools::CommandEnv;
use serde::{Deserialize, Serialize};

use super::explore_folder::BASE;
use super::git::{Git, git_path, zero_separated};

/// How many files a project without git may have.
const MAX_FILES: usize = 50_000;

/// Files are stored as they are, and merged as text.
const ATTRIBUTES: &str = "* -text -filter -ident -eol !working-tree-encoding !merge\n";

/// The longest patch that is returned, in bytes.
pub(super) const MAX_DIFF: usize = 1 << 20;

/// The project that is copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProjectRoot {
    /// The top of the repository, or the working directory.
    pub(super) root: PathBuf,
    /// The working directory below it.
    pub(super) prefix: PathBuf,
    pub(super) is_repository: bool,
}

/// Why a project cannot be copied. Tries then only read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CannotCopy(pub(super) String);

/// The repository with the project at the start.
#[derive(Debug, Clone)]
pub(super) struct BaseRepository {
    env: Arc<CommandEnv>,
    /// The folder of the explore.
    folder: PathBuf,
    project: ProjectRoot,
}

/// A file in a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TreeFile {
    /// As in git: `100644`, `100755`, or `120000` for a link.
    pub(super) mode: String,
    pub(super) blob: String,
}

/// A file that differs between two trees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TreeChange {
    /// Relative to the root of the project, as bytes of a path.
    #[serde(with = "path_bytes")]
    pub(super) path: PathBuf,
    pub(super) before: Option<TreeFile>,
    pub(super) after: Option<TreeFile>,
}

impl TreeChange {
    pub(super) fn file_change(&self) -> FileChange {
        let change = match (&self.before, &self.after) {
            (None, _) => FileChangeKind::Added,
            (_, None) => FileChangeKind::Deleted,
            _ => FileChangeKind::Changed,
        };
        FileChange { path: self.path.to_string_lossy().into_owned(), change }
    }
}

mod path_bytes {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => text.serialize(serializer),
            None => path.as_os_str().as_bytes().serialize(serializer),
        }
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum PathForm {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        Ok(match PathForm::deserialize(deserializer)? {
            PathForm::Text(text) => PathBuf::from(text),
            PathForm::Bytes(bytes) => PathBuf::from(OsString::from_vec(bytes)),
        })
    }
}

/// Copies an index with its time: git reads again every file that is not older than the index.
fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    let time = match fs::metadata(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?.modified()?,
    };
    fs::copy(from, to)?;
    fs::File::options().write(true).open(to)?.set_modified(time)
}

impl ProjectRoot {
    /// The project of a working directory.
    pub(super) fn find(env: &Arc<CommandEnv>, cwd: &Path) -> io::Result<ProjectRoot> {
        let cwd = cwd.canonicalize()?;
        let git = Git::new(env.clone(), &cwd);
        git.run(&["--version"])?;
        let has_repository = cwd.ancestors().any(|folder| folder.join(".git").exists());
        if !has_repository {
            return Ok(ProjectRoot { root: cwd, prefix: PathBuf::new(), is_repository: false });
        }
        let root = git.path(&["rev-parse", "--show-toplevel"])?.canonicalize()?;
        let prefix = cwd.strip_prefix(&root).map_err(io::Error::other)?.to_owned();
        // A repository further up that ignores this directory, such as one for dotfiles, has none of its files.
        if !prefix.as_os_str().is_empty()
            && git.output(&["check-ignore", "--quiet", "."], b"")?.status.success()
        {
            return Ok(ProjectRoot { root: cwd, prefix: PathBuf::new(), is_repository: false });
        }
        Ok(ProjectRoot { root, prefix, is_repository: true })
    }
}

impl BaseRepository {
    pub(super) fn open(env: Arc<CommandEnv>, folder: &Path, project: ProjectRoot) -> BaseRepository {
        BaseRepository { env, folder: folder.to_owned(), project }
    }

    fn repository(&self) -> PathBuf {
        self.folder.join(BASE)
    }

    pub(super) fn project(&self) -> &ProjectRoot {
        &self.project
    }

    pub(super) fn try_folder(&self, number: u32) -> PathBuf {
        self.folder.join(number.to_string())
    }

    fn git(&self) -> Git {
        Git::new(self.env.clone(), &self.folder).with("GIT_DIR", self.repository())
    }

    /// Git in `base.git`, with the files of another folder.
    fn git_over(&self, work_tree: &Path, index: &Path) -> Git {
        Git::new(self.env.clone(), work_tree)
            .with("GIT_DIR", self.repository())
            .with("GIT_WORK_TREE", work_tree)
            .with("GIT_INDEX_FILE", index)
    }

    /// The index of a try, after its files were stored the last time.
    fn index_of_try(&self, number: u32) -> PathBuf {
        self.repository().join(format!("index-{number}"))
    }

    fn users_git(&self) -> Git {
        Git::new(self.env.clone(), &self.project.root)
    }

    /// Stores the project as it is now. `limit` is for files that git does not track, in bytes.
    pub(super) fn create(&self, limit: u64) -> io::Result<Result<(), CannotCopy>> {
        if let Err(problem) = self.check_size(limit)? {
            return Ok(Err(problem));
        }
        let repository = self.repository();
        let mut init = vec!["init", "--quiet", "--bare", "--template="];
        let format;
        if self.project.is_repository {
            format =
                format!("--object-format={}", self.users_git().line(&["rev-parse", "--show-object-format"])?);
            init.push(&format);
        }
        let path = repository.to_string_lossy().into_owned();
        init.push(&path);
        Git::new(self.env.clone(), &self.folder).run(&init)?;
        fs::create_dir_all(repository.join("info"))?;
        fs::write(repository.join("info/attributes"), ATTRIBUTES)?;
        fs::write(repository.join("info/exclude"), self.excluded()?)?;
        if self.project.is_repository {
            // Files that are already stored there are not stored again.
            self.share_objects(&repository)?;
        }
        let index = repository.join("index");
        let tree = self.store_files(&self.project.root, Some(&index), &self.users_files()?)?;
        let commit = self.commit(&tree, None)?;
        self.git().run(&["update-ref", "refs/osier/base", &commit])?;
        Ok(Ok(()))
    }

    /// The user's excluded names, and Osier's own folder.
    fn excluded(&self) -> io::Result<Vec<u8>> {
        let mut excluded = Vec::new();
        if self.project.is_repository {
            let file = self.users_git().path(&["rev-parse", "--git-path", "info/exclude"])?;
            excluded = fs::read(file).unwrap_or_default();
            excluded.push(b'\n');
        }
        if let Some(path) = self.own_folder() {
            excluded.extend([b"/", path.as_os_str().as_bytes(), b"\n"].concat());
        }
        Ok(excluded)
    }

    fn share_objects(&self, repository: &Path) -> io::Result<()> {
        let objects = self.users_git().path(&["rev-parse", "--git-path", "objects"])?.canonicalize()?;
        fs::create_dir_all(repository.join("objects/info"))?;
        let line = [objects.as_os_str().as_bytes(), b"\n"].concat();
        fs::write(repository.join("objects/info/alternates"), line)
    }

    /// The files that git knows or does not ignore, in a repository.
    fn users_files(&self) -> io::Result<Option<Vec<u8>>> {
        if !self.project.is_repository {
            return Ok(None);
        }
        self.users_git().run(&["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).map(Some)
    }

    fn check_size(&self, limit: u64) -> io::Result<Result<(), CannotCopy>> {
        let megabytes = limit >> 20;
        let root = &self.project.root;
        let own = self.own_folder().map(|own| root.join(own));
        let mut bytes = 0;
        if self.project.is_repository {
            let others = self.users_git().run(&["ls-files", "-z", "--others", "--exclude-standard"])?;
            for path in zero_separated(&others).map(|path| root.join(git_path(path))) {
                bytes += fs::symlink_metadata(&path).map_or(0, |found| found.len());
            }
            if bytes > limit {
                return Ok(Err(CannotCopy(format!(
                    "the files that git does not track have more than {megabytes} MB; ignore them, or raise the setting explore.max_copy_mb"
                ))));
            }
            return Ok(Ok(()));
        }
        let (mut folders, mut files) = (vec![root.clone()], 0);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder)?.flatten() {
                let (path, Ok(found)) = (entry.path(), entry.metadata()) else { continue };
                if own.as_ref() == Some(&path) {
                    continue;
                }
                files += 1;
                match found.is_dir() {
                    true => folders.push(path),
                    false => bytes += found.len(),
                }
                if bytes > limit || files > MAX_FILES {
                    return Ok(Err(CannotCopy(format!(
                        "the directory has more than {megabytes} MB or {MAX_FILES} files and is no git repository; raise the setting explore.max_copy_mb, or use git"
                    ))));
                }
            }
        }
        Ok(Ok(()))
    }

    /// Stores the files of a folder and returns their tree. `listed` are paths in addition to those that the index has and
    /// those that are not ignored.
    ///
    /// Others may do the same at the same time, and a process that died may have left a lock. So each works on an index of its
    /// own, made from `known` and put in its place at the end.
    fn store_files(
        &self,
        work_tree: &Path,
        known: Option<&Path>,
        listed: &Option<Vec<u8>>,
    ) -> io::Result<String> {
        let folder = tempfile::Builder::new().prefix("index-").tempdir_in(self.repository())?;
        let index = folder.path().join("index");
        if let Some(known) = known {
            copy_index(known, &index)?;
        }
        let tree = self.store_files_in(work_tree, &index, listed)?;
        if let Some(known) = known {
            fs::rename(&index, known)?;
        }
        Ok(tree)
    }

    fn store_files_in(&self, work_tree: &Path, index: &Path, listed: &Option<Vec<u8>>) -> io::Result<String> {
        let git = self.git_over(work_tree, index);
        let known = git.run(&["ls-files", "-z", "--cached"])?;
        let others = match listed {
            Some(listed) => listed.clone(),
            None => git.run(&["ls-files", "-z", "--others", "--exclude-standard"])?,
        };
        let own = self.own_folder();
        let is_wanted = |path: &&[u8]| {
            let is_own = own.as_ref().is_some_and(|own| git_path(path).starts_with(own));
            // A folder here is another repository.
            !is_own && !fs::symlink_metadata(work_tree.join(git_path(path))).is_ok_and(|found| found.is_dir())
        };
        let (mut present, mut gone) = (Vec::new(), Vec::new());
        let mut links = LinkedFolders { root: work_tree, known: HashMap::new() };
        for path in zero_separated(&known).chain(zero_separated(&others)).filter(is_wanted) {
            // Git refuses a path below a link, which was a folder before.
            let is_beyond_link = git_path(path).parent().is_some_and(|folder| links.contains(folder));
            let input = if is_beyond_link { &mut gone } else { &mut present };
            input.extend_from_slice(path);
            input.push(0);
        }
        if !gone.is_empty() {
            git.run_with(&["update-index", "--force-remove", "-z", "--stdin"], &gone)?;
        }
        git.run_with(&["update-index", "--add", "--remove", "--replace", "-z", "--stdin"], &present)?;
        git.line(&["write-tree"])
    }

    /// Osier's own folder relative to the project, if it is inside. It is never copied.
    fn own_folder(&self) -> Option<PathBuf> {
        let worktrees = self.folder.parent()?.canonicalize().ok()?;
        let home = worktrees.parent()?;
        let own = if home == self.project.root { &worktrees } else { home };
        own.strip_prefix(&self.project.root).ok().map(Path::to_owned)
    }

    fn commit(&self, tree: &str, parent: Option<&str>) -> io::Result<String> {
        let mut arguments = vec!["commit-tree", "-m", "osier explore", tree];
        if let Some(parent) = parent {
            arguments.extend(["-p", parent]);
        }
        self.git().line(&arguments)
    }

    /// Creates the copy of a try. In a repository, the copy has its own with the same history, but no remotes.
    pub(super) fn create_try(&self, number: u32) -> io::Result<PathBuf> {
        let folder = self.try_folder(number);
        fs::create_dir(&folder)?;
        let index = self.index_of_try(number);
        fs::copy(self.repository().join("index"), &index)?;
        self.git_over(&folder, &index).run(&["checkout-index", "--all", "--force", "--quiet", "--index"])?;
        fs::create_dir_all(folder.join(&self.project.prefix))?;
        if self.project.is_repository {
            self.create_try_repository(&folder)?;
        }
        Ok(folder)
    }

    fn create_try_repository(&self, folder: &Path) -> io::Result<()> {
        let git = Git::new(self.env.clone(), folder);
        let format = self.users_git().line(&["rev-parse", "--show-object-format"])?;
        git.run(&["init", "--quiet", "--template=", &format!("--object-format={format}")])?;
        fs::create_dir_all(folder.join(".git/info"))?;
        let exclude = self.repository().join("info/exclude");
        fs::copy(exclude, folder.join(".git/info/exclude"))?;
        self.share_objects(&folder.join(".git"))?;
        // A repository without commits has no head.
        if let Ok(head) = self.users_git().line(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]) {
            git.run(&["update-ref", "--no-deref", "HEAD", &head])?;
            fs::write(folder.join(".git/HEAD"), format!("{head}\n"))?;
            git.run(&["read-tree", "HEAD"])?;
        }
        Ok(())
    }

    /// The tree of the project at the start.
    pub(super) fn base_tree(&self) -> io::Result<String> {
        self.git().line(&["rev-parse", "refs/osier/base^{tree}"])
    }

    /// Stores the files of a try as they are now.
    pub(super) fn try_tree(&self, number: u32) -> io::Result<String> {
        self.store_files(&self.try_folder(number), Some(&self.index_of_try(number)), &None)
    }

    /// How many files of a try differ from the start. Stores nothing.
    pub(super) fn count_changes(&self, number: u32) -> io::Result<usize> {
        let folder = self.try_folder(number);
        let git = self.git_over(&folder, &self.index_of_try(number));
        let arguments =
            ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "refs/osier/base", "--"];
        let changed = git.run(&arguments)?;
        let others = git.run(&["ls-files", "-z", "--others", "--exclude-standard"])?;
        // A folder here is another repository.
        let is_file = |path: &&[u8]| {
            !fs::symlink_metadata(folder.join(git_path(path))).is_ok_and(|found| found.is_dir())
        };
        Ok(zero_separated(&changed).count() + zero_separated(&others).filter(is_file).count())
    }

    /// Stores the files of the working directory as they are now.
    pub(super) fn users_tree(&self) -> io::Result<String> {
        // Git compares times in seconds. A new index makes it read every file.
        self.store_files(&self.project.root, None, &self.users_files()?)
    }

    /// A tree with other files at these paths. `None` is no file.
    pub(super) fn tree_with<'a>(
        &self,
        tree: &str,
        files: impl Iterator<Item = (&'a Path, Option<&'a TreeFile>)>,
    ) -> io::Result<String> {
        let folder = tempfile::Builder::new().prefix("index-").tempdir_in(self.repository())?;
        let git = self.git().with("GIT_INDEX_FILE", folder.path().join("index"));
        git.run(&["read-tree", tree])?;
        let (mut gone, mut present) = (Vec::new(), Vec::new());
        let no_blob = "0".repeat(tree.len());
        for (path, file) in files {
            let (lines, facts) = match file {
                None => (&mut gone, format!("0 {no_blob}\t")),
                Some(file) => (&mut present, format!("{} {}\t", file.mode, file.blob)),
            };
            lines.extend([facts.as_bytes(), path.as_os_str().as_bytes(), b"\0"].concat());
        }
        git.run_with(&["update-index", "-z", "--index-info"], &[gone, present].concat())?;
        git.line(&["write-tree"])
    }

    pub(super) fn changes(&self, from: &str, to: &str) -> io::Result<Vec<TreeChange>> {
        let output = self.git().run(&["diff-tree", "-r", "-z", "--raw", "--no-renames", from, to])?;
        let mut parts = zero_separated(&output);
        let mut changes = Vec::new();
        while let (Some(facts), Some(path)) = (parts.next(), parts.next()) {
            let facts = String::from_utf8_lossy(facts).into_owned();
            let words: Vec<&str> = facts.trim_start_matches(':').split(' ').collect();
            let [before_mode, after_mode, before, after, ..] = words[..] else {
                return Err(io::Error::other("unexpected output of git diff-tree"));
            };
            let file = |mode: &str, blob: &str| {
                (mode != "000000").then(|| TreeFile { mode: mode.to_owned(), blob: blob.to_owned() })
            };
            let (before, after) = (file(before_mode, before), file(after_mode, after));
            changes.push(TreeChange { path: git_path(path).to_owned(), before, after });
        }
        Ok(changes)
    }

    /// The difference between two trees as a patch, cut to [`MAX_DIFF`].
    pub(super) fn diff(&self, from: &str, to: &str) -> io::Result<String> {
        let mut patch =
            self.git().run(&["diff", "--no-color", "--no-ext-diff", "--no-textconv", from, to])?;
        let is_cut = patch.len() > MAX_DIFF;
        patch.truncate(MAX_DIFF);
        let mut text = String::from_utf8_lossy(&patch).into_owned();
        if is_cut {
            text.push_str("\n(the rest is left out)\n");
        }
        Ok(text)
    }

    /// Merges the changes from the tree `base` to the tree `theirs` into the tree `ours`. Returns the merged tree, or the paths
    /// that conflict, each with the reason.
    pub(super) fn merge(
        &self,
        base: &str,
        ours: &str,
        theirs: &str,
    ) -> io::Result<Result<String, Vec<(PathBuf, String)>>> {
        let base = self.commit(base, None)?;
        let (ours, theirs) = (self.commit(ours, Some(&base))?, self.commit(theirs, Some(&base))?);
        let output = self.git().output(
            &["merge-tree", "--write-tree", "-z", "--name-only", "--messages", &ours, &theirs],
            b"",
        )?;
        let text = output.stdout;
        let mut parts = text.split(|byte| *byte == 0);
        let tree = parts.next().map(|tree| String::from_utf8_lossy(tree).into_owned());
        match (output.status.code(), tree) {
            (Some(0), Some(tree)) => Ok(Ok(tree)),
            (Some(1), Some(_)) => {
                let paths: Vec<&[u8]> = parts.by_ref().take_while(|path| !path.is_empty()).collect();
                let message = |part: &[u8]| {
                    let text = String::from_utf8_lossy(part).trim().to_owned();
                    text.replace(&ours, "the working directory").replace(&theirs, "the try")
                };
                let messages: Vec<String> = parts.map(message).collect();
                let reason = |path: &Path| {
                    let name = path.to_string_lossy();
                    let is_about =
                        |text: &&String| text.starts_with("CONFLICT (") && text.contains(name.as_ref());
                    messages.iter().find(is_about).cloned().unwrap_or_else(|| "CONFLICT".to_owned())
                };
                Ok(Err(paths
                    .into_iter()
                    .map(|path| (git_path(path).to_owned(), reason(git_path(path))))
                    .collect()))
            }
            _ => {
                let errors = String::from_utf8_lossy(&output.stderr);
                let line = errors.lines().next().unwrap_or("it failed");
                Err(io::Error::other(format!(
                    "cannot merge: git merge-tree: {line} (git 2.38 or later is needed)"
                )))
            }
        }
    }

    pub(super) fn read_blob(&self, blob: &str) -> io::Result<Vec<u8>> {
        self.git().run(&["cat-file", "blob", blob])
    }

    /// The name that content has in the repository. Stores nothing.
    pub(super) fn blob_name(&self, bytes: &[u8]) -> io::Result<String> {
        let name = self.git().run_with(&["hash-object", "-t", "blob", "--stdin"], bytes)?;
        Ok(String::from_utf8_lossy(&name).trim().to_owned())
    }
}

/// The folders of a work tree that are links, or below one.
struct LinkedFolders<'a> {
    root: &'a Path,
    known: HashMap<PathBuf, bool>,
}

impl LinkedFolders<'_> {
    fn contains(&mut self, folder: &Path) -> bool {
        if folder.as_os_str().is_empty() {
            return false;
        }
        if let Some(known) = self.known.get(folder) {
            return *known;
        }
        let is_linked = folder.parent().is_some_and(|parent| self.contains(parent))
            || fs::symlink_metadata(self.root.join(folder)).is_ok_and(|found| found.is_symlink());
        self.known.insert(folder.to_owned(), is_linked);
        is_linked
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn changed_files_are_counted_without_storing_them() {
        let folder = tempfile::tempdir().unwrap();
        let env = Arc::new(CommandEnv::new(std::env::vars_os().filter(|(name, _)| name != "HOME")));
        let (project, explore) = (folder.path().join("project"), folder.path().join("worktrees/1"));
        for folder in [&project, &explore] {
            fs::create_dir_all(folder).unwrap();
        }
        for name in ["a", "b", "c", ".gitignore"] {
            fs::write(project.join(name), "ignored\n").unwrap();
        }
        let base = BaseRepository::open(env.clone(), &explore, ProjectRoot::find(&env, &project).unwrap());
        base.create(u64::MAX).unwrap().unwrap();
        let copy = base.create_try(1).unwrap();
        assert_eq!(base.count_changes(1).unwrap(), 0);
        fs::write(copy.join("a"), "changed\n").unwrap();
        fs::remove_file(copy.join("b")).unwrap();
        // As before, but written again.
        fs::write(copy.join("c"), "ignored\n").unwrap();
        fs::create_dir(copy.join("d")).unwrap();
        fs::write(copy.join("d/new"), "only here\n").unwrap();
        fs::write(copy.join("ignored"), "x").unwrap();
        for _ in 0..2 {
            assert_eq!(base.count_changes(1).unwrap(), 3);
            // The same with files that are stored.
            let changes = base.changes(&base.base_tree().unwrap(), &base.try_tree(1).unwrap()).unwrap();
            assert_eq!(changes.len(), 3, "{changes:?}");
        }
    }
}
