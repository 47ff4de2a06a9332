//! Which session a run uses.

use std::os::unix::fs::symlink;

use osier_testkit::expect;

use crate::run_support::{ModelServer, RunningCommand, TerminalCommand, osier_command};
use crate::support::{CommandOutput, World};

/// Sends a prompt to the offline model; it must succeed.
fn say(world: &World, args: &[&str]) -> CommandOutput {
    let ran = world.args(&[&["-p"], args].concat());
    assert_eq!(ran.code, 0, "{args:?}: {ran}");
    ran
}

/// The user's prompts in each session, most recent session first.
fn prompts(world: &World) -> Vec<Vec<String>> {
    let cards = world.json("list");
    let file = |card: &serde_json::Value| card["file"].as_str().unwrap().to_owned();
    let prompts = |file: String| {
        let tree = world.ok(&format!("tree {file} --filter user-only"));
        tree.lines()
            .map(|line| line.replace("  ← active", "").replace("user: ", "").replace('"', ""))
            .collect()
    };
    cards.as_array().unwrap().iter().map(file).map(prompts).collect()
}

#[test]
fn continue_uses_the_most_recent_session_of_the_directory() {
    let world = World::new();
    let first = say(&world, &["-c", "one"]);
    assert_eq!(first.err, "osier: no session to continue in this directory; starting a new one\n");
    say(&world, &["two"]);
    assert_eq!(say(&world, &["--continue", "three"]).err, "");
    assert_eq!(prompts(&world), [vec!["two", "three"], vec!["one"]]);
    // Another directory has its own sessions.
    std::fs::create_dir(world.path("sub")).unwrap();
    assert!(say(&world, &["--cwd", "sub", "-c", "four"]).err.starts_with("osier: no session to continue"));
}

#[test]
fn continue_never_takes_the_session_of_another_agent() {
    let world = World::new();
    say(&world, &["mine"]);
    let file = world.session_file();
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
    say(&world, &["-c", "more"]);
    assert_eq!(world.json("list --search more")[0]["shortId"], id[..8]);
}

#[test]
fn resume_takes_a_prefix_of_an_id_and_suggests_similar_ones() {
    let world = World::new();
    say(&world, &["one"]);
    let id = world.json("list")[0]["shortId"].as_str().unwrap().to_owned();
    say(&world, &["--resume", &id, "two"]);
    assert_eq!(prompts(&world), [["one", "two"]]);
    let wrong = if id.starts_with('0') { "1" } else { "0" };
    let near = format!("{}{}", &id[..2], "zz");
    for (word, error) in [
        (near.as_str(), format!("osier: no session {near}; did you mean ")),
        (wrong, format!("osier: no session {wrong}; `osier sessions list --all` lists the sessions\n")),
    ] {
        let ran = world.args(&["-p", "--resume", word, "--", "two"]);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran}");
        assert!(ran.err.starts_with(&error), "{ran}");
    }
}

