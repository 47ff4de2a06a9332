//! The façade over a store in memory and over files.

use std::sync::Arc;

use async_trait::async_trait;
use osier_store::contract::Fixture;
use osier_store::{FileStore, MemoryStore, Store};

#[derive(Default)]
struct InMemory(Arc<MemoryStore>);

#[async_trait]
impl Fixture for InMemory {
    async fn store(&self) -> Arc<dyn Store> {
        self.0.clone()
    }
}

struct InFiles(tempfile::TempDir);

impl Default for InFiles {
    fn default() -> InFiles {
        InFiles(tempfile::tempdir().unwrap())
    }
}

#[async_trait]
impl Fixture for InFiles {
    async fn store(&self) -> Arc<dyn Store> {
        let folder = self.0.path();
        Arc::new(FileStore::new(folder.join("sessions"), Some(folder.join("cache"))))
    }
}

mod in_memory {
    osier_session::sessions_tests!(super::InMemory::default());
}

mod in_files {
    osier_session::sessions_tests!(super::InFiles::default());
}
