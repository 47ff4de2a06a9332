//! A full disk: the append fails, the state in memory is unchanged, nothing is lost, and later appends work.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::process::Command;

use osier_store::file::verify;
use osier_store::{FileStore, Store, StoreError};
use osier_tree::Header;

use crate::process::{Job, Process};
use crate::support::{Home, append, chain, files_in, header, id, lines_of, link, read_data};

/// What the next write of this thread does.
#[derive(Clone, Copy)]
enum NextWrite {
    Works,
    /// Only this many bytes are written.
    Short(usize),
    Fails(ErrorKind),
    /// A program without locks writes this just before.
    After(&'static [u8]),
}

thread_local! {
    static NEXT: Cell<NextWrite> = const { Cell::new(NextWrite::Works) };
}

fn write(mut file: &File, bytes: &[u8]) -> io::Result<usize> {
    match NEXT.replace(NextWrite::Works) {
        NextWrite::Works => file.write(bytes),
        NextWrite::Short(len) => file.write(&bytes[..len.min(bytes.len())]),
        NextWrite::Fails(kind) => Err(kind.into()),
        NextWrite::After(foreign) => {
            file.write_all(foreign)?;
            file.write(bytes)
        }
    }
}

fn faulty(home: &Home) -> FileStore {
    home.store().with_write_fn(write)
}

fn is_full<T: std::fmt::Debug>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::StorageFull)
}

#[tokio::test]
async fn a_failed_write_changes_nothing() {
    let home = Home::new();
    let store = faulty(&home);
    let version = store.create(&header("one"), &chain(2)).await.unwrap().version;
    let before = read_data(&store, "one").await;
    NEXT.set(NextWrite::Fails(ErrorKind::StorageFull));
    let failed = store.append("one", version, &[link(2)]).await;
    assert!(is_full(&failed), "{failed:?}");
    read_data(&store, "one").await.assert_same(&before, "after the failure");
    store.append("one", version, &[link(2)]).await.unwrap();
    assert_eq!(lines_of(&home.uncached_store(), "one").await, chain(3));
    read_data(&store, "one").await.assert_same(&read_data(&home.uncached_store(), "one").await, "afterwards");
}

#[tokio::test]
async fn an_interrupted_write_is_retried() {
    let home = Home::new();
    let store = faulty(&home);
    let version = store.create(&header("one"), &chain(1)).await.unwrap().version;
    NEXT.set(NextWrite::Fails(ErrorKind::Interrupted));
    store.append("one", version, &[link(1)]).await.unwrap();
    assert_eq!(lines_of(&home.uncached_store(), "one").await, chain(2));
}

#[tokio::test]
async fn a_partial_write_is_an_error_and_can_be_retried() {
    let line = link(1);
    for len in 0..=line.len() {
        let home = Home::new();
        let store = faulty(&home);
        let created = store.create(&header("one"), &chain(1)).await.unwrap();
        let (version, path) = (created.version, created.file.unwrap());
        NEXT.set(NextWrite::Short(len));
        let failed = store.append("one", version, std::slice::from_ref(&line)).await;
        assert!(is_full(&failed), "{len} bytes: {failed:?}");
        assert_eq!(
            store.open("one").await.unwrap().version,
            version,
            "{len} bytes: the version in memory is unchanged"
        );
        assert_eq!(lines_of(&store, "one").await, chain(1));

        let again = store.append("one", version, std::slice::from_ref(&line)).await;
        if len == line.len() {
            // Everything except the newline: the line is complete, and readers find it.
            let Err(StoreError::Conflict { now }) = again else { panic!("{again:?}") };
            assert_eq!(now.entries, 2);
            assert_eq!(lines_of(&store, "one").await, chain(2));
            store.append("one", now, &[link(2)]).await.unwrap();
        } else {
            let now = again.unwrap();
            store.append("one", now, &[link(2)]).await.unwrap();
        }
        assert_eq!(lines_of(&store, "one").await, chain(3), "{len} bytes");
        read_data(&store, "one")
            .await
            .assert_same(&read_data(&home.uncached_store(), "one").await, "afterwards");
        let damage = verify(&path).unwrap().issues.iter().filter(|issue| issue.damage).count();
        assert_eq!(damage, 0, "{len} bytes: the torn line was not removed");
    }
}

