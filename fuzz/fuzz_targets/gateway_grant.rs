//! Reads arbitrary changes of a grant.

#![no_main]

#[allow(dead_code, reason = "each target uses one function")]
#[path = "../../crates/gateway/tests/fuzzed/bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::grant(data));
