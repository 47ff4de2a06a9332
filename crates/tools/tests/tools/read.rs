//! `read`.

use expect_test::expect;
use osier_tools::ResultBlock;
use serde_json::json;

use crate::support::TestProject;

#[tokio::test]
async fn small_file_is_returned_unchanged() {
    let project = TestProject::with(&[("a.txt", "one\n\ttwo ünï 😀\n")]);
    project
        .check(
            [("read", json!({ "path": "a.txt" }))],
            expect![[r#"
                > read {"path":"a.txt"}
                one
                	two ünï 😀
            "#]],
        )
        .await;
    let details = project.call("read", json!({ "path": "a.txt" })).await.details;
    assert_eq!(details["path"], "a.txt");
    assert_eq!(details["totalLines"], 2);
    assert_eq!(details["truncated"], false);
    assert_eq!(details["stamp"]["size"], 20);
    assert_eq!(details.get("outside"), None);
}

#[tokio::test]
async fn partial_read_says_which_lines_and_how_to_continue() {
    let text: String = (1..=9).map(|n| format!("line {n}\n")).collect();
    let project = TestProject::with(&[("a", &text)]);
    project
        .check(
            [
                ("read", json!({ "path": "a", "offset": 3, "limit": 2 })),
                ("read", json!({ "path": "a", "offset": 8, "limit": 5 })),
                ("read", json!({ "path": "a", "offset": 10 })),
            ],
            expect![[r#"
                > read {"path":"a","offset":3,"limit":2}
                line 3
                line 4

                [lines 3 to 4 of 9; continue with offset 5]
                > read {"path":"a","offset":8,"limit":5}
                line 8
                line 9

                [lines 8 to 9 of 9: the end]
                > read {"path":"a","offset":10}
                error: offset 10 is past the end: a has 9 lines
            "#]],
        )
        .await;
}

#[tokio::test]
async fn long_file_is_read_in_parts_of_2000_lines() {
    let text: String = (1..=5000).map(|n| format!("{n}\n")).collect();
    let project = TestProject::with(&[("a", &text)]);
    let text = project.result_text("read", json!({ "path": "a" })).await;
    assert!(
        text.ends_with("\n2000\n\n[lines 1 to 2000 of 5000; continue with offset 2001]\n"),
        "{}",
        &text[text.len() - 80..]
    );
    let text = project.result_text("read", json!({ "path": "a", "offset": 4001, "limit": 9999 })).await;
    assert!(
        text.starts_with("4001\n") && text.ends_with("\n5000\n\n[lines 4001 to 5000 of 5000: the end]\n")
    );
}

#[tokio::test]
async fn file_with_long_lines_is_read_in_parts_of_50_kilobytes() {
    let text = format!("{}\n", "é".repeat(500)).repeat(100);
    let project = TestProject::with(&[("a", &text)]);
    let outcome = project.call("read", json!({ "path": "a" })).await;
    assert_eq!(outcome.details["endLine"], 51);
    assert!(outcome.plain_text().ends_with("[lines 1 to 51 of 100; continue with offset 52]"));
}

#[tokio::test]
async fn line_of_megabytes_is_truncated_with_a_note() {
    let project = TestProject::with(&[("a", &("€".repeat(1 << 20) + "\nnext\n"))]);
    let text = project.result_text("read", json!({ "path": "a" })).await;
    let (line, note) = text.split_once('\n').unwrap();
    assert!(line.len() <= 50 * 1024 && line.chars().all(|c| c == '€'));
    expect![[r#"

        [line 1 is too long to show in full; view the rest with bash, for example with cut or jq; continue with offset 2]
    "#]].assert_eq(note);
}

#[tokio::test]
async fn empty_file_is_reported_as_empty() {
    let project = TestProject::with(&[("a", ""), ("bom", "\u{feff}"), ("lines", "\n\n")]);
    project
        .check(
            [("read", json!({ "path": "a" })), ("read", json!({ "path": "bom" }))],
            expect![[r#"
                > read {"path":"a"}
                [the file is empty]
                > read {"path":"bom"}
                [the file is empty]
            "#]],
        )
        .await;
    assert_eq!(project.call("read", json!({ "path": "lines" })).await.details["totalLines"], 2);
}

#[tokio::test]
async fn byte_order_mark_and_crlf_are_hidden_from_the_model() {
    let project = TestProject::new();
    project.write_file("a", b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n");
    assert_eq!(project.result_text("read", json!({ "path": "a" })).await, "one\ntwo\nthree\n");
}

#[tokio::test]
async fn binary_files_are_refused_with_a_hint() {
    let project = TestProject::new();
    project.write_file("a.bin", b"ELF\0\0\0data");
    project.write_file("utf16.txt", b"\xff\xfea\0b\0");
    project
        .check(
            [("read", json!({ "path": "a.bin" })), ("read", json!({ "path": "utf16.txt" }))],
            expect![[r#"
                > read {"path":"a.bin"}
                error: a.bin (10 bytes) is a binary file; look at it with bash, for example with file, strings or xxd
                > read {"path":"utf16.txt"}
                error: utf16.txt (6 bytes) is UTF-16 text; convert it first, for example with iconv
            "#]],
        )
        .await;
}

#[tokio::test]
async fn text_in_another_encoding_is_shown_with_a_warning() {
    let project = TestProject::new();
    project.write_file("latin1", b"caf\xe9\n");
    project
        .check(
            [("read", json!({ "path": "latin1" }))],
            expect![[r#"
                > read {"path":"latin1"}
                caf�

                [not valid UTF-8: invalid bytes are shown as �]
            "#]],
        )
        .await;
}

#[tokio::test]
async fn image_is_recognized_by_its_content() {
    let project = TestProject::new();
    // A GIF of one pixel.
    let gif = b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";
    project.write_file("picture.txt", gif);
    let outcome = project.call("read", json!({ "path": "picture.txt" })).await;
    expect![[r#"
        [picture.txt: image, 1×1 pixels]
    "#]]
    .assert_eq(&format!("{}\n", outcome.plain_text()));
    assert!(matches!(&outcome.content[1], ResultBlock::Image { mime_type, .. } if mime_type == "image/gif"));
    project.write_file("broken.png", b"\x89PNG\r\n\x1a\nnothing of use");
    let text = project.result_text("read", json!({ "path": "broken.png" })).await;
    assert!(text.starts_with("error: broken.png looks like an image, but it cannot be decoded"), "{text}");
}

#[tokio::test]
async fn missing_file_is_reported_with_a_suggestion() {
    let project = TestProject::with(&[("src/main.rs", ""), ("src/other.rs", "")]);
    project
        .check(
            [
                ("read", json!({ "path": "src/mian.rs" })),
                ("read", json!({ "path": "src/@zzz" })),
                ("read", json!({ "path": "scr/main.rs" })),
                ("read", json!({ "path": "src" })),
                ("read", json!({ "path": "src/main.rs/x" })),
                ("read", json!({ "path": "x".repeat(300) })),
            ],
            expect![[r#"
                > read {"path":"src/mian.rs"}
                error: cannot read src/mian.rs: no such file or folder; did you mean src/main.rs?
                > read {"path":"src/@zzz"}
                error: cannot read src/@zzz: no such file or folder; use find or ls to see what is there
                > read {"path":"scr/main.rs"}
                error: cannot read scr/main.rs: no such file or folder; the folder scr does not exist either
                > read {"path":"src"}
                error: src is a folder, not a file; use ls to list it
                > read {"path":"src/main.rs/x"}
                error: cannot read src/main.rs/x: a part of the path is a file, not a folder
                > read {"path":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                error: cannot read xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx: the name is too long or invalid
            "#]],
        )
        .await;
}

#[tokio::test]
async fn canceled_read_is_reported() {
    let project = TestProject::with(&[("a", "x")]);
    project.ctx.cancel.cancel();
    let outcome = project.call("read", json!({ "path": "a" })).await;
    assert!(outcome.is_error && outcome.details["cancelled"] == true);
}
