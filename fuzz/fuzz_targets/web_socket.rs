//! Reads arbitrary bytes as messages of a WebSocket.

#![no_main]

#[allow(dead_code, reason = "each target uses one function")]
#[path = "../../crates/wire/tests/fuzzed/bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::web_socket(data));
