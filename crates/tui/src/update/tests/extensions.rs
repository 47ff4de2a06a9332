//! What extensions show, and the keys that reach them.

use osier_protocol::{Dialog, DialogQuestion, ExtensionEvent, Question, WidgetPlacement};

use super::*;

fn show(harness: &mut Harness, event: ExtensionEvent) {
    harness.event(ClientEvent::Extension(event));
}

fn ask(harness: &mut Harness, dialog: Dialog) {
    let question = DialogQuestion { title: "Which?".to_owned(), dialog, timeout: None };
    let question = Box::new(Question::Dialog(question));
    harness.event(ClientEvent::Asked { id: 7, question, agent: None });
}

fn widget(key: &str, placement: WidgetPlacement, lines: &[&str]) -> ExtensionEvent {
    ExtensionEvent::SetWidget {
        widget_key: key.to_owned(),
        widget_lines: Some(lines.iter().map(|line| (*line).to_owned()).collect()),
        widget_placement: Some(placement),
    }
}

#[test]
fn widgets_statuses_and_footer_surround_the_editor() {
    let mut harness = Harness::new(60, 18);
    show(&mut harness, widget("a", WidgetPlacement::AboveEditor, &["\u{1b}[33mabove\u{1b}[0m"]));
    show(&mut harness, widget("b", WidgetPlacement::BelowEditor, &["below"]));
    let status = |text: Option<&str>| ExtensionEvent::SetStatus {
        status_key: "s".to_owned(),
        status_text: text.map(str::to_owned),
    };
    show(&mut harness, status(Some("3 tasks\u{1b}]0;x\u{7}")));
    let text = harness.text();
    let position = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
    assert!(position("above") < position("type a message"));
    assert!(position("type a message") < position("below") && position("below") < position("3 tasks"));
    assert!(!text.contains("]0;x"));
    show(&mut harness, ExtensionEvent::SetFooter { lines: Some(vec!["my footer".to_owned()]) });
    show(&mut harness, status(None));
    assert!(harness.text().contains("my footer") && !harness.text().contains("3 tasks"));
    // Extensions learned the size once.
    let sent = harness.take_actions();
    assert_eq!(sent.matches("Size { columns: 60, rows: 18 }").count(), 1, "{sent}");
    harness.resize(50, 18);
    assert!(harness.take_actions().contains("Size { columns: 50, rows: 18 }"));
}

#[test]
fn many_lines_leave_room_for_the_editor() {
    let mut harness = Harness::new(40, 8);
    let lines = ["x"; 30];
    for (key, placement) in [("a", WidgetPlacement::AboveEditor), ("b", WidgetPlacement::BelowEditor)] {
        show(&mut harness, widget(key, placement, &lines));
    }
    show(&mut harness, ExtensionEvent::SetFooter { lines: Some(vec!["y".to_owned(); 30]) });
    harness.press("'hello'");
    assert!(harness.text().contains("> hello"), "{}", harness.text());
}

#[test]
fn a_component_gets_the_keys_until_it_ends() {
    let mut harness = Harness::new(60, 18);
    ask(&mut harness, Dialog::Component { component: 5 });
    let lines = vec!["\u{1b}[36m── fruit ──\u{1b}[39m".to_owned(), "→ pear".to_owned()];
    show(&mut harness, ExtensionEvent::Component { component: 5, lines });
    assert!(harness.text().contains("── fruit ──\n→ pear"), "{}", harness.text());
    harness.take_actions();
    harness.press("down 'x'");
    let sent = harness.take_actions();
    assert!(sent.contains(r#"Key { component: 5, data: "\u{1b}[B" }"#), "{sent}");
    assert!(sent.contains(r#"Key { component: 5, data: "x" }"#), "{sent}");
    harness.event(ClientEvent::Answered { id: 7, allowed: false });
    assert!(!harness.text().contains("pear"));
}

#[test]
fn an_enter_that_was_typed_before_a_dialog_is_no_answer() {
    let mut harness = Harness::new(60, 18);
    ask(&mut harness, Dialog::Select { options: vec!["one".to_owned(), "two".to_owned()] });
    harness.press("enter");
    assert_eq!(harness.take_actions(), "");
    harness.wait(300);
    harness.press("down enter");
    assert!(harness.take_actions().contains("two"));
}

#[test]
fn shortcuts_run_but_cannot_take_keys_of_the_editor() {
    let mut harness = Harness::new(60, 18);
    let shortcut = |key: &str| ExtensionEvent::SetShortcut { key: key.to_owned(), description: None };
    show(&mut harness, shortcut("alt+q"));
    harness.press("alt+q");
    assert!(harness.take_actions().contains(r#"Shortcut { key: "alt+q" }"#));
    for key in ["a", "enter", "ctrl+c"] {
        show(&mut harness, shortcut(key));
        assert!(harness.text().contains("cannot use the shortcut"), "{key}");
    }
}
