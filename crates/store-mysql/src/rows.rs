//! Reads and writes the rows of sessions and entries.

use osier_store::LogVersion;
use osier_tree::entry::{ParsedLine, parse_line};
use osier_tree::head_record;
use osier_tree::projection::card::{CARD_VERSION, Card, CardFold};
use osier_tree::scan::RawJson;
use osier_tree::short_ids::first_eight;
use osier_tree::{Entry, Header, Heads, Seq};
use serde::{Deserialize, Serialize};
use sqlx::mysql::MySqlRow;
use sqlx::{AssertSqlSafe, MySqlConnection, Row};

use crate::attempt_error::{AttemptError, is_duplicate_key};
use crate::tally;

/// The maximum number of rows per statement.
const MAX_ROWS: usize = 64;

/// The maximum length of a text column in bytes. Longer texts are only in the line.
const MAX_COLUMN_BYTES: usize = 255;

/// The position of the newest line of the session `s`. (`MAX(seq)` would make the server scan all lines.)
macro_rules! newest {
    () => {
        "(SELECT n.seq FROM osier_entries n WHERE n.session = s.id AND n.generation = s.generation
          ORDER BY n.seq DESC LIMIT 1)"
    };
}
pub(crate) use newest;

/// The card update of the newest line of the session `s`, if the session's row does not include that line yet. (With the
/// comparison in the `WHERE` clause, the server would scan backward through the whole log.)
macro_rules! added {
    () => {
        "(SELECT IF(n.seq >= s.entries, CONCAT(COALESCE(n.tally, ''), n.id), NULL) FROM osier_entries n
          WHERE n.session = s.id AND n.generation = s.generation ORDER BY n.seq DESC LIMIT 1)"
    };
}
pub(crate) use added;

/// Replaces the time in the row of a session that is open for writing. So these rows sort before all others, and a list reads
/// the newest lines of these sessions only.
macro_rules! open_mark {
    () => {
        "-9000000000000000000"
    };
}
pub(crate) use open_mark;

/// The new time of an updated row: the open mark if the first parameter is true or the row is already marked, otherwise the
/// second parameter.
macro_rules! modified {
    () => {
        concat!(
            "IF(? OR minus_modified = ",
            $crate::rows::open_mark!(),
            ", ",
            $crate::rows::open_mark!(),
            ", ?)"
        )
    };
}
pub(crate) use modified;

pub(crate) const ROW_QUERY: &str = concat!(
    "SELECT s.card, s.cost, ",
    added!(),
    ", s.generation, s.odd, s.regular, s.header, ",
    newest!(),
    ", s.minus_modified = ",
    open_mark!(),
    " FROM osier_sessions s WHERE s.id = ?"
);

/// A session's row, with the card update of its newest line.
#[derive(Debug)]
pub(crate) struct SessionRow {
    pub(crate) version: LogVersion,
    pub(crate) invalid_lines: usize,
    pub(crate) regular: bool,
    pub(crate) header: Vec<u8>,
    /// The row has the open mark, so lists read the newest line.
    pub(crate) is_marked_open: bool,
    card: CardRow,
}

/// The JSON of a card in its column.
#[derive(Debug, Serialize, Deserialize)]
struct StoredCard {
    /// The [`CARD_VERSION`] of the program that wrote it; 0 in rows that have no version.
    #[serde(default)]
    version: u32,
    #[serde(flatten)]
    card: Card,
}

/// The columns of a card that is read.
#[derive(Debug)]
pub(crate) struct CardRow {
    stored: Option<StoredCard>,
    cost: f64,
    /// The card update of the newest line, if the session's row does not include that line.
    added: Option<Vec<u8>>,
}

impl SessionRow {
    pub(crate) async fn read(
        connection: &mut MySqlConnection,
        id: &str,
    ) -> Result<Option<SessionRow>, sqlx::Error> {
        let row = sqlx::query(ROW_QUERY).bind(id).fetch_optional(connection).await?;
        row.map(|row| {
            Ok(SessionRow {
                version: read_version(&row, 3, 7)?,
                invalid_lines: row.try_get::<u32, _>(4)? as usize,
                regular: row.try_get(5)?,
                header: row.try_get(6)?,
                is_marked_open: row.try_get(8)?,
                card: CardRow::read(&row)?,
            })
        })
        .transpose()
    }

