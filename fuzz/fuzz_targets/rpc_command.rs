//! Reads arbitrary bytes as a command of RPC mode.

#![no_main]

#[path = "../../crates/rpc/tests/fuzzed/bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::command(data));