#[tokio::test]
async fn a_partial_write_of_many_lines_reports_how_many_arrived() {
    let lines = chain(4);
    let bytes = lines[1..].iter().map(|line| line.len() + 1).sum::<usize>();
    for len in 0..bytes {
        let home = Home::new();
        let store = faulty(&home);
        let version = store.create(&header("one"), &lines[..1]).await.unwrap().version;
        NEXT.set(NextWrite::Short(len));
        assert!(is_full(&store.append("one", version, &lines[1..]).await), "{len} bytes");
        let arrived = lines_of(&home.uncached_store(), "one").await.len();
        match store.append("one", version, &lines[arrived..]).await {
            Ok(_) => assert_eq!(arrived, 1, "{len} bytes"),
            Err(StoreError::Conflict { now }) => {
                assert_eq!(now.entries, arrived, "{len} bytes");
                append(&store, "one", &lines[arrived..]).await.unwrap();
            }
            Err(error) => panic!("{len} bytes: {error}"),
        }
        assert_eq!(lines_of(&home.uncached_store(), "one").await, lines, "{len} bytes");
    }
}

#[tokio::test]
async fn an_append_does_not_join_a_line_left_unterminated_at_the_same_moment() {
    for (foreign, odd) in [
        (&b"{\"type\":\"mess"[..], 1),
        (br#"{"type":"custom","id":"foreign0","parentId":null}"#, 1),
        (b"{\"type\":\"custom\",\"id\":\"foreign0\",\"parentId\":null}\n", 0),
        (b"\n", 0),
    ] {
        let home = Home::new();
        let store = faulty(&home);
        let version = store.create(&header("one"), &chain(1)).await.unwrap().version;
        NEXT.set(NextWrite::After(foreign));
        store.append("one", version, &[link(1)]).await.unwrap();
        let data = read_data(&home.uncached_store(), "one").await;
        assert_eq!(
            (data.lines.last(), data.odd),
            (Some(&link(1)), odd),
            "{}",
            String::from_utf8_lossy(foreign)
        );
        read_data(&store, "one").await.assert_same(&data, "by the writer");
    }
}

/// A process with a file size limit of this many blocks, which acts like a full disk.
fn limited(blocks: usize) -> Command {
    let mut shell = Command::new("sh");
    let exe = std::env::current_exe().unwrap();
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    shell.arg("-c").arg(script).arg(exe);
    shell
}

#[tokio::test]
async fn a_file_at_its_size_limit_keeps_acknowledged_entries_and_can_grow_later() {
    let home = Home::new();
    let path = home.store().create(&header("one"), &chain(1)).await.unwrap().file.unwrap();
    let job = Job { per_round: 40, long: true, ..Job::new(&home, "one", "lim") };
    let mut process = Process::start_by(limited(64), &job);
    process.start_round();
    while process.acked.len() + process.messages.len() < 40 {
        assert!(process.read_output());
    }
    assert!(process.messages.iter().all(|message| message.starts_with("failed")), "{:?}", process.messages);
    assert!(process.acked.len() > 1 && process.messages.len() > 1, "some fit, some do not");
    assert!(fs::metadata(&path).unwrap().len() <= 64 * 1024);
    append(&home.store(), "one", &[link(1)]).await.unwrap();
    let found = verify(&path).unwrap();
    for id in process.acked.iter().chain([&id(0), &id(1)]) {
        assert!(found.tree.find(id).is_some(), "acknowledged {id} is lost");
    }
    assert!(found.issues.iter().filter(|issue| issue.damage).all(|issue| issue.what.contains("torn")));
    read_data(&home.store(), "one")
        .await
        .assert_same(&read_data(&home.uncached_store(), "one").await, "afterwards");
}

/// A folder that cannot be written simulates a disk without space for a new file.
#[tokio::test]
async fn creating_a_session_is_atomic() {
    let home = Home::new();
    fs::write(home.sessions(), "not a folder").unwrap();
    let created = home.store().create(&header("one"), &chain(2)).await;
    assert!(matches!(created, Err(StoreError::Io { .. })), "{created:?}");
    fs::remove_file(home.sessions()).unwrap();
    // The file name is too long for any file system, so that the last step fails.
    let header = Header::new("a", crate::support::DAY_ONE, "/here");
    let path = home.path("new").join(format!("{}.jsonl", "x".repeat(300)));
    let created = home.store().create_at(&path, &header, &chain(2)).await;
    assert!(matches!(created, Err(StoreError::Io { .. })), "{created:?}");
    assert!(files_in(&home.path("new")).is_empty(), "a partial file was left");
    let taken = home.path("new").join("taken.jsonl");
    fs::write(&taken, "mine").unwrap();
    let created = home.store().create_at(&taken, &header, &chain(2)).await;
    assert!(matches!(created, Err(StoreError::AlreadyExists { .. })), "{created:?}");
    assert_eq!(fs::read(&taken).unwrap(), b"mine");
    assert_eq!(files_in(&home.path("new")), [taken]);
}
