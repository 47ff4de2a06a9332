//! Automatic compaction: when the context is close to the limit, and after an overflow.

use expect_test::expect;
use osier_agent::CompactionConfig;

use crate::scenario::{Scenario, ScenarioConfig, check, check_with};

/// A context window that counts as full at 8100 tokens.
fn small() -> ScenarioConfig {
    ScenarioConfig::window(10_000)
}

#[tokio::test]
async fn compacts_before_the_reply_to_a_prompt() {
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
async fn compacts_in_the_middle_of_a_turn() {
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
            assistant: "first, an answer as long as th…  ← active │ assistant: "first, an answer as long as th… │ compacted: No prior history. --- **Start o…
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
async fn setting_disables_automatic_compaction() {
    check_with(
        ScenarioConfig { compaction: CompactionConfig { automatic: false, ..ScenarioConfig::default().compaction }, ..small() },
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
async fn failed_compaction_is_reported_and_the_turn_continues() {
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

            say three: cannot compact the conversation: the summary reached the output limit; choose a model for summaries with a higher limit
        "#]],
    )
    .await;
}

#[tokio::test]
async fn nothing_to_compact_is_not_reported() {
    check_with(
        ScenarioConfig {
            compaction: CompactionConfig { keep_recent: Some(400), ..ScenarioConfig::default().compaction },
            ..small()
        },
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
async fn cancel_during_compaction_changes_nothing() {
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
async fn overflow_compacts_and_retries_next_to_the_failed_reply() {
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
async fn second_overflow_in_a_row_is_a_failure() {
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
async fn later_overflow_in_the_same_turn_is_recovered_again() {
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
            assistant: "first, an answer as long as th…           │ assistant: "first, an answer as long as th… │ compacted: One was said. --- **Start of th…
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
async fn overflow_with_nothing_to_compact_is_a_failure() {
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

            say two: cannot compact the conversation: nothing to compact: every message is recent or not answered yet; Failed: the conversation is too long for the model; compact it, or choose a model with a larger window. too long
        "#]],
    )
    .await;
}

#[tokio::test]
async fn overflow_with_a_failed_summary_is_a_failure() {
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

            say three: cannot compact the conversation: cannot write the summary: cannot reach p: gone; Failed: the conversation is too long for the model; compact it, or choose a model with a larger window. too long
        "#]],
    )
    .await;
}

/// A text of about this many tokens.
fn long(tokens: usize) -> String {
    "word".repeat(tokens)
}

#[tokio::test]
async fn recently_compacted_path_is_not_compacted_again() {
    // The prompt and tools alone nearly fill the window, so no compaction frees enough room.
    let keep_recent = Some(1000);
    let config = ScenarioConfig {
        compaction: CompactionConfig { keep_recent, ..ScenarioConfig::default().compaction },
        ..small()
    };
    let setup_script = format!("say {} > {} #9000", long(1500), long(1500));
    let mut scenario = Scenario::set_up(config, &setup_script).await;
    scenario
        .run_script(
            "say on > One was said. > [read a.txt] #9000 > [read b.txt] #9000 > [ls .] #9000 > done #9000",
        )
        .await;
    scenario.run_script("say and on > fine #9000").await;
    assert_eq!(scenario.results, [""; 0]);
    scenario.run_script(&format!("say {} > More was said. > enough #9000", long(1200))).await;
    assert_eq!(scenario.results, [""; 0]);
}
