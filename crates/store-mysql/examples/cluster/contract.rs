//! The store contract, with each store instance connected to the next server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use osier_store::Store;
use osier_store::contract::Fixture;
use osier_store_mysql::Limits;

use crate::{Result, TestCluster};

/// A database for one contract rule.
struct Rotating {
    group: &'static TestCluster,
    database: String,
    next: AtomicUsize,
}

#[async_trait]
impl Fixture for Rotating {
    async fn store(&self) -> Arc<dyn Store> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        Arc::new(self.group.store(number, &self.database, Limits::default()))
    }
}

macro_rules! run_rules {
    ($test_cluster:expr; $($rule:ident)*) => {{
        let (mut passed, mut failed) = (0, Vec::new());
        $(
            let fixture =
                Rotating { group: $test_cluster, database: $test_cluster.database().await?, next: AtomicUsize::new(0) };
            let rule = tokio::spawn(async move { osier_store::contract::$rule(&fixture).await });
            match rule.await {
                Ok(()) => passed += 1,
                Err(_) => failed.push(stringify!($rule)),
            }
        )*
        (passed, failed)
    }};
}

pub(crate) async fn run(test_cluster: &'static TestCluster) -> Result<()> {
    println!("== store contract, each instance on the next server");
    let (passed, failed) = osier_store::contract_rules!([run_rules] test_cluster);
    println!("{passed} of {} rules passed", passed + failed.len());
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("failed: {}", failed.join(", ")).into()),
    }
}
