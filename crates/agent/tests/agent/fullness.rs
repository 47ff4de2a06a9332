//! Compaction by itself: when the context is nearly too long, and when it was too long.

use expect_test::expect;
use osier_agent::Compacting;

use crate::stage::{Props, Stage, check, check_with};

/// A window that is full with 8100 tokens.
fn small() -> Props {
    Props::window(10_000)
}

#[tokio::test]
async fn by_itself_before_a_prompt_is_answered() {
    check_with(
        small(),
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer #9000
        ---
        say three > One was said. > third
        ",
        expect![[r#"
            before                                                │ after                                       │ the model would see
            user: "one, which is a rather long questio…           │ user: "one, which is a rather long questio… │ system
            assistant: "first, an answer as long as th…           │ assistant: "first, an answer as long as th… │ compacted: One was said.
            user: "two, again a question that takes ma…           │ user: "two, again a question that takes ma… │ user: two, again a question that takes man…
            assistant: "second, with as many words in …  ← active │ assistant: "second, with as many words in … │ assistant: second, with as many words in i…
                                                                  │ user: "three"                               │ user: three
                                                                  │ [compaction: 9k tokens]                     │ assistant: third
                                                                  │ assistant: "third"  ← active

            asked for a summary
              [User]: one, which is a rather long question about nothing
              [Assistant]: first, an answer as long as the question
        "#]],
    )
    .await;
}

#[tokio::test]
async fn by_itself_in_the_middle_of_a_turn() {
    check_with(
        small(),
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        ---
        say go > looking at the first of the files [read a.txt] #9000 > One was said. > done
        ",
        expect![[r#"
            before                                                │ after                                       │ the model would see
            user: "one, which is a rather long questio…           │ user: "one, which is a rather long questio… │ system
            assistant: "first, an answer as long as th…  ← active │ assistant: "first, an answer as long as th… │ compacted: No prior history. --- **The tur…
                                                                  │ user: "go"                                  │ assistant: first, an answer as long as the…
                                                                  │ assistant: "looking at the first of the fi… │ user: go
                                                                  │ [read: a.txt]                               │ assistant: looking at the first of the fil…
                                                                  │ [compaction: 9k tokens]                     │ result: alpha
                                                                  │ assistant: "done"  ← active                 │ assistant: done

            asked for a summary
              [User]: one, which is a rather long question about nothing
        "#]],
    )
    .await;
}

#[tokio::test]
async fn not_by_itself_if_the_setting_says_so() {
    check_with(
        Props { compacting: Compacting { automatic: false, ..Props::default().compacting }, ..small() },
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer #9000
        ---
        say three > third #9000
        say four > !overflow
        ",
        expect![[r#"
            before                                                │ after                                                 │ the model would see
            user: "one, which is a rather long questio…           │ user: "one, which is a rather long questio…           │ system
            assistant: "first, an answer as long as th…           │ assistant: "first, an answer as long as th…           │ user: one, which is a rather long question…
            user: "two, again a question that takes ma…           │ user: "two, again a question that takes ma…           │ assistant: first, an answer as long as the…
            assistant: "second, with as many words in …  ← active │ assistant: "second, with as many words in …           │ user: two, again a question that takes man…
                                                                  │ user: "three"                                         │ assistant: second, with as many words in i…
                                                                  │ assistant: "third"                                    │ user: three
                                                                  │ user: "four"                                          │ assistant: third
                                                                  │ assistant: the conversation is too long fo…  ← active │ user: four
                                                                  │                                                       │ assistant:

            say four: Failed: the conversation is too long for the model; compact it, or choose a model with a larger window. too long
        "#]],
    )
    .await;
}

#[tokio::test]
async fn one_that_fails_by_itself_is_told_and_the_model_asked_all_the_same() {
    check_with(
        small(),
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer #9000
        ---
        say three > Half !cut > looking [read a.txt] #9000 > third
        ",
        expect![[r#"
            before                                                │ after                                       │ the model would see
            user: "one, which is a rather long questio…           │ user: "one, which is a rather long questio… │ system
            assistant: "first, an answer as long as th…           │ assistant: "first, an answer as long as th… │ user: one, which is a rather long question…
            user: "two, again a question that takes ma…           │ user: "two, again a question that takes ma… │ assistant: first, an answer as long as the…
            assistant: "second, with as many words in …  ← active │ assistant: "second, with as many words in … │ user: two, again a question that takes man…
                                                                  │ user: "three"                               │ assistant: second, with as many words in i…
                                                                  │ assistant: "looking"                        │ user: three
                                                                  │ [read: a.txt]                               │ assistant: looking [read]
                                                                  │ assistant: "third"  ← active                │ result: alpha
                                                                  │                                             │ assistant: third

            asked for a summary
              [User]: one, which is a rather long question about nothing
              [Assistant]: first, an answer as long as the question

            say three: the conversation could not be compacted: the summary was cut off at the limit of output; choose a model for summaries that may write more
        "#]],
    )
    .await;
}

#[tokio::test]
async fn one_that_finds_nothing_to_cut_is_no_news() {
    check_with(
        Props { compacting: Compacting { keep_recent: Some(400), ..Props::default().compacting }, ..small() },
        "
        say one > first #9000
        ---
        say two > second
        ",
        expect![[r#"
            before                       │ after                         │ the model would see
            user: "one"                  │ user: "one"                   │ system
            assistant: "first"  ← active │ assistant: "first"            │ user: one
                                         │ user: "two"                   │ assistant: first
                                         │ assistant: "second"  ← active │ user: two
                                         │                               │ assistant: second
        "#]],
    )
    .await;
}

#[tokio::test]
async fn stopped_with_the_turn_nothing_was_compacted() {
    check_with(
        small(),
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer #9000
        ---
        say three > Half !hang
        ",
        expect![[r#"
            before                                                │ after                                       │ the model would see
            user: "one, which is a rather long questio…           │ user: "one, which is a rather long questio… │ system
            assistant: "first, an answer as long as th…           │ assistant: "first, an answer as long as th… │ user: one, which is a rather long question…
            user: "two, again a question that takes ma…           │ user: "two, again a question that takes ma… │ assistant: first, an answer as long as the…
            assistant: "second, with as many words in …  ← active │ assistant: "second, with as many words in … │ user: two, again a question that takes man…
                                                                  │ user: "three"  ← active                     │ assistant: second, with as many words in i…
                                                                  │                                             │ user: three

            asked for a summary
              [User]: one, which is a rather long question about nothing
              [Assistant]: first, an answer as long as the question

            say three: Cancelled
        "#]],
    )
    .await;
}

#[tokio::test]
async fn what_was_too_long_is_compacted_and_asked_again_beside_the_failure() {
    check(
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer
        ---
        say three > !overflow > One was said. > third
        ",
        expect![[r#"
            before                                                │ after                                       │ the model would see
            user: "one, which is a rather long questio…           │ user: "one, which is a rather long questio… │ system
            assistant: "first, an answer as long as th…           │ assistant: "first, an answer as long as th… │ compacted: One was said.
            user: "two, again a question that takes ma…           │ user: "two, again a question that takes ma… │ user: two, again a question that takes man…
            assistant: "second, with as many words in …  ← active │ assistant: "second, with as many words in … │ assistant: second, with as many words in i…
                                                                  │ user: "three"                               │ user: three
                                                                  │ ├─ assistant: the conversation is too long… │ assistant: third
                                                                  │ └─ [compaction: 1k tokens]
                                                                  │    assistant: "third"  ← active

            asked for a summary
              [User]: one, which is a rather long question about nothing
              [Assistant]: first, an answer as long as the question
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_second_overflow_in_a_row_is_a_failure() {
    check(
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer
        ---
        say three > !overflow > One was said. > !overflow
        ",
        expect![[r#"
            before                                                │ after                                                 │ the model would see
            user: "one, which is a rather long questio…           │ user: "one, which is a rather long questio…           │ system
            assistant: "first, an answer as long as th…           │ assistant: "first, an answer as long as th…           │ compacted: One was said.
            user: "two, again a question that takes ma…           │ user: "two, again a question that takes ma…           │ user: two, again a question that takes man…
            assistant: "second, with as many words in …  ← active │ assistant: "second, with as many words in …           │ assistant: second, with as many words in i…
                                                                  │ user: "three"                                         │ user: three
                                                                  │ ├─ assistant: the conversation is too long…           │ assistant:
                                                                  │ └─ [compaction: 1k tokens]
                                                                  │    assistant: the conversation is too long…  ← active

            asked for a summary
              [User]: one, which is a rather long question about nothing
              [Assistant]: first, an answer as long as the question

            say three: Failed: the conversation is too long for the model; compact it, or choose a model with a larger window. too long
        "#]],
    )
    .await;
}

#[tokio::test]
async fn an_overflow_later_in_the_turn_is_recovered_from_again() {
    check(
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer
        ---
        say three > !overflow > One was said. > looking at the first of the files [read a.txt] > !overflow > More. > third
        ",
        expect![[r#"
            before                                                │ after                                       │ the model would see
            user: "one, which is a rather long questio…           │ user: "one, which is a rather long questio… │ system
            assistant: "first, an answer as long as th…           │ assistant: "first, an answer as long as th… │ compacted: One was said. --- **The turn th…
            user: "two, again a question that takes ma…           │ user: "two, again a question that takes ma… │ assistant: second, with as many words in i…
            assistant: "second, with as many words in …  ← active │ assistant: "second, with as many words in … │ user: three
                                                                  │ user: "three"                               │ assistant: looking at the first of the fil…
                                                                  │ ├─ assistant: the conversation is too long… │ result: alpha
                                                                  │ └─ [compaction: 1k tokens]                  │ assistant: third
                                                                  │    assistant: "looking at the first of the…
                                                                  │    [read: a.txt]
                                                                  │    ├─ assistant: the conversation is too l…
                                                                  │    └─ [compaction: 1k tokens]
                                                                  │       assistant: "third"  ← active

            asked for a summary
              [User]: one, which is a rather long question about nothing
              [Assistant]: first, an answer as long as the question

            asked for a summary
              [User]: two, again a question that takes many words to ask
        "#]],
    )
    .await;
}

#[tokio::test]
async fn an_overflow_with_nothing_to_cut_is_a_failure() {
    check(
        "
        say one > first
        ---
        say two > !overflow
        ",
        expect![[r#"
            before                       │ after                                                 │ the model would see
            user: "one"                  │ user: "one"                                           │ system
            assistant: "first"  ← active │ assistant: "first"                                    │ user: one
                                         │ user: "two"                                           │ assistant: first
                                         │ assistant: the conversation is too long fo…  ← active │ user: two
                                         │                                                       │ assistant:

            say two: the conversation could not be compacted: nothing to compact: every message is recent or not answered yet; Failed: the conversation is too long for the model; compact it, or choose a model with a larger window. too long
        "#]],
    )
    .await;
}

#[tokio::test]
async fn an_overflow_whose_summary_fails_is_a_failure() {
    check(
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer
        ---
        say three > !overflow > Half !fail
        ",
        expect![[r#"
            before                                                │ after                                                 │ the model would see
            user: "one, which is a rather long questio…           │ user: "one, which is a rather long questio…           │ system
            assistant: "first, an answer as long as th…           │ assistant: "first, an answer as long as th…           │ user: one, which is a rather long question…
            user: "two, again a question that takes ma…           │ user: "two, again a question that takes ma…           │ assistant: first, an answer as long as the…
            assistant: "second, with as many words in …  ← active │ assistant: "second, with as many words in …           │ user: two, again a question that takes man…
                                                                  │ user: "three"                                         │ assistant: second, with as many words in i…
                                                                  │ assistant: the conversation is too long fo…  ← active │ user: three
                                                                  │                                                       │ assistant:

            asked for a summary
              [User]: one, which is a rather long question about nothing
              [Assistant]: first, an answer as long as the question

            say three: the conversation could not be compacted: the model could not write the summary: cannot talk to p: gone; Failed: the conversation is too long for the model; compact it, or choose a model with a larger window. too long
        "#]],
    )
    .await;
}

/// Something of about so many tokens.
fn long(tokens: usize) -> String {
    "word".repeat(tokens)
}

#[tokio::test]
async fn a_path_that_was_just_compacted_is_not_compacted_before_each_step() {
    // Prompt and tools alone nearly fill the window, so no compaction makes enough room.
    let keep_recent = Some(1000);
    let props = Props { compacting: Compacting { keep_recent, ..Props::default().compacting }, ..small() };
    let scene = format!("say {} > {} #9000", long(1500), long(1500));
    let mut stage = Stage::set(props, &scene).await;
    stage
        .play("say on > One was said. > [read a.txt] #9000 > [read b.txt] #9000 > [ls .] #9000 > done #9000")
        .await;
    stage.play("say and on > fine #9000").await;
    assert_eq!(stage.told, [""; 0]);
    stage.play(&format!("say {} > More was said. > enough #9000", long(1200))).await;
    assert_eq!(stage.told, [""; 0]);
}
