//! Which session a run uses.

use std::os::unix::fs::symlink;

use osier_testkit::expect;

use crate::run_support::{ModelServer, RunningCommand, TerminalCommand, osier_command};
use crate::support::{CommandOutput, TestEnv};

/// Sends a prompt to the offline model; it must succeed.
fn say(env: &TestEnv, args: &[&str]) -> CommandOutput {
    let output = env.args(&[&["-p"], args].concat());
    assert_eq!(output.code, 0, "{args:?}: {output}");
    output
}

/// The user's prompts in each session, most recent session first.
fn prompts(env: &TestEnv) -> Vec<Vec<String>> {
    let cards = env.json("list");
    let file = |card: &serde_json::Value| card["file"].as_str().unwrap().to_owned();
    let prompts = |file: String| {
        let tree = env.ok(&format!("tree {file} --filter user-only"));
        tree.lines()
            .map(|line| line.replace("  ← active", "").replace("user: ", "").replace('"', ""))
            .collect()
    };
    cards.as_array().unwrap().iter().map(file).map(prompts).collect()
}

#[test]
fn continue_uses_the_most_recent_session_of_the_directory() {
    let env = TestEnv::new();
    let first = say(&env, &["-c", "one"]);
    assert_eq!(first.err, "osier: no session to continue in this directory; starting a new one\n");
    say(&env, &["two"]);
    assert_eq!(say(&env, &["--continue", "three"]).err, "");
    assert_eq!(prompts(&env), [vec!["two", "three"], vec!["one"]]);
    // Another directory has its own sessions.
    std::fs::create_dir(env.path("sub")).unwrap();
    assert!(say(&env, &["--cwd", "sub", "-c", "four"]).err.starts_with("osier: no session to continue"));
}

#[test]
fn a_damaged_session_is_reported_before_the_answer() {
    let env = TestEnv::new();
    assert_eq!(say(&env, &["one"]).err, "");
    let file = env.session_file();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes.extend_from_slice(b"garbage\n{\"torn\":");
    std::fs::write(&file, bytes).unwrap();
    let output = say(&env, &["-c", "two"]);
    assert!(
        output
            .err
            .starts_with("osier: 2 lines of this session are damaged and left out; `osier sessions verify "),
        "{output}"
    );
}

#[test]
fn continue_never_takes_the_session_of_another_agent() {
    let env = TestEnv::new();
    say(&env, &["mine"]);
    let file = env.session_file();
    let text = std::fs::read_to_string(&file).unwrap();
    let header = text.lines().next().unwrap();
    let id = header.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap();
    let other = text
        .replacen("\"cwd\"", "\"agentId\":\"helper\",\"cwd\"", 1)
        .replace(id, "0b0b0b0b-0000-4000-8000-000000000000");
    let other = other.replace("2026-", "2030-").replace("mine", "not mine");
    std::fs::write(
        file.with_file_name("2030-01-01T00-00-00-000Z_0b0b0b0b-0000-4000-8000-000000000000.jsonl"),
        other,
    )
    .unwrap();
    say(&env, &["-c", "more"]);
    assert_eq!(env.json("list --search more")[0]["shortId"], id[..8]);
}

#[test]
fn resume_takes_a_prefix_of_an_id_and_suggests_similar_ones() {
    let env = TestEnv::new();
    say(&env, &["one"]);
    let id = env.json("list")[0]["shortId"].as_str().unwrap().to_owned();
    say(&env, &["--resume", &id, "two"]);
    assert_eq!(prompts(&env), [["one", "two"]]);
    let wrong = if id.starts_with('0') { "1" } else { "0" };
    let near = format!("{}{}", &id[..2], "zz");
    for (word, error) in [
        (near.as_str(), format!("osier: no session {near}; did you mean ")),
        (wrong, format!("osier: no session {wrong}; `osier sessions list --all` lists the sessions\n")),
    ] {
        let output = env.args(&["-p", "--resume", word, "--", "two"]);
        assert_eq!((output.code, output.out.as_str()), (1, ""), "{output}");
        assert!(output.err.starts_with(&error), "{output}");
    }
}

