//! Benchmarks the store on a private MariaDB server, compared with a baseline from the same run: a bare prepared insert and a
//! bare select by primary key with the same driver. Prints a table. A missed target does not fail, because machines differ.

mod append;
mod baseline;
mod list;
mod open;
mod table;
mod watch;

use osier_store_mysql::server::MariaDbServer;
use osier_store_mysql::{Credentials, Limits, MySqlStore};
use osier_tree::Header;
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const DATABASE: &str = "osier_bench";

/// 2026-01-01.
const DAY_ONE: i64 = 1_767_225_600_000;

/// About the size of a short turn, in bytes.
const TEXT: usize = 1000;

const USAGE: &str = "bench [--quick] [append] [open] [list] [watch]";

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let (flags, parts): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let known = parts.iter().all(|part| USAGE.contains(&format!("[{part}]")));
    if !known || flags.iter().any(|flag| flag != "--quick") {
        return Err(USAGE.into());
    }
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
    let quick = !flags.is_empty();
    // The default sizes; the private server's are smaller.
    let server = MariaDbServer::start(&["--innodb-log-file-size=96M", "--innodb-buffer-pool-size=128M"])?;
    let bench = BenchDatabase::new(&server).await?;
    table::print_header();
    if wanted("append") {
        append::measure(&bench, quick).await?;
    }
    if wanted("open") {
        open::measure(&bench, quick).await?;
    }
    if wanted("list") {
        list::measure(&bench, quick).await?;
    }
    if wanted("watch") {
        watch::measure(&bench).await?;
    }
    Ok(())
}

/// The URLs of the benchmark database.
struct BenchDatabase {
    url: String,
    admin: String,
}

impl BenchDatabase {
    async fn new(server: &MariaDbServer) -> Result<BenchDatabase> {
        let admin = server.url("mysql").replace("osier:", "admin:");
        let mut connection = MySqlConnection::connect(&admin).await?;
        connection.execute(AssertSqlSafe(format!("CREATE DATABASE {DATABASE}"))).await?;
        let bench = BenchDatabase { url: server.url(DATABASE), admin };
        baseline::prepare(&bench).await?;
        Ok(bench)
    }

    /// A new store instance, as in another process.
    fn store(&self) -> MySqlStore {
        MySqlStore::new("bench", &Credentials::new(self.url.as_str()), Limits::default())
            .expect("a valid URL")
    }

    /// A connection of the bare driver.
    async fn connect(&self) -> Result<MySqlConnection> {
        Ok(MySqlConnection::connect(&self.url).await?)
    }
}

/// The message at a position of a chain. The timestamps are one second apart.
fn line(at: usize) -> Vec<u8> {
    let parent = at.checked_sub(1).map_or("null".to_owned(), |at| format!("\"{at:08}\""));
    let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
    let time = osier_tree::time::format(DAY_ONE + at as i64 * 1000);
    format!(
        r#"{{"type":"message","id":"{at:08}","parentId":{parent},"timestamp":"{time}","message":{{"role":"{role}","content":"{}"}}}}"#,
        "x".repeat(TEXT)
    )
    .into_bytes()
}

fn header(id: &str) -> Header {
    Header::new(id, DAY_ONE, "/here")
}
