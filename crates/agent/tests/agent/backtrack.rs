//! Backtracking to a checkpoint: what the model sees afterward, and what Osier adds to its note.

use expect_test::expect;

use crate::scenario::{ScenarioConfig, check_with};

#[tokio::test]
async fn backtrack_to_a_user_message_keeps_the_message() {
    check_with(
        ScenarioConfig::backtracking(),
        "
        ---
        say find it > looking [read a.txt] > nothing there [back 0 a.txt holds nothing] > I know now
        ",
        expect![[r#"
            before │ after                                       │ the model would see
                   │ user: "find it"                             │ system
                   │ ├─ assistant: "looking"                     │ user: find it ‹0›
                   │ │  [read: a.txt]                            │ user: <system>Note from your future self: …
                   │ │  assistant: "nothing there"               │ assistant: I know now
                   │ │  [backtrack: {"checkpoint_id":0,"note":"…
                   │ └─ [backtrack to checkpoint 0: a.txt holds…
                   │    assistant: "I know now"  ← active

            note
              <system>Note from your future self: a.txt holds nothing

              The program lists what was done and said on the branch you left. All of it is still true.

              You already told the user:
              - looking
              - nothing there

              Files read:
              - a.txt

              Do not repeat this work, and do not repeat to the user what is listed above. Do not mention this note or the return. Continue with the task.</system>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn backtrack_to_a_batch_of_results() {
    check_with(
        ScenarioConfig::backtracking(),
        "
        ---
        say find it > looking [read a.txt] [read b.txt] > further [ls .] > [back 1 the folder holds nothing] > I know now
        ",
        expect![[r#"
            before │ after                                       │ the model would see
                   │ user: "find it"                             │ system
                   │ assistant: "looking"                        │ user: find it ‹0›
                   │ [read: a.txt]                               │ assistant: looking [read] [read]
                   │ [read: b.txt]                               │ result: alpha
                   │ ├─ assistant: "further"                     │ result: beta ‹1›
                   │ │  [ls: .]                                  │ user: <system>Note from your future self: …
                   │ │  [backtrack: {"checkpoint_id":1,"note":"… │ assistant: I know now
                   │ └─ [backtrack to checkpoint 1: the folder …
                   │    assistant: "I know now"  ← active

            note
              <system>Note from your future self: the folder holds nothing

              The program lists what was done and said on the branch you left. All of it is still true.

              You already told the user:
              - further

              Do not repeat this work, and do not repeat to the user what is listed above. Do not mention this note or the return. Continue with the task.</system>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn backtrack_before_the_last_message_keeps_later_user_messages() {
    check_with(
        ScenarioConfig::backtracking(),
        "
        say one > first
        ---
        say two, in French > deux [back 0 he wants French] > bien
        ",
        expect![[r#"
            before                       │ after                                       │ the model would see
            user: "one"                  │ user: "one"                                 │ system
            assistant: "first"  ← active │ ├─ assistant: "first"                       │ user: one ‹0›
                                         │ │  user: "two, in French"                   │ user: <system>Note from your future self: …
                                         │ │  assistant: "deux"                        │ assistant: bien
                                         │ │  [backtrack: {"checkpoint_id":0,"note":"…
                                         │ └─ [backtrack to checkpoint 0: he wants Fr…
                                         │    assistant: "bien"  ← active

            note
              <system>Note from your future self: he wants French

              The program lists what was done and said on the branch you left. All of it is still true.

              Messages to you that still apply:
              - two, in French

              You already told the user:
              - first
              - deux

              Do not repeat this work, and do not repeat to the user what is listed above. Do not mention this note or the return. Continue with the task.</system>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn note_lists_changed_files_and_commands() {
    check_with(
        ScenarioConfig::backtracking(),
        "
        say one > first
        ---
        say change it > I will write it. [write c.txt] > [bash true] [bash false] > [read c.txt] [write c.txt] > [back 1 it is written] > done
        ",
        expect![[r#"
            before                       │ after                                       │ the model would see
            user: "one"                  │ user: "one"                                 │ system
            assistant: "first"  ← active │ assistant: "first"                          │ user: one ‹0›
                                         │ user: "change it"                           │ assistant: first
                                         │ ├─ assistant: "I will write it."            │ user: change it ‹1›
                                         │ │  [write: c.txt]                           │ user: <system>Note from your future self: …
                                         │ │  [bash: true]                             │ assistant: done
                                         │ │  [bash: false]
                                         │ │  [read: c.txt]
                                         │ │  [write: c.txt]
                                         │ │  [backtrack: {"checkpoint_id":1,"note":"…
                                         │ └─ [backtrack to checkpoint 1: it is writt…
                                         │    assistant: "done"  ← active

            note
              <system>Note from your future self: it is written

              The program lists what was done and said on the branch you left. All of it is still true.

              Files changed:
              - c.txt (created, written once)

              You already told the user:
              - I will write it.

              Commands run:
              - `true`: exit code 0
              - `false`: exit code 1

              Files read:
              - c.txt

              Do not repeat this work, and do not repeat to the user what is listed above. Do not mention this note or the return. Continue with the task.</system>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn other_calls_of_the_reply_run_before_the_backtrack() {
    check_with(
        ScenarioConfig::backtracking(),
        "
        ---
        say go > [back 0 all done] [write c.txt] [bash echo late] > done
        ",
        expect![[r#"
            before │ after                                       │ the model would see
                   │ user: "go"                                  │ system
                   │ ├─ [backtrack: {"checkpoint_id":0,"note":"… │ user: go ‹0›
                   │ │  [write: c.txt]                           │ user: <system>Note from your future self: …
                   │ │  [bash: echo late]                        │ assistant: done
                   │ └─ [backtrack to checkpoint 0: all done]
                   │    assistant: "done"  ← active

            note
              <system>Note from your future self: all done

              The program lists what was done and said on the branch you left. All of it is still true.

              Files changed:
              - c.txt (created)

              Commands run:
              - `echo late`: exit code 0

              Do not repeat this work, and do not repeat to the user what is listed above. Do not mention this note or the return. Continue with the task.</system>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn file_change_counts_as_progress() {
    check_with(
        ScenarioConfig::backtracking(),
        "
        ---
        say go > [back 0 once] > [back 0 twice] > [back 0 thrice] > [write c.txt] > [back 0 a fourth time] > done
        ",
        expect![[r#"
            before │ after                                       │ the model would see
                   │ user: "go"                                  │ system
                   │ ├─ [backtrack: {"checkpoint_id":0,"note":"… │ user: go ‹0›
                   │ ├─ [backtrack to checkpoint 0: once]        │ user: <system>Note from your future self: …
                   │ │  [backtrack: {"checkpoint_id":0,"note":"… │ assistant: done
                   │ ├─ [backtrack to checkpoint 0: twice]
                   │ │  [backtrack: {"checkpoint_id":0,"note":"…
                   │ ├─ [backtrack to checkpoint 0: thrice]
                   │ │  [write: c.txt]
                   │ │  [backtrack: {"checkpoint_id":0,"note":"…
                   │ └─ [backtrack to checkpoint 0: a fourth ti…
                   │    assistant: "done"  ← active

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

            note
              <system>Note from your future self: a fourth time

              The program lists what was done and said on the branch you left. All of it is still true.

              Files changed:
              - c.txt (created)

              Earlier notes:
              - once
              - twice
              - thrice

              Do not repeat this work, and do not repeat to the user what is listed above. Do not mention this note or the return. Continue with the task.</system>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn undo_after_a_backtrack_returns_to_the_old_leaf() {
    check_with(
        ScenarioConfig::backtracking(),
        "
        ---
        say go > looking [read a.txt] > [back 0 nothing there] > done
        undo
        ",
        expect![[r#"
            before │ after                                                 │ the model would see
                   │ user: "go"                                            │ system
                   │ ├─ assistant: "looking"                               │ user: go ‹0›
                   │ │  [read: a.txt]                                      │ assistant: looking [read]
                   │ │  [backtrack: {"checkpoint_id":0,"note":"…  ← active │ result: alpha ‹1›
                   │ └─ [backtrack to checkpoint 0: nothing the…           │ assistant: [backtrack]
                   │    assistant: "done"                                  │ result: Backtrack scheduled ‹2›

            note
              <system>Note from your future self: nothing there

              The program lists what was done and said on the branch you left. All of it is still true.

              You already told the user:
              - looking

              Files read:
              - a.txt

              Do not repeat this work, and do not repeat to the user what is listed above. Do not mention this note or the return. Continue with the task.</system>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn backtrack_after_an_earlier_backtrack() {
    check_with(
        ScenarioConfig::backtracking(),
        "
        ---
        say go > looking [write c.txt] > [back 0 first note] > again [bash true] > [back 0 second note] > done
        ",
        expect![[r#"
            before │ after                                       │ the model would see
                   │ user: "go"                                  │ system
                   │ ├─ assistant: "looking"                     │ user: go ‹0›
                   │ │  [write: c.txt]                           │ user: <system>Note from your future self: …
                   │ │  [backtrack: {"checkpoint_id":0,"note":"… │ assistant: done
                   │ ├─ [backtrack to checkpoint 0: first note]
                   │ │  assistant: "again"
                   │ │  [bash: true]
                   │ │  [backtrack: {"checkpoint_id":0,"note":"…
                   │ └─ [backtrack to checkpoint 0: second note…
                   │    assistant: "done"  ← active

            note
              <system>Note from your future self: first note

              The program lists what was done and said on the branch you left. All of it is still true.

              Files changed:
              - c.txt (created)

              You already told the user:
              - looking

              Do not repeat this work, and do not repeat to the user what is listed above. Do not mention this note or the return. Continue with the task.</system>

            note
              <system>Note from your future self: second note

              The program lists what was done and said on the branch you left. All of it is still true.

              Files changed:
              - c.txt (created)

              You already told the user:
              - looking
              - again

              Earlier notes:
              - first note

              Commands run:
              - `true`: exit code 0

              Do not repeat this work, and do not repeat to the user what is listed above. Do not mention this note or the return. Continue with the task.</system>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn branch_left_by_a_backtrack_can_be_visited() {
    check_with(
        ScenarioConfig::backtracking(),
        "
        ---
        say go > looking [read a.txt] > [back 0 nothing there] > done
        move looking
        say and now > here again
        ",
        expect![[r#"
            before │ after                                       │ the model would see
                   │ user: "go"                                  │ system
                   │ ├─ assistant: "looking"                     │ user: go ‹0›
                   │ │  [read: a.txt]                            │ assistant: looking [read]
                   │ │  ├─ [backtrack: {"checkpoint_id":0,"note… │ result: alpha ‹1›
                   │ │  └─ user: "and now"                       │ user: and now ‹2›
                   │ │     assistant: "here again"  ← active     │ assistant: here again
                   │ └─ [backtrack to checkpoint 0: nothing the…
                   │    assistant: "done"

            note
              <system>Note from your future self: nothing there

              The program lists what was done and said on the branch you left. All of it is still true.

              You already told the user:
              - looking

              Files read:
              - a.txt

              Do not repeat this work, and do not repeat to the user what is listed above. Do not mention this note or the return. Continue with the task.</system>
        "#]],
    )
    .await;
}
