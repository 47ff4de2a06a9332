//! Sessions that are open for writing: their rows may lag behind their logs, but lists and cards stay correct.

use std::time::Duration;

use osier_store::{LogVersion, MemoryStore, SessionFilter, Store, StoreError, Watch};
use osier_store_mysql::server::MariaDbServer;
use osier_store_mysql::{Limits, MySqlStore};
use osier_tree::projection::card::Card;
use sqlx::{AssertSqlSafe, Executor, Row};

use crate::support::{
    admin_connection, append_message, create_database, create_session, error_chain, header, message,
    read_lines, run_sql, short_limits, store_at,
};

/// The entry count in the session's row, and whether the row is marked as open.
async fn row(server: &MariaDbServer, database: &str) -> (u32, bool) {
    let query = format!(
        "SELECT entries, minus_modified = -9000000000000000000 FROM {database}.osier_sessions WHERE id = 'one'"
    );
    let row = admin_connection(server).await.fetch_one(AssertSqlSafe(query)).await.unwrap();
    (row.get(0), row.get(1))
}

/// The cards of all sessions, newest first.
async fn listed(store: &dyn Store) -> Vec<Card> {
    let page = store.list(&SessionFilter::default()).await.unwrap();
    assert!(page.unreadable.is_empty() && !page.has_more);
    page.cards
}

fn at(id: &str, second: usize, role: &str) -> Vec<u8> {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":null,"timestamp":"2026-01-01T00:{:02}:{:02}.000Z","message":{{"role":"{role}","content":"said"}}}}"#,
        second / 60,
        second % 60
    )
    .into_bytes()
}

#[tokio::test]
async fn appends_to_an_open_session_update_its_row_only_once_until_it_is_closed() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let url = server.url(&database);
    let (store, other) = (store_at(&url, Limits::default()), store_at(&url, Limits::default()));
    let version = create_session(&store, 2).await;
    let _open = store.watch("one").await.unwrap();
    assert_eq!(row(server, &database).await, (2, false), "opening alone does not change the row");
    let version = append_message(&store, version, "first").await.unwrap();
    assert_eq!(row(server, &database).await, (3, true));
    let version = store.append("one", version, &[at("later", 60, "user")]).await.unwrap();
    assert_eq!(row(server, &database).await, (3, true));
    let card = store.card("one").await.unwrap();
    assert_eq!((card.entry_count, card.leaf_id.as_deref()), (4, Some("later")));
    for seen in [listed(&other).await.remove(0), other.card("one").await.unwrap()] {
        assert_eq!(seen, card);
    }
    assert_eq!(other.open("one").await.unwrap().version, version);
    store.close().await;
    assert_eq!(row(server, &database).await, (4, false));
    assert_eq!(listed(&other).await, [card]);
}

#[tokio::test]
async fn append_that_renames_the_session_updates_its_row_and_keeps_the_mark() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let store = store_at(&server.url(&database), Limits::default());
    let version = create_session(&store, 2).await;
    let _open = store.watch("one").await.unwrap();
    let version = append_message(&store, version, "first").await.unwrap();
    let version = append_message(&store, version, "said").await.unwrap();
    assert_eq!(row(server, &database).await, (3, true));
    let named = br#"{"type":"session_info","id":"named","parentId":"said","timestamp":"2026-01-01T00:00:01.000Z","name":"willow"}"#;
    let version = store.append("one", version, &[named.to_vec()]).await.unwrap();
    assert_eq!(row(server, &database).await, (5, true));
    append_message(&store, version, "on").await.unwrap();
    assert_eq!(row(server, &database).await, (5, true));
    let card = listed(&store).await.remove(0);
    assert_eq!((card.name.as_deref(), card.entry_count), (Some("willow"), 6));
}

