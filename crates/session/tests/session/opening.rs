//! Opening and closing.

use std::sync::Arc;

use osier_session::{RandomIds, Session, SessionError, chain_drafts};
use osier_store::{MemoryStore, Store, StoreError};
use osier_tree::scan::RawJson;
use osier_tree::{Header, SessionTree};

use crate::support::{draw, empty, env, exchange, memory, open};

#[tokio::test]
async fn an_unknown_session_is_not_found() {
    let opened = Session::open(memory(), "missing", env("a")).await;
    assert!(matches!(opened, Err(SessionError::Store(StoreError::NotFound { .. }))));
}

#[tokio::test]
async fn a_reopened_session_has_the_same_tree() {
    let store = memory();
    let session = empty(&store, env("a")).await;
    let (prompt, reply) = exchange(&session.main_cursor(), "hello").await;
    session.label(&prompt.id, Some("x")).await.unwrap();
    session.rename("name").await.unwrap();
    session.set_config([("k".to_owned(), 1.into())].into_iter().collect(), vec![]).await.unwrap();
    session.append_entry(br#"{"type":"custom","id":"an id that is long"}"#).await.unwrap();
    session.main_cursor().move_to(Some(reply.seq)).await.unwrap();
    session.delete_branch("an id that is long").await.unwrap();
    let before = store.open("s").await.unwrap().version;
    let reopened = open(&store, env("b")).await;
    assert_eq!(draw(&reopened).await, draw(&session).await);
    let (old, new) = (session.tree(), reopened.tree());
    let heads = |tree: &SessionTree| {
        tree.heads().iter().map(|(_, head)| osier_tree::Head { offset: 0, ..*head }).collect::<Vec<_>>()
    };
    assert_eq!(heads(&old), heads(&new));
    assert_eq!(new.find("an id that is long"), old.find("an id that is long"));
    assert_eq!((new.marks().name(), new.marks().settings()), (Some("name"), old.marks().settings()));
    assert_eq!(new.label(prompt.seq), old.label(prompt.seq));
    assert_eq!(store.open("s").await.unwrap().version, before, "opening wrote nothing");
}

#[tokio::test]
async fn a_damaged_log_opens_as_its_fold_and_can_be_appended_to() {
    let store = memory();
    let lines: Vec<Vec<u8>> = [
        r#"{"type":"message","id":"11111111","parentId":"missing","message":{"role":"user","content":"a"}}"#,
        r#"{"type":"message","id":"22222222","parentId":"33333333","message":{"role":"user","content":"b"}}"#,
        r#"{"type":"message","id":"33333333","parentId":"22222222","message":{"role":"user","content":"c"}}"#,
        r#"{"type":"message","id":"11111111","parentId":"33333333","message":{"role":"user","content":"a again"}}"#,
    ]
    .map(|line| line.as_bytes().to_vec())
    .into();
    let session =
        Session::create(store.clone(), &Header::new("s", 0, "/here"), &lines, env("a")).await.unwrap();
    // This process appends a missing parent; the tree must equal what another process reads.
    session.append_entry(br#"{"type":"custom","id":"missing","parentId":null}"#).await.unwrap();
    exchange(&session.main_cursor(), "on").await;
    assert_eq!(draw(&open(&store, env("b")).await).await, draw(&session).await);
}

#[tokio::test]
async fn a_session_can_start_with_drafts() {
    let store = memory();
    let env = env("a");
    let tree = SessionTree::default();
    let say = |text: &str| {
        let message = format!(r#"{{"role":"user","content":"{text}"}}"#);
        tree.plan_message(None, RawJson::parse(message.as_bytes()).unwrap()).unwrap()
    };
    let lines = chain_drafts(&[say("one"), say("two"), tree.plan_name("n")], &env);
    let session = Session::create(store, &Header::new("s", 0, "/here"), &lines, env).await.unwrap();
    assert_eq!(draw(&session).await, "user: one\nuser: two\nsession_info  ← main\n");
}

#[tokio::test]
async fn random_ids_of_two_processes_do_not_collide() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let env = || osier_session::SessionEnv { ids: Arc::new(RandomIds), ..env("a") };
    let one = empty(&store, env()).await;
    let two = open(&store, env()).await;
    for _ in 0..50 {
        exchange(&one.main_cursor(), "one").await;
        exchange(&two.main_cursor(), "two").await;
    }
    let tree = open(&store, env()).await.tree();
    assert!(tree.heads().is_regular());
    assert_eq!(tree.len(), 200);
}

#[tokio::test]
async fn the_writer_stops_with_the_last_handle() {
    let session = empty(&memory(), env("a")).await;
    let mut events = session.attach(None).await.unwrap().events;
    let copy = session.clone();
    drop(session);
    exchange(&copy.main_cursor(), "still open").await;
    assert!(events.next().await.is_some() && events.next().await.is_some());
    drop(copy);
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn a_new_session_has_a_unique_short_id() {
    #[derive(Debug)]
    struct RepeatingIds(std::sync::atomic::AtomicU32);
    impl osier_session::IdSource for RepeatingIds {
        fn entry(&self) -> String {
            "00000001".to_owned()
        }
        fn session(&self) -> String {
            let count = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            // Three consecutive ids have the same prefix.
            format!("{:08x}-{count}", count / 3)
        }
    }
    let store: std::sync::Arc<dyn osier_store::Store> =
        std::sync::Arc::new(osier_store::MemoryStore::default());
    let env = osier_session::SessionEnv {
        ids: std::sync::Arc::new(RepeatingIds(std::sync::atomic::AtomicU32::new(0))),
        ..osier_session::SessionEnv::default()
    };
    let first = osier_session::Session::new_session_id(&*store, &env).await.unwrap();
    store.create(&osier_tree::Header::new(&first, 0, "/x"), &[]).await.unwrap();
    let second = osier_session::Session::new_session_id(&*store, &env).await.unwrap();
    assert_eq!((first.as_str(), second.as_str()), ("00000000-0", "00000001-3"));
    // Several at once differ from each other too.
    let more = osier_session::Session::new_session_ids(&*store, &env, 3).await.unwrap();
    let short: std::collections::BTreeSet<&str> = more.iter().map(|id| &id[..8]).collect();
    assert_eq!(short.len(), 3, "{more:?}");
}
