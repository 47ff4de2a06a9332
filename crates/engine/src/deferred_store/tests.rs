//! When a delayed session is created, and what happens if the response to that is lost.

use std::sync::atomic::AtomicBool;

use osier_session::{Session, SessionEnv};

use super::*;

#[tokio::test]
async fn a_session_is_created_with_its_first_message() {
    let behind = Arc::new(MemoryStore::default());
    let header = Header::new("0198c0de-0000-7000-8000-000000000001", 0, "/work");
    let store = Arc::new(DeferredStore::new(behind.clone(), header.clone()).await.expect("a store"));
    let session = Session::open(store, &header.id, SessionEnv::default()).await.expect("a session");
    let sessions = || async { behind.list(&SessionFilter::default()).await.expect("a list").cards };
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
#[derive(Debug, Default)]
struct Lossy {
    inner: MemoryStore,
    lost: AtomicBool,
    /// The lease of another process, acquired as soon as the session exists.
    rival: Option<Lease>,
}

#[async_trait]
impl Store for Lossy {
    fn name(&self) -> &str {
        "lossy"
    }
    async fn create(&self, header: &Header, lines: &[Vec<u8>]) -> Result<OpenedLog, StoreError> {
        let made = self.inner.create(header, lines).await?;
        if let Some(rival) = &self.rival {
            self.inner.acquire_lease(rival, &|_| false).await?;
        }
        match self.lost.swap(true, Ordering::Relaxed) {
            true => Ok(made),
            false => Err(StoreError::Unavailable {
                store: "lossy".to_owned(),
                why: "the connection broke".to_owned(),
                advice: "try again",
                source: "lost".into(),
            }),
        }
    }
    async fn open(&self, id: &str) -> Result<OpenedLog, StoreError> {
        self.inner.open(id).await
    }
    async fn heads(
        &self,
        id: &str,
        generation: u64,
        after: usize,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        self.inner.heads(id, generation, after, limit).await
    }
    async fn lines(
        &self,
        id: &str,
        generation: u64,
        wanted: &[Seq],
        batch: &mut LineBatch,
    ) -> Result<(), StoreError> {
        self.inner.lines(id, generation, wanted, batch).await
    }
    async fn append(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        self.inner.append(id, expected, lines).await
    }
    async fn sync(&self, id: &str) -> Result<(), StoreError> {
        self.inner.sync(id).await
    }
    async fn watch(&self, id: &str) -> Result<Watch, StoreError> {
        self.inner.watch(id).await
    }
    async fn list(&self, filter: &SessionFilter) -> Result<SessionPage, StoreError> {
        self.inner.list(filter).await
    }
    async fn card(&self, id: &str) -> Result<Card, StoreError> {
        self.inner.card(id).await
    }
    async fn previews(&self, id: &str, version: LogVersion) -> Result<PreviewTexts, StoreError> {
        self.inner.previews(id, version).await
    }
    async fn find_ids(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        self.inner.find_ids(prefix).await
    }
    async fn delete(&self, id: &str) -> Result<DeleteResult, StoreError> {
        self.inner.delete(id).await
    }
    async fn rewrite(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        self.inner.rewrite(id, expected, lines).await
    }

    async fn rewrite_in_use(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        self.inner.rewrite_in_use(id, expected, lines).await
    }
    async fn acquire_lease(&self, lease: &Lease, in_the_way: LeaseConflictFn<'_>) -> Result<(), StoreError> {
        self.inner.acquire_lease(lease, in_the_way).await
    }
    async fn release_lease(&self, lease: &Lease) {
        self.inner.release_lease(lease).await;
    }
    async fn leases(&self, id: &str) -> Result<Vec<Lease>, StoreError> {
        self.inner.leases(id).await
    }
}

fn message(text: &str) -> Vec<u8> {
    format!(r#"{{"type":"message","message":{{"role":"user","content":"{text}"}}}}"#).into_bytes()
}

#[tokio::test]
async fn a_session_whose_creation_was_not_acknowledged_is_continued() {
    let behind = Arc::new(Lossy::default());
    let header = Header::new("0198c0de-0000-7000-8000-000000000001", 0, "/work");
    let store = Arc::new(DeferredStore::new(behind.clone(), header.clone()).await.expect("a store"));
    let session = Session::open(store, &header.id, SessionEnv::default()).await.expect("a session");
    session.rename("plans").await.expect("a name");
    let failed = session.append_entry(&message("one")).await.expect_err("the response is lost");
    assert_eq!(failed.code().name(), "store_unavailable");
    session.append_entry(&message("two")).await.expect("the second is stored");
    let card = behind.card(&header.id).await.expect("a card");
    assert_eq!((card.name.as_deref(), card.message_count, card.branches), (Some("plans"), 2, 1));
    assert_eq!(session.tree().len(), card.entry_count as usize);
}

#[tokio::test]
async fn a_different_session_with_the_same_id_is_an_error() {
    let behind = Arc::new(MemoryStore::default());
    let header = Header::new("0198c0de-0000-7000-8000-000000000001", 0, "/work");
    let store = Arc::new(DeferredStore::new(behind.clone(), header.clone()).await.expect("a store"));
    let session = Session::open(store, &header.id, SessionEnv::default()).await.expect("a session");
    let other = Header::new(&header.id, 0, "/elsewhere");
    behind.create(&other, &[]).await.expect("a session of another process");
    let failed = session.append_entry(&message("one")).await.expect_err("it is a different session");
    assert_eq!(failed.code().name(), "already_exists");
    assert_eq!(behind.open(&header.id).await.expect("a session").version.entries, 0);
}

/// Other processes can see a session before its first lease. The process that starts a turn there first keeps it.
#[tokio::test]
async fn only_one_of_two_processes_gets_the_turn_of_a_new_session() {
    let header = Header::new("0198c0de-0000-7000-8000-000000000001", 0, "/work");
    let rival = Lease {
        session: header.id.clone(),
        cursor: 1,
        entry: None,
        branch: None,
        process: 4242,
        host: "there".to_owned(),
        expires: None,
    };
    let behind = Arc::new(Lossy { lost: AtomicBool::new(true), rival: Some(rival), ..Lossy::default() });
    let store = Arc::new(DeferredStore::new(behind.clone(), header.clone()).await.expect("a store"));
    let session = Session::open(store, &header.id, SessionEnv::default()).await.expect("a session");
    let turn = session.main_cursor().begin_turn().await.expect("a turn");
    let refused = session.append_entry(&message("one")).await.expect_err("the other process was faster");
    assert_eq!(refused.code().name(), "session_busy");
    assert!(refused.to_string().contains("process 4242 on there"), "{refused}");
    assert_eq!(behind.card(&header.id).await.expect("a card").entry_count, 0, "nothing is appended");
    turn.end().await.expect("its end");
}
