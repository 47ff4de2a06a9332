//! Lists of sessions, newest first straight from an index; and finding by the beginning of an id.

use osier_store::{Filter, Page};
use sqlx::{MySqlConnection, Row};

use crate::failure::Failure;
use crate::rows::{card_of_row, cwd_hash};

pub(crate) async fn list(
    connection: &mut MySqlConnection,
    store: &str,
    filter: &Filter,
) -> Result<Page, Failure> {
    let (limit, skip) = (filter.limit.map_or(u64::MAX >> 1, |limit| limit as u64), filter.skip as u64);
    let cwd = filter.cwd.as_ref().map(|cwd| cwd_hash(&cwd.to_string_lossy()));
    let (rows, total) = match cwd {
        Some(cwd) => {
            let rows = sqlx::query(
                "SELECT id, card, cost FROM osier_sessions FORCE INDEX (used_last_here) WHERE cwd_hash = ?
                 ORDER BY minus_modified, minus_created, id LIMIT ? OFFSET ?",
            );
            let rows = rows.bind(cwd.clone()).bind(limit).bind(skip).fetch_all(&mut *connection).await?;
            (rows, sqlx::query("SELECT COUNT(*) FROM osier_sessions WHERE cwd_hash = ?").bind(cwd))
        }
        None => {
            let rows = sqlx::query(
                "SELECT id, card, cost FROM osier_sessions FORCE INDEX (used_last)
                 ORDER BY minus_modified, minus_created, id LIMIT ? OFFSET ?",
            );
            let rows = rows.bind(limit).bind(skip).fetch_all(&mut *connection).await?;
            (rows, sqlx::query("SELECT COUNT(*) FROM osier_sessions FORCE INDEX (used_last)"))
        }
    };
    let mut page = Page::default();
    for row in &rows {
        match card_of_row(row, store)? {
            Some(card) => page.cards.push(card),
            None => page.unreadable.push(row.try_get("id")?),
        }
    }
    // A first page that is not full is all there is.
    let is_all = skip == 0 && (rows.len() as u64) < limit;
    page.total = match is_all {
        true => rows.len(),
        false => total.fetch_one(connection).await?.try_get::<i64, _>(0)? as usize,
    };
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
