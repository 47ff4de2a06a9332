//! `osier explore`: tries of one prompt, with the real program, its sandbox and git.

use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::run_support::{ModelRequest, ModelServer, RunningCommand, osier_command};
use crate::support::{CommandOutput, TestEnv, has_sandbox};

/// A repository with a commit, a change and a new file.
fn repository() -> TestEnv {
    make_repository(TestEnv::new())
}

fn make_repository(env: TestEnv) -> TestEnv {
    git(&env, &["init", "--quiet"]);
    env.write("a.txt", "one\n");
    git(&env, &["add", "."]);
    git(&env, &["commit", "--quiet", "-m", "first"]);
    env.write("a.txt", "changed\n");
    env.write("new.txt", "new\n");
    env
}

fn git(env: &TestEnv, arguments: &[&str]) -> String {
    let settings = ["-c", "user.name=a", "-c", "user.email=a@b"];
    let output = Command::new("git").args(settings).args(arguments).current_dir(env.cwd()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn git_state(env: &TestEnv) -> String {
    ["status", "worktree list", "for-each-ref", "count-objects"]
        .iter()
        .map(|command| git(env, &command.split(' ').collect::<Vec<_>>()))
        .collect()
}

fn explore(env: &TestEnv, arguments: &[&str]) -> CommandOutput {
    env.args(&[&["explore"], arguments].concat())
}

fn json(output: &CommandOutput) -> Value {
    assert_eq!(output.code, 0, "{output}");
    serde_json::from_str(&output.out).unwrap()
}

#[test]
fn tries_are_listed_compared_kept_and_removed() {
    let env = repository();
    let before = git_state(&env);
    let instructions = ["--instructions", "", "--instructions", "in French"];
    let started = explore(&env, &[&["2", "write hello to notes.txt", "--json"], &instructions[..]].concat());
    let report = json(&started);
    assert_eq!(git_state(&env), before);
    let id = report["id"].as_str().unwrap();
    for one in report["tries"].as_array().unwrap() {
        assert_eq!(
            (&one["status"], &one["place"]["kind"]),
            (&"completed".into(), &"worktree".into()),
            "{report}"
        );
    }
    assert_eq!(report["tries"][0]["filesChanged"], 1, "{report}");
    let listed = json(&explore(&env, &["list", "--json"]));
    assert_eq!((&listed[0]["id"], &listed[0]["tries"]), (&id.into(), &2.into()));
    assert_eq!(listed[0]["copies"], serde_json::json!([1, 2]));
    assert!(explore(&env, &["list"]).out.contains("2 tries, not kept"));
    let shown = explore(&env, &["show", id]);
    assert!(shown.out.contains("each in its own worktree"), "{shown}");
    let compared = explore(&env, &["compare", id, "1", "2"]);
    assert!(compared.out.contains("Try 1 changed 1 file\n"), "{compared}");
    let kept = explore(&env, &["keep", id, "1"]);
    assert_eq!(kept.out, "Kept try 1; 1 file changed:\n  A notes.txt\n", "{kept}");
    assert_eq!(env.read("notes.txt"), b"hello\n");
    assert_eq!((env.read("a.txt"), env.read("new.txt")), (b"changed\n".to_vec(), b"new\n".to_vec()));
    let ranked = explore(&env, &["rank", id]);
    assert_eq!((ranked.code, ranked.out.as_str()), (1, ""), "{ranked}");
    assert!(ranked.err.contains("cannot rank the tries: the built-in model cannot rank"), "{ranked}");
    let kept = explore(&env, &["keep", id, "2"]);
    assert!(kept.out.starts_with("Kept try 2 instead of try 1; "), "{kept}");
    assert_eq!(explore(&env, &["remove", id, "1"]).code, 0);
    assert!(explore(&env, &["list"]).out.contains("2 tries, 1 copy, kept try 2"));
    let removed = explore(&env, &["remove", id]);
    assert_eq!((removed.code, removed.out.as_str()), (0, ""));
    assert!(removed.err.contains(&format!("Removed the copies of explore {id}")), "{removed}");
    assert_eq!(explore(&env, &["list"]).out, "");
    let shown = json(&explore(&env, &["show", id, "--json"]));
    assert_eq!((&shown["kept"], &shown["tries"][0]["filesChanged"]), (&2.into(), &1.into()), "{shown}");
    let gone = explore(&env, &["keep", id, "1"]);
    assert!(gone.code == 1 && gone.err.contains("removed"), "{gone}");
    let compared = explore(&env, &["compare", id, "1", "2"]);
    assert!(compared.out.contains("The copies were removed"), "{compared}");
}

#[test]
fn a_try_of_another_directory_is_not_listed_and_not_kept() {
    let env = repository();
    let id = |output: &CommandOutput| json(output)["id"].as_str().unwrap().to_owned();
    let first = id(&explore(&env, &["1", "write hello to notes.txt", "--json"]));
    let started = explore(&env, &["1", "write hello to more.txt"]);
    assert!(started.err.contains("osier explore keep ") && !started.err.contains("compare"), "{started}");
    let second = json(&explore(&env, &["list", "--json"]))[0]["id"].as_str().unwrap().to_owned();
    let listed = explore(&env, &["list"]).out;
    assert!(listed.find(&second) < listed.find(&first) && listed.contains(&first), "{listed}");

    std::fs::create_dir(env.path("other")).unwrap();
    let elsewhere = |arguments: &[&str]| {
        let mut command = env.command();
        command.current_dir(env.path("other")).arg("explore").args(arguments);
        CommandOutput::from_output(command.output().unwrap())
    };
    let listed = elsewhere(&["list"]);
    assert_eq!(listed.out, "", "{listed}");
    assert!(listed.err.contains("`osier explore list --all`"), "{listed}");
    assert!(elsewhere(&["list", "--all"]).out.contains(&first));
    let kept = elsewhere(&["keep", &first, "1"]);
    assert_eq!(kept.code, 2, "{kept}");
    assert!(kept.err.contains("belongs to another directory"), "{kept}");
    assert!(!env.path("notes.txt").exists());
    let wrong = explore(&env, &["fast", "write hello to notes.txt"]);
    assert!(wrong.err.contains("give the number of tries first"), "{wrong}");
}

#[test]
fn commands_of_a_try_cannot_write_outside_its_copy() {
    let env = repository();
    if !has_sandbox(&env) {
        return;
    }
    let before = git_state(&env);
    let target = env.path("escaped.txt");
    let prompt = format!("run `touch inside.txt; echo x > {}`", target.display());
    let report = json(&explore(&env, &["1", &prompt, "--json"]));
    assert!(!target.exists(), "{report}");
    assert_eq!(git_state(&env), before);
    let folder = report["tries"][0]["folder"].as_str().unwrap();
    assert!(std::path::Path::new(folder).join("inside.txt").exists(), "{report}");
}

/// A session with one exchange, whose model is a server.
fn conversation(server: &ModelServer) -> TestEnv {
    let env = make_repository(server.env());
    let running = RunningCommand::start(osier_command(&env, &["-p", "hello"]));
    server.next_request().reply("Hi.");
    assert_eq!(running.wait().code, 0);
    env
}

fn last_kind(env: &TestEnv) -> String {
    let log = std::fs::read_to_string(env.session_file()).unwrap();
    let last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    last["customType"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn ctrl_c_stops_all_tries_and_the_session_is_where_it_was() {
    let server = ModelServer::new();
    let env = conversation(&server);
    let running = RunningCommand::start(osier_command(&env, &["explore", "-c", "2", "think", "--json"]));
    let requests = [server.next_request(), server.next_request()];
    running.signal(Signal::INT);
    requests.into_iter().for_each(ModelRequest::wait_for_disconnect);
    let output = running.wait();
    assert_eq!(output.code, 130, "{output}");
    let report: Value = serde_json::from_str(&output.out).unwrap();
    let statuses: Vec<&Value> =
        report["tries"].as_array().unwrap().iter().map(|one| &one["status"]).collect();
    assert_eq!(statuses, ["cancelled", "cancelled"], "{report}");
    assert_eq!(json(&explore(&env, &["list", "--json"]))[0]["running"], false);
    assert_eq!(last_kind(&env), "osier.leaf");
    let running = RunningCommand::start(osier_command(&env, &["-c", "-p", "go on"]));
    let request = server.next_request();
    assert_eq!(request.messages(), ["user: hello", "assistant: Hi.", "user: go on"]);
    request.reply("Gone on.");
    assert_eq!(running.wait().code, 0);
}

#[test]
fn an_explore_continues_a_session_with_models_and_is_ranked() {
    let server = ModelServer::new();
    let env = conversation(&server);
    let log = std::fs::read_to_string(env.session_file()).unwrap();
    let header: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    let session = header["id"].as_str().unwrap();
    let models = "local/test,offline/offline";
    let arguments = ["explore", "-r", session, "2", "--model", models, "write hello to notes.txt", "--json"];
    let running = RunningCommand::start(osier_command(&env, &arguments));
    let request = server.next_request();
    assert_eq!(request.messages()[..2], ["user: hello", "assistant: Hi."]);
    request.reply("I would not.");
    let report = json(&running.wait());
    let facts = |at: usize| (&report["tries"][at]["model"], &report["tries"][at]["filesChanged"]);
    assert_eq!(facts(0), (&"local/test".into(), &0.into()), "{report}");
    assert_eq!(facts(1), (&"offline/offline".into(), &1.into()), "{report}");
    // The leaf is back at the start as soon as the command ends.
    assert_eq!(last_kind(&env), "osier.leaf");
    assert_eq!(json(&explore(&env, &["list", "--json"]))[0]["running"], false);
    let id = report["id"].as_str().unwrap();
    let rank = ["explore", "rank", id, "--model", "local/test"];
    let running = RunningCommand::start(osier_command(&env, &rank));
    server.next_request().reply("Ranking: 2, 1\nTry 2 did it.");
    let ranked = running.wait();
    assert_eq!(ranked.code, 0, "{ranked}");
    assert!(ranked.out.contains("Try 2 did it."), "{ranked}");
}
