//! `osier doctor`: problems it finds and fixes it suggests.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use osier_testkit::{Expect, expect};
use serde_json::Value;

use crate::listing::ModelListServer;
use crate::run_support::TerminalCommand;
use crate::support::{CommandOutput, TestEnv};

fn env(settings: &str) -> TestEnv {
    let env = TestEnv::new();
    fs::create_dir(env.home()).unwrap();
    set_mode(&env.home(), 0o700);
    fs::write(env.home().join("config.toml"), settings).unwrap();
    env
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Checks the output for some areas. Paths of programs differ between machines.
fn check(env: &TestEnv, areas: &[&str], expect: Expect) {
    expect.assert_eq(&env.with_stable_names(&lines_of_areas(&env.args(&["doctor"]), areas)));
}

fn lines_of_areas(run_output: &CommandOutput, areas: &[&str]) -> String {
    let mut wanted = false;
    let mut said = String::new();
    for line in run_output.out.lines() {
        if !line.starts_with(' ') {
            wanted = line.split_whitespace().nth(1).is_some_and(|area| areas.contains(&area));
        }
        if wanted {
            said += &format!("{line}\n");
        }
    }
    let ports = regex::Regex::new(r"127\.0\.0\.1:\d+").unwrap();
    format!("{}exit {}\n", ports.replace_all(&said, "127.0.0.1:PORT"), run_output.code)
}

#[test]
fn fresh_installation_has_no_problems() {
    let env = TestEnv::new();
    let run_output = env.args(&["doctor"]);
    assert_eq!((run_output.code, run_output.err.as_str()), (0, ""), "{run_output}");
    check(
        &env,
        &["settings", "trust", "model", "key", "server", "terminal", "store"],
        expect![[r#"
        ok    settings  no files; using the defaults
        warn  model     offline/offline: built in, follows simple requests only
                        → set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or add a server; see `osier models --all`
        ok    key       none is set; the offline model needs none
        ok    terminal  none: output goes to a file or a program
        ok    store     ~/home is created with the first session
        exit 0
    "#]],
    );
    assert!(!env.home().exists(), "checking creates nothing");
}

#[test]
fn all_settings_problems_are_reported() {
    let env = env("modle = 1\nthinking = \"loud\"\n[providers.x]\nname = \"X\"\n");
    check(
        &env,
        &["settings", "model"],
        expect![[r#"
        warn  settings  ~/home/config.toml:1: unknown key modle; did you mean model?
                        → fix or remove it; it has no effect
        fail  settings  ~/home/config.toml:2: thinking must be "off", "minimal", "low", "medium", "high", "xhigh" or "max"
                        → fix this line; until then most commands do not work here
        fail  settings  providers.x: `base_url` is missing
                        → fix it in ~/home/config.toml
        warn  model     offline/offline: built in, follows simple requests only
                        → set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or add a server; see `osier models --all`
        exit 1
    "#]],
    );
}

#[test]
fn api_keys_are_found_and_never_shown() {
    let server = ModelListServer::with_models(&["m"]);
    let env = env("");
    let key = env.path("key");
    let provider =
        |name: &str, key: &str| format!("[providers.{name}]\nbase_url = \"{}\"\n{key}\n", server.url);
    let settings = [
        provider("a", "api_key_env = \"A_KEY\""),
        provider("b", &format!("api_key_file = \"{}\"", key.display())),
        provider("c", "api_key_command = \"echo sk-hunter2\""),
        provider("d", ""),
        provider("e", "api_key_command = \"echo sk-hunter2; false\""),
    ];
    fs::write(env.home().join("config.toml"), settings.concat()).unwrap();
    fs::write(&key, "sk-hunter2").unwrap();
    set_mode(&key, 0o644);
    check(
        &env,
        &["key", "server"],
        expect![[r#"
            warn  key       a has no key
                            → set A_KEY
            warn  key       b has no key
                            → the key file $DIR/code/key can be read by others (mode 644); run `chmod 600 $DIR/code/key`
            ok    key       c: comes from a command
            ok    key       d: needs none
            ok    key       e: comes from a command
            ok    server    c responds and lists 1 model
            ok    server    d responds and lists 1 model
            warn  server    e: the key command failed (exit status: 1)
                            → fix the source of its key
            exit 0
        "#]],
    );
    set_mode(&key, 0o600);
    let mut command = env.command();
    let run_output =
        CommandOutput::from_output(command.env("A_KEY", "sk-hunter2").arg("doctor").output().unwrap());
    expect![[r#"
        ok    key       a: A_KEY is set
        ok    key       b: is in $DIR/code/key, readable only by you
        ok    key       c: comes from a command
        ok    key       d: needs none
        ok    key       e: comes from a command
        ok    server    a responds and lists 1 model
        ok    server    b responds and lists 1 model
        ok    server    c responds and lists 1 model
        ok    server    d responds and lists 1 model
        warn  server    e: the key command failed (exit status: 1)
                        → fix the source of its key
        exit 0
    "#]]
    .assert_eq(&env.with_stable_names(&lines_of_areas(&run_output, &["key", "server"])));
    assert!(!format!("{}{}", run_output.out, run_output.err).contains("hunter2"), "{run_output}");
    let with_key = server.requests().iter().filter(|head| head.contains("sk-hunter2")).count();
    assert!(with_key >= 4, "the key is tried: {:?}", server.requests());
}

#[test]
fn refusing_and_silent_servers_are_reported() {
    let refuses = ModelListServer::new(401, "{\"error\":{\"message\":\"no such key sk-hunter2\"}}");
    let has_no_list = ModelListServer::new(404, "nothing here");
    let silent = ModelListServer::silent();
    let env = env(&format!(
        "model = \"silent/m\"\n[providers.refuses]\nbase_url = \"{}\"\napi_key_env = \"A_KEY\"\n[providers.nolist]\nbase_url = \"{}\"\n\
         [providers.silent]\nbase_url = \"{}\"\n[providers.closed]\nbase_url = \"http://127.0.0.1:1/v1\"\n",
        refuses.url, has_no_list.url, silent.url,
    ));
    let mut command = env.command();
    let run_output =
        CommandOutput::from_output(command.env("A_KEY", "sk-hunter2").arg("doctor").output().unwrap());
    expect![[r#"
        warn  server    cannot reach closed: tcp connect error: Connection refused (os error 111)
                        → check that it is running and that base_url is correct; HTTPS_PROXY sets a proxy
        warn  server    nolist responds, but cannot list its models: nolist rejected the request (status 404). nothing here
                        → to use its models, add them to the settings
        fail  server    refuses rejected the key. no such key [key]
                        → create a new key, or correct the one that is set
        fail  server    silent: no answer within 5 s
                        → check that it is running and that base_url is correct
        exit 1
    "#]].assert_eq(&env.with_stable_names(&lines_of_areas(&run_output, &["server"])));
    assert!(!run_output.out.contains("hunter2"), "{}", run_output.out);
}

#[test]
fn readable_by_others_and_unreadable_stores_are_reported() {
    let env = env("[providers.p]\nbase_url = \"http://127.0.0.1:1\"\nheaders = { t = \"s\" }\n");
    env.ok("append hello");
    set_mode(&env.home(), 0o755);
    set_mode(&env.home().join("sessions"), 0o750);
    set_mode(&env.home().join("config.toml"), 0o644);
    fs::write(env.session_file(), "no session\n").unwrap();
    let run_output = env.args(&["doctor"]);
    let output = lines_of_areas(&run_output, &["store", "settings"]);
    let file = regex::Regex::new(r"such as .*").unwrap();
    expect![[r#"
        ok    settings  ~/home/config.toml
        warn  settings  ~/home/config.toml contains secrets and is readable by other users
                        → chmod 600 ~/home/config.toml
        ok    store     ~/home is writable, and file locks work
        warn  store     ~/home is readable by other users (mode 755)
                        → chmod 700 ~/home
        warn  store     ~/home/sessions is readable by other users (mode 750)
                        → chmod 700 ~/home/sessions
        warn  store     1 session cannot be read, such as …
                        → run `osier sessions verify FILE` for details
        exit 0
    "#]]
    .assert_eq(&env.with_stable_names(&file.replace(&output, "such as …")));
}

#[test]
fn unusable_home_folder_is_a_failure() {
    let env = TestEnv::new();
    env.write("file", "");
    // By its mode, the second one looks like a folder that root may write to.
    let output: Vec<String> = [env.path("file/home"), "/proc/x".into()]
        .into_iter()
        .map(|home| {
            let run_output = env.command().env("OSIER_HOME", home).arg("doctor").output().unwrap();
            lines_of_areas(&CommandOutput::from_output(run_output), &["store", "log"])
        })
        .collect();
    expect![[r#"
        fail  store     cannot create ~/code/file/home in ~/code/file: Not a directory (os error 20)
                        → set OSIER_HOME to a folder you can write to
        exit 1
        fail  store     cannot create /proc/x in /proc: No such file or directory (os error 2)
                        → set OSIER_HOME to a folder you can write to
        exit 1
    "#]]
    .assert_eq(&env.with_stable_names(&output.concat()));
}

#[test]
fn doctor_leaves_no_files_behind() {
    let user = TestEnv::new();
    assert_eq!(user.args(&["doctor"]).code, 0);
    assert!(!user.home().exists());
    let env = env("");
    env.ok("append hello");
    let before = crate::support::files_in(&env.home());
    assert_eq!(env.args(&["doctor"]).code, 0);
    assert_eq!(crate::support::files_in(&env.home()), before);
}

#[test]
fn trust_is_checked() {
    let env = env("");
    env.write(".osier/config.toml", "approval = \"yolo\"\n");
    check(
        &env,
        &["trust"],
        expect![[r#"
        warn  trust     ~/code is not trusted; what it requests is ignored
                        → run `osier trust` to review it
        exit 0
    "#]],
    );
    assert_eq!(env.args(&["trust", "--yes"]).code, 0);
    check(
        &env,
        &["trust"],
        expect![[r#"
        ok    trust     ~/code is trusted
        exit 0
    "#]],
    );
    env.write(".osier/config.toml", "approval = \"autoEdit\"\n");
    check(
        &env,
        &["trust"],
        expect![[r#"
        warn  trust     ~/code has changed what it requests since you decided
                        → run `osier trust` to review it
        exit 0
    "#]],
    );
    set_mode(&env.path(".osier"), 0o777);
    check(
        &env,
        &["trust"],
        expect![[r#"
        warn  trust     $DIR/code/.osier is writable by everyone; its settings are ignored
                        → make sure that only you can change it
        exit 0
    "#]],
    );
}

#[test]
fn json_has_the_same_checks() {
    let env = env("model = \"anthropic/claude-opus-5-5\"\n");
    let run_output = env.args(&["doctor", "--json"]);
    assert_eq!(run_output.code, 1, "the key is missing");
    let checks: Value = serde_json::from_str(&run_output.out).unwrap();
    let failed: Vec<&Value> =
        checks.as_array().unwrap().iter().filter(|check| check["status"] == "fail").collect();
    expect![[r#"
        [
          {
            "area": "model",
            "status": "fail",
            "said": "cannot use anthropic/claude-opus-5-5",
            "advice": "set ANTHROPIC_API_KEY"
          },
          {
            "area": "key",
            "status": "fail",
            "said": "anthropic has no key",
            "advice": "set ANTHROPIC_API_KEY"
          }
        ]"#]]
    .assert_eq(&serde_json::to_string_pretty(&failed).unwrap());
}

#[test]
fn terminal_is_checked() {
    let env = TestEnv::new();
    let mut command = env.command();
    command.env("TERM", "xterm-256color").env("LANG", "C").arg("doctor");
    let (code, screen) = TerminalCommand::start(command).wait();
    let output = lines_of_areas(&CommandOutput { code, out: screen, err: String::new() }, &["terminal"]);
    expect![[r#"
        ok    terminal  120 × 24, TERM xterm-256color, no colors
        warn  terminal  the locale is not UTF-8
                        → set LANG=C.UTF-8, or the UTF-8 locale of your language
        exit 0
    "#]]
    .assert_eq(&output);
}
