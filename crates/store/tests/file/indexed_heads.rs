//! Heads that stay in an index until they are needed are those of the log, whatever happens to either.

use std::fs;
use std::io::Write;

use osier_store::file::with_checksums;
use osier_store::{Store, StoreError};
use osier_testkit::RandomLog;
use osier_tree::{Heads, Seq};

use crate::support::{Home, SplitMix64, append, chain, file_of, id, lines_of, link, message, wide_header};

const BLOCK: usize = 4096;

async fn shared(store: &dyn Store, id: &str) -> Heads {
    let version = store.open(id).await.unwrap().version;
    store.shared_heads(id, version.generation).await.unwrap().unwrap()
}

/// Compares all heads, read in a random order, as a tree reads them.
#[track_caller]
fn assert_same(found: &Heads, expected: &Heads, seed: u64, when: &str) {
    assert_eq!(found.len(), expected.len(), "{when}");
    assert_eq!(found.entries_with_folded_body(), expected.entries_with_folded_body(), "{when}");
    let mut order: Vec<Seq> = (0..expected.len()).map(Seq::new).collect();
    let mut random = SplitMix64(seed);
    for at in (1..order.len()).rev() {
        order.swap(at, random.below(at + 1));
    }
    for seq in order {
        assert_eq!(found.get(seq), expected.get(seq), "{seq:?}, {when}");
        assert_eq!(found.find(found.id(seq).as_str()), expected.find(expected.id(seq).as_str()), "{when}");
    }
    assert_eq!(found.path(found.leaf()), expected.path(expected.leaf()), "{when}");
}

/// A chain with marks here and there, so that some blocks of its index have none.
fn marked_chain(entries: usize, seed: u64) -> Vec<Vec<u8>> {
    let mut random = SplitMix64(seed);
    let label = |at: usize| {
        let target = id(at / 2);
        let parent = id(at - 1);
        format!(
            r#"{{"type":"label","id":"{}","parentId":"{parent}","timestamp":"2026-01-01T00:00:00.000Z","targetId":"{target}","label":"x"}}"#,
            id(at)
        )
    };
    let mut line = |at: usize| match at > 0 && random.below(200) == 0 {
        true => label(at).into_bytes(),
        // Branches here and there.
        false if at > 40 && random.below(20) == 0 => {
            message(&id(at), Some(&id(at - random.below(40) - 1)), at, "x")
        }
        false => link(at),
    };
    (0..entries).map(&mut line).collect()
}

#[tokio::test]
async fn heads_left_in_an_index_are_those_of_the_log() {
    for seed in 0..40 {
        let home = Home::new();
        let lines = match seed % 4 {
            0 => RandomLog::new(seed, 400, false).lines,
            1 => RandomLog::new(seed, 200, true).lines,
            _ => marked_chain(500 + 63 * (seed as usize % 7), seed),
        };
        let (path, session) = home.put(&file_of(&wide_header("one"), &lines));
        home.store().open(&session).await.unwrap();
        let expected = shared(&home.uncached_store(), &session).await;
        let store = home.store();
        let found = shared(&store, &session).await;
        let copy = found.clone();
        assert_same(&found, &expected, seed, &format!("seed {seed}"));

        // Appends by this process and by another extend what is in the index.
        let more: Vec<Vec<u8>> =
            (0..130).map(|at| message(&format!("more{at:04}"), None, at, "more")).collect();
        append(&store, &session, &more[..70]).await.unwrap();
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        more[70..].iter().for_each(|line| file.write_all(&[line, &b"\n"[..]].concat()).unwrap());
        let grown = shared(&home.uncached_store(), &session).await;
        assert_same(&shared(&store, &session).await, &grown, seed, &format!("seed {seed}, grown"));
        assert_same(&copy, &expected, seed, &format!("seed {seed}, the copy from before"));
        store.sync(&session).await.unwrap();
        let reopened = home.store();
        assert_same(&shared(&reopened, &session).await, &grown, seed, &format!("seed {seed}, reopened"));
        assert_eq!(lines_of(&reopened, &session).await, lines_of(&home.uncached_store(), &session).await);
    }
}