#[tokio::test]
async fn closing_keeps_the_mark_while_another_process_has_the_session_open() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let url = server.url(&database);
    let (store, other) = (store_at(&url, Limits::default()), store_at(&url, Limits::default()));
    let version = create_session(&store, 2).await;
    let _both = (store.watch("one").await.unwrap(), other.watch("one").await.unwrap());
    let version = append_message(&other, version, "first").await.unwrap();
    store.close().await;
    assert_eq!(row(server, &database).await, (3, true));
    append_message(&other, version, "on").await.unwrap();
    assert_eq!(row(server, &database).await, (3, true));
    assert_eq!(listed(&store).await[0].entry_count, 4);
    other.close().await;
    assert_eq!(row(server, &database).await, (4, false));
}

#[tokio::test]
async fn appends_of_a_killed_process_are_listed_and_the_next_close_updates_its_row() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let url = server.url(&database);
    let store = store_at(&url, Limits::default());
    let version = create_session(&store, 2).await;
    store.create(&header("another"), &[message("a", "said")]).await.unwrap();
    let killed = url.clone();
    let killed = tokio::task::spawn_blocking(move || {
        let process =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let store = store_at(&killed, Limits::default());
        let open = process.block_on(store.watch("one")).unwrap();
        let version = process.block_on(append_message(&store, version, "first")).unwrap();
        process.block_on(store.append("one", version, &[at("last", 90, "user")])).unwrap();
        process.shutdown_timeout(Duration::from_secs(60));
        drop(open);
    });
    killed.await.unwrap();
    run_sql(server, format!("UPDATE {database}.osier_watches SET expires = UNIX_TIMESTAMP() - 1")).await;
    assert_eq!(row(server, &database).await, (3, true));
    assert_eq!((&*listed(&store).await[0].id, listed(&store).await[0].entry_count), ("one", 4));
    let _open = store.watch("another").await.unwrap();
    store.close().await;
    assert_eq!(row(server, &database).await, (4, false));
}

#[tokio::test]
async fn replaced_log_rejects_appends() {
    let server = MariaDbServer::shared();
    let url = server.url(&create_database(server).await);
    let (store, other) = (store_at(&url, Limits::default()), store_at(&url, Limits::default()));
    let version = create_session(&store, 2).await;
    let _open = store.watch("one").await.unwrap();
    let version = append_message(&store, version, "third").await.unwrap();
    let version = append_message(&store, version, "fourth").await.unwrap();
    let early = LogVersion { entries: 3, ..version };
    let refused = other.rewrite_in_use("one", early, &[message("a", "said")]).await;
    assert!(matches!(refused, Err(StoreError::Conflict { now }) if now == version), "{refused:?}");
    let rewritten = other.rewrite_in_use("one", version, &[message("a", "said")]).await.unwrap();
    let late = append_message(&store, version, "late").await;
    assert!(matches!(late, Err(StoreError::Replaced)), "{late:?}");
    assert_eq!(read_lines(&other).await, [message("a", "said")]);
    assert_eq!(append_message(&other, rewritten, "b").await.unwrap().entries, 2);
    assert_eq!(listed(&other).await[0].entry_count, 2);
}

/// Like a replica that took over before it received the last line.
#[tokio::test]
async fn lost_newest_line_is_detected_over_a_new_connection() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let limits = Limits { max_idle: Duration::ZERO, ..short_limits() };
    let store = store_at(&server.url(&database), limits);
    let version = create_session(&store, 2).await;
    let _open = store.watch("one").await.unwrap();
    let version = append_message(&store, version, "first").await.unwrap();
    let version = append_message(&store, version, "lost").await.unwrap();
    run_sql(server, format!("DELETE FROM {database}.osier_entries WHERE id = 'lost'")).await;
    let error = append_message(&store, version, "next").await.unwrap_err();
    assert_eq!(
        error_chain(&error),
        "session one in store team became shorter while it was open; nothing was written; compare it with a backup"
    );
    let opened = store.open("one").await;
    assert!(matches!(opened, Err(StoreError::Shrunk { .. })), "{opened:?}");
    let other = store_at(&server.url(&database), short_limits());
    assert_eq!(
        read_lines(&other).await.len(),
        3,
        "nothing was written, and a new reader sees the remaining lines"
    );
}