    pub(crate) fn header(&self) -> Option<Header> {
        RawJson::parse(&self.header).ok().and_then(Header::from_raw)
    }

    /// The card of this row's session, `id`. `None` if another version of Osier wrote it.
    pub(crate) fn card(&self, id: &str, store: &str) -> Option<Card> {
        let version = self.card.stored.as_ref()?.version;
        self.card.card(id, store).filter(|_| version == CARD_VERSION)
    }

    /// Writes the card and clears the open mark. The row must be locked.
    pub(crate) async fn write_card(
        &self,
        connection: &mut MySqlConnection,
        id: &str,
        card: &Card,
    ) -> Result<(), AttemptError> {
        let card = CardColumns::from_card(card);
        let query = sqlx::query(
            "UPDATE osier_sessions SET entries = ?, card = ?, cost = ?, minus_modified = ? WHERE id = ?",
        );
        let query = query.bind(self.version.entries as u32).bind(card.json).bind(card.cost);
        query.bind(card.minus_modified).bind(id).execute(connection).await?;
        Ok(())
    }
}

impl CardRow {
    /// Reads a row that starts with the card, the cost, and the newest line's update.
    pub(crate) fn read(row: &MySqlRow) -> Result<CardRow, sqlx::Error> {
        let stored = serde_json::from_slice(row.try_get(0)?).ok();
        Ok(CardRow { stored, cost: row.try_get(1)?, added: row.try_get(2)? })
    }

    /// The card for lists. A card of another version is included; its counts may differ until the session is written or opened.
    /// `None` if it cannot be parsed.
    pub(crate) fn card(&self, id: &str, store: &str) -> Option<Card> {
        let card = self.stored.as_ref()?.card.clone();
        // The cost is a column because JSON would round it. The name of the store differs between users. The session's id and
        // file must not come from the stored card, because any user with write access could forge them.
        let (id, short_id, store) = (id.to_owned(), first_eight(id).to_owned(), store.to_owned());
        let card = Card { id, short_id, store, file: None, cost: self.cost, ..card };
        match &self.added {
            None => Some(card),
            Some(added) => tally::apply(card, added),
        }
    }
}

/// The version of a log, from the columns of its generation and of the position of its newest line.
pub(crate) fn read_version(
    row: &MySqlRow,
    generation: usize,
    newest: usize,
) -> Result<LogVersion, sqlx::Error> {
    let newest: Option<u32> = row.try_get(newest)?;
    let entries = newest.map_or(0, |newest| newest as usize + 1);
    Ok(LogVersion { generation: row.try_get(generation)?, entries })
}

pub(crate) const VERSION_QUERY: &str =
    concat!("SELECT s.generation, ", newest!(), " FROM osier_sessions s WHERE s.id = ?");

/// The current version of one session's log. `None` if the session does not exist.
pub(crate) async fn query_version(
    connection: &mut MySqlConnection,
    id: &str,
) -> Result<Option<LogVersion>, AttemptError> {
    let row = sqlx::query(VERSION_QUERY).bind(id).fetch_optional(connection).await?;
    Ok(row.map(|row| read_version(&row, 0, 1)).transpose()?)
}

/// The columns of a card to write.
#[derive(Debug)]
pub(crate) struct CardColumns {
    pub(crate) json: Vec<u8>,
    pub(crate) cost: f64,
    pub(crate) cwd_hash: Vec<u8>,
    pub(crate) minus_modified: i64,
    pub(crate) minus_created: i64,
}

impl CardColumns {
    pub(crate) fn from_card(card: &Card) -> CardColumns {
        // Fields that the reader fills in itself are left empty.
        let stored = Card {
            id: String::new(),
            short_id: String::new(),
            store: String::new(),
            file: None,
            cost: 0.0,
            ..card.clone()
        };
        CardColumns {
            json: serde_json::to_vec(&StoredCard { version: CARD_VERSION, card: stored }).unwrap_or_default(),
            cost: card.cost,
            cwd_hash: cwd_hash(&card.cwd),
            // Every server supports ascending indexes, so the newest session gets the smallest number.
            minus_modified: card.modified.saturating_neg(),
            minus_created: card.created.saturating_neg(),
        }
    }
}

