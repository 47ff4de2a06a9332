//! Several processes on one file, some of which take no locks.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use osier_store::Store;
use osier_store::file::verify;

use crate::process::{Job, Process};
use crate::support::{Home, chain, header, lines_of, link, read_data};

/// Runs these writers at the same time, `each` entries per writer. Returns the acknowledged ids of each.
fn run(jobs: &[Job], each: usize) -> Vec<Vec<String>> {
    let mut processes: Vec<Process> =
        jobs.iter().map(|job| Process::start(&Job { per_round: each, ..job.clone() })).collect();
    processes.iter_mut().for_each(Process::start_round);
    processes.iter_mut().for_each(Process::end);
    if !jobs.iter().any(|job| job.plain) {
        let mut states: Vec<usize> = processes.iter().flat_map(|process| process.states.clone()).collect();
        states.sort_unstable();
        let count = jobs.len() * each;
        assert!(states.into_iter().eq(1..=count), "two writers appended to the same version of the log");
    }
    processes.into_iter().map(|mut process| std::mem::take(&mut process.acked)).collect()
}

/// Checks that every line is complete and that the acknowledged entries of each writer are there once and in order.
fn check(path: &Path, acked: &[Vec<String>]) {
    let verified = verify(path).unwrap();
    assert!(verified.is_sound(), "{:?}", verified.issues);
    assert_eq!(verified.tree.len(), acked.iter().map(Vec::len).sum::<usize>());
    for acked in acked {
        let places: Vec<_> = acked.iter().map(|id| verified.tree.find(id).unwrap()).collect();
        assert!(places.is_sorted(), "the order of a writer's entries changed");
    }
    assert!(fs::read(path).unwrap().ends_with(b"\n"));
}

async fn race(home: &Home, jobs: &[Job], each: usize) {
    let reader = home.store();
    let path = reader.create(&header("one"), &[]).await.unwrap().file.unwrap();
    let acked = run(jobs, each);
    assert!(acked.iter().all(|acked| acked.len() == each), "an append was not acknowledged");
    check(&path, &acked);
    let expected = read_data(&home.uncached_store(), "one").await;
    read_data(&reader, "one").await.assert_same(&expected, "by a reader that had it open");
    read_data(&home.store(), "one").await.assert_same(&expected, "by a new reader");
    assert_eq!(lines_of(&reader, "one").await.len(), jobs.len() * each);
}

fn writers(home: &Home, count: usize) -> Vec<Job> {
    (0..count).map(|at| Job::new(home, "one", &format!("w{at:02}"))).collect()
}

#[tokio::test]
async fn two_writers_lose_nothing() {
    let home = Home::new();
    race(&home, &writers(&home, 2), 400).await;
}

#[tokio::test]
async fn eight_writers_that_extend_one_index_lose_nothing() {
    let home = Home::new();
    let jobs: Vec<Job> = writers(&home, 8)
        .into_iter()
        .map(|job| Job { long: job.tag.ends_with('1'), sync_every: Some(5), ..job })
        .collect();
    race(&home, &jobs, 60).await;
}

#[tokio::test]
async fn a_writer_that_takes_no_lock_loses_nothing_and_breaks_nothing() {
    let home = Home::new();
    let mut jobs = writers(&home, 4);
    for job in &mut jobs[..2] {
        job.plain = true;
    }
    jobs[1].long = true;
    jobs[2].long = true;
    race(&home, &jobs, 100).await;
}

#[tokio::test]
async fn readers_see_only_growth_while_others_write() {
    let home = Home::new();
    let reader = home.store();
    let created = reader.create(&header("one"), &[]).await.unwrap().version;
    let mut processes: Vec<Process> = writers(&home, 3)
        .into_iter()
        .enumerate()
        .map(|(at, job)| Process::start(&Job { per_round: 60, long: at == 0, plain: at == 1, ..job }))
        .collect();
    processes.iter_mut().for_each(Process::start_round);
    let mut seen: Vec<Vec<u8>> = Vec::new();
    while seen.len() < 180 {
        for lines in [lines_of(&reader, "one").await, lines_of(&home.uncached_store(), "one").await] {
            assert!(
                lines.len() >= seen.len() && lines[..seen.len()] == seen[..],
                "lines that were read before changed"
            );
            seen = lines;
        }
        assert_eq!(reader.open("one").await.unwrap().version.generation, created.generation);
    }
    assert!(processes.into_iter().all(|process| process.finish().len() == 60));
}

#[tokio::test]
async fn a_writer_waits_for_the_lock_of_another() {
    let home = Home::new();
    let store = Arc::new(home.store());
    let created = store.create(&header("one"), &chain(1)).await.unwrap();
    let lock = fs::File::open(created.file.unwrap()).unwrap();
    lock.lock().unwrap();
    let writer = store.clone();
    let appending = tokio::spawn(async move { writer.append("one", created.version, &[link(1)]).await });
    // The append cannot make progress, no matter how long it runs.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(
        lines_of(&home.uncached_store(), "one").await,
        chain(1),
        "nothing is written while the file is locked"
    );
    assert!(!appending.is_finished());
    lock.unlock().unwrap();
    let version = appending.await.unwrap().unwrap();
    assert_eq!((version.entries, lines_of(&home.uncached_store(), "one").await), (2, chain(2)));
}
