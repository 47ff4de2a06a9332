//! Lists sessions, newest first, directly from an index, and finds sessions by id prefix.
//!
//! Open sessions come first in the index, because their rows may be out of date. The card updates of their newest lines are
//! read with them, and then they are sorted into the list.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicUsize, Ordering};

use osier_store::{SessionFilter, SessionPage};
use osier_tree::projection::card::Card;
use osier_tree::short_ids::has_prefix;
use sqlx::mysql::MySqlRow;
use sqlx::{AssertSqlSafe, MySqlConnection, Row};

use crate::attempt_error::AttemptError;
use crate::rows::{CardRow, added, cwd_hash, open_mark};

macro_rules! listed {
    ($index:literal, $condition:literal) => {
        concat!(
            "SELECT s.card, s.cost, IF(s.minus_modified = ",
            open_mark!(),
            ", ",
            added!(),
            ", NULL), s.id, s.minus_modified = ",
            open_mark!(),
            " FROM osier_sessions s FORCE INDEX (",
            $index,
            ") ",
            $condition,
            " ORDER BY s.minus_modified, s.minus_created, s.id LIMIT ?"
        )
    };
}

/// How many characters of a prefix are looked up in both upper and lower case.
const MAX_CASE_CHARS: usize = 4;

const LIST_ALL: &str = listed!("used_last", "");

const LIST_BY_CWD: &str = listed!("used_last_here", "WHERE s.cwd_hash = ?");

/// How many open sessions were older than all other rows read by the last list. The next list requests this many extra rows.
/// A wrong guess costs another query.
#[derive(Debug, Default)]
pub(crate) struct ExtraRows(AtomicUsize);

/// The minimum number of extra rows to request if there were not enough.
const MIN_EXTRA_ROWS: usize = 64;

/// A listed session. It has no card if the card cannot be parsed.
#[derive(Debug)]
struct SessionListRow {
    id: String,
    card: Option<Card>,
    is_open: bool,
}

pub(crate) async fn list_sessions(
    connection: &mut MySqlConnection,
    store: &str,
    filter: &SessionFilter,
    guess: &ExtraRows,
) -> Result<SessionPage, AttemptError> {
    // One extra row shows whether there are more.
    let most = filter.limit.map_or(usize::MAX, |limit| limit.saturating_add(filter.skip).saturating_add(1));
    let mut addition = guess.0.load(Ordering::Relaxed);
    let all = loop {
        let requested = most.saturating_add(addition);
        let rows = read_rows(connection, store, filter, requested).await?;
        let are_all = rows.len() < requested;
        let (mut all, older) = sort_open_sessions(rows);
        if are_all {
            all.extend(older);
            break all;
        }
        // Rows that were not read may be newer than the `older` sessions.
        if all.len() >= most {
            guess.0.store(older.len(), Ordering::Relaxed);
            break all;
        }
        addition = MIN_EXTRA_ROWS.max(2 * older.len());
    };
    let wanted = filter.limit.unwrap_or(usize::MAX);
    let mut page =
        SessionPage { has_more: all.len().saturating_sub(filter.skip) > wanted, ..SessionPage::default() };
    for listed in all.into_iter().skip(filter.skip).take(wanted) {
        match listed.card {
            Some(card) => page.cards.push(card),
            None => page.unreadable.push(listed.id),
        }
    }
    Ok(page)
}

/// The first rows of the index.
async fn read_rows(
    connection: &mut MySqlConnection,
    store: &str,
    filter: &SessionFilter,
    most: usize,
) -> Result<Vec<SessionListRow>, AttemptError> {
    let query = match &filter.cwd {
        Some(cwd) => sqlx::query(LIST_BY_CWD).bind(cwd_hash(&cwd.to_string_lossy())),
        None => sqlx::query(LIST_ALL),
    };
    let rows = query.bind(i64::try_from(most).unwrap_or(i64::MAX)).fetch_all(connection).await?;
    Ok(rows.iter().map(|row| SessionListRow::read(row, store)).collect::<Result<_, _>>()?)
}

/// Sorts open sessions into the list; sessions without a card stay where they are. Returns separately the open sessions that
/// are older than all others.
fn sort_open_sessions(rows: Vec<SessionListRow>) -> (Vec<SessionListRow>, Vec<SessionListRow>) {
    let mut open = Vec::new();
    let mut all = Vec::with_capacity(rows.len());
    let mut rows = rows.into_iter().peekable();
    while let Some(listed) = rows.next_if(|listed| listed.is_open) {
        let list = if listed.card.is_some() { &mut open } else { &mut all };
        list.push(listed);
    }
    open.sort_unstable_by(|a, b| b.sort_key().cmp(&a.sort_key()));
    for listed in rows {
        while let Some(first) =
            open.pop_if(|open| listed.card.is_some() && open.sort_key() < listed.sort_key())
        {
            all.push(first);
        }
        all.push(listed);
    }
    open.reverse();
    (all, open)
}

impl SessionListRow {
    fn read(row: &MySqlRow, store: &str) -> Result<SessionListRow, sqlx::Error> {
        let id: String = row.try_get(3)?;
        Ok(SessionListRow { card: CardRow::read(row)?.card(&id, store), id, is_open: row.try_get(4)? })
    }

    /// The sort key: newest first, as in the index.
    fn sort_key(&self) -> Option<(Reverse<i64>, Reverse<i64>, &str)> {
        self.card.as_ref().map(|card| (Reverse(card.modified), Reverse(card.created), &*self.id))
    }
}

pub(crate) async fn find_ids(
    connection: &mut MySqlConnection,
    prefix: &str,
) -> Result<Vec<String>, AttemptError> {
    if !prefix.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')) {
        return Ok(Vec::new());
    }
    let spellings = case_variants(prefix);
    let ranges = vec!["id >= ? AND id < ?"; spellings.len()].join(" OR ");
    let sql = format!("SELECT id FROM osier_sessions WHERE {ranges} ORDER BY id");
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for begin in spellings {
        // `~` sorts after every character that an id can contain.
        let end = format!("{begin}~");
        query = query.bind(begin).bind(end);
    }
    let rows = query.fetch_all(connection).await?;
    let mut ids = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?;
    ids.retain(|id| has_prefix(id, prefix));
    Ok(ids)
}

/// The case variants of a prefix. The index sorts ids by byte, so each variant is a separate range. Varying only the first few
/// characters is enough to keep the ranges small.
fn case_variants(prefix: &str) -> Vec<String> {
    let mut spellings = vec![String::new()];
    for ch in prefix.chars().take(MAX_CASE_CHARS) {
        let mut cases = vec![ch.to_ascii_lowercase(), ch.to_ascii_uppercase()];
        cases.dedup();
        spellings =
            spellings.iter().flat_map(|begin| cases.iter().map(move |ch| format!("{begin}{ch}"))).collect();
    }
    spellings
}
