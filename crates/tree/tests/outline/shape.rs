//! How the rows are set in and tied together.

use super::*;

#[test]
fn a_chain_is_flat_and_a_branch_point_sets_its_children_in() {
    check(
        "say a; reply b; say c; reply d; move b; say e",
        expect![[r#"
            user: "a"
            assistant: "b"
            ├─ user: "c"
            │  assistant: "d"
            └─ user: "e"  ← active
        "#]],
    );
}

#[test]
fn what_follows_a_branchs_first_entry_stands_below_its_text() {
    check(
        "say a; say b; reply c; say d; reply e; move c; say f; say g; move a; say h; reply i; say j",
        expect![[r#"
            user: "a"
            ├─ user: "b"
            │  assistant: "c"
            │  ├─ user: "d"
            │  │  assistant: "e"
            │  └─ user: "f"
            │     user: "g"
            └─ user: "h"
               assistant: "i"
               user: "j"  ← active
        "#]],
    );
}

#[test]
fn a_branch_may_begin_with_a_branch_point() {
    check(
        "say a; say b; say c; move b; say d; move a; say e",
        expect![[r#"
            user: "a"
            ├─ user: "b"
            │  ├─ user: "c"
            │  └─ user: "d"
            └─ user: "e"  ← active
        "#]],
    );
}

#[test]
fn roots_stand_at_the_left_and_what_follows_is_set_in() {
    check(
        "say a; reply b; root; say c; reply d; say e; move d; say f; root; say g",
        expect![[r#"
            user: "a"
               assistant: "b"
            user: "c"
               assistant: "d"
               ├─ user: "e"
               └─ user: "f"
            user: "g"  ← active
        "#]],
    );
}

#[test]
fn a_root_that_branches_among_several_roots() {
    check(
        "say a; say b; move a; say c; reply d; root; say e",
        expect![[r#"
            user: "a"
            ├─ user: "b"
            └─ user: "c"
               assistant: "d"
            user: "e"  ← active
        "#]],
    );
}

#[test]
fn an_empty_session_has_no_rows() {
    check("", expect![[""]]);
    check("custom x", expect![[""]]);
}

#[test]
fn children_of_hidden_entries_hang_below_the_nearest_shown_one() {
    check(
        "say a; thinking low; say b; move a; model x/y; custom z; say c",
        expect![[r#"
            user: "a"
            ├─ user: "b"
            └─ user: "c"  ← active
        "#]],
    );
}

#[test]
fn siblings_are_drawn_oldest_first_whatever_the_order_of_the_lines() {
    let line = |id: &str, parent: &str, second: u8| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:{second:02}.000Z","message":{{"role":"user","content":"{id}"}}}}"#
        )
    };
    let lines = [line("a", "null", 0), line("late", "\"a\"", 9), line("early", "\"a\"", 5)];
    let script = Script::of_lines(lines);
    expect![[r#"
        user: "a"
        ├─ user: "early"  ← active
        └─ user: "late"
    "#]]
    .assert_eq(&draw_with(&script, &Options::default(), Glyphs::Plain));
}
