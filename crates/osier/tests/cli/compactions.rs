//! `compact` and `compaction`.

use std::fs;

use osier_testkit::{Expect, ScriptedSession, expect};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::run_support::{ModelServer, RunningCommand, TerminalCommand, osier_command};
use crate::support::TestEnv;

const SCRIPT: &str = "say add a flag; reply looking calls read list.rs; result fn list ~400; reply done ~400; \
                      say and a test; reply written calls write test.rs; result ok; reply all green";

/// A test environment with a small compaction.keep_recent_tokens, so that small sessions can be compacted.
fn env(script: &str, keep: u32) -> TestEnv {
    let env = TestEnv::with(script);
    fs::create_dir_all(env.home()).unwrap();
    let settings = format!("summary_model = 'offline'\ncompaction.keep_recent_tokens = {keep}\n");
    fs::write(env.home().join("config.toml"), settings).unwrap();
    env
}

fn check(script: &str, keep: u32, commands: &[&str], expect: Expect) {
    env(script, keep).check(commands, expect);
}

#[test]
fn summary_replaces_older_messages() {
    check(
        SCRIPT,
        1,
        &["compact s.jsonl", "tree s.jsonl --ids", "context s.jsonl", "compact s.jsonl"],
        expect![[r#"
            $ compact s.jsonl
            <1>
            ! 110 tokens before, ~212 after, kept from 00000008
            $ tree s.jsonl --ids
            00000001  user: "add a flag"
            00000002  assistant: "looking"
            00000003  [read: list.rs]
            00000004  assistant: "done xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
            00000005  user: "and a test"
            00000006  assistant: "written"
            00000007  [write: test.rs]
            00000008  assistant: "all green"
            <1>  [compaction: 0k tokens]  ← active
            $ context s.jsonl
            ── compactionSummary
            ## Goal
            - add a flag

            ## Constraints & Preferences
            - (none)

            ## Progress

            ### Done
            - [x] done xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…

            ### In Progress
            - (none)

            ### Blocked
            - (none)

            ## Key Decisions
            - (none)

            ## Next Steps
            1. Ask the user what comes next.

            ## Critical Context
            - Files read: `list.rs`

            ---

            **Start of the turn that continues below:**

            ## Original Request
            - and a test

            ## Progress So Far
            - [x] wrote `test.rs`
            - [x] written

            ## Context Needed to Continue
            - Files changed: `test.rs`

            <read-files>
            list.rs
            </read-files>

            <modified-files>
            test.rs
            </modified-files>
            ── assistant
            all green
            2 messages
            $ compact s.jsonl
            ! osier: nothing to compact: no new messages since the last compaction
            exit 1
        "#]],
    );
}

#[test]
fn compaction_shows_what_it_dropped() {
    let env = env(SCRIPT, 12);
    let reply = env.json("compact s.jsonl --focus 'the flag'");
    let lines = env.lines("s.jsonl");
    let stored: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    assert_eq!((&reply["entry"], &reply["leafId"]), (&stored["id"], &stored["id"]));
    assert_eq!(reply["firstKeptEntryId"], stored["firstKeptEntryId"]);
    assert_eq!(reply["tokensBefore"], stored["tokensBefore"]);
    let estimated = (reply.get("tokensBeforeEstimated"), reply.get("tokensAfterEstimated"));
    assert_eq!(estimated, (None, Some(&json!(true))), "a reply reported the first; the second is estimated");
    let dropped = env.json("compaction s.jsonl");
    assert_eq!((&dropped["entry"], &dropped["summary"]), (&stored["id"], &stored["summary"]));
    assert_eq!(dropped["tokensAfter"], reply["tokensAfter"]);
    assert_eq!(dropped["readFiles"], json!(["list.rs"]));
    let ids = crate::support::ids(&dropped["dropped"]);
    assert_eq!(ids, ["00000001", "00000002", "00000003", "00000004", "00000005"]);
    env.check(&["compaction s.jsonl"], expect![[r#"
        $ compaction s.jsonl
        compaction <1> by offline/offline
        110 tokens before, ~199 after
        5 entries dropped, kept from 00000006
          00000001  user: "add a flag"
          00000002  assistant: "looking"
          00000003  [read: list.rs]
          00000004  assistant: "done xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
          00000005  user: "and a test"
        read: list.rs

        ## Goal
        - add a flag

        ## Constraints & Preferences
        - (none)

        ## Progress

        ### Done
        - [x] done xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…

        ### In Progress
        - (none)

        ### Blocked
        - (none)

        ## Key Decisions
        - (none)

        ## Next Steps
        1. Ask the user what comes next.

        ## Critical Context
        - Files read: `list.rs`

        ---

        **Start of the turn that continues below:**

        ## Original Request
        - and a test

        ## Progress So Far
        - (none)

        ## Context Needed to Continue
        - (none)
    "#]]);
}

#[test]
fn long_list_is_shortened_in_text_and_complete_in_json() {
    let turns: String = (0..16).map(|turn| format!("say question {turn}; reply answer {turn}; ")).collect();
    let env = env(&turns, 1);
    env.ok("compact s.jsonl");
    let output = env.ok("compaction s.jsonl");
    assert!(output.contains("  … 15 more (shown with --json)\n"), "{output}");
    assert_eq!(env.json("compaction s.jsonl")["dropped"].as_array().unwrap().len(), 31);
}

#[test]
fn undo_moves_to_before_the_compaction_and_restores_the_context() {
    let env = env(SCRIPT, 1);
    let before = env.json("context s.jsonl")["messages"].clone();
    env.ok("compact s.jsonl");
    assert_ne!(env.json("context s.jsonl")["messages"], before);
    env.check(
        &["compaction s.jsonl --undo", "compaction s.jsonl"],
        expect![[r#"
        $ compaction s.jsonl --undo
        ! Moved to 00000008
        $ compaction s.jsonl
        ! osier: no compaction on the path to the leaf; this session has <1>
        exit 1
    "#]],
    );
    assert_eq!(env.json("context s.jsonl")["messages"], before);
    env.ok("undo s.jsonl");
    assert_ne!(env.json("context s.jsonl")["messages"], before);
}

#[test]
fn undo_asks_if_there_are_newer_messages() {
    let env = env(SCRIPT, 1);
    let compaction = env.ok("compact s.jsonl");
    env.ok("append s.jsonl thanks");
    let held = env.read("s.jsonl");
    env.check(&["compaction s.jsonl --undo"], expect![[r#"
        $ compaction s.jsonl --undo
        ! osier: 1 message after it stays on the other branch; add --yes to move to before the compaction anyway
        exit 2
    "#]]);
    assert_eq!(env.read("s.jsonl"), held);
    let moved = env.json(&format!("compaction s.jsonl {} --undo --yes", compaction.trim()));
    assert_eq!(moved, json!({ "leafId": "00000008", "moved": true }));
    assert!(env.ok("tree s.jsonl").contains("user: \"thanks\""));
}

#[test]
fn undo_respects_the_answer_on_a_terminal() {
    let env = env(SCRIPT, 1);
    env.ok("compact s.jsonl");
    env.ok("append s.jsonl thanks");
    let held = env.read("s.jsonl");
    for (answer, code) in [("n", 1), ("y", 0)] {
        let mut terminal =
            TerminalCommand::start(osier_command(&env, &["sessions", "compaction", "s.jsonl", "--undo"]));
        terminal.read_until(
            "1 message after it stays on the other branch. Move to before the compaction? [y/N] ",
        );
        terminal.type_in(&format!("{answer}\n"));
        assert_eq!(terminal.wait().0, code);
        assert_eq!(env.read("s.jsonl") == held, code == 1);
    }
}

#[test]
fn error_for_an_entry_that_is_not_a_compaction_lists_compactions() {
    check(
        "say a; reply b; compact keep a first; say c; move b; say d",
        1,
        &[
            "compaction s.jsonl",
            "compaction s.jsonl 00000002",
            "compaction s.jsonl 0000000f --undo",
            "compaction s.jsonl 00000003 --yes",
        ],
        expect![[r#"
            $ compaction s.jsonl
            ! osier: no compaction on the path to the leaf; this session has 00000003
            exit 1
            $ compaction s.jsonl 00000002
            ! osier: 00000002 is not a compaction; this session has 00000003
            exit 1
            $ compaction s.jsonl 0000000f --undo
            ! osier: no entry 0000000f in this session; did you mean 00000001, 00000002, 00000003, 00000004, 00000005, …?
            exit 1
            $ compaction s.jsonl 00000003 --yes
            ! error: the following required arguments were not provided:
            !   --undo
            ! 
            ! Usage: osier sessions compaction --undo --yes <SESSION> <ENTRY>
            ! 
            ! For more information, try '--help'.
            exit 2
        "#]],
    );
    check(
        "say a; reply b",
        1,
        &["compaction s.jsonl", "compact s.jsonl"],
        expect![[r#"
            $ compaction s.jsonl
            ! osier: no compaction on the path to the leaf; this session has none; `osier sessions compact` creates one
            exit 1
            $ compact s.jsonl
            <1>
            ! 110 tokens before, ~43 after, kept from 00000002
        "#]],
    );
}

#[test]
fn second_compaction_includes_the_first() {
    let env = env(SCRIPT, 1);
    env.ok("compact s.jsonl");
    for text in ["now the docs", "and the changelog"] {
        env.ok(&format!("append s.jsonl '{text}'"));
        env.ok("append s.jsonl --role assistant 'I wrote it.'");
    }
    let first = env.json("compaction s.jsonl");
    env.ok("compact s.jsonl");
    let second = env.json("compaction s.jsonl");
    let dropped = crate::support::ids(&second["dropped"]);
    assert_eq!(
        dropped[0],
        first["entry"].as_str().unwrap(),
        "the first summary is among the dropped entries"
    );
    assert_eq!(second["readFiles"], first["readFiles"], "its files are included");
}

#[test]
fn focus_reaches_the_model_and_ctrl_c_changes_nothing() {
    let server = ModelServer::new();
    let env = server.env();
    env.write("s.jsonl", ScriptedSession::run(SCRIPT).file());
    let config = env.home().join("config.toml");
    let settings = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("compaction.keep_recent_tokens = 1\n{settings}")).unwrap();
    let before = env.read("s.jsonl");
    let args = ["sessions", "compact", "s.jsonl", "--focus", "only the flag", "--model", "local/test"];
    let running = RunningCommand::start(osier_command(&env, &args));
    let request = server.next_request();
    assert!(
        request.messages().concat().ends_with("Additional focus: only the flag"),
        "{:?}",
        request.messages()
    );
    running.signal(Signal::INT);
    request.wait_for_disconnect();
    let run_output = running.wait();
    assert_eq!(
        (run_output.code, run_output.out.as_str(), run_output.err.as_str()),
        (130, "", "Canceled; nothing changed\n")
    );
    assert_eq!(env.read("s.jsonl"), before);
}

#[test]
fn nearly_full_context_is_compacted_before_the_prompt_unless_disabled() {
    for enabled in [true, false] {
        let server = ModelServer::new();
        let env = server.env();
        let config = env.home().join("config.toml");
        let settings = fs::read_to_string(&config).unwrap();
        let small = "context_window = 8192\nmax_output = 1000\n";
        fs::write(&config, format!("compaction.enabled = {enabled}\n{settings}{small}")).unwrap();
        env.write("long.txt", "0123456789 ".repeat(900));
        let run = |args: &[&str]| {
            RunningCommand::start(osier_command(&env, &[&["-p", "--no-tools", "--verbose"], args].concat()))
        };
        for args in [&["@long.txt", "read this"][..], &["-c", "@long.txt", "again"]] {
            let running = run(args);
            server.next_request().reply("I did.");
            assert_eq!(running.wait().out, "I did.\n");
        }
        let running = run(&["-c", "@long.txt", "and now?"]);
        let mut request = server.next_request();
        // A long history is summarized in parts.
        while request.messages().concat().contains("<conversation>") {
            request.reply("## Goal\nReading.");
            request = server.next_request();
        }
        let messages = request.messages();
        assert_eq!(messages[0].contains("## Goal"), enabled, "{messages:?}");
        assert!(messages.last().unwrap().ends_with("and now?"), "the prompt itself is kept: {messages:?}");
        request.reply("Done.");
        let run_output = running.wait();
        let output = "summarizing the older part of the conversation\ncompacted: ";
        assert_eq!(
            (run_output.out.as_str(), run_output.err.contains(output)),
            ("Done.\n", enabled),
            "{}",
            run_output.err
        );
    }
}
