//! `kill -9` while tasks run: this test binary starts itself, delegates tasks, and is killed after a number of events. Then the
//! batch is resumed and must end.
//!
//! `OSIER_TEST_ROUNDS` sets the number of rounds; the default is small.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use futures_util::StreamExt;
use osier_engine::{EngineConfig, KeepWhen, ListOptions, SubagentConfig};
use osier_protocol::{Client, ClientCommand, ClientEvent, QueryAnswer, SessionQuery};
use osier_store::file::verify;
use serde_json::{Value, json};

use crate::subagents::{batches, config, spec};
use crate::support::TestEngine;

const SEED: &str = "OSIER_TEST_SEED";
pub(crate) const FOLDER: &str = "OSIER_TEST_FOLDER";
const ROUNDS: &str = "OSIER_TEST_ROUNDS";

fn engine(folder: &Path) -> TestEngine {
    TestEngine::in_folder(folder, EngineConfig::default())
}

fn subagents() -> SubagentConfig {
    SubagentConfig { max_parallel: 32, ..config() }
}

/// Repeatable numbers.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// How often a test kills a process.
pub(crate) fn rounds(default: u64) -> u64 {
    std::env::var(ROUNDS).ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(default)
}

/// Tasks of all kinds.
fn tasks(seed: u64) -> Vec<Value> {
    let mut random = Random::new(seed);
    let count = [1, 8, 32, 1 + random.below(32)][random.below(4)];
    let prompt = |(number, kind): (usize, usize)| match kind {
        0 => "fail".to_owned(),
        1 => format!("break {number}"),
        2 => format!("fail-later {number}"),
        3 | 4 => format!("list {number}"),
        _ => format!("answer result {number}"),
    };
    let kinds: Vec<usize> = (0..count).map(|_| random.below(8)).collect();
    kinds.into_iter().enumerate().map(prompt).map(|prompt| json!({ "prompt": prompt })).collect()
}

/// The process that is killed. It prints a line for each event.
#[tokio::test]
#[ignore = "the part of other tests that runs in another process"]
async fn job() {
    let folder = std::env::var(FOLDER).unwrap();
    let seed: u64 = std::env::var(SEED).unwrap().parse().unwrap();
    let engine = engine(Path::new(&folder));
    let live = engine.create(KeepWhen::Used).await;
    let client = engine.engine.connect(&live, &spec(&engine, subagents())).await.unwrap();
    let mut events = client.attach(None).await.unwrap().events;
    // Write to the real output, past the capture of the test harness.
    let print = |text: String| std::io::stderr().write_all(format!("{text}\n").as_bytes()).unwrap();
    client.send(ClientCommand::prompt(format!("delegate {}", json!(tasks(seed))))).await.unwrap();
    while let Some(event) = events.next().await {
        match event {
            ClientEvent::Entry(entry) => print(format!("entry {}", entry.id)),
            ClientEvent::SubagentTask { panel, .. } => {
                let session = panel.session_id.unwrap_or_default();
                print(format!("{} {session}", panel.status));
            }
            ClientEvent::TurnEnded { .. } => break,
            _ => {}
        }
    }
    print("end".to_owned());
    std::future::pending::<()>().await;
}

/// Starts the process, kills it after this many lines, and returns them.
fn killed(seed: u64, folder: &Path, lines: usize) -> Vec<String> {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "subagent_kills::job"])
        .env(SEED, seed.to_string())
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut read = Vec::new();
    for line in BufReader::new(process.stderr.take().unwrap()).lines() {
        read.push(line.unwrap());
        if read.len() >= lines || read.last().is_some_and(|line| line == "end") {
            break;
        }
    }
    process.kill().unwrap();
    process.wait().unwrap();
    read
}

async fn resume_after_kill(seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    // Each task prints three to six lines.
    let lines = 1 + Random::new(seed.wrapping_add(1000)).below(8 + 5 * tasks(seed).len());
    let printed = killed(seed, folder.path(), lines);
    let engine = engine(folder.path());
    let cards = engine.engine.list(&ListOptions::default()).await.unwrap().cards;
    let parent = cards.iter().find(|card| !card.is_subagent()).expect("the prompt is stored").id.clone();
    let live = engine.open(&parent).await;
    let known = |id: &str| live.session().tree().find(id).is_some();
    let entries: Vec<&str> = printed.iter().filter_map(|line| line.strip_prefix("entry ")).collect();
    assert!(entries.iter().all(|id| known(id)), "an entry that was announced is lost: {printed:?}");
    let completed: BTreeSet<&str> =
        printed.iter().filter_map(|line| line.strip_prefix("completed ")).collect();
    let mut before = Vec::new();
    for session in &completed {
        let file = engine.find(session).await.opened.file.unwrap();
        before.push((file.clone(), std::fs::read(file).unwrap()));
    }
    let client = engine.engine.connect(&live, &spec(&engine, subagents())).await.unwrap();
    for batch in batches(&client).await {
        assert_ne!(batch.status, "running", "no process works on it");
        for panel in &batch.task_panels {
            let has_ended = completed.contains(panel.session_id.as_deref().unwrap());
            assert!(!has_ended || panel.status == "completed", "{seed}: {panel:?}");
        }
    }
    let QueryAnswer::Path(path) = client.query(SessionQuery::Path { limit: None }).await.unwrap() else {
        panic!("a path");
    };
    if path.unfinished_turn {
        let mut events = client.attach(None).await.unwrap().events;
        client.send(ClientCommand::Resume).await.unwrap();
        while !matches!(events.next().await, Some(ClientEvent::TurnEnded { .. })) {}
    }
    let ended = batches(&client).await;
    for batch in &ended {
        assert!(["completed", "failed"].contains(&batch.status.as_str()), "{seed}: {}", batch.status);
        assert!(!batch.diagnostics.fallback_used, "{seed}: the batch has no result");
        assert_eq!(batch.task_panels.len(), tasks(seed).len());
        assert!(
            batch.task_panels.iter().all(|panel| ["completed", "failed"].contains(&panel.status.as_str()))
        );
    }
    for (file, content) in before {
        assert_eq!(std::fs::read(&file).unwrap(), content, "{seed}: a task that had ended ran again");
    }
    let cards = engine.engine.list(&ListOptions::default()).await.unwrap().cards;
    for card in &cards {
        let verified = verify(Path::new(card.file.as_ref().unwrap())).unwrap();
        assert!(verified.is_sound(), "{seed}: {:?}", verified.issues);
    }
    let children: BTreeSet<String> =
        cards.iter().filter(|card| card.is_subagent()).map(|card| card.id.clone()).collect();
    let named: BTreeSet<String> = ended
        .iter()
        .flat_map(|batch| &batch.task_panels)
        .filter_map(|panel| panel.session_id.clone())
        .collect();
    assert!(children.is_subset(&named), "{seed}: a session that no batch names");
}

#[tokio::test]
async fn after_kills_at_random_moments_every_batch_ends_and_nothing_announced_is_lost() {
    for seed in 0..rounds(20) {
        resume_after_kill(seed).await;
    }
}
