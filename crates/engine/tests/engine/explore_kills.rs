//! `kill -9` while the project is copied for tries, and while tries run: this test binary starts itself, explores, and is killed
//! at a random moment. Then the session must be where it was, and exploring and keeping must work.
//!
//! `OSIER_TEST_ROUNDS` sets the number of rounds; the default is small.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use osier_engine::ListOptions;
use osier_protocol::explore::TryStatus;
use osier_protocol::{Client, ClientCommand, ClientEvent};
use osier_store::file::verify;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::explore::{Explorer, git, new_engine};
use crate::subagent_kills::{FOLDER, Random, rounds};
use crate::support::next_event;

/// How many files the project has, so that copying it takes a while.
const FILES: usize = 60;

const PROMPT: &str = "read file0\nwrite file0 new\nwrite more x\nread file1\nwrite file1 new";

/// The process that is killed. It prints a line for each report.
#[tokio::test]
#[ignore = "the part of other tests that runs in another process"]
async fn job() {
    let explorer = Explorer::reopen(Path::new(&std::env::var(FOLDER).unwrap())).await;
    let mut events = explorer.client.attach(None).await.unwrap().events;
    // Write to the real output, past the capture of the test harness.
    let print = |text: &str| std::io::stderr().write_all(text.as_bytes()).unwrap();
    print("start\n");
    explorer.start(PROMPT, &["", "", ""]).await.unwrap();
    loop {
        if let ClientEvent::Explore { report } = next_event(&mut events).await {
            print("report\n");
            if !report.is_running() {
                break;
            }
        }
    }
    print("end\n");
    std::future::pending::<()>().await;
}

/// When a process is killed.
enum Moment {
    /// So many things are in the folder of the explore: its record, its lock, its repository, the copies.
    Copying(usize),
    /// It printed so many lines.
    Running(usize),
}

fn explore_and_kill(folder: &Path, moment: &Moment) {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "explore_kills::job"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert_eq!(lines.next().unwrap(), "start");
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    // It is killed at the latest when its tries have ended.
    let reading = std::thread::spawn(move || {
        for _ in lines.by_ref().take_while(|line| line != "end") {
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    let in_folder = || -> usize {
        let explores = fs::read_dir(folder.join("worktrees")).into_iter().flatten().flatten();
        explores.map(|explore| fs::read_dir(explore.path()).into_iter().flatten().count()).sum()
    };
    let is_reached = || match moment {
        Moment::Copying(things) => in_folder() >= *things,
        Moment::Running(lines) => count.load(Ordering::Relaxed) >= *lines,
    };
    while !reading.is_finished() && !is_reached() {
        std::thread::yield_now();
    }
    // Also what git does for it.
    kill_process_group(Pid::from_child(&process), Signal::KILL).unwrap();
    process.wait().unwrap();
    reading.join().unwrap();
}

/// A session with a conversation in a repository. Returns the place of its end.
async fn prepare(folder: &Path) -> String {
    let project = folder.join("project");
    fs::create_dir(&project).unwrap();
    git(&project, &["init", "--quiet"]);
    for number in 0..FILES {
        fs::write(project.join(format!("file{number}")), "old\n").unwrap();
    }
    git(&project, &["add", "."]);
    git(&project, &["commit", "--quiet", "-m", "first"]);
    fs::write(project.join("own"), "not committed\n").unwrap();
    let explorer = Explorer::open(new_engine(Some(folder)), project).await;
    explorer.client.send(ClientCommand::prompt("answer hello")).await.unwrap();
    explorer.client.worker().wait_until_idle().await;
    let start = explorer.leaf().unwrap();
    explorer.close().await;
    start
}

async fn explore_after_kill(seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let start = prepare(&folder).await;
    let mut random = Random::new(seed);
    let moment = match random.below(2) {
        0 => Moment::Copying(1 + random.below(6)),
        _ => Moment::Running(random.below(40)),
    };
    explore_and_kill(&folder, &moment);
    let explorer = Explorer::reopen(&folder).await;
    let stands_at = |place: Option<String>| {
        let tree = explorer.live.session().tree();
        let found = place.as_deref().and_then(|id| tree.find(id));
        assert!(tree.same_place(found, tree.find(&start)), "{seed}: {place:?}");
    };
    stands_at(explorer.leaf());
    let tree = explorer.live.session().tree();
    stands_at(tree.leaf().map(|seq| tree.id(seq).to_string()));
    for report in explorer.reports().await {
        assert!(!report.is_running(), "{seed}: {report:#?}");
    }
    for stored in explorer.engine.engine.list_explores() {
        assert!(!stored.running && stored.copies == [1, 2, 3], "{seed}: {stored:?}");
    }
    assert_eq!(git(&explorer.project, &["status", "--porcelain"]), "?? own\n", "{seed}");
    let report = explorer.explore(PROMPT, &["", ""]).await;
    assert!(report.tries.iter().all(|one| one.status == TryStatus::Completed), "{seed}: {report:#?}");
    assert!(explorer.keep(2).await.unwrap().kept, "{seed}");
    assert_eq!((explorer.file("file1"), explorer.file("more")), ("new".to_owned(), "x".to_owned()));
    for card in explorer.engine.engine.list(&ListOptions::default()).await.unwrap().cards {
        let verified = verify(&PathBuf::from(card.file.as_ref().unwrap())).unwrap();
        assert!(verified.is_sound(), "{seed}: {:?}", verified.issues);
    }
    explorer.close().await;
}

#[tokio::test]
async fn a_process_that_is_killed_while_it_explores_leaves_the_session_where_it_was() {
    for seed in 0..rounds(8) {
        explore_after_kill(seed).await;
    }
}