#[tokio::test]
async fn pages_are_in_order_even_if_some_sessions_are_open() {
    let server = MariaDbServer::shared();
    let store = store_at(&server.url(&create_database(server).await), Limits::default());
    for number in 0..12 {
        let name = format!("s{number:02}");
        store.create(&header(&name), &[at("a", number, "user")]).await.unwrap();
    }
    let mut open = Vec::new();
    for name in ["s01", "s00", "s11", "s05"] {
        open.push(store.watch(name).await.unwrap());
        let version = store.open(name).await.unwrap().version;
        let label = br#"{"type":"label","id":"l","parentId":"a","targetId":"a","label":"here"}"#.to_vec();
        store.append(name, version, &[label]).await.unwrap();
    }
    for skip in 0..13 {
        for limit in [1, 3, 20] {
            let filter = SessionFilter { skip, limit: Some(limit), ..SessionFilter::default() };
            let page = store.list(&filter).await.unwrap();
            let ids: Vec<String> = page.cards.into_iter().map(|card| card.id).collect();
            let expected: Vec<String> =
                (0..12).rev().skip(skip).take(limit).map(|n| format!("s{n:02}")).collect();
            assert_eq!((ids, page.has_more), (expected, skip + limit < 12), "{skip} {limit}");
        }
    }
    let version = store.open("s00").await.unwrap().version;
    store.append("s00", version, &[at("b", 50, "assistant")]).await.unwrap();
    let first =
        store.list(&SessionFilter { limit: Some(2), ..SessionFilter::default() }).await.unwrap().cards;
    assert_eq!(first.iter().map(|card| &*card.id).collect::<Vec<_>>(), ["s00", "s11"]);
}

/// A simulated process that may have a session open.
struct Process {
    store: MySqlStore,
    open: Option<Watch>,
}

/// Compares lists and cards with those of a `MemoryStore`, which folds cards from the lines, after random operations.
#[tokio::test]
async fn lists_and_cards_match_the_log_while_processes_open_and_close_sessions() {
    let server = MariaDbServer::shared();
    let mut seed = 0x5eed_u64;
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let url = server.url(&create_database(server).await);
    let (watcher, plain) = (store_at(&url, Limits::default()), MemoryStore::default());
    let processes = || Process { store: store_at(&url, Limits::default()), open: None };
    let mut processes: Vec<Process> = std::iter::repeat_with(processes).take(3).collect();
    let names = ["one", "two"];
    for name in names {
        watcher.create(&header(name), &[]).await.unwrap();
        plain.create(&header(name), &[]).await.unwrap();
    }
    for step in 0..300 {
        let (name, process) = (names[random(2)], random(3));
        let process = &mut processes[process];
        let (id, second) = (format!("{step:08}"), random(3600));
        match random(8) {
            0 if process.open.is_none() => process.open = Some(process.store.watch(name).await.unwrap()),
            0 => {
                process.store.close().await;
                process.open = None;
            }
            kind => {
                let more = match kind {
                    1 => vec![at(&id, second, "user"), at(&format!("{id}b"), second, "assistant")],
                    2 => vec![
                        format!(r#"{{"type":"session_info","id":"{id}","parentId":null,"name":"n{step}"}}"#)
                            .into_bytes(),
                    ],
                    3 => vec![at(&id, second, "user")],
                    _ => vec![at(&id, second, "assistant")],
                };
                let version = process.store.open(name).await.unwrap().version;
                process.store.append(name, version, &more).await.unwrap();
                let version = plain.open(name).await.unwrap().version;
                plain.append(name, version, &more).await.unwrap();
            }
        }
        let expected: Vec<Card> =
            listed(&plain).await.into_iter().map(|card| Card { store: "team".into(), ..card }).collect();
        assert_eq!(listed(&watcher).await, expected, "after step {step}");
        for card in expected {
            assert_eq!(watcher.card(&card.id).await.unwrap(), card, "after step {step}");
        }
    }
}

/// Each line is either deleted with the session, or its append fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_line_is_acknowledged_after_its_session_was_deleted() {
    let server = MariaDbServer::shared();
    let url = server.url(&create_database(server).await);
    let (writer, other) = (store_at(&url, Limits::default()), store_at(&url, Limits::default()));
    for round in 0..30 {
        let mut version = create_session(&writer, 2).await;
        let _open = writer.watch("one").await.unwrap();
        let (writer, begun) = (writer.clone(), std::sync::Arc::new(tokio::sync::Notify::new()));
        let started = begun.clone();
        let writing = tokio::spawn(async move {
            for at in 0.. {
                match append_message(&writer, version, &format!("{at}")).await {
                    Ok(now) => version = now,
                    Err(StoreError::NotFound { .. }) => return at,
                    Err(error) => panic!("{error:?}"),
                }
                started.notify_one();
            }
            unreachable!("the loop has no end")
        });
        begun.notified().await;
        let counts = other.delete_in_use("one").await.unwrap().counts;
        let acknowledged = writing.await.unwrap();
        assert_eq!(counts.entries, 2 + acknowledged, "round {round}");
    }
}

