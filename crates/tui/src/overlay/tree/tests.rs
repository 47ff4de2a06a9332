//! Presses keys and checks the screen.

use std::sync::Arc;

use expect_test::{Expect, expect};
use osier_protocol::{EntryId, MoveReply, TreeSnapshot};

use crate::msg::Msg;
use crate::testing::{Harness, tree_snapshot};

/// Two branches below `b`, a tool, a label.
pub(super) const TALK: &str = "say a; reply b; say c; reply d; move b; say e; reply f calls read notes.txt; result text; reply g; label good on b; label here on e";

pub(super) fn tree(columns: u16, rows: u16, script: &str) -> Harness {
    let mut harness = Harness::with_session(columns, rows, script);
    harness.open_tree();
    harness
}

/// The rows of the list after some keys.
fn rows(keys: &str) -> String {
    let mut harness = tree(60, 40, TALK);
    harness.press(keys);
    listed(&harness)
}

/// The search, the rows and the position, without the frame and the preview.
pub(super) fn listed(harness: &Harness) -> String {
    let text = harness.text();
    let mut lines = text.lines().skip_while(|line| !line.starts_with("╭─ Session tree"));
    let title = lines.next().unwrap_or_default().trim_start_matches("╭─ Session tree").trim_end_matches('─');
    let (position, rest) = title.trim().split_once(' ').unwrap_or((title.trim(), ""));
    let is_preview = |line: &str| line.len() > 9 && line.as_bytes()[..8].iter().all(u8::is_ascii_hexdigit);
    let rows = lines.map(|line| line.strip_prefix("│ ").unwrap_or(line));
    let rows = rows.take_while(|line| !line.starts_with('╰') && !is_preview(line));
    let rows: String = rows.map(|line| format!("{line}\n")).collect();
    let filter = if rest.is_empty() { String::new() } else { format!(" {rest}") };
    format!("{rows}({position}){filter}\n")
}

#[track_caller]
fn check(keys: &str, expected: Expect) {
    expected.assert_eq(&rows(keys));
}

/// A search in other sessions leads to the message that it found.
#[test]
fn a_tree_that_is_requested_for_an_entry_opens_at_it() {
    let mut harness = Harness::with_session(60, 40, TALK);
    let entry: EntryId = harness.script.id("d").into();
    harness.update(Msg::ShowEntry(entry.clone()));
    let wanted = format!("ReadFirstRows {{ filter: Default, around: Some({entry:?}) }}\n");
    assert_eq!(harness.take_actions(), wanted);
    harness.open_tree();
    let rows = listed(&harness);
    let selected = rows.lines().find(|line| line.starts_with('›'));
    assert!(selected.is_some_and(|line| line.contains("assistant: \"d\"")), "{rows}");
}

#[test]
fn the_first_rows_are_shown_while_the_texts_of_the_others_are_read() {
    let mut harness = Harness::with_session(60, 40, TALK);
    let whole = tree_snapshot(&harness.script);
    let is_read = |text: &String| text == "assistant: \"g\"";
    let texts = whole.tree.heads().iter().map(|(seq, _)| whole.preview(seq).into_owned());
    let texts: Vec<String> = texts.map(|text| Some(text).filter(is_read).unwrap_or_default()).collect();
    let first = TreeSnapshot::new(whole.tree.clone(), whole.leaf, Arc::new(texts)).partial(true);
    harness.press("alt+t");
    harness.take_actions();
    harness.update(Msg::Tree(Box::new(first)));
    assert_eq!(harness.take_actions(), "RefreshTree\n");
    let rows = listed(&harness);
    assert!(rows.contains("assistant: \"g\"  ← active") && rows.contains("• …\n"), "{rows}");
    harness.press("'user'");
    assert!(listed(&harness).contains("reading the session…"), "{}", listed(&harness));
    harness.update(Msg::TreeChanged(Box::new(whole)));
    let rows = listed(&harness);
    assert!(rows.contains("user: \"a\"") && !rows.contains('…'), "{rows}");
}

