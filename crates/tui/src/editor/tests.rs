//! Presses keys and compares the text; `|` is the cursor.

use super::*;
use crate::theme::ColorRole;

fn after_keys(start: &str, keys: &str) -> Editor {
    let mut editor = Editor::default();
    editor.set(&start.replace('|', ""));
    editor.cursor = start.find('|').unwrap_or(start.len());
    press(&mut editor, keys);
    editor
}

fn press(editor: &mut Editor, keys: &str) {
    for key in keys.split(' ').filter(|key| !key.is_empty()) {
        let key = if key == "space" { Key::from(KeyCode::Char(' ')) } else { Key::parse(key).unwrap() };
        editor.handle_key(key, 10);
    }
}

fn shown(editor: &Editor) -> String {
    let mut text = editor.text.clone();
    text.insert(editor.cursor, '|');
    text
}

#[track_caller]
fn check(start: &str, keys: &str, end: &str) {
    assert_eq!(shown(&after_keys(start, keys)), end, "{start} {keys}");
}

#[test]
fn typing_and_motions_work_by_characters_words_and_lines() {
    check("", "a b left c", "ac|b");
    check("one two-three|", "alt+left", "one two-|three");
    check("one two|", "ctrl+left ctrl+left", "|one two");
    check("|one, two", "alt+f alt+f", "one, two|");
    check("一二三|", "left backspace", "一|三");
    check("a👩‍👩‍👧|b", "backspace", "a|b");
    check("a\nbc|d", "home x end y", "a\nxbcdy|");
}

#[test]
fn killed_text_can_be_yanked() {
    check("one two| three", "ctrl+w", "one | three");
    check("one two| three", "ctrl+w ctrl+e ctrl+y", "one  threetwo|");
    check("one two| three", "ctrl+k ctrl+a ctrl+y", " three|one two");
    check("ab|\ncd", "ctrl+k", "ab|cd");
    check("x\nab|cd", "ctrl+u", "x\n|cd");
    check("a| bc d", "alt+d", "a| d");
    check("|", "backspace delete ctrl+w ctrl+k", "|");
}

#[test]
fn undo_and_redo_work_by_words() {
    check("", "a b space c ctrl+_", "ab|");
    check("", "a b space c ctrl+_ ctrl+_", "|");
    check("", "a b space c ctrl+_ ctrl+_ alt+_", "ab|");
    check("one two|", "ctrl+w x ctrl+_ ctrl+_", "one two|");
    check("a|", "ctrl+_ ctrl+_ ctrl+_", "|");
}

#[test]
fn up_and_down_keep_the_column_across_short_and_wrapped_lines() {
    check("abcdef\nx\nabcdef|", "up up", "abcdef|\nx\nabcdef");
    check("0123456789abcde|", "up", "01234|56789abcde");
    check("ab|\ncd", "down", "ab\ncd|");
}

#[test]
fn the_history_restores_the_unsent_text() {
    let mut editor = Editor::default();
    for text in ["first", "second"] {
        editor.set(text);
        editor.take_text();
    }
    editor.set("now");
    press(&mut editor, "up");
    assert_eq!(shown(&editor), "second|");
    press(&mut editor, "up up");
    assert_eq!(shown(&editor), "first|");
    press(&mut editor, "down down");
    assert_eq!(shown(&editor), "now|");
    assert!(!editor.handle_key(KeyCode::Down.into(), 10));
}

#[test]
fn a_long_paste_shows_as_a_marker_and_is_sent_in_full() {
    let mut editor = Editor::default();
    let long = "line\n".repeat(12);
    editor.paste("short\r\nones");
    editor.paste(&long);
    assert_eq!(shown(&editor), "short\nones[paste #1 +12 lines]|");
    assert_eq!(editor.pastes.pastes_in(editor.text()).count(), 1);
    let mut copy = editor.clone();
    assert_eq!(copy.take_text(), format!("short\nones{long}"));
    press(&mut editor, "backspace");
    assert_eq!(shown(&editor), "short\nones|");
    let again = Pastes::new([("[paste #7 +12 lines]".to_owned(), "x".to_owned())].into());
    assert_eq!(again.expand("a [paste #7 +12 lines] b"), "a x b");
    let mut editor = Editor { pastes: again, ..Editor::default() };
    editor.paste(&"y".repeat(1001));
    assert_eq!(editor.text(), "[paste #8 1001 characters]");
}

#[test]
fn the_view_shows_the_rows_around_the_cursor() {
    let editor = after_keys("one\ntwo\n一二三四五六七|", "");
    let (lines, cursor) = editor.view(13, 3, ColorRole::Accent);
    assert_eq!(crate::text::plain(&lines), "  two\n  一二三四五\n  六七\n");
    assert_eq!(cursor, (2, 6));
}
