//! An index that somebody forged: every checksum is right, and what it says is not. It may cost time, never more.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use osier_store::file::sealed;
use osier_store::{FileStore, PagedHeads, Store, StoreError, each_line};
use osier_tree::Seq;
use osier_tree::entry::read_entry;

use crate::process::{Job, Process};
use crate::support::{Home, Random, Told, chain, file_of, link, told, told_at_once, wide_header};

const BLOCK: usize = 4096;
const ENTRIES: usize = 150;

/// A log with an index, and where that lies.
struct Forge {
    home: Home,
    id: String,
    index: PathBuf,
    whole: Vec<u8>,
    expected: Told,
}

impl Forge {
    async fn new() -> Forge {
        let mut lines = chain(ENTRIES - 3);
        lines.push(br#"{"type":"compaction","id":"compact0","parentId":"00000092","timestamp":"2026-01-01T00:00:00.000Z","summary":"s","firstKeptEntryId":"00000080","tokensBefore":1}"#.to_vec());
        lines.push(br#"{"type":"label","id":"label000","parentId":"compact0","timestamp":"2026-01-01T00:00:00.000Z","targetId":"00000010","label":"x"}"#.to_vec());
        lines.push(br#"{"type":"message","id":"last0000","parentId":"label000","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"the last"}}"#.to_vec());
        Forge::of(&lines).await
    }

    async fn of(lines: &[Vec<u8>]) -> Forge {
        let home = Home::new();
        let (_, id) = home.put(&file_of(&wide_header("one"), lines));
        let expected = told_at_once(&home.bare(), &id).await;
        home.store().open(&id).await.unwrap();
        let index = home.cached("index")[0].clone();
        let whole = fs::read(&index).unwrap();
        Forge { home, id, index, whole, expected }
    }

    /// Puts a forged index in place: these bytes at this place.
    fn forge(&self, at: usize, bytes: &[u8]) {
        let mut forged = self.whole.clone();
        forged[at..at + bytes.len()].copy_from_slice(bytes);
        fs::write(&self.index, sealed(forged)).unwrap();
    }

    /// Whatever was forged, all is told as it is in the log.
    async fn check(&self, when: &str) {
        told(&self.home.store(), &self.id).await.must_be(&self.expected, when);
    }
}

/// Where a member of a record begins.
fn record(entry: usize, member: usize) -> usize {
    BLOCK + entry / 63 * BLOCK + entry % 63 * 64 + member
}

fn link_to(entry: usize) -> [u8; 4] {
    (entry as u32 + 1).to_le_bytes()
}

#[tokio::test]
async fn lies_about_where_a_line_lies_are_found() {
    let forge = Forge::new().await;
    let head = forge.expected.heads[70];
    for offset in [0, head.offset - 1, head.offset + 1, forge.expected.heads[71].offset, 1 << 40, u64::MAX] {
        forge.forge(record(70, 16), &offset.to_le_bytes());
        forge.check(&format!("offset {offset}")).await;
    }
    for len in [0, 1, head.len - 1, head.len + 1, head.len + 1000, u32::MAX] {
        forge.forge(record(70, 24), &len.to_le_bytes());
        forge.check(&format!("length {len}")).await;
    }
}

/// A reader takes heads in steps; what reaches over the end of one must be seen too.
#[tokio::test]
async fn a_line_that_claims_the_next_is_found_wherever_it_lies() {
    let forge = Forge::of(&chain(8200)).await;
    for at in (4030..4034).chain(8062..8066) {
        let both = forge.expected.heads[at].len + 1 + forge.expected.heads[at + 1].len;
        forge.forge(record(at, 24), &both.to_le_bytes());
        forge.check(&format!("{at} claims the next")).await;
    }
}

/// A card that is made while the index turns out wrong is made again from the lines.
#[tokio::test]
async fn a_forged_parent_makes_no_branch_in_the_card() {
    let forge = Forge::new().await;
    let expected = forge.home.bare().card(&forge.id).await.unwrap();
    forge.forge(record(70, 28), &link_to(5));
    let card = forge.home.store().card(&forge.id).await.unwrap();
    assert_eq!((card.branches, card.entry_count), (expected.branches, expected.entry_count));
}

#[tokio::test]
async fn lies_about_what_hangs_where_are_found() {
    let forge = Forge::new().await;
    for parent in [[0; 4], link_to(70), link_to(3), link_to(72), link_to(ENTRIES), [0xFF; 4]] {
        forge.forge(record(70, 28), &parent);
        forge.check(&format!("parent {parent:?}")).await;
    }
    // 32 target, 36 compaction, 40 model, 44 thinking, 48 place, 52 depth
    for member in [32, 36, 40, 44, 48, 52] {
        for link in [link_to(3), link_to(140), link_to(ENTRIES), [0xFF; 4]] {
            forge.forge(record(70, member), &link);
            forge.check(&format!("member {member} {link:?}")).await;
        }
    }
    for target in [[0; 4], link_to(100)] {
        forge.forge(record(ENTRIES - 3, 32), &target);
        forge.check(&format!("first kept {target:?}")).await;
        forge.forge(record(ENTRIES - 2, 32), &target);
        forge.check(&format!("labelled {target:?}")).await;
    }
}

#[tokio::test]
async fn lies_about_what_an_entry_is_are_found() {
    let forge = Forge::new().await;
    for id in [*b"00000047", [0xFF; 8]] {
        forge.forge(record(70, 0), &id);
        forge.check(&format!("id {id:?}")).await;
    }
    // 56 kind, 57 role, 59 flags, 61 where the message begins
    for (member, lies) in [(56, [0, 4, 12, 200]), (57, [0, 2, 7, 200]), (61, [0, 1, 104, 106])] {
        for lie in lies {
            forge.forge(record(70, member), &[lie]);
            forge.check(&format!("member {member} is {lie}")).await;
        }
    }
}

#[tokio::test]
async fn lies_about_the_whole_are_found() {
    let forge = Forge::new().await;
    let number = |at: usize| 8 + at * 8;
    let size = u64::from_le_bytes(forge.whole[number(3)..][..8].try_into().unwrap());
    for (what, at, lies) in [
        ("size", 3, vec![0, 1, size - 1, size + 1, u64::MAX]),
        ("entries", 5, vec![0, 1, 149, 151, 63 * 4, u64::from(u32::MAX), u64::MAX]),
        ("flags", 7, vec![0, 1, 4, 7]),
        ("last offset", 8, vec![0, 1, size, u64::MAX]),
        ("last length", 9, vec![0, u64::from(u32::MAX), u64::MAX]),
        ("last hash", 10, vec![0]),
    ] {
        for lie in lies {
            forge.forge(number(at), &u64::to_le_bytes(lie));
            forge.check(&format!("{what} {lie}")).await;
        }
    }
}

/// Heads that are taken over into memory at once are no truer for that.
#[tokio::test]
async fn lies_in_an_index_that_is_gone_on_from_are_found() {
    for grown in [false, true] {
        let mut forge = Forge::new().await;
        if grown {
            let mut file = fs::OpenOptions::new().append(true).open(&forge.id).unwrap();
            file.write_all(&[link(ENTRIES), b"\n".to_vec()].concat()).unwrap();
            forge.expected = told_at_once(&forge.home.bare(), &forge.id).await;
        }
        let (offset, len) = (forge.expected.heads[70].offset, forge.expected.heads[70].len);
        for (member, lie) in
            [(24, (len - 1).to_le_bytes()), (24, [7; 4]), (16, (offset as u32 + 1).to_le_bytes())]
        {
            // Without its flags an index says of itself that its log is out of order.
            let flags = if grown { forge.whole[8 + 7 * 8] } else { 0 };
            let mut forged = forge.whole.clone();
            forged[8 + 7 * 8] = flags;
            forged[record(70, member)..][..4].copy_from_slice(&lie);
            fs::write(&forge.index, sealed(forged)).unwrap();
            forge.check(&format!("member {member} {lie:?}, grown {grown}")).await;
        }
    }
}

/// The context of the log, read by pages from its end, as the commands do it.
async fn context(store: &FileStore, id: &str) -> Result<Vec<String>, StoreError> {
    let version = store.open(id).await?.version;
    let mut heads = PagedHeads::new(store, id, version);
    let leaf = heads.leaf().await?;
    let path = heads.path(leaf).await?;
    let mut wanted: Vec<Seq> = heads.context(leaf).await?.items.iter().map(|item| item.seq).collect();
    wanted.extend(path);
    let mut ids = Vec::new();
    each_line(store, id, version.generation, &wanted, |_, line| {
        ids.push(read_entry(line).map_err(|_| StoreError::Replaced)?.id.into_owned());
        Ok::<_, StoreError>(())
    })
    .await?;
    Ok(ids)
}

#[tokio::test]
async fn what_is_read_by_pages_is_right_or_asked_for_again() {
    let forge = Forge::new().await;
    let expected = context(&forge.home.bare(), &forge.id).await.unwrap();
    for (member, lie) in [(28, 4), (28, 90), (36, 0), (36, 4), (48, 9), (52, 3), (16, 7), (24, 1), (56, 12)] {
        for entry in [5, 135, ENTRIES - 3, ENTRIES - 1] {
            forge.forge(record(entry, member), &[lie, 0, 0, 0]);
            let store = forge.home.store();
            let ids = match context(&store, &forge.id).await {
                Err(StoreError::Replaced) => context(&store, &forge.id).await.unwrap(),
                ids => ids.unwrap(),
            };
            assert_eq!(ids, expected, "member {member} of entry {entry} is {lie}");
        }
    }
}

#[tokio::test]
async fn an_index_of_any_bytes_breaks_nothing() {
    let forge = Forge::new().await;
    let mut random = Random(1);
    for round in 0..150 {
        let mut forged = forge.whole.clone();
        for _ in 0..=random.below(6) {
            let entry = random.below(ENTRIES);
            let at = if random.below(8) == 0 { random.below(100) } else { record(entry, random.below(64)) };
            forged[at] = random.below(256) as u8;
        }
        fs::write(&forge.index, sealed(forged)).unwrap();
        let store = forge.home.store();
        // Times, calls and flags of an entry are believed; nothing else is, and no line ever.
        let told = told(&store, &forge.id).await;
        assert_eq!(told.lines, forge.expected.lines, "round {round}");
        let tree =
            osier_tree::SessionTree::restore(told.heads, |seq| read_entry(&told.lines[seq.index()]).ok());
        assert_eq!(tree.path(tree.leaf()).len(), ENTRIES, "round {round}");
    }
}

/// A process that may use so many KiB of memory.
fn small(kib: usize) -> Command {
    let mut shell = Command::new("sh");
    let exe = std::env::current_exe().unwrap();
    shell.arg("-c").arg(format!("ulimit -v {kib}; exec \"$0\" \"$@\"")).arg(exe);
    shell
}

#[tokio::test]
async fn no_lie_makes_a_reader_ask_for_much_memory() {
    let forge = Forge::new().await;
    let number = |at: usize| 8 + at * 8;
    let huge = u64::from(u32::MAX);
    for (at, bytes) in [
        (record(70, 24), u32::MAX.to_le_bytes().to_vec()),
        (record(70, 52), u32::MAX.to_le_bytes().to_vec()),
        (number(5), huge.to_le_bytes().to_vec()),
        (number(9), huge.to_le_bytes().to_vec()),
    ] {
        forge.forge(at, &bytes);
        // As long as it says it is, without using disk.
        let file = fs::OpenOptions::new().write(true).open(&forge.index).unwrap();
        file.set_len((huge / 63 + 2) * BLOCK as u64).unwrap();
        let job = Job { each_go: 1, ..Job::new(&forge.home, &forge.id, &format!("m{:02}", at % 64)) };
        let mut reader = Process::start_by(small(1 << 20), &job);
        reader.go();
        assert_eq!(reader.finish().len(), 1, "bytes {bytes:?} at {at}");
        fs::remove_file(&forge.index).unwrap();
        drop(file);
        forge.home.store().open(&forge.id).await.unwrap();
    }
}
