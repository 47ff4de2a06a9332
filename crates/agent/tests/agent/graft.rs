//! Grafts add the conclusion of another branch.

use expect_test::expect;

use crate::scenario::check;

#[tokio::test]
async fn graft_contains_the_prompts_and_the_conclusion() {
    check(
        "
        say one > first
        say two > [write c.txt] > second
        move first
        say three > third
        ---
        graft second
        say go on > done
        ",
        expect![[r#"
            before                          │ after                            │ the model would see
            user: "one"                     │ user: "one"                      │ system
            assistant: "first"              │ assistant: "first"               │ user: one
            ├─ user: "two"                  │ ├─ user: "two"                   │ assistant: first
            │  [write: c.txt]               │ │  [write: c.txt]                │ user: three
            │  assistant: "second"          │ │  assistant: "second"           │ assistant: third
            └─ user: "three"                │ └─ user: "three"                 │ branch: Grafted from [entry 00000008]: ent…
               assistant: "third"  ← active │    assistant: "third"            │ user: go on
                                            │    [graft from 00000008]: second │ assistant: done
                                            │    user: "go on"
                                            │    assistant: "done"  ← active
        "#]],
    )
    .await;
}

#[tokio::test]
async fn graft_with_summary_is_written_by_a_model() {
    check(
        "
        say one > first
        say two > [write c.txt] > second
        move first
        say three > third
        ---
        graft second, summarize > Two was written down.
        ",
        expect![[r#"
            before                          │ after                                                 │ the model would see
            user: "one"                     │ user: "one"                                           │ system
            assistant: "first"              │ assistant: "first"                                    │ user: one
            ├─ user: "two"                  │ ├─ user: "two"                                        │ assistant: first
            │  [write: c.txt]               │ │  [write: c.txt]                                     │ user: three
            │  assistant: "second"          │ │  assistant: "second"                                │ assistant: third
            └─ user: "three"                │ └─ user: "three"                                      │ branch: Grafted from [entry 00000008]: ent…
               assistant: "third"  ← active │    assistant: "third"
                                            │    [graft from 00000008]: Two was written …  ← active

            asked for a summary
              [User]: two
              [Assistant tool calls]: write(path="c.txt", content="new\n")
              [Assistant]: second
        "#]],
    )
    .await;
}

#[tokio::test]
async fn entry_on_the_path_cannot_be_grafted() {
    check(
        "
        say one > first
        say two > [write c.txt] > second
        move first
        say three > third
        ---
        graft first
        ",
        expect![[r#"
            before                          │ after: the same │ the model would see
            user: "one"                     │                 │ system
            assistant: "first"              │                 │ user: one
            ├─ user: "two"                  │                 │ assistant: first
            │  [write: c.txt]               │                 │ user: three
            │  assistant: "second"          │                 │ assistant: third
            └─ user: "three"
               assistant: "third"  ← active

            graft first: cannot graft 00000004: it is already on the current path; choose the end of another branch
        "#]],
    )
    .await;
}

#[tokio::test]
async fn graft_with_a_failed_summary_changes_nothing() {
    check(
        "
        say one > first
        say two > [write c.txt] > second
        move first
        say three > third
        ---
        graft second, summarize > Half !fail
        graft second, summarize > Half !hang
        ",
        expect![[r#"
            before                          │ after: the same │ the model would see
            user: "one"                     │                 │ system
            assistant: "first"              │                 │ user: one
            ├─ user: "two"                  │                 │ assistant: first
            │  [write: c.txt]               │                 │ user: three
            │  assistant: "second"          │                 │ assistant: third
            └─ user: "three"
               assistant: "third"  ← active

            asked for a summary
              [User]: two
              [Assistant tool calls]: write(path="c.txt", content="new\n")
              [Assistant]: second

            asked for a summary
              [User]: two
              [Assistant tool calls]: write(path="c.txt", content="new\n")
              [Assistant]: second

            graft second, summarize: cannot write the summary: cannot reach p: gone
            graft second, summarize: the summary was canceled
        "#]],
    )
    .await;
}

#[tokio::test]
async fn undo_after_a_graft_undoes_the_last_move() {
    check(
        "
        say one > first
        say two > [write c.txt] > second
        move first
        say three > third
        ---
        graft second
        undo
        ",
        expect![[r#"
            before                          │ after                            │ the model would see
            user: "one"                     │ user: "one"                      │ system
            assistant: "first"              │ assistant: "first"               │ user: one
            ├─ user: "two"                  │ ├─ user: "two"                   │ assistant: first
            │  [write: c.txt]               │ │  [write: c.txt]                │ user: two
            │  assistant: "second"          │ │  assistant: "second"  ← active │ assistant: [write]
            └─ user: "three"                │ └─ user: "three"                 │ result: created c.txt (1 line, 4 bytes)
               assistant: "third"  ← active │    assistant: "third"            │ assistant: second
                                            │    [graft from 00000008]: second
        "#]],
    )
    .await;
}
