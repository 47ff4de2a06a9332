//! Very deep and very large sessions.

use std::fmt::Write;
use std::fs;
use std::io::Read;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::TestEnv;

const DEPTH: usize = 200_000;

fn chain() -> TestEnv {
    let mut file = String::from(
        r#"{"type":"session","version":3,"id":"deep","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#,
    );
    file.push('\n');
    for number in 0..DEPTH {
        let parent = number.checked_sub(1).map_or("null".to_owned(), |parent| format!("\"{parent:08x}\""));
        let role = if number % 2 == 0 { "user" } else { "assistant" };
        writeln!(file, r#"{{"type":"message","id":"{number:08x}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"{role}","content":"m"}}}}"#).unwrap();
    }
    let env = TestEnv::new();
    env.write("s.jsonl", file);
    env
}

#[test]
fn chain_of_200_000_entries_needs_no_recursion() {
    let env = chain();
    let last = format!("\"{:08x}\"", DEPTH - 1);
    let tree = env.ok("tree s.jsonl --json");
    assert!(tree.starts_with("[{\"entry\":{") && tree.ends_with("]}]}]}]\n"));
    assert_eq!(tree.matches("\"children\":[").count(), DEPTH);
    assert_eq!(tree.matches('[').count(), tree.matches(']').count());
    assert_eq!(tree.matches('{').count(), tree.matches('}').count());

    let flat = env.ok("tree s.jsonl --json --flat");
    assert_eq!(flat.lines().count(), DEPTH);
    let row: Value = serde_json::from_str(flat.lines().last().unwrap().trim_end_matches(']')).unwrap();
    assert_eq!((&row["depth"], &row["onPath"]), (&json!(DEPTH - 1), &json!(true)));

    assert_eq!(env.ok("tree s.jsonl").lines().count(), DEPTH);
    assert_eq!(env.ok("path s.jsonl --json").lines().count(), DEPTH);
    assert_eq!(env.ok("context s.jsonl --json").matches("\"content\":\"m\"").count(), DEPTH);
    let snapshot = env.ok("snapshot s.jsonl --no-context");
    assert!(snapshot.contains(&format!("{last}]\n,\"childrenByParentId\"")));
}

/// Runs a command. Returns the number of bytes it wrote and its peak memory in bytes.
fn run_measuring_memory(env: &TestEnv, line: &str) -> (u64, u64) {
    let mut command = env.command();
    let mut child = command.arg("sessions").args(line.split(' ')).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let (mut written, mut peak_kilobytes, mut buffer) = (0, 0, vec![0; 1 << 20]);
    while let Ok(count @ 1..) = out.read(&mut buffer) {
        written += count as u64;
        // The process cannot exit while the pipe is full, so this covers nearly its whole lifetime.
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        peak_kilobytes = peak_kilobytes.max(peak.and_then(|peak| peak.parse().ok()).unwrap_or(0) * 1024);
    }
    assert!(child.wait().unwrap().success(), "{line}");
    (written, peak_kilobytes)
}

#[test]
fn streamed_output_is_never_held_in_memory() {
    let large = "large ".repeat(10_000);
    let mut file = String::from(
        r#"{"type":"session","version":3,"id":"large","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#,
    );
    file.push('\n');
    for number in 0..1_500 {
        let parent = if number == 0 { "null".to_owned() } else { format!("\"{:08x}\"", number - 1) };
        writeln!(file, r#"{{"type":"message","id":"{number:08x}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"user","content":"{large}"}}}}"#).unwrap();
    }
    let size = file.len() as u64;
    let env = TestEnv::new();
    env.write("s.jsonl", file);
    for line in [
        "context s.jsonl --json",
        "context s.jsonl",
        "path s.jsonl --json",
        "tree s.jsonl --json",
        "snapshot s.jsonl",
    ] {
        let (written, peak_kilobytes) = run_measuring_memory(&env, line);
        assert!(written >= size * 9 / 10, "{line}: {written} of {size} bytes");
        assert!(peak_kilobytes > 0 && peak_kilobytes < size / 2, "{line}: {peak_kilobytes} of {size} bytes");
    }
}
