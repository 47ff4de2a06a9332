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
    ($from:literal, $order:literal) => {
        concat!(
            "SELECT s.card, s.cost, IF(s.minus_modified = ",
            open_mark!(),
            ", ",
            added!(),
            ", NULL), s.id, s.minus_modified = ",
            open_mark!(),
            " FROM osier_sessions s ",
            $from,
            " ORDER BY ",
            $order,
            " LIMIT ?"
        )
    };
}

macro_rules! newest_first {
    ($from:literal) => {
        listed!($from, "s.minus_modified, s.minus_created, s.id")
    };
}

/// How many characters of a prefix are looked up in both upper and lower case.
const MAX_CASE_CHARS: usize = 4;

const LIST_ALL: &str = newest_first!("FORCE INDEX (used_last)");

const LIST_BY_CWD: &str = newest_first!("FORCE INDEX (used_last_here) WHERE s.cwd_hash = ?");

/// The pages of a list without a limit. Ids never change, so no session moves to another page between two queries.
const PAGE_OF_ALL: &str = listed!("WHERE s.id > ?", "s.id");

const PAGE_BY_CWD: &str = listed!("WHERE s.cwd_hash = ? AND s.id > ?", "s.id");

/// The rows of a page. Vitess returns at most 10,000 rows and 16 MiB.
const CARDS_PER_PAGE: usize = 1024;
const IDS_PER_PAGE: usize = 8192;

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
    let Some(limit) = filter.limit else {
        let all = read_all_rows(connection, store, filter).await?;
        return Ok(page(all.into_iter().skip(filter.skip), false));
    };
    // One extra row shows whether there are more.
    let most = limit.saturating_add(filter.skip).saturating_add(1);
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
    let has_more = all.len().saturating_sub(filter.skip) > limit;
    Ok(page(all.into_iter().skip(filter.skip).take(limit), has_more))
}

fn page(listed: impl Iterator<Item = SessionListRow>, has_more: bool) -> SessionPage {
    let mut page = SessionPage { has_more, ..SessionPage::default() };
    for listed in listed {
        match listed.card {
            Some(card) => page.cards.push(card),
            None => page.unreadable.push(listed.id),
        }
    }
    page
}

/// All sessions in order, those without a card last.
async fn read_all_rows(
    connection: &mut MySqlConnection,
    store: &str,
    filter: &SessionFilter,
) -> Result<Vec<SessionListRow>, AttemptError> {
    let mut all: Vec<SessionListRow> = Vec::new();
    loop {
        let query = match &filter.cwd {
            Some(cwd) => sqlx::query(PAGE_BY_CWD).bind(cwd_hash(&cwd.to_string_lossy())),
            None => sqlx::query(PAGE_OF_ALL),
        };
        let last = all.last().map(|listed| listed.id.clone()).unwrap_or_default();
        let rows = query.bind(last).bind(CARDS_PER_PAGE as u32).fetch_all(&mut *connection).await?;
        for row in &rows {
            all.push(SessionListRow::read(row, store)?);
        }
        if rows.len() < CARDS_PER_PAGE {
            break;
        }
    }
    all.sort_by(|a, b| (a.card.is_none(), a.sort_key()).cmp(&(b.card.is_none(), b.sort_key())));
    Ok(all)
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
    let sql = format!("SELECT id FROM osier_sessions WHERE ({ranges}) AND id > ? ORDER BY id LIMIT ?");
    let mut ids: Vec<String> = Vec::new();
    loop {
        let mut query = sqlx::query(AssertSqlSafe(sql.as_str()));
        for begin in &spellings {
            // `~` sorts after every character that an id can contain.
            query = query.bind(begin).bind(format!("{begin}~"));
        }
        let last = ids.last().cloned().unwrap_or_default();
        let rows = query.bind(last).bind(IDS_PER_PAGE as u32).fetch_all(&mut *connection).await?;
        for row in &rows {
            ids.push(row.try_get(0)?);
        }
        if rows.len() < IDS_PER_PAGE {
            break;
        }
    }
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