#[test]
fn resume_without_an_id_needs_a_terminal() {
    let world = World::new();
    let ran = world.args(&["-p", "two", "--resume"]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (2, "osier: --resume without an id needs a terminal; this directory has no sessions\n")
    );
    say(&world, &["one"]);
    say(&world, &["another one"]);
    expect![[r#"
        ! osier: --resume without an id needs a terminal; use one of these ids:
        !   <1>     2 msg   now  another one
        !   <2>     2 msg   now  one
        exit 2
    "#]]
    .assert_eq(&world.with_stable_names(&world.args(&["-p", "two", "--resume"]).to_string()));
    let (code, error) = TerminalCommand::start(osier_command(&world, &["-p", "two", "--resume"])).wait();
    assert_eq!(code, 2, "-p asks no questions: {error}");
}

#[test]
fn a_session_of_another_directory_runs_in_that_directory() {
    let world = World::new();
    world.write("sub/only.txt", "x");
    say(&world, &["--cwd", "sub", "hello"]);
    let id = world.json("list --all")[0]["shortId"].as_str().unwrap().to_owned();
    let ran = say(&world, &["-r", &id, "list the files here"]);
    assert!(ran.out.contains("only.txt"), "{ran}");
    assert_eq!(
        world.with_stable_names(&ran.err),
        "osier: working in ~/code/sub, the directory of the session\n"
    );
    let ran = say(&world, &["-r", &id, "--cwd", ".", "list the files here"]);
    assert!(ran.out.contains("sub/") && ran.err.is_empty(), "{ran}");
}

#[test]
fn a_pi_file_is_continued_in_place() {
    let world = World::with("say How do we begin?; reply Like so.");
    let before = world.read("s.jsonl");
    let ran = world.args(&["-p", "--session", "s.jsonl", "list the files here"]);
    expect![[r#"
        ! osier: cannot use anthropic/claude, the model of this session: set ANTHROPIC_API_KEY; choose another model with --model, for example --model offline
        exit 1
    "#]]
    .assert_eq(&ran.to_string());
    say(&world, &["--session", "s.jsonl", "--model", "offline", "list the files here"]);
    let after = world.read("s.jsonl");
    assert!(after.starts_with(&before), "the log is only appended to");
    assert!(world.ok("tree s.jsonl").contains("user: \"list the files here\""));
    assert!(world.session_files().is_empty());
    let ran = world.args(&["-p", "--session", "none.jsonl", "x"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, "osier: no file none.jsonl\n"));
    let ran = world.args(&["-p", "--session", "4f89da11", "x"]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (2, "osier: --session takes a file; to resume a session by its id: --resume 4f89da11\n")
    );
}

/// The author of the file could have set any approvals.
#[test]
fn approvals_in_a_foreign_file_are_ignored() {
    let world = World::with("say a; reply b");
    world.ok("config s.jsonl approvalMode=yolo approvalTools=[\"bash\"]");
    for how in [&["--session", "s.jsonl"][..], &["--resume", "./s.jsonl"], &["--fork", "s.jsonl"]] {
        for more in [&[][..], &["--approval", "default"]] {
            let mut args = vec!["--model", "offline"];
            args.extend(how.iter().chain(more));
            args.push("$ touch pwned");
            let ran = say(&world, &args);
            assert!(ran.err.contains("not allowed: [bash: touch pwned]"), "{args:?}: {ran}");
            assert!(!world.path("pwned").exists(), "{args:?}");
        }
    }
    say(&world, &["--session", "s.jsonl", "--model", "offline", "--approval", "yolo", "$ touch mine"]);
    assert!(world.path("mine").exists());
}

/// Paths that only look like the session folder, and links in both directions.
#[test]
fn ownership_depends_on_the_real_location_of_the_file() {
    let world = World::with("say a; reply b");
    world.ok("config s.jsonl approvalMode=yolo approvalTools=[\"bash\"]");
    let sessions = world.home().join("sessions");
    std::fs::create_dir_all(sessions.join("here")).unwrap();
    symlink(world.path("s.jsonl"), sessions.join("here/link.jsonl")).unwrap();
    symlink(world.cwd(), sessions.join("folder")).unwrap();
    let twice = sessions.join("here/twice.jsonl");
    std::fs::copy(world.path("s.jsonl"), world.path("copy.jsonl")).unwrap();
    std::fs::hard_link(world.path("copy.jsonl"), &twice).unwrap();
    let path = |path: std::path::PathBuf| path.display().to_string();
    for foreign in [
        path(sessions.join("../../code/s.jsonl")),
        path(sessions.join("here/../../../code/s.jsonl")),
        path(sessions.join("here/link.jsonl")),
        path(sessions.join("folder/s.jsonl")),
        path(twice),
    ] {
        for how in ["--session", "--resume", "--fork"] {
            let ran = say(&world, &["--model", "offline", how, &foreign, "$ touch pwned"]);
            assert!(ran.err.contains("not allowed: [bash: touch pwned]"), "{how} {foreign}: {ran}");
            assert!(!world.path("pwned").exists(), "{how} {foreign}");
        }
    }
    std::fs::copy(world.path("s.jsonl"), sessions.join("here/own.jsonl")).unwrap();
    let own = path(sessions.join("here/../here/own.jsonl"));
    say(&world, &["--model", "offline", "--session", &own, "$ touch mine"]);
    assert!(world.path("mine").exists(), "the real location counts, not the path");
}

/// The model must not be able to change its own approvals in the session file.
#[test]
fn a_home_folder_inside_the_working_directory_is_protected() {
    let world = World::new();
    let run = |args: &[&str]| {
        let mut command = world.command();
        command.env("OSIER_HOME", world.path("home"));
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
        let text = std::fs::read_to_string(world.path(file)).unwrap_or_default();
        assert!(!text.contains("evil"), "{mode} {file}");
    }
    run(&["--approval", "autoEdit", "write fine.txt with \"fine\""]);
    assert_eq!(world.read("fine.txt"), b"fine\n", "the same prompt writes other files");
}

#[test]
fn the_approval_option_applies_to_one_run_only() {
    let world = World::new();
    say(&world, &["--approval", "yolo", "$ touch one"]);
    assert!(world.path("one").exists());
    let ran = say(&world, &["-c", "$ touch two"]);
    assert!(!world.path("two").exists() && ran.err.contains("not allowed: [bash: touch two]"), "{ran}");
}

#[test]
fn a_fork_starts_with_a_copy_and_leaves_the_source_unchanged() {
    let world = World::new();
    say(&world, &["one"]);
    say(&world, &["-c", "two"]);
    let file = world.session_file();
    let before = std::fs::read(&file).unwrap();
    let id = world.json("list")[0]["shortId"].as_str().unwrap().to_owned();
    let ran = say(&world, &["--fork", &id, "--name", "A copy", "three"]);
    assert!(ran.err.starts_with("osier: forked to session "), "{ran}");
    let path = world.json(&format!("path {id}"));
    let first =
        path.as_array().unwrap().iter().find(|entry| entry["message"]["role"] == "assistant").unwrap();
    say(&world, &["--fork", &format!("{id}@{}", first["id"].as_str().unwrap()), "other"]);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    let mut all = prompts(&world);
    all.sort();
    assert_eq!(all, [vec!["one", "other"], vec!["one", "two"], vec!["one", "two", "three"]]);
    assert!(world.ok("list").contains("A copy"));
    let ran = world.args(&["-p", "--fork", &format!("{id}@nonsense"), "x"]);
    assert!(ran.code == 1 && ran.err.starts_with("osier: no entry nonsense"), "{ran}");
}

#[test]
fn no_session_saves_nothing() {
    let world = World::new();
    say(&world, &["--no-session", "hello"]);
    assert!(world.session_files().is_empty());
    let header = world.args(&["--mode", "json", "--no-session", "hello"]).out;
    assert!(header.starts_with("{\"type\":\"session\""), "{header}");
}

#[test]
fn the_same_name_is_stored_only_once() {
    let world = World::new();
    say(&world, &["--name", "Beginnings", "one"]);
    say(&world, &["-c", "--name", "Beginnings", "two"]);
    say(&world, &["-c", "--name", "Ends", "three"]);
    let file = std::fs::read_to_string(world.session_file()).unwrap();
    assert_eq!(file.matches("\"session_info\"").count(), 2);
    assert_eq!(world.json("list")[0]["name"], "Ends");
}

#[test]
fn two_runs_on_one_session_create_two_branches() {
    let server = ModelServer::new();
    let world = server.world();
    let first = RunningCommand::start(osier_command(&world, &["-p", "hello"]));
    server.next_request().reply("hi");
    assert_eq!(first.wait().code, 0);
    let left = RunningCommand::start(osier_command(&world, &["-c", "-p", "left"]));
    let to_left = server.next_request();
    world.ok(&format!("move {} root", world.session_file().display()));
    let right = RunningCommand::start(osier_command(&world, &["-c", "-p", "right"]));
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
    let file = world.session_file();
    assert!(world.ok(&format!("verify {}", file.display())).ends_with("no damage found\n"));
    expect![[r#"
        user: "hello"
           assistant: "hi"
           user: "left"
           assistant: "answer to the left"
        user: "right"
           assistant: "answer to the right"  ← active
    "#]]
    .assert_eq(&world.ok(&format!("tree {} --filter no-tools", file.display())));
}

#[test]
fn an_old_file_is_migrated_before_the_first_append() {
    let world = World::new();
    let header = r#"{"type":"session","id":"old-1","timestamp":"2024-01-01T00:00:00.000Z","cwd":"/x"}"#;
    let line = r#"{"type":"message","timestamp":"2024-01-01T00:00:01.000Z","message":{"role":"user","content":"old"}}"#;
    world.write("old.jsonl", format!("{header}\n{line}\n"));
    say(&world, &["--session", "old.jsonl", "new"]);
    assert!(world.ok("verify old.jsonl").ends_with("no damage found\n"));
    assert!(world.path("old.jsonl.v1.bak").exists());
}
