//! An append of one line as one call of a procedure: the whole transaction in one round trip and one answer. Servers that
//! know no procedures, or whose administrator allows none, get the statements one by one.

use std::sync::atomic::Ordering;

use osier_tree::scan::Raw;
use osier_tree::{Entry, Seq, header};
use sqlx::{Executor, MySqlConnection};

use crate::append::Append;
use crate::failure::{Failure, Remedy, number};
use crate::record;
use crate::rows::{CardColumns, Folded, short};

/// Longer lines gain nothing.
const MOST_BYTES: usize = 64 << 10;

/// The number that the procedure calls it by that the session is not in the expected state.
const NOT_EXPECTED: u16 = 31_001;

/// The error number of a procedure that is not there. Something else that it needs and that is missing has it too.
const MISSING: u16 = 1305;

/// Error numbers of a procedure that may not be called, or is a word that the server does not know.
const NO_PROCEDURE: [u16; 7] = [1370, 1044, 1064, 1105, 1235, 1295, 8108];

/// The error number of a procedure that is there already.
const EXISTS: u16 = 1304;

/// Made with the tables, where that is possible. A procedure that works otherwise gets another name.
const CREATE: &str = "CREATE PROCEDURE osier_append_1 (
        IN the_session VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin, IN the_generation BIGINT UNSIGNED,
        IN the_seq INT UNSIGNED, IN the_odd INT UNSIGNED, IN the_regular BOOLEAN, IN the_card MEDIUMBLOB,
        IN the_cost DOUBLE, IN the_modified BIGINT, IN the_id VARBINARY(255), IN the_parent VARBINARY(255),
        IN the_type VARBINARY(255), IN the_time BIGINT, IN the_head VARBINARY(64), IN the_line MEDIUMBLOB)
    SQL SECURITY INVOKER
    BEGIN
        START TRANSACTION;
        UPDATE osier_sessions SET entries = the_seq + 1, odd = the_odd, regular = the_regular, card = the_card,
            cost = the_cost, minus_modified = the_modified
            WHERE id = the_session AND generation = the_generation AND entries = the_seq;
        IF ROW_COUNT() <> 1 THEN
            ROLLBACK;
            SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 31001, MESSAGE_TEXT = 'not in the expected state';
        END IF;
        INSERT INTO osier_entries (session, generation, seq, id, parent_id, type, timestamp, head, line)
            VALUES (the_session, the_generation, the_seq, the_id, the_parent, the_type, the_time, the_head, the_line);
        COMMIT;
    END";

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Called {
    Written,
    /// The session is not in the expected state, and nothing is written.
    NotExpected,
    /// Something is missing. A transaction may be open that has half of the append.
    Missing,
    /// It cannot be called here. A transaction may be open, too.
    Refused,
}

/// Makes the procedure, and tells whether there is one now. Appends do without if it cannot be; only what another attempt
/// may mend is an error.
pub(crate) async fn make(connection: &mut MySqlConnection) -> Result<bool, Failure> {
    match connection.execute(CREATE).await {
        Ok(_) => Ok(true),
        Err(error) if number(&error) == Some(EXISTS) => Ok(true),
        Err(error) => match (number(&error), Failure::from(error)) {
            (Some(_), failure) if failure.remedy() == Remedy::None => Ok(false),
            (_, failure) => Err(failure),
        },
    }
}

impl Append<'_> {
    /// The entry, if there is one alone and a call pays.
    pub(crate) fn alone<'e>(&self, entries: &'e [Entry<'e>]) -> Option<&'e Entry<'e>> {
        let most = MOST_BYTES.min(self.store.connections.part() / 2);
        match entries {
            [entry] if entry.line.len() <= most && header::is_valid_id(self.id) => Some(entry),
            _ => None,
        }
    }

    /// See [`Append::write`].
    pub(crate) async fn call(
        &self,
        connection: &mut MySqlConnection,
        after: &Folded,
        entry: &Entry<'_>,
    ) -> Result<Called, Failure> {
        let card = CardColumns::of(after.card.card());
        let kind = entry.get("type").and_then(Raw::text);
        let head = record::encode(after.heads.get(Seq::new(self.expected.entries)));
        let query = sqlx::query("CALL osier_append_1(?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
        let query = query.bind(self.id).bind(self.expected.generation).bind(self.expected.entries as u32);
        let query = query.bind(after.odd as u32).bind(after.heads.is_regular());
        let query = query.bind(card.json).bind(card.cost).bind(card.minus_modified);
        let query = query.bind(short(Some(&entry.id))).bind(short(entry.parent.as_deref()));
        let query = query.bind(short(kind.as_deref())).bind(entry.time).bind(&head[..]).bind(entry.line);
        match query.execute(connection).await {
            Ok(_) => Ok(Called::Written),
            Err(error) => match number(&error) {
                Some(NOT_EXPECTED) => Ok(Called::NotExpected),
                Some(MISSING) => Ok(Called::Missing),
                Some(number) if NO_PROCEDURE.contains(&number) => Ok(Called::Refused),
                _ => Err(error.into()),
            },
        }
    }

    /// Ends what a failed call left open, and sees to it that the next append can call, or does not try to.
    pub(crate) async fn do_without(
        &self,
        connection: &mut MySqlConnection,
        called: Called,
    ) -> Result<(), Failure> {
        // Without this, the transaction that follows would commit the half that is there.
        connection.execute("ROLLBACK").await?;
        let first = called == Called::Missing && !self.store.made.load(Ordering::Relaxed);
        let callable = first && make(connection).await?;
        self.store.made.store(true, Ordering::Relaxed);
        self.store.calls.store(callable, Ordering::Relaxed);
        Ok(())
    }
}
