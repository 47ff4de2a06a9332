//! Short runs of the fuzz target with random input; see `fuzz/README.md`.
#![allow(clippy::duplicate_mod, reason = "the fuzz targets have the same bodies")]

extern crate osier_testkit as libfuzzer_sys;

mod bodies;
#[allow(unused_attributes, reason = "a fuzz target is a program of its own")]
#[path = "../../../../fuzz/fuzz_targets/rpc_command.rs"]
mod rpc_command_target;

use proptest::prelude::*;

/// Fields of commands, so that random input is close to valid commands.
const FIELDS: [&str; 30] = [
    r#""type":"prompt""#,
    r#""type":"steer""#,
    r#""type":"set_label""#,
    r#""type":"navigate_tree""#,
    r#""type":"get_snapshot""#,
    r#""type":"open_session""#,
    r#""type":"list_sessions""#,
    r#""type":"extension_ui_response""#,
    r#""type":7"#,
    r#""id":[1e400]"#,
    r#""id":"a""#,
    r#""sessionId":"s""#,
    r#""sessionId":null"#,
    r#""sessionId":7"#,
    r#""session":"s""#,
    r#""session":[]"#,
    r#""type":"append_entry""#,
    r#""type":"list_entries""#,
    r#""entry":{"type":"custom","data":[1e400]}"#,
    r#""message":"x""#,
    r#""message":{}"#,
    r#""images":[{"type":"image","data":"AA==","mimeType":"image/png"}]"#,
    r#""images":[1]"#,
    r#""streamingBehavior":"steer""#,
    r#""targetId":"root""#,
    r#""since":-1"#,
    r#""since":18446744073709551616"#,
    r#""inMemory":true"#,
    r#""value":"\ud800""#,
    r#""confirmed":true"#,
];

proptest! {
    #[test]
    fn an_object_of_random_fields_is_a_command_or_refused(
        fields in prop::collection::vec(prop::sample::select(&FIELDS[..]), 0..6),
    ) {
        bodies::command(format!("{{{}}}", fields.join(",")).as_bytes());
    }

    #[test]
    fn any_bytes_are_a_command_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        bodies::command(&bytes);
    }
}

#[test]
fn commands_are_accepted() {
    for line in [r#"{"type":"prompt","message":"x"}"#, r#"{"type":"extension_ui_response","id":"ui-1"}"#] {
        assert_eq!(osier_rpc::check_command(line), Ok(()));
        bodies::command(line.as_bytes());
    }
}

#[test]
fn the_fuzz_targets_run() {
    for run in [rpc_command_target::run] {
        for input in [&b""[..], b"{}", b"one\ntwo", &[0xff; 64]] {
            run(input);
        }
    }
}
