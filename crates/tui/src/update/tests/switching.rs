//! Notices about session switches, moves, stopped turns, and reading the tree.

use expect_test::expect;
use osier_agent::{Finished, Live, Navigated, Said};

use crate::msg::{Joined, Msg, Switch, Switched};
use crate::testing::Desk;

fn switched(how: Switch, stopped: bool) -> String {
    let mut desk = Desk::on(60, 12, "say a; reply b");
    let (now, before) = ("a1b2c3d4".to_owned(), "Numbers".to_owned());
    desk.hear(Msg::Switched(Switched { now, before, can_return: true, how, stopped }));
    let text = desk.text();
    let notice = text.lines().skip_while(|line| *line != "b").skip(2);
    notice.take_while(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_switch_reports_the_new_session_and_a_stopped_turn() {
    assert_eq!(switched(Switch::Resumed, false), "Resumed session a1b2c3d4\n");
    assert_eq!(switched(Switch::New, false), "Started session a1b2c3d4; /resume returns to Numbers\n");
    assert_eq!(
        switched(Switch::Forked, true),
        "Stopped the turn in Numbers\nForked to session a1b2c3d4 from Numbers\n"
    );
}

/// After quick moves, all of them are stored when the path is read for the first one.
#[test]
fn a_move_to_a_path_that_is_already_shown_still_gets_its_notice() {
    let mut desk = Desk::on(60, 12, "say a; reply b; say c; move b");
    let from = desk.script.lines.len();
    desk.script.play("undo; redo; undo");
    desk.show_path();
    desk.announce(from);
    let asked = desk.asked();
    let last = asked.lines().last().unwrap();
    assert!(last.starts_with("ShowPath { moved: Some(Moved { why: \"undo\""), "{asked}");
}

#[test]
fn a_turn_stopped_by_a_move_is_reported() {
    let mut desk = Desk::on(60, 10, "say a; reply b; say c");
    let cancelled = Live::TurnEnded { finished: Some(Finished::Cancelled), error: None };
    desk.live(Live::TurnStarted);
    desk.live(cancelled.clone());
    assert!(desk.text().contains("Turn stopped; /tree shows what it did"), "{}", desk.text());
    desk.live(Live::TurnStarted);
    desk.press("escape");
    desk.live(cancelled);
    assert!(!desk.text().contains("Turn stopped"), "not if the user pressed escape: {}", desk.text());
}

#[test]
fn queued_prompts_return_to_the_editor_after_a_move() {
    let mut desk = Desk::on(60, 10, "say a; reply b; say c");
    let returned = vec![Said::text("and this".to_owned())];
    desk.moved(Navigated { returned, ..Navigated::default() });
    assert_eq!(desk.state.editor.text(), "and this");
}

#[test]
fn an_unfinished_turn_can_be_continued() {
    let mut desk = Desk::on(60, 8, "say a");
    desk.hear(Msg::Joined(Box::new(Joined { unfinished: true, ..Joined::default() })));
    desk.check(expect![[r#"

        > a

        The last turn did not finish; /retry continues it

        >
        code │ a/model │ #1 │ 5e551011
    "#]]);
    let mut desk = Desk::on(60, 8, "say a");
    desk.hear(Msg::Joined(Box::new(Joined { unfinished: true, running: true, ..Joined::default() })));
    assert!(!desk.text().contains("/retry"), "the turn is running: {}", desk.text());
}

#[test]
fn the_compaction_command_shows_and_undoes_a_compaction() {
    let mut desk = Desk::on(60, 8, "say a; reply b");
    desk.say("/compaction");
    desk.say("/compaction undo");
    expect![[r#"
        TellCompaction
        Send(UndoCompaction { entry: None }, Uncompact)
    "#]]
    .assert_eq(&desk.asked());
    desk.say("/compaction now");
    assert_eq!(desk.asked(), "");
    assert!(desk.text().contains("/compaction undo goes"), "{}", desk.text());
}

#[test]
fn escape_cancels_reading_a_large_tree() {
    let mut desk = Desk::on(60, 10, "say a; reply b");
    desk.press("alt+t");
    assert_eq!(desk.asked(), "ReadTree\n");
    assert!(!desk.text().contains("Reading"), "no notice for a short wait: {}", desk.text());
    desk.state.now += 120;
    assert!(desk.state.is_moving(), "the screen must be redrawn");
    desk.hear(Msg::Tick);
    assert!(desk.text().contains("Reading the tree… (esc to cancel)"), "{}", desk.text());
    desk.press("escape");
    let late = crate::testing::forest(&desk.script);
    desk.hear(Msg::Tree(Box::new(late)));
    assert!(!desk.text().contains("Session tree") && !desk.text().contains("Reading"), "{}", desk.text());
    desk.press("alt+t");
    desk.open_tree();
    assert!(desk.text().contains("Session tree"), "{}", desk.text());
}

#[test]
fn a_tree_that_arrives_under_another_overlay_ends_the_wait() {
    let mut desk = Desk::on(60, 10, "say a; reply b");
    desk.press("alt+t");
    desk.hear(Msg::Page("Page".to_owned(), Vec::new()));
    let forest = crate::testing::forest(&desk.script);
    desk.hear(Msg::Tree(Box::new(forest)));
    desk.state.now += 120;
    assert!(!desk.state.is_moving() && !desk.text().contains("Reading"), "{}", desk.text());
}

#[test]
fn only_an_error_about_the_tree_ends_the_wait() {
    let mut desk = Desk::on(60, 10, "say a; reply b");
    desk.press("alt+t");
    desk.hear(Msg::Failed("there is no image".to_owned()));
    let forest = crate::testing::forest(&desk.script);
    desk.hear(Msg::Tree(Box::new(forest)));
    assert!(desk.text().contains("Session tree"), "{}", desk.text());

    let mut desk = Desk::on(60, 10, "say a; reply b");
    desk.press("alt+t");
    desk.hear(Msg::NoTree("the store is away".to_owned()));
    desk.state.now += 120;
    assert!(!desk.state.is_moving() && !desk.text().contains("Reading"), "{}", desk.text());
    assert!(desk.text().contains("the store is away"), "{}", desk.text());
}
