//! When a delayed session is created, and what happens if the response to that is lost.

use std::sync::atomic::AtomicBool;

use osier_session::{Session, SessionEnv};
use osier_store::intercepted::{InterceptedStore, StoreInterceptor};

use super::*;

#[tokio::test]
async fn a_session_is_created_with_its_first_message() {
    let inner = Arc::new(MemoryStore::default());
    let header = Header::new("0198c0de-0000-7000-8000-000000000001", 0, "/work");
    let store = Arc::new(DeferredStore::new(inner.clone(), header.clone()).await.expect("a store"));
    let session = Session::open(store, &header.id, SessionEnv::default()).await.expect("a session");
    let sessions = || async { inner.list(&SessionFilter::default()).await.expect("a list").cards };
    session.rename("plans").await.expect("a name");
    assert!(sessions().await.is_empty(), "a name alone creates no session");
    assert_eq!(session.tree().marks().name(), Some("plans"));
    let message = br#"{"type":"message","message":{"role":"user","content":"hello"}}"#;
    session.append_entry(message).await.expect("an entry");
    let cards = sessions().await;
    assert_eq!(cards.len(), 1);
    assert_eq!((cards[0].name.as_deref(), cards[0].message_count), (Some("plans"), 1));
    session.rename("other plans").await.expect("a name");
    assert_eq!(sessions().await[0].name.as_deref(), Some("other plans"));
}

/// A store that loses the response to the first creation.
type LossyStore = InterceptedStore<LostResponse>;

#[derive(Debug, Default)]
struct LostResponse {
    lost: AtomicBool,
    /// The lease of another process, acquired as soon as the session exists.
    other_lease: Option<Lease>,
}

#[async_trait]
impl StoreInterceptor for LostResponse {
    fn name(&self) -> &str {
        "lossy"
    }

    async fn create(
        &self,
        inner: &MemoryStore,
        header: &Header,
        lines: &[Vec<u8>],
    ) -> Result<OpenedLog, StoreError> {
        let created = inner.create(header, lines).await?;
        if let Some(other_lease) = &self.other_lease {
            inner.acquire_lease(other_lease, &|_| false).await?;
        }
        match self.lost.swap(true, Ordering::Relaxed) {
            true => Ok(created),
            false => Err(StoreError::Unavailable {
                store: "lossy".to_owned(),
                reason: "the connection broke".to_owned(),
                advice: "try again",
                source: "lost".into(),
            }),
        }
    }
}

fn message(text: &str) -> Vec<u8> {
    format!(r#"{{"type":"message","message":{{"role":"user","content":"{text}"}}}}"#).into_bytes()
}

#[tokio::test]
async fn a_session_whose_creation_was_not_acknowledged_is_continued() {
    let inner = Arc::new(LossyStore::default());
    let header = Header::new("0198c0de-0000-7000-8000-000000000001", 0, "/work");
    let store = Arc::new(DeferredStore::new(inner.clone(), header.clone()).await.expect("a store"));
    let session = Session::open(store, &header.id, SessionEnv::default()).await.expect("a session");
    session.rename("plans").await.expect("a name");
    let failed = session.append_entry(&message("one")).await.expect_err("the response is lost");
    assert_eq!(failed.code().name(), "store_unavailable");
    session.append_entry(&message("two")).await.expect("the second is stored");
    let card = inner.card(&header.id).await.expect("a card");
    assert_eq!((card.name.as_deref(), card.message_count, card.branches), (Some("plans"), 2, 1));
    assert_eq!(session.tree().len(), card.entry_count as usize);
}

#[tokio::test]
async fn a_different_session_with_the_same_id_is_an_error() {
    let inner = Arc::new(MemoryStore::default());
    let header = Header::new("0198c0de-0000-7000-8000-000000000001", 0, "/work");
    let store = Arc::new(DeferredStore::new(inner.clone(), header.clone()).await.expect("a store"));
    let session = Session::open(store, &header.id, SessionEnv::default()).await.expect("a session");
    let other = Header::new(&header.id, 0, "/elsewhere");
    inner.create(&other, &[]).await.expect("a session of another process");
    let failed = session.append_entry(&message("one")).await.expect_err("it is a different session");
    assert_eq!(failed.code().name(), "already_exists");
    assert_eq!(inner.open(&header.id).await.expect("a session").version.entries, 0);
}

/// Other processes can see a session before its first lease. The process that starts a turn there first keeps it.
#[tokio::test]
async fn only_one_of_two_processes_gets_the_turn_of_a_new_session() {
    let header = Header::new("0198c0de-0000-7000-8000-000000000001", 0, "/work");
    let other_lease = Lease {
        session: header.id.clone(),
        cursor: 1,
        entry: None,
        branch: None,
        process: 4242,
        host: "there".to_owned(),
        expires: None,
    };
    let inner = Arc::new(LossyStore::new(LostResponse {
        lost: AtomicBool::new(true),
        other_lease: Some(other_lease),
    }));
    let store = Arc::new(DeferredStore::new(inner.clone(), header.clone()).await.expect("a store"));
    let session = Session::open(store, &header.id, SessionEnv::default()).await.expect("a session");
    let turn = session.main_cursor().begin_turn().await.expect("a turn");
    let refused = session.append_entry(&message("one")).await.expect_err("the other process was faster");
    assert_eq!(refused.code().name(), "session_busy");
    assert!(refused.to_string().contains("process 4242 on there"), "{refused}");
    assert_eq!(inner.card(&header.id).await.expect("a card").entry_count, 0, "nothing is appended");
    turn.end().await.expect("its end");
}
