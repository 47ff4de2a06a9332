//! Rules for lists, cards and finding sessions.

use std::path::PathBuf;

use osier_tree::projection::card::Card;

use super::{Fixture, card, chain, created, header, message};
use crate::{SessionFilter, SessionPage, Store};

async fn list(store: &dyn Store, filter: SessionFilter) -> SessionPage {
    let page = store.list(&filter).await.expect("a list");
    assert_eq!(page.unreadable, [] as [&str; 0]);
    page
}

fn ids(page: &SessionPage) -> Vec<&str> {
    page.cards.iter().map(|card| card.id.as_str()).collect()
}

pub async fn the_most_recently_used_session_is_listed_first(fixture: &dyn Fixture) {
    let store = fixture.store().await;
    created(&*store, "b", &[message("11111111", None, 20, "x")]).await;
    let version = created(&*store, "a", &[message("11111111", None, 10, "x")]).await.version;
    created(&*store, "c", &[message("11111111", None, 30, "x")]).await;
    created(&*store, "empty", &[]).await;
    assert_eq!(ids(&list(&*store, SessionFilter::default()).await), ["c", "b", "a", "empty"]);
    store.append("a", version, &[message("22222222", Some("11111111"), 40, "y")]).await.expect("an append");
    for store in [store, fixture.reopened().await] {
        assert_eq!(ids(&list(&*store, SessionFilter::default()).await), ["a", "c", "b", "empty"]);
    }
}

pub async fn a_list_can_be_limited_to_one_directory(fixture: &dyn Fixture) {
    let store = fixture.store().await;
    for (id, cwd) in [("one", "/here"), ("two", "/here/below"), ("three", "/hére"), ("four", "/here")] {
        let header = osier_tree::Header { cwd: cwd.into(), ..header(id) };
        store.create(&header, &chain(1)).await.expect("a new session");
    }
    let of = |cwd: &str| SessionFilter { cwd: Some(PathBuf::from(cwd)), ..SessionFilter::default() };
    for (cwd, expected) in [
        ("/here", vec!["four", "one"]),
        ("/here/below", vec!["two"]),
        ("/hére", vec!["three"]),
        ("/", vec![]),
    ] {
        let page = list(&*store, of(cwd)).await;
        assert_eq!((ids(&page), page.has_more), (expected, false), "{cwd}");
    }
}

pub async fn a_list_is_paginated(fixture: &dyn Fixture) {
    let store = fixture.store().await;
    for at in 0..7 {
        created(&*store, &format!("s{at}"), &[message("11111111", None, at, "x")]).await;
    }
    let page = |skip, limit| SessionFilter { skip, limit: Some(limit), ..SessionFilter::default() };
    for (skip, limit, expected, more) in [
        (0, 3, vec!["s6", "s5", "s4"], true),
        (3, 3, vec!["s3", "s2", "s1"], true),
        (4, 3, vec!["s2", "s1", "s0"], false),
        (6, 3, vec!["s0"], false),
        (9, 3, vec![], false),
        (0, 0, vec![], true),
    ] {
        let page = list(&*store, page(skip, limit)).await;
        assert_eq!((ids(&page), page.has_more), (expected, more), "{skip}, {limit}");
    }
}

pub async fn cards_equal_the_fold_of_all_lines(fixture: &dyn Fixture) {
    let store = fixture.store().await;
    let header = header("one");
    let mut lines = chain(3);
    let more: [&[u8]; 6] = [
        br#"{"type":"message","id":"aaaaaaaa","parentId":"00000002","timestamp":"2026-01-02T00:00:00.000Z","message":{"role":"assistant","content":[],"usage":{"input":5,"output":7,"totalTokens":12,"cost":{"total":0.25}}}}"#,
        br#"{"type":"session_info","id":"bbbbbbbb","parentId":"aaaaaaaa","name":" a name "}"#,
        br#"{"type":"message","id":"cccccccc","parentId":"00000001","timestamp":"2026-01-03T00:00:00.000Z","message":{"role":"user","content":"a branch"}}"#,
        br#"{"type":"custom","id":"dddddddd","parentId":"cccccccc","customType":"osier.config","data":{"set":{"summary":"a summary"},"unset":[]}}"#,
        br#"{"type":"usage","id":"eeeeeeee","parentId":"dddddddd","usage":{"input":1,"output":1,"cost":{"total":0.5}}}"#,
        br#"{"type":"custom","id":"ffffffff","parentId":"00000000","customType":"osier.leaf","data":{"why":"move"}}"#,
    ];
    lines.extend(more.map(<[u8]>::to_vec));
    let mut version = store.create(&header, &lines[..2]).await.expect("a new session").version;
    for end in 2..=lines.len() {
        if end > 2 {
            version = store.append("one", version, &lines[end - 1..end]).await.expect("an append");
        }
        let expected = card(&header, &*store, &lines[..end]);
        for store in [store.clone(), fixture.reopened().await] {
            let card = store.card("one").await.expect("a card");
            // The path of the log depends on the store.
            assert_eq!(Card { file: None, ..card.clone() }, expected, "after {end} lines");
            assert_eq!(list(&*store, SessionFilter::default()).await.cards, [card]);
        }
    }
}

pub async fn sessions_are_found_by_id_prefix(fixture: &dyn Fixture) {
    let store = fixture.store().await;
    for id in ["abc-1", "abc-2", "abd", "b_1", "bx1", "MyTalk-1"] {
        created(&*store, id, &[]).await;
    }
    for (prefix, expected) in [
        ("ab", vec!["abc-1", "abc-2", "abd"]),
        ("abc-1", vec!["abc-1"]),
        ("b_", vec!["b_1"]),
        ("%", vec![]),
        ("AB", vec!["abc-1", "abc-2", "abd"]),
        ("aBD", vec!["abd"]),
        ("mytalk-", vec!["MyTalk-1"]),
        ("MYTALK-1", vec!["MyTalk-1"]),
        ("abc-11", vec![]),
    ] {
        assert_eq!(store.find_ids(prefix).await.expect("finds"), expected, "{prefix}");
        let any = store.find_ids_with_any(&["no-such-prefix", prefix]).await.expect("finds");
        assert_eq!(any, expected, "{prefix}");
    }
}

pub async fn a_short_id_is_as_short_as_possible(fixture: &dyn Fixture) {
    let store = fixture.store().await;
    for id in ["019b7ca9-a7f6-7001", "019b7ca9-A7f6-7111", "4f89da11-5e7b-4c1d"] {
        created(&*store, id, &[]).await;
    }
    for (id, expected) in [
        ("019b7ca9-a7f6-7001", "019b7ca9-a7f6-70"),
        ("019b7ca9-A7f6-7111", "019b7ca9-A7f6-71"),
        ("4f89da11-5e7b-4c1d", "4f89da11"),
    ] {
        assert_eq!(store.short_id(id).await.expect("finds"), expected);
        assert_eq!(store.find_ids(expected).await.expect("finds"), [id], "the short id is unique");
    }
}
