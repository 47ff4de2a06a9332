//! `kill -9` while a try is being kept: this test binary starts itself, keeps a try, and is killed once a number of files has
//! changed. Then nothing may be torn, the journal must say what is missing, and keeping again must finish it.
//!
//! `OSIER_TEST_ROUNDS` sets the number of rounds; the default is small.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use osier_engine::ListOptions;
use osier_store::file::verify;

use crate::explore::{Explorer, git, new_engine};
use crate::subagent_kills::{FOLDER, Random, rounds};

/// How many files of the user a try changes. It also adds and removes as many.
const FILES: usize = 12;

/// The lines of a file that a try does not change.
const REST: &str = "1\n2\n3\n";

/// The files below a folder with their content, without the repository.
fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap().flatten() {
            match entry.path() {
                path if path.ends_with(".git") => {}
                path if path.is_dir() => open.push(path),
                path => {
                    let text = fs::read_to_string(&path).unwrap();
                    found.insert(path.strip_prefix(folder).unwrap().to_owned(), text);
                }
            }
        }
    }
    found
}

/// A project with a try that changes many files, before it is kept.
struct PreparedTry {
    folder: PathBuf,
    before: BTreeMap<PathBuf, String>,
    after: BTreeMap<PathBuf, String>,
    index: String,
    copy_of_try: PathBuf,
}

impl PreparedTry {
    async fn new(folder: &Path) -> PreparedTry {
        let project = folder.join("project");
        fs::create_dir(&project).unwrap();
        git(&project, &["init", "--quiet"]);
        for number in 0..FILES {
            fs::write(project.join(format!("changed{number}")), format!("old\n{REST}")).unwrap();
            fs::write(project.join(format!("removed{number}")), "old\n").unwrap();
        }
        git(&project, &["add", "."]);
        git(&project, &["commit", "--quiet", "-m", "first"]);
        fs::write(project.join("own"), "not committed\n").unwrap();
        let explorer = Explorer::open(new_engine(Some(folder)), project.clone()).await;
        let report = explorer.explore("answer x", &[""]).await;
        let copy = PathBuf::from(report.tries[0].folder.as_ref().unwrap());
        fs::create_dir_all(copy.join("new/deep")).unwrap();
        for number in 0..FILES {
            fs::write(copy.join(format!("changed{number}")), format!("new {number}\n{REST}")).unwrap();
            fs::write(copy.join(format!("new/deep/added{number}")), "new\n").unwrap();
            fs::remove_file(copy.join(format!("removed{number}"))).unwrap();
        }
        explorer.close().await;
        let (before, after) = (files(&project), files(&copy));
        let index = git(&project, &["ls-files", "--stage"]);
        let prepared = PreparedTry { folder: folder.to_owned(), before, after, index, copy_of_try: copy };
        prepared.copy("", "saved");
        prepared
    }

    fn copy(&self, from: &str, to: &str) {
        for name in ["project", "sessions", "worktrees"] {
            let (from, to) = (self.folder.join(from).join(name), self.folder.join(to).join(name));
            let _ = fs::remove_dir_all(&to);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            assert!(Command::new("cp").arg("-a").args([&from, &to]).status().unwrap().success());
        }
    }

    /// Whether each file is as before or as after the merge, and how many are as after.
    fn changed_files(&self) -> usize {
        let now = files(&self.folder.join("project"));
        let is_temporary = |path: &Path| path.to_string_lossy().contains(".osier-");
        let mut all: Vec<&PathBuf> = self.before.keys().chain(self.after.keys()).collect();
        all.sort();
        all.dedup();
        let mut changed = 0;
        for path in &all {
            let (was, will, is) = (self.before.get(*path), self.after.get(*path), now.get(*path));
            assert!(is == was || is == will, "{} is torn: {is:?}", path.display());
            changed += usize::from(was != will && is == will);
        }
        let strange: Vec<_> = now.keys().filter(|path| !all.contains(path) && !is_temporary(path)).collect();
        assert!(strange.is_empty(), "{strange:?}");
        changed
    }

    /// Keeps the try in another process, and kills it once this many files have changed.
    fn keep_and_kill(&self, changes: usize) {
        let mut process = self.start_keeping();
        // It is killed at the latest when it says that it is done.
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "start");
        let done = std::thread::spawn(move || lines.next());
        while !done.is_finished() && self.count_changes() < changes {}
        process.kill().unwrap();
        process.wait().unwrap();
        let _ = done.join();
    }

    fn start_keeping(&self) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "keep_kills::job"])
            .env(FOLDER, &self.folder)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Like `changed_files`, while they change.
    fn count_changes(&self) -> usize {
        let project = self.folder.join("project");
        let is_there = |name: String| project.join(name).exists();
        let is_new = |name: String| fs::read(project.join(name)).is_ok_and(|text| text.starts_with(b"new"));
        let of_number = |number: usize| {
            usize::from(is_new(format!("changed{number}")))
                + usize::from(is_there(format!("new/deep/added{number}")))
                + usize::from(!is_there(format!("removed{number}")))
        };
        (0..FILES).map(of_number).sum()
    }
}

