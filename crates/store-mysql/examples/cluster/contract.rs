//! The contract of all stores, with each instance of a store at the next server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use osier_store::Store;
use osier_store::contract::Fixture;
use osier_store_mysql::Limits;

use crate::{Group, Result};

/// A database for one rule.
struct Rotating {
    group: &'static Group,
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
    ($group:expr; $($rule:ident)*) => {{
        let (mut held, mut broken) = (0, Vec::new());
        $(
            let fixture =
                Rotating { group: $group, database: $group.database().await?, next: AtomicUsize::new(0) };
            let rule = tokio::spawn(async move { osier_store::contract::$rule(&fixture).await });
            match rule.await {
                Ok(()) => held += 1,
                Err(_) => broken.push(stringify!($rule)),
            }
        )*
        (held, broken)
    }};
}

pub(crate) async fn run(group: &'static Group) -> Result<()> {
    println!("== the contract, each instance at the next server");
    let (held, broken) = osier_store::contract_rules!([run_rules] group);
    println!("{held} of {} rules hold", held + broken.len());
    match broken.is_empty() {
        true => Ok(()),
        false => Err(format!("broken: {}", broken.join(", ")).into()),
    }
}
