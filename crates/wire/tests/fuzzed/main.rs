//! Short runs of the fuzz target with random input; see `fuzz/README.md`.
#![allow(clippy::duplicate_mod, reason = "the fuzz targets have the same bodies")]

extern crate osier_testkit as libfuzzer_sys;

mod bodies;
#[allow(unused_attributes, reason = "a fuzz target is a program of its own")]
#[path = "../../../../fuzz/fuzz_targets/frame.rs"]
mod frame_target;
#[allow(unused_attributes, reason = "a fuzz target is a program of its own")]
#[path = "../../../../fuzz/fuzz_targets/lines.rs"]
mod lines_target;
#[allow(unused_attributes, reason = "a fuzz target is a program of its own")]
#[path = "../../../../fuzz/fuzz_targets/web_socket.rs"]
mod web_socket_target;

use proptest::prelude::*;

/// Fragments of frames, so that random input is close to valid frames.
const PIECES: [&str; 33] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "null",
    "1e400",
    "-1",
    "18446744073709551616",
    "\"type\":\"event\"",
    "\"type\":\"send\"",
    "\"type\":\"open\"",
    "\"type\":\"attach\"",
    "\"type\":\"error\"",
    "\"type\":\"call\"",
    "\"request\":{\"type\":\"session_operation\",\"session\":{\"store\":\"a\",\"key\":\"b\"},\"operation\":{\"type\":\"append_entry\",\"entry\":{\"id\":1.00}}}",
    "\"request\":{\"type\":\"session_operation\",\"session\":{\"store\":\"a\",\"key\":\"b\"},\"operation\":{\"type\":\"list_entries\",\"after\":-1}}",
    "\"id\":1",
    "\"session\":1",
    "\"stream\":2",
    "\"sessionId\":\"s\"",
    "\"generation\":\"0a\"",
    "\"revision\":3",
    "\"command\":{\"type\":\"prompt\",\"text\":\"x\"}",
    "\"open\":{\"target\":\"new\"}",
    "\"after\":{\"generation\":\"zz\",\"entries\":1}",
    "\"event\":{\"type\":\"entry\",\"seq\":0,\"id\":\"1\",\"draftId\":null,\"foreign\":false,\"entry\":{\"type\":\"message\"}}",
    "\"event\":{\"type\":\"turn_started\"}",
    "\u{2028}",
    "\\ud800",
];

/// Frames with random fields, in any order and number.
fn pieces() -> impl Strategy<Value = String> {
    let any =
        prop::collection::vec(prop::sample::select(&PIECES[..]), 0..12).prop_map(|parts| parts.concat());
    let fields = prop::collection::vec(prop::sample::select(&PIECES[12..31]), 0..8);
    prop_oneof![any, fields.prop_map(|fields| format!("{{{}}}", fields.join(",")))]
}

proptest! {
    #[test]
    fn a_frame_made_of_fragments_is_read_or_refused(text in pieces()) {
        bodies::frame(text.as_bytes());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        bodies::frame(&bytes);
        bodies::lines(&bytes);
        bodies::web_socket(&bytes);
    }

    #[test]
    fn any_line_breaks_are_read(bytes in prop::collection::vec(prop::sample::select(&b"\n\r\xffabc"[..]), 0..300)) {
        bodies::lines(&bytes);
    }

    #[test]
    fn messages_with_any_header_are_read_or_refused(
        messages in prop::collection::vec((any::<u8>(), 0_u8..130, prop::collection::vec(any::<u8>(), 0..130)), 0..6),
    ) {
        // A header of two bytes; the highest bit of the length is the mask, whose key are the first bytes of the content.
        let bytes: Vec<u8> = messages
            .into_iter()
            .flat_map(|(kind, length, content)| [vec![kind & 0x8f, 0x80 | length], content].concat())
            .collect();
        bodies::web_socket(&bytes);
    }
}

#[test]
fn a_message_of_a_web_socket_is_read() {
    let text = br#"{"type":"ping"}"#;
    // A final text message with the mask zero.
    let bytes = [&[0x81, 0x80 | text.len() as u8, 0, 0, 0, 0][..], text].concat();
    bodies::web_socket(&bytes);
}

#[test]
fn valid_frames_are_read() {
    for text in [
        r#"{"type":"send","id":1,"session":1,"command":{"type":"prompt","text":"x"}}"#,
        r#"{"type":"event","sessionId":"s","stream":2,"generation":"0a","revision":3,"event":{"type":"turn_started"}}"#,
    ] {
        bodies::frame(text.as_bytes());
        let is_read =
            osier_wire::decode_client_frame(text).is_ok() || osier_wire::decode_server_frame(text).is_ok();
        assert!(is_read, "{text}");
    }
}

#[test]
fn the_fuzz_targets_run() {
    for run in [frame_target::run, lines_target::run, web_socket_target::run] {
        for input in [&b""[..], b"{}", b"one\ntwo", &[0xff; 64]] {
            run(input);
        }
    }
}
