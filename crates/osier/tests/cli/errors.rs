//! Errors: as a line of text or, with --json, as JSON with a code; the exit code is the same.

use osier_testkit::expect;
use osier_tree::ErrorCode;
use serde_json::Value;

use crate::support::TestEnv;

fn error(err: &str) -> Value {
    let last = err.lines().last().unwrap_or_default();
    let value: Value = serde_json::from_str(last).unwrap_or_else(|error| panic!("{error} in {err}"));
    let code = value["error"]["code"].as_str().unwrap();
    assert!(ErrorCode::ALL.iter().any(|known| known.name() == code), "{code} is not in the list");
    assert_eq!(value.as_object().unwrap().len(), 1);
    value["error"].clone()
}

#[test]
fn json_errors_have_a_code_and_the_same_exit_code() {
    let env = TestEnv::with("say a; reply b; say c; reply d");
    env.ok("delete-branch s.jsonl 00000003");
    let mut output = String::new();
    for line in [
        "tree 99999999",
        "tree none.jsonl",
        "path s.jsonl --at 99999999",
        "move s.jsonl 00000001 --expect 00000001",
        "move s.jsonl 00000004",
        "redo s.jsonl",
        "append s.jsonl --entry null",
        "append s.jsonl --parent 99999999 x",
        "config s.jsonl approvalMode=never",
        "compaction s.jsonl",
        "export s.jsonl --output s.jsonl",
        "list --limit many",
        "nonsense",
    ] {
        let (plain, json) = (env.run(line), env.run(&format!("{line} --json")));
        assert_eq!((plain.code, plain.out.is_empty()), (json.code, json.out.is_empty()), "{line}: {json}");
        let error = error(&json.err);
        assert!(
            plain.err.contains(error["message"].as_str().unwrap().lines().next().unwrap()),
            "{line}: {error}"
        );
        output += &format!("{line}: {} {}\n", json.code, error["code"].as_str().unwrap());
    }
    expect![[r#"
        tree 99999999: 1 session_not_found
        tree none.jsonl: 1 session_not_found
        path s.jsonl --at 99999999: 1 entry_not_found
        move s.jsonl 00000001 --expect 00000001: 1 leaf_changed
        move s.jsonl 00000004: 1 entry_hidden
        redo s.jsonl: 1 nothing_to_redo
        append s.jsonl --entry null: 2 not_an_entry
        append s.jsonl --parent 99999999 x: 1 entry_not_found
        config s.jsonl approvalMode=never: 2 wrong_setting
        compaction s.jsonl: 1 not_a_compaction
        export s.jsonl --output s.jsonl: 1 already_exists
        list --limit many: 2 usage
        nonsense: 2 usage
    "#]]
    .assert_eq(&output);
}

/// What a program needs to go on is in fields of its own, not only in the text.
#[test]
fn an_error_has_fields() {
    let env = TestEnv::with("say a; reply b; say c; reply d");
    let check = |line: &str, field: &str, value: &str| {
        let error = error(&env.run(&format!("{line} --json")).err);
        assert_eq!(error[field], value, "{line}: {error}");
    };
    check("move s.jsonl 00000001 --expect 00000001", "leaf", "00000004");
    env.ok("delete-branch s.jsonl 00000003");
    check("move s.jsonl 00000004", "entry", "00000004");
    check("delete-branch s.jsonl 00000003", "entry", "00000003");
}

#[test]
fn json_mode_errors_have_a_code() {
    let env = TestEnv::new();
    for (args, code, exit) in [
        (&["--mode", "json", "--model", "nonsense", "x"][..], "usage", 2),
        (&["--mode=json", "--resume=99999999", "x"], "session_not_found", 1),
        (&["--mode", "json", "--nonsense"], "usage", 2),
    ] {
        let output = env.args(args);
        assert_eq!(
            (output.code, error(&output.err)["code"].as_str()),
            (exit, Some(code)),
            "{args:?}: {output}"
        );
    }
}
