//! Keys in, screens out.

use expect_test::{Expect, expect};
use osier_agent::Navigated;

use crate::testing::Desk;

/// Two branches below `b`, a tool, a label.
const TALK: &str = "say a; reply b; say c; reply d; move b; say e; reply f calls read notes.txt; result text; reply g; label good on b; label here on e";

fn tree(columns: u16, rows: u16, script: &str) -> Desk {
    let mut desk = Desk::on(columns, rows, script);
    desk.open_tree();
    desk
}

/// The rows of the list after some keys.
fn rows(keys: &str) -> String {
    let mut desk = tree(60, 40, TALK);
    desk.press(keys);
    listed(&desk)
}

fn listed(desk: &Desk) -> String {
    let text = desk.text();
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("/ ")).collect();
    let end = lines.iter().position(|line| line.starts_with('(')).unwrap_or(lines.len() - 1);
    lines[..=end].iter().map(|line| format!("{line}\n")).collect()
}

#[track_caller]
fn check(keys: &str, expected: Expect) {
    expected.assert_eq(&rows(keys));
}

#[test]
fn the_tree_over_half_the_terminal() {
    let desk = tree(64, 24, TALK);
    desk.check(expect![[r#"
        > a

        b

        > e

        f

        ● read notes.txt
          1 line

        g

        Session tree
        ↑↓ enter go · escape leave · L label · ctrl+u user · ctrl+o fil…
        / type to search
          │  assistant: "d"
          └⊟ • [here] user: "e"
             • assistant: "f"
             • [read: notes.txt]
        ›    • assistant: "g"  ← active
        (8/8)
        00000009 2026-01-01 00:00  assistant: "g"
        code │ a/model │ #8 │ 5e551011
    "#]]);
}

#[test]
fn at_forty_columns_and_twelve_rows_it_can_be_used() {
    let mut desk = tree(
        40,
        12,
        "say 一二三四五六七八九十一二三四五六七八九十; reply b; label 名字; say c; move b; say 👩‍👩‍👧 d",
    );
    desk.press("up");
    desk.check(expect![[r#"

        > 👩‍👩‍👧 d

        Session tree
        ↑↓ enter go · escape leave · L label · …
        / type to search
          • user: "一二三四五六七八九十一二三四…
          • [名字] assistant: "b"
        › ├─ user: "c"
          └─ • user: "👩‍👩‍👧 d"  ← active
        (3/4)
        code │ a/model │ #3 │ 5e551011
    "#]]);
}

#[test]
fn up_and_down_go_round() {
    check(
        "down",
        expect![[r#"
        / type to search
        › • user: "a"
          • [good] assistant: "b"
          ├⊟ user: "c"
          │  assistant: "d"
          └⊟ • [here] user: "e"
             • assistant: "f"
             • [read: notes.txt]
             • assistant: "g"  ← active
        (1/8)
    "#]],
    );
    check(
        "down up up",
        expect![[r#"
        / type to search
          • user: "a"
          • [good] assistant: "b"
          ├⊟ user: "c"
          │  assistant: "d"
          └⊟ • [here] user: "e"
             • assistant: "f"
        ›    • [read: notes.txt]
             • assistant: "g"  ← active
        (7/8)
    "#]],
    );
}

#[test]
fn pages_do_not_go_round() {
    check(
        "pageUp left",
        expect![[r#"
        / type to search
        › • user: "a"
          • [good] assistant: "b"
          ├⊟ user: "c"
          │  assistant: "d"
          └⊟ • [here] user: "e"
             • assistant: "f"
             • [read: notes.txt]
             • assistant: "g"  ← active
        (1/8)
    "#]],
    );
    check(
        "right pageDown",
        expect![[r#"
        / type to search
          • user: "a"
          • [good] assistant: "b"
          ├⊟ user: "c"
          │  assistant: "d"
          └⊟ • [here] user: "e"
             • assistant: "f"
             • [read: notes.txt]
        ›    • assistant: "g"  ← active
        (8/8)
    "#]],
    );
    assert_eq!(rows("home"), rows("pageUp left"));
}

#[test]
fn each_filter_by_its_key_and_back_by_the_same() {
    check(
        "ctrl+u",
        expect![[r#"
        / type to search
          • user: "a"
          ├─ user: "c"
        › └─ • [here] user: "e"  ← active
        (3/3) [user-only]
    "#]],
    );
    check(
        "ctrl+t",
        expect![[r#"
        / type to search
          • user: "a"
          • [good] assistant: "b"
          ├⊟ user: "c"
          │  assistant: "d"
          └⊟ • [here] user: "e"
             • assistant: "f"
        ›    • assistant: "g"  ← active
        (7/7) [no-tools]
    "#]],
    );
    check(
        "ctrl+l",
        expect![[r#"
        / type to search
          • [good] assistant: "b"
        › • [here] user: "e"  ← active
        (2/2) [labeled-only]
    "#]],
    );
    check(
        "ctrl+a",
        expect![[r#"
        / type to search
          • user: "a"
          • [good] assistant: "b"
          ├⊟ user: "c"
          │  assistant: "d"
          ├─ [moved]
          └⊟ • [here] user: "e"
             • assistant: "f"
             • [read: notes.txt]
             • assistant: "g"
             • [label: good]
        ›    • [label: here]  ← active
        (11/11) [all]
    "#]],
    );
    for key in ["ctrl+u", "ctrl+t", "ctrl+l", "ctrl+a"] {
        assert_eq!(rows(&format!("{key} {key}")), rows(""), "{key}");
        assert_eq!(rows(&format!("{key} ctrl+d")), rows(""), "{key}");
    }
}

#[test]
fn filters_go_round_both_ways() {
    assert_eq!(rows("ctrl+o"), rows("ctrl+t"));
    assert_eq!(rows("ctrl+o ctrl+o"), rows("ctrl+u"));
    assert_eq!(rows("ctrl+shift+o"), rows("ctrl+a"));
    assert_eq!(rows("ctrl+o ctrl+o ctrl+o ctrl+o ctrl+o"), rows(""));
}

#[test]
fn words_are_searched_and_escape_clears_them_first() {
    check(
        "'user' space 'C'",
        expect![[r#"
        / user C
        › user: "c"
        (1/1)
    "#]],
    );
    check(
        "'zzz'",
        expect![[r#"
        / zzz
          nothing is shown; escape clears the search, ctrl+d the fi…
        (0/0)
    "#]],
    );
    assert_eq!(rows("'zzz' backspace backspace backspace"), rows(""));
    let mut desk = tree(60, 40, TALK);
    desk.press("'c' escape");
    assert_eq!(listed(&desk), rows(""));
    desk.press("escape");
    assert!(desk.state.overlays.is_empty());
}

#[test]
fn the_cursor_stays_with_its_entry_or_the_nearest_above() {
    // On the result; user messages only leave its question.
    check(
        "up ctrl+u",
        expect![[r#"
        / type to search
          • user: "a"
          ├─ user: "c"
        › └─ • [here] user: "e"  ← active
        (3/3) [user-only]
    "#]],
    );
    assert_eq!(rows("up ctrl+u ctrl+u"), rows("up"));
    assert_eq!(rows("up 'zzz' escape"), rows("up"));
}

#[test]
fn branches_fold_and_unfold() {
    check(
        "ctrl+left",
        expect![[r#"
        / type to search
          • user: "a"
          • [good] assistant: "b"
          ├⊟ user: "c"
          │  assistant: "d"
        › └⊟ • [here] user: "e"
             • assistant: "f"
             • [read: notes.txt]
             • assistant: "g"  ← active
        (5/8)
    "#]],
    );
    check(
        "ctrl+left ctrl+left",
        expect![[r#"
        / type to search
          • user: "a"
          • [good] assistant: "b"
          ├⊟ user: "c"
          │  assistant: "d"
        › └⊞ • [here] user: "e"  ← active
        (5/5)
    "#]],
    );
    assert_eq!(rows("ctrl+left ctrl+left ctrl+right"), rows("ctrl+left"));
    assert_eq!(rows("alt+left"), rows("ctrl+left"));
    check(
        "home ctrl+right",
        expect![[r#"
        / type to search
          • user: "a"
          • [good] assistant: "b"
        › ├⊟ user: "c"
          │  assistant: "d"
          └⊟ • [here] user: "e"
             • assistant: "f"
             • [read: notes.txt]
             • assistant: "g"  ← active
        (3/8)
    "#]],
    );
    // A filter opens what was folded.
    assert_eq!(rows("alt+left alt+left ctrl+t ctrl+t"), rows("alt+left"));
}

#[test]
fn a_label_is_edited_in_place_and_the_cursor_stays() {
    let mut desk = tree(60, 24, TALK);
    desk.press("home down L");
    desk.check(expect![[r#"
        > a

        b

        > e

        f

        ● read notes.txt
          1 line

        g

        Label (empty takes it away)
        > good
        enter takes it, escape goes back
        code │ a/model │ #8 │ 5e551011
    "#]]);
    desk.press("ctrl+u 'better' enter");
    assert_eq!(desk.asked(), "Label { entry: Some(\"00000002\"), label: Some(\"better\") }\n");
    desk.script.play("label better on b");
    desk.open_tree();
    assert!(desk.text().contains("› • [better] assistant: \"b\""), "{}", desk.text());
    desk.press("L ctrl+u enter");
    assert_eq!(desk.asked(), "Label { entry: Some(\"00000002\"), label: None }\n");
}

#[test]
fn label_times_are_shown_if_wanted() {
    let mut desk = tree(60, 24, TALK);
    desk.press("ctrl+l T");
    assert!(desk.text().contains("[good] 01-01 00:00 assistant"), "{}", desk.text());
}

#[test]
fn choosing_asks_about_a_summary_and_escape_goes_back_to_the_row() {
    let mut desk = tree(60, 24, TALK);
    desk.press("home down down");
    let before = desk.text();
    desk.press("enter");
    assert_eq!(desk.asked(), "");
    desk.check(expect![[r#"
        > a

        b

        > e

        f

        ● read notes.txt
          1 line

        g

        What of the branch you leave?
        › 1. no summary
          2. summarize
          3. summarize with own instructions
        ↑↓ and enter, or a number; escape goes back
        code │ a/model │ #8 │ 5e551011
    "#]]);
    desk.press("escape");
    assert_eq!(desk.text(), before);
    desk.press("enter enter");
    expect![[r#"
        Send(Navigate(Navigation { target: Some("00000003"), exact: false, summarize: false, instructions: None, replace_instructions: false, label: None, stop_turn: true }), Navigate)
    "#]].assert_eq(&desk.asked());
}

#[test]
fn a_summary_shows_its_progress_and_stopping_it_goes_back_to_the_row() {
    let mut desk = tree(60, 24, TALK);
    desk.press("home down down");
    desk.press("enter 3 'only' space 'files' enter");
    expect![[r#"
        Send(Navigate(Navigation { target: Some("00000003"), exact: false, summarize: true, instructions: Some("only files"), replace_instructions: false, label: None, stop_turn: true }), Navigate)
    "#]].assert_eq(&desk.asked());
    desk.live(osier_agent::Live::SummaryStarted { of: "branch" });
    desk.live(osier_agent::Live::SummaryText { text: "## Goal\nto see".to_owned() });
    desk.check(expect![[r#"
        > a

        b

        > e

        f

        ● read notes.txt
          1 line

        g

        moving, and summarizing what is left …
          ## Goal
          to see
        escape stops it; then nothing has changed
        ⣾ summarizing · 0 s · escape stops
        code │ a/model │ #8 │ 5e551011
    "#]]);
    desk.press("escape");
    assert_eq!(desk.asked(), "Send(Cancel, Cancel)\n");
    desk.moved(Navigated { cancelled: true, aborted: true, ..Navigated::default() });
    assert!(desk.text().contains("› ├⊟ user: \"c\""), "{}", desk.text());
    assert!(desk.text().contains("stopped; nothing has changed"), "{}", desk.text());
}

#[test]
fn where_one_stands_needs_no_question() {
    let mut desk = tree(60, 24, TALK);
    desk.press("enter");
    expect![[r#"
        Send(Navigate(Navigation { target: Some("00000009"), exact: false, summarize: false, instructions: None, replace_instructions: false, label: None, stop_turn: true }), Navigate)
    "#]].assert_eq(&desk.asked());
}

#[test]
fn two_marked_entries_are_compared() {
    let mut desk = tree(60, 24, TALK);
    desk.press("alt+c");
    assert!(desk.text().contains("mark a second entry to compare"));
    desk.press("home down down alt+c");
    assert_eq!(desk.asked(), "Compare(\"00000009\", \"00000003\")\n");
}

#[test]
fn a_branch_is_deleted_after_a_question_and_restored_at_once() {
    let mut desk = tree(60, 24, TALK);
    desk.press("home down down alt+d");
    assert!(desk.text().contains("Hide this entry and what is below it (2 rows)?"), "{}", desk.text());
    desk.press("enter");
    assert_eq!(desk.asked(), "");
    desk.press("alt+d 2");
    assert_eq!(desk.asked(), "DeleteBranch(\"00000003\")\n");
    desk.script.play("delete c");
    desk.open_tree();
    assert!(!desk.text().contains("user: \"c\""));
    desk.press("alt+h home down down");
    assert!(desk.text().contains("✗ user: \"c\""), "{}", desk.text());
    desk.press("alt+d");
    assert_eq!(desk.asked(), "RestoreBranch(\"00000003\")\n");
}

#[test]
fn keys_can_be_changed() {
    let mut desk = Desk::on(60, 40, TALK);
    let mut setting = crate::state::Setting::clone(&desk.state.setting);
    setting.keys.insert("tree.filter.user".to_owned(), "ctrl+y alt+y".to_owned());
    desk.state.setting = setting.into();
    desk.open_tree();
    desk.press("ctrl+y");
    assert_eq!(listed(&desk), rows("ctrl+u"));
    assert!(desk.text().contains("ctrl+y user"), "{}", desk.text());
    desk.press("ctrl+y ctrl+u");
    assert_eq!(listed(&desk), rows(""), "the old key does nothing");
}

#[test]
fn ten_thousand_entries_are_no_trouble() {
    let mut script = String::from("say a");
    for number in 0..5000 {
        script += &format!("; reply r{number}; say s{number}");
    }
    let mut desk = tree(80, 24, &script);
    desk.press("up pageUp home end ctrl+u 's4321'");
    assert!(desk.text().contains("user: \"s4321\""), "{}", desk.text());
    assert!(desk.text().contains("(1/1) [user-only]"), "{}", desk.text());
}

#[test]
fn an_empty_tree_is_a_word_and_no_panel() {
    let desk = tree(60, 24, "");
    assert!(desk.state.overlays.is_empty());
    assert!(desk.text().contains("the tree is empty"));
}
