//! Tests of the engine through its public interface.
#![allow(clippy::unwrap_used)]

mod attaching;
mod clients;
mod explore;
mod explore_keep;
mod explore_kills;
mod explore_leftovers;
mod explore_position;
mod followed_events;
mod hooks;
mod keep_kills;
mod live;
#[path = "../../examples/one_call_each.rs"]
#[allow(dead_code)]
mod one_call_each;
#[path = "../../examples/read_only_hook.rs"]
#[allow(dead_code)]
mod read_only_hook;
mod reading;
mod sessions;
mod subagent_cancel;
mod subagent_crashes;
mod subagent_kills;
mod subagents;
mod support;
mod tool_limits;

#[tokio::test]
async fn a_repeated_call_writes_once() {
    let output = one_call_each::run().await.unwrap();
    assert_eq!(output, "1 entry, leaf \"first\"; different content with that id: entry_conflict");
}

#[tokio::test]
async fn a_hook_blocks_a_tool() {
    let output = read_only_hook::run().await.unwrap();
    assert_eq!(output, "write is not allowed here; file written: false; counted entries: true");
}
