//! Code before and after its colors are known.

use super::*;

fn marked(lines: &[Line]) -> Vec<String> {
    lines.iter().map(Line::to_markup).collect()
}

#[test]
fn code_is_plain_first_and_then_has_colors() {
    let colors = CodeColors::default();
    let part = CodePart::new("rust", "let x = \"a\"; // 1\nfn f() -> u8");
    assert_eq!(marked(&colors.lines(&part)), ["let x = \"a\"; // 1", "fn f() -> u8"]);
    assert!(colors.is_waiting());
    let before = colors.version();
    colors.answer_requests();
    assert!(!colors.is_waiting() && colors.version() > before);
    assert_eq!(
        marked(&colors.lines(&part)),
        ["{keyword|let} x = {literal|\"a\"}; {comment|// 1}", "{keyword|fn} {function|f}() -> {type|u8}"]
    );
    assert!(colors.take_requests().is_empty(), "known code is not asked for again");
}

#[test]
fn code_is_asked_for_once() {
    let colors = CodeColors::default();
    let part = CodePart::new("c", "int a;");
    colors.lines(&part);
    colors.lines(&CodePart::new("c", "int a;"));
    assert_eq!(colors.take_requests().len(), 1);
}

#[test]
fn a_line_that_grows_keeps_the_colors_of_its_beginning() {
    let colors = CodeColors::default();
    let first = CodePart::new("rust", "/* a");
    colors.lines(&first.followed_by("b */ let"));
    colors.answer_requests();
    assert_eq!(marked(&colors.lines(&first.followed_by("b */ let x"))), ["{comment|b */} {keyword|let} x"]);
    colors.answer_requests();
    assert_eq!(marked(&colors.lines(&first.followed_by("other"))), ["other"], "it is another line");
}

#[test]
fn comments_and_strings_continue_in_the_next_part() {
    let colors = CodeColors::at_once();
    let first = CodePart::new("py", "x = '''a");
    assert_eq!(marked(&colors.lines(&first.followed_by("b''' + 1"))), ["{literal|b'''} + {literal|1}"]);
    assert_eq!(marked(&colors.lines(&CodePart::new("py", "b"))), ["b"]);
}

#[test]
fn text_needs_no_grammar() {
    let colors = CodeColors::default();
    assert_eq!(marked(&colors.lines(&CodePart::new("", "let x"))), ["let x"]);
    assert_eq!(marked(&colors.lines(&CodePart::new("console", "let x"))), ["let x"]);
    assert!(!colors.is_waiting());
}

#[test]
fn the_end_of_long_code_is_plain_and_never_asked_for() {
    let colors = CodeColors::default();
    let mut part = CodePart::new("rust", "let x = 1;");
    for _ in 0..MAX_CODE_BYTES {
        part = part.followed_by("let");
    }
    assert_eq!(marked(&colors.lines(&part)), ["let"]);
    assert!(!colors.is_waiting());
}

#[test]
fn older_code_is_forgotten_last() {
    let colors = CodeColors::default();
    let part = |at: usize| CodePart::new("text-like", &format!("line {at}"));
    for at in 0..MAX_KNOWN + 10 {
        colors.lines(&part(at));
        colors.receive(vec![ColoredPart { part: part(at), lines: Vec::new() }]);
    }
    let is_known = |at: usize| colors.lock().find(&part(at)).is_some();
    assert!(is_known(0) && is_known(MAX_KNOWN + 9), "it may still be on the screen");
    for at in MAX_KNOWN + 10..2 * MAX_KNOWN + 10 {
        colors.receive(vec![ColoredPart { part: part(at), lines: Vec::new() }]);
    }
    assert!(!is_known(0));
}

#[test]
fn a_hash_that_two_texts_share_never_shows_the_other_text() {
    let colors = CodeColors::default();
    let part = CodePart::new("c", "int a;");
    let other = CodePart::new("c", "bad");
    let lines = vec![vec![(ColorRole::Keyword, 3)]];
    colors.lock().known.insert(part.0.key, ColoredPart { part: other, lines });
    assert_eq!(marked(&colors.lines(&part)), ["int a;"]);
}

#[test]
fn the_worker_answers_from_its_thread() {
    let (sender, answers) = std::sync::mpsc::channel();
    let mut worker = CodeWorker::default();
    worker.highlight(vec![CodePart::new("rust", "let x")], move |parts| drop(sender.send(parts)));
    let parts = answers.recv().unwrap();
    assert_eq!(parts[0].lines, [[(ColorRole::Keyword, 3), (ColorRole::Text, 2)]]);
}
