//! The contents of the tables: concurrent creation, other versions, deletion, and size limits.

use async_trait::async_trait;
use osier_store::{LineSource, LogVersion, PagedHeads, SessionFilter, Store, StoreError};
use osier_store_mysql::Limits;
use osier_store_mysql::server::MariaDbServer;
use osier_tree::entry::parse_entry;
use osier_tree::{Head, Heads, Seq};
use sqlx::{AssertSqlSafe, Executor, Row};

use crate::support::{
    admin_connection, append_message, create_database, create_session, header, message, read_lines, run_sql,
    store_at,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_processes_can_create_the_tables_at_once() {
    let server = MariaDbServer::shared();
    for _ in 0..3 {
        let url = server.url(&create_database(server).await);
        let mut makers = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let store = store_at(&url, Limits::default());
            makers.spawn(async move { store.find_ids("").await.unwrap() });
        }
        makers.join_all().await;
    }
}

/// Returns some lines at a time, and counts the stored rows before each batch.
struct CountingSource {
    server: &'static MariaDbServer,
    database: String,
    rest: Vec<Vec<u8>>,
    at_a_time: usize,
    stored: Vec<i64>,
}

#[async_trait]
impl LineSource for CountingSource {
    async fn next_lines(&mut self) -> Result<Vec<Vec<u8>>, StoreError> {
        let count = format!("SELECT COUNT(*) FROM {}.osier_entries", self.database);
        let row = admin_connection(self.server).await.fetch_one(AssertSqlSafe(count)).await.unwrap();
        self.stored.push(row.try_get(0).unwrap());
        Ok(self.rest.drain(..self.rest.len().min(self.at_a_time)).collect())
    }
}

#[tokio::test]
async fn lines_that_arrive_in_batches_are_stored_as_they_arrive() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let store = store_at(&server.url(&database), Limits::default());
    let rest: Vec<Vec<u8>> = (0..6).map(|at| message(&format!("{at:08x}"), "said")).collect();
    let mut source =
        CountingSource { server, database, rest: rest.clone(), at_a_time: 2, stored: Vec::new() };
    let created = store.create_from(&header("one"), &mut source).await.unwrap();
    assert_eq!((created.version.entries, source.stored), (6, vec![0, 2, 4, 6]));
    assert_eq!(read_lines(&store).await, rest);
    let again =
        store.create_from(&header("one"), &mut CountingSource { stored: Vec::new(), rest, ..source }).await;
    assert!(matches!(again, Err(StoreError::AlreadyExists { .. })), "{again:?}");
    append_message(&store, created.version, "more").await.unwrap();
    assert_eq!(read_lines(&store).await.len(), 7);
}

/// A batch of three lines takes two statements; the second one fails twice.
#[tokio::test]
async fn a_partly_stored_batch_is_retried() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let store = store_at(&server.url(&database), Limits::default());
    store.find_ids("").await.unwrap();
    // What is in this table stays there when a statement fails.
    run_sql(server, format!("CREATE TABLE {database}.tries (stored INT) ENGINE=Aria")).await;
    let trigger = format!(
        "CREATE TRIGGER {database}.failing BEFORE INSERT ON {database}.osier_entries FOR EACH ROW
         IF NEW.seq = 5 AND (SELECT COUNT(*) FROM {database}.tries) < 2 THEN
             INSERT INTO {database}.tries VALUES (1);
             SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1205, MESSAGE_TEXT = 'try again later';
         END IF"
    );
    run_sql(server, trigger).await;
    let rest: Vec<Vec<u8>> = (0..6).map(|at| message(&format!("{at:08x}"), "said")).collect();
    let mut source = CountingSource {
        server,
        database: database.clone(),
        rest: rest.clone(),
        at_a_time: 3,
        stored: Vec::new(),
    };
    let created = store.create_from(&header("one"), &mut source).await.unwrap();
    assert_eq!((created.version.entries, source.stored), (6, vec![0, 3, 6]));
    let tries = format!("SELECT COUNT(*) FROM {database}.tries");
    let tries = admin_connection(server).await.fetch_one(AssertSqlSafe(tries)).await.unwrap();
    assert_eq!(tries.try_get::<i64, _>(0).unwrap(), 2, "it did fail");
    assert_eq!(read_lines(&store).await, rest);
}

