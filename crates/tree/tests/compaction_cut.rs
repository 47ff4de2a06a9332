//! Where a compaction cuts. Each entry of the path is shown with its part of the cut: `history` and `prefix` (the beginning
//! of a split turn) are summarized, `kept` entries stay, `previous` is the previous compaction; other entries have no part.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::fmt::Write;

use expect_test::{Expect, expect};
use osier_testkit::{ScriptedSession, previews};
use osier_tree::compaction_cut::Cut;
use osier_tree::line_consumer::LineConsumer;
use osier_tree::projection::Lines;
use osier_tree::{EntryKind, Seq};

/// Runs a script, searches for a cut that keeps `keep_recent` tokens, and shows the part of each entry.
#[track_caller]
fn check(script: &str, keep_recent: u64, expected: Expect) {
    let script = ScriptedSession::run(script);
    let cut = script.tree.find_cut(script.tree.leaf(), keep_recent, &script.lines);
    expected.assert_eq(&cut.map_or_else(|error| format!("{error}\n"), |cut| drawn(&script, &cut)));
}

fn drawn(script: &ScriptedSession, cut: &Cut) -> String {
    let previews = previews(script);
    let mut drawing = String::new();
    let mut kept = false;
    for seq in script.tree.path(script.tree.leaf()) {
        kept |= seq == cut.first_kept;
        let is_in = |items: &[osier_tree::walk::ContextItem]| items.iter().any(|item| item.seq == seq);
        let part = match seq {
            _ if kept => "kept",
            _ if is_in(&cut.history) => "history",
            _ if is_in(&cut.turn_prefix) => "prefix",
            _ if Some(seq) == cut.previous_compaction => "previous",
            _ => "",
        };
        let preview = previews[seq.index()].split(" xx").next().unwrap().trim_end_matches('"');
        writeln!(drawing, "{part:8} {preview}").unwrap();
    }
    writeln!(drawing, "{} tokens, {} kept", cut.tokens_before, cut.tokens_kept).unwrap();
    drawing
}

/// Three turns of 20 tokens each.
const TURNS: &str = "say a ~10; reply b ~10; say c ~10; reply d ~10; say e ~10; reply f ~10";

