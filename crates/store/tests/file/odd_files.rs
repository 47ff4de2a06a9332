//! Files that are not valid logs: clear errors or correct results, and foreign files are never changed.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use osier_store::file::verify;
use osier_store::{SessionFilter, Store, StoreError};

use crate::support::{
    Home, append, assert_lines, chain, file_of, header, lines_of, link, message, read_data,
};

/// Opens a file and checks that it is refused and not changed.
async fn check_refused(bytes: &[u8], expected: &str) {
    let home = Home::new();
    let (path, id) = home.put(bytes);
    let version = osier_store::LogVersion { generation: 1, entries: 0 };
    for error in [
        home.store().open(&id).await.map(drop),
        home.store().card(&id).await.map(drop),
        home.store().append(&id, version, &[link(0)]).await.map(drop),
        home.store().rewrite(&id, version, &[link(0)]).await.map(drop),
        verify(&path).map(drop),
    ] {
        let Err(StoreError::NotASession { reason, .. }) = error else { panic!("{error:?}") };
        assert_eq!(reason, expected);
    }
    assert_eq!(fs::read(&path).unwrap(), bytes, "the file was changed");
}

#[tokio::test]
async fn a_file_that_is_not_a_session_is_refused_and_unchanged() {
    check_refused(b"", "it has no session header").await;
    check_refused(b"\n\n \n", "it has no session header").await;
    check_refused(b"all\nsorts\nof text\n", "it has no session header").await;
    check_refused(&[0; 5000], "it has no session header").await;
    check_refused(&file_of(&link(0), &chain(3)), "it does not begin with a session header").await;
    check_refused(b"[1,2]\n{\"type\":\"session\",\"id\":\"x\"}", "it does not begin with a session header")
        .await;
    check_refused(b"{\"type\":\"session\",\"version\":3}\n", "its header has no id").await;
}

/// Opens a file with these lines after a header, and checks the entries. Appending works and does not change them.
async fn check_read(before: &[u8], lines: &[&[u8]], entries: &[Vec<u8>]) {
    let home = Home::new();
    let bytes = [before, &file_of(&header("one").to_line(), lines)].concat();
    let (path, id) = home.put(&bytes);
    let store = home.store();
    assert_lines(&lines_of(&store, &id).await, entries, "before an append");
    assert_eq!(store.open(&id).await.unwrap().header.id, "one");
    assert_eq!(fs::read(&path).unwrap(), bytes, "reading changed the file");
    append(&store, &id, &[link(99)]).await.unwrap();
    assert_eq!(fs::read(&path).unwrap(), [&bytes[..], &link(99), b"\n"].concat());
    assert_lines(
        &lines_of(&home.uncached_store(), &id).await,
        &[entries, &[link(99)]].concat(),
        "after an append",
    );
    read_data(&store, &id)
        .await
        .assert_same(&read_data(&home.uncached_store(), &id).await, "after an append");
}

#[tokio::test]
async fn a_header_alone_is_a_session() {
    check_read(b"", &[], &[]).await;
}

#[tokio::test]
async fn text_before_the_header_is_skipped() {
    check_read(b"junk\n\n  \nnull\n", &[&link(0)], &[link(0)]).await;
}

#[tokio::test]
async fn only_the_first_header_is_used() {
    let other = header("two").to_line();
    check_read(b"", &[&link(0), &other, &link(1)], &chain(2)).await;
}

#[tokio::test]
async fn carriage_returns_are_part_of_their_lines() {
    let lines: Vec<Vec<u8>> = chain(3).into_iter().map(|line| [line, b"\r".to_vec()].concat()).collect();
    let borrowed: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
    check_read(b"\r\n", &borrowed, &lines).await;
}

#[tokio::test]
async fn bytes_that_are_not_utf8_are_preserved() {
    let mut broken = link(1);
    let at = broken.len() - 5;
    broken.splice(at..at, *b"\xff\xc3\x28\xed\xa0\x80");
    check_read(b"", &[&link(0), &broken, &link(2)], &[link(0), broken.clone(), link(2)]).await;
}

#[tokio::test]
async fn zero_bytes_are_not_an_entry_and_do_not_affect_others() {
    let mut torn = link(1);
    torn[20..].fill(0);
    check_read(b"", &[&link(0), &torn, &[0; 4096], &link(2)], &[link(0), link(2)]).await;
    let inside = [link(0), vec![0; 3], link(1)].concat();
    check_read(b"", &[&inside, &link(2)], &[link(2)]).await;
}

