//! The baseline: how long the driver and the server take for one prepared insert and for one select by primary key.

use std::time::{Duration, Instant};

use sqlx::{Executor, MySqlConnection};

use crate::table::median;
use crate::{BenchDatabase, Result, line};

const TABLE: &str =
    "CREATE TABLE floor (session VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin, seq INT UNSIGNED,
    line MEDIUMBLOB NOT NULL, PRIMARY KEY (session, seq)) ENGINE=InnoDB";

/// The number of rows that are read in turn.
const ROWS: u32 = 50;

pub(crate) async fn prepare(bench: &BenchDatabase) -> Result<()> {
    let mut connection = bench.connect().await?;
    connection.execute(TABLE).await?;
    for at in 0..ROWS {
        insert(&mut connection, "read", at as usize).await?;
    }
    Ok(())
}

pub(crate) async fn insert(connection: &mut MySqlConnection, session: &str, at: usize) -> sqlx::Result<()> {
    let query =
        sqlx::query("INSERT INTO floor VALUES (?, ?, ?)").bind(session).bind(at as u32).bind(line(at));
    query.execute(connection).await.map(drop)
}

/// Reads rows by primary key.
pub(crate) struct Reader {
    connection: MySqlConnection,
    next: u32,
}

impl Reader {
    pub(crate) async fn new(bench: &BenchDatabase) -> Result<Reader> {
        let mut reader = Reader { connection: bench.connect().await?, next: 0 };
        reader.read().await?;
        Ok(reader)
    }

    /// The time of one select.
    pub(crate) async fn read(&mut self) -> Result<Duration> {
        let started = Instant::now();
        let query = sqlx::query("SELECT line FROM floor WHERE session = ? AND seq = ?");
        query.bind("read").bind(self.next % ROWS).fetch_one(&mut self.connection).await?;
        self.next += 1;
        Ok(started.elapsed())
    }

    /// The median time of many selects.
    pub(crate) async fn median(&mut self) -> Result<Duration> {
        let mut times = Vec::new();
        for _ in 0..200 {
            times.push(self.read().await?);
        }
        Ok(median(times))
    }
}