#[test]
fn resume_without_an_id_needs_a_terminal() {
    let env = TestEnv::new();
    let output = env.args(&["-p", "two", "--resume"]);
    assert_eq!(
        (output.code, output.err.as_str()),
        (2, "osier: --resume without an id needs a terminal; this directory has no sessions\n")
    );
    say(&env, &["one"]);
    say(&env, &["another one"]);
    expect![[r#"
        ! osier: --resume without an id needs a terminal; use one of these ids:
        !   <1>     2 msg   now  another one
        !   <2>     2 msg   now  one
        exit 2
    "#]]
    .assert_eq(&env.with_stable_names(&env.args(&["-p", "two", "--resume"]).to_string()));
    let (code, error) = TerminalCommand::start(osier_command(&env, &["-p", "two", "--resume"])).wait();
    assert_eq!(code, 2, "-p asks no questions: {error}");
}

#[test]
fn a_session_of_another_directory_runs_in_that_directory() {
    let env = TestEnv::new();
    env.write("sub/only.txt", "x");
    say(&env, &["--cwd", "sub", "hello"]);
    let id = env.json("list --all")[0]["shortId"].as_str().unwrap().to_owned();
    let output = say(&env, &["-r", &id, "list the files here"]);
    assert!(output.out.contains("only.txt"), "{output}");
    assert_eq!(
        env.with_stable_names(&output.err),
        "osier: working in ~/code/sub, the directory of the session\n"
    );
    let output = say(&env, &["-r", &id, "--cwd", ".", "list the files here"]);
    assert!(output.out.contains("sub/") && output.err.is_empty(), "{output}");
}

#[test]
fn a_pi_file_is_continued_in_place() {
    let env = TestEnv::with("say How do we begin?; reply Like so.");
    let before = env.read("s.jsonl");
    // Extensions may add models, but no key for one that is known.
    std::fs::create_dir_all(env.home().join("extensions")).unwrap();
    let output = env.args(&["-p", "--session", "s.jsonl", "list the files here"]);
    assert_eq!(env.read("s.jsonl"), before, "nothing is stored");
    expect![[r#"
        ! osier: cannot use anthropic/claude, the model of this session: set ANTHROPIC_API_KEY; choose another model with --model, for example --model offline
        exit 1
    "#]]
    .assert_eq(&output.to_string());
    say(&env, &["--session", "s.jsonl", "--model", "offline", "list the files here"]);
    let after = env.read("s.jsonl");
    assert!(after.starts_with(&before), "the log is only appended to");
    assert!(env.ok("tree s.jsonl").contains("user: \"list the files here\""));
    assert!(env.session_files().is_empty());
    let output = env.args(&["-p", "--session", "none.jsonl", "x"]);
    assert_eq!((output.code, output.err.as_str()), (1, "osier: no file none.jsonl\n"));
    let output = env.args(&["-p", "--session", "4f89da11", "x"]);
    assert_eq!(
        (output.code, output.err.as_str()),
        (2, "osier: --session takes a file; to resume a session by its id: --resume 4f89da11\n")
    );
}

/// The author of the file could have set any approvals.
#[test]
fn approvals_in_a_foreign_file_are_ignored() {
    let env = TestEnv::with("say a; reply b");
    env.ok("config s.jsonl approvalMode=yolo approvalTools=[\"bash\"]");
    for how in [&["--session", "s.jsonl"][..], &["--resume", "./s.jsonl"], &["--fork", "s.jsonl"]] {
        for more in [&[][..], &["--approval", "default"]] {
            let mut args = vec!["--model", "offline"];
            args.extend(how.iter().chain(more));
            args.push("$ touch pwned");
            let output = say(&env, &args);
            assert!(output.err.contains("not allowed: [bash: touch pwned]"), "{args:?}: {output}");
            assert!(!env.path("pwned").exists(), "{args:?}");
        }
    }
    say(&env, &["--session", "s.jsonl", "--model", "offline", "--approval", "yolo", "$ touch mine"]);
    assert!(env.path("mine").exists());
}

/// Paths that only look like the session folder, and links in both directions.
#[test]
fn ownership_depends_on_the_real_location_of_the_file() {
    let env = TestEnv::with("say a; reply b");
    env.ok("config s.jsonl approvalMode=yolo approvalTools=[\"bash\"]");
    let sessions = env.home().join("sessions");
    std::fs::create_dir_all(sessions.join("here")).unwrap();
    symlink(env.path("s.jsonl"), sessions.join("here/link.jsonl")).unwrap();
    symlink(env.cwd(), sessions.join("folder")).unwrap();
    let twice = sessions.join("here/twice.jsonl");
    std::fs::copy(env.path("s.jsonl"), env.path("copy.jsonl")).unwrap();
    std::fs::hard_link(env.path("copy.jsonl"), &twice).unwrap();
    let path = |path: std::path::PathBuf| path.display().to_string();
    for foreign in [
        path(sessions.join("../../code/s.jsonl")),
        path(sessions.join("here/../../../code/s.jsonl")),
        path(sessions.join("here/link.jsonl")),
        path(sessions.join("folder/s.jsonl")),
        path(twice),
    ] {
        for how in ["--session", "--resume", "--fork"] {
            let output = say(&env, &["--model", "offline", how, &foreign, "$ touch pwned"]);
            assert!(output.err.contains("not allowed: [bash: touch pwned]"), "{how} {foreign}: {output}");
            assert!(!env.path("pwned").exists(), "{how} {foreign}");
        }
    }
    std::fs::copy(env.path("s.jsonl"), sessions.join("here/own.jsonl")).unwrap();
    let own = path(sessions.join("here/../here/own.jsonl"));
    say(&env, &["--model", "offline", "--session", &own, "$ touch mine"]);
    assert!(env.path("mine").exists(), "the real location counts, not the path");
}

/// The model must not be able to change its own approvals in the session file.
#[test]
fn a_home_folder_inside_the_working_directory_is_protected() {
    let env = TestEnv::new();
    let run = |args: &[&str]| {
        let mut command = env.command();
        command.env("OSIER_HOME", env.path("home"));
        CommandOutput::from_output(command.args(["-p", "--model", "offline"]).args(args).output().unwrap())
    };
    run(&["hello"]);
    for (mode, file) in [
        ("autoEdit", "home/sessions/x/evil.jsonl"),
        ("yolo", "home/sessions/x/evil.jsonl"),
        ("yolo", "home/config.toml"),
        ("yolo", "home/trusted.json"),
        ("yolo", "home/foreign/../config.toml"),
    ] {
        run(&["--approval", mode, &format!("write {file} with \"evil\"")]);
        let text = std::fs::read_to_string(env.path(file)).unwrap_or_default();
        assert!(!text.contains("evil"), "{mode} {file}");
    }
    run(&["--approval", "autoEdit", "write fine.txt with \"fine\""]);
    assert_eq!(env.read("fine.txt"), b"fine\n", "the same prompt writes other files");
}

#[test]
fn the_approval_option_applies_to_one_run_only() {
    let env = TestEnv::new();
    say(&env, &["--approval", "yolo", "$ touch one"]);
    assert!(env.path("one").exists());
    let output = say(&env, &["-c", "$ touch two"]);
    assert!(!env.path("two").exists() && output.err.contains("not allowed: [bash: touch two]"), "{output}");
}

#[test]
fn a_fork_starts_with_a_copy_and_leaves_the_source_unchanged() {
    let env = TestEnv::new();
    say(&env, &["one"]);
    say(&env, &["-c", "two"]);
    let file = env.session_file();
    let before = std::fs::read(&file).unwrap();
    let id = env.json("list")[0]["shortId"].as_str().unwrap().to_owned();
    let output = say(&env, &["--fork", &id, "--name", "A copy", "three"]);
    assert!(output.err.starts_with("osier: forked to session "), "{output}");
    let path = env.json(&format!("path {id}"));
    let first =
        path.as_array().unwrap().iter().find(|entry| entry["message"]["role"] == "assistant").unwrap();
    say(&env, &["--fork", &format!("{id}@{}", first["id"].as_str().unwrap()), "other"]);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    let mut all = prompts(&env);
    all.sort();
    assert_eq!(all, [vec!["one", "other"], vec!["one", "two"], vec!["one", "two", "three"]]);
    assert!(env.ok("list").contains("A copy"));
    let output = env.args(&["-p", "--fork", &format!("{id}@nonsense"), "x"]);
    assert!(output.code == 1 && output.err.starts_with("osier: no entry nonsense"), "{output}");
}

#[test]
fn no_session_saves_nothing() {
    let env = TestEnv::new();
    say(&env, &["--no-session", "hello"]);
    assert!(env.session_files().is_empty());
    let header = env.args(&["--mode", "json", "--no-session", "hello"]).out;
    assert!(header.starts_with("{\"type\":\"session\""), "{header}");
}

#[test]
fn the_same_name_is_stored_only_once() {
    let env = TestEnv::new();
    say(&env, &["--name", "Beginnings", "one"]);
    say(&env, &["-c", "--name", "Beginnings", "two"]);
    say(&env, &["-c", "--name", "Ends", "three"]);
    let file = std::fs::read_to_string(env.session_file()).unwrap();
    assert_eq!(file.matches("\"session_info\"").count(), 2);
    assert_eq!(env.json("list")[0]["name"], "Ends");
}

#[test]
fn two_runs_on_one_session_create_two_branches() {
    let server = ModelServer::new();
    let env = server.env();
    let first = RunningCommand::start(osier_command(&env, &["-p", "hello"]));
    server.next_request().reply("hi");
    assert_eq!(first.wait().code, 0);
    let left = RunningCommand::start(osier_command(&env, &["-c", "-p", "left"]));
    let to_left = server.next_request();
    env.ok(&format!("move {} root", env.session_file().display()));
    let right = RunningCommand::start(osier_command(&env, &["-c", "-p", "right"]));
    let to_right = server.next_request();
    to_left.reply("answer to the left");
    assert_eq!(
        left.wait(),
        CommandOutput { code: 0, out: "answer to the left\n".into(), err: String::new() }
    );
    to_right.reply("answer to the right");
    assert_eq!(
        right.wait(),
        CommandOutput { code: 0, out: "answer to the right\n".into(), err: String::new() }
    );
    let file = env.session_file();
    assert!(env.ok(&format!("verify {}", file.display())).ends_with("no damage found\n"));
    expect![[r#"
        user: "hello"
           assistant: "hi"
           user: "left"
           assistant: "answer to the left"
        user: "right"
           assistant: "answer to the right"  ← active
    "#]]
    .assert_eq(&env.ok(&format!("tree {} --filter no-tools", file.display())));
}

#[test]
fn an_old_file_is_migrated_before_the_first_append() {
    let env = TestEnv::new();
    let header = r#"{"type":"session","id":"old-1","timestamp":"2024-01-01T00:00:00.000Z","cwd":"/x"}"#;
    let line = r#"{"type":"message","timestamp":"2024-01-01T00:00:01.000Z","message":{"role":"user","content":"old"}}"#;
    env.write("old.jsonl", format!("{header}\n{line}\n"));
    say(&env, &["--session", "old.jsonl", "new"]);
    assert!(env.ok("verify old.jsonl").ends_with("no damage found\n"));
    assert!(env.path("old.jsonl.v1.bak").exists());
}
