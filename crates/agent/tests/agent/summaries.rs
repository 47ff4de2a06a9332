//! Moving with a branch summary: what the summarizer gets, what is stored, and that a failure changes
//! nothing.

use expect_test::expect;

use crate::scenario::check;

#[tokio::test]
async fn summary_is_stored_at_the_new_position() {
    check(
        "
        say one > first
        say two > second
        ---
        move first, summarize > Two was tried.
        ",
        expect![[r#"
            before                        │ after                                         │ the model would see
            user: "one"                   │ user: "one"                                   │ system
            assistant: "first"            │ assistant: "first"                            │ user: one
            user: "two"                   │ ├─ user: "two"                                │ assistant: first
            assistant: "second"  ← active │ │  assistant: "second"                        │ branch: Two was tried.
                                          │ └─ [branch summary]: Two was tried.  ← active

            asked for a summary
              [User]: two
              [Assistant]: second
        "#]],
    )
    .await;
}

#[tokio::test]
async fn text_that_returns_to_the_editor_is_not_summarized() {
    check(
        "
        say one > first
        say two > second
        say three > third
        ---
        move two, summarize > Three was tried.
        ",
        expect![[r#"
            before                       │ after                                           │ the model would see
            user: "one"                  │ user: "one"                                     │ system
            assistant: "first"           │ assistant: "first"                              │ user: one
            user: "two"                  │ ├─ user: "two"                                  │ assistant: first
            assistant: "second"          │ │  assistant: "second"                          │ branch: Three was tried.
            user: "three"                │ │  user: "three"
            assistant: "third"  ← active │ │  assistant: "third"
                                         │ └─ [branch summary]: Three was tried.  ← active

            asked for a summary
              [Assistant]: second
              [User]: three
              [Assistant]: third

            move two, summarize: editor "two"
        "#]],
    )
    .await;
}

#[tokio::test]
async fn results_at_the_target_are_not_summarized() {
    check(
        "
        say one > looking [read a.txt] [read b.txt] > both read
        say two > [write c.txt] > second
        ---
        move looking, summarize > Something was written.
        ",
        expect![[r#"
            before                        │ after                                                 │ the model would see
            user: "one"                   │ user: "one"                                           │ system
            assistant: "looking"          │ assistant: "looking"                                  │ user: one
            [read: a.txt]                 │ [read: a.txt]                                         │ assistant: looking [read] [read]
            [read: b.txt]                 │ [read: b.txt]                                         │ result: alpha
            assistant: "both read"        │ ├─ assistant: "both read"                             │ result: beta
            user: "two"                   │ │  user: "two"                                        │ branch: Something was written. <modified-f…
            [write: c.txt]                │ │  [write: c.txt]
            assistant: "second"  ← active │ │  assistant: "second"
                                          │ └─ [branch summary]: Something was written…  ← active

            asked for a summary
              [Assistant]: both read
              [User]: two
              [Assistant tool calls]: write(path="c.txt", content="new\n")
              [Assistant]: second
        "#]],
    )
    .await;
}

#[tokio::test]
async fn move_to_the_root_summarizes_the_whole_path() {
    check(
        "
        say one > first
        say two > second
        ---
        move root, summarize > All of it.
        say three > third
        ",
        expect![[r#"
            before                        │ after                           │ the model would see
            user: "one"                   │ user: "one"                     │ branch: All of it.
            assistant: "first"            │    assistant: "first"           │ system
            user: "two"                   │    user: "two"                  │ user: three
            assistant: "second"  ← active │    assistant: "second"          │ assistant: third
                                          │ [branch summary]: All of it.
                                          │    user: "three"
                                          │    assistant: "third"  ← active

            asked for a summary
              [User]: one
              [Assistant]: first
              [User]: two
              [Assistant]: second
        "#]],
    )
    .await;
}

#[tokio::test]
async fn instructions_are_added_to_the_prompt() {
    check(
        "
        say one > first
        say two > second
        ---
        move first, summarize, about names of files > Names.
        ",
        expect![[r#"
            before                        │ after                                 │ the model would see
            user: "one"                   │ user: "one"                           │ system
            assistant: "first"            │ assistant: "first"                    │ user: one
            user: "two"                   │ ├─ user: "two"                        │ assistant: first
            assistant: "second"  ← active │ │  assistant: "second"                │ branch: Names.
                                          │ └─ [branch summary]: Names.  ← active

            asked for a summary
              [User]: two
              [Assistant]: second
              Additional focus: names of files
        "#]],
    )
    .await;
}

#[tokio::test]
async fn instructions_can_replace_the_prompt() {
    check(
        "
        say one > first
        say two > second
        ---
        move first, summarize, only In one word please. > Word.
        ",
        expect![[r#"
            before                        │ after                                │ the model would see
            user: "one"                   │ user: "one"                          │ system
            assistant: "first"            │ assistant: "first"                   │ user: one
            user: "two"                   │ ├─ user: "two"                       │ assistant: first
            assistant: "second"  ← active │ │  assistant: "second"               │ branch: Word.
                                          │ └─ [branch summary]: Word.  ← active

            asked for a summary
              [User]: two
              [Assistant]: second
              In one word please.
        "#]],
    )
    .await;
}

#[tokio::test]
async fn label_goes_on_the_summary() {
    check(
        "
        say one > first
        say two > second
        ---
        move first, summarize, label tried > Two was tried.
        ",
        expect![[r#"
            before                        │ after                                                 │ the model would see
            user: "one"                   │ user: "one"                                           │ system
            assistant: "first"            │ assistant: "first"                                    │ user: one
            user: "two"                   │ ├─ user: "two"                                        │ assistant: first
            assistant: "second"  ← active │ │  assistant: "second"                                │ branch: Two was tried.
                                          │ └─ [tried] [branch summary]: Two was tried…  ← active

            asked for a summary
              [User]: two
              [Assistant]: second
        "#]],
    )
    .await;
}

#[tokio::test]
async fn move_down_the_path_summarizes_nothing() {
    check(
        "
        say one > first
        say two > second
        move first
        ---
        move second, summarize
        ",
        expect![[r#"
            before                       │ after                         │ the model would see
            user: "one"                  │ user: "one"                   │ system
            assistant: "first"  ← active │ assistant: "first"            │ user: one
            user: "two"                  │ user: "two"                   │ assistant: first
            assistant: "second"          │ assistant: "second"  ← active │ user: two
                                         │                               │ assistant: second
        "#]],
    )
    .await;
}

#[tokio::test]
async fn branch_without_messages_needs_no_model_call() {
    check(
        "
        say one > first
        model other
        ---
        move first, summarize
        ",
        expect![[r#"
            before                       │ after                                               │ the model would see
            user: "one"                  │ user: "one"                                         │ system
            assistant: "first"  ← active │ assistant: "first"                                  │ user: one
                                         │ [branch summary]: No content to summarize  ← active │ assistant: first
                                         │                                                     │ branch: No content to summarize
        "#]],
    )
    .await;
}

#[tokio::test]
async fn sibling_branch_is_summarized_from_the_common_ancestor() {
    check(
        "
        say common > shared
        say two > second
        move shared
        say three > third
        ---
        move second, summarize > Three was tried.
        ",
        expect![[r#"
            before                          │ after                                           │ the model would see
            user: "common"                  │ user: "common"                                  │ system
            assistant: "shared"             │ assistant: "shared"                             │ user: common
            ├─ user: "two"                  │ ├─ user: "two"                                  │ assistant: shared
            │  assistant: "second"          │ │  assistant: "second"                          │ user: two
            └─ user: "three"                │ │  [branch summary]: Three was tried.  ← active │ assistant: second
               assistant: "third"  ← active │ └─ user: "three"                                │ branch: Three was tried.
                                            │    assistant: "third"

            asked for a summary
              [User]: three
              [Assistant]: third
        "#]],
    )
    .await;
}

#[tokio::test]
async fn file_lists_include_those_of_earlier_summaries() {
    check(
        "
        say one > first
        say two > [read a.txt] > [write c.txt] > second
        move first, summarize > Two was tried.
        say three > [read b.txt] > third
        ---
        move one, summarize > Both were tried.
        ",
        expect![[r#"
            before                              │ after                                        │ the model would see
            user: "one"                         │ user: "one"                                  │ system
            assistant: "first"                  │    assistant: "first"                        │ branch: Both were tried. <read-files> a.tx…
            ├─ user: "two"                      │    ├─ user: "two"
            │  [read: a.txt]                    │    │  [read: a.txt]
            │  [write: c.txt]                   │    │  [write: c.txt]
            │  assistant: "second"              │    │  assistant: "second"
            └─ [branch summary]: Two was tried. │    └─ [branch summary]: Two was tried.
               user: "three"                    │       user: "three"
               [read: b.txt]                    │       [read: b.txt]
               assistant: "third"  ← active     │       assistant: "third"
                                                │ [branch summary]: Both were tried.  ← active

            asked for a summary
              [Assistant]: first
              [User]: This is a summary of another branch of this conversation:
              <summary>
              The user tried another branch of this conversation before coming back here.
              Summary of that branch:
              Two was tried.
              <read-files>
              a.txt
              </read-files>
              <modified-files>
              c.txt
              </modified-files>
              </summary>
              [User]: three
              [Assistant tool calls]: read(path="b.txt")
              [Assistant]: third

            move one, summarize: editor "one"
        "#]],
    )
    .await;
}

#[tokio::test]
async fn compaction_in_the_branch_replaces_what_it_hides() {
    check(
        "
        say one > first
        say two, which is a rather long question about nothing > second, an answer as long as the question
        say three, again a question that takes many words to ask > third, with as many words in its answer
        compact > Two was compacted.
        say four > fourth
        ---
        move first, summarize > A compacted branch.
        ",
        expect![[r#"
            before                                      │ after                                              │ the model would see
            user: "one"                                 │ user: "one"                                        │ system
            assistant: "first"                          │ assistant: "first"                                 │ user: one
            user: "two, which is a rather long questio… │ ├─ user: "two, which is a rather long ques…        │ assistant: first
            assistant: "second, an answer as long as t… │ │  assistant: "second, an answer as long a…        │ branch: A compacted branch.
            user: "three, again a question that takes … │ │  user: "three, again a question that tak…
            assistant: "third, with as many words in i… │ │  assistant: "third, with as many words i…
            [compaction: 1k tokens]                     │ │  [compaction: 1k tokens]
            user: "four"                                │ │  user: "four"
            assistant: "fourth"  ← active               │ │  assistant: "fourth"
                                                        │ └─ [branch summary]: A compacted branch.  ← active

            asked for a summary
              [User]: This is a summary of the conversation so far:
              <summary>
              Two was compacted.
              </summary>
              [User]: three, again a question that takes many words to ask
              [Assistant]: third, with as many words in its answer
              [User]: four
              [Assistant]: fourth
        "#]],
    )
    .await;
}

#[tokio::test]
async fn content_hidden_by_a_common_compaction_is_not_summarized() {
    check(
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer
        compact > One was compacted.
        say three > third
        ---
        move second, summarize > Three was tried.
        ",
        expect![[r#"
            before                                      │ after                                           │ the model would see
            user: "one, which is a rather long questio… │ user: "one, which is a rather long questio…     │ system
            assistant: "first, an answer as long as th… │ assistant: "first, an answer as long as th…     │ user: one, which is a rather long question…
            user: "two, again a question that takes ma… │ user: "two, again a question that takes ma…     │ assistant: first, an answer as long as the…
            assistant: "second, with as many words in … │ assistant: "second, with as many words in …     │ user: two, again a question that takes man…
            [compaction: 1k tokens]                     │ ├─ [compaction: 1k tokens]                      │ assistant: second, with as many words in i…
            user: "three"                               │ │  user: "three"                                │ branch: Three was tried.
            assistant: "third"  ← active                │ │  assistant: "third"
                                                        │ └─ [branch summary]: Three was tried.  ← active

            asked for a summary
              [User]: three
              [Assistant]: third
        "#]],
    )
    .await;
}

#[tokio::test]
async fn truncated_summary_changes_nothing() {
    check(
        "
        say one > first
        say two > second
        ---
        move first, summarize, label x > Half a !cut
        ",
        expect![[r#"
            before                        │ after: the same │ the model would see
            user: "one"                   │                 │ system
            assistant: "first"            │                 │ user: one
            user: "two"                   │                 │ assistant: first
            assistant: "second"  ← active │                 │ user: two
                                          │                 │ assistant: second

            asked for a summary
              [User]: two
              [Assistant]: second

            move first, summarize, label x: the summary reached the output limit; choose a model for summaries with a higher limit
        "#]],
    )
    .await;
}

#[tokio::test]
async fn empty_summary_changes_nothing() {
    check(
        "
        say one > first
        say two > second
        ---
        move first, summarize, label x >
        ",
        expect![[r#"
            before                        │ after: the same │ the model would see
            user: "one"                   │                 │ system
            assistant: "first"            │                 │ user: one
            user: "two"                   │                 │ assistant: first
            assistant: "second"  ← active │                 │ user: two
                                          │                 │ assistant: second

            asked for a summary
              [User]: two
              [Assistant]: second

            move first, summarize, label x: the model returned an empty summary; try again, or choose another model for summaries
        "#]],
    )
    .await;
}

#[tokio::test]
async fn tool_call_instead_of_a_summary_changes_nothing() {
    check(
        "
        say one > first
        say two > second
        ---
        move first, summarize > [read a.txt]
        ",
        expect![[r#"
            before                        │ after: the same │ the model would see
            user: "one"                   │                 │ system
            assistant: "first"            │                 │ user: one
            user: "two"                   │                 │ assistant: first
            assistant: "second"  ← active │                 │ user: two
                                          │                 │ assistant: second

            asked for a summary
              [User]: two
              [Assistant]: second

            move first, summarize: the model called a tool instead of writing a summary; try again, or choose another model for summaries
        "#]],
    )
    .await;
}

#[tokio::test]
async fn model_failure_changes_nothing() {
    check(
        "
        say one > first
        say two > second
        ---
        move first, summarize, label x > Half !fail
        ",
        expect![[r#"
            before                        │ after: the same │ the model would see
            user: "one"                   │                 │ system
            assistant: "first"            │                 │ user: one
            user: "two"                   │                 │ assistant: first
            assistant: "second"  ← active │                 │ user: two
                                          │                 │ assistant: second

            asked for a summary
              [User]: two
              [Assistant]: second

            move first, summarize, label x: cannot write the summary: cannot reach p: gone
        "#]],
    )
    .await;
}

#[tokio::test]
async fn canceled_summary_changes_nothing() {
    check(
        "
        say one > first
        say two > second
        ---
        move first, summarize, label x > Half !hang
        ",
        expect![[r#"
            before                        │ after: the same │ the model would see
            user: "one"                   │                 │ system
            assistant: "first"            │                 │ user: one
            user: "two"                   │                 │ assistant: first
            assistant: "second"  ← active │                 │ user: two
                                          │                 │ assistant: second

            asked for a summary
              [User]: two
              [Assistant]: second

            move first, summarize, label x: cancelled, aborted
        "#]],
    )
    .await;
}

#[tokio::test]
async fn undo_and_redo_of_a_move_with_summary() {
    check(
        "
        say one > first
        say two > second
        ---
        move first, summarize > Two was tried.
        undo
        ",
        expect![[r#"
            before                        │ after                               │ the model would see
            user: "one"                   │ user: "one"                         │ system
            assistant: "first"            │ assistant: "first"                  │ user: one
            user: "two"                   │ ├─ user: "two"                      │ assistant: first
            assistant: "second"  ← active │ │  assistant: "second"  ← active    │ user: two
                                          │ └─ [branch summary]: Two was tried. │ assistant: second

            asked for a summary
              [User]: two
              [Assistant]: second
        "#]],
    )
    .await;
}

#[tokio::test]
async fn redo_ends_below_the_summary() {
    check(
        "
        say one > first
        say two > second
        move first, summarize > Two was tried.
        ---
        undo
        redo
        say three > third
        ",
        expect![[r#"
            before                                        │ after                               │ the model would see
            user: "one"                                   │ user: "one"                         │ system
            assistant: "first"                            │ assistant: "first"                  │ user: one
            ├─ user: "two"                                │ ├─ user: "two"                      │ assistant: first
            │  assistant: "second"                        │ │  assistant: "second"              │ branch: Two was tried.
            └─ [branch summary]: Two was tried.  ← active │ └─ [branch summary]: Two was tried. │ user: three
                                                          │    user: "three"                    │ assistant: third
                                                          │    assistant: "third"  ← active
        "#]],
    )
    .await;
}
