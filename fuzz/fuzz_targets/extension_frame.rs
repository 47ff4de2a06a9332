//! Reads arbitrary bytes as frames of the processes that run extensions.

#![no_main]

#[path = "../../crates/extensions/tests/fuzzed/bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::extension_frame(data));
