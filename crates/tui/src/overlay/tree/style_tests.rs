//! How the tree is indented.

use expect_test::expect;

use super::tests::{TALK, listed, tree};
use crate::testing::Harness;

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
