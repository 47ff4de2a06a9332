//! Rows and help lines wider than the screen.

use expect_test::expect;

use super::tests::{listed, tree};

const LONG: &str = "say one two three four five six seven eight nine ten eleven; reply short; say 一二三四五六七八九十一二三四五六七八九十";

#[test]
fn long_rows_scroll_horizontally_and_short_rows_stay() {
    let mut harness = tree(40, 24, LONG);
    harness.press("home shift+right");
    expect![[r#"
        / type to search
        › • …ree four five six seven eight …
          • assistant: "short"
          • …六七八九十一二三四五…  ← active
        (1/3)
    "#]]
    .assert_eq(&listed(&harness));
    harness.press("shift+right shift+right shift+right");
    expect![[r#"
        / type to search
        › • …ix seven eight nine ten eleven"
          • assistant: "short"
          • …一二三四五六七八九十"  ← active
        (1/3)
    "#]]
    .assert_eq(&listed(&harness));
    harness.press("shift+left shift+left shift+left");
    let back = listed(&harness);
    harness.press("down shift+right");
    assert_eq!(
        listed(&harness).matches("…").count(),
        back.matches("…").count(),
        "a short row does not scroll"
    );
}

#[test]
fn the_help_line_shows_the_most_important_keys_and_truncates_none() {
    for columns in [24, 40, 64, 100] {
        let harness = tree(columns, 20, "say a; reply b");
        let text = harness.text();
        let help = text.lines().find_map(|line| line.strip_prefix("╰─ ")).unwrap();
        let help = help.trim_end_matches('─').trim_end();
        assert!(help.starts_with("↑↓ enter select") && !help.contains('…'), "{help}");
        assert!(help.split(" · ").all(|piece| piece.split(' ').count() >= 2), "{help}");
    }
}