/// An id that occurs again, or a parent that comes late, changes heads that are in the index.
#[tokio::test]
async fn a_later_line_can_change_heads_that_are_in_the_index() {
    let lines = chain(700);
    let again = message(&id(3), Some(&id(2)), 3, "again");
    let late = message("late0000", Some("later000"), 3, "late");
    let later = message("later000", Some(&id(600)), 3, "later");
    let home = Home::new();
    let (_, session) = home.put(&file_of(&wide_header("one"), &lines));
    home.store().open(&session).await.unwrap();
    let store = home.store();
    let before = shared(&store, &session).await;
    append(&store, &session, &[again, late, later]).await.unwrap();
    let expected = shared(&home.uncached_store(), &session).await;
    assert_same(&shared(&store, &session).await, &expected, 1, "after the append");
    assert_eq!(before.len(), 700);
    assert_eq!(before.path(before.leaf()).len(), 700);
}

#[tokio::test]
async fn damaged_blocks_are_read_from_the_log() {
    let lines = marked_chain(1500, 5);
    let home = Home::new();
    let (_, session) = home.put(&file_of(&wide_header("one"), &lines));
    home.store().open(&session).await.unwrap();
    let expected = shared(&home.uncached_store(), &session).await;
    let index = home.cached("index")[0].clone();
    let original = fs::read(&index).unwrap();
    for block in 1..original.len() / BLOCK {
        let mut damaged = original.clone();
        damaged[block * BLOCK + 100] ^= 1;
        fs::write(&index, &damaged).unwrap();
        let store = home.store();
        let version = store.open(&session).await.unwrap().version;
        let found = store.shared_heads(&session, version.generation).await.unwrap().unwrap();
        assert_same(&found, &expected, block as u64, &format!("block {block}"));
        assert_eq!(store.open(&session).await.unwrap().version, version, "what was returned was right");
        assert_eq!(lines_of(&store, &session).await, lines);
    }
}

/// Forged heads can be returned, but never together with lines: reading a line reports that the session must be opened again.
#[tokio::test]
async fn forged_heads_are_noticed_when_they_or_their_lines_are_read() {
    let lines = marked_chain(800, 9);
    let home = Home::new();
    let (_, session) = home.put(&file_of(&wide_header("one"), &lines));
    home.store().open(&session).await.unwrap();
    let expected = shared(&home.uncached_store(), &session).await;
    let index = home.cached("index")[0].clone();
    let original = fs::read(&index).unwrap();
    let mut noticed = 0;
    // Id, length, links, depth, position, and the kind: see `tree/head_record.rs`.
    for member in [8, 24, 28, 32, 36, 40, 44, 48, 52, 56, 1] {
        for entry in [5, 300, 511, 512, 700] {
            let mut forged = original.clone();
            let at = BLOCK + entry / 63 * BLOCK + entry % 63 * 64 + member;
            forged[at] = forged[at].wrapping_add(1);
            fs::write(&index, with_checksums(forged)).unwrap();
            let store = home.store();
            let version = store.open(&session).await.unwrap().version;
            let found = store.shared_heads(&session, version.generation).await.unwrap().unwrap();
            let same = found.iter().all(|(seq, head)| head == expected.get(seq));
            let seqs: Vec<Seq> = (0..version.entries).map(Seq::new).collect();
            let read = osier_store::for_each_line(&store, &session, version.generation, &seqs, |_, _| {
                Ok::<_, StoreError>(())
            });
            match read.await {
                Ok(()) => assert!(same, "member {member} of {entry}"),
                Err(StoreError::Replaced) => noticed += 1,
                Err(error) => panic!("{error}"),
            }
            let right = shared(&store, &session).await;
            assert!(right.iter().all(|(seq, head)| head == expected.get(seq)), "member {member} of {entry}");
        }
    }
    assert!(noticed > 20, "{noticed}");
}

/// The heads of a log whose index and lines are gone are of no use, but reading them ends.
#[tokio::test]
async fn a_log_that_was_edited_in_place_is_read_again() {
    let lines = chain(900);
    let home = Home::new();
    let (path, session) = home.put(&file_of(&wide_header("one"), &lines));
    home.store().open(&session).await.unwrap();
    let index = home.cached("index")[0].clone();
    let mut damaged = fs::read(&index).unwrap();
    damaged[3 * BLOCK] ^= 1;
    fs::write(&index, &damaged).unwrap();
    let store = home.store();
    let found = shared(&store, &session).await;
    let edited = [
        file_of(&wide_header("one"), &lines[..20]),
        vec![b'\n'; fs::metadata(&path).unwrap().len() as usize],
    ];
    fs::write(&path, edited.concat()).unwrap();
    assert_eq!(found.iter().count(), 900);
    assert_eq!(found.path(found.leaf()).last(), found.leaf().as_ref());
    let expected = shared(&home.uncached_store(), &session).await;
    assert_eq!(expected.len(), 20);
    assert_same(&shared(&store, &session).await, &expected, 3, "read again");
}
