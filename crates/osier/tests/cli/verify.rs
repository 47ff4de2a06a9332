//! `verify`: every problem with its line.

use osier_testkit::expect;
use serde_json::json;

use crate::support::TestEnv;

#[test]
fn an_undamaged_file_passes() {
    let env = TestEnv::with("say a; reply b; label x");
    env.check(&["verify s.jsonl", "verify s.jsonl --json"], expect![[r#"
        $ verify s.jsonl
        3 entries, no damage found
        $ verify s.jsonl --json
        {"session":"5e551011-0000-4000-8000-000000000001","file":"$DIR/code/s.jsonl","entries":3,"sound":true,"oddities":[]}
    "#]]);
}

#[test]
fn every_problem_is_reported_with_its_line() {
    let env = TestEnv::with("say a; reply b");
    let mut file = String::from_utf8(env.read("s.jsonl")).unwrap();
    for line in [
        "not json",
        "null",
        r#"{"type":"message"}"#,
        "",
        r#"{"type":"session","version":3,"id":"another","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#,
        r#"{"type":"future","id":"00000003","parentId":"00000002","timestamp":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"type":"custom","id":"00000004","parentId":"ffffffff","timestamp":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"type":"custom","id":"00000005","parentId":"00000005","timestamp":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"type":"custom","id":"00000006","parentId":"00000007","timestamp":"yesterday"}"#,
        r#"{"type":"custom","id":"00000007","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"type":"custom","id":"00000007","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"type":"compaction","id":"00000008","parentId":"00000007","timestamp":"2026-01-01T00:00:00.000Z","summary":"s","firstKeptEntryId":"00000001"}"#,
        r#"{"type":"message","id":"00000009","parentId":"00000008","timestamp":"2026-01-01T00:0"#,
    ] {
        file += line;
        file.push('\n');
    }
    env.write("s.jsonl", file.trim_end());
    let before = env.read("s.jsonl");
    env.check(
        &["verify s.jsonl"],
        expect![[r#"
            $ verify s.jsonl
            line 4: not JSON: torn or damaged
            line 5: JSON, but not an object
            line 6: an object without an id
            line 7: an empty line
            line 8: extra header (2 in total); only the first one is used
            line 9: entry 00000003 has an unknown type; it is kept unchanged
            line 10: entry 00000004 has a parent that is not in the file; shown as a root
            line 11: entry 00000005 is in a cycle of parents; shown as a root
            line 12: entry 00000006 comes before its parent
            line 12: entry 00000006 has no valid timestamp
            line 13: entry 00000007 appears again below; the last one is used
            line 15: compaction 00000008 starts keeping at an entry that is not above it; nothing is kept
            line 16: a torn line at the end; the next append starts a new line
            9 entries, damaged; all readable entries are used, and the file is unchanged
            exit 1
        "#]],
    );
    let output = env.run("verify s.jsonl --json");
    assert_eq!(output.code, 1);
    let found: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(found["sound"], json!(false));
    assert_eq!(
        found["oddities"][0],
        json!({ "line": 4, "damage": true, "what": "not JSON: torn or damaged" })
    );
    assert_eq!(env.read("s.jsonl"), before);
}

#[test]
fn unusual_lines_are_reported_but_pass() {
    let env = TestEnv::with("say a");
    let mut file = env.read("s.jsonl");
    file.pop();
    env.write("s.jsonl", file);
    env.check(
        &["verify s.jsonl"],
        expect![[r#"
        $ verify s.jsonl
        line 2: the last line has no newline; the next append adds it
        1 entry, no damage found
    "#]],
    );
    env.write("old.jsonl", std::fs::read(crate::conformance::fixture("v1-linear.jsonl")).unwrap());
    env.check(
        &["verify old.jsonl"],
        expect![[r#"
        $ verify old.jsonl
        line 1: version 1: read as version 3; the first append rewrites the file as version 3
        9 entries, no damage found
    "#]],
    );
}

/// A truncated line is kept; the next entry starts on a new line, and nothing is lost.
#[test]
fn an_append_after_a_truncated_line_keeps_both() {
    let env = TestEnv::with("say a; reply b");
    let mut file = env.read("s.jsonl");
    file.extend_from_slice(br#"{"type":"message","id":"000"#);
    env.write("s.jsonl", &file);
    assert_eq!(env.json("context s.jsonl")["leafId"], "00000002");
    env.ok("append s.jsonl c");
    assert!(env.read("s.jsonl").starts_with(&file));
    assert_eq!(env.json("path s.jsonl").as_array().unwrap().len(), 3);
    assert_eq!(env.run("verify s.jsonl").code, 1);
}

/// Osier removes its own line that a full disk truncated, and every command works as before.
#[test]
fn after_a_full_disk_verify_and_gc_work() {
    let env = TestEnv::with("say a; reply b; say c; reply d");
    env.ok("move s.jsonl 00000002");
    env.ok("delete-branch s.jsonl 00000003");
    let before = env.read("s.jsonl");
    let mut limited = std::process::Command::new("sh");
    let osier = env.command();
    limited.args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\""]).arg(osier.get_program());
    limited.env_clear().envs(osier.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited.current_dir(env.cwd()).args(["sessions", "append", "s.jsonl", &"x".repeat(100_000)]);
    let output = crate::support::CommandOutput::from_output(limited.output().unwrap());
    assert_ne!(output.code, 0, "the disk has no room: {output}");
    assert_eq!(env.read("s.jsonl"), before);
    env.ok("verify s.jsonl");
    env.ok("append s.jsonl later");
    env.ok("gc s.jsonl");
    env.ok("verify s.jsonl");
    assert!(env.ok("path s.jsonl").contains("later"));
}
