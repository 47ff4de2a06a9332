//! Whatever leads elsewhere or stops something says so.

use expect_test::expect;
use osier_agent::{Finished, Live, Navigated, Said};

use crate::msg::{Joined, Msg, Switch, Switched};
use crate::testing::Desk;

fn switched(how: Switch, stopped: bool) -> String {
    let mut desk = Desk::on(60, 12, "say a; reply b");
    let (now, before) = ("a1b2c3d4".to_owned(), "Numbers".to_owned());
    desk.hear(Msg::Switched(Switched { now, before, can_return: true, how, stopped }));
    let text = desk.text();
    let told = text.lines().skip_while(|line| *line != "b").skip(2);
    told.take_while(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect()
}

#[test]
fn one_is_told_where_one_is_and_that_a_turn_was_stopped() {
    assert_eq!(switched(Switch::Resumed, false), "now in a1b2c3d4\n");
    assert_eq!(
        switched(Switch::New, false),
        "now in a1b2c3d4, a new session; /resume leads back to\nNumbers\n"
    );
    assert_eq!(
        switched(Switch::Forked, true),
        "the turn was stopped; it is in Numbers\nnow in a1b2c3d4, forked from Numbers\n"
    );
}

/// Moves typed fast are all stored when the path is read for the first of them.
#[test]
fn a_move_on_a_path_that_is_already_shown_still_gets_its_notice() {
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
fn a_turn_that_a_move_stops_is_not_stopped_silently() {
    let mut desk = Desk::on(60, 10, "say a; reply b; say c");
    let cancelled = Live::TurnEnded { finished: Some(Finished::Cancelled), error: None };
    desk.live(Live::TurnStarted);
    desk.live(cancelled.clone());
    assert!(desk.text().contains("the turn was stopped; /tree has what it did"), "{}", desk.text());
    desk.live(Live::TurnStarted);
    desk.press("escape");
    desk.live(cancelled);
    assert!(!desk.text().contains("the turn was stopped"), "who pressed escape knows it: {}", desk.text());
}

#[test]
fn what_waited_to_be_said_where_one_was_comes_back() {
    let mut desk = Desk::on(60, 10, "say a; reply b; say c");
    let returned = vec![Said::text("and this".to_owned())];
    desk.moved(Navigated { returned, ..Navigated::default() });
    assert_eq!(desk.state.editor.text(), "and this");
}

#[test]
fn a_turn_that_did_not_end_can_be_gone_on_with() {
    let mut desk = Desk::on(60, 8, "say a");
    desk.hear(Msg::Joined(Box::new(Joined { unfinished: true, ..Joined::default() })));
    desk.check(expect![[r#"

        > a

        the last turn did not end; /retry goes on with it

        >
        code │ a/model │ #1 │ 5e551011
    "#]]);
    let mut desk = Desk::on(60, 8, "say a");
    desk.hear(Msg::Joined(Box::new(Joined { unfinished: true, running: true, ..Joined::default() })));
    assert!(!desk.text().contains("/retry"), "it runs: {}", desk.text());
}

#[test]
fn a_compaction_is_shown_and_undone_by_a_command() {
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
fn a_tree_that_takes_long_is_waited_for_until_escape() {
    let mut desk = Desk::on(60, 10, "say a; reply b");
    desk.press("alt+t");
    assert_eq!(desk.asked(), "ReadTree\n");
    assert!(!desk.text().contains("reading"), "a moment is not worth a word: {}", desk.text());
    desk.state.now += 120;
    assert!(desk.state.is_moving(), "time goes by");
    desk.hear(Msg::Tick);
    assert!(desk.text().contains("reading the tree …; escape stops waiting"), "{}", desk.text());
    desk.press("escape");
    let late = crate::testing::forest(&desk.script);
    desk.hear(Msg::Tree(Box::new(late)));
    assert!(!desk.text().contains("Session tree") && !desk.text().contains("reading"), "{}", desk.text());
    desk.press("alt+t");
    desk.open_tree();
    assert!(desk.text().contains("Session tree"), "{}", desk.text());
}

#[test]
fn a_tree_that_comes_below_something_else_is_not_waited_for_any_more() {
    let mut desk = Desk::on(60, 10, "say a; reply b");
    desk.press("alt+t");
    desk.hear(Msg::Page("Page".to_owned(), Vec::new()));
    let forest = crate::testing::forest(&desk.script);
    desk.hear(Msg::Tree(Box::new(forest)));
    desk.state.now += 120;
    assert!(!desk.state.is_moving() && !desk.text().contains("reading"), "{}", desk.text());
}

#[test]
fn only_a_tree_that_cannot_be_read_is_not_waited_for_any_more() {
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
    assert!(!desk.state.is_moving() && !desk.text().contains("reading"), "{}", desk.text());
    assert!(desk.text().contains("the store is away"), "{}", desk.text());
}
