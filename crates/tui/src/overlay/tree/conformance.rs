//! The rules of pi's tree selector, one test each.

use expect_test::{Expect, expect};

use super::tests::{listed, tree};
use crate::testing::Harness;

const TREE: &str = "say a; reply b; say c; reply d; say e; move d; say f; move b; say g; reply h; say i";

fn shown(script: &str, keys: &str) -> String {
    let mut harness = tree(60, 60, script);
    harness.press(keys);
    listed(&harness)
}

#[track_caller]
fn check(script: &str, keys: &str, expected: Expect) {
    expected.assert_eq(&shown(script, keys));
}

/// The text of the selected row.
fn cursor(harness: &Harness) -> String {
    let rows = listed(harness);
    let row = rows.lines().find(|line| line.starts_with('›')).unwrap_or_default();
    row.trim_start_matches(['›', ' ', '│', '├', '└', '─', '⊟', '⊞', '•']).to_owned()
}

#[test]
fn a_hidden_leaf_preselects_its_nearest_visible_ancestor() {
    for change in ["model a/b", "thinking high", "model a/b; thinking low"] {
        let script = format!("say a; reply b; say c; move b; {change}");
        let harness = tree(60, 40, &script);
        assert_eq!(cursor(&harness), "assistant: \"b\"  ← active", "{change}");
    }
}

#[test]
fn the_user_only_filter_selects_the_question_and_leaving_it_keeps_the_selection() {
    let mut harness = tree(60, 40, "say a; reply b; say c; reply d calls read x; result y");
    harness.press("ctrl+u");
    assert_eq!(cursor(&harness), "user: \"c\"  ← active");
    harness.press("ctrl+u");
    assert_eq!(cursor(&harness), "user: \"c\"");
    harness.press("ctrl+a");
    assert_eq!(cursor(&harness), "user: \"c\"");
}

#[test]
fn a_filter_without_matches_hides_the_cursor_and_removing_it_restores_the_cursor() {
    let mut harness = tree(60, 40, "say a; reply b; say c; reply d");
    harness.press("up");
    for _ in 0..3 {
        harness.press("ctrl+l");
        assert!(listed(&harness).contains("(0/0) [labeled-only]"), "{}", listed(&harness));
        harness.press("enter L alt+c alt+d alt+v");
        assert_eq!(harness.take_actions(), "", "nothing is selected");
        harness.press("ctrl+l");
        assert_eq!(cursor(&harness), "user: \"c\"");
    }
}

#[test]
fn unfold_opens_a_branch_and_then_moves_to_the_end_of_the_segment() {
    for (left, right) in [("ctrl+left", "ctrl+right"), ("alt+left", "alt+right")] {
        let mut harness = tree(60, 60, TREE);
        harness.press(&format!("{left} {left}"));
        assert!(listed(&harness).contains("› └⊞ • user: \"g\"  ← active"), "{}", listed(&harness));
        harness.press(right);
        assert_eq!(cursor(&harness), "user: \"g\"");
        harness.press(right);
        assert_eq!(cursor(&harness), "user: \"i\"  ← active");
        harness.press(right);
        assert_eq!(cursor(&harness), "user: \"i\"  ← active", "already at the end");
    }
}

#[test]
fn folding_the_root_hides_everything_and_unfolding_it_keeps_inner_folds() {
    let folds = "alt+left alt+left home alt+left";
    check(
        TREE,
        folds,
        expect![[r#"
            / type to search
            › ⊞ • user: "a"  ← active
            (1/1)
        "#]],
    );
    check(
        TREE,
        &format!("{folds} alt+right"),
        expect![[r#"
            / type to search
            › • user: "a"
              • assistant: "b"
              ├⊟ user: "c"
              │  assistant: "d"
              │  ├─ user: "e"
              │  └─ user: "f"
              └⊞ • user: "g"  ← active
            (1/7)
        "#]],
    );
}

#[test]
fn an_inactive_branch_can_be_folded() {
    check(
        TREE,
        "home down down alt+left",
        expect![[r#"
            / type to search
              • user: "a"
              • assistant: "b"
            › ├⊞ user: "c"
              └⊟ • user: "g"
                 • assistant: "h"
                 • user: "i"  ← active
            (3/6)
        "#]],
    );
}

#[test]
fn one_of_several_roots_can_be_folded_and_folding_again_changes_nothing() {
    let script = "say a; reply b; root; say c; reply d";
    let folded = expect![[r#"
        / type to search
        › ⊞ user: "a"
          • user: "c"
             • assistant: "d"  ← active
        (1/3)
    "#]];
    folded.assert_eq(&shown(script, "home alt+left"));
    folded.assert_eq(&shown(script, "home alt+left alt+left"));
}

#[test]
fn a_fold_hides_entries_below_hidden_entries() {
    check(
        "say a; say b; thinking low; say c; move a; say d",
        "home down alt+left",
        expect![[r#"
            / type to search
              • user: "a"
            › ├⊞ user: "b"
              └─ • user: "d"  ← active
            (2/3)
        "#]],
    );
}

#[test]
fn changing_the_filter_or_search_opens_all_folds() {
    for keys in ["ctrl+t ctrl+t", "'x' backspace", "ctrl+o ctrl+shift+o"] {
        let unfolded = shown(TREE, &format!("home alt+left {keys}"));
        assert!(unfolded.contains("(1/9)"), "{keys}: {unfolded}");
    }
}

#[test]
fn only_the_all_filter_shows_bookkeeping_entries() {
    let script =
        "say a; custom state; hidden note x; model p/m; thinking high; name n; config k=1; reply b; spend 5";
    let rows = shown(script, "");
    assert!(rows.contains("(2/2)"), "{rows}");
    let rows = shown(script, "ctrl+a");
    for word in ["state", "note", "m]", "high", "n]"] {
        assert!(rows.contains(word), "{word}: {rows}");
    }
}

#[test]
fn a_reply_that_only_calls_tools_has_no_row() {
    for keys in ["", "ctrl+a"] {
        let rows = shown("say a; reply calls read x; result y; reply b", keys);
        assert!(!rows.contains("(no content)") && rows.contains("/3)"), "{rows}");
    }
    let harness = tree(60, 40, "say a; reply calls read x");
    assert!(
        cursor(&harness).ends_with("← active") && listed(&harness).contains("(2/2)"),
        "unless it is the current position"
    );
}
