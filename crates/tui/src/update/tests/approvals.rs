//! Approval questions: which keys answer them, and which keys are text for the draft.

use super::*;
use crate::testing::change_question;

fn question(columns: u16, rows: u16, command: &str, offers: &[&str]) -> Harness {
    let mut harness = Harness::with_session(columns, rows, "say go");
    harness.event(ClientEvent::TurnStarted);
    ask(&mut harness, 7, command, offers);
    harness
}

fn ask(harness: &mut Harness, id: u64, command: &str, offers: &[&str]) {
    harness.event(ClientEvent::Asked {
        id,
        question: Box::new(command_question(command, offers)),
        agent: None,
    });
}

const YES: &str = "Send(Answer { question: 7, answer: Once }, Answer)\n";

#[test]
fn an_approval_shows_the_complete_command() {
    let mut harness = question(60, 20, "git push\n--force\u{1b}[2J", &["bash:git push", "bash"]);
    harness.check(expect![[r#"

        > go

        ╭─ Allow bash to run this command? ─────────────────────────
        │   git push
        │   --force<U+001B>[2J
        │ › y  Yes, once
        │   p  Yes, always exactly this command
        │   a  Yes, always any command in the sandbox
        │   n  No, and continue without it
        ╰─ ↑↓ select · enter confirm · esc stop the turn ───────────
        ⣾ waiting for your answer · 0 s · esc to stop the turn
        code │ a/model │ #1 │ 5e551011
    "#]]);
    harness.wait(300);
    harness.press("p");
    assert_eq!(harness.take_actions(), "", "another key may still follow");
    harness.wait(300);
    expect![[r#"
        Send(Answer { question: 7, answer: Always { allowance: Command("git push") } }, Answer)
    "#]]
    .assert_eq(&harness.take_actions());
}

#[test]
fn a_key_answers_only_if_no_other_key_arrives_within_300_ms() {
    let mut harness = question(60, 20, "touch x", &["bash"]);
    harness.wait(300);
    harness.press("y");
    harness.wait(299);
    assert_eq!(harness.take_actions(), "");
    harness.wait(1);
    assert_eq!(harness.take_actions(), YES);
    assert_eq!(harness.state.editor.text(), "");

    let mut harness = question(60, 20, "touch x", &["bash"]);
    harness.wait(300);
    harness.press("y");
    harness.wait(199);
    harness.press("'es'");
    harness.wait(10_000);
    assert_eq!(harness.take_actions(), "", "another key followed");
    assert_eq!(harness.state.editor.text(), "yes");
    assert!(harness.text().contains("Allow bash") && harness.text().contains("> yes"), "{}", harness.text());
    harness.press("y");
    harness.wait(300);
    assert_eq!(harness.take_actions(), YES, "the draft does not matter");
    assert_eq!(harness.state.editor.text(), "yes");
}

#[test]
fn enter_confirms_a_letter_at_once() {
    let mut harness = question(60, 20, "touch x", &["bash"]);
    harness.wait(300);
    harness.press("y enter");
    assert_eq!(harness.take_actions(), YES);
    assert_eq!(harness.state.editor.text(), "");

    let mut harness = question(60, 20, "touch x", &["bash"]);
    harness.wait(300);
    harness.press("'yo' enter");
    assert!(harness.take_actions().contains("text: \"yo\""), "two letters are a message");
}

#[test]
fn an_answer_that_was_typed_too_early_is_not_sent_to_the_model() {
    for draft in ["y", "Yes", "n", "no", "a"] {
        let mut harness = question(60, 20, "touch x", &["bash"]);
        harness.press(&format!("'{draft}'"));
        harness.wait(1000);
        harness.press("enter");
        harness.wait(1000);
        assert_eq!(harness.take_actions(), "", "{draft}");
        assert_eq!(harness.state.editor.text(), "", "{draft}");
        assert!(harness.text().contains("Not sent; to answer the question, press"), "{}", harness.text());
        harness.press("y");
        harness.wait(300);
        assert_eq!(harness.take_actions(), YES, "{draft}");
    }
}

#[test]
fn the_draft_can_be_edited_while_a_question_is_visible() {
    let mut harness = Harness::with_session(60, 20, "say go");
    harness.event(ClientEvent::TurnStarted);
    harness.press("'please'");
    ask(&mut harness, 7, "touch x", &["bash"]);
    harness.press("space 'look' space 'at' space 'any'");
    harness.wait(1000);
    assert_eq!(harness.take_actions(), "");
    assert_eq!(harness.state.editor.text(), "please look at any");
    harness.check(expect![[r#"

        > go

        ╭─ Allow bash to run this command? ─────────────────────────
        │   touch x
        │ › y  Yes, once
        │   a  Yes, always any command in the sandbox
        │   n  No, and continue without it
        ╰─ ↑↓ select · enter confirm · esc stop the turn ───────────
        > please look at any
        ⣟ waiting for your answer · 0 s · esc to stop the turn
        code │ a/model │ #1 │ 5e551011
    "#]]);
    harness.press("enter");
    harness.wait(1000);
    expect![[r#"
        Send(Prompt { prompt: Prompt { text: "please look at any", images: [], files: [], message: None }, when: Steer, expected_leaf_id: None }, Prompt("please look at any"))
    "#]]
    .assert_eq(&harness.take_actions());
    harness.press("enter");
    harness.wait(300);
    assert_eq!(harness.take_actions(), YES, "without a draft, Enter gives the selected answer");
}

#[test]
fn keys_typed_before_the_question_was_visible_never_answer_it() {
    let mut harness = question(60, 20, "touch x", &["bash"]);
    harness.wait(150);
    harness.press("y");
    harness.wait(10_000);
    assert_eq!(harness.take_actions(), "");
    assert_eq!(harness.state.editor.text(), "y");

    let mut harness = question(60, 20, "touch x", &["bash"]);
    harness.wait(500);
    harness.press("y");
    ask(&mut harness, 8, "touch other", &[]);
    harness.wait(300);
    assert_eq!(harness.take_actions(), "", "the key was not meant for the second question");
}

#[test]
fn a_key_that_is_handled_late_still_makes_both_keys_text() {
    let mut harness = question(60, 20, "touch x", &[]);
    harness.wait(500);
    harness.press("y");
    // The loop was busy: it handles the next key late, but before the timer.
    harness.state.now += 5_000;
    harness.press("o");
    harness.wait(300);
    assert_eq!(harness.take_actions(), "");
    assert_eq!(harness.state.editor.text(), "yo");
}

#[test]
fn pasted_text_never_answers() {
    let mut harness = question(60, 20, "touch x", &["bash"]);
    harness.wait(1000);
    harness.update(Msg::Input(Input::Paste("y".to_owned())));
    harness.wait(1000);
    assert_eq!(harness.take_actions(), "");
    assert_eq!(harness.state.editor.text(), "y");
    harness.press("n");
    harness.update(Msg::Input(Input::Paste("ot".to_owned())));
    harness.wait(1000);
    assert_eq!(harness.take_actions(), "");
    assert_eq!(harness.state.editor.text(), "ynot");
}

#[test]
fn no_asks_for_a_reason_and_an_answer_from_another_client_closes_the_question() {
    let mut harness = question(60, 20, "rm x", &[]);
    harness.wait(300);
    harness.press("n");
    harness.wait(300);
    assert!(
        harness.text().contains("Why not?") && !harness.text().contains("esc to stop the turn"),
        "{}",
        harness.text()
    );
    harness.press("'not' space 'now' enter");
    expect![[r#"
        Send(Answer { question: 7, answer: No { reason: "not now" } }, Answer)
    "#]]
    .assert_eq(&harness.take_actions());
    harness.event(ClientEvent::Answered { id: 7, allowed: false });
    assert!(harness.state.overlays.is_empty());
    ask(&mut harness, 2, "rm x", &[]);
    harness.wait(300);
    harness.press("y");
    harness.event(ClientEvent::Answered { id: 2, allowed: true });
    harness.wait(300);
    assert_eq!(harness.take_actions(), "");
    assert!(harness.state.overlays.is_empty() && harness.state.editor.is_empty());
}

#[test]
fn escape_stops_the_turn() {
    let mut harness = question(60, 20, "rm x", &[]);
    harness.press("'keep' escape");
    assert_eq!(harness.take_actions(), "Send(Cancel, Cancel)\n");
    harness.event(ClientEvent::Answered { id: 7, allowed: false });
    harness.event(ClientEvent::TurnEnded { finished: Some(TurnOutcome::Cancelled), error: None });
    assert_eq!(harness.state.editor.text(), "keep");
    assert!(harness.state.overlays.is_empty());
}

#[test]
fn quitting_during_a_turn_asks_first() {
    let mut harness = Harness::with_session(60, 20, "say go");
    harness.event(ClientEvent::TurnStarted);
    harness.press("ctrl+d");
    assert_eq!(harness.take_actions(), "");
    assert!(harness.text().contains("Quit while a turn is running?"), "{}", harness.text());
    harness.press("enter");
    assert_eq!(harness.take_actions(), "");
    harness.press("ctrl+d 2");
    assert_eq!(harness.take_actions(), "Quit\n");
    harness.event(ClientEvent::TurnEnded { finished: Some(TurnOutcome::Done), error: None });
    harness.press("ctrl+d");
    assert_eq!(harness.take_actions(), "Quit\n");
}

#[test]
fn paging_shows_every_line_of_a_long_question() {
    for (columns, rows) in [(100, 30), (40, 12)] {
        let mut harness = Harness::with_session(columns, rows, "say go");
        harness.event(ClientEvent::TurnStarted);
        let diff: String = (1..=84).map(|number| format!("+line {number}.\n")).collect();
        let what = osier_tools::ProposedChange::Diff { path: "a".to_owned(), diff, created: false };
        let question = change_question(what, &["bash"]);
        harness.event(ClientEvent::Asked { id: 1, question: Box::new(question), agent: None });
        let mut seen = String::new();
        for _ in 0..84 {
            seen += &harness.text();
            harness.press("pageDown");
        }
        for number in 1..=84 {
            assert!(seen.contains(&format!("line {number}.")), "line {number} at {columns}x{rows}");
        }
    }
}

#[test]
fn a_long_diff_can_be_paged() {
    let mut harness = Harness::with_session(40, 14, "say go");
    let diff: String = (1..=30).map(|number| format!("+line {number}\n")).collect();
    let what = osier_tools::ProposedChange::Diff { path: "src/main.rs".to_owned(), diff, created: false };
    let question = change_question(what, &[]);
    harness.event(ClientEvent::Asked { id: 1, question: Box::new(question), agent: None });
    harness.press("pageDown");
    harness.check(expect![[r#"

        ╭─ Allow bash to change src/main.rs? ───
        │   +line 8
        │   +line 9
        │   +line 10
        │   +line 11
        │   +line 12
        │   +line 13
        │   +line 14
        │   lines 8–14 of 30; PageDown to the…
        │ › y  Yes, once
        │   n  No, and continue without it
        ╰─ ↑↓ select · enter confirm ───────────
        code │ a/model │ #1 │ 5e551011
    "#]]);
}

fn asked_about(
    columns: u16,
    rows: u16,
    what: osier_tools::ProposedChange,
    reason: osier_tools::approvals::AskReason,
) -> Harness {
    let mut harness = Harness::with_session(columns, rows, "say go");
    harness.event(ClientEvent::TurnStarted);
    let mut question = change_question(what, &[]);
    if let osier_protocol::Question::Tool(question) = &mut question {
        question.reason = reason;
    }
    harness.event(ClientEvent::Asked { id: 7, question: Box::new(question), agent: None });
    harness
}

fn diff(path: &str, diff: String) -> osier_tools::ProposedChange {
    osier_tools::ProposedChange::Diff { path: path.to_owned(), diff, created: false }
}

#[test]
fn a_change_cannot_be_allowed_before_its_end_was_on_the_screen() {
    let long: String = (1..=41).map(|number| format!("+line {number}.\n")).collect();
    for yes in ["y", "enter"] {
        let mut harness =
            asked_about(60, 24, diff("a", long.clone()), osier_tools::approvals::AskReason::Writes);
        harness.wait(300);
        harness.press(yes);
        harness.wait(300);
        assert_eq!(harness.take_actions(), "", "{}", harness.text());
        assert!(harness.text().contains(" of 41; PageDown to the end to allow it\n"), "{}", harness.text());
        harness.press("end");
        assert!(
            harness.text().contains("line 41.") && harness.text().contains("; PageUp, PageDown"),
            "{}",
            harness.text()
        );
        harness.wait(300);
        harness.press(yes);
        harness.wait(300);
        assert_eq!(harness.take_actions(), YES);
    }
    let mut harness = asked_about(60, 24, diff("a", long), osier_tools::approvals::AskReason::Writes);
    harness.wait(300);
    harness.press("n");
    harness.wait(300);
    assert!(harness.text().contains("Why not?"), "refusing does not require paging");
}

#[test]
fn a_screen_too_small_for_the_question_accepts_no_answer() {
    for (columns, rows) in [(60, 3), (3, 20)] {
        let mut harness = asked_about(
            columns,
            rows,
            diff("a", "+evil\n".to_owned()),
            osier_tools::approvals::AskReason::Writes,
        );
        harness.wait(300);
        harness.press("y");
        harness.wait(300);
        assert_eq!(harness.take_actions(), "", "{columns}x{rows}");
        harness.resize(60, 20);
        harness.wait(300);
        harness.press("y");
        harness.wait(300);
        assert_eq!(harness.take_actions(), YES);
    }
}

#[test]
fn a_truncated_title_keeps_the_reason_and_the_full_path_is_shown_below() {
    let path = format!("/{}/etc/passwd", "deep/".repeat(20));
    let mut harness =
        asked_about(40, 24, diff(&path, "+x\n".to_owned()), osier_tools::approvals::AskReason::Outside);
    assert!(harness.text().contains("\n╭─ Outside the project: allow bash to …"), "{}", harness.text());
    let whole: String = harness.text().lines().flat_map(|line| line.chars().skip(4)).collect();
    assert!(whole.contains(&format!("to change {path}?")), "{}", harness.text());
    harness.resize(200, 24);
    assert!(
        harness.text().contains(&format!("Outside the project: allow bash to change {path}? ─")),
        "{}",
        harness.text()
    );
    let harness = asked_about(
        40,
        24,
        diff(".git/hooks/pre-commit", "+x\n".to_owned()),
        osier_tools::approvals::AskReason::Guarded,
    );
    assert!(harness.text().contains("\n╭─ Programs run from this file: allow …"), "{}", harness.text());
}

#[test]
fn hidden_characters_in_names_are_shown_as_codes() {
    for hidden in
        "\u{200b}\u{200e}\u{200f}\u{61c}\u{2800}\u{3164}\u{e0041}\u{fe0f}\u{ad}\u{2060}\u{202e}\u{a0}\0"
            .chars()
    {
        let code = format!("<U+{:04X}>", u32::from(hidden));
        let name = format!("READ{hidden}ME");
        let shown = format!("READ{code}ME");
        let harness =
            asked_about(80, 24, diff(&name, format!("+{name}\n")), osier_tools::approvals::AskReason::Writes);
        assert!(harness.text().contains(&format!("to change {shown}?")), "{}", harness.text());
        assert!(harness.text().contains(&format!("+{shown}\n")), "{}", harness.text());
        let harness = question(80, 24, &format!("cat {name}"), &[&format!("bash:cat {name}")]);
        assert!(harness.text().contains(&format!("  cat {shown}\n")), "{}", harness.text());
    }
}

#[test]
fn a_wrapped_diff_line_does_not_look_like_another_diff_line() {
    let harness = asked_about(
        20,
        24,
        diff("a", format!("+{}-removed\n", "x".repeat(17))),
        osier_tools::approvals::AskReason::Writes,
    );
    assert!(harness.text().contains("  +xxxxxxxxxxxxxxxxx\n↳ -removed\n"), "{}", harness.text());
}

#[test]
fn typing_a_sentence_that_starts_with_y_does_not_answer() {
    for pause in [300, 700, 5_000] {
        let mut harness = question(60, 20, "touch x", &["bash"]);
        harness.wait(pause);
        for letter in "yes, but first look at any of the other files".chars() {
            harness.press(&if letter == ' ' { "space".to_owned() } else { format!("'{letter}'") });
            harness.wait(150);
        }
        harness.wait(1000);
        assert_eq!(harness.take_actions(), "");
        assert_eq!(harness.state.editor.text(), "yes, but first look at any of the other files");
    }
}
