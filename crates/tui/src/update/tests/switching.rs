//! Notices about session switches, moves, stopped turns, and reading the tree.

use expect_test::expect;
use osier_protocol::query::SessionStatus;
use osier_protocol::{ClientEvent, CommandReply, MoveReply, Prompt, TurnOutcome};

use crate::msg::{CommandPurpose, JoinedSession, Msg, SessionSwitch, SwitchKind};
use crate::testing::Harness;

fn switched(how: SwitchKind, stopped: bool) -> String {
    let mut harness = Harness::with_session(60, 12, "say a; reply b");
    let (now, before) = ("a1b2c3d4".to_owned(), "Numbers".to_owned());
    harness.update(Msg::Switched(SessionSwitch {
        current: now,
        previous: before,
        can_return: true,
        kind: how,
        turn_stopped: stopped,
    }));
    let text = harness.text();
    let notice = text.lines().skip_while(|line| *line != "b").skip(2);
    notice.take_while(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_switch_reports_the_new_session_and_a_stopped_turn() {
    assert_eq!(switched(SwitchKind::Resumed, false), "Resumed session a1b2c3d4\n");
    assert_eq!(switched(SwitchKind::New, false), "Started session a1b2c3d4; /resume returns to Numbers\n");
    assert_eq!(
        switched(SwitchKind::Forked, true),
        "Stopped the turn in Numbers\nForked to session a1b2c3d4 from Numbers\n"
    );
}

/// After quick moves, all of them are stored when the path is read for the first one.
#[test]
fn a_move_to_a_path_that_is_already_shown_still_gets_its_notice() {
    let mut harness = Harness::with_session(60, 12, "say a; reply b; say c; move b");
    let from = harness.script.lines.len();
    harness.script.run_steps("undo; redo; undo");
    harness.show_path();
    harness.commit_from(from);
    let actions = harness.take_actions();
    let last = actions.lines().last().unwrap();
    assert!(last.starts_with("ShowPath { moved: Some(LeafMove { reason: Undo"), "{actions}");
}

#[test]
fn a_turn_stopped_by_a_move_is_reported() {
    let mut harness = Harness::with_session(60, 10, "say a; reply b; say c");
    let cancelled = ClientEvent::TurnEnded { finished: Some(TurnOutcome::Cancelled), error: None };
    harness.event(ClientEvent::TurnStarted);
    harness.event(cancelled.clone());
    assert!(harness.text().contains("Turn stopped; /tree shows what it did"), "{}", harness.text());
    harness.event(ClientEvent::TurnStarted);
    harness.press("escape");
    harness.event(cancelled);
    assert!(!harness.text().contains("Turn stopped"), "not if the user pressed escape: {}", harness.text());
}

#[test]
fn queued_prompts_return_to_the_editor_after_a_move() {
    let mut harness = Harness::with_session(60, 10, "say a; reply b; say c");
    let returned = vec![Prompt::text("and this".to_owned())];
    harness.moved(MoveReply { returned, ..MoveReply::default() });
    assert_eq!(harness.state.editor.text(), "and this");
}

#[test]
fn an_unfinished_turn_can_be_continued() {
    let mut harness = Harness::with_session(60, 8, "say a");
    harness.update(Msg::Joined(Box::new(JoinedSession { unfinished: true, ..JoinedSession::default() })));
    harness.check(expect![[r#"

        > a

        The last turn did not finish; /retry continues it

        >
        code │ a/model │ #1 │ 5e551011
    "#]]);
    let mut harness = Harness::with_session(60, 8, "say a");
    harness.update(Msg::Joined(Box::new(JoinedSession {
        unfinished: true,
        turn_running: true,
        ..JoinedSession::default()
    })));
    assert!(!harness.text().contains("/retry"), "the turn is running: {}", harness.text());
}

#[test]
fn an_unfinished_turn_is_not_announced_while_a_prompt_waits_to_be_sent() {
    let mut harness = Harness::with_session(60, 12, "say a");
    harness.update(Msg::Connection(Some("reconnecting…".to_owned())));
    harness.submit("sent while down");
    harness.update(Msg::Connection(None));
    harness.update(Msg::Joined(Box::new(JoinedSession { unfinished: true, ..JoinedSession::default() })));
    assert!(!harness.text().contains("/retry"), "{}", harness.text());
}

#[test]
fn the_compaction_command_shows_and_undoes_a_compaction() {
    let mut harness = Harness::with_session(60, 8, "say a; reply b");
    harness.submit("/compaction");
    harness.submit("/compaction undo");
    expect![[r#"
        ShowCompaction
        Send(UndoCompaction { entry: None }, UndoCompaction)
    "#]]
    .assert_eq(&harness.take_actions());
    harness.submit("/compaction now");
    assert_eq!(harness.take_actions(), "");
    assert!(harness.text().contains("unknown argument now"), "{}", harness.text());
}

#[test]
fn escape_cancels_reading_a_large_tree() {
    let mut harness = Harness::with_session(60, 10, "say a; reply b");
    harness.press("alt+t");
    assert_eq!(harness.take_actions(), "ReadFirstRows { filter: Default, around: None }\n");
    assert!(!harness.text().contains("Reading"), "no notice for a short wait: {}", harness.text());
    harness.state.now += 120;
    assert!(harness.state.is_animated(), "the screen must be redrawn");
    harness.update(Msg::Tick);
    assert!(harness.text().contains("Reading the tree… (esc to cancel)"), "{}", harness.text());
    harness.press("escape");
    let late = crate::testing::tree_snapshot(&harness.script);
    harness.update(Msg::Tree(Box::new(late)));
    assert!(
        !harness.text().contains("Session tree") && !harness.text().contains("Reading"),
        "{}",
        harness.text()
    );
    harness.press("alt+t");
    harness.open_tree();
    assert!(harness.text().contains("Session tree"), "{}", harness.text());
}

#[test]
fn a_tree_that_arrives_under_another_overlay_ends_the_wait() {
    let mut harness = Harness::with_session(60, 10, "say a; reply b");
    harness.press("alt+t");
    harness.update(Msg::Page("Page".to_owned(), Vec::new()));
    let snapshot = crate::testing::tree_snapshot(&harness.script);
    harness.update(Msg::Tree(Box::new(snapshot)));
    harness.state.now += 120;
    assert!(!harness.state.is_animated() && !harness.text().contains("Reading"), "{}", harness.text());
}

#[test]
fn only_an_error_about_the_tree_ends_the_wait() {
    let mut harness = Harness::with_session(60, 10, "say a; reply b");
    harness.press("alt+t");
    harness.update(Msg::Failed("there is no image".to_owned()));
    let snapshot = crate::testing::tree_snapshot(&harness.script);
    harness.update(Msg::Tree(Box::new(snapshot)));
    assert!(harness.text().contains("Session tree"), "{}", harness.text());

    let mut harness = Harness::with_session(60, 10, "say a; reply b");
    harness.press("alt+t");
    harness.update(Msg::TreeFailed("the store is away".to_owned()));
    harness.state.now += 120;
    assert!(!harness.state.is_animated() && !harness.text().contains("Reading"), "{}", harness.text());
    assert!(harness.text().contains("the store is away"), "{}", harness.text());
}

/// The status is read in the background, and may arrive after another session was opened.
#[test]
fn the_status_of_a_session_that_was_left_is_ignored() {
    let mut harness = Harness::with_session(60, 10, "say a; reply b");
    let other =
        SessionStatus { id: "0ther".into(), short_id: "0ther".to_owned(), ..SessionStatus::default() };
    harness.update(Msg::Status(Box::new(other)));
    assert!(harness.text().contains("5e551011"), "{}", harness.text());
}

#[test]
fn a_damaged_log_is_reported_once_when_its_session_is_opened() {
    let mut harness = Harness::with_session(60, 20, "say a; reply b");
    let status = SessionStatus { invalid_lines: 2, ..harness.state.status.clone() };
    harness.state.status = SessionStatus::default();
    harness.update(Msg::Status(Box::new(status.clone())));
    harness.update(Msg::Status(Box::new(status)));
    let text = harness.text().split_whitespace().collect::<Vec<_>>().join(" ");
    let note = "2 lines of this session are damaged and left out; `osier sessions verify 5e551011` lists";
    assert_eq!(text.matches(note).count(), 1, "{text}");
}

#[test]
fn a_lost_connection_is_shown_until_it_is_made_again() {
    let mut harness = Harness::with_session(60, 10, "say a; reply b");
    harness.update(Msg::Connection(Some("reconnecting…".to_owned())));
    assert!(harness.text().contains("reconnecting…"), "{}", harness.text());
    harness.update(Msg::Connection(None));
    assert!(!harness.text().contains("reconnecting…"), "{}", harness.text());
}

#[test]
fn a_prompt_without_a_connection_is_shown_until_it_is_answered() {
    let mut harness = Harness::with_session(60, 12, "say a; reply b");
    harness.update(Msg::Connection(Some("reconnecting…".to_owned())));
    harness.submit("are you there?");
    assert!(harness.text().contains("to send: are you there?"), "{}", harness.text());
    let reply = Box::new(Ok(CommandReply::Queued));
    harness.update(Msg::Replied(CommandPurpose::Prompt("are you there?".to_owned()), reply));
    assert!(!harness.text().contains("to send"), "{}", harness.text());
}

#[test]
fn questions_that_are_no_longer_open_disappear_when_the_session_is_joined_again() {
    let mut harness = Harness::with_session(70, 12, "say a");
    let question = || osier_protocol::Question::Continue { model_calls: 200 };
    for id in [1, 2] {
        harness.event(ClientEvent::Asked { id, question: Box::new(question()), agent: None });
    }
    let open = osier_protocol::OpenQuestion { id: 2, question: question(), agent: None };
    let joined = JoinedSession { open_questions: vec![open], ..JoinedSession::default() };
    harness.update(Msg::Joined(Box::new(joined)));
    assert_eq!(harness.state.overlays.len(), 1);
    harness.update(Msg::Joined(Box::default()));
    assert!(harness.state.overlays.is_empty());
}
