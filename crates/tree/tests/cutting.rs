//! Where a compaction cuts. Each entry of the path with what becomes of it: `told` by the summary of
//! the history, `begun` by that of the split turn's beginning, `kept` as it is, or nothing of these.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::fmt::Write;

use expect_test::{Expect, expect};
use osier_testkit::{Script, previews};
use osier_tree::asking::Asks;
use osier_tree::cutting::Cut;
use osier_tree::projection::Lines;
use osier_tree::{Kind, Seq};

/// Cuts a script's path so that so many tokens are kept, and tells what becomes of each entry.
#[track_caller]
fn check(script: &str, keep_recent: u64, expected: Expect) {
    let script = Script::run(script);
    let cut = script.tree.cut(script.tree.leaf(), keep_recent, &script.lines);
    expected.assert_eq(&cut.map_or_else(|why| format!("{why}\n"), |cut| drawn(&script, &cut)));
}

fn drawn(script: &Script, cut: &Cut) -> String {
    let previews = previews(script);
    let mut drawing = String::new();
    let mut kept = false;
    for seq in script.tree.path(script.tree.leaf()) {
        kept |= seq == cut.first_kept;
        let is_in = |items: &[osier_tree::walk::Item]| items.iter().any(|item| item.seq == seq);
        let part = match seq {
            _ if kept => "kept",
            _ if is_in(&cut.history) => "told",
            _ if is_in(&cut.prefix) => "begun",
            _ if Some(seq) == cut.previous => "before",
            _ => "",
        };
        let preview = previews[seq.index()].split(" xx").next().unwrap().trim_end_matches('"');
        writeln!(drawing, "{part:6} {preview}").unwrap();
    }
    writeln!(drawing, "{} tokens, {} kept", cut.tokens_before, cut.tokens_kept).unwrap();
    drawing
}

/// Three turns of 20 tokens each.
const TURNS: &str = "say a ~10; reply b ~10; say c ~10; reply d ~10; say e ~10; reply f ~10";

