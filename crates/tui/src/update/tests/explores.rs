//! Tries of a prompt: the table while they run, and what stays on the screen.

use osier_protocol::explore::{
    ExploreReply, ExploreReport, FileChange, FileChangeKind, KeptTry, TryPlace, TryReport, TryStatus,
};
use osier_protocol::{ClientEvent, CommandReply, MoveEvent, MoveReason};

use crate::msg::{CommandPurpose, Msg, PathTail};
use crate::testing::Harness;

fn report(first: TryStatus, second: TryStatus) -> ClientEvent {
    let one = |number, status, words: &str| TryReport {
        number,
        status,
        model: "test/small".to_owned(),
        place: TryPlace::Worktree,
        files_changed: if status == TryStatus::Cancelled { 0 } else { 2 },
        tests_run: 3,
        tests_failed: number as usize - 1,
        last_words: words.to_owned(),
        ..TryReport::default()
    };
    let tries = vec![one(1, first, "It is \u{1b}[31mfaster."), one(2, second, "I use a map.")];
    let report = ExploreReport {
        id: "e".to_owned(),
        prompt: "make it faster".to_owned(),
        tries,
        ..ExploreReport::default()
    };
    ClientEvent::Explore { report: Box::new(report) }
}

#[test]
fn a_table_shows_the_tries_while_they_run_and_stays_when_they_ended() {
    let mut harness = Harness::with_session(110, 24, "say a");
    harness.event(report(TryStatus::Completed, TryStatus::Running));
    let text = harness.text();
    assert!(text.contains("● explore  make it faster"), "{text}");
    assert!(text.contains("try  status     files  tests"), "{text}");
    assert!(text.contains("✓ 1    completed  2      3 ok"), "{text}");
    assert!(text.contains("● 2    running    2      1 of 3 failed"), "{text}");
    assert!(text.contains("faster.") && !text.contains("\u{1b}[31m"), "{text}");
    harness.event(report(TryStatus::Completed, TryStatus::Failed));
    assert!(!harness.state.activity.is_active());
    let text = harness.text();
    assert!(text.contains("2    failed") && text.contains("/explore keep 1"), "{text}");
}

#[test]
fn the_table_stays_when_the_session_returns_to_where_it_was() {
    let mut harness = Harness::with_session(110, 24, "say a");
    harness.event(report(TryStatus::Completed, TryStatus::Running));
    harness.event(report(TryStatus::Completed, TryStatus::Completed));
    harness.take_actions();
    harness.event(ClientEvent::Moved(MoveEvent {
        seq: None,
        new_leaf_id: None,
        old_leaf_id: None,
        reason: MoveReason::Move,
        summary_entry: None,
        from_hook: false,
    }));
    assert_eq!(harness.take_actions(), "");
    assert!(harness.text().contains("/explore keep 1"));
}

#[test]
fn on_a_narrow_screen_each_try_has_two_lines() {
    let mut harness = Harness::with_session(40, 14, "say a");
    harness.event(report(TryStatus::Completed, TryStatus::Running));
    let text = harness.text();
    assert!(text.contains("  ├─ ✓ 1 completed  2 files · tests 3 ok"), "{text}");
    assert!(text.contains("  │    It is"), "{text}");
    assert!(text.contains("  └─ ● 2 running"), "{text}");
}

#[test]
fn escape_stops_the_tries() {
    let mut harness = Harness::with_session(110, 24, "say a");
    harness.event(report(TryStatus::Running, TryStatus::Running));
    harness.take_actions();
    harness.press("escape");
    let actions = harness.take_actions();
    assert!(actions.contains(r#"Explore(Cancel { explore: Some("e"), number: None })"#), "{actions}");
}

#[test]
fn tries_without_a_result_are_not_suggested() {
    for (first, second, expected) in [
        (TryStatus::Cancelled, TryStatus::Completed, "/explore keep 2 · /explore remove"),
        (TryStatus::Cancelled, TryStatus::Cancelled, "  /explore remove"),
    ] {
        let mut harness = Harness::with_session(110, 24, "say a");
        harness.event(report(TryStatus::Running, TryStatus::Running));
        harness.event(report(first, second));
        let text = harness.text();
        assert!(text.contains(expected) && !text.contains("compare"), "{text}");
    }
}

#[test]
fn refused_tries_return_to_the_editor() {
    let mut harness = Harness::with_session(110, 24, "say a");
    harness.press("'/explore' space '0' space 'x' enter");
    assert!(harness.take_actions().contains("Explore(Start"));
    assert_eq!(harness.state.editor.text(), "");
    let purpose = CommandPurpose::Explore(Some("/explore 0 x".to_owned()));
    harness.update(Msg::Replied(purpose, Box::new(Err("too few".to_owned()))));
    assert_eq!(harness.state.editor.text(), "/explore 0 x");
    assert!(harness.text().contains("too few"), "{}", harness.text());
}

#[test]
fn a_kept_try_does_not_offer_to_undo_the_move() {
    let mut harness = Harness::with_session(110, 24, "say a");
    harness.press("'/explore' space 'keep' space '1' enter");
    harness.take_actions();
    let moved = || {
        ClientEvent::Moved(MoveEvent {
            seq: None,
            new_leaf_id: Some("00000002".into()),
            old_leaf_id: Some("00000001".into()),
            reason: MoveReason::Move,
            summary_entry: None,
            from_hook: false,
        })
    };
    harness.event(moved());
    assert_eq!(harness.take_actions(), "ShowPath { moved: None }\n");
    let file = FileChange { path: "a.txt".to_owned(), change: FileChangeKind::Changed };
    let kept = KeptTry { kept: true, number: 1, files: vec![file], ..KeptTry::default() };
    let reply = CommandReply::Explore(Box::new(ExploreReply::Kept(kept)));
    harness.update(Msg::Replied(CommandPurpose::Explore(None), Box::new(Ok(reply))));
    let text = harness.text();
    assert!(text.contains("Kept try 1") && text.contains("undo only moves in the conversation"), "{text}");
    harness.take_actions();
    harness.event(moved());
    assert!(harness.take_actions().contains("ShowPath { moved: Some"));
}

#[test]
fn an_empty_path_tells_where_the_tries_are() {
    let mut harness = Harness::new(110, 24);
    harness.update(Msg::Path(PathTail { tries: 2, ..PathTail::default() }));
    let text = harness.text();
    assert!(text.contains("2 tries of a prompt on other branches; /explore shows them"), "{text}");
}
