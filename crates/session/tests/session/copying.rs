//! Copies: atomic first batch, concurrent copies, and defective stores.

use std::sync::Mutex;

use async_trait::async_trait;
use osier_session::copy_session;
use osier_store::intercepted::{InterceptedStore, StoreInterceptor};
use osier_store::{LineBatch, LogVersion, MemoryStore, OpenedLog, Store, StoreError};
use osier_tree::{Header, Seq};

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
struct DefectiveCalls {
    defect: Defect,
    seen: Mutex<Vec<usize>>,
}

fn defective(defect: Defect) -> InterceptedStore<DefectiveCalls> {
    InterceptedStore::new(DefectiveCalls { defect, seen: Mutex::default() })
}

#[async_trait]
impl StoreInterceptor for DefectiveCalls {
    fn name(&self) -> &str {
        "defective"
    }

    async fn create(
        &self,
        inner: &MemoryStore,
        header: &Header,
        lines: &[Vec<u8>],
    ) -> Result<OpenedLog, StoreError> {
        if self.defect == Defect::CreatedConcurrently {
            inner.create(header, &lines[..1]).await?;
        }
        let made = inner.create(header, lines).await?;
        self.seen.lock().unwrap().push(made.version.entries);
        Ok(made)
    }

    async fn lines(
        &self,
        inner: &MemoryStore,
        id: &str,
        generation: u64,
        seqs: &[Seq],
        batch: &mut LineBatch,
    ) -> Result<(), StoreError> {
        match self.defect {
            Defect::ReturnsNothing => Ok(()),
            _ => inner.lines(id, generation, seqs, batch).await,
        }
    }

    async fn append(
        &self,
        inner: &MemoryStore,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        let now = inner.append(id, expected, lines).await?;
        self.seen.lock().unwrap().push(now.entries);
        Ok(now)
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
