//! Memory use of large output: 100 MB of command output go to a file, and a line of 100 MB is not read into memory. This test has
//! its own process, so that it can measure memory.
#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

use std::fs;

use osier_tools::{CommandEnv, ToolCall, ToolContext, ToolSet, Toolbox};
use serde_json::json;

/// The peak memory of this process in KB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn large_output_is_not_kept_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let env = CommandEnv::new([("PATH".into(), std::env::var_os("PATH").unwrap())]);
    let ctx = ToolContext::new(folder.path(), folder.path().join("artefacts"), env);
    let tools = ToolSet::standard();
    let call = |command: &str| ToolCall {
        id: "c".into(),
        name: "bash".into(),
        arguments: json!({ "command": command }),
    };
    tools.run(call("seq 1 100000"), &ctx).await;
    let before = peak();
    for command in ["yes 'a line of text' | head -c 100000000", "head -c 100000000 /dev/zero | tr '\\0' x"] {
        let outcome = tools.run(call(command), &ctx).await;
        assert!(!outcome.is_error && outcome.plain_text().len() < 60_000);
        let path = outcome.details["fullOutputPath"].as_str().unwrap();
        assert_eq!(fs::metadata(path).unwrap().len(), 100_000_000);
        fs::remove_file(path).unwrap();
    }
    let grown = peak() - before;
    assert!(grown < 8 * 1024, "{grown} KB more than before");

    tools.run(call("head -c 100000000 /dev/zero | tr '\\0' x > line"), &ctx).await;
    let grep = ToolCall { id: "c".into(), name: "grep".into(), arguments: json!({ "pattern": "needle" }) };
    let outcome = tools.run(grep, &ctx).await;
    assert!(outcome.plain_text().contains("not searched to the end"), "{}", outcome.plain_text());
    let grown = peak() - before;
    assert!(grown < 32 * 1024, "{grown} KB more than before");
}
