//! Creates a session, or replaces its log. Rows of a generation that no session refers to are invisible, so a long log is
//! written in many short transactions, and a last one makes it visible.

use osier_store::{LogVersion, StoreError};
use osier_tree::{Entry, Header};
use sqlx::{Executor, MySqlConnection};

use crate::failure::{Failure, is_duplicate};
use crate::holding::Holder;
use crate::locks;
use crate::reading::Log;
use crate::removing;
use crate::rows::{self, CardColumns, Folded, Place, SessionRow, modified};
use crate::store::Inner;

/// The maximum number of lines that are written in a single transaction.
const FEW: usize = 64;

/// A log to create.
#[derive(Debug)]
pub(crate) struct Making<'a> {
    pub(crate) store: &'a Inner,
    pub(crate) header: &'a Header,
    pub(crate) folded: &'a Folded,
    pub(crate) entries: &'a [Entry<'a>],
    /// The generation of the lines, if they are already written.
    pub(crate) written: Option<u64>,
    /// The version of the log to replace; `None` for a new session.
    pub(crate) instead_of: Option<LogVersion>,
    /// If set, creation fails if any other process has the session open.
    pub(crate) allowed_holder: Option<Holder>,
}

impl Making<'_> {
    /// Runs one attempt. `tried` collects the generations of all attempts.
    pub(crate) async fn make(
        &self,
        connection: &mut MySqlConnection,
        tried: &mut Vec<u64>,
    ) -> Result<LogVersion, Failure> {
        if let Some(version) = self.made_before(connection, tried).await? {
            return Ok(version);
        }
        let generation = self.written.unwrap_or_else(random);
        tried.push(generation);
        let place = Place { session: &self.header.id, generation, part: self.store.connections.part() };
        let bytes: usize = self.entries.iter().map(|entry| entry.line.len()).sum();
        let few = self.written.is_none() && self.entries.len() <= FEW && bytes <= place.part;
        let many = self.written.is_none() && !few;
        if many {
            removing::note_unwanted(connection, place.session, generation, now()).await?;
            rows::write(connection, place, 0, self.entries, &self.folded.heads).await?;
        }
        let announced = match self.announce(connection).await {
            Err(failure) => {
                if many {
                    removing::sweep(connection, place.session, generation).await?;
                }
                return Err(failure);
            }
            announced => announced?,
        };
        connection.execute("START TRANSACTION").await?;
        let named = match self.name(connection, generation).await {
            Ok(true) => self.check_unused(connection, announced).await.map(|()| true),
            named => named,
        };
        if !matches!(named, Ok(true)) {
            connection.execute("ROLLBACK").await?;
            if let Some(token) = announced {
                locks::end_removal(connection, place.session, token).await?;
            }
            if many {
                removing::sweep(connection, place.session, generation).await?;
            }
            named?;
            let before = self.made_before(connection, tried).await?;
            return before.ok_or_else(|| StoreError::AlreadyExists { id: self.header.id.clone() }.into());
        }
        match few {
            true => rows::write(connection, place, 0, self.entries, &self.folded.heads).await?,
            false => removing::forget(connection, place.session, generation).await?,
        }
        connection.execute("COMMIT").await?;
        Ok(LogVersion { generation, entries: self.folded.heads.len() })
    }

    /// The version of the session if an earlier attempt created it without an acknowledgment. Fails if the session is no longer
    /// in the expected state.
    async fn made_before(
        &self,
        connection: &mut MySqlConnection,
        tried: &[u64],
    ) -> Result<Option<LogVersion>, Failure> {
        let row = SessionRow::read(connection, &self.header.id).await?;
        let Some(now) = row.map(|row| row.version) else {
            return match self.instead_of {
                Some(_) => Err(self.store.not_found(&self.header.id).into()),
                None => Ok(None),
            };
        };
        match self.instead_of {
            _ if tried.contains(&now.generation) => Ok(Some(now)),
            None => Err(StoreError::AlreadyExists { id: self.header.id.clone() }.into()),
            Some(expected) if now == expected => Ok(None),
            Some(expected) if now.generation == expected.generation => {
                Err(StoreError::Conflict { now }.into())
            }
            Some(_) => Err(StoreError::Replaced.into()),
        }
    }

    /// Announces the replacement, unless it may happen while other processes have the session open.
    async fn announce(&self, connection: &mut MySqlConnection) -> Result<Option<u64>, Failure> {
        match self.allowed_holder {
            Some(holder) => locks::announce_removal(connection, &self.header.id, holder).await.map(Some),
            None => Ok(None),
        }
    }

    /// Ends the announcement. Processes that open the session from now on find the new log.
    async fn check_unused(
        &self,
        connection: &mut MySqlConnection,
        announced: Option<u64>,
    ) -> Result<(), Failure> {
        let id = &self.header.id;
        match announced {
            Some(token) if !locks::end_removal(connection, id, token).await? => {
                Err(StoreError::Busy { id: id.clone() }.into())
            }
            _ => Ok(()),
        }
    }

    /// Makes the session's row refer to this generation. `false` if another process was faster.
    async fn name(&self, connection: &mut MySqlConnection, generation: u64) -> Result<bool, Failure> {
        let card = CardColumns::of(self.folded.card.card());
        let (entries, odd) = (self.folded.heads.len() as u32, self.folded.odd as u32);
        let regular = self.folded.heads.is_regular();
        let Some(expected) = self.instead_of else {
            let query = sqlx::query(
                "INSERT INTO osier_sessions (generation, entries, odd, regular, card, cost, minus_modified,
                 minus_created, cwd_hash, header, id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            );
            let query = query.bind(generation).bind(entries).bind(odd).bind(regular).bind(card.json);
            let query = query.bind(card.cost).bind(card.minus_modified).bind(card.minus_created);
            let query = query.bind(card.cwd_hash).bind(self.header.to_line()).bind(&self.header.id);
            return match query.execute(connection).await {
                Err(error) if is_duplicate(&error) => Ok(false),
                done => Ok(done?.rows_affected() == 1),
            };
        };
        let query = sqlx::query(concat!(
            "UPDATE osier_sessions SET header = ?, generation = ?, entries = ?, odd = ?, regular = ?, card = ?, cost = ?,
             minus_modified = ",
            modified!(),
            " WHERE id = ? AND generation = ?"
        ));
        let query = query
            .bind(self.header.to_line())
            .bind(generation)
            .bind(entries)
            .bind(odd)
            .bind(regular)
            .bind(card.json);
        let query = query.bind(card.cost).bind(false).bind(card.minus_modified).bind(&self.header.id);
        let named = query.bind(expected.generation).execute(&mut *connection).await?.rows_affected() == 1;
        Ok(named
            && rows::write_end(connection, &self.header.id, expected.generation, expected.entries).await?)
    }
}

impl Log<'_> {
    /// The header of a session whose log is to be replaced.
    pub(crate) async fn header(&self, connection: &mut MySqlConnection) -> Result<Header, Failure> {
        let row = SessionRow::read(connection, self.session).await?;
        let row = row.ok_or_else(|| crate::reading::not_found(self.store, self.session))?;
        Ok(row.header().unwrap_or_else(|| Header::new(self.session, 0, "")))
    }
}

/// A random number, unique enough to identify a generation, a process, or a lock.
pub(crate) fn random() -> u64 {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the operating system provides random bytes");
    // 63 bits, because not every database client supports unsigned numbers.
    u64::from_le_bytes(bytes) >> 1
}

pub(crate) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64)
}
