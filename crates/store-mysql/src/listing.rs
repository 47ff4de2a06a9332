//! Lists of sessions, newest first straight from an index; and finding by the beginning of an id.

use osier_store::{Filter, Page};
use sqlx::{MySqlConnection, Row};

use crate::failure::Failure;
use crate::rows::{cwd_hash, read_card};

const ALL: &str = "SELECT id, card, cost FROM osier_sessions FORCE INDEX (used_last)
     ORDER BY minus_modified, minus_created, id LIMIT ? OFFSET ?";

const HERE: &str = "SELECT id, card, cost FROM osier_sessions FORCE INDEX (used_last_here) WHERE cwd_hash = ?
     ORDER BY minus_modified, minus_created, id LIMIT ? OFFSET ?";

pub(crate) async fn list(
    connection: &mut MySqlConnection,
    store: &str,
    filter: &Filter,
) -> Result<Page, Failure> {
    // One more than wanted tells whether there are more.
    let (limit, skip) = (filter.limit.map_or(u64::MAX >> 1, |limit| limit as u64 + 1), filter.skip as u64);
    let asked = match &filter.cwd {
        Some(cwd) => sqlx::query(HERE).bind(cwd_hash(&cwd.to_string_lossy())),
        None => sqlx::query(ALL),
    };
    let rows = asked.bind(limit).bind(skip).fetch_all(connection).await?;
    let wanted = filter.limit.unwrap_or(usize::MAX);
    let mut page = Page { more: rows.len() > wanted, ..Page::default() };
    for row in rows.iter().take(wanted) {
        let id: String = row.try_get(0)?;
        match read_card(&id, row.try_get(1)?, row.try_get(2)?, store) {
            Some(card) => page.cards.push(card),
            None => page.unreadable.push(id),
        }
    }
    Ok(page)
}

pub(crate) async fn find(connection: &mut MySqlConnection, prefix: &str) -> Result<Vec<String>, Failure> {
    if !prefix.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')) {
        return Ok(Vec::new());
    }
    // `~` comes after everything that an id may hold.
    let asked = sqlx::query("SELECT id FROM osier_sessions WHERE id >= ? AND id < ? ORDER BY id");
    let rows = asked.bind(prefix).bind(format!("{prefix}~")).fetch_all(connection).await?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}
