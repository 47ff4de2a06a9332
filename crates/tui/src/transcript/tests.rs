//! Draws scripted sessions and checks the lines.

use expect_test::{Expect, expect};
use osier_testkit::ScriptedSession;

use serde_json::{Value, json};

use super::*;
use crate::piece::draw_all;
use crate::text::plain;

fn lines(script: &str, options: RenderOptions<'_>) -> Vec<Line> {
    let played = ScriptedSession::run(script);
    let mut drawn = Transcript::default();
    let path = played.tree.path(played.tree.leaf());
    let mut pieces: Vec<Piece> =
        path.iter().flat_map(|seq| drawn.draw_line(&played.lines[seq.index()].clone().into())).collect();
    pieces.extend(drawn.settle_pending());
    draw_all(&pieces, options)
}

#[track_caller]
fn check(script: &str, width: usize, expected: Expect) {
    let lines = lines(script, RenderOptions { width, ..RenderOptions::default() });
    assert!(lines.iter().all(|line| line.width() <= width), "too wide:\n{}", plain(&lines));
    expected.assert_eq(&plain(&lines));
}

#[test]
fn a_conversation_is_drawn() {
    check(
        "say hello there; reply Hi, *you*. Shall I?; say yes; reply done",
        40,
        expect![[r#"

            > hello there

            Hi, you. Shall I?

            > yes

            done
        "#]],
    );
}

#[test]
fn a_call_and_its_result_are_one_card() {
    check(
        "say go; reply I look calls read notes.txt, bash make test\nresult one details {\"truncated\":true,\"totalLines\":900}\nerror boom details {\"exitCode\":2}\nreply so",
        60,
        expect![[r#"

            > go

            I look

            ● read notes.txt
              1 line, truncated from 900 lines

            ● bash make test
              boom
              exit 2

            so
        "#]],
    );
}

#[test]
fn a_call_without_a_result_is_shown_as_interrupted() {
    check(
        "say go; reply calls read notes.txt; say again",
        60,
        expect![[r#"

        > go

        ● read notes.txt
          interrupted, no result

        > again
    "#]],
    );
}

#[test]
fn a_backtrack_shows_the_message_and_the_note() {
    check(
        "say 帮我分析一下这个文件的结构; reply one; say two; reply three; return 0 - 主入口在 main.py",
        54,
        expect![[r#"

            > 帮我分析一下这个文件的结构

            ============ Backtracked to Checkpoint 0 =============

              Discarded 3 messages
              Returned to:
                ┌────────────────────────────┐
                │ 帮我分析一下这个文件的结构 │
                └────────────────────────────┘
              Note from future:
                ┌────────────────────┐
                │ • 主入口在 main.py │
                └────────────────────┘
        "#]],
    );
}

fn draw_backtrack(details: &Value) -> String {
    let entry = serde_json::json!({ "type": "custom_message", "customType": "osier.backtrack", "content": "x", "display": true, "details": details });
    plain(&lines(&format!("entry {entry}"), RenderOptions { width: 40, ..RenderOptions::default() }))
}

#[test]
fn a_backtrack_to_before_any_message_shows_only_the_note() {
    let details =
        serde_json::json!({ "checkpointId": 3, "note": "go on", "discarded": 0, "originalUserMessage": "" });
    expect![[r#"

        ===== Backtracked to Checkpoint 3 ======

          Note from future:
            ┌───────┐
            │ go on │
            └───────┘
    "#]]
    .assert_eq(&draw_backtrack(&details));
}

#[test]
fn a_backtrack_shows_200_characters_of_the_message_and_300_of_the_note() {
    let details = serde_json::json!({ "checkpointId": 0, "note": "n".repeat(400), "discarded": 9, "originalUserMessage": "说".repeat(400) });
    let drawn = draw_backtrack(&details);
    assert_eq!(drawn.matches('说').count(), 200, "{drawn}");
    let (_, note) = drawn.split_once("Note from future:").unwrap();
    assert_eq!(note.matches('n').count(), 300, "{note}");
    assert_eq!(drawn.matches("...").count(), 2, "{drawn}");
    assert!(
        drawn
            .lines()
            .skip_while(|line| !line.contains('┌'))
            .all(|line| line.starts_with("    ") || line.starts_with("  Note"))
    );
}

#[test]
fn summaries_and_extension_messages_have_their_own_style() {
    let script = "say a; reply b; say c; summarize what was tried at b; note review Looks **good**; hidden secret no; compact keep b All of it";
    check(
        script,
        50,
        expect![[r#"

        > a

        b

        ◆ branch summary
        │ what was tried

        [review]
        Looks good

        ◆ compaction of 12k tokens
        │ All of it
    "#]],
    );
    let marked: Vec<String> = lines(script, RenderOptions { width: 50, ..RenderOptions::default() })
        .iter()
        .map(Line::to_markup)
        .collect();
    assert!(
        marked.iter().any(|line| line == "{customMessageLabel on-customMessageBg bold|[review]}"),
        "{marked:#?}"
    );
}

#[test]
fn commands_of_the_user_are_drawn() {
    check(
        "bash ls -l exits 1; aside pwd",
        60,
        expect![[r#"

        ! ls -l
          ok
          exit 1

        !! pwd
          ok
          exit 0, hidden from the model
    "#]],
    );
}

#[test]
fn wide_characters_wrap_at_forty_columns() {
    check(
        "say 请帮我看看这个很长很长很长很长的问题到底是怎么回事；谢谢你; reply 好的，我来看看 👩‍👩‍👧 这个问题，它应该不是很难解决的那一种问题",
        40,
        expect![[r#"

            > 请帮我看看这个很长很长很长很长的问题到
              底是怎么回事；谢谢你

            好的，我来看看 👩‍👩‍👧 这个问题，它应该不是很
            难解决的那一种问题
        "#]],
    );
}

#[test]
fn escape_sequences_do_not_reach_the_screen() {
    let script = "say a\u{1b}[2Jb; reply x\u{1b}]0t\u{7} calls bash ls\u{1b}[1A; result \u{1b}[31mred\u{1b}[2J; note t\u{1b}c y; bash e\u{1b}[2J";
    let drawn =
        plain(&lines(script, RenderOptions { width: 60, expanded: true, ..RenderOptions::default() }));
    assert!(!drawn.contains('\u{1b}') && !drawn.contains('\u{7}'), "{drawn:?}");
}

#[test]
fn a_folded_summary_names_the_key_that_expands_it() {
    let body = (1..=12).map(|line| format!("- point {line}\n")).collect::<String>();
    let drawn = |width, open| {
        plain(&draw_summary(
            "compaction",
            &body,
            RenderOptions { width, expanded: open, ..RenderOptions::default() },
        ))
    };
    assert!(drawn(60, false).ends_with("│ … 6 more lines (ctrl+o)\n"), "{}", drawn(60, false));
    assert!(drawn(60, true).ends_with("point 12\n"), "{}", drawn(60, true));
    assert!(drawn(20, false).lines().all(|line| crate::text::width(line) <= 20), "{}", drawn(20, false));
}

#[test]
fn a_user_message_shows_its_display_text() {
    check(
        r#"entry {"type":"message","message":{"role":"user","content":[{"type":"text","text":"Fix a.rs well."},{"type":"image","data":"AA==","mimeType":"image/png"}],"uiContent":"/fix a.rs"}}
entry {"type":"message","uiContent":"/review","message":{"role":"user","content":"Review all of it."}}"#,
        40,
        expect![[r#"

            > /fix a.rs
              [1 image]

            > /review
        "#]],
    );
}

#[test]
fn a_todo_list_is_drawn_as_a_checklist() {
    check(
        r#"say go; reply calls todo
result [x] read details {"items":[{"content":"read the parser","status":"completed"},{"content":"fix the bug that loses the last line of a file","status":"in_progress"},{"content":"test","status":"pending"}]}
reply calls todo
result empty details {"items":[]}"#,
        40,
        expect![[r#"

            > go

            ● todo 1/3 done
              ☑ read the parser
              ▶ fix the bug that loses the last line
                of a file
              ☐ test

            ● todo cleared
        "#]],
    );
}

#[test]
fn thinking_is_markdown_and_shows_the_number_of_hidden_lines() {
    let thought =
        json!({ "type": "thinking", "thinking": "**Look at it.** I need\n\n- the `parser`\n- the tests\n" });
    let script = format!(
        "entry {}",
        json!({ "type": "message", "message": { "role": "assistant", "content": [thought] } })
    );
    let drawn =
        |open| lines(&script, RenderOptions { width: 44, expanded: open, ..RenderOptions::default() });
    expect![[r#"

        ∴ Look at it. I need … 2 more lines (ctrl+o)
    "#]]
    .assert_eq(&plain(&drawn(false)));
    expect![[r#"

        ∴ Look at it. I need
        ∴ 
        ∴ • the parser
        ∴ • the tests
    "#]]
    .assert_eq(&plain(&drawn(true)));
    let is_dim = |line: &Line| line.spans.iter().all(|span| span.style.role != ColorRole::Text);
    assert!(drawn(true).iter().all(is_dim));
    let one = draw_thinking("short", RenderOptions { width: 44, ..RenderOptions::default() });
    assert_eq!(plain(&one), "∴ short\n");
}

#[test]
fn a_graft_shows_its_conclusion() {
    check(
        r#"say a; reply c
entry {"type":"branch_summary","fromId":"0000000a","summary":"Grafted from [entry 0000000a]: entries [entry 00000003] to [entry 0000000a], branched off at [entry 00000002].\n\nAsked there:\n- with a map [entry 00000003]\n\nConcluded there [entry 0000000a]:\n\nThe **map** is slow.\n\n<modified-files>\nmap.rs\n</modified-files>"}"#,
        60,
        expect![[r#"

            > a

            c

            ◆ conclusion of branch 0000000a
            │ The map is slow.
        "#]],
    );
}
