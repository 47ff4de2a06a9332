//! Copies: atomic first batch, concurrent copies, and defective stores.

use std::sync::Mutex;

use async_trait::async_trait;
use osier_session::copy_session;
use osier_store::{
    DeleteResult, LineBatch, LogVersion, MemoryStore, OpenedLog, SessionFilter, SessionPage, Store,
    StoreError, Watch,
};
use osier_tree::projection::card::Card;
use osier_tree::{Head, Header, Seq};

/// The defect of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Defect {
    None,
    /// Another process creates the session just before.
    CreatedConcurrently,
    /// It returns no lines and no error.
    ReturnsNothing,
}

/// Records the number of entries after each write.
#[derive(Debug)]
struct DefectiveStore {
    inner: MemoryStore,
    defect: Defect,
    seen: Mutex<Vec<usize>>,
}

fn defective(defect: Defect) -> DefectiveStore {
    DefectiveStore { inner: MemoryStore::default(), defect, seen: Mutex::default() }
}

#[async_trait]
impl Store for DefectiveStore {
    fn name(&self) -> &str {
        "defective"
    }
    async fn create(&self, header: &Header, lines: &[Vec<u8>]) -> Result<OpenedLog, StoreError> {
        if self.defect == Defect::CreatedConcurrently {
            self.inner.create(header, &lines[..1]).await?;
        }
        let made = self.inner.create(header, lines).await?;
        self.seen.lock().unwrap().push(made.version.entries);
        Ok(made)
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
        match self.defect {
            Defect::ReturnsNothing => Ok(()),
            _ => self.inner.lines(id, generation, wanted, batch).await,
        }
    }
    async fn append(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
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
    async fn list(&self, filter: &SessionFilter) -> Result<SessionPage, StoreError> {
        self.inner.list(filter).await
    }
    async fn card(&self, id: &str) -> Result<Card, StoreError> {
        self.inner.card(id).await
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
async fn a_session_of_one_batch_is_copied_atomically() {
    for (sizes, seen) in
        [(&[1, 2, 3][..], &[3][..]), (&[], &[0]), (&[1, LineBatch::FULL_BYTES, 1, 1], &[2, 4])]
    {
        let to = defective(Defect::None);
        let copied = copy_session(&with("one", sizes).await, "one", &to).await.unwrap();
        assert_eq!((copied.entries, copied.copied), (sizes.len(), sizes.len()));
        assert_eq!(*to.seen.lock().unwrap(), seen);
    }
}

#[tokio::test]
async fn a_copy_started_by_another_process_is_continued() {
    let to = defective(Defect::CreatedConcurrently);
    let copied = copy_session(&with("one", &[1, 2, 3]).await, "one", &to).await.unwrap();
    assert_eq!((copied.entries, copied.copied), (3, 2));
    assert_eq!(to.open("one").await.unwrap().version.entries, 3);
}

#[tokio::test]
async fn a_store_without_lines_does_not_cause_an_endless_loop() {
    let from = defective(Defect::ReturnsNothing);
    from.create(&Header::new("one", 0, "/here"), &lines(&[1, 2])).await.unwrap();
    let failed = copy_session(&from, "one", &MemoryStore::default()).await.unwrap_err();
    assert_eq!(failed.code().name(), "entry_not_found", "{failed}");
}
