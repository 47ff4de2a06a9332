//! The leaf marker and the order of branches.

use super::*;

#[test]
fn a_move_without_summary_survives_reopening() {
    check(
        "say a; reply b; say c; move b; reopen",
        expect![[r#"
            user: "a"
            assistant: "b"  ← active
            user: "c"
        "#]],
    );
}

#[test]
fn a_leaf_that_is_not_shown_is_marked_on_its_nearest_shown_ancestor() {
    check(
        "say a; reply b; thinking high; label here; name n",
        expect![[r#"
            user: "a"
            assistant: "b"  ← active
        "#]],
    );
}

#[test]
fn before_the_first_entry_nothing_is_marked() {
    check(
        "say a; reply b; root",
        expect![[r#"
            user: "a"
            assistant: "b"
        "#]],
    );
}

#[test]
fn undo_and_redo_move_the_leaf_marker() {
    check(
        "say a; reply b; move a; say c; move b; undo",
        expect![[r#"
            user: "a"
            ├─ assistant: "b"
            └─ user: "c"  ← active
        "#]],
    );
    check(
        "say a; reply b; move a; say c; move b; undo; redo",
        expect![[r#"
            user: "a"
            ├─ assistant: "b"  ← active
            └─ user: "c"
        "#]],
    );
}

#[test]
fn the_active_branch_can_come_first() {
    with(OutlineOptions { order: SiblingOrder::ActiveFirst, ..OutlineOptions::default() })(
        "say a; say b; reply c; move a; say d; move a; say e; move d; root; say f; move d; say g",
        expect![[r#"
            user: "a"
            ├─ user: "d"
            │  user: "g"  ← active
            ├─ user: "b"
            │  assistant: "c"
            └─ user: "e"
            user: "f"
        "#]],
    );
}

#[test]
fn each_row_knows_whether_it_is_on_the_path_to_the_leaf() {
    let script = ScriptedSession::run("say a; reply b; say c; move b; say d");
    let outline = osier_testkit::outline(&script, &OutlineOptions::default());
    let on_path: Vec<bool> = outline.rows.iter().map(|row| row.on_path).collect();
    assert_eq!(on_path, [true, true, false, true]);
    assert_eq!(outline.row_parts(0, "x", Glyphs::Plain).path, "• ");
}
