//! Moves with a branch summary.

use std::fs;

use osier_testkit::{ScriptedSession, expect};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::run_support::{ModelServer, RunningCommand, osier_command};
use crate::support::TestEnv;

const SCRIPT: &str = "say a; reply b; say try the cache; reply it is too slow, so I gave it up";

fn last(env: &TestEnv) -> Value {
    serde_json::from_str(env.lines("s.jsonl").last().unwrap()).unwrap()
}

/// A world with a session to move in, whose model is the server.
fn with_server(server: &ModelServer) -> TestEnv {
    let env = server.env();
    env.write("s.jsonl", ScriptedSession::run(SCRIPT).file());
    env
}

#[test]
fn a_move_with_a_summary_appends_only_the_summary() {
    let env = TestEnv::with(SCRIPT);
    env.check(
        &["move s.jsonl 00000002 --summarize --model offline", "tree s.jsonl --ids", "context s.jsonl", "undo s.jsonl"],
        expect![[r#"
            $ move s.jsonl 00000002 --summarize --model offline
            ! Moved to <1>, a summary of the branch you left
            $ tree s.jsonl --ids
            00000001  user: "a"
            00000002  assistant: "b"
            ├─ 00000003  user: "try the cache"
            │  00000004  assistant: "it is too slow, so I gave it up"
            └─ <1>  [branch summary]: try the cache; it is too slow, so I gave it up; Ask the user what comes next.  ← active
            $ context s.jsonl
            ── user
            a
            ── assistant
            b
            ── branchSummary
            The user tried another branch of this conversation before coming back here.
            Summary of that branch:

            ## Goal
            - try the cache

            ## Constraints & Preferences
            - (none)

            ## Progress

            ### Done
            - (none)

            ### In Progress
            - (none)

            ### Blocked
            - (none)

            ## Key Decisions
            - it is too slow, so I gave it up

            ## Next Steps
            1. Ask the user what comes next.
            3 messages
            $ undo s.jsonl
            ! Moved to 00000004
        "#]],
    );
    let lines = env.lines("s.jsonl");
    assert_eq!(lines.len(), 7, "the header, the script, the summary and the undo");
    let summary: Value = serde_json::from_str(&lines[5]).unwrap();
    assert_eq!(
        (&summary["type"], &summary["parentId"], &summary["fromId"]),
        (&json!("branch_summary"), &json!("00000002"), &json!("00000004"))
    );
    assert_eq!(summary["details"], json!({ "readFiles": [], "modifiedFiles": [] }));
    assert_eq!(summary["model"], "offline");
}

#[test]
fn json_names_the_summary_and_the_text() {
    let env = TestEnv::with(SCRIPT);
    let moved = env.json("move s.jsonl 00000003 --summarize --model offline");
    assert_eq!(
        moved,
        json!({
            "leafId": last(&env)["id"], "moved": true, "cancelled": false, "editorText": "try the cache",
            "summaryEntry": last(&env)["id"],
        })
    );
    assert_eq!(last(&env)["parentId"], "00000002");
}

#[test]
fn the_label_goes_on_the_summary_even_at_the_root() {
    let env = TestEnv::with(SCRIPT);
    let moved = env.json("move s.jsonl root --summarize --model offline --label tried");
    assert_eq!(env.json("label s.jsonl"), json!({ moved["summaryEntry"].as_str().unwrap(): "tried" }));
    assert_eq!(env.json("path s.jsonl")[0]["id"], moved["summaryEntry"]);
}

#[test]
fn a_move_that_leaves_nothing_behind_calls_no_model() {
    let env = TestEnv::with("say a; reply b; say c; reply d; move b");
    env.check(
        &[
            "move s.jsonl 00000004 --summarize",
            "move s.jsonl 00000004 --summarize --label here",
            "label s.jsonl",
        ],
        expect![[r#"
            $ move s.jsonl 00000004 --summarize
            ! nothing to summarize: this move leaves no entries behind
            ! Moved to 00000004
            $ move s.jsonl 00000004 --summarize --label here
            ! nothing to summarize: this move leaves no entries behind
            ! Already at 00000004
            $ label s.jsonl
            00000004  here
        "#]],
    );
}

#[test]
fn an_unavailable_model_is_reported_and_nothing_changes() {
    let env = TestEnv::with(SCRIPT);
    let before = env.read("s.jsonl");
    env.check(
        &[
            "move s.jsonl 00000002 --summarize",
            "move s.jsonl 00000002 --summarize --model offlin",
            "move s.jsonl 00000002 --instructions short",
            "move s.jsonl 00000002 --summarize --replace-instructions",
            "move s.jsonl 00000002 --model offline",
            "move s.jsonl 0000000f --summarize --model offline",
        ],
        expect![[r#"
            $ move s.jsonl 00000002 --summarize
            ! osier: cannot write the summary with anthropic/claude, the model of this session: set ANTHROPIC_API_KEY; choose another model with --model, for example --model offline, or permanently with `osier config set summary_model NAME`
            exit 1
            $ move s.jsonl 00000002 --summarize --model offlin
            ! osier: unknown model offlin; did you mean offline/offline? `osier models` lists the available models
            exit 2
            $ move s.jsonl 00000002 --instructions short
            ! error: the following required arguments were not provided:
            !   --summarize
            ! 
            ! Usage: osier sessions move --summarize --instructions <TEXT> <SESSION> <ENTRY>
            ! 
            ! For more information, try '--help'.
            exit 2
            $ move s.jsonl 00000002 --summarize --replace-instructions
            ! error: the following required arguments were not provided:
            !   --instructions <TEXT>
            ! 
            ! Usage: osier sessions move --summarize --instructions <TEXT> --replace-instructions <SESSION> <ENTRY>
            ! 
            ! For more information, try '--help'.
            exit 2
            $ move s.jsonl 00000002 --model offline
            ! error: the following required arguments were not provided:
            !   --summarize
            ! 
            ! Usage: osier sessions move --summarize --model <NAME> <SESSION> <ENTRY>
            ! 
            ! For more information, try '--help'.
            exit 2
            $ move s.jsonl 0000000f --summarize --model offline
            ! osier: no entry 0000000f in this session; did you mean 00000001, 00000002, 00000003, 00000004?
            exit 1
        "#]],
    );
    fs::create_dir_all(env.home()).unwrap();
    fs::write(env.home().join("config.toml"), "summary_model = 'nobody/here'\n").unwrap();
    assert_eq!(
        env.fails(1, "move s.jsonl 00000002 --summarize"),
        "osier: cannot use the setting summary_model: unknown model nobody/here; `osier models` lists the available models\n"
    );
    assert_eq!(env.read("s.jsonl"), before);
    fs::write(env.home().join("config.toml"), "summary_model = 'offline'\n").unwrap();
    env.ok("move s.jsonl 00000002 --summarize");
    assert_eq!(last(&env)["model"], "offline");
}

#[test]
fn instructions_are_added_or_replace_the_defaults() {
    let server = ModelServer::new();
    let env = with_server(&server);
    let own = "move s.jsonl 00000002 --summarize --model local/test --instructions 'only what failed'";
    let request = |args: &str| {
        let words: Vec<&str> = args.split(' ').collect();
        let line: Vec<&str> =
            ["sessions", "move", "s.jsonl", "00000002", "--summarize", "--model", "local/test"]
                .into_iter()
                .chain(["--instructions", "only what failed"])
                .chain(words.into_iter().filter(|word| !word.is_empty()))
                .collect();
        let running = RunningCommand::start(osier_command(&env, &line));
        let request = server.next_request();
        let output = request.messages().concat();
        request.reply("It was slow.");
        assert_eq!(running.wait().code, 0, "{own}");
        env.ok("undo s.jsonl");
        output
    };
    let added = request("");
    assert!(added.contains("try the cache") && added.contains("## Goal"), "{added}");
    assert!(added.ends_with("Additional focus: only what failed"), "{added}");
    let alone = request("--replace-instructions");
    assert!(alone.contains("try the cache") && !alone.contains("## Goal"), "{alone}");
    assert!(!alone.contains("reply b"), "entries of both branches are not summarized: {alone}");
}

#[test]
fn a_canceled_or_failed_summary_changes_nothing() {
    let server = ModelServer::new();
    let env = with_server(&server);
    let before = env.read("s.jsonl");
    let start = |json: bool| {
        let mut args =
            vec!["sessions", "move", "s.jsonl", "00000002", "--summarize", "--model", "local/test"];
        args.extend(json.then_some("--json"));
        RunningCommand::start(osier_command(&env, &args))
    };
    for json in [false, true] {
        let running = start(json);
        let mut request = server.next_request();
        request.send_text("It was");
        running.signal(Signal::INT);
        request.wait_for_disconnect();
        let run_output = running.wait();
        assert_eq!((run_output.code, run_output.err.as_str()), (130, "Canceled; nothing changed\n"));
        let output = r#"{"leafId":"00000004","moved":false,"cancelled":true,"aborted":true}"#;
        assert_eq!(run_output.out.trim_end(), if json { output } else { "" });
        assert_eq!(env.read("s.jsonl"), before);
    }
    let failing: [(&str, &dyn Fn(crate::run_support::ModelRequest)); 3] = [
        ("refused", &|request| request.refuse(400, r#"{"error":{"message":"no"}}"#)),
        ("cut off", &|mut request| {
            request.send_text("It");
            request.finish("length");
        }),
        ("blank", &|request| request.reply(" ")),
    ];
    let mut output = String::new();
    for (name, fail) in failing {
        let running = start(false);
        fail(server.next_request());
        let run_output = running.wait();
        assert_eq!((run_output.code, run_output.out.as_str()), (1, ""), "{name}");
        output += &format!("{name}: {}", run_output.err);
        assert_eq!(env.read("s.jsonl"), before, "{name}");
    }
    expect![[r#"
        refused: osier: cannot write the summary: local rejected the request (status 400). no
        cut off: osier: the summary reached the output limit; choose a model for summaries with a higher limit
        blank: osier: the model returned an empty summary; try again, or choose another model for summaries
    "#]]
    .assert_eq(&output);
}

/// The command exits, so it records the cost at once. The entry is a mark: the leaf does not move.
#[test]
fn usage_of_a_failed_summary_is_recorded() {
    let server = ModelServer::new();
    let env = server.env();
    env.write("s.jsonl", ScriptedSession::run("say a; reply b; say c; reply d").file());
    let (before, context) = (env.lines("s.jsonl"), env.json("context s.jsonl")["messages"].take());
    let args = ["sessions", "move", "s.jsonl", "00000002", "--summarize", "--model", "local/test"];
    let running = RunningCommand::start(osier_command(&env, &args));
    let mut request = server.next_request();
    request.send_text("It");
    request.send_usage(1000, 20);
    request.finish("length");
    assert_eq!(running.wait().code, 1);
    let lines = env.lines("s.jsonl");
    assert_eq!(lines[..before.len()], before);
    let cost: Vec<Value> =
        lines[before.len()..].iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(cost.len(), 1, "{cost:?}");
    assert_eq!((&cost[0]["type"], &cost[0]["usage"]["totalTokens"]), (&"usage".into(), &1020.into()));
    assert_eq!(cost[0]["parentId"], "00000004");
    assert_eq!(env.json("context s.jsonl")["messages"], context);
}

#[test]
fn moves_with_summary_work_in_a_pi_file() {
    let env = TestEnv::new();
    let file = fs::read(crate::conformance::fixture("v3-1.5.0-fork-source.jsonl")).unwrap();
    env.write("pi.jsonl", &file);
    let path = env.json("path pi.jsonl");
    let first =
        path.as_array().unwrap().iter().find(|entry| entry["message"]["role"] == "assistant").unwrap();
    let id = first["id"].as_str().unwrap();
    let moved = env.json(&format!("move pi.jsonl {id} --summarize --model offline"));
    assert_eq!(moved["moved"], true);
    let messages = env.json("context pi.jsonl")["messages"].clone();
    assert_eq!(messages.as_array().unwrap().last().unwrap()["role"], "branchSummary");
    assert!(env.session_files().is_empty(), "the file is changed in place");
    assert!(env.read("pi.jsonl").starts_with(&file), "and only appended to");
}