/// The process that is killed.
#[tokio::test]
#[ignore = "the part of other tests that runs in another process"]
async fn job() {
    let folder = PathBuf::from(std::env::var(FOLDER).unwrap());
    let explorer = Explorer::reopen(&folder).await;
    // Write to the real output, past the capture of the test harness.
    let print = |text: &str| std::io::stderr().write_all(text.as_bytes()).unwrap();
    print("start\n");
    explorer.keep(1).await.unwrap();
    print("done\n");
    std::future::pending::<()>().await;
}

async fn keep_after_kill(prepared: &PreparedTry, seed: u64) {
    prepared.copy("saved", "");
    let mut random = Random::new(seed);
    prepared.keep_and_kill(random.below(3 * FILES + 1));
    let changed = prepared.changed_files();
    let explorer = Explorer::reopen(&prepared.folder).await;
    let report = explorer.reports().await.remove(0);
    match (report.unfinished_keep, report.kept) {
        (Some(1), None) => {}
        (None, None) => assert_eq!(changed, 0, "{seed}: half-done, and nothing says so"),
        (_, Some(1)) => assert_eq!(changed, 3 * FILES, "{seed}: called kept, and half-done"),
        other => panic!("{seed}: {other:?}"),
    }
    // The user changes two files meanwhile: one where the try did not, one where it did.
    let numbers = random.below(FILES);
    let (merged, mine) = (format!("changed{numbers}"), format!("changed{}", (numbers + 1) % FILES));
    let mut expected = prepared.after.clone();
    if report.unfinished_keep.is_some() {
        explorer.write(&merged, &(explorer.file(&merged) + "mine\n"));
        let before = explorer.file(&mine);
        explorer.write(&mine, "mine\n");
        let kept = explorer.keep(1).await.unwrap();
        let paths: Vec<&str> = kept.conflicts.iter().map(|conflict| conflict.path.as_str()).collect();
        assert_eq!((kept.kept, paths), (false, vec![mine.as_str()]), "{seed}");
        assert_eq!(explorer.file(&mine), "mine\n", "{seed}");
        assert_eq!(explorer.reports().await[0].unfinished_keep, Some(1), "{seed}");
        explorer.write(&mine, &before);
        expected.get_mut(Path::new(&merged)).unwrap().push_str("mine\n");
    }
    if report.kept.is_none() {
        assert!(explorer.keep(1).await.unwrap().kept, "{seed}");
    }
    assert_eq!(files(&explorer.project), expected, "{seed}");
    assert_eq!(git(&explorer.project, &["ls-files", "--stage"]), prepared.index);
    let report = explorer.reports().await.remove(0);
    assert_eq!((report.kept, report.unfinished_keep), (Some(1), None));
    let tree = explorer.live.session().tree();
    let tip = report.tries[0].tip_id.as_ref().and_then(|id| tree.find(id));
    let leaf = explorer.leaf().and_then(|id| tree.find(&id));
    assert!(tip.is_some() && tree.same_place(leaf, tip), "{seed}");
    for card in explorer.engine.engine.list(&ListOptions::default()).await.unwrap().cards {
        let verified = verify(Path::new(card.file.as_ref().unwrap())).unwrap();
        assert!(verified.is_sound(), "{seed}: {:?}", verified.issues);
    }
    explorer.close().await;
}

#[tokio::test]
async fn a_keep_that_is_killed_at_any_moment_is_finished_by_keeping_again() {
    let folder = tempfile::tempdir().unwrap();
    let prepared = PreparedTry::new(&folder.path().canonicalize().unwrap()).await;
    for seed in 0..rounds(8) {
        keep_after_kill(&prepared, seed).await;
    }
}

/// The process that cannot write large files.
#[tokio::test]
#[ignore = "the part of other tests that runs in another process"]
async fn full_disk_job() {
    let folder = PathBuf::from(std::env::var(FOLDER).unwrap());
    let explorer = Explorer::reopen(&folder).await;
    let error = explorer.keep(1).await.unwrap_err();
    assert!(error.message.contains("cannot change"), "{error:?}");
    assert_eq!(explorer.reports().await[0].unfinished_keep, None);
    explorer.close().await;
}

#[tokio::test]
async fn a_keep_on_a_full_disk_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let prepared = PreparedTry::new(&folder).await;
    // More than the limit below, whose unit is 512 or 1024 bytes. Its blob is small.
    fs::write(prepared.copy_of_try.join("zzz"), "a\n".repeat(4 << 20)).unwrap();
    let before = files(&folder.join("project"));
    let script = "trap '' XFSZ; ulimit -f 4096; exec \"$@\"";
    let output = Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "keep_kills::full_disk_job"])
        .env(FOLDER, &folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(files(&folder.join("project")), before);
    assert_eq!(prepared.changed_files(), 0);
    let explorer = Explorer::reopen(&folder).await;
    assert!(explorer.keep(1).await.unwrap().kept);
    assert_eq!(explorer.file("zzz").len(), 8 << 20);
    explorer.close().await;
}
