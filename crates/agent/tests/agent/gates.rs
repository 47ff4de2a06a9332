//! Gates for moves and compactions.

use async_trait::async_trait;
use expect_test::expect;
use osier_agent::gates::{
    CompactDecision, CompactPreparation, ExtensionCompaction, ExtensionSummary, Gates, TreeDecision,
    TreePreparation,
};
use osier_model::CancellationToken;
use serde_json::json;

use crate::scenario::{ScenarioConfig, check_with};

#[derive(Debug)]
struct MoveGates(TreeDecision);

#[async_trait]
impl Gates for MoveGates {
    async fn before_tree(&self, _: &TreePreparation, _: &CancellationToken) -> TreeDecision {
        self.0.clone()
    }
}

fn on_moves(answer: TreeDecision) -> ScenarioConfig {
    ScenarioConfig::gated(MoveGates(answer))
}

#[tokio::test]
async fn gate_refuses_a_move_without_an_error() {
    check_with(
        on_moves(TreeDecision { cancel: true, ..TreeDecision::default() }),
        "
        say one > first
        say two > second
        ---
        move first, summarize, label mine
        ",
        expect![[r#"
            before                        │ after: the same │ the model would see
            user: "one"                   │                 │ system
            assistant: "first"            │                 │ user: one
            user: "two"                   │                 │ assistant: first
            assistant: "second"  ← active │                 │ user: two
                                          │                 │ assistant: second

            move first, summarize, label mine: cancelled
        "#]],
    )
    .await;
}

#[tokio::test]
async fn gate_provides_the_summary() {
    check_with(
        on_moves(TreeDecision {
            summary: Some(ExtensionSummary { summary: "Mine.".into(), details: Some(json!({ "own": 1 })) }),
            ..TreeDecision::default()
        }),
        "
        say one > first
        say two > second
        ---
        move first, summarize, label mine
        ",
        expect![[r#"
            before                        │ after                                       │ the model would see
            user: "one"                   │ user: "one"                                 │ system
            assistant: "first"            │ assistant: "first"                          │ user: one
            user: "two"                   │ ├─ user: "two"                              │ assistant: first
            assistant: "second"  ← active │ │  assistant: "second"                      │ branch: Mine.
                                          │ └─ [mine] [branch summary]: Mine.  ← active
        "#]],
    )
    .await;
}

#[tokio::test]
async fn gate_summary_is_ignored_if_none_was_requested() {
    check_with(
        on_moves(TreeDecision {
            summary: Some(ExtensionSummary { summary: "Mine.".into(), details: None }),
            ..TreeDecision::default()
        }),
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
async fn gate_changes_label_and_instructions() {
    check_with(
        on_moves(TreeDecision {
            custom_instructions: Some("Answer in one word.".into()),
            replace_instructions: Some(true),
            label: Some("its".into()),
            ..TreeDecision::default()
        }),
        "
        say one > first
        say two > second
        ---
        move first, summarize, label mine, about mine > Two was tried.
        ",
        expect![[r#"
            before                        │ after                                               │ the model would see
            user: "one"                   │ user: "one"                                         │ system
            assistant: "first"            │ assistant: "first"                                  │ user: one
            user: "two"                   │ ├─ user: "two"                                      │ assistant: first
            assistant: "second"  ← active │ │  assistant: "second"                              │ branch: Two was tried.
                                          │ └─ [its] [branch summary]: Two was tried.  ← active

            asked for a summary
              [User]: two
              [Assistant]: second
              Answer in one word.
        "#]],
    )
    .await;
}

#[derive(Debug)]
struct CompactionGates(CompactDecision);

#[async_trait]
impl Gates for CompactionGates {
    async fn before_compact(&self, asked: &CompactPreparation, _: &CancellationToken) -> CompactDecision {
        let mut answer = self.0.clone();
        if let Some(own) = &mut answer.compaction {
            own.first_kept_entry_id.clone_from(&asked.first_kept_entry_id);
        }
        answer
    }
}

fn on_compactions(summary: Option<&str>) -> ScenarioConfig {
    let own = |summary: &str| ExtensionCompaction {
        summary: summary.into(),
        tokens_before: 7,
        ..ExtensionCompaction::default()
    };
    ScenarioConfig::gated(CompactionGates(CompactDecision {
        cancel: summary.is_none(),
        compaction: summary.map(own),
    }))
}

#[tokio::test]
async fn gate_refuses_a_compaction_without_an_error() {
    check_with(
        on_compactions(None),
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer
        ---
        compact
        ",
        expect![[r#"
            before                                                │ after: the same │ the model would see
            user: "one, which is a rather long questio…           │                 │ system
            assistant: "first, an answer as long as th…           │                 │ user: one, which is a rather long question…
            user: "two, again a question that takes ma…           │                 │ assistant: first, an answer as long as the…
            assistant: "second, with as many words in …  ← active │                 │ user: two, again a question that takes man…
                                                                  │                 │ assistant: second, with as many words in i…

            compact: refused
        "#]],
    )
    .await;
}

#[tokio::test]
async fn gate_provides_the_compaction() {
    check_with(
        on_compactions(Some("Mine.")),
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer
        ---
        compact
        ",
        expect![[r#"
            before                                                │ after                                       │ the model would see
            user: "one, which is a rather long questio…           │ user: "one, which is a rather long questio… │ system
            assistant: "first, an answer as long as th…           │ assistant: "first, an answer as long as th… │ compacted: Mine.
            user: "two, again a question that takes ma…           │ user: "two, again a question that takes ma… │ user: two, again a question that takes man…
            assistant: "second, with as many words in …  ← active │ assistant: "second, with as many words in … │ assistant: second, with as many words in i…
                                                                  │ [compaction: 0k tokens]  ← active
        "#]],
    )
    .await;
}

#[tokio::test]
async fn empty_gate_compaction_is_an_error() {
    check_with(
        on_compactions(Some(" ")),
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer
        ---
        compact
        ",
        expect![[r#"
            before                                                │ after: the same │ the model would see
            user: "one, which is a rather long questio…           │                 │ system
            assistant: "first, an answer as long as th…           │                 │ user: one, which is a rather long question…
            user: "two, again a question that takes ma…           │                 │ assistant: first, an answer as long as the…
            assistant: "second, with as many words in …  ← active │                 │ user: two, again a question that takes man…
                                                                  │                 │ assistant: second, with as many words in i…

            compact: the model returned an empty summary; try again, or choose another model for summaries
        "#]],
    )
    .await;
}