/// The tree of [`TALK`] with and without the texts.
fn complete_and_partial(harness: &Harness) -> (TreeSnapshot, TreeSnapshot) {
    let complete = tree_snapshot(&harness.script);
    let texts = Arc::new(vec![String::new(); complete.tree.len()]);
    let partial = TreeSnapshot::new(complete.tree.clone(), complete.leaf, texts).partial(true);
    (complete, partial)
}

#[test]
fn texts_that_are_known_are_not_forgotten() {
    let mut harness = Harness::with_session(60, 40, TALK);
    let (complete, partial) = complete_and_partial(&harness);
    harness.press("alt+t alt+t");
    let request = "ReadFirstRows { filter: Default, around: None }\n";
    assert_eq!(harness.take_actions(), request, "the second key requests nothing");
    harness.update(Msg::Tree(Box::new(partial.clone())));
    assert_eq!(harness.take_actions(), "RefreshTree\n");
    harness.update(Msg::TreeChanged(Box::new(complete)));
    harness.update(Msg::Tree(Box::new(partial)));
    assert!(!listed(&harness).contains('…'), "{}", listed(&harness));
    harness.run_steps("say more");
    harness.take_actions();
    let (_, longer) = complete_and_partial(&harness);
    harness.update(Msg::Tree(Box::new(longer)));
    assert_eq!(harness.take_actions(), "RefreshTree\n", "the texts of a longer tree are read");
}

#[test]
fn a_tree_whose_texts_cannot_be_read_says_so() {
    let mut harness = Harness::with_session(60, 40, TALK);
    let (complete, partial) = complete_and_partial(&harness);
    harness.press("alt+t");
    harness.update(Msg::Tree(Box::new(partial)));
    harness.press("'user'");
    assert!(listed(&harness).contains("reading the session…"), "{}", listed(&harness));
    harness.update(Msg::TreeFailed("no such file".to_owned()));
    assert!(listed(&harness).contains("the session cannot be read"), "{}", listed(&harness));
    assert!(harness.text().contains("no such file"), "{}", harness.text());
    harness.update(Msg::TreeChanged(Box::new(complete)));
    assert!(listed(&harness).contains("user: \"a\""), "{}", listed(&harness));
}

