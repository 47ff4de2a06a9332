//! A short run of the fuzz targets with random input; see `fuzz/README.md`.
#![allow(clippy::duplicate_mod, reason = "the fuzz targets have the same bodies")]

extern crate osier_testkit as libfuzzer_sys;

mod bodies;
#[allow(unused_attributes, reason = "a fuzz target is a program of its own")]
#[path = "../../../../fuzz/fuzz_targets/index.rs"]
mod index_target;
#[allow(unused_attributes, reason = "a fuzz target is a program of its own")]
#[path = "../../../../fuzz/fuzz_targets/log.rs"]
mod log_target;

use osier_testkit::random_logs;
use proptest::prelude::*;

fn changes() -> impl Strategy<Value = Vec<u8>> {
    // The header of an index is in its first 100 bytes; records start after the first block.
    let place = prop_oneof![0u16..100, 4096u16..12_400];
    let change = (place, any::<[u8; 2]>()).prop_map(|(at, bytes)| [at.to_le_bytes(), bytes].concat());
    let changes = proptest::collection::vec(change, 0..6);
    (any::<u8>(), changes).prop_map(|(sealed, changes)| [vec![sealed], changes.concat()].concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_after_a_header_are_a_log(log in random_logs(true, 0..30), cut in 0usize..200, noise in any::<[u8; 3]>()) {
        let mut bytes = log.lines.join(&b'\n');
        bytes.truncate(bytes.len().saturating_sub(cut));
        if let Some(place) = bytes.len().checked_sub(40) {
            bytes[place..place + 3].copy_from_slice(&noise);
        }
        bodies::log(&bytes);
    }

    #[test]
    fn no_index_changes_the_results(data in changes()) {
        bodies::index(&data);
    }
}

#[test]
fn the_fuzz_targets_run() {
    for run in [log_target::run, index_target::run] {
        for input in [&b""[..], b"{}", b"one\ntwo", &[0xff; 64]] {
            run(input);
        }
    }
}