#[tokio::test]
async fn outdated_writer_cannot_append_to_a_deleted_session() {
    let server = MariaDbServer::shared();
    let url = server.url(&create_database(server).await);
    let (writer, other) = (store_at(&url, Limits::default()), store_at(&url, Limits::default()));
    let version = create_session(&other, 2).await;
    let _both = (writer.watch("one").await.unwrap(), other.watch("one").await.unwrap());
    let first = append_message(&writer, version, "first").await.unwrap();
    let known = append_message(&writer, first, "own").await.unwrap();
    let mut version = known;
    for id in ["a", "b", "c"] {
        version = append_message(&other, version, id).await.unwrap();
    }
    assert_eq!(other.delete_in_use("one").await.unwrap().counts.entries, 7);
    let late = append_message(&writer, known, "late").await;
    assert!(matches!(late, Err(StoreError::NotFound { .. })), "{late:?}");
}

/// Like a replica that took over without the last line, after another process wrote a different line in its place.
#[tokio::test]
async fn replaced_newest_line_is_detected_over_a_new_connection() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let url = server.url(&database);
    let limits = Limits { max_idle: Duration::ZERO, ..short_limits() };
    let (store, other) = (store_at(&url, limits), store_at(&url, Limits::default()));
    let version = create_session(&store, 2).await;
    let _open = store.watch("one").await.unwrap();
    let version = append_message(&store, version, "first").await.unwrap();
    let after = append_message(&store, version, "lost").await.unwrap();
    run_sql(server, format!("DELETE FROM {database}.osier_entries WHERE id = 'lost'")).await;
    assert_eq!(append_message(&other, version, "instead").await.unwrap(), after);
    append_message(&other, after, "more").await.unwrap();
    let next = append_message(&store, after, "next").await;
    assert!(matches!(next, Err(StoreError::Shrunk { .. })), "{next:?}");
    assert_eq!(read_lines(&other).await.len(), 5, "nothing was written");
}

#[tokio::test]
async fn missing_line_is_reported() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let store = store_at(&server.url(&database), Limits::default());
    let version = create_session(&store, 5).await;
    run_sql(server, format!("DELETE FROM {database}.osier_entries WHERE seq = 2")).await;
    let heads = store.heads("one", version.generation, 1, 3).await;
    assert!(matches!(heads, Err(StoreError::NoSuchEntry { seq: 2 })), "{heads:?}");
}

