//! Indentation and connectors of the rows.

use super::*;

#[test]
fn a_chain_is_flat_and_a_branch_point_indents_its_children() {
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
fn entries_of_a_branch_align_with_the_text_of_its_first_entry() {
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
fn a_branch_may_start_with_a_branch_point() {
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
fn several_roots_are_not_indented_and_their_descendants_are() {
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
fn one_of_several_roots_can_be_a_branch_point() {
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
fn children_of_hidden_entries_are_below_the_nearest_shown_ancestor() {
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
fn siblings_are_drawn_oldest_first_regardless_of_line_order() {
    let line = |id: &str, parent: &str, second: u8| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:{second:02}.000Z","message":{{"role":"user","content":"{id}"}}}}"#
        )
    };
    let lines = [line("a", "null", 0), line("late", "\"a\"", 9), line("early", "\"a\"", 5)];
    let script = ScriptedSession::from_lines(lines);
    expect![[r#"
        user: "a"
        ├─ user: "early"  ← active
        └─ user: "late"
    "#]]
    .assert_eq(&draw_with(&script, &OutlineOptions::default(), Glyphs::Plain));
}

#[test]
fn a_nested_outline_indents_every_generation_and_shows_the_same_rows() {
    let script = "say a; reply b; say c; reply d; move b; say e; reply f";
    with(OutlineOptions { style: OutlineStyle::Nested, ..OutlineOptions::default() })(
        script,
        expect![[r#"
            user: "a"
            └─ assistant: "b"
               ├─ user: "c"
               │  └─ assistant: "d"
               └─ user: "e"
                  └─ assistant: "f"  ← active
        "#]],
    );
}
