//! Short runs of the fuzz targets with random input; see `fuzz/README.md`.
#![allow(clippy::duplicate_mod, reason = "the fuzz targets have the same bodies")]

extern crate osier_testkit as libfuzzer_sys;

mod bodies;
#[allow(unused_attributes, reason = "a fuzz target is a program of its own")]
#[path = "../../../../fuzz/fuzz_targets/fold.rs"]
mod fold_target;
#[allow(unused_attributes, reason = "a fuzz target is a program of its own")]
#[path = "../../../../fuzz/fuzz_targets/line.rs"]
mod line_target;
#[allow(unused_attributes, reason = "a fuzz target is a program of its own")]
#[path = "../../../../fuzz/fuzz_targets/migration.rs"]
mod migration_target;

use osier_testkit::random_logs;
use proptest::prelude::*;

/// Fragments of lines, so that random input is close to valid lines.
const PIECES: [&str; 28] = [
    "\n",
    "\n",
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
    "-0.5",
    "\"type\":\"message\"",
    "\"id\":\"aaaaaaaa\"",
    "\"id\":\"b\"",
    "\"parentId\":\"aaaaaaaa\"",
    "\"parentId\":\"b\"",
    "\"parentId\":null",
    "\"message\":{\"role\":\"user\",\"content\":\"x\"}",
    "\"message\":{\"role\":\"hookMessage\"}",
    "\"type\":\"session\"",
    "\"type\":\"compaction\",\"firstKeptEntryIndex\":1",
    "\"firstKeptEntryId\":\"b\"",
    "\r",
    " ",
    "\u{e9}",
    "\\ud800",
];

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => (0..PIECES.len()).prop_map(|at| PIECES[at].as_bytes().to_vec()),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Random logs with some bytes changed.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let changes = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (random_logs(true, 1..30), changes).prop_map(|(log, changes)| {
        let mut bytes = log.lines.join(&b'\n');
        for (at, byte) in changes.into_iter().filter(|_| !log.lines.is_empty()) {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        bytes
    })
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![pieces(), mutated()]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_line_parses_like_json(data in pieces()) {
        bodies::line(&data);
    }

    #[test]
    fn any_log_folds(data in bytes()) {
        bodies::fold(&data);
    }

    #[test]
    fn any_old_log_migrates(data in bytes()) {
        bodies::migration(&data);
    }
}

#[test]
fn the_fuzz_targets_run() {
    for run in [line_target::run, fold_target::run, migration_target::run] {
        for input in [&b""[..], b"{}", b"one\ntwo", &[0xff; 64]] {
            run(input);
        }
    }
}
