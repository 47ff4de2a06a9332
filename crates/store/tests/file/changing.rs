//! Files that change while a session is open: the next append reports it and never creates a file without a header.

use std::fs;

use osier_store::{Store, StoreError};

use crate::support::{Home, append, chain, file_of, header, lines_of, link, read_data};

fn file(count: usize) -> Vec<u8> {
    file_of(&header("one").to_line(), &chain(count))
}

#[tokio::test]
async fn a_deleted_file_is_not_created_again() {
    let home = Home::new();
    let (path, id) = home.put(&file(2));
    let store = home.store();
    let version = append(&store, &id, &[link(2)]).await.unwrap();
    fs::remove_file(&path).unwrap();
    for _ in 0..2 {
        let appended = store.append(&id, version, &[link(3)]).await;
        assert!(matches!(appended, Err(StoreError::Vanished { .. })), "{appended:?}");
        assert!(!path.exists());
    }
    let opened = store.open(&id).await;
    assert!(matches!(opened, Err(StoreError::Vanished { .. })), "{opened:?}");
    let reopened = home.store().append(&id, version, &[link(3)]).await;
    assert!(matches!(reopened, Err(StoreError::NotFound { .. })), "{reopened:?}");
    fs::write(&path, file(4)).unwrap();
    let appended = store.append(&id, version, &[link(4)]).await;
    assert!(matches!(appended, Err(StoreError::Replaced)), "{appended:?}");
    append(&store, &id, &[link(4)]).await.unwrap();
    assert_eq!(fs::read(&path).unwrap(), file(5));
}

#[tokio::test]
async fn a_file_that_became_shorter_is_not_written() {
    let home = Home::new();
    for left in [0, 10, file(0).len(), file(1).len(), file(3).len() - 1] {
        let (path, id) = home.put(&file(2));
        let store = home.store();
        let version = append(&store, &id, &[link(2)]).await.unwrap();
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(left as u64).unwrap();
        let appended = store.append(&id, version, &[link(3)]).await;
        assert!(matches!(appended, Err(StoreError::Shrunk { .. })), "{left} bytes: {appended:?}");
        let opened = store.open(&id).await;
        assert!(matches!(opened, Err(StoreError::Shrunk { .. })), "{left} bytes: {opened:?}");
        assert_eq!(fs::read(&path).unwrap(), file(3)[..left], "{left} bytes: nothing is written");
    }
}

#[tokio::test]
async fn a_file_renamed_over_the_log_is_another_log() {
    let home = Home::new();
    let (path, id) = home.put(&file(3));
    let store = home.store();
    let version = append(&store, &id, &[link(3)]).await.unwrap();
    let other = file_of(&header("two").to_line(), &chain(9)[5..]);
    fs::write(home.path("new"), &other).unwrap();
    fs::rename(home.path("new"), &path).unwrap();
    let appended = store.append(&id, version, &[link(4)]).await;
    assert!(matches!(appended, Err(StoreError::Replaced)), "{appended:?}");
    let opened = store.open(&id).await.unwrap();
    assert_eq!((&*opened.header.id, opened.version.entries), ("two", 4));
    assert_ne!(opened.version.generation, version.generation);
    assert_eq!(fs::read(&path).unwrap(), other);
}

#[tokio::test]
async fn a_log_that_became_something_else_is_refused_and_unchanged() {
    let home = Home::new();
    let (path, id) = home.put(&file(2));
    let store = home.store();
    let version = append(&store, &id, &[link(2)]).await.unwrap();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let appended = store.append(&id, version, &[link(3)]).await;
    assert!(matches!(appended, Err(StoreError::Replaced | StoreError::Io { .. })), "{appended:?}");
    let opened = store.open(&id).await;
    assert!(matches!(opened, Err(StoreError::NotASession { .. })), "{opened:?}");
    fs::remove_dir(&path).unwrap();
    for foreign in [&b""[..], b"a shopping list\n", b"{\"a\":1}\n", b"{\"type\":\"message\",\"id\":\"1\"}\n"]
    {
        fs::write(&path, foreign).unwrap();
        for store in [&store, &home.store()] {
            let appended = store.append(&id, version, &[link(3)]).await;
            assert!(appended.is_err(), "appended to {}", String::from_utf8_lossy(foreign));
            let opened = store.open(&id).await;
            assert!(matches!(opened, Err(StoreError::NotASession { .. })), "{opened:?}");
        }
        assert_eq!(fs::read(&path).unwrap(), foreign);
        fs::remove_file(&path).unwrap();
    }
}

/// Like an editor that keeps the inode: other text in the same file, not shorter than before.
#[tokio::test]
async fn a_log_edited_in_place_is_another_log() {
    for pad in [0, crate::support::INDEXED] {
        let home = Home::new();
        let long = crate::support::message("longlong", None, 0, &"x".repeat(pad));
        let before = [vec![long.clone()], chain(3)].concat();
        let (path, id) = home.put(&file_of(&header("one").to_line(), &before));
        let store = home.store();
        read_data(&store, &id).await;
        let version = store.open(&id).await.unwrap().version;
        drop(home.store().open(&id).await);
        let after = [vec![long, link(7)], chain(6)].concat();
        fs::write(&path, file_of(&header("one").to_line(), &after)).unwrap();
        let expected = read_data(&home.uncached_store(), &id).await;
        read_data(&home.store(), &id).await.assert_same(&expected, "by a new store");
        let late = store.append(&id, version, &[link(3)]).await;
        assert!(matches!(late, Err(StoreError::Replaced)), "{late:?}");
        read_data(&store, &id).await.assert_same(&expected, "by a store that had it open");
        append(&store, &id, &[link(8)]).await.unwrap();
        assert_eq!(lines_of(&home.uncached_store(), &id).await, [after, vec![link(8)]].concat());
    }
}

/// A new header of the same length changes neither the size nor the end of the file.
#[tokio::test]
async fn a_header_edited_in_place_makes_another_log() {
    for pad in [0, crate::support::INDEXED] {
        let home = Home::new();
        let long = crate::support::message("longlong", None, 0, &"x".repeat(pad));
        let entries = [vec![long], chain(3)].concat();
        let (path, id) = home.put(&file_of(&header("one").to_line(), &entries));
        let store = home.store();
        let version = append(&store, &id, &[link(3)]).await.unwrap();
        let before = fs::read_to_string(&path).unwrap();
        let after = before.replacen("\"one\"", "\"two\"", 1);
        fs::write(&path, &after).unwrap();
        let late = store.append(&id, version, &[link(4)]).await;
        assert!(matches!(late, Err(StoreError::Replaced)), "{late:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), after, "nothing is written");
        assert_eq!(store.open(&id).await.unwrap().header.id, "two");
    }
}
