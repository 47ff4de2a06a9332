//! Long sessions are shown, exported and forked in chunks, with little memory.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::{CommandOutput, TestEnv};

/// Memory limit of a command in KB: a quarter of the session's size, so the path does not fit.
const MOST_DATA: usize = 16 << 10;

/// Writes a session of about 68 MB that is one long path.
fn long_session(env: &TestEnv) -> usize {
    let mut file = std::fs::File::create(env.path("long.jsonl")).unwrap();
    let header = osier_tree::Header::new("5e551011-0000-4000-8000-000000000009", 0, "/x");
    file.write_all(&header.to_line()).unwrap();
    let text = "willow ".repeat(16 << 10);
    let mut parent = "null".to_owned();
    for number in 0..600 {
        let id = format!("{number:08x}");
        let role = if number % 2 == 0 { "user" } else { "assistant" };
        let content = format!(r#"[{{"type":"text","text":"{text}"}}]"#);
        let message = format!(r#"{{"role":"{role}","content":{content},"timestamp":1767225600000}}"#);
        let time = "2026-01-01T00:00:00.000Z";
        write!(
            file,
            "\n{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"{time}\",\"message\":{message}}}"
        )
        .unwrap();
        parent = format!("\"{id}\"");
    }
    writeln!(file).unwrap();
    file.metadata().unwrap().len() as usize
}

/// Runs a command with the memory limit.
fn in_little_memory(env: &TestEnv, line: &str) -> CommandOutput {
    let osier = env.command();
    let limited = format!("ulimit -d {MOST_DATA} && exec {:?} sessions {line} > out", osier.get_program());
    let mut command = Command::new("sh");
    command.arg("-c").arg(limited).env_clear().current_dir(env.cwd()).stdin(Stdio::null());
    command.envs(osier.get_envs().filter_map(|(key, value)| Some((key, value?))));
    CommandOutput::from_output(command.output().unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn long_paths_are_shown_exported_and_forked_in_little_memory() {
    let env = TestEnv::new();
    let size = long_session(&env);
    assert!(size > 4 * (MOST_DATA << 10), "{size} bytes");
    for line in [
        "show long.jsonl",
        "export long.jsonl",
        "export long.jsonl --json",
        "export long.jsonl --format jsonl",
        "export long.jsonl --output copy.jsonl",
        "export long.jsonl --output copy.html",
        "fork long.jsonl --name copied",
    ] {
        let output = in_little_memory(&env, line);
        assert_eq!((output.code, output.err.as_str()), (0, ""), "{line}: {output}");
        let written = std::fs::metadata(env.path("out")).unwrap().len() as usize;
        assert!(
            written * 10 > size * 9 || line.contains("--output") || line.starts_with("fork"),
            "{line}: {written}"
        );
    }
    let copied = std::fs::metadata(env.path("copy.jsonl")).unwrap().len() as usize;
    assert!(copied * 10 > size * 9 && copied < size + 1000, "{copied} of {size} bytes");
    // The page has the texts, and the log to save.
    let page = std::fs::metadata(env.path("copy.html")).unwrap().len() as usize;
    assert!(page * 10 > size * 18, "{page} of {size} bytes");
    assert_eq!(env.json("list --all --named")[0]["messageCount"], 600);
}