/// MySQL 9.6 has no `SHA1`, Percona's strict mode has no `GET_LOCK`, and Vitess has no `REPLACE`.
#[test]
fn statements_use_only_what_every_engine_supports() {
    let sources = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).unwrap();
    for file in sources.map(|file| file.unwrap().path()).filter(|file| file.is_file()) {
        let text = std::fs::read_to_string(&file).unwrap();
        for word in ["SHA1(", "GET_LOCK(", "RELEASE_LOCK", "REPLACE INTO"] {
            assert!(!text.contains(word), "{word} in {}", file.display());
        }
    }
}

#[tokio::test]
async fn repeated_append_is_stored_once() {
    let server = MariaDbServer::shared();
    let store = store_at(&server.url(&create_database(server).await), Limits::default());
    let created = create_session(&store, 2).await;
    let version = append_message(&store, created, "twice").await.unwrap();
    assert_eq!(append_message(&store, created, "twice").await.unwrap(), version);
    let other = store.append("one", created, &[message("twice", "something else")]).await;
    assert!(matches!(other, Err(StoreError::Conflict { now }) if now == version), "{other:?}");
    let both = [message("twice", "said"), message("more", "said")];
    let longer = store.append("one", created, &both).await;
    assert!(matches!(longer, Err(StoreError::Conflict { now }) if now == version), "{longer:?}");
    assert_eq!(read_lines(&store).await.len(), 3);
}

#[tokio::test]
async fn heads_and_cards_of_another_version_are_rebuilt_from_the_lines() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let store = store_at(&server.url(&database), Limits::default());
    let version = create_session(&store, 40).await;
    let (heads, card) =
        (store.heads("one", version.generation, 0, 100).await.unwrap(), store.card("one").await.unwrap());
    let foreign = format!("UPDATE {database}.osier_entries SET head = CONCAT(X'63', SUBSTRING(head, 2))");
    run_sql(server, foreign).await;
    run_sql(server, format!("UPDATE {database}.osier_sessions SET card = 'of tomorrow'")).await;
    let other = store_at(&server.url(&database), Limits::default());
    assert_eq!(other.heads("one", version.generation, 0, 100).await.unwrap(), heads);
    assert_eq!(other.card("one").await.unwrap(), card);
    assert_eq!(read_lines(&other).await.len(), 40);
    assert_eq!(other.list(&osier_store::SessionFilter::default()).await.unwrap().unreadable, ["one"]);
    assert_eq!(append_message(&other, version, "on").await.unwrap().entries, 41);
    assert_eq!(other.card("one").await.unwrap().entry_count, 41);
}

/// A list shows the old card. Everything else, and the next append, rebuilds the card from the lines.
#[tokio::test]
async fn card_of_an_older_version_is_listed_and_rebuilt() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let store = store_at(&server.url(&database), Limits::default());
    let version = create_session(&store, 4).await;
    let old = format!(
        "UPDATE {database}.osier_sessions
         SET card = JSON_SET(JSON_REMOVE(CONVERT(card USING utf8mb4), '$.version'), '$.messageCount', 7)"
    );
    run_sql(server, old).await;
    let other = store_at(&server.url(&database), Limits::default());
    let listed =
        async |store: &dyn Store| store.list(&SessionFilter::default()).await.unwrap().cards[0].message_count;
    assert_eq!(listed(&other).await, 7);
    assert_eq!(other.card("one").await.unwrap().message_count, 4);
    append_message(&other, version, "on").await.unwrap();
    assert_eq!(listed(&store).await, 5);
}

#[tokio::test]
async fn append_uses_the_heads_that_were_already_read() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let version = create_session(&store_at(&server.url(&database), Limits::default()), 40).await;
    let store = store_at(&server.url(&database), Limits::default());
    let heads = store.shared_heads("one", version.generation).await.unwrap().unwrap();
    assert_eq!(heads.len(), 40);
    run_sql(server, format!("DELETE FROM {database}.osier_entries")).await;
    assert_eq!(append_message(&store, version, "next").await.unwrap().entries, 41);
    let other = store_at(&server.url(&database), Limits::default());
    assert!(other.shared_heads("one", version.generation).await.is_err(), "all entries were deleted");
}

