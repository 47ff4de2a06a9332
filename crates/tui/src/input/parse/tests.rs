//! Bytes in, keys out.

use super::*;

fn told(inputs: &[Input]) -> String {
    let one = |input: &Input| match input {
        Input::Key(key) => key.to_string(),
        Input::Paste(text) => format!("paste({text})"),
        Input::Ground { light } => format!("light({light})"),
        Input::Resize(..) => "resize".to_owned(),
    };
    inputs.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// However the bytes are cut, the keys are the same.
#[track_caller]
fn check(bytes: &str, expected: &str) {
    for size in [1, 2, 3, 5, 1000] {
        let mut parser = Parser::default();
        let mut inputs: Vec<Input> =
            bytes.as_bytes().chunks(size).flat_map(|piece| parser.take(piece)).collect();
        inputs.extend(parser.give_up());
        assert_eq!(told(&inputs), expected, "{bytes:?} in pieces of {size}");
        assert!(parser.patience().is_none(), "{bytes:?}: something is left");
    }
}

#[test]
fn letters_of_every_script_and_control() {
    check("aZ1/", "a Z 1 /");
    check("你é😀", "你 é 😀");
    check("\r\t\x7f\n", "enter tab backspace ctrl+j");
    check("\x01\x1a\x1f\x1d", "ctrl+a ctrl+z ctrl+_ ctrl+]");
    check("\x1bb\x1b\r\x1b\x7f", "alt+b alt+enter alt+backspace");
}

#[test]
fn sequences_with_and_without_modifiers() {
    check("\x1b[A\x1b[B\x1bOC\x1bOD", "up down right left");
    check("\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[3~\x1b[5~\x1b[6~", "home end home end delete pageUp pageDown");
    check("\x1b[1;5D\x1b[1;3C\x1b[1;2A\x1b[3;5~", "ctrl+left alt+right shift+up ctrl+delete");
    check("\x1b[Z", "shift+tab");
    check("\x1b\x1b[A", "alt+up");
}

#[test]
fn the_newer_forms_tell_all_keys_apart() {
    check("\x1b[27u\x1b[13;2u\x1b[127;5u\x1b[9;2u", "escape shift+enter ctrl+backspace shift+tab");
    check("\x1b[111;6u\x1b[122;5u\x1b[27;5;9~", "ctrl+shift+o ctrl+z ctrl+tab");
    check("\x1b[97;3u\x1b[97:65;2u\x1b[97;1:3u", "alt+a A");
    check("\x1b[57414u\x1b[57400u\x1b[57358u", "enter 1");
}

#[test]
fn escape_is_a_key_when_nothing_follows_and_two_are_two() {
    check("\x1b", "escape");
    check("\x1b\x1b", "escape escape");
    let mut parser = Parser::default();
    assert_eq!(parser.take(b"\x1b"), []);
    assert_eq!(parser.patience(), Some(ESCAPE));
    assert_eq!(told(&parser.take(b"[A")), "up", "it was the beginning of a sequence");
}

#[test]
fn a_paste_is_one_text_whatever_it_holds() {
    check(
        "x\x1b[200~one\ntwo\x1b[A\x1b]11;rgb:1/1/1\x07\x03\x1b[201~y",
        "x paste(one\ntwo\x1b[A\x1b]11;rgb:1/1/1\x07\x03) y",
    );
    check("\x1b[200~\x1b[201~", "paste()");
}

#[test]
fn a_paste_whose_end_is_lost_swallows_no_key() {
    let mut parser = Parser::default();
    parser.take(b"\x1b[200~long");
    assert_eq!(parser.patience(), Some(PAUSE), "it is waited for");
    assert_eq!(told(&parser.give_up()), "paste(long)");
    assert_eq!(told(&parser.take(b"x\x1b[201~y")), "x y", "the end may come late");
    parser.take(b"\x1b[200~");
    assert_eq!(told(&parser.give_up()), "");
    assert_eq!(told(&parser.take(b"z")), "z");
}

/// Were all of it searched again for each piece, this would not end.
#[test]
fn a_long_paste_is_searched_once() {
    let mut parser = Parser::default();
    parser.take(b"\x1b[200~");
    for _ in 0..16_384 {
        assert!(parser.take(&[b'a'; 256]).is_empty());
    }
    let inputs = parser.take(b"\x1b[201~");
    assert!(matches!(&inputs[..], [Input::Paste(text)] if text.len() == 4 << 20));
}

#[test]
fn the_answer_about_the_background_is_taken_out_of_what_is_typed() {
    check("ab\x1b]11;rgb:ffff/ffff/f0f0\x1b\\cd", "a b light(true) c d");
    check("\x1b]11;rgb:1e1e/1E1E/2e2e\x07x", "light(false) x");
    check("\x1b]11;rgb:fd/f6/e3\x1b\\", "light(true)");
    check("\x1b]52;c;aGk=\x07x", "x");
    let mut parser = Parser::default();
    parser.take(b"\x1b]11;rgb:ff");
    assert_eq!(parser.patience(), Some(ANSWER), "a slow line may part it");
}

#[test]
fn no_key_is_lost_that_only_looks_like_an_answer() {
    check("\x1b]x", "alt+] x");
    check("\x1b]", "alt+]");
    check("\x1b]1", "alt+] 1");
    check("\x1b[", "alt+[");
    check("\x1bO", "alt+O");
}

#[test]
fn what_means_nothing_is_left_out_and_nothing_hangs() {
    check("\x1b[?64;1;2c\x1b[I\x1b[O\x1b[12;34R\x1bOPa", "a");
    let mut parser = Parser::default();
    assert_eq!(told(&parser.take(b"\xff\xfea\xe4x")), "a");
    assert_eq!(told(&parser.take(b"yz")), "x y z");
    for first in 0..=255u8 {
        for second in 0..=255u8 {
            let mut parser = Parser::default();
            parser.take(&[0x1b, first, second]);
            parser.give_up();
            assert!(parser.bytes.is_empty() && !parser.pasting, "{first} {second}");
        }
    }
}
