//! Rules of leases: who runs a turn, and where.

use std::time::Duration;

use super::{Fixture, chain, created};
use crate::{Lease, Store, StoreError};

/// A lease of a cursor at an entry of session `one`.
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

/// What a store tells, but for the time at which each ends.
async fn held(store: &dyn Store) -> Vec<Lease> {
    let mut leases = store.leases("one").await.expect("leases");
    leases.iter_mut().for_each(|lease| lease.expires = None);
    leases.sort_by_key(|lease| lease.cursor);
    leases
}

/// Only leases at other entries may be held at the same time.
async fn take(store: &dyn Store, lease: &Lease) -> Result<(), StoreError> {
    let entry = lease.entry.clone();
    store.lease(lease, &move |other| other.entry == entry).await
}

pub async fn a_lease_is_seen_by_every_instance_until_it_is_given_back(fixture: &dyn Fixture) {
    let (store, other) = (fixture.store().await, fixture.reopened().await);
    created(&*store, "one", &chain(2)).await;
    created(&*store, "two", &chain(2)).await;
    assert!(held(&*store).await.is_empty());
    let (first, second) = (lease(1, Some("00000001")), lease(2, None));
    take(&*store, &first).await.expect("a lease");
    take(&*other, &second).await.expect("a lease at another place");
    if !fixture.knows_who_is_there() {
        return;
    }
    for store in [&store, &other] {
        assert_eq!(held(&**store).await, [first.clone(), second.clone()]);
        assert!(store.leases("two").await.expect("leases").is_empty());
    }
    store.release(&first).await;
    assert_eq!(held(&*other).await, std::slice::from_ref(&second));
    other.release(&second).await;
    other.release(&second).await;
    assert!(held(&*store).await.is_empty());
}

pub async fn a_lease_in_the_way_names_its_holder(fixture: &dyn Fixture) {
    let (store, other) = (fixture.store().await, fixture.reopened().await);
    created(&*store, "one", &chain(2)).await;
    let first = lease(1, Some("00000001"));
    take(&*store, &first).await.expect("a lease");
    if !fixture.knows_who_is_there() {
        return;
    }
    for store in [&store, &other] {
        let refused = take(&**store, &lease(2, Some("00000001"))).await;
        match refused {
            Err(StoreError::Leased { lease }) => assert_eq!((lease.process, &*lease.host), (4242, "here")),
            refused => panic!("{refused:?}"),
        }
    }
    assert_eq!(held(&*other).await, std::slice::from_ref(&first), "what was refused leaves nothing behind");
    store.release(&first).await;
    take(&*other, &lease(2, Some("00000001"))).await.expect("the place is free again");
}

pub async fn a_lease_can_be_changed_by_its_holder(fixture: &dyn Fixture) {
    let (store, other) = (fixture.store().await, fixture.reopened().await);
    created(&*store, "one", &chain(2)).await;
    let first = lease(1, Some("00000000"));
    take(&*store, &first).await.expect("a lease");
    let moved = Lease { branch: Some("00000001".to_owned()), ..first };
    take(&*store, &moved).await.expect("the same lease");
    if fixture.knows_who_is_there() {
        assert_eq!(held(&*other).await, std::slice::from_ref(&moved));
    }
    store.release(&moved).await;
    assert!(held(&*other).await.is_empty());
}

pub async fn of_many_who_want_one_place_one_gets_it(fixture: &dyn Fixture) {
    let store = fixture.store().await;
    created(&*store, "one", &chain(2)).await;
    let mut wishes = tokio::task::JoinSet::new();
    let mut stores = vec![store];
    for cursor in 0..8 {
        let store = fixture.reopened().await;
        stores.push(store.clone());
        wishes.spawn(async move { take(&*store, &lease(cursor, Some("00000001"))).await });
    }
    let got = wishes.join_all().await.into_iter().filter(Result::is_ok).count();
    assert_eq!(got, if fixture.knows_who_is_there() { 1 } else { 8 });
}

pub async fn a_session_with_a_lease_is_neither_deleted_nor_replaced(fixture: &dyn Fixture) {
    let (store, other) = (fixture.store().await, fixture.reopened().await);
    let version = created(&*store, "one", &chain(2)).await.version;
    let held = lease(1, Some("00000001"));
    take(&*store, &held).await.expect("a lease");
    if fixture.knows_who_is_there() {
        let refused = other.delete("one").await;
        assert!(matches!(&refused, Err(StoreError::Busy { id }) if id == "one"), "{refused:?}");
        let refused = other.rewrite("one", version, &chain(1)).await;
        assert!(matches!(&refused, Err(StoreError::Busy { id }) if id == "one"), "{refused:?}");
    }
    store.release(&held).await;
    assert!(other.delete("one").await.expect("deletes").deleted);
}

pub async fn a_session_that_somebody_has_open_is_replaced_only_if_that_is_wanted(fixture: &dyn Fixture) {
    let (store, other) = (fixture.store().await, fixture.reopened().await);
    let version = created(&*store, "one", &chain(3)).await.version;
    let mut watch = other.watch("one").await.expect("a watch");
    if fixture.knows_who_is_there() {
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
    tokio::time::timeout(Duration::from_secs(30), seen).await.expect("a hint within half a minute");
}
