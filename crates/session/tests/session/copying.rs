//! Copies: seen whole, begun by two at once, and from or to a store that gives less than it should.

use std::sync::Mutex;

use async_trait::async_trait;
use osier_session::copy;
use osier_store::{Batch, Deleted, Filter, MemoryStore, Opened, Page, Store, StoreError, Version, Watch};
use osier_tree::projection::card::Card;
use osier_tree::{Head, Header, Seq};

/// What is odd about a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Oddity {
    None,
    /// Somebody else makes the session just before.
    IsBegun,
    /// It has no line to give, and says nothing of it.
    GivesNothing,
}

/// Writes down how many entries the session has after each write.
#[derive(Debug)]
struct Odd {
    inner: MemoryStore,
    oddity: Oddity,
    seen: Mutex<Vec<usize>>,
}

fn odd(oddity: Oddity) -> Odd {
    Odd { inner: MemoryStore::default(), oddity, seen: Mutex::default() }
}

#[async_trait]
impl Store for Odd {
    fn name(&self) -> &str {
        "odd"
    }
    async fn create(&self, header: &Header, lines: &[Vec<u8>]) -> Result<Opened, StoreError> {
        if self.oddity == Oddity::IsBegun {
            self.inner.create(header, &lines[..1]).await?;
        }
        let made = self.inner.create(header, lines).await?;
        self.seen.lock().unwrap().push(made.version.entries);
        Ok(made)
    }
    async fn open(&self, id: &str) -> Result<Opened, StoreError> {
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
        batch: &mut Batch,
    ) -> Result<(), StoreError> {
        match self.oddity {
            Oddity::GivesNothing => Ok(()),
            _ => self.inner.lines(id, generation, wanted, batch).await,
        }
    }
    async fn append(&self, id: &str, expected: Version, lines: &[Vec<u8>]) -> Result<Version, StoreError> {
        let now = self.inner.append(id, expected, lines).await?;
        self.seen.lock().unwrap().push(now.entries);
        Ok(now)
    }
    async fn sync(&self, id: &str) -> Result<(), StoreError> {
        self.inner.sync(id).await
    }
    async fn watch(&self, id: &str) -> Result<Watch, StoreError> {
        self.inner.watch(id).await
    }
    async fn list(&self, filter: &Filter) -> Result<Page, StoreError> {
        self.inner.list(filter).await
    }
    async fn card(&self, id: &str) -> Result<Card, StoreError> {
        self.inner.card(id).await
    }
    async fn find(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        self.inner.find(prefix).await
    }
    async fn delete(&self, id: &str) -> Result<Deleted, StoreError> {
        self.inner.delete(id).await
    }
    async fn rewrite(&self, id: &str, expected: Version, lines: &[Vec<u8>]) -> Result<Version, StoreError> {
        self.inner.rewrite(id, expected, lines).await
    }

    async fn rewrite_in_use(
        &self,
        id: &str,
        expected: Version,
        lines: &[Vec<u8>],
    ) -> Result<Version, StoreError> {
        self.inner.rewrite_in_use(id, expected, lines).await
    }
}

fn lines(sizes: &[usize]) -> Vec<Vec<u8>> {
    let line = |(at, size): (usize, &usize)| {
        format!(r#"{{"type":"custom","customType":"x","id":"{at:08}","data":"{}"}}"#, "x".repeat(*size))
    };
    sizes.iter().enumerate().map(|one| line(one).into_bytes()).collect()
}

async fn with(id: &str, sizes: &[usize]) -> MemoryStore {
    let store = MemoryStore::default();
    store.create(&Header::new(id, 0, "/here"), &lines(sizes)).await.unwrap();
    store
}

#[tokio::test]
async fn what_fits_one_batch_appears_whole() {
    for (sizes, seen) in [(&[1, 2, 3][..], &[3][..]), (&[], &[0]), (&[1, Batch::FULL, 1, 1], &[2, 4])] {
        let to = odd(Oddity::None);
        let copied = copy(&with("one", sizes).await, "one", &to).await.unwrap();
        assert_eq!((copied.entries, copied.copied), (sizes.len(), sizes.len()));
        assert_eq!(*to.seen.lock().unwrap(), seen);
    }
}

#[tokio::test]
async fn a_copy_that_somebody_else_began_is_gone_on_with() {
    let to = odd(Oddity::IsBegun);
    let copied = copy(&with("one", &[1, 2, 3]).await, "one", &to).await.unwrap();
    assert_eq!((copied.entries, copied.copied), (3, 2));
    assert_eq!(to.open("one").await.unwrap().version.entries, 3);
}

#[tokio::test]
async fn a_store_that_gives_no_lines_is_not_asked_for_ever() {
    let from = odd(Oddity::GivesNothing);
    from.create(&Header::new("one", 0, "/here"), &lines(&[1, 2])).await.unwrap();
    let failed = copy(&from, "one", &MemoryStore::default()).await.unwrap_err();
    assert_eq!(failed.code().name(), "entry_not_found", "{failed}");
}
