//! The contract of all stores, kept by files: two instances on one folder are two processes.

use std::sync::Arc;

use async_trait::async_trait;
use osier_store::Store;
use osier_store::contract::Fixture;

use crate::support::Home;

struct Files {
    home: Home,
    cached: bool,
}

impl Files {
    fn new(cached: bool) -> Files {
        Files { home: Home::new(), cached }
    }
}

#[async_trait]
impl Fixture for Files {
    async fn store(&self) -> Arc<dyn Store> {
        Arc::new(if self.cached { self.home.store() } else { self.home.bare() })
    }

    /// The locks lie with the caches.
    fn knows_who_is_there(&self) -> bool {
        self.cached
    }
}

mod with_caches {
    use super::*;
    osier_store::contract_tests!(Files::new(true));
}

mod without_caches {
    use super::*;
    osier_store::contract_tests!(Files::new(false));
}
