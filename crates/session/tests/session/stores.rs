//! Several stores, including one that does not answer.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use osier_session::{Stores, copy_session};
use osier_store::intercepted::{InterceptedStore, StoreInterceptor};
use osier_store::{FileStore, LineBatch, MemoryStore, SessionFilter, Store, StoreError};
use osier_tree::{Header, Seq};

const TIMEOUT: Duration = Duration::from_secs(20);

/// A server that accepts every request and never answers.
#[derive(Debug, Default)]
struct Silence;

#[async_trait]
impl StoreInterceptor for Silence {
    fn name(&self) -> &str {
        "silent"
    }

    async fn before_log_call(&self) -> Result<(), StoreError> {
        std::future::pending().await
    }

    async fn before_other_call(&self) -> Result<(), StoreError> {
        std::future::pending().await
    }
}

fn silent_store() -> Arc<dyn Store> {
    Arc::new(InterceptedStore::new(Silence))
}

fn line(id: &str, text: &str) -> Vec<u8> {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":null,"timestamp":"2026-01-01T00:00:0{}.000Z","message":{{"role":"user","content":"{text}"}}}}"#,
        text.len() % 10
    )
    .into_bytes()
}

async fn with(store: &dyn Store, id: &str, lines: &[Vec<u8>]) {
    store.create(&Header::new(id, 0, "/here"), lines).await.unwrap();
}

/// The clock is paused: it jumps to the end of the wait as soon as all tasks wait.
#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_is_reported_and_the_others_are_used() {
    let memory = Arc::new(MemoryStore::default());
    with(&*memory, "one", &[line("a", "x")]).await;
    let stores = Stores::new(vec![silent_store(), memory]).with_timeout(TIMEOUT);
    let found = stores.find("on").await.unwrap();
    assert_eq!(
        (found.sessions.len(), &*found.sessions[0].id, found.sessions[0].store.name()),
        (1, "one", "memory")
    );
    assert_eq!(
        found.unavailable[0].error.to_string(),
        "store silent cannot be reached: no answer within 20s; check whether the server is busy, then try again"
    );
    let listed = stores.list(&SessionFilter::default()).await.unwrap();
    assert_eq!(
        (listed.page.cards.len(), listed.page.has_more, &*listed.unavailable[0].store),
        (1, false, "silent")
    );
    let alone = Stores::new(vec![silent_store()]).with_timeout(TIMEOUT);
    assert_eq!(alone.list(&SessionFilter::default()).await.unwrap_err().code().name(), "store_unavailable");
}

#[tokio::test]
async fn a_list_of_all_stores_is_sorted_and_paginated() {
    let folder = tempfile::tempdir().unwrap();
    let files = Arc::new(FileStore::new(folder.path(), None).with_name("files"));
    let memory = Arc::new(MemoryStore::default());
    for (at, id) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
        let store: &dyn Store = if at % 2 == 0 { &*files } else { &*memory };
        with(store, id, &[line("m", &"x".repeat(at + 1))]).await;
    }
    let stores = Stores::new(vec![files, memory]);
    let page = async |skip, limit| {
        let page =
            stores.list(&SessionFilter { skip, limit, ..SessionFilter::default() }).await.unwrap().page;
        assert_eq!(page.has_more, limit.is_some_and(|limit| skip + limit < 5), "{skip}, {limit:?}");
        page.cards.iter().map(|card| format!("{} {}", card.id, card.store)).collect::<Vec<_>>()
    };
    assert_eq!(page(0, None).await, ["e files", "d memory", "c files", "b memory", "a files"]);
    assert_eq!(page(1, Some(2)).await, ["d memory", "c files"]);
    assert_eq!(page(3, Some(2)).await, ["b memory", "a files"]);
}

#[tokio::test]
async fn short_ids_are_unique_across_stores_and_unlisted_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let files = Arc::new(FileStore::new(folder.path(), None).with_name("files"));
    let memory = Arc::new(MemoryStore::default());
    with(&*files, "019b7ca9-a7f6", &[line("m", "x")]).await;
    with(&*memory, "019b7ca9-a812", &[line("m", "xx")]).await;
    with(&*memory, "4f89da11-5e7b", &[line("m", "xxx")]).await;
    let stores = Stores::new(vec![files, memory]);
    let short = async |skip, limit| {
        let page =
            stores.list(&SessionFilter { skip, limit, ..SessionFilter::default() }).await.unwrap().page;
        page.cards.into_iter().map(|card| card.short_id).collect::<Vec<_>>()
    };
    assert_eq!(short(0, None).await, ["4f89da11", "019b7ca9-a8", "019b7ca9-a7"]);
    assert_eq!(short(1, Some(1)).await, ["019b7ca9-a8"]);
}

/// Uses lines of the size of a batch and one that is larger.
#[tokio::test]
async fn a_copy_in_batches_keeps_every_byte() {
    let (from, to) = (MemoryStore::default(), MemoryStore::default());
    let sizes = [10, LineBatch::FULL_BYTES, 3, LineBatch::FULL_BYTES - 1, LineBatch::FULL_BYTES + 7, 1, 1];
    let lines: Vec<Vec<u8>> =
        sizes.iter().enumerate().map(|(at, size)| line(&format!("{at:08}"), &"é".repeat(*size))).collect();
    with(&from, "one", &lines).await;
    for already in [0, 3] {
        to.delete("one").await.unwrap();
        if already > 0 {
            with(&to, "one", &lines[..already]).await;
        }
        let copied = copy_session(&from, "one", &to).await.unwrap();
        assert_eq!((copied.entries, copied.copied), (7, 7 - already));
        let version = to.open("one").await.unwrap().version;
        let seqs: Vec<Seq> = (0..7).map(Seq::new).collect();
        let mut there: Vec<Vec<u8>> = Vec::new();
        osier_store::for_each_line(&to, "one", version.generation, &seqs, |_, line| {
            there.push(line.to_vec());
            Ok::<_, StoreError>(())
        })
        .await
        .unwrap();
        assert!(there == lines, "with {already} there already");
        assert_eq!(copy_session(&from, "one", &to).await.unwrap().copied, 0);
    }
    with(&to, "two", &lines[..1]).await;
    with(&from, "two", &lines[1..]).await;
    let refused = copy_session(&from, "two", &to).await.unwrap_err();
    assert_eq!(refused.code().name(), "already_exists", "{refused}");
    assert_eq!(to.open("two").await.unwrap().version.entries, 1);
}
