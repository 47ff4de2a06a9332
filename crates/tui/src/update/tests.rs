//! Sends messages and compares the screens.

mod approvals;
mod explores;
mod extensions;
mod fitting;
mod history;
mod pastes;
mod pickers;
mod subagents;
mod switching;

use std::sync::Arc;

use expect_test::expect;
use osier_protocol::{
    ClientEvent, CommandReply, EntryEvent, EntryId, MoveReply, Prompt, ReplyDelta, SummarySubject,
    TokenCount, TurnOutcome,
};
use serde_json::json;

use super::*;
use crate::testing::{Harness, command_question};

fn stream(harness: &mut Harness, id: &str, text: &str) {
    let id = EntryId::from(id);
    harness.event(ClientEvent::DraftStarted { id: id.clone(), off_path: false });
    let mut push = |delta: ReplyDelta| {
        harness.event(ClientEvent::DraftDelta { id: id.clone(), index: 0, delta: delta.into() });
    };
    push(ReplyDelta::TextStart { block: 0 });
    for piece in text.split_inclusive(' ') {
        push(ReplyDelta::TextDelta { block: 0, delta: piece.to_owned() });
    }
}

#[test]
fn an_empty_session_shows_the_welcome_lines_and_a_hint() {
    let mut harness = Harness::new(60, 12);
    let mut config = crate::state::UiConfig::clone(&harness.state.config);
    config.welcome = vec!["Welcome. The built-in model needs no key.".to_owned()];
    harness.state.config = config.into();
    harness.update(Msg::Path(PathTail::default()));
    harness.check(expect![[r#"
        Welcome. The built-in model needs no key.

        > type a message, or /help
        code │ a/model │ #0 │ 5e551011
    "#]]);
}

/// The screen after a reply broke off after `text` and a second one was received.
fn retried(text: &str) -> String {
    let mut harness = Harness::with_session(60, 16, "say a");
    harness.event(ClientEvent::TurnStarted);
    stream(&mut harness, "0000000a", text);
    let id = EntryId::from("0000000a");
    harness.event(ClientEvent::DraftDelta { id: id.clone(), index: 9, delta: ReplyDelta::Withdrawn.into() });
    harness.event(ClientEvent::DraftDropped { id });
    stream(&mut harness, "0000000b", "the whole answer");
    let content = json!([{ "type": "text", "text": "the whole answer" }]);
    let message = json!({ "role": "assistant", "content": content, "stopReason": "stop" });
    harness
        .run_steps(&format!("entry {}", json!({ "type": "message", "id": "0000000b", "message": message })));
    harness.event(ClientEvent::TurnEnded { finished: Some(TurnOutcome::Done), error: None });
    harness.text()
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
    let mut harness = Harness::with_session(70, 12, "say a");
    harness.event(ClientEvent::TurnStarted);
    let question = osier_protocol::Question::Continue { model_calls: 200 };
    harness.event(ClientEvent::Asked { id: 1, question: Box::new(question), agent: None });
    let text = harness.text();
    for shown in
        ["The model was called 200 times for this prompt. Continue?", "y  Yes, continue", "n  No, stop here"]
    {
        assert!(text.contains(shown), "{text}");
    }
    harness.event(ClientEvent::Answered { id: 1, allowed: false });
    harness.event(ClientEvent::TurnEnded { finished: Some(TurnOutcome::StepLimit), error: None });
    assert!(
        harness.text().contains("Stopped at the limit of model calls; /retry continues"),
        "{}",
        harness.text()
    );
}

#[test]
fn a_failed_turn_offers_retry() {
    let mut harness = Harness::with_session(60, 16, "say a");
    harness.event(ClientEvent::TurnStarted);
    harness.event(ClientEvent::TurnEnded {
        finished: Some(TurnOutcome::Failed),
        error: Some("gone".to_owned()),
    });
    assert!(harness.text().contains("/retry tries again"), "{}", harness.text());
}

#[test]
fn a_prompt_is_sent_and_shown_once_it_is_stored() {
    let mut harness = Harness::with_session(60, 16, "say a; reply b");
    harness.submit("and now?");
    expect![[r#"
        Send(Prompt { prompt: Prompt { text: "and now?", images: [], files: [], message: None }, when: Now, expected_leaf_id: None }, Prompt("and now?"))
    "#]]
    .assert_eq(&harness.take_actions());
    harness.event(ClientEvent::TurnStarted);
    harness.run_steps("say and now?");
    stream(&mut harness, "00000004", "Some words\n\nand more");
    harness.check(expect![[r#"

        > a

        b

        > and now?

        Some words

        and more

        ────────────────────────────────────────────────────────────
        >
        ── esc stop · type to steer the model ──────────────────────
        ⣾ writing · 0 s · ↓ ~5 tokens · esc to stop
        code │ a/model │ #2 │ 5e551011
    "#]]);
    let content = json!([{ "type": "text", "text": "Some words\n\nand more" }]);
    harness.run_steps(&format!(
        "entry {}",
        json!({ "type": "message", "message": { "role": "assistant", "content": content } })
    ));
    harness.event(ClientEvent::TurnEnded { finished: Some(TurnOutcome::Done), error: None });
    harness.check(expect![[r#"

        > a

        b

        > and now?

        Some words

        and more

        ────────────────────────────────────────────────────────────
        >
        ── alt+t tree · / commands · @ files · ctrl+o unfold ───────
        code │ a/model │ #2 │ 5e551011
    "#]]);
}

#[test]
fn live_and_replayed_screens_are_equal() {
    let script = "say go; reply I look calls read notes.txt, bash make; result one; error no details {\"exitCode\":1}; reply **done**; say thanks; reply You are welcome.";
    let mut live = Harness::new(60, 40);
    live.state.status.depth = 7;
    for step in script.split("; ") {
        live.run_steps(step);
    }
    let replayed = Harness::with_session(60, 40, script);
    assert_eq!(live.text().trim(), replayed.text().trim());
}

#[test]
fn a_running_tool_shows_the_end_of_its_output() {
    let mut harness = Harness::with_session(60, 20, "say go");
    harness.event(ClientEvent::TurnStarted);
    harness.run_steps("reply calls bash make test");
    harness.event(ClientEvent::ToolStarted {
        call: "call1".into(),
        name: "bash".into(),
        arguments: json!({}),
    });
    let call = harness.state.transcript.pending_calls()[0].id.clone();
    harness.state.activity.tools[0].0.clone_from(&call);
    let printed: String = (1..=9).map(|number| format!("line {number}\n")).collect();
    harness.event(ClientEvent::ToolOutput { call, text: printed, skipped: 0 });
    harness.state.now += 65_000;
    harness.update(Msg::Tick);
    harness.check(expect![[r#"

        > go

        ● bash make test
          line 4
          line 5
          line 6
          line 7
          line 8
          line 9

        ────────────────────────────────────────────────────────────
        >
        ── esc stop · type to steer the model ──────────────────────
        ⣟ running tools · 1:05 min · esc to stop
        code │ a/model │ #1 │ 5e551011
    "#]]);
}

#[test]
fn up_moves_through_the_history_past_commands() {
    let mut harness = Harness::with_session(60, 20, "say go");
    for text in ["first", "/nonsense", "/compact"] {
        harness.submit(text);
        harness.state.editor.set("");
    }
    harness.press("up up up");
    assert_eq!(harness.state.editor.text(), "first");
}

#[test]
fn prompts_during_a_turn_are_queued_and_can_be_edited_again() {
    let mut harness = Harness::with_session(60, 14, "say go");
    harness.event(ClientEvent::TurnStarted);
    harness.press("'stop' enter 'later' alt+enter");
    expect![[r#"
        Send(Prompt { prompt: Prompt { text: "stop", images: [], files: [], message: None }, when: Steer, expected_leaf_id: None }, Prompt("stop"))
        Send(Prompt { prompt: Prompt { text: "later", images: [], files: [], message: None }, when: FollowUp, expected_leaf_id: None }, Prompt("later"))
    "#]]
    .assert_eq(&harness.take_actions());
    harness.event(ClientEvent::Queue { steering: vec!["stop".into()], follow_up: vec!["later".into()] });
    harness.check(expect![[r#"

        > go

        next: stop
        then: later
        alt+up to edit them

        >
        ⢿ waiting · 0 s · esc to stop
        code │ a/model │ #1 │ 5e551011
    "#]]);
    harness.press("alt+up");
    let said = |text: &str| Prompt::text(text.to_owned());
    let back = CommandReply::Returned { prompts: vec![said("stop"), said("later")], follow_ups: 0 };
    harness.take_actions();
    harness.update(Msg::Replied(CommandPurpose::ClearQueue, Box::new(Ok(back))));
    assert_eq!(harness.state.editor.text(), "stop\n\nlater");
}

#[test]
fn escape_stops_the_turn_and_double_escape_opens_the_tree() {
    let mut harness = Harness::with_session(60, 14, "say go");
    harness.event(ClientEvent::TurnStarted);
    harness.press("escape");
    assert_eq!(harness.take_actions(), "Send(Cancel, Cancel)\n");
    harness.event(ClientEvent::TurnEnded { finished: Some(TurnOutcome::Cancelled), error: None });
    harness.press("escape");
    assert_eq!(harness.take_actions(), "");
    harness.press("escape");
    assert_eq!(harness.take_actions(), "ReadFirstRows { filter: Default, around: None }\n");
    harness.press("escape");
    harness.state.now += 600;
    harness.press("escape");
    assert_eq!(harness.take_actions(), "", "too slow");
    harness.press("'x' escape escape");
    assert_eq!(harness.take_actions(), "", "not while the editor has text");
}

#[test]
fn ctrl_c_clears_the_editor_then_shows_a_hint_then_quits() {
    let mut harness = Harness::new(60, 10);
    harness.press("'x' ctrl+c");
    assert!(harness.state.editor.is_empty());
    harness.press("ctrl+c");
    assert_eq!(harness.take_actions(), "");
    assert!(harness.text().contains("ctrl+c again"), "{}", harness.text());
    harness.press("ctrl+c");
    assert_eq!(harness.take_actions(), "Quit\n");
    harness.press("ctrl+d");
    assert_eq!(harness.take_actions(), "Quit\n");
}

#[test]
fn commands_are_completed_and_unknown_ones_get_a_suggestion() {
    let mut harness = Harness::new(60, 14);
    harness.press("'/co'");
    harness.check(expect![[r#"

        > /co
        › /compact     summarize the older part of the conversation
          /copy        copy the last answer to the clipboard
          /cost        show tokens and cost by model and branch
          /compaction  show what the last compaction left out; undo…
          /compare     compare two branches; mark them with alt+c i…
          /config      show and change settings
        code │ a/model │ #0 │ 5e551011
    "#]]);
    harness.press("down tab");
    assert_eq!(harness.state.editor.text(), "/copy ");
    harness.press("ctrl+c '/tre' enter");
    assert_eq!(
        harness.take_actions(),
        "ReadFirstRows { filter: Default, around: None }\n",
        "the selected command runs"
    );
    harness.press("'/trxe' enter");
    assert!(harness.text().contains("unknown command /trxe; did you mean /tree?"), "{}", harness.text());
    assert_eq!(harness.state.editor.text(), "/trxe", "typed text is kept");
    harness.press("ctrl+u '/usr/bin' space 'is' enter");
    assert!(
        harness.take_actions().starts_with("Send(Prompt { prompt: Prompt { text: \"/usr/bin is\""),
        "a path is not a command"
    );
}

#[test]
fn only_similar_commands_are_suggested_and_those_of_other_agents_are_known() {
    for (typed, hint) in [
        ("/rewind", "/tree moves to an earlier message"),
        ("/diff", "/compare compares branches"),
        ("/theme", "/settings"),
        ("/permissions", "/approval"),
        ("/login", "/model"),
        ("/resum", "did you mean /resume?"),
        ("/exitt", "did you mean /exit?"),
        ("/xyzzy", "/help lists the commands"),
    ] {
        let mut harness = Harness::new(100, 20);
        harness.press(&format!("'{typed}' escape enter"));
        assert!(harness.text().contains(hint), "{typed}: {}", harness.text());
        assert!(!harness.text().contains("did you mean") || hint.starts_with("did"), "{typed}");
    }
}

#[test]
fn files_are_listed_once_and_completed_anywhere() {
    let mut harness = Harness::new(60, 14);
    harness.press("'see' space '@ma'");
    assert_eq!(harness.take_actions(), "ListFiles\n");
    let files = ["src/main.rs", "README.md", "src/map.rs"].map(str::to_owned).to_vec();
    harness.update(Msg::Files(Arc::new(files)));
    harness.check(expect![[r#"

        > see @ma
        › @src/map.rs
          @src/main.rs
        code │ a/model │ #0 │ 5e551011
    "#]]);
    harness.press("enter 'x'");
    assert_eq!(harness.state.editor.text(), "see @src/map.rs x");
    assert_eq!(harness.take_actions(), "");
}

#[test]
fn a_move_fills_the_editor_only_if_it_is_empty() {
    let editor_text = Some("say it again".to_owned());
    let mut harness = Harness::with_session(60, 14, "say a; reply b");
    harness.moved(MoveReply { editor_text: editor_text.clone(), ..MoveReply::default() });
    assert_eq!(harness.state.editor.text(), "say it again");
    harness.press("ctrl+c 'mine'");
    harness.moved(MoveReply { editor_text, ..MoveReply::default() });
    assert_eq!(harness.state.editor.text(), "mine");
}

#[test]
fn after_a_move_the_screen_shows_only_the_new_path() {
    let mut harness = Harness::with_session(60, 14, "say a; reply b; say c; reply d");
    harness.run_steps("move b");
    expect![[r#"
        ShowPath { moved: Some(LeafMove { reason: Move, from: Some("00000004"), to: Some("00000002") }) }
    "#]]
    .assert_eq(&harness.take_actions());
    harness.show_path();
    harness.check(expect![[r#"

        > a

        b

        >
        code │ a/model │ #2 │ 5e551011
    "#]]);
}

#[test]
fn keys_undo_and_redo_moves() {
    let mut harness = Harness::with_session(60, 14, "say a");
    harness.press("alt+u alt+r");
    assert_eq!(harness.take_actions(), "Send(Undo, Undo)\nSend(Redo, Redo)\n");
    harness.update(Msg::Replied(CommandPurpose::Undo, Box::new(Ok(CommandReply::Done))));
    assert!(harness.text().contains("No move to undo"));
}

#[test]
fn user_commands_run_one_at_a_time_with_live_output() {
    let mut harness = Harness::with_session(60, 14, "say a");
    harness.submit("!ls -l");
    expect![[r#"
        Send(RunShell(UserCommand { command: "ls -l", exclude_from_context: false }), RunShell)
    "#]]
    .assert_eq(&harness.take_actions());
    harness.event(ClientEvent::BashOutput { text: "one\n".into(), skipped: 0 });
    harness.check(expect![[r#"

        > a

        ! ls -l
          one

        >
        ⣾ running your command · 0 s · esc to stop
        code │ a/model │ #1 │ 5e551011
    "#]]);
    harness.submit("!pwd");
    assert_eq!(harness.take_actions(), "");
    assert!(harness.text().contains("another one is running"), "{}", harness.text());
}

#[test]
fn the_status_line_leaves_out_the_least_important_parts() {
    let mut harness = Harness::with_session(100, 8, "say a");
    harness.state.status.git_branch = Some("main".into());
    harness.state.status.context_window = 200_000;
    harness.state.status.cost = 0.42;
    harness.state.status.tips = 3;
    harness.state.context = TokenCount::measured(150_000);
    let line = |harness: &mut Harness, columns| {
        harness.state.columns = columns;
        crate::status::status_line(&harness.state).plain()
    };
    let mut connected = Harness::with_session(100, 8, "say a");
    std::sync::Arc::make_mut(&mut connected.state.config).gateway = Some("box:7433".to_owned());
    assert_eq!(line(&mut connected, 60), "box:7433 │ code │ a/model │ #1 │ 5e551011");
    assert_eq!(line(&mut connected, 20), "box:7433 │ a/model");
    expect![[r#"
        code (main) │ a/model │ ██████░░ 150k/200k │ $0.420 │ #1 · 3 branches │ 5e551011
        a/model │ ██████░░ 150k/200k │ $0.420 │ #1 · 3 branches
        a/model │ ██████░░ 150k/200k
        a/model
    "#]]
    .assert_eq(
        &(line(&mut harness, 100)
            + "\n"
            + &line(&mut harness, 60)
            + "\n"
            + &line(&mut harness, 40)
            + "\n"
            + &line(&mut harness, 8)
            + "\n"),
    );
}

#[test]
fn prompts_that_an_earlier_process_never_sent_return_to_the_editor() {
    let mut harness = Harness::new(60, 12);
    let returned = vec![Prompt::text("lost?".to_owned())];
    harness.update(Msg::Joined(Box::new(JoinedSession {
        returned_prompts: returned,
        ..JoinedSession::default()
    })));
    assert_eq!(harness.state.editor.text(), "lost?");
}

#[test]
fn a_refused_prompt_returns_to_the_editor() {
    let mut harness = Harness::new(60, 12);
    harness.submit("hello");
    harness
        .update(Msg::Replied(CommandPurpose::Prompt("hello".into()), Box::new(Err("no key is set".into()))));
    assert_eq!(harness.state.editor.text(), "hello");
    assert!(harness.text().contains("no key is set"));
    harness.press("ctrl+c 'next'");
    harness.update(Msg::Replied(CommandPurpose::Prompt("hello".into()), Box::new(Err("again".into()))));
    assert_eq!(harness.state.editor.text(), "hello\n\nnext", "nothing that was typed is lost");
}

#[test]
fn another_program_that_was_faster_does_not_hide_why_the_prompt_was_refused() {
    let mut harness = Harness::with_session(80, 12, "say a; reply b");
    let elsewhere = ClientEvent::ContinuedElsewhere { seq: Some(2) };
    harness.event(elsewhere.clone());
    assert!(harness.text().contains("Another program continues from here"), "{}", harness.text());
    harness.submit("me too");
    let refused = || Box::new(Err("the session is busy: process 7 is running a turn".to_owned()));
    harness.update(Msg::Replied(CommandPurpose::Prompt("me too".into()), refused()));
    harness.event(elsewhere);
    assert!(harness.text().contains("> me too\nthe session is busy: process 7"), "{}", harness.text());
}

#[test]
fn a_move_by_another_program_is_announced_and_changes_nothing() {
    let mut harness = Harness::with_session(80, 12, "say a; reply b");
    let from = harness.script.lines.len();
    harness.script.run_steps("move a");
    let entry = EntryEvent { foreign: true, off_path: true, ..harness.entry_event(from) };
    harness.event(ClientEvent::Entry(entry));
    assert_eq!(harness.take_actions(), "");
    assert!(harness.text().contains("Another program moved to another entry; you stay here"));
    assert!(harness.text().contains("\nb\n"), "{}", harness.text());
}

#[test]
fn the_fork_dialog_moves_here_or_opens_a_new_session() {
    let mut harness =
        Harness::with_session(60, 20, "say one; reply a; say two; reply b; move a; say three; reply c");
    harness.submit("/fork");
    assert_eq!(harness.take_actions(), "ReadTree\n");
    harness.open_tree();
    harness.check(expect![[r#"

        > one

        a

        > three

        c

        ╭─ Fork before a message on this path ──────────────────────
        │ › 2026-01-01 00:00  three
        │   2026-01-01 00:00  one
        ╰─ (1/2) enter fork here · n in new session ────────────────
        code │ a/model │ #4 │ 5e551011
    "#]]);
    harness.press("up down down down enter");
    expect![[r#"
        Send(Move(MoveCommand { target_id: Some("00000001"), exact: false, summarize: false, custom_instructions: None, replace_instructions: false, label: None, expected_leaf_id: None, stop_turn: true }), Navigate)
    "#]].assert_eq(&harness.take_actions());
    harness.press("tab up n");
    expect![[r#"
        Open(Fork { from: Entry { entry_id: "00000006" } })
    "#]]
    .assert_eq(&harness.take_actions());
}

#[test]
fn a_compaction_summary_is_shown_live_until_its_card_is_printed() {
    let mut harness = Harness::with_session(60, 20, "say a; reply b");
    harness.event(ClientEvent::TurnStarted);
    harness.event(ClientEvent::SummaryStarted { of: SummarySubject::Compaction });
    harness.event(ClientEvent::SummaryText { text: "## Goal".to_owned() });
    assert!(harness.text().contains("◆ compaction\n  ## Goal"), "{}", harness.text());
    harness.run_steps("compact keep a It was short");
    assert!(
        harness.text().contains("│ It was short") && !harness.text().contains("## Goal"),
        "{}",
        harness.text()
    );
    assert!(harness.state.activity.turn_running && harness.state.activity.summary.is_none());
}

#[test]
fn a_backtrack_of_the_model_shows_the_new_path() {
    let mut harness = Harness::with_session(60, 24, "say find it; reply looking; say more; reply no");
    harness.run_steps("return 0 It is in *b*");
    assert_eq!(harness.take_actions(), "ShowPath { moved: None }\n");
    harness.show_path();
    harness.check(expect![[r#"

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

        ────────────────────────────────────────────────────────────
        >
        ── alt+t tree · / commands · @ files · ctrl+o unfold ───────
        code │ a/model │ #2 │ 5e551011
    "#]]);
}

#[test]
fn ctrl_z_suspends_even_with_an_open_overlay() {
    let mut harness = Harness::with_session(60, 24, "say a");
    harness.press("ctrl+z");
    harness.open_tree();
    harness.press("ctrl+z");
    assert_eq!(harness.take_actions(), "Suspend\nSuspend\n");
    assert_eq!(harness.state.overlays.len(), 1);
}

#[test]
fn a_page_opens_over_the_tree() {
    let mut harness = Harness::with_session(60, 24, "say a; reply b");
    harness.open_tree();
    let lines = (0..50).map(|number| Line::styled(ColorRole::Text, &format!("line {number}"))).collect();
    harness.update(Msg::Page("Entry 1".to_owned(), lines));
    harness.press("pageDown end");
    assert!(harness.text().contains("line 49"), "{}", harness.text());
    harness.press("escape");
    assert!(harness.text().contains("Session tree"), "{}", harness.text());
}

#[test]
fn the_end_of_a_turn_is_reported_only_while_the_window_is_in_the_background() {
    use crate::key::Input;
    use crate::state::TurnNotification;
    let ended = || ClientEvent::TurnEnded { finished: Some(TurnOutcome::Done), error: None };
    let mut harness = Harness::new(60, 20);
    let mut turn = |focused: bool, notify: TurnNotification| {
        let mut config = crate::state::UiConfig::clone(&harness.state.config);
        config.notify = notify;
        harness.state.config = config.into();
        harness.update(Msg::Input(Input::Focus(focused)));
        harness.event(ClientEvent::TurnStarted);
        harness.event(ended());
        harness.take_actions()
    };
    assert_eq!(turn(true, TurnNotification::Bell), "");
    assert_eq!(turn(false, TurnNotification::Bell), "Notify(\"Osier: the turn has ended (code)\")\n");
    assert_eq!(turn(false, TurnNotification::Off), "");
}
