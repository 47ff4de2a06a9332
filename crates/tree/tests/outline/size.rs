//! Large trees of any shape are linear in their rows.

use std::borrow::Cow;
use std::cell::Cell;

use super::*;
use osier_tree::entry::parse_entry;
use osier_tree::projection::outline::Outline;
use osier_tree::{Entry, Seq, SessionTree};

fn tree(entries: usize, parent_of: impl Fn(usize) -> Option<usize>) -> SessionTree {
    let line = br#"{"type":"message","id":"","message":{"role":"user"}}"#;
    let template = parse_entry(line).unwrap();
    let id = |at: usize| Cow::Owned(format!("{at:08x}"));
    let entry = |at| Entry { id: id(at), parent: parent_of(at).map(id), ..template.clone() };
    let mut tree = SessionTree::default();
    tree.extend((0..entries).map(|at| (entry(at), 0, 0)));
    tree
}

/// The outline of a tree, and the number of texts it requested.
fn outlined(tree: &SessionTree) -> (Outline, usize) {
    let requested = Cell::new(0);
    let texts = |_: Seq| {
        requested.set(requested.get() + 1);
        Cow::Borrowed("text")
    };
    let options = OutlineOptions {
        search: "text".to_owned(),
        order: SiblingOrder::ActiveFirst,
        ..OutlineOptions::default()
    };
    tree.children();
    let outline = Outline::new(tree, tree.leaf(), &options, &texts);
    let drawn: usize = (0..outline.rows.len()).map(|at| outline.draw(at, "text").len()).sum();
    assert!(drawn > 0);
    (outline, requested.get())
}

#[test]
fn a_chain_of_a_million_entries_is_linear() {
    let (outline, requested) = outlined(&tree(1_000_000, |at| at.checked_sub(1)));
    assert_eq!((outline.rows.len(), outline.rows[999_999].level()), (1_000_000, 0));
    assert_eq!((outline.branch_start(999_999), outline.branch_end(0)), (0, 999_999));
    assert!(requested <= 1_000_000, "{requested} texts");
}

#[test]
fn a_root_with_many_children_is_linear() {
    let (outline, requested) = outlined(&tree(100_000, |at| (at > 0).then_some(0)));
    assert_eq!((outline.rows.len(), outline.rows[99_999].level()), (100_000, 1));
    assert!(requested <= 100_000, "{requested} texts");
}

#[test]
fn a_hundred_thousand_nested_branch_points_are_linear() {
    let (outline, requested) = outlined(&tree(200_000, |at| at.checked_sub(if at % 2 == 0 { 2 } else { 1 })));
    assert_eq!(outline.rows.len(), 200_000);
    assert!(outline.rows.iter().any(|row| row.level() > 90_000));
    assert!(requested <= 200_000, "{requested} texts");
}

#[test]
fn a_hundred_thousand_roots_are_linear() {
    let (outline, requested) = outlined(&tree(100_000, |_| None));
    assert_eq!(outline.rows.len(), 100_000);
    assert!(requested <= 100_000, "{requested} texts");
}

#[test]
fn deep_rows_draw_only_the_nearest_levels() {
    let tree = tree(101, |at| at.checked_sub(if at % 2 == 0 { 2 } else { 1 }));
    let (outline, _) = outlined(&tree);
    let far = outline.rows.iter().position(|row| row.level() == 50).unwrap();
    let drawn = outline.draw(far, "text");
    assert!(drawn.starts_with('⋯'), "{drawn}");
    assert!(drawn.chars().count() < 32 * 3 + 20, "{drawn}");
}
