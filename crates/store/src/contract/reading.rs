//! Rules for creating, opening and reading.

use osier_tree::Seq;

use super::{
    Fixture, all_heads, all_lines, chain, created, fold, header, message, one_line, without_offsets,
};
use crate::{LineBatch, StoreError};

pub async fn a_session_is_created_once_and_opens_unchanged(fixture: &dyn Fixture) {
    let store = fixture.store().await;
    let mut header = header("one");
    header.cwd = "/some where/ü".into();
    header.parent_session_id = Some("two".into());
    header.parent_store = Some("elsewhere".into());
    header.agent_id = Some("helper".into());
    let created = store.create(&header, &chain(3)).await.expect("a new session");
    assert_eq!((created.version.entries, created.invalid_lines), (3, 0));
    let again = store.create(&header, &[]).await;
    assert!(matches!(again, Err(StoreError::AlreadyExists { id }) if id == "one"));
    for store in [store, fixture.reopened().await] {
        let opened = store.open("one").await.expect("opens");
        assert_eq!((&opened.header, opened.version), (&header, created.version));
        assert_eq!(all_lines(&*store, "one").await, chain(3));
    }
}

pub async fn invalid_session_ids_are_refused(fixture: &dyn Fixture) {
    let store = fixture.store().await;
    for id in ["", "../x", "a/b", ".hidden", "-a", "ü", &"x".repeat(129)] {
        let created = store.create(&header(id), &[]).await;
        assert!(matches!(created, Err(StoreError::InvalidId { .. })), "{id}: {created:?}");
    }
    assert_eq!(store.find_ids("").await.expect("finds"), [] as [&str; 0]);
}

pub async fn a_missing_session_is_not_found(fixture: &dyn Fixture) {
    let store = fixture.store().await;
    created(&*store, "one", &chain(1)).await;
    let version = store.open("one").await.expect("opens").version;
    for id in ["on", "ones", "two"] {
        assert!(matches!(store.open(id).await, Err(StoreError::NotFound { .. })), "open {id}");
        assert!(matches!(store.card(id).await, Err(StoreError::NotFound { .. })), "card {id}");
        let appended = store.append(id, version, &chain(1)).await;
        assert!(matches!(appended, Err(StoreError::NotFound { .. })), "append to {id}: {appended:?}");
    }
}