#[tokio::test]
async fn invalid_line_is_not_counted_after_a_conflict() {
    let server = MariaDbServer::shared();
    let url = server.url(&create_database(server).await);
    let (store, other) = (store_at(&url, Limits::default()), store_at(&url, Limits::default()));
    let version = create_session(&store, 2).await;
    let _open = store.watch("one").await.unwrap();
    let version = append_message(&store, version, "first").await.unwrap();
    other.shared_heads("one", version.generation).await.unwrap();
    let now = append_message(&store, version, "newest").await.unwrap();
    let invalid = other.append("one", version, &[b"no entry".to_vec()]).await;
    assert!(matches!(invalid, Err(StoreError::Conflict { now: current }) if current == now), "{invalid:?}");
    assert_eq!(other.open("one").await.unwrap().invalid_lines, 0);
}

#[tokio::test]
async fn list_works_with_many_old_open_sessions() {
    const MANY: usize = 150;
    let server = MariaDbServer::shared();
    let store = store_at(&server.url(&create_database(server).await), Limits::default());
    let mut open = Vec::new();
    for number in 0..MANY {
        let name = format!("s{number:03}");
        let version = store.create(&header(&name), &[at("a", number, "user")]).await.unwrap().version;
        if number < MANY - 2 {
            open.push(store.watch(&name).await.unwrap());
            let version = store.append(&name, version, &[at("b", number, "user")]).await.unwrap();
            store.append(&name, version, &[at("c", number, "user")]).await.unwrap();
        }
    }
    for limit in [1, 3] {
        let page =
            store.list(&SessionFilter { limit: Some(limit), ..SessionFilter::default() }).await.unwrap();
        assert_eq!((page.cards.len(), &*page.cards[0].id, page.has_more), (limit, "s149", true));
    }
    let ids = listed(&store).await.into_iter().map(|card| card.id);
    assert!(ids.eq((0..MANY).rev().map(|number| format!("s{number:03}"))));
}

#[tokio::test]
async fn process_that_cannot_renew_its_open_record_updates_the_row_again() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let limits = Limits { hold_timeout: Duration::from_secs(1), ..Limits::default() };
    let store = store_at(&server.url(&database), limits);
    let version = create_session(&store, 2).await;
    let _open = store.watch("one").await.unwrap();
    let mut version = append_message(&store, version, "first").await.unwrap();
    run_sql(server, format!("RENAME TABLE {database}.osier_watches TO {database}.elsewhere")).await;
    let changed = async {
        for at in 0.. {
            version = append_message(&store, version, &format!("{at}")).await.unwrap();
            if row(server, &database).await.0 as usize == version.entries {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), changed).await.expect("the row is updated within a minute");
}

#[tokio::test]
async fn append_is_committed_at_once_even_if_the_server_disables_autocommit() {
    let server = MariaDbServer::start(&["--autocommit=0"]).unwrap();
    let url = server.url(&create_database(&server).await);
    let store = store_at(&url, Limits::default());
    let version = create_session(&store, 2).await;
    let _open = store.watch("one").await.unwrap();
    let version = append_message(&store, version, "first").await.unwrap();
    append_message(&store, version, "second").await.unwrap();
    assert_eq!(read_lines(&store_at(&url, Limits::default())).await.len(), 4);
}

#[tokio::test]
async fn unmarked_row_is_marked_again() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let store = store_at(&server.url(&database), Limits::default());
    let version = create_session(&store, 2).await;
    let _open = store.watch("one").await.unwrap();
    let mut version = append_message(&store, version, "first").await.unwrap();
    // Like a process that believes that no process has the session open.
    run_sql(server, format!("UPDATE {database}.osier_sessions SET minus_modified = 0")).await;
    let marked = async {
        for at in 0.. {
            version = append_message(&store, version, &format!("{at}")).await.unwrap();
            if row(server, &database).await == (version.entries as u32, true) {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), marked).await.expect("the row is marked within a minute");
}
