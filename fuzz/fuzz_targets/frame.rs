//! Reads arbitrary bytes as frames of the client protocol.

#![no_main]

#[allow(dead_code, reason = "each target uses one function")]
#[path = "../../crates/wire/tests/fuzzed/bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::frame(data));
