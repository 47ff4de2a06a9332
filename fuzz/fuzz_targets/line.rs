//! Reads arbitrary bytes as a log line.

#![no_main]

#[allow(dead_code, reason = "each target uses one function")]
#[path = "../../crates/tree/tests/fuzzed/bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::line(data));
