//! Screens of all sizes.

use super::*;
use crate::testing::change_question;

#[test]
fn help_fits_a_small_screen() {
    let mut harness = Harness::new(40, 12);
    harness.submit("/help");
    harness.check(expect![[r#"

        ╭─ Help ────────────────────────────────
        │ / type to search
        │ Writing
        │   enter
        │     send; while a turn runs, the
        │     model gets it with its next call
        │   alt+enter
        │     while a turn runs: send when it
        │     ends; otherwise insert a newline
        ╰─ ↑↓ scroll, 193 more lines ───────────
        code │ a/model │ #0 │ 5e551011
    "#]]);
    harness.press("end escape");
    assert!(harness.state.overlays.is_empty());
}

#[test]
fn resizing_works_at_any_time() {
    let mut harness = Harness::with_session(80, 24, "say a question; reply an answer");
    harness.open_tree();
    harness.resize(40, 12);
    assert!(harness.text().contains("Session tree"), "{}", harness.text());
    harness.resize(200, 60);
    harness.press("escape");
    harness.resize(1, 1);
    harness.resize(80, 24);
    assert!(harness.text().contains("code │ a/model"), "{}", harness.text());
}

#[test]
fn every_command_works_on_small_screens() {
    for spec in crate::commands::all() {
        for (columns, rows) in [(40, 12), (200, 60), (20, 5)] {
            let mut harness = Harness::with_session(columns, rows, "say 你好 👩‍👩‍👧; reply 好的");
            harness.submit(&format!("/{}", spec.name));
            harness.update(Msg::Settings(vec![osier_protocol::engine_request::SettingRow::default()]));
            harness.open_tree();
            harness.press("down escape escape escape");
        }
    }
}

/// The harness fails if a line is too wide or a frame is too high.
#[test]
fn every_dialog_fits_every_screen() {
    for (columns, rows) in [(40, 12), (200, 60), (80, 24), (10, 3)] {
        let mut harness = Harness::with_session(
            columns,
            rows,
            "say 请看看这个很长很长的问题 👩‍👩‍👧; reply 好的; say b; move 好的; say c",
        );
        harness.event(ClientEvent::TurnStarted);
        harness.open_tree();
        harness.press("home L '名字很长很长很长很长很长很长很长很长很长很长' escape T alt+c alt+d escape");
        harness.press("down down enter down down enter '说明' enter");
        harness.event(ClientEvent::SummaryText { text: "很长的总结".repeat(50) });
        harness.press("escape");
        let question = command_question("echo 你好 && rm -rf '很长的名字'", &["bash:echo", "bash"]);
        harness.event(ClientEvent::Asked { id: 1, question: Box::new(question), agent: None });
        harness.state.now += 1000;
        harness.press("pageDown down n '不行'");
        let what = osier_tools::ProposedChange::Diff {
            path: "很长的/路径/文件.rs".to_owned(),
            diff: "+一行\n-另一行 👍🏽\n".repeat(40),
            created: false,
        };
        let question = change_question(what, &["bash:echo", "bash"]);
        harness.event(ClientEvent::Asked { id: 2, question: Box::new(question), agent: None });
        harness.press("pageDown pageDown pageUp tab");
        harness.event(ClientEvent::Queue {
            steering: vec!["先做这个".repeat(20)],
            follow_up: vec!["然后".repeat(40)],
        });
        harness.event(ClientEvent::Retrying {
            attempt: 1,
            max_attempts: Some(4),
            seconds: 2.0,
            kind: "server".into(),
            message: "服务器".repeat(30),
        });
        harness.event(ClientEvent::Answered { id: 1, allowed: false });
        harness.event(ClientEvent::Answered { id: 2, allowed: false });
        harness.press("escape escape");
    }
}
