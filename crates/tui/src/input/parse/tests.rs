//! Feeds bytes and compares the parsed input.

use super::*;

fn to_text(inputs: &[Input]) -> String {
    let one = |input: &Input| match input {
        Input::Key(key) => key.to_string(),
        Input::Paste(text) => format!("paste({text})"),
        Input::Background { light } => format!("light({light})"),
        Input::Focus(focused) => format!("focus({focused})"),
        Input::Resize(..) => "resize".to_owned(),
    };
    inputs.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// Checks that the parsed input does not depend on how the bytes are split.
#[track_caller]
fn check(bytes: &str, expected: &str) {
    for size in [1, 2, 3, 5, 1000] {
        let mut parser = InputParser::default();
        let mut inputs: Vec<Input> =
            bytes.as_bytes().chunks(size).flat_map(|piece| parser.feed(piece)).collect();
        inputs.extend(parser.flush());
        assert_eq!(to_text(&inputs), expected, "{bytes:?} in pieces of {size}");
        assert!(parser.timeout().is_none(), "{bytes:?}: unparsed bytes are left");
    }
}

#[test]
fn characters_of_every_script_and_control_keys_are_parsed() {
    check("aZ1/", "a Z 1 /");
    check("你é😀", "你 é 😀");
    check("\r\t\x7f\n", "enter tab backspace ctrl+j");
    check("\x01\x1a\x1f\x1d", "ctrl+a ctrl+z ctrl+_ ctrl+]");
    check("\x1bb\x1b\r\x1b\x7f", "alt+b alt+enter alt+backspace");
}

#[test]
fn sequences_are_parsed_with_and_without_modifiers() {
    check("\x1b[A\x1b[B\x1bOC\x1bOD", "up down right left");
    check("\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[3~\x1b[5~\x1b[6~", "home end home end delete pageUp pageDown");
    check("\x1b[1;5D\x1b[1;3C\x1b[1;2A\x1b[3;5~", "ctrl+left alt+right shift+up ctrl+delete");
    check("\x1b[Z", "shift+tab");
    check("\x1b\x1b[A", "alt+up");
}

#[test]
fn the_newer_protocols_distinguish_all_keys() {
    check("\x1b[27u\x1b[13;2u\x1b[127;5u\x1b[9;2u", "escape shift+enter ctrl+backspace shift+tab");
    check("\x1b[111;6u\x1b[122;5u\x1b[27;5;9~", "ctrl+shift+o ctrl+z ctrl+tab");
    check("\x1b[97;3u\x1b[97:65;2u\x1b[97;1:3u", "alt+a A");
    check("\x1b[57414u\x1b[57400u\x1b[57358u", "enter 1");
}

#[test]
fn a_lone_escape_is_a_key_and_two_are_two_keys() {
    check("\x1b", "escape");
    check("\x1b\x1b", "escape escape");
    let mut parser = InputParser::default();
    assert_eq!(parser.feed(b"\x1b"), []);
    assert_eq!(parser.timeout(), Some(ESCAPE_TIMEOUT));
    assert_eq!(to_text(&parser.feed(b"[A")), "up", "the escape was the start of a sequence");
}

#[test]
fn a_paste_is_one_input_whatever_it_contains() {
    check(
        "x\x1b[200~one\ntwo\x1b[A\x1b]11;rgb:1/1/1\x07\x03\x1b[201~y",
        "x paste(one\ntwo\x1b[A\x1b]11;rgb:1/1/1\x07\x03) y",
    );
    check("\x1b[200~\x1b[201~", "paste()");
}

#[test]
fn a_paste_without_an_end_marker_swallows_no_later_keys() {
    let mut parser = InputParser::default();
    parser.feed(b"\x1b[200~long");
    assert_eq!(parser.timeout(), Some(PASTE_TIMEOUT), "the parser waits for the end");
    assert_eq!(to_text(&parser.flush()), "paste(long)");
    assert_eq!(to_text(&parser.feed(b"x\x1b[201~y")), "x y", "the end marker may arrive late");
    parser.feed(b"\x1b[200~");
    assert_eq!(to_text(&parser.flush()), "");
    assert_eq!(to_text(&parser.feed(b"z")), "z");
}

/// Searching everything again for each piece would take quadratic time.
#[test]
fn a_long_paste_is_parsed_in_linear_time() {
    let mut parser = InputParser::default();
    parser.feed(b"\x1b[200~");
    for _ in 0..16_384 {
        assert!(parser.feed(&[b'a'; 256]).is_empty());
    }
    let inputs = parser.feed(b"\x1b[201~");
    assert!(matches!(&inputs[..], [Input::Paste(text)] if text.len() == 4 << 20));
}

#[test]
fn the_answer_about_the_background_is_separated_from_typed_keys() {
    check("ab\x1b]11;rgb:ffff/ffff/f0f0\x1b\\cd", "a b light(true) c d");
    check("\x1b]11;rgb:1e1e/1E1E/2e2e\x07x", "light(false) x");
    check("\x1b]11;rgb:fd/f6/e3\x1b\\", "light(true)");
    check("\x1b]52;c;aGk=\x07x", "x");
    let mut parser = InputParser::default();
    parser.feed(b"\x1b]11;rgb:ff");
    assert_eq!(parser.timeout(), Some(ANSWER_TIMEOUT), "a slow connection may split it");
}

#[test]
fn keys_that_look_like_the_start_of_an_answer_are_kept() {
    check("\x1b]x", "alt+] x");
    check("\x1b]", "alt+]");
    check("\x1b]1", "alt+] 1");
    check("\x1b[", "alt+[");
    check("\x1bO", "alt+O");
}

#[test]
fn the_terminal_reports_its_focus() {
    check("\x1b[Oa\x1b[I", "focus(false) a focus(true)");
}

#[test]
fn unknown_sequences_are_ignored_and_nothing_is_left_over() {
    check("\x1b[?64;1;2c\x1b[12;34R\x1bOTa", "a");
    let mut parser = InputParser::default();
    assert_eq!(to_text(&parser.feed(b"\xff\xfea\xe4x")), "a");
    assert_eq!(to_text(&parser.feed(b"yz")), "x y z");
    for first in 0..=255u8 {
        for second in 0..=255u8 {
            let mut parser = InputParser::default();
            parser.feed(&[0x1b, first, second]);
            parser.flush();
            assert!(parser.bytes.is_empty() && !parser.pasting, "{first} {second}");
        }
    }
}

#[test]
fn function_keys_are_keys() {
    check("\x1bOP\x1b[15~\x1b[24;2~\x1b[1;5Q\x1b[2~", "f1 f5 shift+f12 ctrl+f2 insert");
}
