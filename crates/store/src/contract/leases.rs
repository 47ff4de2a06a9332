//! Rules for leases.

use std::time::Duration;

use super::{Fixture, chain, created};
use crate::{Lease, Store, StoreError};

/// The lease of a cursor at an entry of session `one`.
fn lease(cursor: u64, entry: Option<&str>) -> Lease {
    Lease {
        session: "one".to_owned(),
        cursor,
        entry: entry.map(str::to_owned),
        branch: None,
        process: 4242,
        host: "here".to_owned(),
        expires: None,
    }
}

/// The leases without their expiry times.
async fn held(store: &dyn Store) -> Vec<Lease> {
    let mut leases = store.leases("one").await.expect("leases");
    leases.iter_mut().for_each(|lease| lease.expires = None);
    leases.sort_by_key(|lease| lease.cursor);
    leases
}

/// Acquires a lease that conflicts with others at the same entry.
async fn acquire(store: &dyn Store, lease: &Lease) -> Result<(), StoreError> {
    let entry = lease.entry.clone();
    store.acquire_lease(lease, &move |other| other.entry == entry).await
}

pub async fn a_lease_is_visible_to_every_instance_until_it_is_released(fixture: &dyn Fixture) {
    let (store, other) = (fixture.store().await, fixture.reopened().await);
    created(&*store, "one", &chain(2)).await;
    created(&*store, "two", &chain(2)).await;
    assert!(held(&*store).await.is_empty());
    let (first, second) = (lease(1, Some("00000001")), lease(2, None));
    acquire(&*store, &first).await.expect("a lease");
    acquire(&*other, &second).await.expect("a lease at another entry");
    if !fixture.tracks_open_sessions() {
        return;
    }
    for store in [&store, &other] {
        assert_eq!(held(&**store).await, [first.clone(), second.clone()]);
        assert!(store.leases("two").await.expect("leases").is_empty());
    }
    store.release_lease(&first).await;
    assert_eq!(held(&*other).await, std::slice::from_ref(&second));
    other.release_lease(&second).await;
    other.release_lease(&second).await;
    assert!(held(&*store).await.is_empty());
}

pub async fn a_conflicting_lease_is_refused_and_names_its_holder(fixture: &dyn Fixture) {
    let (store, other) = (fixture.store().await, fixture.reopened().await);
    created(&*store, "one", &chain(2)).await;
    let first = lease(1, Some("00000001"));
    acquire(&*store, &first).await.expect("a lease");
    if !fixture.tracks_open_sessions() {
        return;
    }
    for store in [&store, &other] {
        let refused = acquire(&**store, &lease(2, Some("00000001"))).await;
        match refused {
            Err(StoreError::Leased { lease }) => assert_eq!((lease.process, &*lease.host), (4242, "here")),
            refused => panic!("{refused:?}"),
        }
    }
    assert_eq!(held(&*other).await, std::slice::from_ref(&first), "a refused lease leaves nothing behind");
    store.release_lease(&first).await;
    acquire(&*other, &lease(2, Some("00000001"))).await.expect("the lease was released");
}

pub async fn a_lease_can_be_updated_by_its_holder(fixture: &dyn Fixture) {
    let (store, other) = (fixture.store().await, fixture.reopened().await);
    created(&*store, "one", &chain(2)).await;
    let first = lease(1, Some("00000000"));
    acquire(&*store, &first).await.expect("a lease");
    let moved = Lease { branch: Some("00000001".to_owned()), ..first };
    acquire(&*store, &moved).await.expect("the same lease");
    if fixture.tracks_open_sessions() {
        assert_eq!(held(&*other).await, std::slice::from_ref(&moved));
    }
    store.release_lease(&moved).await;
    assert!(held(&*other).await.is_empty());
}

pub async fn of_many_conflicting_leases_one_is_granted(fixture: &dyn Fixture) {
    let store = fixture.store().await;
    created(&*store, "one", &chain(2)).await;
    let mut requests = tokio::task::JoinSet::new();
    let mut stores = vec![store];
    for cursor in 0..8 {
        let store = fixture.reopened().await;
        stores.push(store.clone());
        requests.spawn(async move { acquire(&*store, &lease(cursor, Some("00000001"))).await });
    }
    let granted = requests.join_all().await.into_iter().filter(Result::is_ok).count();
    assert_eq!(granted, if fixture.tracks_open_sessions() { 1 } else { 8 });
}

pub async fn a_session_with_a_lease_is_neither_deleted_nor_rewritten(fixture: &dyn Fixture) {
    let (store, other) = (fixture.store().await, fixture.reopened().await);
    let version = created(&*store, "one", &chain(2)).await.version;
    let held = lease(1, Some("00000001"));
    acquire(&*store, &held).await.expect("a lease");
    if fixture.tracks_open_sessions() {
        let refused = other.delete("one").await;
        assert!(matches!(&refused, Err(StoreError::Busy { id }) if id == "one"), "{refused:?}");
        let refused = other.rewrite("one", version, &chain(1)).await;
        assert!(matches!(&refused, Err(StoreError::Busy { id }) if id == "one"), "{refused:?}");
    }
    store.release_lease(&held).await;
    assert!(other.delete("one").await.expect("deletes").deleted);
}

pub async fn an_open_session_is_rewritten_only_with_rewrite_in_use(fixture: &dyn Fixture) {
    let (store, other) = (fixture.store().await, fixture.reopened().await);
    let version = created(&*store, "one", &chain(3)).await.version;
    let mut watch = other.watch("one").await.expect("a watch");
    if fixture.tracks_open_sessions() {
        let refused = store.rewrite("one", version, &chain(1)).await;
        assert!(matches!(&refused, Err(StoreError::Busy { id }) if id == "one"), "{refused:?}");
        assert_eq!(other.open("one").await.expect("opens").version, version);
    }
    let new = store.rewrite_in_use("one", version, &chain(1)).await.expect("a rewrite");
    let seen = async {
        while other.open("one").await.expect("opens").version != new {
            watch.changed().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), seen).await.expect("a notification within 30 s");
}
