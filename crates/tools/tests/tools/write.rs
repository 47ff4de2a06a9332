//! `write`.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use expect_test::expect;
use serde_json::json;

use crate::support::Project;

#[tokio::test]
async fn a_new_file_is_made_with_its_folders() {
    let project = Project::new();
    project
        .check(
            [("write", json!({ "path": "a/b/c.txt", "content": "one\ntwo\n" }))],
            expect![[r#"
                > write {"path":"a/b/c.txt","content":"one\ntwo\n"}
                created a/b/c.txt (2 lines, 8 bytes)
            "#]],
        )
        .await;
    assert_eq!(project.get("a/b/c.txt"), b"one\ntwo\n");
}

#[tokio::test]
async fn the_details_tell_what_changed() {
    let project = Project::with(&[("a", "one\ntwo\nthree\n")]);
    let outcome = project.call("write", json!({ "path": "a", "content": "one\n2\nthree\n" })).await;
    let mut details = outcome.details;
    details.as_object_mut().unwrap().remove("stamp").unwrap();
    expect![[r#"
        {
          "path": "a",
          "created": false,
          "diff": "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
          "firstChangedLine": 2,
          "added": 1,
          "removed": 1
        }
    "#]]
    .assert_eq(&format!("{details:#}\n"));
}

#[tokio::test]
async fn mode_and_owner_stay() {
    let project = Project::with(&[("run.sh", "old")]);
    let path = project.path("run.sh");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o751)).unwrap();
    let before = std::fs::metadata(&path).unwrap();
    project.call("write", json!({ "path": "run.sh", "content": "new" })).await;
    let after = std::fs::metadata(&path).unwrap();
    assert_eq!((after.mode(), after.uid(), after.gid()), (before.mode(), before.uid(), before.gid()));
    assert_ne!(after.ino(), before.ino(), "replaced whole");
}

#[tokio::test]
async fn a_new_file_is_as_readable_as_others() {
    let project = Project::new();
    project.call("write", json!({ "path": "tool", "content": "" })).await;
    project.put("plain", b"");
    let mode = |name: &str| std::fs::metadata(project.path(name)).unwrap().mode();
    assert_eq!(mode("tool"), mode("plain"));
}

#[tokio::test]
async fn nothing_is_left_behind() {
    let project = Project::with(&[("a", "old"), ("folder/x", "")]);
    project.call("write", json!({ "path": "a", "content": "new" })).await;
    assert!(project.call("write", json!({ "path": "folder", "content": "new" })).await.is_error);
    let names = project.told("ls", json!({})).await;
    assert_eq!(names, "a\nfolder/\n");
}

#[tokio::test]
async fn what_cannot_be_written_is_told() {
    let project = Project::with(&[("file", "x"), ("folder/x", "")]);
    project
        .check(
            [
                ("write", json!({ "path": "folder", "content": "" })),
                ("write", json!({ "path": "new/", "content": "" })),
                ("write", json!({ "path": "file/below", "content": "" })),
                ("write", json!({ "path": "n".repeat(300), "content": "" })),
                ("write", json!({ "path": ".", "content": "" })),
                ("write", json!({ "path": "/", "content": "" })),
            ],
            expect![[r#"
                > write {"path":"folder","content":""}
                error: folder is a folder, not a file: ls shows what is in it
                > write {"path":"new/","content":""}
                error: new/ ends with `/`: give the name of a file; its folders are made as needed
                > write {"path":"file/below","content":""}
                error: cannot change file/below: a part of the path is a file, not a folder
                > write {"path":"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn
                error: cannot change nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn: the name is too long or not allowed
                > write {"path":".","content":""}
                error: . is a folder, not a file: ls shows what is in it
                > write {"path":"/","content":""}
                error: / ends with `/`: give the name of a file; its folders are made as needed
            "#]],
        )
        .await;
}

#[tokio::test]
async fn line_ends_and_mark_that_read_hides_come_back() {
    let project = Project::new();
    project.put("a", b"\xef\xbb\xbfone\r\ntwo\r\n");
    project
        .check(
            [("write", json!({ "path": "a", "content": "one\n2\n" }))],
            expect![[r#"
                > write {"path":"a","content":"one\n2\n"}
                wrote a (2 lines, 11 bytes)
                kept the file's own line ends (CRLF) or byte order mark
            "#]],
        )
        .await;
    assert_eq!(project.get("a"), b"\xef\xbb\xbfone\r\n2\r\n");
    project.put("mixed", b"one\r\ntwo\n");
    project.call("write", json!({ "path": "mixed", "content": "1\n2\n" })).await;
    assert_eq!(project.get("mixed"), b"1\n2\n");
}

#[tokio::test]
async fn a_file_the_model_does_not_know_is_not_overwritten() {
    let mut project = Project::with(&[("a", "precious")]);
    let arguments = json!({ "path": "a", "content": "new" });
    project.track_files(&[]);
    project
        .check(
            [("write", arguments.clone())],
            expect![[r#"
                > write {"path":"a","content":"new"}
                error: a exists, and you have not read it: read it first, then write it whole, or use edit for a part
            "#]],
        )
        .await;
    assert!(project.preview("write", arguments.clone()).await.is_err(), "and nobody is asked");

    let read = project.call("read", json!({ "path": "./a" })).await.details;
    project.track_files(&[&read]);
    project.put("a", b"changed by somebody");
    project
        .check(
            [("write", arguments.clone())],
            expect![[r#"
                > write {"path":"a","content":"new"}
                error: a is no longer what you last saw: somebody changed it. Read it again, then write
            "#]],
        )
        .await;

    project.put("a", b"precious");
    let written = project.call("write", arguments.clone()).await;
    assert!(!written.is_error, "the same content again, whatever its time");
    project.track_files(&[&read, &written.details]);
    assert!(!project.call("write", json!({ "path": "a", "content": "newer" })).await.is_error);
}

#[tokio::test]
async fn a_binary_file_is_replaced_and_the_diff_says_so() {
    let project = Project::new();
    project.put("a", b"\0\x01\x02");
    let outcome = project.call("write", json!({ "path": "a", "content": "text\n" })).await;
    assert!(!outcome.is_error);
    assert_eq!(project.get("a"), b"text\n");
    let diff = outcome.details["diff"].as_str().unwrap();
    assert!(
        diff.ends_with("+text\n[the old content (3 bytes) is not text and is not shown; it is replaced]\n"),
        "{diff}"
    );
}

#[tokio::test]
async fn a_cancelled_write_writes_nothing() {
    let project = Project::new();
    project.ctx.cancel.cancel();
    assert!(project.call("write", json!({ "path": "a", "content": "" })).await.is_error);
    assert!(!project.path("a").exists());
}
