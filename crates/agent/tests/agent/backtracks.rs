//! The model returns to a checkpoint: what it sees then, what the program adds to its note, and when it may not.

use expect_test::expect;

use crate::stage::{Props, check_with};

#[tokio::test]
async fn to_the_message_of_the_user_that_is_never_taken_away() {
    check_with(
        Props::backtracking(),
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

              The program adds what was done and said in the part you left. All of it stays true.

              The user was already told:
              - looking
              - nothing there

              Files read:
              - a.txt

              Do not do this work again, and do not tell the user again what is told above. Do not mention this note or the return. Go on with the task.</system>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn to_a_batch_of_results() {
    check_with(
        Props::backtracking(),
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

              The program adds what was done and said in the part you left. All of it stays true.

              The user was already told:
              - further

              Do not do this work again, and do not tell the user again what is told above. Do not mention this note or the return. Go on with the task.</system>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn to_a_message_before_the_last_one_and_what_was_said_since_is_not_lost() {
    check_with(
        Props::backtracking(),
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

              The program adds what was done and said in the part you left. All of it stays true.

              Said to you, and still to be heeded:
              - two, in French

              The user was already told:
              - first
              - deux

              Do not do this work again, and do not tell the user again what is told above. Do not mention this note or the return. Go on with the task.</system>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn what_was_changed_and_run_is_told_by_the_program() {
    check_with(
        Props::backtracking(),
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

              The program adds what was done and said in the part you left. All of it stays true.

              Files changed:
              - c.txt (created, written once)

              The user was already told:
              - I will write it.

              Commands run:
              - `true`: exit code 0
              - `false`: exit code 1

              Files read:
              - c.txt

              Do not do this work again, and do not tell the user again what is told above. Do not mention this note or the return. Go on with the task.</system>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn the_other_calls_of_the_reply_run_first() {
    check_with(
        Props::backtracking(),
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

              The program adds what was done and said in the part you left. All of it stays true.

              Files changed:
              - c.txt (created)

              Commands run:
              - `echo late`: exit code 0

              Do not do this work again, and do not tell the user again what is told above. Do not mention this note or the return. Go on with the task.</system>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_second_call_in_the_same_reply_is_refused() {
    check_with(
        Props::backtracking(),
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

              The program adds what was done and said in the part you left. All of it stays true.

              Files read:
              - a.txt

              Do not do this work again, and do not tell the user again what is told above. Do not mention this note or the return. Go on with the task.</system>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_number_that_is_not_there_lists_those_that_are() {
    check_with(
        Props::backtracking(),
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
async fn a_checkpoint_that_a_compaction_hides_is_not_there() {
    check_with(
        Props::backtracking(),
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

              The program adds what was done and said in the part you left. All of it stays true.

              Said to you, and still to be heeded:
              - three

              The user was already told:
              - second, with as many words in its answer

              Do not do this work again, and do not tell the user again what is told above. Do not mention this note or the return. Go on with the task.</system>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn arguments_must_be_the_two_and_nothing_else() {
    check_with(
        Props::backtracking(),
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
async fn no_more_than_three_returns_without_any_progress() {
    check_with(
        Props::backtracking(),
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
                   │ ├─ [backtrack to checkpoint 0: twice]       │ result: Returned to checkpoint 0 3 times a…
                   │ │  [backtrack: {"checkpoint_id":0,"note":"… │ assistant: I give up
                   │ └─ [backtrack to checkpoint 0: thrice]
                   │    [backtrack: {"checkpoint_id":0,"note":"…
                   │    assistant: "I give up"  ← active

            note
              <system>Note from your future self: once

              Do not mention this note or the return. Go on with the task.</system>

            note
              <system>Note from your future self: twice

              The program adds what was done and said in the part you left. All of it stays true.

              Noted before:
              - once

              Do not do this work again, and do not tell the user again what is told above. Do not mention this note or the return. Go on with the task.</system>

            note
              <system>Note from your future self: thrice

              The program adds what was done and said in the part you left. All of it stays true.

              Noted before:
              - once
              - twice

              Do not do this work again, and do not tell the user again what is told above. Do not mention this note or the return. Go on with the task.</system>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_change_of_a_file_is_progress() {
    check_with(
        Props::backtracking(),
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

              Do not mention this note or the return. Go on with the task.</system>

            note
              <system>Note from your future self: twice

              The program adds what was done and said in the part you left. All of it stays true.

              Noted before:
              - once

              Do not do this work again, and do not tell the user again what is told above. Do not mention this note or the return. Go on with the task.</system>

            note
              <system>Note from your future self: thrice

              The program adds what was done and said in the part you left. All of it stays true.

              Noted before:
              - once
              - twice

              Do not do this work again, and do not tell the user again what is told above. Do not mention this note or the return. Go on with the task.</system>

            note
              <system>Note from your future self: a fourth time

              The program adds what was done and said in the part you left. All of it stays true.

              Files changed:
              - c.txt (created)

              Noted before:
              - once
              - twice
              - thrice

              Do not do this work again, and do not tell the user again what is told above. Do not mention this note or the return. Go on with the task.</system>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn without_the_setting_there_is_neither_tool_nor_marker() {
    check_with(
        Props::default(),
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
async fn in_a_reply_that_was_cut_off_it_does_not_run() {
    check_with(
        Props::backtracking(),
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
async fn in_a_reply_that_broke_off_it_does_not_run() {
    check_with(
        Props::backtracking(),
        "
        ---
        say go > [read a.txt] > [back 0 a note] !fail
        ",
        expect![[r#"
            before │ after                                                 │ the model would see
                   │ user: "go"                                            │ system
                   │ [read: a.txt]                                         │ user: go ‹0›
                   │ assistant: cannot talk to p: gone                     │ assistant: [read]
                   │ [backtrack: {"checkpoint_id":0,"note":"a n…  ← active │ result: alpha ‹1›
                   │                                                       │ assistant: [backtrack]
                   │                                                       │ result: This call was not run: the reply b…

            say go: Failed: cannot talk to p: gone
        "#]],
    )
    .await;
}

#[tokio::test]
async fn in_a_reply_that_was_stopped_it_does_not_run() {
    check_with(
        Props::backtracking(),
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
                   │                                                       │ result: [cancelled before it was done] ‹2›

            say go: Cancelled
        "#]],
    )
    .await;
}

#[tokio::test]
async fn undo_after_a_return_goes_to_what_was_left() {
    check_with(
        Props::backtracking(),
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

              The program adds what was done and said in the part you left. All of it stays true.

              The user was already told:
              - looking

              Files read:
              - a.txt

              Do not do this work again, and do not tell the user again what is told above. Do not mention this note or the return. Go on with the task.</system>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_return_within_what_an_earlier_return_led_to() {
    check_with(
        Props::backtracking(),
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

              The program adds what was done and said in the part you left. All of it stays true.

              Files changed:
              - c.txt (created)

              The user was already told:
              - looking

              Do not do this work again, and do not tell the user again what is told above. Do not mention this note or the return. Go on with the task.</system>

            note
              <system>Note from your future self: second note

              The program adds what was done and said in the part you left. All of it stays true.

              Files changed:
              - c.txt (created)

              The user was already told:
              - looking
              - again

              Noted before:
              - first note

              Commands run:
              - `true`: exit code 0

              Do not do this work again, and do not tell the user again what is told above. Do not mention this note or the return. Go on with the task.</system>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_branch_left_by_a_return_is_still_there_to_go_to() {
    check_with(
        Props::backtracking(),
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

              The program adds what was done and said in the part you left. All of it stays true.

              The user was already told:
              - looking

              Files read:
              - a.txt

              Do not do this work again, and do not tell the user again what is told above. Do not mention this note or the return. Go on with the task.</system>
        "#]],
    )
    .await;
}
