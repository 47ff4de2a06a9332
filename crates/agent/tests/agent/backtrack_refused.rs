//! When a backtrack is refused, and what the model gets then.

use expect_test::expect;

use crate::scenario::{ScenarioConfig, check_with};

#[tokio::test]
async fn second_backtrack_in_a_reply_is_refused() {
    check_with(
        ScenarioConfig::backtracking(),
        "
        ---
        say go > [read a.txt] > [back 0 this one] [back 1 not this one] > done
        ",
        expect![[r#"
            before │ after                                       │ the model would see
                   │ user: "go"                                  │ system
                   │ ├─ [read: a.txt]                            │ user: go ‹0›
                   │ │  [backtrack: {"checkpoint_id":0,"note":"… │ user: <system>Note from your future self: …
                   │ │  [backtrack: {"checkpoint_id":1,"note":"… │ assistant: done
                   │ └─ [backtrack to checkpoint 0: this one]
                   │    assistant: "done"  ← active

            note
              <system>Note from your future self: this one

              The program lists what was done and said on the branch you left. All of it is still true.

              Files read:
              - a.txt

              Do not repeat this work, and do not repeat to the user what is listed above. Do not mention this note or the return. Continue with the task.</system>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn unknown_checkpoint_lists_the_available_ones() {
    check_with(
        ScenarioConfig::backtracking(),
        "
        ---
        say go > [read a.txt] > [back 7 where] > [back -1 where] > done
        ",
        expect![[r#"
            before │ after                                       │ the model would see
                   │ user: "go"                                  │ system
                   │ [read: a.txt]                               │ user: go ‹0›
                   │ [backtrack: {"checkpoint_id":7,"note":"whe… │ assistant: [read]
                   │ [backtrack: {"checkpoint_id":-1,"note":"wh… │ result: alpha ‹1›
                   │ assistant: "done"  ← active                 │ assistant: [backtrack]
                   │                                             │ result: Invalid checkpoint 7, available: 0…
                   │                                             │ assistant: [backtrack]
                   │                                             │ result: Invalid checkpoint -1, available: …
                   │                                             │ assistant: done
        "#]],
    )
    .await;
}

#[tokio::test]
async fn checkpoint_hidden_by_a_compaction_is_unavailable() {
    check_with(
        ScenarioConfig::backtracking(),
        "
        say one, which is a rather long question about nothing > first, an answer as long as the question
        say two, again a question that takes many words to ask > second, with as many words in its answer
        compact > One was said.
        ---
        say three > [back 0 too far] > [back 1 near enough] > done
        ",
        expect![[r#"
            before                                      │ after                                       │ the model would see
            user: "one, which is a rather long questio… │ user: "one, which is a rather long questio… │ system
            assistant: "first, an answer as long as th… │ assistant: "first, an answer as long as th… │ user: one, which is a rather long question…
            user: "two, again a question that takes ma… │ user: "two, again a question that takes ma… │ assistant: first, an answer as long as the…
            assistant: "second, with as many words in … │ ├─ assistant: "second, with as many words … │ user: two, again a question that takes man…
            [compaction: 2k tokens]  ← active           │ │  [compaction: 2k tokens]                  │ user: <system>Note from your future self: …
                                                        │ │  user: "three"                            │ assistant: done
                                                        │ │  [backtrack: {"checkpoint_id":0,"note":"…
                                                        │ │  [backtrack: {"checkpoint_id":1,"note":"…
                                                        │ └─ [backtrack to checkpoint 1: near enough…
                                                        │    assistant: "done"  ← active

            note
              <system>Note from your future self: near enough

              The program lists what was done and said on the branch you left. All of it is still true.

              Messages to you that still apply:
              - three

              You already told the user:
              - second, with as many words in its answer

              Do not repeat this work, and do not repeat to the user what is listed above. Do not mention this note or the return. Continue with the task.</system>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn exactly_two_arguments_are_accepted() {
    check_with(
        ScenarioConfig::backtracking(),
        r#"
        ---
        say go > [backtrack {"checkpoint_id":0}] > [backtrack {"checkpoint_id":0,"note":"n","files":true}] > [backtrack {"checkpoint_id":"0","note":"n"}] > [backtrack {"checkpoint_id":0,"note":" "}] > done
        "#,
        expect![[r#"
            before │ after                                       │ the model would see
                   │ user: "go"                                  │ system
                   │ [backtrack: {"checkpoint_id":0}]            │ user: go ‹0›
                   │ [backtrack: {"checkpoint_id":0,"note":"n",… │ assistant: [backtrack]
                   │ [backtrack: {"checkpoint_id":"0","note":"n… │ result: Invalid arguments: missing field `…
                   │ [backtrack: {"checkpoint_id":0,"note":" "}… │ assistant: [backtrack]
                   │ assistant: "done"  ← active                 │ result: Invalid arguments: unknown field `…
                   │                                             │ assistant: [backtrack]
                   │                                             │ result: Invalid arguments: invalid type: s…
                   │                                             │ assistant: [backtrack]
                   │                                             │ result: Invalid arguments: the note is emp…
                   │                                             │ assistant: done
        "#]],
    )
    .await;
}

#[tokio::test]
async fn at_most_three_backtracks_without_progress() {
    check_with(
        ScenarioConfig::backtracking(),
        "
        ---
        say go > [back 0 once] > [back 0 twice] > [back 0 thrice] > [back 0 never] > I give up
        ",
        expect![[r#"
            before │ after                                       │ the model would see
                   │ user: "go"                                  │ system
                   │ ├─ [backtrack: {"checkpoint_id":0,"note":"… │ user: go ‹0›
                   │ ├─ [backtrack to checkpoint 0: once]        │ user: <system>Note from your future self: …
                   │ │  [backtrack: {"checkpoint_id":0,"note":"… │ assistant: [backtrack]
                   │ ├─ [backtrack to checkpoint 0: twice]       │ result: Already returned to checkpoint 0 3…
                   │ │  [backtrack: {"checkpoint_id":0,"note":"… │ assistant: I give up
                   │ └─ [backtrack to checkpoint 0: thrice]
                   │    [backtrack: {"checkpoint_id":0,"note":"…
                   │    assistant: "I give up"  ← active

            note
              <system>Note from your future self: once

              Do not mention this note or the return. Continue with the task.</system>

            note
              <system>Note from your future self: twice

              The program lists what was done and said on the branch you left. All of it is still true.

              Earlier notes:
              - once

              Do not repeat this work, and do not repeat to the user what is listed above. Do not mention this note or the return. Continue with the task.</system>

            note
              <system>Note from your future self: thrice

              The program lists what was done and said on the branch you left. All of it is still true.

              Earlier notes:
              - once
              - twice

              Do not repeat this work, and do not repeat to the user what is listed above. Do not mention this note or the return. Continue with the task.</system>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn setting_disables_tool_and_checkpoints() {
    check_with(
        ScenarioConfig::default(),
        "
        ---
        say go > [back 0 anything] > done
        ",
        expect![[r#"
            before │ after                                       │ the model would see
                   │ user: "go"                                  │ system
                   │ [backtrack: {"checkpoint_id":0,"note":"any… │ user: go
                   │ assistant: "done"  ← active                 │ assistant: [backtrack]
                   │                                             │ result: Backtrack is not available in this…
                   │                                             │ assistant: done
        "#]],
    )
    .await;
}

#[tokio::test]
async fn does_not_run_in_a_reply_at_the_output_limit() {
    check_with(
        ScenarioConfig::backtracking(),
        "
        ---
        say go > [read a.txt] > [back 0 half a no] !cut
        ",
        expect![[r#"
            before │ after                                                 │ the model would see
                   │ user: "go"                                            │ system
                   │ [read: a.txt]                                         │ user: go ‹0›
                   │ assistant: (no content)                               │ assistant: [read]
                   │ [backtrack: {"checkpoint_id":0,"note":"hal…  ← active │ result: alpha ‹1›
                   │                                                       │ assistant: [backtrack]
                   │                                                       │ result: This call was not run: the reply r…

            say go: CutOff
        "#]],
    )
    .await;
}

#[tokio::test]
async fn does_not_run_in_an_interrupted_reply() {
    check_with(
        ScenarioConfig::backtracking(),
        "
        ---
        say go > [read a.txt] > [back 0 a note] !fail
        ",
        expect![[r#"
            before │ after                                                 │ the model would see
                   │ user: "go"                                            │ system
                   │ [read: a.txt]                                         │ user: go ‹0›
                   │ assistant: cannot reach p: gone                       │ assistant: [read]
                   │ [backtrack: {"checkpoint_id":0,"note":"a n…  ← active │ result: alpha ‹1›
                   │                                                       │ assistant: [backtrack]
                   │                                                       │ result: This call was not run because the …

            say go: Failed: cannot reach p: gone
        "#]],
    )
    .await;
}

#[tokio::test]
async fn does_not_run_in_a_canceled_reply() {
    check_with(
        ScenarioConfig::backtracking(),
        "
        ---
        say go > [read a.txt] > [back 0 a note] and !hang
        ",
        expect![[r#"
            before │ after                                                 │ the model would see
                   │ user: "go"                                            │ system
                   │ [read: a.txt]                                         │ user: go ‹0›
                   │ assistant: "and !"                                    │ assistant: [read]
                   │ [backtrack: {"checkpoint_id":0,"note":"a n…  ← active │ result: alpha ‹1›
                   │                                                       │ assistant: [backtrack] and !
                   │                                                       │ result: [canceled before it finished] ‹2›

            say go: Cancelled
        "#]],
    )
    .await;
}
