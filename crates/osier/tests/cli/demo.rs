//! `demo`: its output, and that all printed commands work.

use std::process::Command;

use osier_testkit::expect;

use crate::support::{CommandOutput, TestEnv};

#[test]
fn demo_prints_its_path_and_commands_to_try() {
    let env = TestEnv::new();
    let run_output = env.args(&["demo"]);
    assert_eq!(run_output.code, 0, "{}", run_output.err);
    let file = env.session_file();
    let out = run_output.out.replace(&file.to_string_lossy().into_owned(), "$FILE");
    expect![[r#"
        Created a session with 14 entries:
          $FILE

        It is a plain file that holds a tree. Try:

          osier sessions tree <1>                         show the whole tree; ← active marks the current position
          osier sessions show <1>                         show the conversation on the active branch
          osier sessions move <1> 0000000c                go back to before a question; prints its text
          osier sessions tree <1> --ids                   show the new position, with entry ids
          osier sessions undo <1>                         undo the move
          osier sessions label <1> 0000000d 'good idea'   label an entry
          osier sessions fork <1> 00000005                copy the path to an entry into a new session
          osier sessions context <1>                      show what a model would get
          osier sessions show <1> --usage                 show tokens and cost
          osier sessions delete <1> --yes                 delete the session
    "#]]
    .assert_eq(&env.with_stable_names(&out));
}

/// Runs every printed command in a shell.
#[test]
fn every_printed_command_works() {
    let env = TestEnv::new();
    let hints = env.args(&["demo"]).out;
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_osier")).parent().unwrap().to_owned();
    let path = std::env::join_paths(
        [bin].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut output = String::new();
    let calls = hints.lines().filter_map(|line| line.strip_prefix("  osier sessions "));
    for call in calls.map(|call| call.split("   ").next().unwrap()) {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("osier sessions {call}")]).env("PATH", path.as_ref().unwrap());
        let run_output = CommandOutput::from_output(
            shell.env("OSIER_HOME", env.home()).current_dir(env.cwd()).output().unwrap(),
        );
        assert_eq!(run_output.code, 0, "{call}: {}", run_output.err);
        let last = run_output.out.lines().last().or(run_output.err.lines().last()).unwrap_or_default();
        output += &format!("{call}: {last}\n");
    }
    expect![[r#"
        tree <1>:    assistant: "Much simpler: each line stands alone, long lists stream, and an error is just a last line that says so. 一行一个对象。"  ← active
        show <1>: Much simpler: each line stands alone, long lists stream, and an error is just a last line that says so. 一行一个对象。
        move <1> 0000000c: Other way: print one JSON object per line instead
        tree <1> --ids:    0000000d  assistant: "Much simpler: each line stands alone, long lists stream, and an error is just a last line that says so. 一行一个对象。"
        undo <1>: Moved to 0000000d
        label <1> 0000000d 'good idea': 0000000d  good idea
        fork <1> 00000005: <2>
        context <1>: 7 messages
        show <1> --usage: session                         5   7.9k     235        5.9k            0     14k    $0
        delete <1> --yes: Deleted 1 session (17 entries)
    "#]].assert_eq(&env.with_stable_names(&output));
}

#[test]
fn demo_is_valid_and_new_each_time() {
    let env = TestEnv::new();
    let first = env.args(&["demo", "--quiet"]).out;
    let second = env.args(&["demo", "--quiet"]).out;
    assert_ne!(first, second);
    assert_eq!(env.json(&format!("verify {}", first.trim()))["oddities"], serde_json::json!([]));
    assert!(env.ok("list").lines().all(|row| row.contains("  now  A JSON flag for list (demo)")));
}