pub(crate) fn cwd_hash(cwd: &str) -> Vec<u8> {
    blake3::hash(cwd.as_bytes()).as_bytes()[..16].to_vec()
}

/// The heads and card of a log, folded from its lines.
#[derive(Debug, Clone)]
pub(crate) struct FoldedLog {
    pub(crate) heads: Heads,
    pub(crate) card: CardFold,
    pub(crate) invalid_lines: usize,
}

impl FoldedLog {
    pub(crate) fn new(header: &Header, store: &str) -> FoldedLog {
        FoldedLog { heads: Heads::default(), card: CardFold::new(Card::new(header, store)), invalid_lines: 0 }
    }

    pub(crate) fn fold_entry(&mut self, entry: &Entry<'_>) {
        let seq = self.heads.append(entry, 0, entry.line.len() as u32);
        self.card.feed(entry, seq, &self.heads);
    }

    /// Folds lines and returns the entries. Lines that are not entries are only counted.
    pub(crate) fn fold_lines<'a>(&mut self, lines: &'a [Vec<u8>]) -> Vec<Entry<'a>> {
        let mut entries = Vec::with_capacity(lines.len());
        for line in lines {
            match parse_line(line) {
                ParsedLine::Entry(entry) => {
                    self.fold_entry(&entry);
                    entries.push(entry);
                }
                _ => self.invalid_lines += 1,
            }
        }
        self.heads.settle();
        entries
    }
}

/// The log that entry rows are written to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryTarget<'a> {
    pub(crate) session: &'a str,
    pub(crate) generation: u64,
    /// Lines longer than this are split into parts.
    pub(crate) part_bytes: usize,
}

