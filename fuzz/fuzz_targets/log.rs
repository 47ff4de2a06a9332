//! Opens arbitrary bytes as a session file.

#![no_main]

#[allow(dead_code, reason = "each target uses one function")]
#[path = "../../crates/store/tests/fuzzed/bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::log(data));
