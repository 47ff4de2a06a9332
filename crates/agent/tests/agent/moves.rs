//! Going to another place: what becomes of the tree, of the editor and of what the model sees.

use expect_test::expect;

use crate::stage::check;

#[tokio::test]
async fn a_message_of_the_user_is_said_differently() {
    check(
        "
        say one > first
        say two > second
        ---
        move two
        ",
        expect![[r#"
            before                        │ after                        │ the model would see
            user: "one"                   │ user: "one"                  │ system
            assistant: "first"            │ assistant: "first"  ← active │ user: one
            user: "two"                   │ user: "two"                  │ assistant: first
            assistant: "second"  ← active │ assistant: "second"

            move two: editor "two"
        "#]],
    )
    .await;
}

#[tokio::test]
async fn the_first_message_leads_to_an_empty_conversation() {
    check(
        "
        say one > first
        ---
        move one
        ",
        expect![[r#"
            before                       │ after              │ the model would see
            user: "one"                  │ user: "one"        │ system
            assistant: "first"  ← active │ assistant: "first"

            move one: editor "one"
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_message_of_an_extension_is_said_differently_too() {
    check(
        "
        say one > first
        note remember this
        say two > second
        ---
        move remember
        ",
        expect![[r#"
            before                        │ after                        │ the model would see
            user: "one"                   │ user: "one"                  │ system
            assistant: "first"            │ assistant: "first"  ← active │ user: one
            [ext]: remember this          │ [ext]: remember this         │ assistant: first
            user: "two"                   │ user: "two"
            assistant: "second"  ← active │ assistant: "second"

            move remember: editor "remember this"
        "#]],
    )
    .await;
}

#[tokio::test]
async fn an_answer_is_gone_on_from_as_it_is() {
    check(
        "
        say one > first
        say two > second
        ---
        move first
        ",
        expect![[r#"
            before                        │ after                        │ the model would see
            user: "one"                   │ user: "one"                  │ system
            assistant: "first"            │ assistant: "first"  ← active │ user: one
            user: "two"                   │ user: "two"                  │ assistant: first
            assistant: "second"  ← active │ assistant: "second"
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_call_goes_with_all_its_results() {
    check(
        "
        say one > looking [read a.txt] [read b.txt] > both read
        ---
        move looking
        ",
        expect![[r#"
            before                           │ after                   │ the model would see
            user: "one"                      │ user: "one"             │ system
            assistant: "looking"             │ assistant: "looking"    │ user: one
            [read: a.txt]                    │ [read: a.txt]           │ assistant: looking [read] [read]
            [read: b.txt]                    │ [read: b.txt]  ← active │ result: alpha
            assistant: "both read"  ← active │ assistant: "both read"  │ result: beta
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_result_in_the_middle_of_a_batch_goes_with_the_rest_of_it() {
    check(
        "
        say one > looking [read a.txt] [read b.txt] > both read
        ---
        move [read: a.txt]
        ",
        expect![[r#"
            before                           │ after                   │ the model would see
            user: "one"                      │ user: "one"             │ system
            assistant: "looking"             │ assistant: "looking"    │ user: one
            [read: a.txt]                    │ [read: a.txt]           │ assistant: looking [read] [read]
            [read: b.txt]                    │ [read: b.txt]  ← active │ result: alpha
            assistant: "both read"  ← active │ assistant: "both read"  │ result: beta
        "#]],
    )
    .await;
}

#[tokio::test]
async fn the_root_is_before_everything() {
    check(
        "
        say one > first
        ---
        move root
        say anew > begun again
        ",
        expect![[r#"
            before                       │ after                                 │ the model would see
            user: "one"                  │ user: "one"                           │ system
            assistant: "first"  ← active │    assistant: "first"                 │ user: anew
                                         │ user: "anew"                          │ assistant: begun again
                                         │    assistant: "begun again"  ← active
        "#]],
    )
    .await;
}

#[tokio::test]
async fn where_one_stands_already_nothing_happens() {
    check(
        "
        say one > first
        say two > second
        ---
        move second
        ",
        expect![[r#"
            before                        │ after: the same │ the model would see
            user: "one"                   │                 │ system
            assistant: "first"            │                 │ user: one
            user: "two"                   │                 │ assistant: first
            assistant: "second"  ← active │                 │ user: two
                                          │                 │ assistant: second
        "#]],
    )
    .await;
}

#[tokio::test]
async fn what_would_be_said_next_anyway_returns_to_the_editor_without_a_move() {
    check(
        "
        say one > first
        say two > second
        move first
        ---
        move two
        ",
        expect![[r#"
            before                       │ after: the same │ the model would see
            user: "one"                  │                 │ system
            assistant: "first"  ← active │                 │ user: one
            user: "two"                  │                 │ assistant: first
            assistant: "second"

            move two: editor "two"
        "#]],
    )
    .await;
}

#[tokio::test]
async fn exactly_that_entry_even_if_it_is_a_message_of_the_user() {
    check(
        "
        say one > first
        say two > second
        ---
        move two, exact
        resume > second, said anew
        ",
        expect![[r#"
            before                        │ after                                       │ the model would see
            user: "one"                   │ user: "one"                                 │ system
            assistant: "first"            │ assistant: "first"                          │ user: one
            user: "two"                   │ user: "two"                                 │ assistant: first
            assistant: "second"  ← active │ ├─ assistant: "second"                      │ user: two
                                          │ └─ assistant: "second, said anew"  ← active │ assistant: second, said anew
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_label_goes_on_what_was_chosen() {
    check(
        "
        say one > first
        say two > second
        ---
        move first, label fork here
        ",
        expect![[r#"
            before                        │ after                                    │ the model would see
            user: "one"                   │ user: "one"                              │ system
            assistant: "first"            │ [fork here] assistant: "first"  ← active │ user: one
            user: "two"                   │ user: "two"                              │ assistant: first
            assistant: "second"  ← active │ assistant: "second"
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_label_is_set_even_where_one_stands_already() {
    check(
        "
        say one > first
        ---
        move first, label start
        ",
        expect![[r#"
            before                       │ after                                │ the model would see
            user: "one"                  │ user: "one"                          │ system
            assistant: "first"  ← active │ [start] assistant: "first"  ← active │ user: one
                                         │                                      │ assistant: first
        "#]],
    )
    .await;
}

#[tokio::test]
async fn an_entry_that_is_not_there_changes_nothing() {
    check(
        "
        say one > first
        ---
        move nowhere, label x
        ",
        expect![[r#"
            before                       │ after: the same │ the model would see
            user: "one"                  │                 │ system
            assistant: "first"  ← active │                 │ user: one
                                         │                 │ assistant: first

            move nowhere, label x: no entry nowhere in this session; `osier sessions tree --ids` shows what there is
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_deleted_branch_is_no_place_to_go() {
    check(
        "
        say one > first
        say two > second
        move first
        say three > third
        delete two
        ---
        move second
        undo
        ",
        expect![[r#"
            before                       │ after: the same │ the model would see
            user: "one"                  │                 │ system
            assistant: "first"           │                 │ user: one
            user: "three"                │                 │ assistant: first
            assistant: "third"  ← active │                 │ user: three
                                         │                 │ assistant: third

            move second: entry 00000006 lies in a deleted branch; `osier sessions restore-branch` shows it again
            undo: there is no move to undo
        "#]],
    )
    .await;
}

#[tokio::test]
async fn undo_and_redo_walk_through_the_places_left() {
    check(
        "
        say one > first
        say two > second
        move first
        say three > third
        ---
        move first
        move root
        undo
        undo
        undo
        redo
        ",
        expect![[r#"
            before                          │ after: the same │ the model would see
            user: "one"                     │                 │ system
            assistant: "first"              │                 │ user: one
            ├─ user: "two"                  │                 │ assistant: first
            │  assistant: "second"          │                 │ user: three
            └─ user: "three"                │                 │ assistant: third
               assistant: "third"  ← active
        "#]],
    )
    .await;
}

#[tokio::test]
async fn there_is_nothing_to_undo_where_nobody_moved() {
    check(
        "
        say one > first
        ---
        undo
        redo
        ",
        expect![[r#"
            before                       │ after: the same │ the model would see
            user: "one"                  │                 │ system
            assistant: "first"  ← active │                 │ user: one
                                         │                 │ assistant: first

            undo: there is no move to undo
            redo: there is no move to redo
        "#]],
    )
    .await;
}
