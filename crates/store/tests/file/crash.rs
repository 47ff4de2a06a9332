//! Processes that die in the middle of an append lose no acknowledged entry and do not affect others.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use osier_store::Store;
use osier_store::file::verify;

use crate::process::{Job, Process};
use crate::support::{
    Home, SplitMix64, append, assert_lines, chain, header, last_line, lines_of, link, read_data,
};

/// Rounds per file.
const PER_FILE: usize = 10;

fn rounds() -> usize {
    std::env::var("OSIER_CRASH_ROUNDS").map_or(200, |rounds| rounds.parse().expect("a number of rounds"))
}

/// The entries that must be in a file.
#[derive(Default)]
struct Ledger {
    acked: HashSet<String>,
    killed: usize,
    tags: usize,
}

impl Ledger {
    /// Starts some writers, kills them at a random moment, and records the acknowledged entries.
    fn kill_some(&mut self, home: &Home, random: &mut SplitMix64) {
        let count = if random.below(4) == 0 { 3 } else { 1 };
        let mut writers: Vec<Process> = (0..count).map(|_| self.writer(home, random)).collect();
        writers.iter_mut().for_each(Process::start_round);
        let enough = random.below(12);
        writers[0].wait_for(enough);
        for _ in 0..random.below(60_000) {
            std::hint::spin_loop();
        }
        for writer in &mut writers {
            writer.kill();
            self.killed += 1;
            self.acked.extend(writer.acked.drain(..));
        }
    }

    fn writer(&mut self, home: &Home, random: &mut SplitMix64) -> Process {
        self.tags += 1;
        let sync_every = (random.below(2) == 0).then_some(3);
        Process::start(&Job {
            long: true,
            sync_every,
            ..Job::new(home, "one", &format!("{:03x}", self.tags))
        })
    }

    /// Checks a file independently of the store that wrote it.
    fn check(&self, path: &Path) {
        let verified = verify(path).unwrap();
        for id in &self.acked {
            assert!(verified.tree.find(id).is_some(), "acknowledged {id} is not in the log");
        }
        let torn = verified.issues.iter().filter(|issue| issue.damage);
        let torn: Vec<&str> = torn.map(|issue| issue.what.as_str()).collect();
        assert!(torn.iter().all(|what| what.contains("torn")), "{torn:?}");
        assert!(torn.len() <= self.killed, "{} torn lines of {} writers", torn.len(), self.killed);
    }
}

#[tokio::test]
async fn acknowledged_entries_survive_kill_9() {
    let mut random = SplitMix64(7);
    let mut left = rounds();
    while left > 0 {
        let home = Home::new();
        let path = home.store().create(&header("one"), &[]).await.unwrap().file.unwrap();
        let mut ledger = Ledger::default();
        for round in 0..left.min(PER_FILE) {
            ledger.kill_some(&home, &mut random);
            ledger.check(&path);
            let before = fs::read(&path).unwrap();
            let store = home.store();
            append(&store, "one", &[link(round)]).await.unwrap();
            assert!(fs::read(&path).unwrap().starts_with(&before), "written lines were changed");
            assert_eq!(last_line(&store, "one").await, link(round), "the next append works");
        }
        let expected = read_data(&home.uncached_store(), "one").await;
        read_data(&home.store(), "one").await.assert_same(&expected, "by the caches of killed writers");
        left -= left.min(PER_FILE);
    }
}

#[tokio::test]
async fn a_killed_rewrite_leaves_the_old_log_or_the_new_one() {
    let mut random = SplitMix64(8);
    let home = Home::new();
    let path = home.store().create(&header("one"), &chain(40)).await.unwrap().file.unwrap();
    for round in 0..30 {
        let job = Job { rewrites: true, ..Job::new(&home, "one", "rew") };
        let mut process = Process::start(&job);
        process.start_round();
        process.wait_for(random.below(4));
        for _ in 0..random.below(200_000) {
            std::hint::spin_loop();
        }
        process.kill();
        assert_lines(&lines_of(&home.store(), "one").await, &chain(40), &format!("round {round}"));
        assert!(verify(&path).unwrap().is_sound(), "round {round}");
    }
    append(&home.store(), "one", &[link(40)]).await.unwrap();
    assert_eq!(home.store().find_ids("").await.unwrap(), ["one"], "nothing else looks like a session");
}