#[test]
fn the_recent_tokens_are_kept_and_the_rest_is_told() {
    check(
        TURNS,
        20,
        expect![[r#"
        told   user: "a
        told   assistant: "b
        told   user: "c
        told   assistant: "d
        kept   user: "e
        kept   assistant: "f
        110 tokens, 20 kept
    "#]],
    );
    check(
        TURNS,
        21,
        expect![[r#"
        told   user: "a
        told   assistant: "b
        begun  user: "c
        kept   assistant: "d
        kept   user: "e
        kept   assistant: "f
        110 tokens, 30 kept
    "#]],
    );
}

#[test]
fn what_fits_is_not_compacted() {
    check(
        TURNS,
        51,
        expect![[r#"
        nothing to compact: all of it is recent, or not answered yet
    "#]],
    );
    check(
        "say a ~10",
        1,
        expect![[r#"
        nothing to compact: all of it is recent, or not answered yet
    "#]],
    );
    check(
        "system s ~10; model p/m",
        1,
        expect![[r#"
        nothing to compact: all of it is recent, or not answered yet
    "#]],
    );
    check(
        "",
        1,
        expect![[r#"
        nothing to compact: all of it is recent, or not answered yet
    "#]],
    );
}

#[test]
fn a_turn_may_be_split_at_what_the_assistant_says() {
    check(
        TURNS,
        10,
        expect![[r#"
        told   user: "a
        told   assistant: "b
        told   user: "c
        told   assistant: "d
        begun  user: "e
        kept   assistant: "f
        110 tokens, 10 kept
    "#]],
    );
    check(
        "say a ~10; reply b ~10 calls read x; result r ~10; reply c ~10 calls read y; result s ~10; reply d ~10",
        15,
        expect![[r#"
        begun  user: "a
        begun  assistant: "b
        begun  [read: x]
        begun  assistant: "c
        begun  [read: y]
        kept   assistant: "d
        110 tokens, 10 kept
    "#]],
    );
}

#[test]
fn a_call_and_its_result_stay_together() {
    check(
        "say a ~10; reply b ~10; say c ~10; reply d ~10 calls read x, read y; result r ~10; result s ~10",
        5,
        expect![[r#"
        told   user: "a
        told   assistant: "b
        begun  user: "c
        kept   assistant: "d
        kept   [read: x]
        kept   [read: y]
        130 tokens, 38 kept
    "#]],
    );
}

#[test]
fn of_a_huge_last_result_the_call_is_kept_with_it() {
    check(
        "say a ~10; reply b ~10; say c ~10; reply d calls read x; result huge ~1000",
        50,
        expect![[r#"
        told   user: "a
        told   assistant: "b
        begun  user: "c
        kept   assistant: "d
        kept   [read: x]
        1110 tokens, 1005 kept
    "#]],
    );
}

#[test]
fn no_message_between_a_call_and_its_result_is_a_place_to_cut() {
    check(
        "say a ~10; reply b ~10; say c; reply d calls read x; note t between ~5; result huge ~100",
        10,
        expect![[r#"
        told   user: "a
        told   assistant: "b
        begun  user: "c
        kept   assistant: "d
        kept   [t]: between
        kept   [read: x]
        215 tokens, 110 kept
    "#]],
    );
    check(
        "say a ~10; reply b ~10; say c; reply d calls read x, read y; result r; say steered ~5; result huge ~100",
        10,
        expect![[r#"
        told   user: "a
        told   assistant: "b
        begun  user: "c
        kept   assistant: "d
        kept   [read: x]
        kept   user: "steered
        kept   [read: y]
        216 tokens, 115 kept
    "#]],
    );
}

#[test]
fn a_question_that_nobody_answered_is_kept() {
    check(
        "say a ~10; reply b ~10; say question ~100",
        10,
        expect![[r#"
        told   user: "a
        told   assistant: "b
        kept   user: "question
        210 tokens, 100 kept
    "#]],
    );
    check(
        "say a ~10; reply b ~10; say question ~100; fail overflow",
        10,
        expect![[r#"
        told   user: "a
        told   assistant: "b
        kept   user: "question
        kept   assistant: overflow
        210 tokens, 100 kept
    "#]],
    );
    check(
        "say a ~10; reply b ~10; say question ~100; fail overflow; omit overflow",
        10,
        expect![[r#"
        told   user: "a
        told   assistant: "b
        kept   user: "question
        kept   assistant: overflow
        kept   [context omit: 00000004]
        120 tokens, 100 kept
    "#]],
    );
    check(
        "say a ~10; reply b ~10; say one ~10; abort; say two ~10; bash ls ~100",
        10,
        expect![[r#"
            told   user: "a
            told   assistant: "b
            told   user: "one
            told   assistant: (aborted)
            kept   user: "two
            kept   [bash]: ls
            231 tokens, 111 kept
        "#]],
    );
    check(
        "say a ~10; reply b ~10; say one ~10; say two ~100; fail overflow",
        10,
        expect![[r#"
        told   user: "a
        told   assistant: "b
        kept   user: "one
        kept   user: "two
        kept   assistant: overflow
        220 tokens, 110 kept
    "#]],
    );
    check(
        "say question ~100; fail overflow",
        10,
        expect![[r#"
        nothing to compact: all of it is recent, or not answered yet
    "#]],
    );
}

#[test]
fn notes_summaries_and_commands_are_places_to_cut() {
    check(
        "say a ~10; reply b ~10; note t n ~10",
        5,
        expect![[r#"
        told   user: "a
        told   assistant: "b
        kept   [t]: n
        120 tokens, 10 kept
    "#]],
    );
    check(
        "say a ~10; reply b ~10; bash ls ~10; reply c",
        5,
        expect![[r#"
        told   user: "a
        told   assistant: "b
        kept   [bash]: ls
        kept   assistant: "c
        110 tokens, 12 kept
    "#]],
    );
    check(
        "say a ~10; reply b ~10; say c; summarize left ~10 at b",
        5,
        expect![[r#"
        told   user: "a
        told   assistant: "b
        kept   [branch summary]: left
        120 tokens, 10 kept
    "#]],
    );
}

#[test]
fn what_an_extension_adds_to_a_question_belongs_to_its_turn() {
    check(
        "say a ~10; reply b ~10; say c ~10; note t added ~10; reply d ~10",
        5,
        expect![[r#"
        told   user: "a
        told   assistant: "b
        begun  user: "c
        begun  [t]: added
        kept   assistant: "d
        110 tokens, 10 kept
    "#]],
    );
    check(
        "say a ~10; reply b ~10; note t asks ~10; reply d ~10",
        5,
        expect![[r#"
        told   user: "a
        told   assistant: "b
        begun  [t]: asks
        kept   assistant: "d
        110 tokens, 10 kept
    "#]],
    );
}

#[test]
fn a_note_of_the_model_to_itself_starts_no_turn() {
    check(
        "say a ~10; reply b ~10; say c ~10; reply d ~10 calls read x; result r ~10; reply e ~10; backtrack 2 no; reply f ~10",
        5,
        expect![[r#"
            told   user: "a
            told   assistant: "b
            begun  user: "c
            begun  assistant: "d
            begun  [read: x]
            begun  [backtrack to checkpoint 2: no]
            kept   assistant: "f
            110 tokens, 10 kept
        "#]],
    );
}

#[test]
fn what_says_nothing_weighs_nothing_and_stays_with_what_comes_after_it() {
    check(
        r#"say a ~10; reply b ~10; label x; model p/m; aside secret ~500
           entry {"type":"custom_message","customType":"t","content":"not for models","display":true,"inContext":false}
           say c ~10; reply d ~10; spend 3; custom state"#,
        15,
        expect![[r#"
            told   user: "a
            told   assistant: "b
            kept   [label: x]
            kept   [model: m]
            kept   [bash]: secret
            kept   [t]: not for models
            kept   user: "c
            kept   assistant: "d
            kept   [usage: warm]
            kept   [custom: state]
            110 tokens, 20 kept
        "#]],
    );
}

#[test]
fn system_prompts_weigh_but_are_not_told() {
    check(
        "system s ~100; say a ~10; reply b ~10; system t ~100; say c ~10",
        50,
        expect![[r#"
               [system]
        told   user: "a
        told   assistant: "b
               [system]
        kept   user: "c
        220 tokens, 10 kept
    "#]],
    );
}

#[test]
fn edits_count() {
    check(
        "say a ~10; reply b ~10; say c ~500; reply d ~10; say e ~10; omit c",
        25,
        expect![[r#"
        begun  user: "a
        kept   assistant: "b
        kept   user: "c
        kept   assistant: "d
        kept   user: "e
        kept   [context omit: 00000003]
        40 tokens, 30 kept
    "#]],
    );
    check(
        "say a ~10; reply b ~10; say c ~500; reply d ~10; say e ~10; edit c short ~10",
        35,
        expect![[r#"
        begun  user: "a
        kept   assistant: "b
        kept   user: "c
        kept   assistant: "d
        kept   user: "e
        kept   [context replace: 00000003]
        50 tokens, 40 kept
    "#]],
    );
}

#[test]
fn a_second_compaction_goes_on_where_the_first_kept() {
    check(
        "say a ~10; reply b ~10; say c ~10; reply d ~10; compact keep c first; say e ~10; reply f ~10; say g ~10",
        15,
        expect![[r#"
                   user: "a
                   assistant: "b
            told   user: "c
            told   assistant: "d
            before [compaction: 12k tokens]
            begun  user: "e
            kept   assistant: "f
            kept   user: "g
            120 tokens, 20 kept
        "#]],
    );
}

#[test]
fn nothing_new_after_a_compaction_is_nothing_to_compact() {
    check(
        "say a ~10; reply b ~10; say c; compact keep c first; label x on a; model p/m; aside ls",
        1,
        expect![[r#"
        already compacted: nothing was said since
    "#]],
    );
    check(
        "say a ~10; reply b ~10; say c; compact keep c first; say d",
        1,
        expect![[r#"
        nothing to compact: all of it is recent, or not answered yet
    "#]],
    );
}

#[test]
fn a_compaction_that_keeps_from_nowhere_kept_nothing() {
    check(
        r#"say a ~10; reply b ~10; entry {"type":"compaction","summary":"s","firstKeptEntryId":"gone","tokensBefore":1}
           say c ~10; reply d ~10; say e ~10"#,
        10,
        expect![[r#"
                   user: "a
                   assistant: "b
            before [compaction: 0k tokens]
            told   user: "c
            told   assistant: "d
            kept   user: "e
            120 tokens, 10 kept
        "#]],
    );
}

#[test]
fn other_branches_do_not_matter() {
    check(
        "say a ~10; reply b ~10; say huge ~500; reply bigger ~500; delete huge; say c ~10; reply d ~10; say e ~10",
        15,
        expect![[r#"
            told   user: "a
            told   assistant: "b
                   [deleted branch]
            begun  user: "c
            kept   assistant: "d
            kept   user: "e
            120 tokens, 20 kept
        "#]],
    );
}

#[test]
fn only_the_end_of_a_long_path_is_looked_at() {
    let mut script = Script::default();
    for turn in 0..5_000 {
        script.play(&format!("say q{turn} ~20; reply a{turn} ~20"));
    }
    let all: usize = script.lines.iter().map(Vec::len).sum();
    let mut seen = 0;
    let mut cutting = script.tree.cutting(script.tree.leaf(), 2_000);
    loop {
        let wanted = cutting.wants();
        if wanted.is_empty() {
            break;
        }
        seen += wanted.iter().map(|seq| script.lines[seq.index()].len()).sum::<usize>();
        cutting.give(&script.lines);
    }
    let cut = cutting.finish(&script.tree).unwrap();
    assert_eq!(cut.history.len(), 9_900);
    assert_eq!(script.tree.head(cut.first_kept).kind, Kind::Message);
    assert!(seen * 20 < all, "{seen} of {all} bytes");
}

#[test]
fn a_missing_line_says_nothing() {
    struct Nothing;
    impl Lines for Nothing {
        fn line(&self, _: Seq) -> Option<&[u8]> {
            None
        }
    }
    let script = Script::run(TURNS);
    assert!(script.tree.cut(script.tree.leaf(), 20, &Nothing).is_err());
}
