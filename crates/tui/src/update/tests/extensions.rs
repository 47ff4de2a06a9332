//! What extensions show, and the keys that reach them.

use osier_protocol::query::{CommandSource, PromptCommand};
use osier_protocol::{
    Dialog, DialogQuestion, EditorCompletion, EditorView, ExtensionEvent, FloatPlace, Question,
    WidgetPlacement,
};

use super::*;

fn show(harness: &mut Harness, event: ExtensionEvent) {
    harness.event(ClientEvent::Extension(event));
}

fn ask(harness: &mut Harness, dialog: Dialog) {
    ask_from(harness, "Which?", dialog, None);
}

fn ask_from(harness: &mut Harness, title: &str, dialog: Dialog, extension: Option<&str>) {
    let (title, extension) = (title.to_owned(), extension.map(str::to_owned));
    let question = DialogQuestion { title, dialog, timeout: None, extension };
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
    assert_eq!(
        sent.matches("Screen { columns: 60, rows: 18, expanded: false, light: false }").count(),
        1,
        "{sent}"
    );
    harness.resize(50, 18);
    assert!(
        harness.take_actions().contains("Screen { columns: 50, rows: 18, expanded: false, light: false }")
    );
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
    ask(&mut harness, Dialog::Component { component: 5, floating: false });
    let lines = vec!["\u{1b}[36m── fruit ──\u{1b}[39m".to_owned(), "→ pear".to_owned()];
    show(&mut harness, ExtensionEvent::Component { component: 5, lines, place: None });
    assert!(harness.text().contains("── fruit ──\n→ pear"), "{}", harness.text());
    harness.take_actions();
    harness.press("down 'x'");
    let sent = harness.take_actions();
    assert!(sent.contains(r#"Key { component: 5, data: "\u{1b}[B", client: 0 }"#), "{sent}");
    assert!(sent.contains(r#"Key { component: 5, data: "x", client: 0 }"#), "{sent}");
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
    assert_eq!(harness.take_actions(), "", "another key may still follow");
    harness.wait(300);
    assert!(harness.take_actions().contains("two"));
}

#[test]
fn typing_never_answers_a_dialog_and_stays_a_draft() {
    let mut harness = Harness::with_session(60, 18, "say go");
    ask(&mut harness, Dialog::Confirm { message: "It\n• runs programs with your rights".to_owned() });
    harness.check(expect![[r#"

        > go

        ╭─ Which? ──────────────────────────────────────────────────
        │ It
        │ • runs programs with your rights
        │   y  Yes
        │ › n  No
        ╰─ ↑↓ move · enter select · esc cancel ─────────────────────
        code │ a/model │ #1 │ 5e551011
    "#]]);
    harness.wait(1000);
    harness.press("'say' space 'no'");
    harness.wait(1000);
    assert_eq!(harness.take_actions(), "");
    assert_eq!(harness.state.editor.text(), "say no");
    assert!(harness.text().contains("Which?") && harness.text().contains("> say no"), "{}", harness.text());
    harness.press("enter");
    harness.wait(1000);
    let sent = harness.take_actions();
    assert!(sent.contains("Prompt { text: \"say no\"") && !sent.contains("Answer"), "{sent}");
    assert!(harness.text().contains("Which?"), "the question stays: {}", harness.text());
}

#[test]
fn a_yes_or_no_question_preselects_no_and_has_letters() {
    for (keys, answer) in [
        ("enter", "No { reason: \"\" }"),
        ("up enter", "Once"),
        ("y", "Once"),
        ("Y", "Once"),
        ("n", "No { reason: \"\" }"),
        ("escape", "No { reason: \"\" }"),
    ] {
        let mut harness = Harness::new(60, 18);
        ask(&mut harness, Dialog::Confirm { message: "Really?".to_owned() });
        harness.wait(300);
        harness.press(keys);
        harness.wait(300);
        let sent = harness.take_actions();
        assert_eq!(sent, format!("Send(Answer {{ question: 7, answer: {answer} }}, Answer)\n"), "{keys}");
        assert_eq!(harness.state.editor.text(), "", "{keys}");
    }
}

#[test]
fn every_extension_that_was_not_loaded_is_named_with_the_reason() {
    let mut harness = Harness::new(60, 24);
    for name in ["one", "two"] {
        let path = format!("/home/user/project/.osier/extensions/{name}.ts");
        let reason = "it has no default export, which must be a function that registers everything else";
        let error = format!("Failed to load extension: {path}: {reason}");
        show(
            &mut harness,
            ExtensionEvent::Failed {
                extension_path: path,
                event: "load".to_owned(),
                error,
                stack: Vec::new(),
            },
        );
    }
    harness.press("'x'");
    let text = harness.text().split_whitespace().collect::<Vec<_>>().join(" ");
    for name in ["one", "two"] {
        let path = format!("/home/user/project/.osier/extensions/{name}.ts:");
        assert_eq!(text.matches(&path).count(), 1, "{text}");
    }
    assert_eq!(text.matches("it has no default export").count(), 2, "{text}");
    assert_eq!(text.matches("registers everything else").count(), 2, "{text}");
}

#[test]
fn a_long_error_is_wrapped() {
    let mut harness = Harness::new(40, 24);
    let error =
        "the session is busy: process 21021 on vm is running a turn; wait for its end, or stop it there";
    harness.update(Msg::Failed(error.to_owned()));
    let text = harness.text().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(error), "{text}");
    // It leaves most of the screen to the rest.
    harness.update(Msg::Failed("much too long ".repeat(100)));
    assert_eq!(harness.text().matches("much too long much").count(), 6, "{}", harness.text());
    assert!(harness.text().contains('…'), "{}", harness.text());
}

#[test]
fn shortcuts_run_but_cannot_take_keys_of_the_editor() {
    let mut harness = Harness::new(60, 18);
    let shortcut =
        |key: &str| ExtensionEvent::SetShortcut { key: key.to_owned(), description: None, removed: false };
    for key in ["alt+q", "f5", "ctrl+shift+p", "ctrl+x", "shift+up"] {
        show(&mut harness, shortcut(key));
        harness.press(key);
        let sent = harness.take_actions();
        assert!(sent.contains(&format!("Shortcut {{ key: {key:?} }}")), "{key}: {sent}");
    }
    for key in ["a", "enter", "ctrl+c", "escape", "ctrl+d", "ctrl+o", "shift+tab", "alt+enter"] {
        show(&mut harness, shortcut(key));
        assert!(harness.text().contains("cannot use the shortcut"), "{key}");
    }
}

#[test]
fn a_shortcut_in_the_place_of_a_key_of_osier_is_reported() {
    let shortcut =
        |key: &str| ExtensionEvent::SetShortcut { key: key.to_owned(), description: None, removed: false };
    for (key, is_own) in [("alt+t", true), ("ctrl+r", true), ("home", true), ("f5", false), ("alt+q", false)]
    {
        let mut harness = Harness::new(80, 18);
        show(&mut harness, shortcut(key));
        let text = format!("takes the place of the key {key}");
        assert_eq!(harness.text().contains(&text), is_own, "{key}: {}", harness.text());
    }
}

fn float(row: usize, column: usize, width: usize) -> FloatPlace {
    FloatPlace { row, column, width, order: 1, hidden: false, focused: true }
}

fn show_float(harness: &mut Harness, place: FloatPlace) {
    let lines = vec!["╭──╮".to_owned(), "│hi│".to_owned()];
    show(harness, ExtensionEvent::Component { component: 5, lines, place: Some(place) });
}

fn boxes(harness: &Harness) -> usize {
    crate::floats::boxes(&harness.state).len()
}

#[test]
fn a_float_has_the_keys_while_it_has_the_focus() {
    let mut harness = Harness::new(60, 18);
    ask(&mut harness, Dialog::Component { component: 5, floating: true });
    assert!(harness.take_actions().contains("Screen {"), "its lines may have been sent before");
    show_float(&mut harness, float(2, 4, 4));
    assert_eq!(boxes(&harness), 1);
    harness.press("'x'");
    assert!(harness.take_actions().contains(r#"Key { component: 5, data: "x""#));
    assert!(!harness.text().contains("> x"));
    show_float(&mut harness, FloatPlace { focused: false, ..float(2, 4, 4) });
    harness.press("'y'");
    assert!(harness.text().contains("> y"), "{}", harness.text());
    show_float(&mut harness, FloatPlace { hidden: true, ..float(2, 4, 4) });
    assert_eq!(boxes(&harness), 0);
    harness.event(ClientEvent::Answered { id: 7, allowed: false });
    assert!(harness.state.extensions.floats.is_empty());
}

#[test]
fn a_float_covers_no_question_of_osier() {
    let mut harness = Harness::new(60, 18);
    ask(&mut harness, Dialog::Component { component: 5, floating: true });
    show_float(&mut harness, float(0, 0, 4));
    let question = Box::new(Question::Continue { model_calls: 50 });
    harness.event(ClientEvent::Asked { id: 8, question, agent: None });
    assert_eq!(boxes(&harness), 0);
    harness.take_actions();
    harness.press("'x'");
    assert!(!harness.take_actions().contains("Key {"), "keys are for the question or the draft");
    harness.event(ClientEvent::Answered { id: 8, allowed: true });
    assert_eq!(boxes(&harness), 1);
}

#[test]
fn a_float_that_does_not_fit_is_cut() {
    let mut harness = Harness::new(20, 8);
    ask(&mut harness, Dialog::Component { component: 5, floating: true });
    for place in [float(7, 18, 400), float(usize::MAX, usize::MAX, usize::MAX), float(100, 0, 4)] {
        show_float(&mut harness, place);
        for float in crate::floats::boxes(&harness.state) {
            assert!(float.column + float.width <= 20, "{float:?}");
            assert!(float.lines.iter().all(|line| line.width() <= float.width), "{float:?}");
        }
    }
}

fn editor(text: &str) -> ExtensionEvent {
    let lines = vec!["── vim ──".to_owned(), format!("{text}\u{1b}_pi:c\u{7}")];
    let (component, text, cursor) = (9, text.to_owned(), text.len());
    ExtensionEvent::SetEditor { editor: Some(EditorView { component, lines, text, cursor }) }
}

#[test]
fn the_editor_of_an_extension_gets_the_keys_and_leaves_some_to_osier() {
    let mut harness = Harness::new(60, 18);
    show(&mut harness, editor(""));
    harness.take_actions();
    harness.press("'h'");
    assert!(harness.take_actions().contains(r#"Key { component: 9, data: "h""#));
    show(&mut harness, editor("hello"));
    assert!(harness.text().contains("── vim ──\nhello"), "{}", harness.text());
    harness.press("ctrl+o");
    assert!(!harness.state.expanded, "the extension sees it first");
    show(&mut harness, ExtensionEvent::EditorKey { client: 0, data: "\u{f}".to_owned() });
    assert!(harness.state.expanded);
    show(&mut harness, ExtensionEvent::EditorKey { client: 1, data: "\u{f}".to_owned() });
    assert!(harness.state.expanded, "another terminal typed it");
    harness.take_actions();
    show(&mut harness, ExtensionEvent::EditorSubmit { client: 0, text: "hello".to_owned() });
    let sent = harness.take_actions();
    assert!(sent.contains(r#"text: "hello""#), "{sent}");
    assert!(
        sent.contains(r#"EditorText { component: Some(9), request: None, text: "", cursor: 0 }"#),
        "{sent}"
    );
    show(&mut harness, ExtensionEvent::SetEditor { editor: None });
    harness.press("'x'");
    assert!(harness.text().contains("> x"));
}

#[test]
fn an_editor_that_keeps_every_key_can_be_left() {
    let mut harness = Harness::new(60, 18);
    show(&mut harness, editor("stuck"));
    harness.press("ctrl+c ctrl+c");
    assert!(harness.state.editor.is_empty(), "the second one clears the text");
    harness.press("ctrl+c");
    assert!(harness.text().contains("ctrl+c again"), "{}", harness.text());
    harness.press("ctrl+c");
    assert!(harness.take_actions().contains("Quit"));
}

#[test]
fn completions_and_changes_of_osier_reach_the_editor_of_an_extension() {
    let mut harness = Harness::new(60, 18);
    show(&mut harness, editor(""));
    show(&mut harness, editor("/hel"));
    assert!(harness.text().contains("/help"), "{}", harness.text());
    harness.take_actions();
    harness.press("tab");
    assert!(harness.take_actions().contains(r#"text: "/help ""#));
}

#[test]
fn listeners_see_keys_first_and_may_change_or_take_them() {
    let mut harness = Harness::new(60, 18);
    show(&mut harness, ExtensionEvent::SetInputListener { listener: "a".to_owned(), removed: false });
    let answer = |number: u64, data: Option<&str>| ExtensionEvent::TerminalInput {
        client: 0,
        number,
        data: data.map(str::to_owned),
    };
    harness.press("'abc'");
    assert!(harness.take_actions().contains(r#"TerminalInput { client: 0, number: 1, data: "a" }"#));
    assert!(!harness.text().contains("> a"));
    show(&mut harness, answer(2, Some("X")));
    assert!(!harness.text().contains("> X"), "keys keep their order");
    show(&mut harness, answer(1, None));
    show(&mut harness, answer(3, Some("c")));
    assert!(harness.text().contains("> Xc"), "{}", harness.text());
    harness.press("'d'");
    harness.wait(100);
    assert!(harness.text().contains("> Xcd"), "a listener that does not answer is not waited for");
    show(&mut harness, ExtensionEvent::SetInputListener { listener: "a".to_owned(), removed: true });
    harness.press("'e'");
    assert!(harness.text().contains("> Xcde"));
}

#[test]
fn extensions_complete_and_paste_text() {
    let mut harness = Harness::new(60, 18);
    show(&mut harness, ExtensionEvent::SetAutocomplete { source: "a".to_owned(), removed: false });
    harness.press("'#1'");
    assert!(harness.take_actions().contains(r##"Complete { client: 0, number: 2, text: "#1", cursor: 2 }"##));
    let item = EditorCompletion {
        label: "#12".to_owned(),
        description: "a bug\u{1b}[2J".to_owned(),
        text: "#12 ".to_owned(),
        cursor: 4,
    };
    let old = ExtensionEvent::Completions { client: 0, number: 1, items: vec![item.clone()] };
    show(&mut harness, old);
    assert!(!harness.text().contains("a bug"), "the answer to an earlier text");
    show(&mut harness, ExtensionEvent::Completions { client: 0, number: 2, items: vec![item] });
    assert!(harness.text().contains("› #12  a bug"), "{}", harness.text());
    harness.press("tab");
    show(&mut harness, ExtensionEvent::PasteToEditor { text: "pasted".to_owned() });
    assert!(harness.text().contains("> #12 pasted"), "{}", harness.text());
    harness.take_actions();
    show(&mut harness, ExtensionEvent::AskEditorText { request: 3 });
    assert!(harness.take_actions().contains(r##"request: Some(3), text: "#12 pasted""##));
}

#[test]
fn running_work_looks_as_an_extension_wants() {
    let mut harness = Harness::new(60, 18);
    harness.event(ClientEvent::TurnStarted);
    let working = |message: Option<&str>, frames: Option<&[&str]>, hidden| ExtensionEvent::SetWorking {
        message: message.map(str::to_owned),
        frames: frames.map(|frames| frames.iter().map(|frame| (*frame).to_owned()).collect()),
        interval: None,
        hidden,
    };
    show(&mut harness, working(Some("pondering"), Some(&["●"]), false));
    assert!(harness.text().contains("● pondering · "), "{}", harness.text());
    show(&mut harness, working(Some("pondering"), Some(&[]), false));
    assert!(harness.text().contains("\npondering · "), "{}", harness.text());
    show(&mut harness, working(None, None, true));
    assert!(!harness.text().contains("esc to stop"), "{}", harness.text());
}

fn listen(harness: &mut Harness) {
    show(harness, ExtensionEvent::SetInputListener { listener: "a".to_owned(), removed: false });
}

fn answer_key(harness: &mut Harness, number: u64, data: &str) {
    show(harness, ExtensionEvent::TerminalInput { client: 0, number, data: Some(data.to_owned()) });
}

#[test]
fn a_listener_makes_at_most_one_key_and_never_sends() {
    let mut harness = Harness::new(60, 18);
    listen(&mut harness);
    harness.press("'a'");
    answer_key(&mut harness, 1, "!id\r");
    assert_eq!(harness.state.editor.text(), "!");
    harness.press("'b'");
    answer_key(&mut harness, 2, "\r");
    harness.press("'c'");
    answer_key(&mut harness, 3, "\u{16}");
    assert_eq!(harness.state.editor.text(), "!");
    assert!(!harness.take_actions().contains("PasteImage"), "the clipboard is not for extensions");
    for (number, letter) in [(4, "i"), (5, "d")] {
        harness.press("'x'");
        answer_key(&mut harness, number, letter);
    }
    assert_eq!(harness.state.editor.text(), "!id");
    harness.press("enter");
    answer_key(&mut harness, 6, "\r");
    assert_not_run(&mut harness);
}

/// A command that you did not type is asked about and does not run, whatever you are typing.
fn assert_not_run(harness: &mut Harness) {
    assert!(harness.text().contains("You did not type it"), "{}", harness.text());
    harness.press("'2' 'y' enter");
    assert!(!harness.take_actions().contains("RunShell"), "the first answer is no");
}

#[test]
fn commands_that_an_extension_wrote_run_only_after_you_agree() {
    let text = || "!id > x".to_owned();
    let ways: [fn(String) -> ExtensionEvent; 3] = [
        |text| ExtensionEvent::EditorSubmit { client: 0, text },
        |text| ExtensionEvent::SetEditorText { text },
        |text| ExtensionEvent::PasteToEditor { text },
    ];
    for way in ways {
        let mut harness = Harness::new(60, 18);
        show(&mut harness, way(text()));
        if harness.state.overlays.is_empty() {
            harness.press("enter");
        }
        assert_not_run(&mut harness);
    }
    let mut harness = Harness::new(60, 18);
    show(&mut harness, editor("!id > x"));
    show(&mut harness, ExtensionEvent::EditorKey { client: 0, data: "\r".to_owned() });
    assert!(harness.state.overlays.is_empty(), "you did not press Enter");
    harness.press("enter");
    show(&mut harness, ExtensionEvent::EditorKey { client: 0, data: "\r".to_owned() });
    assert!(harness.text().contains("id > x"), "{}", harness.text());
    show(&mut harness, ExtensionEvent::SetEditorText { text: "!other".to_owned() });
    harness.take_actions();
    harness.press("down enter");
    let sent = harness.take_actions();
    assert!(sent.contains("RunShell") && sent.contains("id > x"), "exactly what was shown: {sent}");
}

#[test]
fn extensions_cannot_type_commands_that_allow_more_or_files_outside_the_project() {
    for text in ["/approval yolo", "/export /etc/x.html", "see @/etc/passwd", "see @../../secret"] {
        let mut harness = Harness::new(60, 18);
        show(&mut harness, ExtensionEvent::EditorSubmit { client: 0, text: text.to_owned() });
        assert!(harness.text().contains("You did not type it"), "{text}");
        let actions = harness.take_actions();
        assert!(!actions.contains("SetApproval") && !actions.contains("Export"), "{actions}");
        assert!(!actions.contains("Prompt"), "{actions}");
    }
    let mut harness = Harness::new(60, 18);
    let long = format!("!true{}; id", " ".repeat(1000));
    show(&mut harness, ExtensionEvent::EditorSubmit { client: 0, text: long });
    assert!(harness.state.overlays.is_empty() && harness.text().contains("too long"), "{}", harness.text());
    show(&mut harness, ExtensionEvent::EditorSubmit { client: 0, text: "see @src/main.rs".to_owned() });
    assert!(harness.take_actions().contains(r#"text: "see @src/main.rs""#), "a prompt is sent");
}

#[test]
fn a_paste_that_comes_after_the_question_does_not_run() {
    let mut harness = Harness::new(60, 18);
    let text = "!echo [paste #1 +11 lines]".to_owned();
    show(&mut harness, ExtensionEvent::SetEditorText { text });
    harness.press("enter");
    show(&mut harness, ExtensionEvent::PasteToEditor { text: "; id\n".repeat(11) });
    harness.take_actions();
    harness.press("down enter");
    let sent = harness.take_actions();
    assert!(sent.contains(r#"command: "echo [paste #1 +11 lines]""#), "{sent}");
}

#[test]
fn what_an_extension_sent_is_not_typed_when_it_returns_to_the_editor() {
    for text in ["!id", "/approval yolo", "/export /etc/x.html", "see @/etc/passwd"] {
        let mut harness = Harness::new(60, 18);
        let prompts = vec![Prompt::text(text.to_owned())];
        let reply = Ok(CommandReply::Returned { prompts, follow_ups: 0 });
        harness.update(Msg::Replied(CommandPurpose::Cancel, Box::new(reply)));
        harness.press("enter");
        assert!(harness.text().contains("You did not type it"), "returned from the queue: {text}");
        let mut harness = Harness::new(60, 18);
        harness.moved(MoveReply { editor_text: Some(text.to_owned()), ..MoveReply::default() });
        harness.press("enter");
        assert!(harness.text().contains("You did not type it"), "returned by a move: {text}");
    }
}

#[test]
fn what_you_type_yourself_is_not_asked_about() {
    let mut harness = Harness::new(60, 18);
    show(&mut harness, ExtensionEvent::SetEditorText { text: "!id".to_owned() });
    harness.press("ctrl+c '!ls' enter");
    assert!(harness.take_actions().contains("RunShell"));
}

#[test]
fn listeners_do_not_answer_questions() {
    let mut harness = Harness::with_session(60, 20, "say go");
    listen(&mut harness);
    harness.press("'z'");
    harness.take_actions();
    let question = Box::new(command_question("touch x", &["bash"]));
    harness.event(ClientEvent::Asked { id: 7, question, agent: None });
    answer_key(&mut harness, 1, "y");
    assert_eq!(harness.state.editor.text(), "z", "a key that waited is text, as you pressed it");
    harness.wait(300);
    harness.press("backspace");
    harness.wait(300);
    harness.press("'q'");
    assert!(!harness.take_actions().contains("TerminalInput"));
    answer_key(&mut harness, 2, "y");
    answer_key(&mut harness, 3, "y");
    harness.wait(300);
    assert!(!harness.take_actions().contains("Answer"), "{}", harness.text());
}

#[test]
fn keys_and_pastes_keep_their_order() {
    let mut harness = Harness::new(60, 18);
    listen(&mut harness);
    harness.press("'a'");
    harness.update(Msg::Input(Input::Paste("b".to_owned())));
    show(&mut harness, ExtensionEvent::SetInputListener { listener: "a".to_owned(), removed: true });
    let key = crate::key::Key::from(crate::key::KeyCode::Char('c'));
    harness.update(Msg::Input(Input::Key(key)));
    answer_key(&mut harness, 1, "a");
    assert_eq!(harness.state.editor.text(), "abc");
}

#[test]
fn an_extension_forks_at_the_entry_that_it_names() {
    let mut harness = Harness::new(60, 18);
    let session =
        osier_protocol::RequestedSession::Fork { entry_id: "0000000a".into(), includes_entry: true };
    harness.event(ClientEvent::SessionRequested { session });
    let actions = harness.take_actions();
    assert!(actions.contains("Exactly") && actions.contains("0000000a"), "{actions}");
}

#[test]
fn a_dialog_names_its_extension_and_shows_a_placeholder() {
    let mut harness = Harness::new(60, 18);
    let dialog = Dialog::Input { placeholder: Some("a name".to_owned()) };
    ask_from(&mut harness, "Which?", dialog, Some("x.ts"));
    let text = harness.text();
    assert!(text.contains("Which?  from x.ts") && text.contains("a name"), "{text}");
    harness.press("'A'");
    let text = harness.text();
    assert!(text.contains('A') && !text.contains("a name"), "{text}");
}

#[test]
fn a_long_title_leaves_room_for_the_name_of_the_extension() {
    let mut harness = Harness::new(60, 18);
    let options = vec!["Allow".to_owned()];
    let title = "Allow bash to run this? ".repeat(5);
    ask_from(&mut harness, &title, Dialog::Select { options }, Some("x.ts"));
    assert!(harness.text().contains("  from x.ts"), "{}", harness.text());
}

#[test]
fn a_long_widget_says_how_many_lines_are_missing() {
    let mut harness = Harness::new(60, 30);
    let lines: Vec<String> = (1..=12).map(|number| format!("row {number};")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    show(&mut harness, widget("a", WidgetPlacement::AboveEditor, &lines[..10]));
    assert!(harness.text().contains("row 10;") && !harness.text().contains("more lines"));
    show(&mut harness, widget("a", WidgetPlacement::AboveEditor, &lines));
    let text = harness.text();
    assert!(text.contains("row 9;") && !text.contains("row 10;"), "{text}");
    assert!(text.contains("… 3 more lines"), "{text}");
    // There is less room below the editor.
    show(&mut harness, widget("a", WidgetPlacement::BelowEditor, &lines));
    let text = harness.text();
    assert!(text.contains("row 6;") && text.contains("… 6 more lines"), "{text}");
}

#[test]
fn work_of_an_extension_is_shown_and_escape_cancels_it() {
    let mut harness = Harness::new(60, 18);
    harness.event(ClientEvent::ExtensionWorkStarted { id: 1, command: Some("deploy".to_owned()) });
    assert!(harness.text().contains("running /deploy"), "{}", harness.text());
    harness.take_actions();
    harness.press("escape");
    let sent = harness.take_actions();
    assert!(sent.contains("Cancel"), "{sent}");
    harness.event(ClientEvent::ExtensionWorkEnded { id: 1 });
    assert!(!harness.text().contains("/deploy"), "{}", harness.text());
    // The agent has not answered the Escape here.
    let mut harness = Harness::new(60, 18);
    harness.event(ClientEvent::ExtensionWorkStarted { id: 2, command: None });
    assert!(harness.text().contains("an extension checks your prompt"), "{}", harness.text());
    // It waits for the user.
    ask(&mut harness, Dialog::Confirm { message: String::new() });
    assert!(!harness.text().contains("esc to stop"), "{}", harness.text());
}

#[test]
fn help_has_a_group_for_commands_of_extensions() {
    let mut harness = Harness::new(80, 100);
    let command =
        |name: &str, source| PromptCommand { name: name.to_owned(), description: String::new(), source };
    harness.state.prompt_commands =
        vec![command("deploy", CommandSource::Extension), command("review", CommandSource::Prompt)];
    harness.submit("/help");
    let text = harness.text();
    let position = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
    assert!(position("Extensions") < position("/deploy"), "{text}");
    assert!(position("/deploy") < position("Templates and skills"), "{text}");
    assert!(position("Templates and skills") < position("/review"), "{text}");
}
