//! `write`.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use expect_test::expect;
use serde_json::json;

use crate::support::TestProject;

#[tokio::test]
async fn new_file_is_created_with_its_folders() {
    let project = TestProject::new();
    project
        .check(
            [("write", json!({ "path": "a/b/c.txt", "content": "one\ntwo\n" }))],
            expect![[r#"
                > write {"path":"a/b/c.txt","content":"one\ntwo\n"}
                created a/b/c.txt (2 lines, 8 bytes)
            "#]],
        )
        .await;
    assert_eq!(project.read_file("a/b/c.txt"), b"one\ntwo\n");
}

#[tokio::test]
async fn details_describe_the_change() {
    let project = TestProject::with(&[("a", "one\ntwo\nthree\n")]);
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
async fn mode_and_owner_are_kept() {
    let project = TestProject::with(&[("run.sh", "old")]);
    let path = project.path("run.sh");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o751)).unwrap();
    let before = std::fs::metadata(&path).unwrap();
    project.call("write", json!({ "path": "run.sh", "content": "new" })).await;
    let after = std::fs::metadata(&path).unwrap();
    assert_eq!((after.mode(), after.uid(), after.gid()), (before.mode(), before.uid(), before.gid()));
    assert_ne!(after.ino(), before.ino(), "the file was replaced");
}

#[tokio::test]
async fn new_file_has_the_default_mode() {
    let project = TestProject::new();
    project.call("write", json!({ "path": "tool", "content": "" })).await;
    project.write_file("plain", b"");
    let mode = |name: &str| std::fs::metadata(project.path(name)).unwrap().mode();
    assert_eq!(mode("tool"), mode("plain"));
}

#[tokio::test]
async fn no_temporary_files_are_left() {
    let project = TestProject::with(&[("a", "old"), ("folder/x", "")]);
    project.call("write", json!({ "path": "a", "content": "new" })).await;
    assert!(project.call("write", json!({ "path": "folder", "content": "new" })).await.is_error);
    let names = project.result_text("ls", json!({})).await;
    assert_eq!(names, "a\nfolder/\n");
}

#[tokio::test]
async fn path_that_cannot_be_written_is_reported() {
    let project = TestProject::with(&[("file", "x"), ("folder/x", "")]);
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
                error: folder is a folder, not a file; use ls to list it
                > write {"path":"new/","content":""}
                error: new/ ends with `/`: give a file name; missing folders are created
                > write {"path":"file/below","content":""}
                error: cannot change file/below: a part of the path is a file, not a folder
                > write {"path":"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn
                error: cannot change nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn: the name is too long or invalid
                > write {"path":".","content":""}
                error: . is a folder, not a file; use ls to list it
                > write {"path":"/","content":""}
                error: / ends with `/`: give a file name; missing folders are created
            "#]],
        )
        .await;
}

#[tokio::test]
async fn line_endings_and_byte_order_mark_are_restored() {
    let project = TestProject::new();
    project.write_file("a", b"\xef\xbb\xbfone\r\ntwo\r\n");
    project
        .check(
            [("write", json!({ "path": "a", "content": "one\n2\n" }))],
            expect![[r#"
                > write {"path":"a","content":"one\n2\n"}
                wrote a (2 lines, 11 bytes)
                kept the file's line endings (CRLF) or byte order mark
            "#]],
        )
        .await;
    assert_eq!(project.read_file("a"), b"\xef\xbb\xbfone\r\n2\r\n");
    project.write_file("mixed", b"one\r\ntwo\n");
    project.call("write", json!({ "path": "mixed", "content": "1\n2\n" })).await;
    assert_eq!(project.read_file("mixed"), b"1\n2\n");
}

#[tokio::test]
async fn file_that_the_model_has_not_seen_is_not_overwritten() {
    let mut project = TestProject::with(&[("a", "precious")]);
    let arguments = json!({ "path": "a", "content": "new" });
    project.track_files(&[]);
    project
        .check(
            [("write", arguments.clone())],
            expect![[r#"
                > write {"path":"a","content":"new"}
                error: a exists and you have not read it; read it first, or use edit to change part of it
            "#]],
        )
        .await;
    assert!(project.preview("write", arguments.clone()).await.is_err(), "the user is not asked");

    let read = project.call("read", json!({ "path": "./a" })).await.details;
    project.track_files(&[&read]);
    project.write_file("a", b"changed elsewhere");
    project
        .check(
            [("write", arguments.clone())],
            expect![[r#"
                > write {"path":"a","content":"new"}
                error: a changed since you last saw it; read it again, then write
            "#]],
        )
        .await;

    project.write_file("a", b"precious");
    let written = project.call("write", arguments.clone()).await;
    assert!(!written.is_error, "the content is the same, only the time differs");
    project.track_files(&[&read, &written.details]);
    assert!(!project.call("write", json!({ "path": "a", "content": "newer" })).await.is_error);
}

#[tokio::test]
async fn diff_says_that_binary_content_is_replaced() {
    let project = TestProject::new();
    project.write_file("a", b"\0\x01\x02");
    let outcome = project.call("write", json!({ "path": "a", "content": "text\n" })).await;
    assert!(!outcome.is_error);
    assert_eq!(project.read_file("a"), b"text\n");
    let diff = outcome.details["diff"].as_str().unwrap();
    assert!(diff.ends_with("+text\n[replaces 3 bytes of binary content, which is not shown]\n"), "{diff}");
}

#[tokio::test]
async fn canceled_write_changes_nothing() {
    let project = TestProject::new();
    project.ctx.cancel.cancel();
    assert!(project.call("write", json!({ "path": "a", "content": "" })).await.is_error);
    assert!(!project.path("a").exists());
}
