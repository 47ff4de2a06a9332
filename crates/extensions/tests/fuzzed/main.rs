//! The fuzz target with random input: arbitrary bytes, and frames with changed bytes.
#![allow(clippy::duplicate_mod, reason = "the fuzz targets have the same bodies")]

extern crate osier_testkit as libfuzzer_sys;

mod bodies;
#[allow(unused_attributes, reason = "a fuzz target is a program of its own")]
#[path = "../../../../fuzz/fuzz_targets/extension_frame.rs"]
mod extension_frame_target;

use proptest::prelude::*;

const FRAMES: &[&str] = &[
    r#"{"hello":{"version":1}}"#,
    r#"{"request":{"extension":0,"id":1,"method":"event","params":{"handler":1,"event":{"type":"x"}}}}"#,
    r#"{"notice":{"extension":0,"method":"on","params":[1,"a"]}}"#,
    r#"{"response":{"extension":0,"id":18446744073709551615,"outcome":{"done":null}}}"#,
    r#"{"response":{"extension":0,"id":1,"outcome":{"failed":{"message":"m","stack":["a:1:2"]}}}}"#,
    r#"{"cancel":{"extension":4294967295,"id":1}}"#,
    r#"{"interrupt":{"extension":0}}"#,
];

#[test]
fn every_kind_of_frame_is_read() {
    let text = FRAMES.join("\n");
    let mut input = text.as_bytes();
    let mut count = 0;
    while osier_extensions::frame::Frame::read(&mut input).expect("a frame").is_some() {
        count += 1;
    }
    assert_eq!(count, FRAMES.len());
    bodies::extension_frame(text.as_bytes());
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_frames_or_refused(data: Vec<u8>) {
        bodies::extension_frame(&data);
    }

    #[test]
    fn changed_frames_are_frames_or_refused(
        which in 0..FRAMES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut frame = FRAMES[which].as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(frame.len());
            frame[at] = byte;
        }
        bodies::extension_frame(&frame);
    }
}

#[test]
fn the_fuzz_targets_run() {
    for run in [extension_frame_target::run] {
        for input in [&b""[..], b"{}", b"one\ntwo", &[0xff; 64]] {
            run(input);
        }
    }
}