#[test]
fn recent_tokens_are_kept_and_the_rest_is_summarized() {
    check(
        TURNS,
        20,
        expect![[r#"
        history  user: "a
        history  assistant: "b
        history  user: "c
        history  assistant: "d
        kept     user: "e
        kept     assistant: "f
        110 tokens, 20 kept
    "#]],
    );
    check(
        TURNS,
        21,
        expect![[r#"
        history  user: "a
        history  assistant: "b
        prefix   user: "c
        kept     assistant: "d
        kept     user: "e
        kept     assistant: "f
        110 tokens, 30 kept
    "#]],
    );
}

#[test]
fn small_context_is_not_compacted() {
    check(
        TURNS,
        51,
        expect![[r#"
        nothing to compact: every message is recent or not answered yet
    "#]],
    );
    check(
        "say a ~10",
        1,
        expect![[r#"
        nothing to compact: every message is recent or not answered yet
    "#]],
    );
    check(
        "system s ~10; model p/m",
        1,
        expect![[r#"
        nothing to compact: every message is recent or not answered yet
    "#]],
    );
    check(
        "",
        1,
        expect![[r#"
        nothing to compact: every message is recent or not answered yet
    "#]],
    );
}

#[test]
fn turn_can_be_split_at_an_assistant_message() {
    check(
        TURNS,
        10,
        expect![[r#"
        history  user: "a
        history  assistant: "b
        history  user: "c
        history  assistant: "d
        prefix   user: "e
        kept     assistant: "f
        110 tokens, 10 kept
    "#]],
    );
    check(
        "say a ~10; reply b ~10 calls read x; result r ~10; reply c ~10 calls read y; result s ~10; reply d ~10",
        15,
        expect![[r#"
        prefix   user: "a
        prefix   assistant: "b
        prefix   [read: x]
        prefix   assistant: "c
        prefix   [read: y]
        kept     assistant: "d
        110 tokens, 10 kept
    "#]],
    );
}

#[test]
fn tool_call_and_result_stay_together() {
    check(
        "say a ~10; reply b ~10; say c ~10; reply d ~10 calls read x, read y; result r ~10; result s ~10",
        5,
        expect![[r#"
        history  user: "a
        history  assistant: "b
        prefix   user: "c
        kept     assistant: "d
        kept     [read: x]
        kept     [read: y]
        130 tokens, 38 kept
    "#]],
    );
}

#[test]
fn huge_last_result_is_kept_with_its_call() {
    check(
        "say a ~10; reply b ~10; say c ~10; reply d calls read x; result huge ~1000",
        50,
        expect![[r#"
        history  user: "a
        history  assistant: "b
        prefix   user: "c
        kept     assistant: "d
        kept     [read: x]
        1110 tokens, 1005 kept
    "#]],
    );
}

#[test]
fn message_between_a_call_and_its_result_is_not_a_cut_point() {
    check(
        "say a ~10; reply b ~10; say c; reply d calls read x; note t between ~5; result huge ~100",
        10,
        expect![[r#"
        history  user: "a
        history  assistant: "b
        prefix   user: "c
        kept     assistant: "d
        kept     [t]: between
        kept     [read: x]
        215 tokens, 110 kept
    "#]],
    );
    check(
        "say a ~10; reply b ~10; say c; reply d calls read x, read y; result r; say steered ~5; result huge ~100",
        10,
        expect![[r#"
        history  user: "a
        history  assistant: "b
        prefix   user: "c
        kept     assistant: "d
        kept     [read: x]
        kept     user: "steered
        kept     [read: y]
        216 tokens, 115 kept
    "#]],
    );
}

#[test]
fn unanswered_question_is_kept() {
    check(
        "say a ~10; reply b ~10; say question ~100",
        10,
        expect![[r#"
        history  user: "a
        history  assistant: "b
        kept     user: "question
        210 tokens, 100 kept
    "#]],
    );
    check(
        "say a ~10; reply b ~10; say question ~100; fail overflow",
        10,
        expect![[r#"
        history  user: "a
        history  assistant: "b
        kept     user: "question
        kept     assistant: overflow
        210 tokens, 100 kept
    "#]],
    );
    check(
        "say a ~10; reply b ~10; say question ~100; fail overflow; omit overflow",
        10,
        expect![[r#"
        history  user: "a
        history  assistant: "b
        kept     user: "question
        kept     assistant: overflow
        kept     [context omit: 00000004]
        120 tokens, 100 kept
    "#]],
    );
    check(
        "say a ~10; reply b ~10; say one ~10; abort; say two ~10; bash ls ~100",
        10,
        expect![[r#"
            history  user: "a
            history  assistant: "b
            history  user: "one
            history  assistant: (aborted)
            kept     user: "two
            kept     [bash]: ls
            231 tokens, 111 kept
        "#]],
    );
    check(
        "say a ~10; reply b ~10; say one ~10; say two ~100; fail overflow",
        10,
        expect![[r#"
        history  user: "a
        history  assistant: "b
        kept     user: "one
        kept     user: "two
        kept     assistant: overflow
        220 tokens, 110 kept
    "#]],
    );
    check(
        "say question ~100; fail overflow",
        10,
        expect![[r#"
        nothing to compact: every message is recent or not answered yet
    "#]],
    );
}

#[test]
fn notes_summaries_and_commands_are_cut_points() {
    check(
        "say a ~10; reply b ~10; note t n ~10",
        5,
        expect![[r#"
        history  user: "a
        history  assistant: "b
        kept     [t]: n
        120 tokens, 10 kept
    "#]],
    );
    check(
        "say a ~10; reply b ~10; bash ls ~10; reply c",
        5,
        expect![[r#"
        history  user: "a
        history  assistant: "b
        kept     [bash]: ls
        kept     assistant: "c
        110 tokens, 12 kept
    "#]],
    );
    check(
        "say a ~10; reply b ~10; say c; summarize left ~10 at b",
        5,
        expect![[r#"
        history  user: "a
        history  assistant: "b
        kept     [branch summary]: left
        120 tokens, 10 kept
    "#]],
    );
}

#[test]
fn extension_messages_after_a_question_belong_to_its_turn() {
    check(
        "say a ~10; reply b ~10; say c ~10; note t added ~10; reply d ~10",
        5,
        expect![[r#"
        history  user: "a
        history  assistant: "b
        prefix   user: "c
        prefix   [t]: added
        kept     assistant: "d
        110 tokens, 10 kept
    "#]],
    );
    check(
        "say a ~10; reply b ~10; note t asks ~10; reply d ~10",
        5,
        expect![[r#"
        history  user: "a
        history  assistant: "b
        prefix   [t]: asks
        kept     assistant: "d
        110 tokens, 10 kept
    "#]],
    );
}

#[test]
fn backtrack_note_does_not_start_a_turn() {
    check(
        "say a ~10; reply b ~10; say c ~10; reply d ~10 calls read x; result r ~10; reply e ~10; backtrack 2 no; reply f ~10",
        5,
        expect![[r#"
            history  user: "a
            history  assistant: "b
            prefix   user: "c
            prefix   assistant: "d
            prefix   [read: x]
            prefix   [backtrack to checkpoint 2: no]
            kept     assistant: "f
            110 tokens, 10 kept
        "#]],
    );
}

#[test]
fn entries_outside_the_context_have_no_size_and_stay_with_the_next_entry() {
    check(
        r#"say a ~10; reply b ~10; label x; model p/m; aside secret ~500
           entry {"type":"custom_message","customType":"t","content":"not for models","display":true,"inContext":false}
           say c ~10; reply d ~10; spend 3; custom state"#,
        15,
        expect![[r#"
            history  user: "a
            history  assistant: "b
            kept     [label: x]
            kept     [model: m]
            kept     [bash]: secret
            kept     [t]: not for models
            kept     user: "c
            kept     assistant: "d
            kept     [usage: warm]
            kept     [custom: state]
            110 tokens, 20 kept
        "#]],
    );
}

#[test]
fn system_prompts_count_but_are_not_summarized() {
    check(
        "system s ~100; say a ~10; reply b ~10; system t ~100; say c ~10",
        50,
        expect![[r#"
                 [system]
        history  user: "a
        history  assistant: "b
                 [system]
        kept     user: "c
        220 tokens, 10 kept
    "#]],
    );
}

#[test]
fn context_edits_change_the_size() {
    check(
        "say a ~10; reply b ~10; say c ~500; reply d ~10; say e ~10; omit c",
        25,
        expect![[r#"
        prefix   user: "a
        kept     assistant: "b
        kept     user: "c
        kept     assistant: "d
        kept     user: "e
        kept     [context omit: 00000003]
        40 tokens, 30 kept
    "#]],
    );
    check(
        "say a ~10; reply b ~10; say c ~500; reply d ~10; say e ~10; edit c short ~10",
        35,
        expect![[r#"
        prefix   user: "a
        kept     assistant: "b
        kept     user: "c
        kept     assistant: "d
        kept     user: "e
        kept     [context replace: 00000003]
        50 tokens, 40 kept
    "#]],
    );
}

#[test]
fn second_compaction_starts_at_the_first_kept_entry() {
    check(
        "say a ~10; reply b ~10; say c ~10; reply d ~10; compact keep c first; say e ~10; reply f ~10; say g ~10",
        15,
        expect![[r#"
                     user: "a
                     assistant: "b
            history  user: "c
            history  assistant: "d
            previous [compaction: 12k tokens]
            prefix   user: "e
            kept     assistant: "f
            kept     user: "g
            120 tokens, 20 kept
        "#]],
    );
}

#[test]
fn compaction_without_new_messages_is_refused() {
    check(
        "say a ~10; reply b ~10; say c; compact keep c first; label x on a; model p/m; aside ls",
        1,
        expect![[r#"
        nothing to compact: no new messages since the last compaction
    "#]],
    );
    check(
        "say a ~10; reply b ~10; say c; compact keep c first; say d",
        1,
        expect![[r#"
        nothing to compact: every message is recent or not answered yet
    "#]],
    );
}

#[test]
fn compaction_with_a_missing_first_kept_entry_keeps_nothing() {
    check(
        r#"say a ~10; reply b ~10; entry {"type":"compaction","summary":"s","firstKeptEntryId":"gone","tokensBefore":1}
           say c ~10; reply d ~10; say e ~10"#,
        10,
        expect![[r#"
                     user: "a
                     assistant: "b
            previous [compaction: 0k tokens]
            history  user: "c
            history  assistant: "d
            kept     user: "e
            120 tokens, 10 kept
        "#]],
    );
}

#[test]
fn other_branches_do_not_affect_the_cut() {
    check(
        "say a ~10; reply b ~10; say huge ~500; reply bigger ~500; delete huge; say c ~10; reply d ~10; say e ~10",
        15,
        expect![[r#"
            history  user: "a
            history  assistant: "b
                     [deleted branch]
            prefix   user: "c
            kept     assistant: "d
            kept     user: "e
            120 tokens, 20 kept
        "#]],
    );
}

#[test]
fn only_the_end_of_a_long_path_is_read() {
    let mut script = ScriptedSession::default();
    for turn in 0..5_000 {
        script.run_steps(&format!("say q{turn} ~20; reply a{turn} ~20"));
    }
    let all: usize = script.lines.iter().map(Vec::len).sum();
    let mut seen = 0;
    let mut cutting = script.tree.cut_finder(script.tree.leaf(), 2_000);
    loop {
        let wanted = cutting.needed_lines();
        if wanted.is_empty() {
            break;
        }
        seen += wanted.iter().map(|seq| script.lines[seq.index()].len()).sum::<usize>();
        cutting.feed(&script.lines);
    }
    let cut = cutting.finish(&script.tree).unwrap();
    assert_eq!(cut.history.len(), 9_900);
    assert_eq!(script.tree.head(cut.first_kept).kind, EntryKind::Message);
    assert!(seen * 20 < all, "{seen} of {all} bytes");
}

#[test]
fn missing_lines_count_as_empty() {
    struct NoLines;
    impl Lines for NoLines {
        fn line(&self, _: Seq) -> Option<&[u8]> {
            None
        }
    }
    let script = ScriptedSession::run(TURNS);
    assert!(script.tree.find_cut(script.tree.leaf(), 20, &NoLines).is_err());
}