/// Writes the rows of consecutive entries, starting at position `first`.
pub(crate) async fn write_entries(
    connection: &mut MySqlConnection,
    target: EntryTarget<'_>,
    first: usize,
    entries: &[Entry<'_>],
    heads: &Heads,
) -> Result<(), AttemptError> {
    let (mut at, mut rest) = (first, entries);
    while !rest.is_empty() {
        let (group, behind) = rest.split_at(group_size(rest, target.part_bytes));
        write_group(connection, target, at, group, heads).await?;
        for (number, entry) in group.iter().enumerate() {
            write_parts(connection, target, at + number, entry.line).await?;
        }
        (at, rest) = (at + group.len(), behind);
    }
    Ok(())
}

/// How many of the first entries one statement writes: a power of two, so that there are few distinct prepared statements.
fn group_size(entries: &[Entry<'_>], bytes: usize) -> usize {
    let mut sum = 0;
    let fits = |entry: &&Entry<'_>| {
        sum += entry.line.len() + 4 * MAX_COLUMN_BYTES;
        sum <= bytes
    };
    let count = entries.iter().take(MAX_ROWS).take_while(fits).count().max(1);
    1 << count.ilog2()
}

async fn write_group(
    connection: &mut MySqlConnection,
    target: EntryTarget<'_>,
    first: usize,
    group: &[Entry<'_>],
    heads: &Heads,
) -> Result<(), AttemptError> {
    let values = vec!["(?,?,?,?,?,?,?,?,?)"; group.len()].join(",");
    let sql = format!(
        "INSERT INTO osier_entries (session, generation, seq, id, parent_id, type, timestamp, head, line) VALUES {values}"
    );
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for (number, entry) in group.iter().enumerate() {
        let seq = first + number;
        let kind = entry.get("type").and_then(RawJson::text);
        query = query.bind(target.session).bind(target.generation).bind(seq as u32);
        query = query.bind(column_bytes(Some(&entry.id))).bind(column_bytes(entry.parent.as_deref()));
        query = query.bind(column_bytes(kind.as_deref()).map(<[u8]>::to_vec)).bind(entry.time);
        query = query.bind(head_record::encode(heads.get(Seq::new(seq))).to_vec());
        query = query.bind(&entry.line[..entry.line.len().min(target.part_bytes)]);
    }
    query.execute(connection).await?;
    Ok(())
}

/// Writes one entry together with its card update. `false` if its position is taken.
pub(crate) async fn write_with_tally(
    connection: &mut MySqlConnection,
    target: EntryTarget<'_>,
    seq: Seq,
    entry: &Entry<'_>,
    heads: &Heads,
    tally: &[u8],
) -> Result<bool, AttemptError> {
    let kind = entry.get("type").and_then(RawJson::text);
    let head = head_record::encode(heads.get(seq));
    let query = sqlx::query(
        "INSERT INTO osier_entries (session, generation, seq, id, parent_id, type, timestamp, head, tally, line)
         VALUES (?,?,?,?,?,?,?,?,?,?)",
    );
    let query = query.bind(target.session).bind(target.generation).bind(seq.index() as u32);
    let query = query.bind(column_bytes(Some(&entry.id))).bind(column_bytes(entry.parent.as_deref()));
    let query = query.bind(column_bytes(kind.as_deref())).bind(entry.time).bind(&head[..]);
    match query.bind(tally).bind(entry.line).execute(connection).await {
        Err(error) if is_duplicate_key(&error) => Ok(false),
        done => Ok(done.map(|_| true)?),
    }
}

/// Sets the open mark, so that lists read the newest line of the session.
pub(crate) async fn mark_open(connection: &mut MySqlConnection, id: &str) -> Result<(), AttemptError> {
    const MARK: &str = concat!("UPDATE osier_sessions SET minus_modified = ", open_mark!(), " WHERE id = ?");
    sqlx::query(MARK).bind(id).execute(connection).await?;
    Ok(())
}

/// Ends a log: takes the position of its next line, so that later appends fail. `false` if the position is already taken.
pub(crate) async fn write_end_marker(
    connection: &mut MySqlConnection,
    session: &str,
    generation: u64,
    seq: usize,
) -> Result<bool, AttemptError> {
    let query = sqlx::query(
        "INSERT INTO osier_entries (session, generation, seq, head, line) VALUES (?, ?, ?, '', '')",
    );
    match query.bind(session).bind(generation).bind(seq as u32).execute(connection).await {
        Err(error) if is_duplicate_key(&error) => Ok(false),
        done => Ok(done.map(|_| true)?),
    }
}

pub(crate) fn column_bytes(text: Option<&str>) -> Option<&[u8]> {
    text.map(str::as_bytes).filter(|bytes| bytes.len() <= MAX_COLUMN_BYTES)
}

async fn write_parts(
    connection: &mut MySqlConnection,
    target: EntryTarget<'_>,
    seq: usize,
    line: &[u8],
) -> Result<(), AttemptError> {
    for (number, part) in line.chunks(target.part_bytes).enumerate().skip(1) {
        let query = sqlx::query(
            "INSERT INTO osier_parts (session, generation, seq, part, bytes) VALUES (?, ?, ?, ?, ?)",
        );
        let query = query.bind(target.session).bind(target.generation).bind(seq as u32).bind(number as u32);
        query.bind(part).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Rewrites heads that a later line changed.
pub(crate) async fn write_heads(
    connection: &mut MySqlConnection,
    target: EntryTarget<'_>,
    changed: &[Seq],
    heads: &Heads,
) -> Result<(), AttemptError> {
    for group in changed.chunks(MAX_ROWS) {
        let cases = vec!["WHEN ? THEN ?"; group.len()].join(" ");
        let marks = vec!["?"; group.len()].join(",");
        let sql = format!(
            "UPDATE osier_entries SET head = CASE seq {cases} END
             WHERE session = ? AND generation = ? AND seq IN ({marks})"
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for seq in group {
            query = query.bind(seq.index() as u32).bind(head_record::encode(heads.get(*seq)).to_vec());
        }
        query = query.bind(target.session).bind(target.generation);
        for seq in group {
            query = query.bind(seq.index() as u32);
        }
        query.execute(&mut *connection).await?;
    }
    Ok(())
}
