//! Hooks that decide about moves and compactions.

use async_trait::async_trait;
use expect_test::expect;
use osier_agent::hooks::{
    CompactionDecision, CompactionPreparation, ExtensionCompaction, ExtensionSummary, Hook, HookContext,
    HookResult, MoveDecision, MovePreparation,
};
use serde_json::json;

use crate::scenario::{ScenarioConfig, check_with};

#[derive(Debug)]
struct MoveHook(MoveDecision);

#[async_trait]
impl Hook for MoveHook {
    async fn before_move(&self, _: &MovePreparation, _: &HookContext<'_>) -> HookResult<MoveDecision> {
        Ok(self.0.clone())
    }
}

fn on_moves(answer: MoveDecision) -> ScenarioConfig {
    ScenarioConfig::hooked(MoveHook(answer))
}

#[tokio::test]
async fn hook_refuses_a_move_without_an_error() {
    check_with(
        on_moves(MoveDecision { cancel: true, ..MoveDecision::default() }),
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
async fn hook_provides_the_summary() {
    check_with(
        on_moves(MoveDecision {
            summary: Some(ExtensionSummary { summary: "Mine.".into(), details: Some(json!({ "own": 1 })) }),
            ..MoveDecision::default()
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
async fn hook_summary_is_ignored_if_none_was_requested() {
    check_with(
        on_moves(MoveDecision {
            summary: Some(ExtensionSummary { summary: "Mine.".into(), details: None }),
            ..MoveDecision::default()
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
async fn hook_changes_label_and_instructions() {
    check_with(
        on_moves(MoveDecision {
            custom_instructions: Some("Answer in one word.".into()),
            replace_instructions: Some(true),
            label: Some("its".into()),
            ..MoveDecision::default()
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
struct CompactionHook(CompactionDecision);

#[async_trait]
impl Hook for CompactionHook {
    async fn before_compaction(
        &self,
        asked: &CompactionPreparation,
        _: &HookContext<'_>,
    ) -> HookResult<CompactionDecision> {
        let mut answer = self.0.clone();
        if let Some(own) = &mut answer.compaction {
            own.first_kept_entry_id.clone_from(&asked.first_kept_entry_id);
        }
        Ok(answer)
    }
}

fn on_compactions(summary: Option<&str>) -> ScenarioConfig {
    let own = |summary: &str| ExtensionCompaction {
        summary: summary.into(),
        tokens_before: 7,
        ..ExtensionCompaction::default()
    };
    ScenarioConfig::hooked(CompactionHook(CompactionDecision {
        cancel: summary.is_none(),
        compaction: summary.map(own),
    }))
}

#[tokio::test]
async fn hook_refuses_a_compaction_without_an_error() {
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
async fn hook_provides_the_compaction() {
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