#[test]
fn the_tree_uses_a_small_terminal_whole() {
    let harness = tree(64, 24, TALK);
    harness.check(expect![[r#"
        b

        > e

        f

        ● read notes.txt
          1 line

        g

        ╭─ Session tree  8/8 ───────────────────────────────────────────
        │ / type to search
        │   • user: "a"
        │   • [good] assistant: "b"
        │   ├⊟ user: "c"
        │   │  assistant: "d"
        │   └⊟ • [here] user: "e"
        │      • assistant: "f"
        │      • [read: notes.txt]
        │ ›    • assistant: "g"  ← active
        │ 00000009 2026-01-01 00:00  assistant: "g"
        ╰─ ↑↓ enter select · esc cancel · ctrl+left fold ───────────────
        code │ a/model │ #8 │ 5e551011
    "#]]);
}

#[test]
fn the_tree_is_usable_at_forty_columns_and_twelve_rows() {
    let mut harness = tree(
        40,
        12,
        "say 一二三四五六七八九十一二三四五六七八九十; reply b; label 名字; say c; move b; say 👩‍👩‍👧 d",
    );
    harness.press("up");
    harness.check(expect![[r#"
        b

        > 👩‍👩‍👧 d

        ╭─ Session tree  3/4 ───────────────────
        │ / type to search
        │   • user: "一二三四五六七八九十一二…
        │   • [名字] assistant: "b"
        │ › ├─ user: "c"
        │   └─ • user: "👩‍👩‍👧 d"  ← active
        ╰─ ↑↓ enter select · esc cancel ────────
        code │ a/model │ #3 │ 5e551011
    "#]]);
}

#[test]
fn up_and_down_wrap_around() {
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
fn page_up_and_page_down_do_not_wrap_around() {
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
fn each_filter_key_toggles_its_filter() {
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
            ›    • assistant: "g"
                 • [label: good]
                 • [label: here]  ← active
            (9/11) [all]
        "#]],
    );
    for key in ["ctrl+u", "ctrl+t", "ctrl+l", "ctrl+a"] {
        // No labeled row is above the first row, so the last labeled row is selected.
        let back = if key == "ctrl+l" { "home down down down down" } else { "home" };
        assert_eq!(rows(&format!("home {key} {key}")), rows(back), "{key}");
        assert_eq!(rows(&format!("home {key} ctrl+d")), rows(back), "{key}");
    }
}

#[test]
fn filters_cycle_in_both_directions() {
    assert_eq!(rows("ctrl+o"), rows("ctrl+t"));
    assert_eq!(rows("ctrl+o ctrl+o"), rows("ctrl+u"));
    assert_eq!(rows("ctrl+o ctrl+o ctrl+o"), rows("ctrl+u ctrl+l"));
    assert_eq!(rows("ctrl+shift+o"), rows("ctrl+a"));
    let round = rows("home ctrl+o ctrl+o ctrl+o ctrl+o ctrl+o");
    assert!(round.contains("/8)\n"), "{round}");
}

#[test]
fn typing_searches_and_escape_clears_the_search_first() {
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
              no match; esc clears the search, ctrl+d resets the fi…
            (0/0)
        "#]],
    );
    assert_eq!(rows("'zzz' backspace backspace backspace"), rows(""));
    let mut harness = tree(60, 40, TALK);
    harness.press("'user' space 'c' escape");
    assert_eq!(listed(&harness), rows("home down down"), "the match stays selected among all rows");
    harness.press("escape");
    assert!(harness.state.overlays.is_empty());
}

#[test]
fn in_a_search_letters_are_text_and_a_slash_starts_one() {
    let search = |keys: &str| rows(keys).lines().next().unwrap_or_default().to_owned();
    assert_eq!(search("'fooList'"), "/ fooList");
    assert_eq!(search("'/List'"), "/ List");
    assert_eq!(search("'/T'"), "/ T");
    assert_eq!(search("'a/b'"), "/ a/b");
    assert_eq!(search("'/'"), "/");
    assert_eq!(search("'/' escape"), "/ type to search");
    let mut harness = tree(60, 40, TALK);
    harness.press("'/L' backspace 'L'");
    assert!(harness.text().contains("save label"), "without a search, L is a key: {}", harness.text());
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
    // Changing the filter opens all folds.
    assert_eq!(rows("alt+left alt+left ctrl+t ctrl+t"), rows("alt+left"));
}

#[test]
fn a_label_is_edited_in_its_row_and_the_selection_stays() {
    let mut harness = tree(60, 40, TALK);
    harness.press("home down L 'x'");
    expect![[r#"
        / type to search
          • user: "a"
        › • [goodx] assistant: "b"
          ├⊟ user: "c"
          │  assistant: "d"
          └⊟ • [here] user: "e"
             • assistant: "f"
             • [read: notes.txt]
             • assistant: "g"  ← active
        (2/8)
    "#]]
    .assert_eq(&listed(&harness));
    harness.press("escape");
    assert_eq!(listed(&harness), rows("home down"), "escape changes nothing");
    harness.press("L ctrl+u 'better' enter");
    assert_eq!(
        harness.take_actions(),
        "Send(Label { entry: Some(\"00000002\"), label: Some(\"better\") }, Mark)\n"
    );
    harness.script.run_steps("label better on b");
    harness.refresh_tree();
    assert!(harness.text().contains("› • [better] assistant: \"b\""), "{}", harness.text());
    harness.press("L ctrl+u enter");
    assert_eq!(harness.take_actions(), "Send(Label { entry: Some(\"00000002\"), label: None }, Mark)\n");
}

#[test]
fn a_label_stored_after_the_tree_closed_does_not_reopen_it() {
    let mut harness = tree(60, 40, TALK);
    harness.press("L 'x' enter escape");
    harness.refresh_tree();
    assert!(harness.state.overlays.is_empty());
}

#[test]
fn label_times_can_be_shown() {
    let mut harness = tree(60, 24, TALK);
    harness.state.clock.now = osier_tree::time::parse("2026-01-01T05:00:00Z").unwrap();
    harness.press("ctrl+l T");
    assert!(harness.text().contains("[good] 00:00 assistant"), "{}", harness.text());
    harness.state.clock.now = osier_tree::time::parse("2027-01-01T05:00:00Z").unwrap();
    harness.press("down");
    assert!(harness.text().contains("[good] 26/1/1 00:00 assistant"), "{}", harness.text());
    harness.press("T");
    assert!(harness.text().contains("[good] assistant"), "{}", harness.text());
}

#[test]
fn new_entries_appear_and_the_selection_stays() {
    let mut harness = tree(60, 40, TALK);
    harness.press("home");
    harness.run_steps("say more");
    assert_eq!(harness.take_actions(), "RefreshTree\n");
    harness.refresh_tree();
    assert!(listed(&harness).contains("user: \"more\"  ← active\n(1/9)"), "{}", listed(&harness));
}

#[test]
fn an_entry_can_be_viewed_copied_or_grafted() {
    let mut harness = tree(60, 24, TALK);
    harness.press("home alt+v ctrl+x");
    assert_eq!(harness.take_actions(), "ReadEntry(\"00000001\")\nCopyEntry(\"00000001\")\n");
    harness.press("down down down alt+g");
    expect![[r#"
        Send(Graft { tip: "00000004", summarize: false, instructions: None }, Graft)
    "#]]
    .assert_eq(&harness.take_actions());
    assert!(harness.text().contains("Grafting the branch…"), "{}", harness.text());
    let failed = Err("no model".to_owned());
    harness.update(crate::msg::Msg::Replied(crate::msg::CommandPurpose::Graft, Box::new(failed)));
    assert!(
        harness.text().contains("›  │  assistant: \"d\"") || harness.text().contains("› │  assistant: \"d\"")
    );
}

#[test]
fn moves_can_be_undone_and_redone_from_the_tree() {
    let mut harness = tree(60, 24, TALK);
    harness.press("alt+u alt+r");
    assert_eq!(harness.take_actions(), "Send(Undo, Undo)\nSend(Redo, Redo)\n");
}

#[test]
fn a_large_terminal_shows_more_keys_and_a_longer_preview() {
    let mut harness = tree(200, 60, TALK);
    harness.press("home");
    let text = harness.text();
    let panel: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("╭─ Session tree")).collect();
    expect![[r#"
        ╭─ Session tree  1/8 ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
        │ / type to search
        │ › • user: "a"
        │   • [good] assistant: "b"
        │   ├⊟ user: "c"
        │   │  assistant: "d"
        │   └⊟ • [here] user: "e"
        │      • assistant: "f"
        │      • [read: notes.txt]
        │      • assistant: "g"  ← active
        │ 00000001 2026-01-01 00:00  user: "a"
        ╰─ ↑↓ enter select · esc cancel · ctrl+left fold · alt+c compare · alt+u undo · L label · ctrl+u user only · ctrl+o next filter · ctrl+a show all · ctrl+right unfold · alt+v view · alt+d delete ──────
        code │ a/model │ #8 │ 5e551011
    "#]]
    .assert_eq(&(panel.join("\n") + "\n"));
}

#[test]
fn settings_choose_the_initial_filter_and_order() {
    let mut harness = Harness::with_session(60, 40, TALK);
    let mut config = crate::state::UiConfig::clone(&harness.state.config);
    config.tree_filter = osier_protocol::outline::OutlineFilter::UserOnly;
    config.active_first = true;
    harness.state.config = config.into();
    harness.open_tree();
    expect![[r#"
        / type to search
          • user: "a"
        › ├─ • [here] user: "e"  ← active
          └─ user: "c"
        (2/3) [user-only]
    "#]]
    .assert_eq(&listed(&harness));
}

#[test]
fn selecting_asks_about_a_summary_and_escape_returns_to_the_row() {
    let mut harness = tree(60, 24, TALK);
    harness.press("home down down");
    let before = harness.text();
    harness.press("enter");
    assert_eq!(harness.take_actions(), "");
    harness.check(expect![[r#"

        > a

        b

        > e

        f

        ● read notes.txt
          1 line

        g

        ╭─ Summarize the branch you are leaving? ───────────────────
        │ › 1. no summary
        │   2. summarize
        │   3. summarize with custom instructions
        ╰─ ↑↓ move · enter or number select · esc cancel ───────────
        code │ a/model │ #8 │ 5e551011
    "#]]);
    harness.press("escape");
    assert_eq!(harness.text(), before);
    harness.press("enter enter");
    expect![[r#"
        Send(Move(MoveCommand { target_id: Some("00000003"), exact: false, summarize: false, custom_instructions: None, replace_instructions: false, label: None, expected_leaf_id: None, stop_turn: true }), Navigate)
    "#]].assert_eq(&harness.take_actions());
}

#[test]
fn a_summary_shows_its_progress_and_canceling_it_returns_to_the_row() {
    let mut harness = tree(60, 24, TALK);
    harness.press("home down down");
    harness.press("enter 3 'only' space 'files' enter");
    expect![[r#"
        Send(Move(MoveCommand { target_id: Some("00000003"), exact: false, summarize: true, custom_instructions: Some("only files"), replace_instructions: false, label: None, expected_leaf_id: None, stop_turn: true }), Navigate)
    "#]].assert_eq(&harness.take_actions());
    harness.event(osier_protocol::ClientEvent::SummaryStarted { of: osier_protocol::SummarySubject::Branch });
    harness.event(osier_protocol::ClientEvent::SummaryText { text: "## Goal\nto see".to_owned() });
    harness.check(expect![[r#"

        > a

        b

        > e

        f

        ● read notes.txt
          1 line

        g

        ╭─ Summarizing the branch you are leaving… ─────────────────
        │   ## Goal
        │   to see
        ╰─ esc cancel (nothing changes) ────────────────────────────
        ⣾ summarizing · 0 s · esc to stop
        code │ a/model │ #8 │ 5e551011
    "#]]);
    harness.press("escape");
    assert_eq!(harness.take_actions(), "Send(Cancel, Cancel)\n");
    harness.moved(MoveReply { cancelled: true, aborted: true, ..MoveReply::default() });
    assert!(harness.text().contains("› ├⊟ user: \"c\""), "{}", harness.text());
    assert!(harness.text().contains("Canceled; nothing changed"), "{}", harness.text());
}

#[test]
fn selecting_the_current_position_asks_nothing() {
    let mut harness = tree(60, 24, TALK);
    harness.press("enter");
    expect![[r#"
        Send(Move(MoveCommand { target_id: Some("00000009"), exact: false, summarize: false, custom_instructions: None, replace_instructions: false, label: None, expected_leaf_id: None, stop_turn: true }), Navigate)
    "#]].assert_eq(&harness.take_actions());
}

#[test]
fn two_marked_entries_are_compared() {
    let mut harness = tree(60, 24, TALK);
    harness.press("alt+c");
    assert!(harness.text().contains("mark a second entry to compare"));
    harness.press("home down down alt+c");
    assert_eq!(harness.take_actions(), "Compare(\"00000009\", \"00000003\")\n");
}

#[test]
fn deleting_a_branch_asks_first_and_restoring_it_does_not() {
    let mut harness = tree(60, 24, TALK);
    harness.press("home down down alt+d");
    assert!(
        harness.text().contains("Delete this entry and everything below it (2 rows)?"),
        "{}",
        harness.text()
    );
    harness.press("enter");
    assert_eq!(harness.take_actions(), "");
    harness.press("alt+d 2");
    assert_eq!(harness.take_actions(), "Send(DeleteBranch { entry: \"00000003\" }, Mark)\n");
    harness.script.run_steps("delete c");
    harness.refresh_tree();
    assert!(!harness.text().contains("user: \"c\""));
    harness.press("alt+h home down down");
    assert!(harness.text().contains("✗ user: \"c\""), "{}", harness.text());
    harness.press("alt+d");
    assert_eq!(harness.take_actions(), "Send(RestoreBranch { entry: \"00000003\" }, Mark)\n");
}

#[test]
fn settings_can_change_keys() {
    let mut harness = Harness::with_session(60, 40, TALK);
    let mut config = crate::state::UiConfig::clone(&harness.state.config);
    config.keys.insert("tree.filter.user".to_owned(), "ctrl+y alt+y".to_owned());
    harness.state.config = config.into();
    harness.open_tree();
    harness.press("ctrl+y");
    assert_eq!(listed(&harness), rows("ctrl+u"));
    let mut wide = Harness::with_session(120, 40, TALK);
    wide.state.config = harness.state.config.clone();
    wide.open_tree();
    assert!(wide.text().contains("ctrl+y user only"), "{}", wide.text());
    harness.press("ctrl+y");
    let before = listed(&harness);
    harness.press("ctrl+u");
    assert_eq!(listed(&harness), before, "the old key does nothing");
}

#[test]
fn ten_thousand_entries_can_be_browsed_and_searched() {
    let mut script = String::from("say a");
    for number in 0..5000 {
        script += &format!("; reply r{number}; say s{number}");
    }
    let mut harness = tree(80, 24, &script);
    harness.press("up pageUp home end ctrl+u 's4321'");
    assert!(harness.text().contains("user: \"s4321\""), "{}", harness.text());
    assert!(harness.text().contains("1/1 [user-only]"), "{}", harness.text());
}

#[test]
fn an_empty_tree_shows_a_notice_instead_of_the_panel() {
    let harness = tree(60, 24, "");
    assert!(harness.state.overlays.is_empty());
    assert!(harness.text().contains("The tree is empty"));
}

#[test]
fn a_search_letter_by_letter_finds_what_the_complete_search_finds() {
    const WORDS: &str = "say the cursor; reply A page of the parser; say \u{39f}\u{394}\u{39f}\u{3a3}\u{391} cursor; reply \u{5149}\u{6807}; say other; label curious on other";
    // The selection depends on the way.
    let rows = |harness: &Harness| -> Vec<String> {
        let rows = listed(harness);
        rows.lines().filter(|row| !row.starts_with('(')).map(|row| row.replace('›', " ")).collect()
    };
    for search in [
        "cursor",
        "cur s",
        "the pa",
        "\u{39f}\u{394}\u{39f}\u{3a3}\u{391}",
        "\u{5149}\u{6807}",
        "absent",
        "cu ou",
    ] {
        let (mut typed, mut pasted) = (tree(60, 40, WORDS), tree(60, 40, WORDS));
        search.chars().for_each(|ch| typed.key(crate::key::KeyCode::Char(ch).into()));
        pasted.update(Msg::Input(crate::key::Input::Paste(search.to_owned())));
        assert_eq!(rows(&typed), rows(&pasted), "{search}");
        let is_empty = rows(&typed).iter().any(|row| row.contains("no match"));
        assert_eq!(is_empty, search == "absent", "{search}");
    }
}
