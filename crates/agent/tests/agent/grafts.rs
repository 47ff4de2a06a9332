//! Grafts bring what another branch concluded.

use expect_test::expect;

use crate::stage::check;

#[tokio::test]
async fn a_graft_tells_what_was_asked_and_concluded_there() {
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
async fn a_graft_in_the_words_of_a_model() {
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
async fn what_is_on_the_path_already_cannot_be_grafted() {
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

            graft first: 00000004 is on the path already, so it has nothing to bring here; choose the end of another branch
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_graft_whose_summary_fails_leaves_everything_as_it_was() {
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

            graft second, summarize: the model could not write the summary: cannot talk to p: gone
            graft second, summarize: the summary was stopped
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_graft_moves_nobody_so_there_is_nothing_to_undo_but_the_move_before() {
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
