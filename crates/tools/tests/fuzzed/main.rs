//! Short runs of the fuzz targets of approvals; see `fuzz/README.md`. The tests of the functions have the random input.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![allow(unreachable_pub, reason = "the targets contain files of the crate")]

extern crate osier_testkit as libfuzzer_sys;

#[allow(unused_attributes, reason = "a fuzz target is a program of its own")]
#[path = "../../../../fuzz/fuzz_targets/approval.rs"]
mod approval_target;
#[allow(unused_attributes, reason = "a fuzz target is a program of its own")]
#[path = "../../../../fuzz/fuzz_targets/command.rs"]
mod command_target;

#[test]
fn the_fuzz_targets_run() {
    for run in [approval_target::run, command_target::run] {
        for input in [&b""[..], b"{}", b"one\ntwo", &[0xff; 64]] {
            run(input);
        }
    }
}
