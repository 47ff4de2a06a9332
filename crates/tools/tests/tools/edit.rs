//! `edit`.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::support::TestProject;

fn edits(list: &[(&str, &str)]) -> Value {
    list.iter().map(|(old, new)| json!({ "oldText": old, "newText": new })).collect()
}

async fn check(file: &str, list: &[(&str, &str)], expect: Expect) {
    let project = TestProject::with(&[("a", file)]);
    let text = project.result_text("edit", json!({ "path": "a", "edits": edits(list) })).await;
    let after = String::from_utf8(project.read_file("a")).unwrap();
    let result = if after == file { "(unchanged)\n".to_owned() } else { after };
    expect.assert_eq(&format!("{text}---\n{result}"));
}

#[tokio::test]
async fn several_edits_can_be_in_any_order() {
    check(
        "one\ntwo\nthree\nfour\n",
        &[("three", "3"), ("one\n", "")],
        expect![[r#"
            edited 2 places in a (+1 −2)
            ---
            two
            3
            four
        "#]],
    )
    .await;
}

#[tokio::test]
async fn edits_apply_to_the_original_file() {
    check(
        "a b\n",
        &[("a", "b"), ("b", "c")],
        expect![[r#"
            edited 2 places in a (+1 −1)
            ---
            b c
        "#]],
    )
    .await;
}

#[tokio::test]
async fn one_failing_edit_prevents_all_edits() {
    check(
        "one\ntwo\n",
        &[("one", "1"), ("seven", "7"), ("", "x"), ("two", "two")],
        expect![[r#"
            error: nothing was changed in a
            edit 2 of 4: oldText is not in the file, and nothing similar is; read the file again
            edit 3 of 4: oldText is empty; give the text to replace, or use write for a whole file
            edit 4 of 4: oldText and newText are identical; there is nothing to change
            ---
            (unchanged)
        "#]],
    )
    .await;
}

#[tokio::test]
async fn ambiguous_text_is_reported_with_its_lines() {
    check(
        "x = 1\ny = 2\nx = 1\n",
        &[("x = 1", "x = 2")],
        expect![[r#"
            error: nothing was changed in a
            oldText occurs 2 times, at lines 1, 3; add lines before or after it until it is unique
            ---
            (unchanged)
        "#]],
    )
    .await;
    check(
        "aaa\n",
        &[("aa", "b")],
        expect![[r#"
            error: nothing was changed in a
            oldText occurs 2 times, at lines 1, 1; add lines before or after it until it is unique
            ---
            (unchanged)
        "#]],
    )
    .await;
}

#[tokio::test]
async fn overlapping_edits_are_refused() {
    check(
        "one two three\n",
        &[("one two", "1"), ("two three", "2")],
        expect![[r#"
            error: nothing was changed in a
            edits 1 and 2 overlap at line 1; merge them into one edit
            ---
            (unchanged)
        "#]],
    )
    .await;
}

#[tokio::test]
async fn whitespace_difference_is_described() {
    check(
        "fn a() {\n\tlet x = 1;\n}\n",
        &[("fn a() {\n    let x = 1;\n}", "")],
        expect![[r#"
            error: nothing was changed in a
            oldText matches at line 2 except for whitespace: tabs and spaces differ
              file:    →let x = 1;
              oldText: ····let x = 1;
            ---
            (unchanged)
        "#]],
    )
    .await;
    check(
        "if x:\n    y\n",
        &[("if x:\n  y\n", "")],
        expect![[r#"
            error: nothing was changed in a
            oldText matches at line 2 except for whitespace: the indentation differs
              file:    ····y
              oldText: ··y
            ---
            (unchanged)
        "#]],
    )
    .await;
    check(
        "one  \ntwo\n",
        &[("one\ntwo", "")],
        expect![[r#"
            error: nothing was changed in a
            oldText matches at line 1 except for whitespace: the trailing whitespace differs
              file:    one··
              oldText: one
            ---
            (unchanged)
        "#]],
    )
    .await;
    check(
        "a,  b\n",
        &[("a, b", "")],
        expect![[r#"
            error: nothing was changed in a
            oldText matches at line 1 except for whitespace: the whitespace between words differs
              file:    a,  b
              oldText: a, b
            ---
            (unchanged)
        "#]],
    )
    .await;
    check(
        "a\nb\n",
        &[("a\n\n\n", "")],
        expect![[r#"
            error: nothing was changed in a
            oldText matches at line 1 except for empty lines before or after it
            ---
            (unchanged)
        "#]],
    )
    .await;
}

#[tokio::test]
async fn closest_match_is_shown_at_the_first_difference() {
    let file = "use std::fs;\n\nfn read_config(path: &Path) -> Config {\n    parse(path)\n}\n";
    check(
        file,
        &[("fn read_config(path: &str) -> Config {", "")],
        expect![[r#"
            error: nothing was changed in a
            oldText is not in the file; the closest match differs at line 3
              file:    fn read_config(path: &Path) -> Config {
              oldText: fn read_config(path: &str) -> Config {
            ---
            (unchanged)
        "#]],
    )
    .await;
    check(
        file,
        &[("fn read_config(path: &Path) -> Config {\n    parse_file(path)\n", "")],
        expect![[r#"
            error: nothing was changed in a
            oldText is not in the file; the closest match differs at line 4
              file:    ····parse(path)
              oldText: ····parse_file(path)
            ---
            (unchanged)
        "#]],
    )
    .await;
    check(
        file,
        &[("parse(path)\n}\nfn next() {}\n", "")],
        expect![[r#"
            error: nothing was changed in a
            oldText continues past the last line of the file (5)
            ---
            (unchanged)
        "#]],
    )
    .await;
    check(
        file,
        &[("nothing of the kind whatsoever", "")],
        expect![[r#"
            error: nothing was changed in a
            oldText is not in the file, and nothing similar is; read the file again
            ---
            (unchanged)
        "#]],
    )
    .await;
    check(
        file,
        &[("\n\n\n\n", "")],
        expect![[r#"
            error: nothing was changed in a
            oldText is only whitespace and does not match; include lines with text
            ---
            (unchanged)
        "#]],
    )
    .await;
}

#[tokio::test]
async fn lookalike_characters_are_named() {
    check("say \u{2018}hello\u{2019}\n", &[("say 'hello'", "")], expect![[r#"
        error: nothing was changed in a
        oldText is not in the file; the closest match differs at line 1: ‘ (U+2018) in the file, ' (U+0027) in oldText
          file:    say ‘hello’
          oldText: say 'hello'
        ---
        (unchanged)
    "#]]).await;
    check(
        "width:\u{a0}10\n",
        &[("width: 10", "")],
        expect![[r#"
            error: nothing was changed in a
            oldText matches at line 1 except for whitespace: the whitespace between words differs
              file:    width:⍽10
              oldText: width: 10
            ---
            (unchanged)
        "#]],
    )
    .await;
}

#[tokio::test]
async fn crlf_and_byte_order_mark_are_kept() {
    let project = TestProject::new();
    project.write_file("a", b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n");
    let outcome =
        project.call("edit", json!({ "path": "a", "edits": edits(&[("one\ntwo\n", "1\n2\n2b\n")]) })).await;
    assert!(!outcome.is_error, "{}", outcome.plain_text());
    assert_eq!(project.read_file("a"), b"\xef\xbb\xbf1\r\n2\r\n2b\r\nthree\r\n");
    let outcome = project.call("edit", json!({ "path": "a", "edits": edits(&[("2b\r\nthree", "3")]) })).await;
    assert!(!outcome.is_error, "{}", outcome.plain_text());
    assert_eq!(project.read_file("a"), b"\xef\xbb\xbf1\r\n2\r\n3\r\n");
}

#[tokio::test]
async fn invalid_utf8_is_kept() {
    let project = TestProject::new();
    project.write_file("a", b"caf\xe9 uno\r\nlone\rcr\n");
    project.call("edit", json!({ "path": "a", "edits": edits(&[("uno", "two")]) })).await;
    assert_eq!(project.read_file("a"), b"caf\xe9 two\r\nlone\rcr\n");
}

#[tokio::test]
async fn unicode_is_matched_exactly() {
    check(
        "größe 😀 日本\n",
        &[("😀 日", "🎉 月")],
        expect![[r#"
            edited 1 place in a (+1 −1)
            ---
            größe 🎉 月本
        "#]],
    )
    .await;
}

#[tokio::test]
async fn details_describe_the_change() {
    let project = TestProject::with(&[("a", "one\ntwo\nthree\n")]);
    let mut details =
        project.call("edit", json!({ "path": "a", "edits": edits(&[("two", "2")]) })).await.details;
    details.as_object_mut().unwrap().remove("stamp").unwrap();
    expect![[r#"
        {
          "path": "a",
          "created": false,
          "diff": "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
          "firstChangedLine": 2,
          "added": 1,
          "removed": 1,
          "edits": 1
        }
    "#]]
    .assert_eq(&format!("{details:#}\n"));
}

#[tokio::test]
async fn concurrent_edits_of_one_file_are_all_applied() {
    let text: String = (0..20).map(|n| format!("line <{n}>\n")).collect();
    let project = std::sync::Arc::new(TestProject::with(&[("a", &text)]));
    let calls = (0..20).map(|n| {
        let project = project.clone();
        tokio::spawn(async move {
            let (old, new) = (format!("<{n}>"), format!("[{n}]"));
            project.call("edit", json!({ "path": "a", "edits": edits(&[(&old, &new)]) })).await.is_error
        })
    });
    for call in calls.collect::<Vec<_>>() {
        assert!(!call.await.unwrap());
    }
    assert_eq!(String::from_utf8(project.read_file("a")).unwrap(), text.replace('<', "[").replace('>', "]"));
}

#[tokio::test]
async fn editing_a_file_that_changed_gives_a_warning() {
    let mut project = TestProject::with(&[("a", "one\ntwo\n")]);
    let read = project.call("read", json!({ "path": "a" })).await.details;
    project.track_files(&[&read]);
    project.write_file("a", b"one\ntwo\nthree\n");
    project
        .check(
            [("edit", json!({ "path": "a", "edits": edits(&[("two", "2")]) }))],
            expect![[r#"
                > edit {"path":"a","edits":[{"oldText":"two","newText":"2"}]}
                edited 1 place in a (+1 −1)
                [the file changed since you last saw it; read it again before you rely on the rest of it]
            "#]],
        )
        .await;
    // With an exact match, the file need not be read before.
    project.track_files(&[]);
    project
        .check(
            [("edit", json!({ "path": "a", "edits": edits(&[("one", "1")]) }))],
            expect![[r#"
                > edit {"path":"a","edits":[{"oldText":"one","newText":"1"}]}
                edited 1 place in a (+1 −1)
            "#]],
        )
        .await;
}

#[tokio::test]
async fn file_that_cannot_be_edited_is_reported() {
    let project = TestProject::new();
    project.write_file("bin", b"a\0b");
    project
        .check(
            [
                ("edit", json!({ "path": "bin", "edits": edits(&[("a", "b")]) })),
                ("edit", json!({ "path": "none", "edits": edits(&[("a", "b")]) })),
                ("edit", json!({ "path": ".", "edits": edits(&[("a", "b")]) })),
            ],
            expect![[r#"
                > edit {"path":"bin","edits":[{"oldText":"a","newText":"b"}]}
                error: bin is a binary file; look at it with bash, for example with file, strings or xxd
                > edit {"path":"none","edits":[{"oldText":"a","newText":"b"}]}
                error: cannot edit none: no such file or folder; use find or ls to see what is there
                > edit {"path":".","edits":[{"oldText":"a","newText":"b"}]}
                error: . is a folder, not a file; use ls to list it
            "#]],
        )
        .await;
}

#[tokio::test]
async fn closest_match_is_found_in_a_large_file() {
    let text: String =
        (0..50_000).map(|n| format!("    let value_{n} = compute(value_{}, context);\n", n / 2)).collect();
    let project = TestProject::with(&[("a", &text)]);
    let text = project
        .result_text("edit", json!({ "path": "a", "edits": edits(&[("let value = compute(context)", "x")]) }))
        .await;
    assert!(text.starts_with("error: nothing was changed"));
}
