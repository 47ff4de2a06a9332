//! Sends messages and compares the screens.

mod approvals;
mod fitting;
mod history;
mod pastes;
mod pickers;
mod switching;

use std::sync::Arc;

use expect_test::expect;
use osier_agent::{Finished, Live, Navigated, Reply, Said};
use osier_session::{CursorId, Event as SessionEvent};
use osier_tree::continuing::Editor;
use osier_tree::tokens::TokenCount;
use serde_json::json;

use super::*;
use crate::testing::{Desk, question};

fn stream(desk: &mut Desk, id: &str, text: &str) {
    let id: Arc<str> = id.into();
    desk.session(SessionEvent::DraftBegun { id: id.clone(), cursor: CursorId::MAIN });
    let mut say = |delta: serde_json::Value| {
        desk.session(SessionEvent::Draft { id: id.clone(), index: 0, delta: delta.to_string().into() });
    };
    say(json!({ "type": "text_start" }));
    for piece in text.split_inclusive(' ') {
        say(json!({ "type": "text_delta", "delta": piece }));
    }
}

#[test]
fn an_empty_session_shows_the_welcome_lines_and_a_hint() {
    let mut desk = Desk::new(60, 12);
    let mut setting = crate::state::Setting::clone(&desk.state.setting);
    setting.welcome = vec!["Welcome. The built-in model needs no key.".to_owned()];
    desk.state.setting = setting.into();
    desk.hear(Msg::Path(Path::default()));
    desk.check(expect![[r#"
        Welcome. The built-in model needs no key.

        > type a message, or /help
        code │ a/model │ #0 │ 5e551011
    "#]]);
}

/// The screen after a reply broke off after `text` and a second one was received.
fn retried(text: &str) -> String {
    let mut desk = Desk::on(60, 16, "say a");
    desk.live(Live::TurnStarted);
    stream(&mut desk, "0000000a", text);
    let id: Arc<str> = "0000000a".into();
    let delta = json!({ "type": "withdrawn" }).to_string().into();
    desk.session(SessionEvent::Draft { id: id.clone(), index: 9, delta });
    desk.session(SessionEvent::DraftDropped { id });
    stream(&mut desk, "0000000b", "the whole answer");
    let content = json!([{ "type": "text", "text": "the whole answer" }]);
    let message = json!({ "role": "assistant", "content": content, "stopReason": "stop" });
    desk.play(&format!("entry {}", json!({ "type": "message", "id": "0000000b", "message": message })));
    desk.live(Live::TurnEnded { finished: Some(Finished::Done), error: None });
    desk.text()
}

#[test]
fn a_reply_that_breaks_off_is_replaced_by_the_next_one() {
    let text = retried("half an");
    assert!(!text.contains("half") && text.matches("the whole answer").count() == 1, "{text}");
    let text = retried("A first paragraph\n\nhalf an\nanswer");
    assert!(text.contains("A first paragraph\n\nThe reply broke off here; asking for it again…"), "{text}");
    assert!(!text.contains("half") && text.matches("the whole answer").count() == 1, "{text}");
}

#[test]
fn a_long_turn_asks_whether_to_continue() {
    let mut desk = Desk::on(70, 12, "say a");
    desk.live(Live::TurnStarted);
    let question = osier_agent::Question::Continue { model_calls: 200 };
    desk.live(Live::Asked { id: 1, question: Box::new(question) });
    let text = desk.text();
    for shown in
        ["The model was called 200 times for this prompt. Continue?", "y  Yes, continue", "n  No, stop here"]
    {
        assert!(text.contains(shown), "{text}");
    }
    desk.live(Live::Answered { id: 1, allowed: false });
    desk.live(Live::TurnEnded { finished: Some(Finished::StepLimit), error: None });
    assert!(desk.text().contains("Stopped at the limit of model calls; /retry continues"), "{}", desk.text());
}

#[test]
fn a_failed_turn_offers_retry() {
    let mut desk = Desk::on(60, 16, "say a");
    desk.live(Live::TurnStarted);
    desk.live(Live::TurnEnded { finished: Some(Finished::Failed), error: Some("gone".to_owned()) });
    assert!(desk.text().contains("/retry tries again"), "{}", desk.text());
}

#[test]
fn a_prompt_is_sent_and_shown_once_it_is_stored() {
    let mut desk = Desk::on(60, 16, "say a; reply b");
    desk.say("and now?");
    expect![[r#"
        Send(Prompt { text: "and now?", images: [], files: [], when: Now }, Say("and now?"))
    "#]]
    .assert_eq(&desk.asked());
    desk.live(Live::TurnStarted);
    desk.play("say and now?");
    stream(&mut desk, "00000004", "Some words\n\nand more");
    desk.check(expect![[r#"

        > a

        b

        > and now?

        Some words

        and more

        >
        ⣾ writing · 0 s · ↓ ~5 tokens · esc to stop
        code │ a/model │ #2 │ 5e551011
    "#]]);
    let content = json!([{ "type": "text", "text": "Some words\n\nand more" }]);
    desk.play(&format!(
        "entry {}",
        json!({ "type": "message", "message": { "role": "assistant", "content": content } })
    ));
    desk.live(Live::TurnEnded { finished: Some(Finished::Done), error: None });
    desk.check(expect![[r#"

        > a

        b

        > and now?

        Some words

        and more

        >
        code │ a/model │ #2 │ 5e551011
    "#]]);
}

#[test]
fn live_and_replayed_screens_are_equal() {
    let script = "say go; reply I look calls read notes.txt, bash make; result one; error no details {\"exitCode\":1}; reply **done**; say thanks; reply You are welcome.";
    let mut live = Desk::new(60, 40);
    live.state.facts.depth = 7;
    for step in script.split("; ") {
        live.play(step);
    }
    let replayed = Desk::on(60, 40, script);
    assert_eq!(live.text().trim(), replayed.text().trim());
}

#[test]
fn a_running_tool_shows_the_end_of_its_output() {
    let mut desk = Desk::on(60, 20, "say go");
    desk.live(Live::TurnStarted);
    desk.play("reply calls bash make test");
    desk.live(Live::ToolStarted { call: "call1".into(), name: "bash".into(), arguments: json!({}) });
    let call = desk.state.script.waiting()[0].id.clone();
    desk.state.work.tools[0].0.clone_from(&call);
    let printed: String = (1..=9).map(|number| format!("line {number}\n")).collect();
    desk.live(Live::ToolOutput { call, text: printed, skipped: 0 });
    desk.state.now += 65_000;
    desk.hear(Msg::Tick);
    desk.check(expect![[r#"

        > go

        ● bash make test
          line 4
          line 5
          line 6
          line 7
          line 8
          line 9

        >
        ⣟ running tools · 1:05 min · esc to stop
        code │ a/model │ #1 │ 5e551011
    "#]]);
}

#[test]
fn up_moves_through_the_history_past_commands() {
    let mut desk = Desk::on(60, 20, "say go");
    for text in ["first", "/nonsense", "/compact"] {
        desk.say(text);
        desk.state.editor.set("");
    }
    desk.press("up up up");
    assert_eq!(desk.state.editor.text(), "first");
}

#[test]
fn prompts_during_a_turn_are_queued_and_can_be_edited_again() {
    let mut desk = Desk::on(60, 14, "say go");
    desk.live(Live::TurnStarted);
    desk.press("'stop' enter 'later' alt+enter");
    expect![[r#"
        Send(Prompt { text: "stop", images: [], files: [], when: Steer }, Say("stop"))
        Send(Prompt { text: "later", images: [], files: [], when: FollowUp }, Say("later"))
    "#]]
    .assert_eq(&desk.asked());
    desk.live(Live::Queue { steering: vec!["stop".into()], follow_up: vec!["later".into()] });
    desk.check(expect![[r#"

        > go

        next: stop
        then: later
        alt+up to edit them

        >
        ⢿ waiting · 0 s · esc to stop
        code │ a/model │ #1 │ 5e551011
    "#]]);
    desk.press("alt+up");
    let said = |text: &str| Said::text(text.to_owned());
    let back = Reply::Returned(vec![said("stop"), said("later")]);
    desk.asked();
    desk.hear(Msg::Replied(Purpose::Unqueue, Box::new(Ok(back))));
    assert_eq!(desk.state.editor.text(), "stop\n\nlater");
}

#[test]
fn escape_stops_the_turn_and_double_escape_opens_the_tree() {
    let mut desk = Desk::on(60, 14, "say go");
    desk.live(Live::TurnStarted);
    desk.press("escape");
    assert_eq!(desk.asked(), "Send(Cancel, Cancel)\n");
    desk.live(Live::TurnEnded { finished: Some(Finished::Cancelled), error: None });
    desk.press("escape");
    assert_eq!(desk.asked(), "");
    desk.press("escape");
    assert_eq!(desk.asked(), "ReadTree\n");
    desk.press("escape");
    desk.state.now += 600;
    desk.press("escape");
    assert_eq!(desk.asked(), "", "too slow");
    desk.press("'x' escape escape");
    assert_eq!(desk.asked(), "", "not while the editor has text");
}

#[test]
fn ctrl_c_clears_the_editor_then_shows_a_hint_then_quits() {
    let mut desk = Desk::new(60, 10);
    desk.press("'x' ctrl+c");
    assert!(desk.state.editor.is_empty());
    desk.press("ctrl+c");
    assert_eq!(desk.asked(), "");
    assert!(desk.text().contains("ctrl+c again"), "{}", desk.text());
    desk.press("ctrl+c");
    assert_eq!(desk.asked(), "Quit\n");
    desk.press("ctrl+d");
    assert_eq!(desk.asked(), "Quit\n");
}

#[test]
fn commands_are_completed_and_unknown_ones_get_a_suggestion() {
    let mut desk = Desk::new(60, 14);
    desk.press("'/co'");
    desk.check(expect![[r#"

        > /co
        › /compact     let a summary stand for the older part
          /copy        copy the last answer to the clipboard
          /cost        tokens and cost of the session, by model and…
          /compaction  what the last compaction left out; undo: go …
          /compare     compare two branches; in /tree mark them wit…
          /config      how it is set up, and to change it
        code │ a/model │ #0 │ 5e551011
    "#]]);
    desk.press("down tab");
    assert_eq!(desk.state.editor.text(), "/copy ");
    desk.press("ctrl+c '/tre' enter");
    assert_eq!(desk.asked(), "ReadTree\n", "the selected command runs");
    desk.press("'/trxe' enter");
    assert!(desk.text().contains("there is no command /trxe; did you mean /tree?"), "{}", desk.text());
    assert_eq!(desk.state.editor.text(), "/trxe", "typed text is kept");
    desk.press("ctrl+u '/usr/bin' space 'is' enter");
    assert!(desk.asked().starts_with("Send(Prompt { text: \"/usr/bin is\""), "a path is not a command");
}

#[test]
fn files_are_listed_once_and_completed_anywhere() {
    let mut desk = Desk::new(60, 14);
    desk.press("'see' space '@ma'");
    assert_eq!(desk.asked(), "ListFiles\n");
    let files = ["src/main.rs", "README.md", "src/map.rs"].map(str::to_owned).to_vec();
    desk.hear(Msg::Files(Arc::new(files)));
    desk.check(expect![[r#"

        > see @ma
        › @src/map.rs
          @src/main.rs
        code │ a/model │ #0 │ 5e551011
    "#]]);
    desk.press("enter 'x'");
    assert_eq!(desk.state.editor.text(), "see @src/map.rs x");
    assert_eq!(desk.asked(), "");
}

#[test]
fn a_move_fills_the_editor_only_if_it_is_empty() {
    let editor = Some(Editor { text: "say it again".to_owned(), ..Editor::default() });
    let mut desk = Desk::on(60, 14, "say a; reply b");
    desk.moved(Navigated { editor: editor.clone(), ..Navigated::default() });
    assert_eq!(desk.state.editor.text(), "say it again");
    desk.press("ctrl+c 'mine'");
    desk.moved(Navigated { editor, ..Navigated::default() });
    assert_eq!(desk.state.editor.text(), "mine");
}

#[test]
fn after_a_move_the_screen_shows_only_the_new_path() {
    let mut desk = Desk::on(60, 14, "say a; reply b; say c; reply d");
    desk.play("move b");
    expect![[r#"
        ShowPath { moved: Some(Moved { why: "move", from: Some("00000004"), to: Some("00000002") }) }
    "#]]
    .assert_eq(&desk.asked());
    desk.show_path();
    desk.check(expect![[r#"

        > a

        b

        >
        code │ a/model │ #2 │ 5e551011
    "#]]);
}

#[test]
fn keys_undo_and_redo_moves() {
    let mut desk = Desk::on(60, 14, "say a");
    desk.press("alt+u alt+r");
    assert_eq!(desk.asked(), "Send(Undo, Undo)\nSend(Redo, Redo)\n");
    desk.hear(Msg::Replied(Purpose::Undo, Box::new(Ok(Reply::Done))));
    assert!(desk.text().contains("No move to undo"));
}

#[test]
fn user_commands_run_one_at_a_time_with_live_output() {
    let mut desk = Desk::on(60, 14, "say a");
    desk.say("!ls -l");
    expect![[r#"
        Send(Bash(UserCommand { command: "ls -l", exclude_from_context: false }), Bash)
    "#]]
    .assert_eq(&desk.asked());
    desk.live(Live::BashOutput { text: "one\n".into(), skipped: 0 });
    desk.check(expect![[r#"

        > a

        ! ls -l
          one

        >
        ⣾ running your command · 0 s · esc to stop
        code │ a/model │ #1 │ 5e551011
    "#]]);
    desk.say("!pwd");
    assert_eq!(desk.asked(), "");
    assert!(desk.text().contains("another one is running"), "{}", desk.text());
}

#[test]
fn the_status_line_leaves_out_the_least_important_parts() {
    let mut desk = Desk::on(100, 8, "say a");
    desk.state.facts.git_branch = Some("main".into());
    desk.state.facts.window = 200_000;
    desk.state.facts.cost = 0.42;
    desk.state.facts.tips = 3;
    desk.state.context = TokenCount::measured(150_000);
    let line = |desk: &mut Desk, columns| {
        desk.state.columns = columns;
        crate::status::status(&desk.state).plain()
    };
    expect![[r#"
        code (main) │ a/model │ ██████░░ 150k/200k │ $0.420 │ #1 · 3 branches │ 5e551011
        a/model │ ██████░░ 150k/200k │ $0.420 │ #1 · 3 branches
        a/model │ ██████░░ 150k/200k
        a/model
    "#]]
    .assert_eq(
        &(line(&mut desk, 100)
            + "\n"
            + &line(&mut desk, 60)
            + "\n"
            + &line(&mut desk, 40)
            + "\n"
            + &line(&mut desk, 8)
            + "\n"),
    );
}

#[test]
fn prompts_that_an_earlier_process_never_sent_return_to_the_editor() {
    let mut desk = Desk::new(60, 12);
    let returned = vec![Said::text("lost?".to_owned())];
    desk.hear(Msg::Joined(Box::new(Joined { returned, ..Joined::default() })));
    assert_eq!(desk.state.editor.text(), "lost?");
}

#[test]
fn a_refused_prompt_returns_to_the_editor() {
    let mut desk = Desk::new(60, 12);
    desk.say("hello");
    desk.hear(Msg::Replied(Purpose::Say("hello".into()), Box::new(Err("no key is set".into()))));
    assert_eq!(desk.state.editor.text(), "hello");
    assert!(desk.text().contains("no key is set"));
}

#[test]
fn the_fork_dialog_moves_here_or_opens_a_new_session() {
    let mut desk = Desk::on(60, 20, "say one; reply a; say two; reply b; move a; say three; reply c");
    desk.say("/fork");
    assert_eq!(desk.asked(), "ReadTree\n");
    desk.open_tree();
    desk.check(expect![[r#"

        > one

        a

        > three

        c

        Go on before a message of this path
        › 2026-01-01 00:00  three
          2026-01-01 00:00  one
        (1/2) enter here · n new session · tab all branches · escape
        code │ a/model │ #4 │ 5e551011
    "#]]);
    desk.press("up down down down enter");
    expect![[r#"
        Send(Navigate(Navigation { target: Some("00000001"), exact: false, summarize: false, instructions: None, replace_instructions: false, label: None, stop_turn: true }), Navigate)
    "#]].assert_eq(&desk.asked());
    desk.press("tab up n");
    expect![[r#"
        Open(Fork { before: Some("00000006") })
    "#]]
    .assert_eq(&desk.asked());
}

#[test]
fn a_compaction_summary_is_shown_live_until_its_card_is_printed() {
    let mut desk = Desk::on(60, 20, "say a; reply b");
    desk.live(Live::TurnStarted);
    desk.live(Live::SummaryStarted { of: "compaction" });
    desk.live(Live::SummaryText { text: "## Goal".to_owned() });
    assert!(desk.text().contains("◆ compaction\n  ## Goal"), "{}", desk.text());
    desk.play("compact keep a It was short");
    assert!(desk.text().contains("│ It was short") && !desk.text().contains("## Goal"), "{}", desk.text());
    assert!(desk.state.work.turn && desk.state.work.summary.is_none());
}

#[test]
fn a_backtrack_of_the_model_shows_the_new_path() {
    let mut desk = Desk::on(60, 24, "say find it; reply looking; say more; reply no");
    desk.play("return 0 It is in *b*");
    assert_eq!(desk.asked(), "ShowPath { moved: None }\n");
    desk.show_path();
    desk.check(expect![[r#"

        > find it

        =============== Backtracked to Checkpoint 0 ================

          Discarded 3 messages
          Returned to:
            ┌─────────┐
            │ find it │
            └─────────┘
          Note from future:
            ┌────────────┐
            │ It is in b │
            └────────────┘

        >
        code │ a/model │ #2 │ 5e551011
    "#]]);
}

#[test]
fn ctrl_z_suspends_even_with_an_open_overlay() {
    let mut desk = Desk::on(60, 24, "say a");
    desk.press("ctrl+z");
    desk.open_tree();
    desk.press("ctrl+z");
    assert_eq!(desk.asked(), "Suspend\nSuspend\n");
    assert_eq!(desk.state.overlays.len(), 1);
}

#[test]
fn a_page_opens_over_the_tree() {
    let mut desk = Desk::on(60, 24, "say a; reply b");
    desk.open_tree();
    let lines = (0..50).map(|number| Line::of(Role::Text, &format!("line {number}"))).collect();
    desk.hear(Msg::Page("Entry 1".to_owned(), lines));
    desk.press("pageDown end");
    assert!(desk.text().contains("line 49"), "{}", desk.text());
    desk.press("escape");
    assert!(desk.text().contains("Session tree"), "{}", desk.text());
}