#[tokio::test]
async fn a_line_of_64_mib_is_an_entry_like_any_other() {
    let home = Home::new();
    let huge = message("huge0000", Some("00000000"), 1, &"0123456789abcdef".repeat(4 << 20));
    let last = message("last0000", Some("huge0000"), 2, "small");
    let (_, id) = home.put(&file_of(&header("one").to_line(), &[link(0), huge.clone(), last.clone()]));
    // Once by reading the log, once by its index.
    for _ in 0..2 {
        let store = home.store();
        let lines = lines_of(&store, &id).await;
        assert!(lines[1] == huge, "a line of 64 MiB was changed");
        assert_eq!((&lines[0], &lines[2], lines.len()), (&link(0), &last, 3));
    }
    assert_eq!(append(&home.store(), &id, &[link(4)]).await.unwrap().entries, 4);
}

#[tokio::test]
async fn an_unreadable_file_gives_an_error_that_names_it() {
    let home = Home::new();
    fs::create_dir_all(home.sessions().join("here")).unwrap();
    let path = home.sessions().join("here/t_loop.jsonl");
    std::os::unix::fs::symlink(&path, &path).unwrap();
    for id in ["loop", &*path.display().to_string()] {
        let error = home.store().open(id).await.unwrap_err();
        assert!(matches!(error, StoreError::Io { .. } | StoreError::NotFound { .. }), "{error:?}");
    }
    home.store().create(&header("good"), &chain(1)).await.unwrap();
    let page = home.store().list(&SessionFilter::default()).await.unwrap();
    assert_eq!((page.cards.len(), page.unreadable.len()), (1, 1));
    assert!(page.unreadable[0].contains("t_loop.jsonl"), "{}", page.unreadable[0]);
}

/// Opening a pipe for reading blocks until a program writes to it.
#[tokio::test]
async fn a_pipe_with_the_name_of_a_session_does_not_block() {
    let home = Home::new();
    let path = home.store().create(&header("good"), &chain(1)).await.unwrap().file.unwrap();
    let pipe = path.with_file_name("t_pipe.jsonl");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let opened = home.store().open("pipe").await;
    assert!(matches!(opened, Err(StoreError::NotASession { .. })), "{opened:?}");
    assert!(matches!(verify(&pipe), Err(StoreError::NotASession { .. })));
    assert!(matches!(home.store().open("missing").await, Err(StoreError::NotFound { .. })));
    let page = home.store().list(&SessionFilter::default()).await.unwrap();
    assert_eq!((page.cards.len(), page.unreadable.len()), (1, 1));
}

/// The number of descriptors with which this process has a file open for writing.
fn open_to_write(path: &std::path::Path) -> usize {
    let fds = fs::read_dir("/proc/self/fd").unwrap().map(|fd| fd.unwrap());
    let ours = fds.filter(|fd| fs::read_link(fd.path()).is_ok_and(|target| target == path));
    let flags = ours.map(|fd| {
        let info =
            fs::read_to_string(std::path::Path::new("/proc/self/fdinfo").join(fd.file_name())).unwrap();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap().trim().to_owned();
        i32::from_str_radix(&flags, 8).unwrap()
    });
    flags.filter(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY).count()
}

#[tokio::test]
async fn reading_never_opens_a_file_for_writing() {
    let home = Home::new();
    for bytes in [
        file_of(&header("one").to_line(), &chain(3)),
        file_of(b"{\"type\":\"session\",\"id\":\"old\"}", &chain(1)),
    ] {
        let (path, id) = home.put(&bytes);
        let store = home.store();
        read_data(&store, &id).await;
        let _watch = store.watch(&id).await.unwrap();
        store.sync(&id).await.unwrap();
        store.list(&SessionFilter::default()).await.unwrap();
        assert_eq!(open_to_write(&path), 0);
        assert_eq!(fs::read(&path).unwrap(), bytes);
        append(&store, &id, &[link(9)]).await.unwrap();
        assert_eq!(open_to_write(&path), 1, "the check detects an open file");
    }
}

#[tokio::test]
async fn only_the_owner_can_access_files_and_folders() {
    let home = Home::new();
    let store = home.store();
    let long = message("longlong", None, 0, &"x".repeat(crate::support::INDEXED));
    let path = store.create(&header("one"), &[long]).await.unwrap().file.unwrap();
    append(&store, "one", &[link(0)]).await.unwrap();
    store.list(&SessionFilter::default()).await.unwrap();
    let version = store.open("one").await.unwrap().version;
    store.previews("one", version).await.unwrap();
    let _watch = store.watch("one").await.unwrap();
    store.rewrite_in_use("one", version, &chain(1)).await.unwrap();
    drop(store);
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let mut open = vec![home.sessions(), home.caches()];
    let mut seen = 0;
    while let Some(folder) = open.pop() {
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for path in crate::support::files_in(&folder) {
            if path.is_dir() {
                open.push(path);
                continue;
            }
            seen += 1;
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        }
    }
    assert!(
        path.exists() && seen >= 5,
        "only {seen} files: log, backup, cards, previews and a lock at least"
    );
}