#[tokio::test]
async fn stored_card_cannot_forge_the_session_id_or_file() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let store = store_at(&server.url(&database), Limits::default());
    create_session(&store, 2).await;
    let (victim, file) = ("0000000000-victim", "/home/me/.ssh/id");
    let forged = format!(
        "UPDATE {database}.osier_sessions
         SET card = JSON_SET(CONVERT(card USING utf8mb4), '$.id', '{victim}', '$.shortId', '{victim}', '$.file', '{file}')"
    );
    run_sql(server, forged).await;
    let listed = store.list(&osier_store::SessionFilter::default()).await.unwrap();
    assert_eq!((listed.cards.len(), listed.unreadable.len()), (1, 0));
    for card in [&listed.cards[0], &store.card("one").await.unwrap()] {
        assert_eq!((&*card.id, &*card.short_id, &card.file, card.entry_count), ("one", "one", &None, 2));
    }
}

async fn rows(server: &MariaDbServer, database: &str) -> Vec<i64> {
    let mut admin = admin_connection(server).await;
    let mut counts = Vec::new();
    for table in ["sessions", "entries", "parts", "leftovers"] {
        let query = format!("SELECT COUNT(*) FROM {database}.osier_{table}");
        counts.push(admin.fetch_one(AssertSqlSafe(query)).await.unwrap().get(0));
    }
    counts
}

#[tokio::test]
async fn deleted_session_is_erased_at_once_and_its_rows_after_a_day() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let store = store_at(&server.url(&database), Limits::default());
    let many: Vec<Vec<u8>> = (0..700).map(|at| message(&format!("{at:08}"), "said")).collect();
    let created = store.create(&header("one"), &many).await.unwrap().version;
    let huge = message("huge", &"x".repeat(9 << 20));
    let version = store.append("one", created, &[huge]).await.unwrap();
    assert_eq!(rows(server, &database).await, [1, 701, 2, 0]);
    store.rewrite("one", version, &many[..600]).await.unwrap();
    assert_eq!(
        rows(server, &database).await,
        [1, 1302, 2, 0],
        "the rows of the old log and its end marker are kept"
    );
    let counts = store.delete("one").await.unwrap().counts;
    assert_eq!((counts.sessions, counts.entries), (1, 600));
    assert_eq!(rows(server, &database).await, [0, 1303, 0, 2], "the positions stay taken for a day");
    let query =
        format!("SELECT CAST(SUM(LENGTH(line) + LENGTH(head)) AS SIGNED) FROM {database}.osier_entries");
    let bytes: i64 = admin_connection(server).await.fetch_one(AssertSqlSafe(query)).await.unwrap().get(0);
    assert_eq!(bytes, 0, "no content is left");
    run_sql(server, format!("UPDATE {database}.osier_leftovers SET since = 1")).await;
    store.delete("other").await.unwrap();
    assert_eq!(rows(server, &database).await, [0, 0, 0, 0]);
}

/// Deleting frees room, so it must not need any for itself.
#[tokio::test]
async fn deletion_works_without_room_for_its_note() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let store = store_at(&server.url(&database), Limits::default());
    create_session(&store, 600).await;
    let full = format!(
        "CREATE TRIGGER {database}.full BEFORE INSERT ON {database}.osier_leftovers FOR EACH ROW
         SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'The table is full'"
    );
    run_sql(server, full).await;
    assert_eq!(store.delete("one").await.unwrap().counts.entries, 600);
    assert_eq!(rows(server, &database).await, [0, 0, 0, 0]);
}

#[tokio::test]
async fn unnoted_lines_of_a_deleted_session_are_erased_when_it_is_deleted_again() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let store = store_at(&server.url(&database), Limits::default());
    create_session(&store, 3).await;
    // Like after a process that died on a full disk, while another process is creating the session again.
    run_sql(server, format!("DELETE FROM {database}.osier_sessions")).await;
    let making = i64::MAX;
    run_sql(server, format!("INSERT INTO {database}.osier_leftovers VALUES ('one', 7, {making})")).await;
    let line =
        "INSERT INTO osier_entries (session, generation, seq, head, line) VALUES ('one', 7, 0, '', '')";
    run_sql(server, line.replace("INTO ", &format!("INTO {database}."))).await;
    assert_eq!(rows(server, &database).await, [0, 4, 0, 1]);
    assert!(!store.delete("one").await.unwrap().deleted);
    assert_eq!(rows(server, &database).await, [0, 5, 0, 2], "the lines that a process is writing stay");
}

