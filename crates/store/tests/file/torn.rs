//! Logs cut at any byte: complete lines are kept, torn lines are reported, and nothing is ever cut off.

use std::fs;

use osier_store::file::verify;
use osier_store::{Store, StoreError};

use crate::support::{Home, append, assert_lines, file_of, header, lines_of, link, message, read_data};

/// Lines of many kinds: multi-byte characters, a carriage return, an empty line, a line that is not an entry.
fn log() -> Vec<Vec<u8>> {
    vec![
        link(0),
        message("11111111", Some("00000000"), 1, "ä € 🚀 \\u00e9 \\n {\\\"id\\\":\\\"x\\\"}"),
        Vec::new(),
        [message("22222222", Some("11111111"), 2, "ends in CR"), b"\r".to_vec()].concat(),
        b"17".to_vec(),
        br#"{"type":"label","id":"a long id","parentId":"22222222","targetId":"11111111","label":"x"}"#
            .to_vec(),
        message("33333333", Some("a long id"), 3, "the last"),
    ]
}

/// The complete entries in these bytes.
fn complete(bytes: &[u8]) -> Vec<Vec<u8>> {
    let lines = bytes.split(|byte| *byte == b'\n');
    let is_whole = |line: &&[u8]| {
        log().iter().any(|complete| complete.len() > 2 && complete.trim_ascii() == line.trim_ascii())
    };
    lines.filter(is_whole).map(<[u8]>::to_vec).collect()
}

#[tokio::test]
async fn a_log_cut_at_any_byte_keeps_its_complete_lines_and_can_be_appended_to() {
    let header = header("one").to_line();
    let file = file_of(&header, &log());
    let home = Home::new();
    for cut in header.len()..=file.len() {
        let (path, id) = home.put(&file[..cut]);
        let entries = complete(&file[header.len()..cut]);
        let store = home.store();
        assert_lines(&lines_of(&store, &id).await, &entries, &format!("cut at {cut}"));
        assert_eq!(fs::read(&path).unwrap(), file[..cut], "reading changed the file");

        append(&store, &id, &[link(9)]).await.unwrap();
        let after = fs::read(&path).unwrap();
        let lf: &[u8] = if file[..cut].ends_with(b"\n") { b"" } else { b"\n" };
        assert_eq!(after, [&file[..cut], lf, &link(9), b"\n"].concat(), "cut at {cut}");
        let expected = [entries, vec![link(9)]].concat();
        let fresh = read_data(&home.uncached_store(), &id).await;
        assert_lines(&fresh.lines, &expected, &format!("cut at {cut}"));
        read_data(&store, &id).await.assert_same(&fresh, &format!("by the writer, cut at {cut}"));
    }
}

#[tokio::test]
async fn a_torn_line_is_reported_before_and_after_the_next_append() {
    let header = header("one").to_line();
    let home = Home::new();
    let line = link(0);
    for cut in 1..line.len() {
        let (path, id) = home.put(&[&header, b"\n".as_slice(), &line[..cut]].concat());
        let found = verify(&path).unwrap();
        assert_eq!(found.issues.len(), 1, "cut at {cut}");
        assert!(!found.is_sound() && found.issues[0].line == 2, "cut at {cut}: {:?}", found.issues);
        assert_eq!(home.store().open(&id).await.unwrap().invalid_lines, 1, "cut at {cut}");
        append(&home.store(), &id, &[link(1)]).await.unwrap();
        let found = verify(&path).unwrap();
        assert_eq!(found.issues.iter().filter(|issue| issue.damage && issue.line == 2).count(), 1);
        assert_eq!(home.store().open(&id).await.unwrap().invalid_lines, 1, "cut at {cut}");
    }
}

#[tokio::test]
async fn a_log_cut_inside_its_header_is_refused_and_unchanged() {
    let line = header("one").to_line();
    let home = Home::new();
    let version = {
        let (_, id) = home.put(&file_of(&line, &log()));
        home.store().open(&id).await.unwrap().version
    };
    for cut in 0..line.len() {
        let (path, id) = home.put(&line[..cut]);
        let store = home.store();
        let opened = store.open(&id).await;
        assert!(matches!(opened, Err(StoreError::NotASession { .. })), "cut at {cut}: {opened:?}");
        let appended = store.append(&id, version, &[link(0)]).await;
        assert!(matches!(appended, Err(StoreError::NotASession { .. })), "cut at {cut}: {appended:?}");
        assert_eq!(fs::read(&path).unwrap(), line[..cut]);
    }
}

#[tokio::test]
async fn a_complete_line_without_newline_is_an_entry_and_gets_its_newline_later() {
    let home = Home::new();
    let file = [file_of(&header("one").to_line(), &[link(0)]), link(1)].concat();
    let (path, id) = home.put(&file);
    let store = home.store();
    assert_eq!(lines_of(&store, &id).await, [link(0), link(1)]);
    assert!(verify(&path).unwrap().is_sound());
    append(&store, &id, &[link(2)]).await.unwrap();
    assert_eq!(fs::read(&path).unwrap(), [file, b"\n".to_vec(), link(2), b"\n".to_vec()].concat());
    assert_eq!(verify(&path).unwrap().issues, []);
}

/// A program that writes without checking the last line can join two lines.
#[tokio::test]
async fn old_and_new_readers_agree_on_a_line_joined_to_an_unterminated_one() {
    let home = Home::new();
    for pad in [0, crate::support::INDEXED] {
        let long = message(&crate::support::id(0), None, 0, &"x".repeat(pad));
        let file = [file_of(&header("one").to_line(), &[long]), link(1)].concat();
        let (path, id) = home.put(&file);
        let store = home.store();
        assert_eq!(read_data(&store, &id).await.entries, 2);
        drop(home.store().open(&id).await);
        fs::write(&path, [file, link(2), b"\n".to_vec(), link(3), b"\n".to_vec()].concat()).unwrap();
        let expected = read_data(&home.uncached_store(), &id).await;
        assert_eq!((expected.entries, expected.odd), (2, 1));
        read_data(&home.store(), &id).await.assert_same(&expected, "by an index");
        read_data(&store, &id).await.assert_same(&expected, "by a store that had it open");
    }
}