pub async fn heads_read_in_pages_equal_the_fold_of_the_lines(fixture: &dyn Fixture) {
    let store = fixture.store().await;
    let mut lines = chain(700);
    lines.push(message("branch 1", Some("00000007"), 701, "long ids too, and a branch"));
    lines.push(
        br#"{"type":"label","id":"aaaaaaaa","parentId":"branch 1","targetId":"00000003","label":"x"}"#
            .to_vec(),
    );
    lines.push(br#"{"type":"compaction","id":"bbbbbbbb","parentId":"aaaaaaaa","summary":"s","firstKeptEntryId":"00000005"}"#.to_vec());
    lines.push(br#"{"type":"message","id":"cccccccc","parentId":"bbbbbbbb","message":{"role":"assistant","content":[{"type":"toolCall","id":"t"}],"stopReason":"toolUse"}}"#.to_vec());
    lines.push(br#"{"type":"custom","id":"dddddddd","parentId":null,"customType":"osier.leaf","data":{"why":"undo"}}"#.to_vec());
    created(&*store, "one", &lines).await;
    let expected = without_offsets(fold(&lines).iter().map(|(_, head)| *head));
    for store in [store, fixture.reopened().await] {
        for page in [1, 100, 1008, 10_000] {
            assert_eq!(without_offsets(all_heads(&*store, "one", page).await), expected, "pages of {page}");
        }
        let version = store.open("one").await.expect("opens").version;
        let beyond = store.heads("one", version.generation, lines.len(), 10).await.expect("no heads");
        assert!(beyond.is_empty());
    }
}

pub async fn lines_are_returned_in_the_requested_order(fixture: &dyn Fixture) {
    let store = fixture.store().await;
    let lines = chain(50);
    let version = created(&*store, "one", &lines).await.version;
    let requested = [49, 0, 7, 7, 48, 8, 9, 10, 3];
    let mut batch = LineBatch::default();
    for store in [store, fixture.reopened().await] {
        store.lines("one", version.generation, &requested.map(Seq::new), &mut batch).await.expect("lines");
        let got: Vec<&[u8]> = batch.iter().collect();
        assert_eq!(got, requested.map(|at| lines[at].as_slice()));
    }
}

pub async fn every_batch_has_at_least_one_line(fixture: &dyn Fixture) {
    let store = fixture.store().await;
    let long = "x".repeat(LineBatch::FULL_BYTES / 3);
    let lines: Vec<Vec<u8>> = (0..9).map(|at| message(&format!("{at:08}"), None, at, &long)).collect();
    let version = created(&*store, "one", &lines).await.version;
    let seqs: Vec<Seq> = (0..9).rev().map(Seq::new).collect();
    let (mut rest, mut batches, mut got) = (seqs.as_slice(), 0, Vec::new());
    let mut batch = LineBatch::default();
    while !rest.is_empty() {
        store.lines("one", version.generation, rest, &mut batch).await.expect("lines");
        assert!(!batch.is_empty(), "an empty batch after {batches}");
        got.extend(batch.iter().map(<[u8]>::to_vec));
        rest = &rest[batch.len()..];
        batches += 1;
    }
    assert!((2..9).contains(&batches), "nine lines of a third of a batch were returned in {batches} batches");
    assert!(got.into_iter().eq(lines.into_iter().rev()));
}

pub async fn lines_are_preserved_byte_for_byte(fixture: &dyn Fixture) {
    let store = fixture.store().await;
    let mut broken =
        br#"{"type":"message","id":"33333333","parentId":null,"message":{"role":"user","content":"a"#
            .to_vec();
    broken.extend_from_slice(b"\xff\xfe\xc3(\x80\"}}");
    let lines: Vec<Vec<u8>> = vec![
        b"  { \"type\" :\t\"message\" , \"id\":\"11111111\",\"parentId\" : null }\t ".to_vec(),
        "{\"type\":\"new kind\",\"id\":\"22222222\",\"n\":1.0,\"m\":1e400,\"x\":\"h\u{e9}\u{2028}\u{1f600}\\ud800\\u00e9\"}"
            .into(),
        broken,
        b"{\"id\":\"44444444\",\"id\":\"55555555\",\"type\":\"custom\",\"\":[[],{}]}\r".to_vec(),
    ];
    let version = created(&*store, "one", &lines[..2]).await.version;
    store.append("one", version, &lines[2..]).await.expect("an append");
    for store in [store, fixture.reopened().await] {
        assert_eq!(all_lines(&*store, "one").await, lines);
        assert_eq!(store.open("one").await.expect("opens").invalid_lines, 0);
    }
}

pub async fn a_line_can_be_huge(fixture: &dyn Fixture) {
    let store = fixture.store().await;
    let huge = message("11111111", None, 0, &"0123456789".repeat(2_000_000));
    let small = message("22222222", Some("11111111"), 1, "small");
    let version = created(&*store, "one", &[]).await.version;
    let version = store.append("one", version, &[huge.clone(), small.clone()]).await.expect("an append");
    for store in [store, fixture.reopened().await] {
        assert!(
            one_line(&*store, "one", version, 0).await.expect("a line") == huge,
            "a line of 20 MB was changed"
        );
        assert_eq!(one_line(&*store, "one", version, 1).await.expect("a line"), small);
        assert_eq!(all_heads(&*store, "one", 10).await[0].len as usize, huge.len());
    }
}

pub async fn reading_a_missing_entry_is_an_error(fixture: &dyn Fixture) {
    let store = fixture.store().await;
    let version = created(&*store, "one", &chain(2)).await.version;
    let line = one_line(&*store, "one", version, 2).await;
    assert!(matches!(line, Err(StoreError::NoSuchEntry { seq: 2 })), "{line:?}");
}
