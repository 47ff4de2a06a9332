//! Processes that die in the middle of an append lose nothing that was acknowledged, and harm nobody.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use osier_store::Store;
use osier_store::file::verify;

use crate::process::{Job, Process};
use crate::support::{Home, Random, append, assert_lines, chain, header, last_line, lines_of, link, told};

/// Rounds on one file before the next one is begun.
const PER_FILE: usize = 10;

fn rounds() -> usize {
    std::env::var("OSIER_CRASH_ROUNDS").map_or(200, |rounds| rounds.parse().expect("a number of rounds"))
}

/// What must be in a file, and what may be.
#[derive(Default)]
struct Ledger {
    acked: HashSet<String>,
    killed: usize,
    tags: usize,
}

impl Ledger {
    /// Starts some writers, kills them all at any moment, and notes what they got acknowledged.
    fn kill_some(&mut self, home: &Home, random: &mut Random) {
        let count = if random.below(4) == 0 { 3 } else { 1 };
        let mut writers: Vec<Process> = (0..count).map(|_| self.writer(home, random)).collect();
        writers.iter_mut().for_each(Process::go);
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

    fn writer(&mut self, home: &Home, random: &mut Random) -> Process {
        self.tags += 1;
        let sync_every = (random.below(2) == 0).then_some(3);
        Process::start(&Job {
            long: true,
            sync_every,
            ..Job::new(home, "one", &format!("{:03x}", self.tags))
        })
    }

    /// Checks a file as it lies there, without help of the store that wrote it.
    fn check(&self, path: &Path) {
        let verified = verify(path).unwrap();
        for id in &self.acked {
            assert!(verified.tree.find(id).is_some(), "acknowledged {id} is not in the log");
        }
        let torn = verified.oddities.iter().filter(|oddity| oddity.damage);
        let torn: Vec<&str> = torn.map(|oddity| oddity.what.as_str()).collect();
        assert!(torn.iter().all(|what| what.contains("torn")), "{torn:?}");
        assert!(torn.len() <= self.killed, "{} torn lines of {} writers", torn.len(), self.killed);
    }
}

#[tokio::test]
async fn what_was_acknowledged_survives_kill_9() {
    let mut random = Random(7);
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
            assert!(fs::read(&path).unwrap().starts_with(&before), "what was written was changed");
            assert_eq!(last_line(&store, "one").await, link(round), "the next append works");
        }
        let expected = told(&home.bare(), "one").await;
        told(&home.store(), "one").await.must_be(&expected, "by caches of writers that died");
        left -= left.min(PER_FILE);
    }
}

#[tokio::test]
async fn a_rewrite_that_is_killed_leaves_the_old_log_or_the_new_one() {
    let mut random = Random(8);
    let home = Home::new();
    let path = home.store().create(&header("one"), &chain(40)).await.unwrap().file.unwrap();
    for round in 0..30 {
        let job = Job { rewrites: true, ..Job::new(&home, "one", "rew") };
        let mut process = Process::start(&job);
        process.go();
        process.wait_for(random.below(4));
        for _ in 0..random.below(200_000) {
            std::hint::spin_loop();
        }
        process.kill();
        assert_lines(&lines_of(&home.store(), "one").await, &chain(40), &format!("round {round}"));
        assert!(verify(&path).unwrap().is_sound(), "round {round}");
    }
    append(&home.store(), "one", &[link(40)]).await.unwrap();
    assert_eq!(home.store().find("").await.unwrap(), ["one"], "nothing else looks like a session");
}
