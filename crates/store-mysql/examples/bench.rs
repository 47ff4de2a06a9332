//! Measures the store on a private MariaDB, beside the floor of the same run: a bare prepared insert and a bare select by
//! primary key over the same driver. Prints a table; a miss is printed, never asserted, because machines differ.

use std::time::{Duration, Instant};

use osier_store::{Filter, PagedHeads, Store, StoreError, Version};
use osier_store_mysql::server::Server;
use osier_store_mysql::{Limits, MySqlStore};
use osier_tree::{Header, Seq};
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const DATABASE: &str = "osier_bench";

/// About what a short turn weighs.
const TEXT: usize = 1000;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let quick = std::env::args().any(|word| word == "--quick");
    let server = Server::start(&["--max-connections=400"])?;
    let admin = server.url("mysql").replace("osier:", "admin:");
    let mut admin = MySqlConnection::connect(&admin).await?;
    admin.execute(AssertSqlSafe(format!("CREATE DATABASE {DATABASE}"))).await?;
    let bench = Bench { url: server.url(DATABASE), appends: if quick { 200 } else { 1000 } };
    println!("{:<44} {:>10} {:>10} {:>7}", "", "measured", "floor", "times");
    bench.appends().await?;
    bench.opening(if quick { &[1_000, 10_000] } else { &[1_000, 100_000] }).await?;
    bench.listing(if quick { 1_000 } else { 10_000 }).await
}

struct Bench {
    url: String,
    appends: usize,
}

fn row(what: &str, measured: Duration, floor: Duration) {
    let micros = |time: Duration| format!("{:.0} µs", time.as_secs_f64() * 1e6);
    let times = measured.as_secs_f64() / floor.as_secs_f64();
    println!("{what:<44} {:>10} {:>10} {times:>7.2}", micros(measured), micros(floor));
}

fn line(at: usize) -> Vec<u8> {
    let parent = at.checked_sub(1).map_or("null".to_owned(), |at| format!("\"{at:08}\""));
    let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
    format!(
        r#"{{"type":"message","id":"{at:08}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"{role}","content":"{}"}}}}"#,
        "x".repeat(TEXT)
    )
    .into_bytes()
}

fn header(id: &str) -> Header {
    Header::new(id, 1_767_225_600_000, "/here")
}

impl Bench {
    fn store(&self) -> MySqlStore {
        MySqlStore::new("bench", &self.url.clone().into(), None, Limits::default()).expect("a url")
    }

    /// The time of one append and of one bare insert, with so many writers at once, each in a session of its own.
    async fn appends(&self) -> Result<()> {
        let mut connection = MySqlConnection::connect(&self.url).await?;
        let table = "CREATE TABLE floor (session VARCHAR(128), seq INT, line MEDIUMBLOB, PRIMARY KEY (session, seq)) ENGINE=InnoDB";
        connection.execute(table).await?;
        for writers in [1, 8, 64] {
            let each = (self.appends / writers).max(20);
            let floor = self.insert_bare(writers, each).await?;
            let measured = self.append(writers, each).await?;
            row(&format!("append, {writers} writers, each its session"), measured, floor);
        }
        Ok(())
    }

    async fn insert_bare(&self, writers: usize, each: usize) -> Result<Duration> {
        let mut connections = Vec::new();
        for _ in 0..writers {
            let mut connection = MySqlConnection::connect(&self.url).await?;
            connection.execute("SELECT 1").await?;
            connections.push(connection);
        }
        let begin = Instant::now();
        let mut tasks = tokio::task::JoinSet::new();
        for (writer, mut connection) in connections.into_iter().enumerate() {
            tasks.spawn(async move {
                for at in 0..each {
                    let query = sqlx::query("INSERT INTO floor VALUES (?, ?, ?)");
                    let query = query.bind(format!("{writers}-{writer}")).bind(at as u32).bind(line(at));
                    query.execute(&mut connection).await.expect("an insert");
                }
            });
        }
        tasks.join_all().await;
        Ok(begin.elapsed() / (each * writers) as u32)
    }

    async fn append(&self, writers: usize, each: usize) -> Result<Duration> {
        let mut stores = Vec::new();
        for writer in 0..writers {
            let (store, id) = (self.store(), format!("append-{writers}-{writer}"));
            let version = store.create(&header(&id), &[]).await?.version;
            stores.push((store, id, version));
        }
        let begin = Instant::now();
        let mut tasks = tokio::task::JoinSet::new();
        for (store, id, mut version) in stores {
            tasks.spawn(async move {
                for at in 0..each {
                    version = store.append(&id, version, &[line(at)]).await.expect("an append");
                }
            });
        }
        tasks.join_all().await;
        Ok(begin.elapsed() / (each * writers) as u32)
    }

    /// From nothing to the lines of the context: the last fifty entries, as after a compaction.
    async fn opening(&self, sizes: &[usize]) -> Result<()> {
        let floor = self.select_bare().await?;
        for size in sizes {
            let id = format!("open-{size}");
            let mut lines: Vec<Vec<u8>> = (0..*size).map(line).collect();
            let kept = size - 50;
            lines.push(
                format!(r#"{{"type":"compaction","id":"compact1","parentId":"{:08}","summary":"s","firstKeptEntryId":"{kept:08}"}}"#, size - 1)
                    .into_bytes(),
            );
            let store = self.store();
            store.create(&header(&id), &lines).await?;
            let cold = self.store();
            cold.find("x").await?;
            let begin = Instant::now();
            let version = cold.open(&id).await?.version;
            let mut heads = PagedHeads::new(&cold, &id, version);
            let leaf = heads.leaf().await?;
            let plan = heads.context(leaf).await?;
            let wanted: Vec<Seq> = plan.items.iter().map(|item| item.seq).collect();
            read(&cold, &id, version, &wanted).await?;
            row(&format!("open to context of 51, log of {size}"), begin.elapsed(), floor);
            let begin = Instant::now();
            let path = PagedHeads::new(&cold, &id, version).path(leaf).await?;
            row(&format!("path of {} heads, each", path.len()), begin.elapsed() / path.len() as u32, floor);
            let begin = Instant::now();
            cold.append(&id, version, &[line(*size)]).await?;
            row(&format!("first append to a log of {size}"), begin.elapsed(), floor);
        }
        Ok(())
    }

    async fn select_bare(&self) -> Result<Duration> {
        let mut connection = MySqlConnection::connect(&self.url).await?;
        let mut rounds = 0;
        let begin = Instant::now();
        while rounds < 500 {
            let query = sqlx::query("SELECT line FROM floor WHERE session = ? AND seq = ?");
            query.bind("1-0").bind(rounds % 20).fetch_one(&mut connection).await?;
            rounds += 1;
        }
        Ok(begin.elapsed() / rounds)
    }

    async fn listing(&self, count: usize) -> Result<()> {
        let store = self.store();
        for at in 0..count {
            store.create(&header(&format!("list-{at}")), &[line(0)]).await?;
        }
        let floor = self.select_bare().await?;
        let filter = Filter { limit: Some(50), ..Filter::default() };
        store.list(&filter).await?;
        let begin = Instant::now();
        for _ in 0..20 {
            store.list(&filter).await?;
        }
        row(&format!("first 50 of {count} sessions"), begin.elapsed() / 20, floor);
        Ok(())
    }
}

async fn read(store: &MySqlStore, id: &str, version: Version, wanted: &[Seq]) -> Result<()> {
    let read = osier_store::each_line(store, id, version.generation, wanted, |_, _| Ok::<_, StoreError>(()));
    Ok(read.await?)
}
