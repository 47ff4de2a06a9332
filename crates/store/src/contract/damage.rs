//! Rules for logs with contradictory lines: a store returns the same heads as the fold in memory.

use super::{Fixture, all_heads, all_lines, chain, created, fold, message, without_offsets};
use crate::Store;

async fn assert_heads_equal_fold(store: &dyn Store, lines: &[Vec<u8>]) {
    let expected = without_offsets(fold(lines).iter().map(|(_, head)| *head));
    for page in [1, 7, 1000] {
        assert_eq!(without_offsets(all_heads(store, "one", page).await), expected, "pages of {page}");
    }
    assert_eq!(all_lines(store, "one").await, lines);
}

async fn check(fixture: &dyn Fixture, lines: &[Vec<u8>]) {
    let store = fixture.store().await;
    created(&*store, "one", lines).await;
    assert_heads_equal_fold(&*store, lines).await;
    assert_heads_equal_fold(&*fixture.reopened().await, lines).await;
}

/// Lines given as `(id, parent)`.
fn lines(ids: &[(&str, Option<&str>)]) -> Vec<Vec<u8>> {
    ids.iter().enumerate().map(|(at, (id, parent))| message(id, *parent, at, "x")).collect()
}

fn repeated() -> Vec<Vec<u8>> {
    let mut lines = chain(5);
    lines.push(message("00000001", None, 9, "again, elsewhere"));
    lines.push(message("00000005", Some("00000001"), 10, "below the later one"));
    lines.push(message("00000001", Some("00000003"), 11, "once more"));
    lines
}

fn late() -> Vec<Vec<u8>> {
    lines(&[
        ("orphan id", Some("missing")),
        ("11111111", Some("44444444")),
        ("22222222", Some("11111111")),
        ("33333333", None),
        ("44444444", Some("33333333")),
        ("55555555", Some("never seen")),
    ])
}

fn cycles() -> Vec<Vec<u8>> {
    lines(&[
        ("11111111", Some("11111111")),
        ("22222222", Some("33333333")),
        ("33333333", Some("44444444")),
        ("44444444", Some("22222222")),
        ("55555555", Some("33333333")),
        ("66666666", Some("11111111")),
    ])
}

pub async fn heads_of_repeated_ids_equal_the_fold(fixture: &dyn Fixture) {
    check(fixture, &repeated()).await;
}

pub async fn heads_with_late_or_missing_parents_equal_the_fold(fixture: &dyn Fixture) {
    check(fixture, &late()).await;
}

pub async fn heads_of_cycles_equal_the_fold(fixture: &dyn Fixture) {
    check(fixture, &cycles()).await;
}

pub async fn heads_of_damage_appended_line_by_line_equal_the_fold(fixture: &dyn Fixture) {
    let store = fixture.store().await;
    let lines: Vec<Vec<u8>> = repeated().into_iter().chain(late()).chain(cycles()).collect();
    let mut version = created(&*store, "one", &[]).await.version;
    for end in 1..=lines.len() {
        version = store.append("one", version, &lines[end - 1..end]).await.expect("an append");
        let expected = without_offsets(fold(&lines[..end]).iter().map(|(_, head)| *head));
        assert_eq!(without_offsets(all_heads(&*store, "one", 1000).await), expected, "after {end} lines");
    }
    assert_heads_equal_fold(&*fixture.reopened().await, &lines).await;
}
