//! A small append as one message to the server: the whole transaction in one round trip instead of four.
//!
//! Nothing of it is text that somebody wrote: names are checked, and all else is numbers and hexadecimal digits.

use std::fmt::Write;

use osier_tree::scan::Raw;
use osier_tree::{Entry, Head, header};
use sqlx::{AssertSqlSafe, MySqlConnection};

use crate::append::Append;
use crate::failure::{Failure, number};
use crate::record;
use crate::rows::{CardColumns, Folded, short};

/// Larger ones gain nothing, since here a byte takes two.
const MOST_BYTES: usize = 64 << 10;
const MOST_ROWS: usize = 16;

/// The error number of what a server cannot read.
const NOT_READ: u16 = 1064;

impl Append<'_> {
    pub(crate) fn is_small(&self, entries: &[Entry<'_>]) -> bool {
        let bytes: usize = entries.iter().map(|entry| entry.line.len()).sum();
        (1..=MOST_ROWS).contains(&entries.len())
            && bytes <= MOST_BYTES.min(self.store.connections.part() / 4)
            && header::is_valid_id(self.id)
    }

    /// See [`Append::write`].
    pub(crate) async fn write_together(
        &self,
        connection: &mut MySqlConnection,
        after: &Folded,
        entries: &[Entry<'_>],
    ) -> Result<bool, Failure> {
        let sql = self.statements(after, entries);
        let done = sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await;
        match done {
            // Some servers and proxies take one statement at a time.
            Err(error) if number(&error) == Some(NOT_READ) => Err(Failure::Apart),
            done => Ok(done?.rows_affected() > 0),
        }
    }

    fn statements(&self, after: &Folded, entries: &[Entry<'_>]) -> String {
        let card = CardColumns::of(after.card.card());
        let (id, generation, first) = (self.id, self.expected.generation, self.expected.entries);
        let mut sql = format!(
            "START TRANSACTION; UPDATE osier_sessions SET entries = {}, odd = {}, regular = {}, card = {}, cost = {:e}, \
             minus_modified = {} WHERE id = '{id}' AND generation = {generation} AND entries = {first}; ",
            after.heads.len(),
            after.odd,
            u8::from(after.heads.is_regular()),
            hex(Some(&card.json)),
            card.cost,
            card.minus_modified,
        );
        sql += "INSERT INTO osier_entries (session, generation, seq, id, parent_id, type, timestamp, head, line) ";
        for (number, (entry, (_, head))) in entries.iter().zip(after.heads.from(first)).enumerate() {
            sql += if number == 0 { "" } else { " UNION ALL " };
            let row = row(entry, head);
            // No row of the session was changed: then it is not in the expected state, and gets no lines.
            let _ = write!(
                sql,
                "SELECT '{id}', {generation}, {}, {row} FROM DUAL WHERE ROW_COUNT() = 1",
                first + number
            );
        }
        sql + "; COMMIT"
    }
}

fn row(entry: &Entry<'_>, head: &Head) -> String {
    let kind = entry.get("type").and_then(Raw::text);
    let columns = [
        hex(short(Some(&entry.id))),
        hex(short(entry.parent.as_deref())),
        hex(short(kind.as_deref())),
        entry.time.map_or("NULL".to_owned(), |time| time.to_string()),
        hex(Some(&record::encode(head))),
        hex(Some(entry.line)),
    ];
    columns.join(", ")
}

fn hex(bytes: Option<&[u8]>) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let Some(bytes) = bytes else { return "NULL".to_owned() };
    let mut text = String::with_capacity(bytes.len() * 2 + 3);
    text.push_str("X'");
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)].into());
        text.push(DIGITS[usize::from(byte & 15)].into());
    }
    text.push('\'');
    text
}
