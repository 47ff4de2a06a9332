//! Forged indexes: every checksum is right, but the content is wrong. They can cost time, but never give wrong
//! results.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use osier_store::file::with_checksums;
use osier_store::{FileStore, PagedHeads, Store, StoreError, for_each_line};
use osier_tree::Seq;
use osier_tree::entry::parse_entry;

use crate::process::{Job, Process};
use crate::support::{
    Home, SessionData, SplitMix64, chain, file_of, link, read_data, read_data_once, wide_header,
};

const BLOCK: usize = 4096;
const ENTRIES: usize = 150;

/// A log with an index that tests forge.
struct ForgedIndex {
    home: Home,
    id: String,
    index: PathBuf,
    original: Vec<u8>,
    expected: SessionData,
}

impl ForgedIndex {
    async fn new() -> ForgedIndex {
        let mut lines = chain(ENTRIES - 3);
        lines.push(br#"{"type":"compaction","id":"compact0","parentId":"00000092","timestamp":"2026-01-01T00:00:00.000Z","summary":"s","firstKeptEntryId":"00000080","tokensBefore":1}"#.to_vec());
        lines.push(br#"{"type":"label","id":"label000","parentId":"compact0","timestamp":"2026-01-01T00:00:00.000Z","targetId":"00000010","label":"x"}"#.to_vec());
        lines.push(br#"{"type":"message","id":"last0000","parentId":"label000","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"the last"}}"#.to_vec());
        ForgedIndex::new_for(&lines).await
    }

    async fn new_for(lines: &[Vec<u8>]) -> ForgedIndex {
        let home = Home::new();
        let (_, id) = home.put(&file_of(&wide_header("one"), lines));
        let expected = read_data_once(&home.uncached_store(), &id).await;
        home.store().open(&id).await.unwrap();
        let index = home.cached("index")[0].clone();
        let original = fs::read(&index).unwrap();
        ForgedIndex { home, id, index, original, expected }
    }

    /// Writes an index with these bytes at this offset.
    fn overwrite(&self, at: usize, bytes: &[u8]) {
        let mut forged = self.original.clone();
        forged[at..at + bytes.len()].copy_from_slice(bytes);
        fs::write(&self.index, with_checksums(forged)).unwrap();
    }

    /// Checks that all results are those of the log.
    async fn check(&self, when: &str) {
        read_data(&self.home.store(), &self.id).await.assert_same(&self.expected, when);
    }
}

/// The offset of a member of a record.
fn record(entry: usize, member: usize) -> usize {
    BLOCK + entry / 63 * BLOCK + entry % 63 * 64 + member
}

fn link_to(entry: usize) -> [u8; 4] {
    (entry as u32 + 1).to_le_bytes()
}

#[tokio::test]
async fn wrong_line_positions_are_detected() {
    let forged_index = ForgedIndex::new().await;
    let head = forged_index.expected.heads[70];
    for offset in
        [0, head.offset - 1, head.offset + 1, forged_index.expected.heads[71].offset, 1 << 40, u64::MAX]
    {
        forged_index.overwrite(record(70, 56), &offset.to_le_bytes());
        forged_index.check(&format!("offset {offset}")).await;
    }
    for len in [0, 1, head.len - 1, head.len + 1, head.len + 1000, u32::MAX] {
        forged_index.overwrite(record(70, 24), &len.to_le_bytes());
        forged_index.check(&format!("length {len}")).await;
    }
}

/// A reader loads heads in pages, so overlaps across a page boundary must be detected too.
#[tokio::test]
async fn a_line_that_overlaps_the_next_is_detected_anywhere() {
    let forged_index = ForgedIndex::new_for(&chain(8200)).await;
    for at in (4030..4034).chain(8062..8066) {
        let both = forged_index.expected.heads[at].len + 1 + forged_index.expected.heads[at + 1].len;
        forged_index.overwrite(record(at, 24), &both.to_le_bytes());
        forged_index.check(&format!("{at} overlaps the next")).await;
    }
}

/// If the index turns out to be wrong while a card is built, the card is built again from the lines.
#[tokio::test]
async fn a_forged_parent_adds_no_branch_to_the_card() {
    let forged_index = ForgedIndex::new().await;
    let expected = forged_index.home.uncached_store().card(&forged_index.id).await.unwrap();
    forged_index.overwrite(record(70, 28), &link_to(5));
    let card = forged_index.home.store().card(&forged_index.id).await.unwrap();
    assert_eq!((card.branches, card.entry_count), (expected.branches, expected.entry_count));
}

#[tokio::test]
async fn wrong_links_are_detected() {
    let forged_index = ForgedIndex::new().await;
    for parent in [[0; 4], link_to(70), link_to(3), link_to(72), link_to(ENTRIES), [0xFF; 4]] {
        forged_index.overwrite(record(70, 28), &parent);
        forged_index.check(&format!("parent {parent:?}")).await;
    }
    // 32 target, 36 compaction, 40 model, 44 thinking, 48 anchor, 52 depth
    for member in [32, 36, 40, 44, 48, 52] {
        for link in [link_to(3), link_to(140), link_to(ENTRIES), [0xFF; 4]] {
            forged_index.overwrite(record(70, member), &link);
            forged_index.check(&format!("member {member} {link:?}")).await;
        }
    }
    for target in [[0; 4], link_to(100)] {
        forged_index.overwrite(record(ENTRIES - 3, 32), &target);
        forged_index.check(&format!("first kept {target:?}")).await;
        forged_index.overwrite(record(ENTRIES - 2, 32), &target);
        forged_index.check(&format!("labeled {target:?}")).await;
    }
}

#[tokio::test]
async fn wrong_entry_metadata_is_detected() {
    let forged_index = ForgedIndex::new().await;
    for id in [*b"00000047", [0xFF; 8]] {
        forged_index.overwrite(record(70, 8), &id);
        forged_index.check(&format!("id {id:?}")).await;
    }
    // 56 kind, 57 role, 59 flags, 61 where the message begins
    for (member, wrong_values) in [(1, [0, 4, 12, 200]), (2, [0, 2, 7, 200]), (6, [0, 1, 104, 106])] {
        for value in wrong_values {
            forged_index.overwrite(record(70, member), &[value]);
            forged_index.check(&format!("member {member} is {value}")).await;
        }
    }
}

#[tokio::test]
async fn wrong_index_headers_are_detected() {
    let forged_index = ForgedIndex::new().await;
    let number = |at: usize| 8 + at * 8;
    let size = u64::from_le_bytes(forged_index.original[number(3)..][..8].try_into().unwrap());
    for (what, at, wrong_values) in [
        ("size", 3, vec![0, 1, size - 1, size + 1, u64::MAX]),
        ("entries", 5, vec![0, 1, 149, 151, 63 * 4, u64::from(u32::MAX), u64::MAX]),
        ("flags", 7, vec![0, 1, 4, 7, 8, 15]),
        ("last offset", 8, vec![0, 1, size, u64::MAX]),
        ("last length", 9, vec![0, u64::from(u32::MAX), u64::MAX]),
        ("last hash", 10, vec![0]),
    ] {
        for value in wrong_values {
            forged_index.overwrite(number(at), &u64::to_le_bytes(value));
            forged_index.check(&format!("{what} {value}")).await;
        }
    }
}

/// Heads that are loaded into memory at once must be checked too.
#[tokio::test]
async fn errors_in_an_extended_index_are_detected() {
    for grown in [false, true] {
        let mut forged_index = ForgedIndex::new().await;
        if grown {
            let mut file = fs::OpenOptions::new().append(true).open(&forged_index.id).unwrap();
            file.write_all(&[link(ENTRIES), b"\n".to_vec()].concat()).unwrap();
            forged_index.expected =
                read_data_once(&forged_index.home.uncached_store(), &forged_index.id).await;
        }
        let (offset, len) = (forged_index.expected.heads[70].offset, forged_index.expected.heads[70].len);
        for (member, value) in
            [(24, (len - 1).to_le_bytes()), (24, [7; 4]), (56, (offset as u32 + 1).to_le_bytes())]
        {
            // Without flags, the index states that its log is out of order.
            let flags = if grown { forged_index.original[8 + 7 * 8] } else { 0 };
            let mut forged = forged_index.original.clone();
            forged[8 + 7 * 8] = flags;
            forged[record(70, member)..][..4].copy_from_slice(&value);
            fs::write(&forged_index.index, with_checksums(forged)).unwrap();
            forged_index.check(&format!("member {member} {value:?}, grown {grown}")).await;
        }
    }
}

/// The context of the log, read in pages from its end, as the commands read it.
async fn context(store: &FileStore, id: &str) -> Result<Vec<String>, StoreError> {
    let version = store.open(id).await?.version;
    let mut heads = PagedHeads::new(store, id, version);
    let leaf = heads.leaf().await?;
    let path = heads.path(leaf).await?;
    let mut seqs: Vec<Seq> = heads.context(leaf).await?.items.iter().map(|item| item.seq).collect();
    seqs.extend(path);
    let mut ids = Vec::new();
    for_each_line(store, id, version.generation, &seqs, |_, line| {
        ids.push(parse_entry(line).map_err(|_| StoreError::Replaced)?.id.into_owned());
        Ok::<_, StoreError>(())
    })
    .await?;
    Ok(ids)
}

#[tokio::test]
async fn paged_reads_are_correct_or_must_be_retried() {
    let forged_index = ForgedIndex::new().await;
    let expected = context(&forged_index.home.uncached_store(), &forged_index.id).await.unwrap();
    for (member, value) in [(28, 4), (28, 90), (36, 0), (36, 4), (48, 9), (52, 3), (56, 7), (24, 1), (1, 12)]
    {
        for entry in [5, 135, ENTRIES - 3, ENTRIES - 1] {
            forged_index.overwrite(record(entry, member), &[value, 0, 0, 0]);
            let store = forged_index.home.store();
            let ids = match context(&store, &forged_index.id).await {
                Err(StoreError::Replaced) => context(&store, &forged_index.id).await.unwrap(),
                ids => ids.unwrap(),
            };
            assert_eq!(ids, expected, "member {member} of entry {entry} is {value}");
        }
    }
}

#[tokio::test]
async fn an_index_of_random_bytes_breaks_nothing() {
    let forged_index = ForgedIndex::new().await;
    let mut random = SplitMix64(1);
    for round in 0..150 {
        let mut forged = forged_index.original.clone();
        for _ in 0..=random.below(6) {
            let entry = random.below(ENTRIES);
            let at = if random.below(8) == 0 { random.below(100) } else { record(entry, random.below(64)) };
            forged[at] = random.below(256) as u8;
        }
        fs::write(&forged_index.index, with_checksums(forged)).unwrap();
        let store = forged_index.home.store();
        // Times, calls and flags of an entry are not checked; everything else is.
        let data = read_data(&store, &forged_index.id).await;
        assert_eq!(data.lines, forged_index.expected.lines, "round {round}");
        let tree =
            osier_tree::SessionTree::restore(data.heads, |seq| parse_entry(&data.lines[seq.index()]).ok());
        assert_eq!(tree.path(tree.leaf()).len(), ENTRIES, "round {round}");
    }
}

/// A process with a memory limit.
fn small(kib: usize) -> Command {
    let mut shell = Command::new("sh");
    let exe = std::env::current_exe().unwrap();
    shell.arg("-c").arg(format!("ulimit -v {kib}; exec \"$0\" \"$@\"")).arg(exe);
    shell
}

#[tokio::test]
async fn no_forged_index_makes_a_reader_allocate_much_memory() {
    let forged_index = ForgedIndex::new().await;
    let number = |at: usize| 8 + at * 8;
    let huge = u64::from(u32::MAX);
    for (at, bytes) in [
        (record(70, 24), u32::MAX.to_le_bytes().to_vec()),
        (record(70, 52), u32::MAX.to_le_bytes().to_vec()),
        (number(5), huge.to_le_bytes().to_vec()),
        (number(9), huge.to_le_bytes().to_vec()),
    ] {
        forged_index.overwrite(at, &bytes);
        // A sparse file as long as the index claims to be.
        let file = fs::OpenOptions::new().write(true).open(&forged_index.index).unwrap();
        file.set_len((huge / 63 + 2) * BLOCK as u64).unwrap();
        let job = Job {
            per_round: 1,
            ..Job::new(&forged_index.home, &forged_index.id, &format!("m{:02}", at % 64))
        };
        let mut reader = Process::start_by(small(1 << 20), &job);
        reader.start_round();
        assert_eq!(reader.finish().len(), 1, "bytes {bytes:?} at {at}");
        fs::remove_file(&forged_index.index).unwrap();
        drop(file);
        forged_index.home.store().open(&forged_index.id).await.unwrap();
    }
}
