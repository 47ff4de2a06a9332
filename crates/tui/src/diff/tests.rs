//! Diffs as they are drawn.

use expect_test::{Expect, expect};

use super::*;
use crate::text::plain;

const DIFF: &str = "--- a/x\n+++ b/x\n@@ -8,3 +8,4 @@\n a\n-let one = two;\n+let one = three;\n+--- added\n b\n@@ -40 +41 @@\n-c\n+d\n\\ No newline at end of file\n";

#[track_caller]
fn check(columns: usize, expected: Expect) {
    let lines = diff_lines(DIFF, columns, DiffCode::default());
    assert!(lines.iter().all(|line| line.width() <= columns));
    expected.assert_eq(&plain(&lines));
}

#[test]
fn rows_have_line_numbers_and_signs() {
    check(
        40,
        expect![[r#"
             8   a
             9 - let one = two;
             9 + let one = three;
            10 + --- added
            11   b
             ⋮ 
            40 - c
            41 + d
            \ No newline at end of file
        "#]],
    );
}

#[test]
fn a_wide_terminal_shows_the_old_and_the_new_text_side_by_side() {
    let lines = diff_lines(DIFF, 120, DiffCode::default());
    let text: Vec<String> =
        lines.iter().map(|line| line.plain().replace("     ", "").trim_end().to_owned()).collect();
    assert!(
        text[1].contains("9 - let one = two;") && text[1].contains("│  9 + let one = three;"),
        "{text:?}"
    );
    assert!(lines.iter().all(|line| line.width() <= 120));
}

#[test]
fn changed_words_have_a_background_of_their_own() {
    let rows = diff_rows(DIFF, DiffCode::default());
    assert_eq!(
        rows[1].to_markup(),
        "{dim on-removedBg| 9 }{removed on-removedBg bold|- }{removed on-removedBg|let one = }{removed on-removedWordBg|two}{removed on-removedBg|;}"
    );
    assert_eq!(rows[5].to_markup(), "{border| ⋮ }");
    assert_eq!(
        rows[6].to_markup(),
        "{dim on-removedBg|40 }{removed on-removedBg bold|- }{removed on-removedBg|c}"
    );
}

#[test]
fn a_text_that_is_not_a_unified_diff_is_shown_as_it_is() {
    assert_eq!(plain(&diff_lines("+1 a\n-2 b\n@@ odd\n", 40, DiffCode::default())), "+1 a\n-2 b\n@@ odd\n");
    assert_eq!(plain(&diff_lines("", 40, DiffCode::default())), "\n");
}

#[test]
fn a_diff_without_line_numbers_has_signs_backgrounds_and_changed_words() {
    let rows = unnumbered_diff_rows(
        "--- a/x\n@@ -1 +1 @@\n let a = 1;\n-let one = two;\n+let one = three;\n\nother",
    );
    assert_eq!(
        plain(&rows),
        "--- a/x\n@@ -1 +1 @@\n  let a = 1;\n- let one = two;\n+ let one = three;\n  \nother\n"
    );
    assert_eq!(
        rows[4].to_markup(),
        "{added on-addedBg bold|+ }{added on-addedBg|let one = }{added on-addedWordBg|three}{added on-addedBg|;}"
    );
    assert_eq!(rows[4].fill, Some(ColorRole::AddedBg));
}

#[test]
fn long_rows_are_wrapped_below_their_text() {
    let diff = format!("@@ -1 +1 @@\n-{}\n+b\n", "a".repeat(30));
    let lines = diff_lines(&diff, 20, DiffCode::default());
    assert_eq!(plain(&lines), "1 - aaaaaaaaaaaaaaaa\n↳ aaaaaaaaaaaaaa\n1 + b\n");
    assert!(lines[1].fill == Some(ColorRole::RemovedBg));
}

#[test]
fn unchanged_words_of_a_changed_line_have_the_colors_of_code() {
    let colors = CodeColors::at_once();
    let rows = diff_rows(
        "@@ -1,2 +1,2 @@\n /* both\n-let one = 2; */\n+let one = 3; */\n@@ -9 +9 @@\n-fn a() {}\n+fn a() { b() }\n",
        DiffCode::of_file("src/lib.rs", Some(&colors)),
    );
    let markup: Vec<String> = rows.iter().map(Line::to_markup).collect();
    assert_eq!(
        markup[1],
        "{dim on-removedBg|2 }{removed on-removedBg bold|- }{comment on-removedBg|let one = }{removed on-removedWordBg|2}{comment on-removedBg|; */}"
    );
    assert!(markup[5].contains("{keyword on-addedBg|fn}"), "{markup:#?}");
    assert!(markup[5].contains("on-addedWordBg|"), "{markup:#?}");
    let texts: Vec<String> = rows.iter().map(Line::plain).collect();
    assert_eq!(texts[5], "9 + fn a() { b() }");
}
