//! The store contract for the file store. Two instances on one folder act like two processes.

use std::sync::Arc;

use async_trait::async_trait;
use osier_store::Store;
use osier_store::contract::Fixture;

use crate::support::Home;

struct FileFixture {
    home: Home,
    cached: bool,
}

impl FileFixture {
    fn new(cached: bool) -> FileFixture {
        FileFixture { home: Home::new(), cached }
    }
}

#[async_trait]
impl Fixture for FileFixture {
    async fn store(&self) -> Arc<dyn Store> {
        Arc::new(if self.cached { self.home.store() } else { self.home.uncached_store() })
    }

    /// The locks are stored with the caches.
    fn tracks_open_sessions(&self) -> bool {
        self.cached
    }
}

mod with_caches {
    use super::*;
    osier_store::contract_tests!(FileFixture::new(true));
}

mod without_caches {
    use super::*;
    osier_store::contract_tests!(FileFixture::new(false));
}
