//! Eight processes write to one session and are killed repeatedly: no acknowledged entry is lost, and no entry is stored twice.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use osier_store::{SessionFilter, Store, StoreError};
use osier_store_mysql::Limits;
use osier_store_mysql::server::MariaDbServer;

use crate::support::{append_message, create_database, create_session, message, read_lines, store_at};

const URL: &str = "OSIER_TEST_URL";
const TAG: &str = "OSIER_TEST_TAG";

const WRITERS: usize = 8;

/// The minimum number of acknowledged entries per writer.
const EACH: usize = 1000;

/// How often a writer retries while the server does not respond. The store itself retries for seconds each time.
const TRIES: usize = 20;

/// The writer process: appends until it is killed, and prints the id of each acknowledged entry.
#[test]
#[ignore = "run as a child process by another test"]
fn writer_process() {
    let (Ok(url), Ok(tag)) = (std::env::var(URL), std::env::var(TAG)) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = store_at(&url, Limits::default());
        let _open = retry_until_available(async || store.watch("one").await).await.unwrap();
        let mut version = retry_until_available(async || store.open("one").await).await.unwrap().version;
        for at in 0.. {
            let id = format!("{tag}{at:05}");
            version = loop {
                match retry_until_available(async || append_message(&store, version, &id).await).await {
                    Ok(now) => break now,
                    Err(StoreError::Conflict { now }) => version = now,
                    Err(error) => panic!("{id} at {version:?}: {error:?}"),
                }
            };
            // A single write, so that a killed writer never prints a partial line.
            std::io::stderr().write_all(format!("ack {id}\n").as_bytes()).unwrap();
        }
    });
}

/// Retries a call, because the server may not respond in time on a busy machine. Repeating an append is safe: the same entry at
/// the same position is stored only once.
async fn retry_until_available<T>(call: impl AsyncFn() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let mut result = call().await;
    for _ in 1..TRIES {
        if !matches!(result, Err(StoreError::Unavailable { .. } | StoreError::Busy { .. })) {
            break;
        }
        result = call().await;
    }
    result
}

fn start(url: &str, tag: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "writers::writer_process"])
        .env(URL, url)
        .env(TAG, tag)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs a writer, and kills and restarts it after each third of its entries. Returns the ids of the acknowledged entries.
fn run(url: &str, writer: usize, count: usize) -> Vec<String> {
    let mut acked = Vec::new();
    for life in 1..=3 {
        let mut process = start(url, &format!("{writer}{life}"));
        let mut output = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
        let enough = acked.len() + count.div_ceil(3);
        while acked.len() < enough {
            let next = output.next();
            match next.as_deref().and_then(|line| line.strip_prefix("ack ")) {
                Some(id) => acked.push(id.to_owned()),
                // The writer failed; the rest of its output says why.
                None => panic!("writer {writer} ended early:\n{}", join_lines(next, output)),
            }
        }
        process.kill().unwrap();
        process.wait().unwrap();
        while let Some(line) = output.next() {
            match line.strip_prefix("ack ") {
                Some(id) => acked.push(id.to_owned()),
                None => panic!("writer {writer} printed an error:\n{}", join_lines(Some(line), output)),
            }
        }
    }
    acked
}

/// A line and the rest of the output, as one text.
fn join_lines(line: Option<String>, rest: impl Iterator<Item = String>) -> String {
    line.into_iter().chain(rest).collect::<Vec<_>>().join("\n")
}

/// All lines, and the entry count of the card. Retries, because the server may still be storing the last append of a killed
/// writer.
async fn final_state(store: &impl Store) -> (Vec<Vec<u8>>, usize) {
    for _ in 0..TRIES {
        let stored = read_lines(store).await;
        let counted = store.card("one").await.unwrap().entry_count as usize;
        if counted == stored.len() {
            return (stored, counted);
        }
    }
    (read_lines(store).await, store.card("one").await.unwrap().entry_count as usize)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_entry_is_lost_when_writers_are_killed() {
    let server = MariaDbServer::shared();
    let url = server.url(&create_database(server).await);
    let store = store_at(&url, Limits::default());
    create_session(&store, 0).await;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let url = url.clone();
        writers.spawn_blocking(move || run(&url, writer, EACH));
    }
    let acked: Vec<String> = writers.join_all().await.into_iter().flatten().collect();
    assert!(acked.len() >= WRITERS * EACH);
    let (stored, counted) = final_state(&store).await;
    let mut unique = stored.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), stored.len(), "an entry is stored twice");
    for id in &acked {
        assert!(unique.binary_search(&message(id, "said")).is_ok(), "{id} is lost");
    }
    // Each process may have stored at most one entry that was not acknowledged.
    assert!(stored.len() <= acked.len() + WRITERS * 3, "{} of {}", stored.len(), acked.len());
    assert_eq!(counted, stored.len(), "the card has the correct entry count");
    let listed = store.list(&SessionFilter::default()).await.unwrap().cards;
    assert_eq!(listed[0].entry_count as usize, stored.len(), "the list has the correct entry count");
}
