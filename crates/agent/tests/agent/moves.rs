//! Moves: what happens to the tree, to the editor, and to what the model sees.

use expect_test::expect;

use crate::scenario::check;

#[tokio::test]
async fn user_message_returns_to_the_editor() {
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
async fn first_message_leads_to_an_empty_conversation() {
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
async fn extension_message_returns_to_the_editor() {
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
async fn reply_becomes_the_leaf() {
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
async fn reply_with_calls_keeps_all_results() {
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
async fn result_in_a_batch_keeps_the_whole_batch() {
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
async fn root_is_before_the_first_entry() {
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
async fn move_to_the_current_position_changes_nothing() {
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
async fn unanswered_last_message_returns_to_the_editor_without_a_move() {
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
async fn exact_move_ends_at_a_user_message() {
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
async fn label_goes_on_the_chosen_entry() {
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
async fn label_is_set_at_the_current_position() {
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
async fn unknown_entry_changes_nothing() {
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

            move nowhere, label x: no entry nowhere in this session
        "#]],
    )
    .await;
}

#[tokio::test]
async fn deleted_branch_is_not_a_target() {
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

            move second: entry 00000006 is in a deleted branch
            undo: there is no move to undo
        "#]],
    )
    .await;
}

#[tokio::test]
async fn undo_and_redo_follow_the_move_history() {
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
async fn nothing_to_undo_without_a_move() {
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
