//! Eight processes write to one session and are killed in between: nothing that was acknowledged is lost, and nothing is
//! there twice.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use osier_store::{SessionFilter, Store, StoreError};
use osier_store_mysql::Limits;
use osier_store_mysql::server::Server;

use crate::support::{add, database, lines, message, session, store_at};

const URL: &str = "OSIER_TEST_URL";
const TAG: &str = "OSIER_TEST_TAG";

const WRITERS: usize = 8;

/// How many entries each writer gets acknowledged.
const EACH: usize = 1000;

/// How often a writer asks a server that does not answer. Each time the store has tried for seconds already.
const TRIES: usize = 20;

/// What a writer does: it appends until it is killed, and tells the id of each entry that was acknowledged.
#[test]
#[ignore = "a process that the tests of this file start"]
fn job() {
    let (Ok(url), Ok(tag)) = (std::env::var(URL), std::env::var(TAG)) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = store_at(&url, Limits::default());
        let _open = patiently(async || store.watch("one").await).await.unwrap();
        let mut version = patiently(async || store.open("one").await).await.unwrap().version;
        for at in 0.. {
            let id = format!("{tag}{at:05}");
            version = loop {
                match patiently(async || add(&store, version, &id).await).await {
                    Ok(now) => break now,
                    Err(StoreError::Conflict { now }) => version = now,
                    Err(error) => panic!("{id} at {version:?}: {error:?}"),
                }
            };
            // One write, so that a writer that is killed tells all of it or nothing.
            std::io::stderr().write_all(format!("ack {id}\n").as_bytes()).unwrap();
        }
    });
}

/// On a busy machine the server may not answer in time. Then the same is asked again: the same entry for the same place is
/// stored once.
async fn patiently<T>(ask: impl AsyncFn() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let mut answer = ask().await;
    for _ in 1..TRIES {
        if !matches!(answer, Err(StoreError::Unavailable { .. } | StoreError::Busy { .. })) {
            break;
        }
        answer = ask().await;
    }
    answer
}

fn start(url: &str, tag: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "writers::job"])
        .env(URL, url)
        .env(TAG, tag)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs a writer and kills it after each third of its entries; what it was acknowledged comes back.
fn run(url: &str, writer: usize, count: usize) -> Vec<String> {
    let mut acked = Vec::new();
    for life in 1..=3 {
        let mut process = start(url, &format!("{writer}{life}"));
        let mut told = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
        let enough = acked.len() + count.div_ceil(3);
        while acked.len() < enough {
            let next = told.next();
            match next.as_deref().and_then(|line| line.strip_prefix("ack ")) {
                Some(id) => acked.push(id.to_owned()),
                // It ends by itself then, and tells why until it does.
                None => panic!("writer {writer} ended early:\n{}", whole(next, told)),
            }
        }
        process.kill().unwrap();
        process.wait().unwrap();
        while let Some(line) = told.next() {
            match line.strip_prefix("ack ") {
                Some(id) => acked.push(id.to_owned()),
                None => panic!("writer {writer} had trouble:\n{}", whole(Some(line), told)),
            }
        }
    }
    acked
}

/// All that a writer told from a line on.
fn whole(line: Option<String>, rest: impl Iterator<Item = String>) -> String {
    line.into_iter().chain(rest).collect::<Vec<_>>().join("\n")
}

/// All lines, and how many the card counts. The server may still store what a writer asked for just before it was killed.
async fn at_rest(store: &impl Store) -> (Vec<Vec<u8>>, usize) {
    for _ in 0..TRIES {
        let stored = lines(store).await;
        let counted = store.card("one").await.unwrap().entry_count as usize;
        if counted == stored.len() {
            return (stored, counted);
        }
    }
    (lines(store).await, store.card("one").await.unwrap().entry_count as usize)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_when_writers_are_killed() {
    let server = Server::shared();
    let url = server.url(&database(server).await);
    let store = store_at(&url, Limits::default());
    session(&store, 0).await;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let url = url.clone();
        writers.spawn_blocking(move || run(&url, writer, EACH));
    }
    let acked: Vec<String> = writers.join_all().await.into_iter().flatten().collect();
    assert!(acked.len() >= WRITERS * EACH);
    let (stored, counted) = at_rest(&store).await;
    let mut unique = stored.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), stored.len(), "some entry is there twice");
    for id in &acked {
        assert!(unique.binary_search(&message(id, "said")).is_ok(), "{id} is lost");
    }
    // At most the one entry that each life had under way is there without having been acknowledged.
    assert!(stored.len() <= acked.len() + WRITERS * 3, "{} of {}", stored.len(), acked.len());
    assert_eq!(counted, stored.len(), "the card counts what is there");
    let listed = store.list(&SessionFilter::default()).await.unwrap().cards;
    assert_eq!(listed[0].entry_count as usize, stored.len(), "the list counts what is there");
}
