//! Folding, and the keys of the tree selector.

use super::*;
use osier_testkit::outline;
use osier_tree::projection::outline::BranchJump;

const TREE: &str = "say a; reply b; say c; reply d; say e; move d; say f; move b; say g; reply h; say i";

fn folded(script: &ScriptedSession, names: &[&str]) -> String {
    let folded = names.iter().map(|name| script.seq(name)).collect();
    draw_with(script, &OutlineOptions { folded, ..OutlineOptions::default() }, Glyphs::Folding)
}

#[test]
fn foldable_rows_are_marked() {
    expect![[r#"
        user: "a"
        assistant: "b"
        ├⊟ user: "c"
        │  assistant: "d"
        │  ├─ user: "e"
        │  └─ user: "f"
        └⊟ user: "g"
           assistant: "h"
           user: "i"  ← active
    "#]]
    .assert_eq(&folded(&ScriptedSession::run(TREE), &[]));
}

#[test]
fn a_fold_hides_its_descendants_and_shows_the_leaf_marker() {
    let script = ScriptedSession::run(TREE);
    expect![[r#"
        user: "a"
        assistant: "b"
        ├⊞ user: "c"
        └⊟ user: "g"
           assistant: "h"
           user: "i"  ← active
    "#]]
    .assert_eq(&folded(&script, &["c"]));
    expect![[r#"
        user: "a"
        assistant: "b"
        ├⊟ user: "c"
        │  assistant: "d"
        │  ├─ user: "e"
        │  └─ user: "f"
        └⊞ user: "g"  ← active
    "#]]
    .assert_eq(&folded(&script, &["g"]));
}

#[test]
fn nested_folds_are_kept() {
    let script = ScriptedSession::run(TREE);
    expect![[r#"
        ⊞ user: "a"  ← active
    "#]]
    .assert_eq(&folded(&script, &["a", "c"]));
    expect![[r#"
        user: "a"
        assistant: "b"
        ├⊞ user: "c"
        └⊞ user: "g"  ← active
    "#]]
    .assert_eq(&folded(&script, &["c", "g"]));
}

#[test]
fn a_fold_hides_descendants_of_entries_that_are_not_shown() {
    let script = ScriptedSession::run("say a; say b; thinking low; say c; move a; say d");
    expect![[r#"
        user: "a"
        ├⊞ user: "b"
        └─ user: "d"  ← active
    "#]]
    .assert_eq(&folded(&script, &["b"]));
}

#[test]
fn one_of_several_roots_can_be_folded() {
    let script = ScriptedSession::run("say a; reply b; root; say c; reply d");
    expect![[r#"
        ⊞ user: "a"
        user: "c"
           assistant: "d"  ← active
    "#]]
    .assert_eq(&folded(&script, &["a"]));
    let options =
        OutlineOptions { folded: [script.seq("a")].into_iter().collect(), ..OutlineOptions::default() };
    assert_eq!(outline(&script, &options).jump_left(0), Some(BranchJump::To(0)));
}

#[test]
fn changing_the_filter_or_search_opens_all_folds() {
    let script = ScriptedSession::run(TREE);
    let mut options =
        OutlineOptions { folded: [script.seq("c")].into_iter().collect(), ..OutlineOptions::default() };
    options.set_filter(OutlineFilter::All);
    assert!(options.folded.is_empty());
    options.folded.insert(script.seq("c"));
    options.set_search("x");
    assert!(options.folded.is_empty());
}

/// Presses the keys `<` and `>` from a row and returns the final cursor.
fn keys(script: &ScriptedSession, from: &str, keys: &str) -> String {
    let mut options = OutlineOptions::default();
    let mut at = outline(script, &options).row_of(script.seq(from)).unwrap();
    for key in keys.chars() {
        let shown = outline(script, &options);
        let jump = if key == '<' { shown.jump_left(at) } else { shown.jump_right(at) };
        let seq = shown.rows[at].seq;
        at = match options.apply_jump(jump.unwrap()) {
            Some(row) => row,
            None => outline(script, &options).cursor(Some(seq)).unwrap(),
        };
    }
    let shown = outline(script, &options);
    format!("{} of {}", shown.rows[at].seq.index(), shown.rows.len())
}

#[test]
fn keys_fold_and_jump_by_branch() {
    let script = ScriptedSession::run(TREE);
    // The conversation has nine entries; the moves between them also have sequence numbers.
    assert_eq!(keys(&script, "d", "<"), format!("{} of 9", script.seq("c").index()));
    assert_eq!(keys(&script, "c", "<"), format!("{} of 6", script.seq("c").index()), "the first press folds");
    assert_eq!(keys(&script, "c", "<<"), format!("{} of 6", script.seq("a").index()));
    assert_eq!(keys(&script, "c", "<>"), format!("{} of 9", script.seq("c").index()));
    assert_eq!(keys(&script, "a", ">"), format!("{} of 9", script.seq("c").index()));
    assert_eq!(keys(&script, "c", ">"), format!("{} of 9", script.seq("e").index()));
    assert_eq!(keys(&script, "g", ">"), format!("{} of 9", script.seq("i").index()));
    assert_eq!(keys(&script, "i", ">"), format!("{} of 9", script.seq("i").index()));
}

#[test]
fn the_cursor_falls_back_to_the_nearest_ancestor_then_to_the_last_row() {
    let script = ScriptedSession::run("thinking low; say a; reply b; thinking high");
    let shown = outline(&script, &OutlineOptions::default());
    assert_eq!(shown.cursor(Some(script.seq("high"))), Some(1));
    assert_eq!(shown.cursor(Some(script.seq("low"))), Some(1), "no ancestor is shown");
    assert_eq!(shown.cursor(None), Some(1));
    let none = OutlineOptions { filter: OutlineFilter::LabeledOnly, ..OutlineOptions::default() };
    assert_eq!(outline(&script, &none).cursor(Some(script.seq("a"))), None);
}
