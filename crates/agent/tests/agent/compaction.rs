//! Compaction: where it cuts, what the summary covers, and what stays unchanged.

use expect_test::expect;

use crate::scenario::check;

#[tokio::test]
async fn manual_compaction_summarizes_the_older_part_and_keeps_recent_messages() {
    check(
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer
        ---
        compact > One was said.
        say three > third
        ",
        expect![[r#"
            before                                                │ after                                       │ the model would see
            user: "one, which is a rather long questio…           │ user: "one, which is a rather long questio… │ system
            assistant: "first, an answer as long as th…           │ assistant: "first, an answer as long as th… │ compacted: One was said.
            user: "two, again a question that takes ma…           │ user: "two, again a question that takes ma… │ user: two, again a question that takes man…
            assistant: "second, with as many words in …  ← active │ assistant: "second, with as many words in … │ assistant: second, with as many words in i…
                                                                  │ [compaction: 1k tokens]                     │ user: three
                                                                  │ user: "three"                               │ assistant: third
                                                                  │ assistant: "third"  ← active

            asked for a summary
              [User]: one, which is a rather long question about nothing
              [Assistant]: first, an answer as long as the question
        "#]],
    )
    .await;
}

#[tokio::test]
async fn focus_is_passed_to_the_summarizer() {
    check(
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer
        ---
        compact the names > One was said.
        ",
        expect![[r#"
            before                                                │ after                                       │ the model would see
            user: "one, which is a rather long questio…           │ user: "one, which is a rather long questio… │ system
            assistant: "first, an answer as long as th…           │ assistant: "first, an answer as long as th… │ compacted: One was said.
            user: "two, again a question that takes ma…           │ user: "two, again a question that takes ma… │ user: two, again a question that takes man…
            assistant: "second, with as many words in …  ← active │ assistant: "second, with as many words in … │ assistant: second, with as many words in i…
                                                                  │ [compaction: 1k tokens]  ← active

            asked for a summary
              [User]: one, which is a rather long question about nothing
              [Assistant]: first, an answer as long as the question
              Additional focus: the names
        "#]],
    )
    .await;
}

#[tokio::test]
async fn second_compaction_extends_the_first_summary() {
    check(
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer
        compact > One was said.
        say three, the third question of so many words as these > third, an answer as long as the others
        ---
        compact > One and two were said.
        ",
        expect![[r#"
            before                                                │ after                                       │ the model would see
            user: "one, which is a rather long questio…           │ user: "one, which is a rather long questio… │ system
            assistant: "first, an answer as long as th…           │ assistant: "first, an answer as long as th… │ compacted: One and two were said.
            user: "two, again a question that takes ma…           │ user: "two, again a question that takes ma… │ user: three, the third question of so many…
            assistant: "second, with as many words in …           │ assistant: "second, with as many words in … │ assistant: third, an answer as long as the…
            [compaction: 1k tokens]                               │ [compaction: 1k tokens]
            user: "three, the third question of so man…           │ user: "three, the third question of so man…
            assistant: "third, an answer as long as th…  ← active │ assistant: "third, an answer as long as th…
                                                                  │ [compaction: 1k tokens]  ← active

            asked for a summary
              [User]: two, again a question that takes many words to ask
              [Assistant]: second, with as many words in its answer
              </conversation>
              <previous-summary>
              One was said.
        "#]],
    )
    .await;
}

#[tokio::test]
async fn compacting_twice_in_a_row_does_nothing() {
    check(
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer
        compact > One was said.
        ---
        compact
        ",
        expect![[r#"
            before                                      │ after: the same │ the model would see
            user: "one, which is a rather long questio… │                 │ system
            assistant: "first, an answer as long as th… │                 │ compacted: One was said.
            user: "two, again a question that takes ma… │                 │ user: two, again a question that takes man…
            assistant: "second, with as many words in … │                 │ assistant: second, with as many words in i…
            [compaction: 1k tokens]  ← active

            compact: nothing to compact: no new messages since the last compaction
        "#]],
    )
    .await;
}

#[tokio::test]
async fn short_conversation_is_not_compacted() {
    check(
        "
        say one > first
        ---
        compact
        ",
        expect![[r#"
            before                       │ after: the same │ the model would see
            user: "one"                  │                 │ system
            assistant: "first"  ← active │                 │ user: one
                                         │                 │ assistant: first

            compact: nothing to compact: every message is recent or not answered yet
        "#]],
    )
    .await;
}

#[tokio::test]
async fn long_turn_is_split_and_its_start_summarized_separately() {
    check(
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say go > looking at the first of the files [read a.txt] > looking at the second of the files [read b.txt] > there is nothing of any interest in them
        ---
        compact > One was said. > Two files were read.
        ",
        expect![[r#"
            before                                                │ after                                       │ the model would see
            user: "one, which is a rather long questio…           │ user: "one, which is a rather long questio… │ system
            assistant: "first, an answer as long as th…           │ assistant: "first, an answer as long as th… │ compacted: One was said. --- **Start of th…
            user: "go"                                            │ user: "go"                                  │ assistant: looking at the second of the fi…
            assistant: "looking at the first of the fi…           │ assistant: "looking at the first of the fi… │ result: beta
            [read: a.txt]                                         │ [read: a.txt]                               │ assistant: there is nothing of any interes…
            assistant: "looking at the second of the f…           │ assistant: "looking at the second of the f…
            [read: b.txt]                                         │ [read: b.txt]
            assistant: "there is nothing of any intere…  ← active │ assistant: "there is nothing of any intere…
                                                                  │ [compaction: 1k tokens]  ← active

            asked for a summary
              [User]: one, which is a rather long question about nothing
              [Assistant]: first, an answer as long as the question

            asked for a summary
              [User]: go
              [Assistant]: looking at the first of the files
              [Assistant tool calls]: read(path="a.txt")
              [Tool result]: alpha
        "#]],
    )
    .await;
}

#[tokio::test]
async fn split_first_turn_has_no_history() {
    check(
        "
        say go > looking at the first of the files [read a.txt] > looking at the second of the files [read b.txt] > there is nothing of any interest in them
        ---
        compact > Two files were read.
        ",
        expect![[r#"
            before                                                │ after                                       │ the model would see
            user: "go"                                            │ user: "go"                                  │ system
            assistant: "looking at the first of the fi…           │ assistant: "looking at the first of the fi… │ compacted: No prior history. --- **Start o…
            [read: a.txt]                                         │ [read: a.txt]                               │ assistant: looking at the second of the fi…
            assistant: "looking at the second of the f…           │ assistant: "looking at the second of the f… │ result: beta
            [read: b.txt]                                         │ [read: b.txt]                               │ assistant: there is nothing of any interes…
            assistant: "there is nothing of any intere…  ← active │ assistant: "there is nothing of any intere…
                                                                  │ [compaction: 1k tokens]  ← active

            asked for a summary
              [User]: go
              [Assistant]: looking at the first of the files
              [Assistant tool calls]: read(path="a.txt")
              [Tool result]: alpha
        "#]],
    )
    .await;
}

#[tokio::test]
async fn unanswered_prompt_is_kept() {
    check(
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer
        ---
        say three, a question that gets no answer however long it is > !fail
        compact > One and two.
        ",
        expect![[r#"
            before                                                │ after                                       │ the model would see
            user: "one, which is a rather long questio…           │ user: "one, which is a rather long questio… │ system
            assistant: "first, an answer as long as th…           │ assistant: "first, an answer as long as th… │ user: one, which is a rather long question…
            user: "two, again a question that takes ma…           │ user: "two, again a question that takes ma… │ assistant: first, an answer as long as the…
            assistant: "second, with as many words in …  ← active │ assistant: "second, with as many words in … │ user: two, again a question that takes man…
                                                                  │ user: "three, a question that gets no answ… │ assistant: second, with as many words in i…
                                                                  │ assistant: cannot reach p: gone  ← active   │ user: three, a question that gets no answe…
                                                                  │                                             │ assistant:

            asked for a summary
              [User]: one, which is a rather long question about nothing
              [Assistant]: first, an answer as long as the question

            asked for a summary
              [User]: two, again a question that takes many words to ask

            say three, a question that gets no answer however long it is: Failed: cannot reach p: gone
            compact: cannot write the summary: scripted rejected the request (status 400). The script has no more turns.
        "#]],
    )
    .await;
}

#[tokio::test]
async fn empty_failed_reply_stays_on_its_own_branch() {
    check(
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer
        ---
        say three > !fail
        compact > One.
        resume > third
        ",
        expect![[r#"
            before                                                │ after                                       │ the model would see
            user: "one, which is a rather long questio…           │ user: "one, which is a rather long questio… │ system
            assistant: "first, an answer as long as th…           │ assistant: "first, an answer as long as th… │ compacted: One.
            user: "two, again a question that takes ma…           │ user: "two, again a question that takes ma… │ user: two, again a question that takes man…
            assistant: "second, with as many words in …  ← active │ assistant: "second, with as many words in … │ assistant: second, with as many words in i…
                                                                  │ user: "three"                               │ user: three
                                                                  │ ├─ assistant: cannot reach p: gone          │ assistant: third
                                                                  │ └─ [compaction: 1k tokens]
                                                                  │    assistant: "third"  ← active

            asked for a summary
              [User]: one, which is a rather long question about nothing
              [Assistant]: first, an answer as long as the question

            say three: Failed: cannot reach p: gone
        "#]],
    )
    .await;
}

#[tokio::test]
async fn file_lists_carry_over_between_compactions() {
    check(
        "
        say one, which is a rather long question > [read a.txt] > [write c.txt] > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer
        compact > One.
        say three > [read b.txt] > third, an answer as long as any of the others are
        say four, the third question of so many words as these > third, an answer as long as the others
        ---
        compact > One to three.
        ",
        expect![[r#"
            before                                                │ after                                       │ the model would see
            user: "one, which is a rather long questio…           │ user: "one, which is a rather long questio… │ system
            [read: a.txt]                                         │ [read: a.txt]                               │ compacted: One to three. <read-files> a.tx…
            [write: c.txt]                                        │ [write: c.txt]                              │ user: four, the third question of so many …
            assistant: "first, an answer as long as th…           │ assistant: "first, an answer as long as th… │ assistant: third, an answer as long as the…
            user: "two, again a question that takes ma…           │ user: "two, again a question that takes ma…
            assistant: "second, with as many words in …           │ assistant: "second, with as many words in …
            [compaction: 1k tokens]                               │ [compaction: 1k tokens]
            user: "three"                                         │ user: "three"
            [read: b.txt]                                         │ [read: b.txt]
            assistant: "third, an answer as long as an…           │ assistant: "third, an answer as long as an…
            user: "four, the third question of so many…           │ user: "four, the third question of so many…
            assistant: "third, an answer as long as th…  ← active │ assistant: "third, an answer as long as th…
                                                                  │ [compaction: 2k tokens]  ← active

            asked for a summary
              [User]: two, again a question that takes many words to ask
              [Assistant]: second, with as many words in its answer
              [User]: three
              [Assistant tool calls]: read(path="b.txt")
              [Tool result]: beta
              [Assistant]: third, an answer as long as any of the others are
              </conversation>
              <previous-summary>
              One.
              <read-files>
              a.txt
              </read-files>
              <modified-files>
              c.txt
              </modified-files>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn undoing_a_compaction_restores_the_context() {
    check(
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer
        compact > One was said.
        say three > third
        ---
        uncompact
        ",
        expect![[r#"
            before                                      │ after                                                 │ the model would see
            user: "one, which is a rather long questio… │ user: "one, which is a rather long questio…           │ system
            assistant: "first, an answer as long as th… │ assistant: "first, an answer as long as th…           │ user: one, which is a rather long question…
            user: "two, again a question that takes ma… │ user: "two, again a question that takes ma…           │ assistant: first, an answer as long as the…
            assistant: "second, with as many words in … │ assistant: "second, with as many words in …  ← active │ user: two, again a question that takes man…
            [compaction: 1k tokens]                     │ [compaction: 1k tokens]                               │ assistant: second, with as many words in i…
            user: "three"                               │ user: "three"
            assistant: "third"  ← active                │ assistant: "third"
        "#]],
    )
    .await;
}

#[tokio::test]
async fn undoing_a_compaction_is_an_ordinary_move() {
    check(
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer
        compact > One was said.
        ---
        uncompact
        undo
        ",
        expect![[r#"
            before                                      │ after: the same │ the model would see
            user: "one, which is a rather long questio… │                 │ system
            assistant: "first, an answer as long as th… │                 │ compacted: One was said.
            user: "two, again a question that takes ma… │                 │ user: two, again a question that takes man…
            assistant: "second, with as many words in … │                 │ assistant: second, with as many words in i…
            [compaction: 1k tokens]  ← active
        "#]],
    )
    .await;
}

#[tokio::test]
async fn only_a_compaction_can_be_undone() {
    check(
        "
        say one > first
        ---
        uncompact
        uncompact first
        ",
        expect![[r#"
            before                       │ after: the same │ the model would see
            user: "one"                  │                 │ system
            assistant: "first"  ← active │                 │ user: one
                                         │                 │ assistant: first

            uncompact: this path has no compaction
            uncompact first: 00000004 is not a compaction
        "#]],
    )
    .await;
}

#[tokio::test]
async fn failed_summary_changes_nothing() {
    check(
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer
        ---
        compact > Half !cut
        compact > Half !fail
        compact >
        compact > Half !hang
        ",
        expect![[r#"
            before                                                │ after: the same │ the model would see
            user: "one, which is a rather long questio…           │                 │ system
            assistant: "first, an answer as long as th…           │                 │ user: one, which is a rather long question…
            user: "two, again a question that takes ma…           │                 │ assistant: first, an answer as long as the…
            assistant: "second, with as many words in …  ← active │                 │ user: two, again a question that takes man…
                                                                  │                 │ assistant: second, with as many words in i…

            asked for a summary
              [User]: one, which is a rather long question about nothing
              [Assistant]: first, an answer as long as the question

            asked for a summary
              [User]: one, which is a rather long question about nothing
              [Assistant]: first, an answer as long as the question

            asked for a summary
              [User]: one, which is a rather long question about nothing
              [Assistant]: first, an answer as long as the question

            asked for a summary
              [User]: one, which is a rather long question about nothing
              [Assistant]: first, an answer as long as the question

            compact: the summary reached the output limit; choose a model for summaries with a higher limit
            compact: cannot write the summary: cannot reach p: gone
            compact: the model returned an empty summary; try again, or choose another model for summaries
            compact: the summary was canceled
        "#]],
    )
    .await;
}
