//! How the tree is indented.

use expect_test::expect;

use super::TreeView;
use super::tests::{TALK, listed, tree};
use crate::clock::LocalClock;
use crate::overlay::OverlayArea;
use crate::testing::{Harness, tree_snapshot};

#[test]
fn the_nested_style_indents_every_generation() {
    let mut harness = Harness::with_session(60, 40, TALK);
    let mut config = crate::state::UiConfig::clone(&harness.state.config);
    config.tree_style = osier_protocol::outline::OutlineStyle::Nested;
    harness.state.config = config.into();
    harness.open_tree();
    expect![[r#"
        / type to search
          • user: "a"
          └─ • [good] assistant: "b"
             ├⊟ user: "c"
             │  └─ assistant: "d"
             └⊟ • [here] user: "e"
                └─ • assistant: "f"
                   └─ • [read: notes.txt]
        ›             └─ • assistant: "g"  ← active
        (8/8)
    "#]]
    .assert_eq(&listed(&harness));
}

#[test]
fn the_lines_of_deep_branches_meet() {
    let mut script = String::from("say a; reply b0");
    for level in 0..14 {
        script +=
            &format!("; say x{level}; reply z{level}; move b{level}; say y{level}; reply b{}", level + 1);
    }
    for keys in ["end", "up up up up up up", "home"] {
        let mut harness = tree(60, 24, &script);
        harness.press(keys);
        let rows: Vec<Vec<char>> =
            listed(&harness).lines().skip(1).map(|line| line.chars().collect()).collect();
        for (above, below) in rows.iter().zip(&rows[1..rows.len() - 1]) {
            let joined = |at: usize| matches!(above.get(at), Some('│' | '├'));
            let is_line = |(_, ch): &(usize, &char)| **ch == '│';
            assert!(
                below.iter().enumerate().filter(is_line).all(|(at, _)| joined(at)),
                "{keys}\n{}",
                listed(&harness)
            );
        }
        assert!(rows.iter().any(|row| row.contains(&'│')), "{keys}");
    }
}

#[test]
fn rows_show_no_marks_of_markdown() {
    let harness = tree(60, 24, "say # Counting words; reply Use `wc` and **count**");
    let text = harness.text();
    let tree = text.split("Session tree").nth(1).unwrap();
    assert!(tree.contains("user: \"Counting words\""), "{text}");
    assert!(tree.contains("assistant: \"Use wc and count\"") && !tree.contains(['`', '*']), "{text}");
}

#[test]
fn the_selected_row_is_bright() {
    let script = osier_testkit::ScriptedSession::run(TALK);
    let config = Harness::new(60, 24).state.config.clone();
    let mut view = TreeView::new(tree_snapshot(&script), &config);
    let area = OverlayArea { columns: 60, rows: 24, now: 0, clock: LocalClock::default() };
    let call =
        (0..view.outline.rows.len()).find(|at| view.draw_row(*at, 0, area).0.plain().contains("[read"));
    let call = call.unwrap();
    let markup = |view: &TreeView| view.draw_row(call, 0, area).0.to_markup();
    assert!(markup(&view).contains("{dim|[read"), "{}", markup(&view));
    view.select_row(call);
    assert!(markup(&view).contains("{text on-selectedBg bold|[read"), "{}", markup(&view));
}
