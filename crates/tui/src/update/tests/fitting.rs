//! Screens of all sizes.

use super::*;
use crate::testing::question_about;

#[test]
fn help_fits_a_small_screen() {
    let mut desk = Desk::new(40, 12);
    desk.say("/help");
    desk.check(expect![[r#"

        Help
          /help
              commands and keys
          /tree
              the whole tree: look, search,
              label, move
          /model [name]
              who answers: choose from a list,
              or by name
        ↑↓ · 162 more lines · escape closes
        code │ a/model │ #0 │ 5e551011
    "#]]);
    desk.press("end escape");
    assert!(desk.state.overlays.is_empty());
}

#[test]
fn resizing_works_at_any_time() {
    let mut desk = Desk::on(80, 24, "say a question; reply an answer");
    desk.open_tree();
    desk.resize(40, 12);
    assert!(desk.text().contains("Session tree"), "{}", desk.text());
    desk.resize(200, 60);
    desk.press("escape");
    desk.resize(1, 1);
    desk.resize(80, 24);
    assert!(desk.text().contains("code │ a/model"), "{}", desk.text());
}

#[test]
fn every_command_works_on_small_screens() {
    for spec in crate::commands::all() {
        for (columns, rows) in [(40, 12), (200, 60), (20, 5)] {
            let mut desk = Desk::on(columns, rows, "say 你好 👩‍👩‍👧; reply 好的");
            desk.say(&format!("/{}", spec.name));
            desk.hear(Msg::Settings(vec![crate::host::SettingRow::default()]));
            desk.open_tree();
            desk.press("down escape escape escape");
        }
    }
}

/// The harness fails if a line is too wide or a frame is too high.
#[test]
fn every_dialog_fits_every_screen() {
    for (columns, rows) in [(40, 12), (200, 60), (80, 24), (10, 3)] {
        let mut desk =
            Desk::on(columns, rows, "say 请看看这个很长很长的问题 👩‍👩‍👧; reply 好的; say b; move 好的; say c");
        desk.live(Live::TurnStarted);
        desk.open_tree();
        desk.press("home L '名字很长很长很长很长很长很长很长很长很长很长' escape T alt+c alt+d escape");
        desk.press("down down enter down down enter '说明' enter");
        desk.live(Live::SummaryText { text: "很长的总结".repeat(50) });
        desk.press("escape");
        let asked = question("echo 你好 && rm -rf '很长的名字'", &["bash:echo", "bash"]);
        desk.live(Live::Asked { id: 1, question: Box::new(asked) });
        desk.state.now += 1000;
        desk.press("pageDown down n '不行'");
        let what = osier_tools::Change::Diff {
            path: "很长的/路径/文件.rs".to_owned(),
            diff: "+一行\n-另一行 👍🏽\n".repeat(40),
            created: false,
        };
        let asked = question_about(what, &["bash:echo", "bash"]);
        desk.live(Live::Asked { id: 2, question: Box::new(asked) });
        desk.press("pageDown pageDown pageUp tab");
        desk.live(Live::Queue {
            steering: vec!["先做这个".repeat(20)], follow_up: vec!["然后".repeat(40)]
        });
        desk.live(Live::Retrying {
            attempt: 1, seconds: 2.0, kind: "server", message: "服务器".repeat(30)
        });
        desk.live(Live::Answered { id: 1, allowed: false });
        desk.live(Live::Answered { id: 2, allowed: false });
        desk.press("escape escape");
    }
}