#[tokio::test]
async fn leftovers_of_a_dead_process_are_invisible_and_removed_by_the_next_deletion() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let store = store_at(&server.url(&database), Limits::default());
    create_session(&store, 1).await;
    run_sql(server, format!("INSERT INTO {database}.osier_leftovers VALUES ('half', 5, 1)")).await;
    let half = format!(
        "INSERT INTO {database}.osier_entries (session, generation, seq, head, line) VALUES ('half', 5, 0, '', '')"
    );
    run_sql(server, half).await;
    assert_eq!(store.find_ids("").await.unwrap(), ["one"]);
    assert!(matches!(store.open("half").await, Err(StoreError::NotFound { .. })));
    assert!(!store.delete("other").await.unwrap().deleted);
    assert_eq!(rows(server, &database).await, [1, 1, 0, 0]);
}

#[tokio::test]
async fn late_parent_updates_all_heads_below_it() {
    let server = MariaDbServer::shared();
    let url = server.url(&create_database(server).await);
    let store = store_at(&url, Limits::default());
    let chain: Vec<Vec<u8>> = (1..=300).map(below).collect();
    let version = store.create(&header("one"), &chain).await.unwrap().version;
    let version = store.append("one", version, &[below(0)]).await.unwrap();
    let mut fold = Heads::default();
    for line in chain.iter().chain([&below(0)]) {
        fold.append(&parse_entry(line).unwrap(), 0, line.len() as u32);
    }
    fold.settle();
    let expected: Vec<Head> = fold.iter().map(|(_, head)| *head).collect();
    assert_eq!(expected[299].depth, 300);
    for store in [store, store_at(&url, Limits::default())] {
        assert_eq!(store.heads("one", version.generation, 0, 1000).await.unwrap(), expected);
    }
}

/// The `at`th message of a chain.
fn below(at: usize) -> Vec<u8> {
    let parent = at.checked_sub(1).map_or("null".to_owned(), |at| format!("\"{at:08}\""));
    format!(
        r#"{{"type":"message","id":"{at:08}","parentId":{parent},"message":{{"role":"user","content":"x"}}}}"#
    )
    .into_bytes()
}

#[tokio::test]
async fn line_of_64_mib_with_arbitrary_bytes_is_stored() {
    const LONG: usize = 64 << 20;
    let server = MariaDbServer::shared();
    let url = server.url(&create_database(server).await);
    let store = store_at(&url, Limits::default());
    let version = create_session(&store, 1).await;
    // Characters of four bytes, so that some are split between parts, and invalid UTF-8.
    let mut long = message("long", &"\u{1f333}x\u{10ffff}".repeat(LONG / 9 - 99));
    let end = long.len() - 4;
    long.splice(end..end, *b"\xff\xf0\x9f");
    long.splice(end..end, vec![b'y'; LONG - long.len()]);
    assert_eq!(long.len(), LONG);
    let version = store.append("one", version, std::slice::from_ref(&long)).await.unwrap();
    let other = store_at(&url, Limits::default());
    assert_eq!(other.open("one").await.unwrap().version, version);
    assert!(read_lines(&other).await[1] == long, "the line was changed");
}

#[tokio::test]
async fn path_of_50000_entries_is_read() {
    const DEEP: usize = 50_000;
    let server = MariaDbServer::shared();
    let store = store_at(&server.url(&create_database(server).await), Limits::default());
    let lines: Vec<Vec<u8>> = (0..DEEP).map(below).collect();
    let version: LogVersion = store.create(&header("one"), &lines).await.unwrap().version;
    let mut heads = PagedHeads::new(&store, "one", version);
    let leaf = heads.leaf().await.unwrap();
    assert_eq!(leaf, Some(Seq::new(DEEP - 1)));
    assert!(heads.path(leaf).await.unwrap().into_iter().eq((0..DEEP).map(Seq::new)));
}
