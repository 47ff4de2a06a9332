//! Trust: what a project can set without trust, what it can set once it is trusted, and how to revoke that.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use osier_testkit::{Expect, expect};

use crate::run_support::TerminalCommand;
use crate::support::{CommandOutput, TestEnv};

const ASKS: &str = "thinking = \"low\"\nmodel = \"local/m\"\n[providers.local]\nbase_url = \"http://127.0.0.1:1/v1\"\n\
                    api_key_command = \"pass local\"\nheaders = { x-token = \"hunter2\" }\n";

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write(".osier/config.toml", ASKS);
    env
}

fn check(env: &TestEnv, commands: &[&[&str]], expect: Expect) {
    let output: String =
        commands.iter().map(|args| format!("$ {}\n{}", args.join(" "), env.args(args))).collect();
    expect.assert_eq(&env.with_stable_names(&output));
}

fn get(env: &TestEnv, key: &str) -> String {
    let output = env.args(&["config", "get", key]);
    output.out.trim_end().to_owned()
}

fn in_force(env: &TestEnv) -> bool {
    assert_eq!(get(env, "thinking"), "low", "harmless settings always apply");
    get(env, "model") == "local/m"
}

#[test]
fn settings_of_a_project_apply_once_it_is_trusted() {
    let env = env();
    assert!(!in_force(&env));
    check(
        &env,
        &[
            &["trust", "--list"],
            &["models"],
            &["trust"],
            &["trust", "--yes"],
            &["trust", "--list"],
            &["models"],
            &["config", "get", "model"],
            &["trust", "--remove"],
            &["config", "get", "model"],
            &["trust", "--remove"],
        ],
        expect![[r#"
            $ trust --list
            ! no trust decisions yet
            $ models
              model            window  output  $ in  $ out  can
            * offline/offline    200k     16k     -      -  tools
            ! osier: ~/code is not trusted; ignored its settings and folders: model, providers.local.base_url, providers.local.api_key_command, providers.local.headers.x-token; run `osier trust` to review them
            ! no API key or server is configured; --all lists all models and what they need
            $ trust
            ! ~/code requests:
            !   model = "local/m"
            !   providers.local.base_url = "http://127.0.0.1:1/v1"
            !   providers.local.api_key_command = "pass local"
            !   providers.local.headers.x-token = (set)
            ! osier: cannot ask without a terminal; add --yes to trust it
            exit 2
            $ trust --yes
            trusted: ~/code
              model = "local/m"
              providers.local.base_url = "http://127.0.0.1:1/v1"
              providers.local.api_key_command = "pass local"
              providers.local.headers.x-token = (set)
            $ trust --list
            trusted  ~/code
            $ models
              model            window  output  $ in  $ out  can
            * local/m             32k     16k     -      -  tools
              offline/offline    200k     16k     -      -  tools
            $ config get model
            local/m
            $ trust --remove
            forgotten: ~/code
            $ config get model
            offline/offline
            $ trust --remove
            ! osier: no decision about ~/code; `osier trust --list` lists all decisions
            exit 1
        "#]],
    );
    assert!(!in_force(&env));
}

#[test]
fn trust_is_stored_in_a_private_file_outside_the_project() {
    let env = env();
    assert_eq!(env.args(&["trust", "--yes"]).code, 0);
    for name in ["trusted.json", "trusted.lock"] {
        let about = fs::metadata(env.home().join(name)).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, 0o600, "{name}");
    }
    assert_eq!(fs::metadata(env.home()).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(crate::support::files_in(&env.path(".osier")), [env.path(".osier/config.toml")]);
    let kept = fs::read_to_string(env.home().join("trusted.json")).unwrap();
    assert!(!kept.contains("hunter2") && !kept.contains("pass local"), "{kept}");
}

#[test]
fn a_project_that_changes_its_requests_is_no_longer_trusted() {
    let env = env();
    assert_eq!(env.args(&["trust", "--yes"]).code, 0);
    assert!(in_force(&env));
    let changes = [
        ASKS.replace("127.0.0.1:1", "127.0.0.1:2"),
        ASKS.replace("pass local", "curl x"),
        ASKS.replace("hunter2", "hunter3"),
        format!("approval = \"yolo\"\n{ASKS}"),
    ];
    for changed in changes {
        env.write(".osier/config.toml", &changed);
        assert!(!in_force(&env), "{changed}");
        assert!(env.args(&["trust", "--list"]).out.starts_with("changed "), "{changed}");
    }
    env.write(".osier/config.toml", ASKS.replace("model", "# why not\nmodel"));
    assert!(in_force(&env), "a comment requests nothing");
    fs::create_dir(env.path(".osier/skills")).unwrap();
    assert!(!in_force(&env), "a new folder with instructions for the model");
}

#[test]
fn trust_does_not_extend_to_nested_projects() {
    let env = env();
    assert_eq!(env.args(&["trust", "--yes"]).code, 0);
    let osier = |folder: &str, args: &[&str]| {
        let mut command: Command = env.command();
        CommandOutput::from_output(command.current_dir(env.path(folder)).args(args).output().unwrap())
    };
    fs::create_dir_all(env.path("src/deep")).unwrap();
    assert_eq!(osier("src/deep", &["config", "get", "model"]).out, "local/m\n", "the same project");
    env.write("vendor/lib/.osier/config.toml", ASKS);
    assert_ne!(osier("vendor/lib", &["config", "get", "model"]).out, "local/m\n");
    fs::create_dir_all(env.path("vendor/git/.git")).unwrap();
    assert_ne!(osier("vendor/git", &["config", "get", "model"]).out, "local/m\n", "another repository");
    let listed = osier("vendor/lib", &["trust", "--list", "--json"]).out;
    assert!(!listed.contains("vendor"), "{listed}");
}

#[test]
fn trust_follows_links_to_the_same_folder() {
    let env = env();
    symlink(env.cwd(), env.home().with_file_name("link")).unwrap();
    fs::create_dir(env.path("src")).unwrap();
    let output = env.args(&["trust", "--yes", "src/../../link/src"]);
    assert!(env.with_stable_names(&output.out).starts_with("trusted: ~/code\n"), "{output}");
    assert!(in_force(&env));
}

#[test]
fn a_folder_that_others_can_change_cannot_be_trusted_and_is_ignored() {
    let env = env();
    let open = |path: &str, mode| {
        fs::set_permissions(env.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    open(".osier/config.toml", 0o666);
    check(
        &env,
        &[&["trust", "--yes"], &["config", "get", "thinking"]],
        expect![[r#"
        $ trust --yes
        ! osier: $DIR/code/.osier/config.toml is writable by everyone; it cannot be trusted because other users could change it
        exit 1
        $ config get thinking
        medium
    "#]],
    );
    open(".osier/config.toml", 0o644);
    assert_eq!(env.args(&["trust", "--yes"]).code, 0);
    open(".osier", 0o777);
    assert_eq!(get(&env, "thinking"), "medium");
    open(".osier", 0o755);
    assert!(in_force(&env));
}

#[test]
fn trust_fails_if_there_is_nothing_to_trust() {
    let env = TestEnv::new();
    check(
        &env,
        &[&["trust", "--yes"], &["trust", "--yes", "nowhere"], &["trust", "--remove"]],
        expect![[r#"
        $ trust --yes
        ! osier: ~/code is not in a project: neither it nor a parent folder contains .osier or .git
        exit 1
        $ trust --yes nowhere
        ! osier: nowhere is not in a project: neither it nor a parent folder contains .osier or .git
        exit 1
        $ trust --remove
        ! osier: no decision about ~/code; `osier trust --list` lists all decisions
        exit 1
    "#]],
    );
    env.write(".osier/config.toml", "thinking = \"low\"\n");
    check(
        &env,
        &[&["trust", "--yes"]],
        expect![[r#"
        $ trust --yes
        ! osier: ~/code requests nothing that needs trust
        exit 1
    "#]],
    );
    env.write(".osier/config.toml", "model = 3\n");
    check(
        &env,
        &[&["trust", "--yes"]],
        expect![[r#"
        $ trust --yes
        ! osier: ~/code/.osier/config.toml:1: model must be a string
        exit 1
    "#]],
    );
    assert!(!env.home().join("trusted.json").exists());
}

#[test]
fn a_damaged_trust_file_trusts_nothing_and_is_reported() {
    let env = env();
    assert_eq!(env.args(&["trust", "--yes"]).code, 0);
    fs::write(env.home().join("trusted.json"), "{\"folders\": ").unwrap();
    assert!(!in_force(&env));
    check(
        &env,
        &[&["models"], &["trust", "--yes"]],
        expect![[r#"
            $ models
              model            window  output  $ in  $ out  can
            * offline/offline    200k     16k     -      -  tools
            ! osier: ~/home/trusted.json: no folder is trusted: the file is damaged; delete it and trust your projects again: EOF while parsing a value at line 1 column 12
            ! osier: ~/code is not trusted; ignored its settings and folders: model, providers.local.base_url, providers.local.api_key_command, providers.local.headers.x-token; run `osier trust` to review them
            ! no API key or server is configured; --all lists all models and what they need
            $ trust --yes
            ! osier: $DIR/home/trusted.json: the file is damaged; delete it and trust your projects again: EOF while parsing a value at line 1 column 12
            exit 1
        "#]],
    );
}

#[test]
fn the_decision_about_a_deleted_folder_can_be_removed() {
    let env = env();
    let folder = env.path("other");
    env.write("other/.osier/config.toml", ASKS);
    let name = folder.to_str().unwrap();
    assert_eq!(env.args(&["trust", "--yes", name]).code, 0);
    fs::remove_dir_all(&folder).unwrap();
    check(
        &env,
        &[&["trust", "--list"], &["trust", "--remove", name], &["trust", "--list"]],
        expect![[r#"
        $ trust --list
        gone     ~/code/other
        $ trust --remove $DIR/code/other
        forgotten: ~/code/other
        $ trust --list
        ! no trust decisions yet
    "#]],
    );
}

/// Concurrent decisions do not overwrite each other.
#[test]
fn concurrent_decisions_are_not_lost() {
    let env = env();
    for number in 0..8 {
        env.write(&format!("p{number}/.osier/config.toml"), ASKS);
    }
    env.run_concurrently(8, &["trust", "--yes", "p#"]);
    assert_eq!(env.args(&["trust", "--list"]).out.lines().count(), 8);
    env.run_concurrently(8, &["trust", "--remove", "p#"]);
    assert_eq!(env.args(&["trust", "--list"]).out, "");
}

fn on_a_terminal(env: &TestEnv, args: &[&str]) -> TerminalCommand {
    let mut command = env.command();
    command.args(args);
    TerminalCommand::start(command)
}

#[test]
fn the_question_is_asked_once_and_the_answer_is_stored() {
    let env = env();
    let mut terminal = on_a_terminal(&env, &[]);
    let question = terminal.read_until("[y/N] ");
    expect![[r#"
        ~/code requests settings that need your trust:
          model = "local/m"
          providers.local.base_url = "http://127.0.0.1:1/v1"
          providers.local.api_key_command = "pass local"
          providers.local.headers.x-token = (set)
        Its authors could read what you send and run commands. Trust this project? [y/N] "#]]
    .assert_eq(&env.with_stable_names(&question));
    terminal.type_in("n\n");
    leave(terminal);
    assert!(!in_force(&env));
    let greeting = leave(on_a_terminal(&env, &[]));
    assert!(!greeting.contains("[y/N]"), "{greeting}");
    assert!(env.args(&["trust", "--list"]).out.starts_with("refused "));
    env.write(".osier/config.toml", format!("approval = \"yolo\"\n{ASKS}"));
    let mut terminal = on_a_terminal(&env, &[]);
    let question = terminal.read_until("[y/N] ");
    assert!(
        question.contains("has changed what it requests") && question.contains("approval = \"yolo\""),
        "{question}"
    );
    terminal.type_in("y\n");
    leave(terminal);
    assert!(in_force(&env));
}

/// Quits the interface once it is drawn. Returns the output before it.
fn leave(mut terminal: TerminalCommand) -> String {
    let seen = terminal.read_until("type a message, or /help");
    terminal.type_in("\u{4}");
    assert_eq!(terminal.wait().0, 0);
    seen
}

#[test]
fn commands_that_print_do_not_ask() {
    let env = env();
    for args in [["-p", "hello"].as_slice(), &["--mode", "json", "hello"], &["models"], &["sessions", "list"]]
    {
        let (code, screen) = on_a_terminal(&env, args).wait();
        assert_eq!(code, 0, "{args:?}: {screen}");
        assert!(!screen.contains("[y/N]"), "{args:?}: {screen}");
    }
    assert!(!env.home().join("trusted.json").exists());
}

#[test]
fn no_answer_is_not_a_decision() {
    let env = env();
    let mut terminal = on_a_terminal(&env, &[]);
    terminal.read_until("[y/N] ");
    terminal.type_in("\u{4}");
    leave(terminal);
    assert!(!env.home().join("trusted.json").exists());
}

#[test]
fn the_command_shows_the_requests_and_asks() {
    let env = env();
    let mut terminal = on_a_terminal(&env, &["trust"]);
    let question = terminal.read_until("[y/N] ");
    assert!(question.contains("pass local") && !question.contains("hunter2"), "{question}");
    terminal.type_in("y\n");
    let (code, rest) = terminal.wait();
    assert_eq!(code, 0);
    assert!(rest.contains("trusted: ~/code"), "{rest}");
    assert!(in_force(&env));
}

/// Trust covers exactly what was reviewed, so a folder that cannot be read completely cannot be trusted.
#[test]
fn a_project_that_cannot_be_hashed_is_ignored_with_a_reason() {
    let skill = "---\nname: own\ndescription: OWNED\n---\nOWNED";
    let check = |make: &dyn Fn(&TestEnv), reason: &str| {
        let env = TestEnv::new();
        env.write(".osier/config.toml", "thinking = \"low\"\n");
        env.write(".osier/skills/own/SKILL.md", skill);
        make(&env);
        let output = env.args(&["trust", "--yes"]);
        assert!(output.code == 1 && output.err.contains(reason), "{output}");
        let output = env.args(&["-p", "--model", "offline", "hello"]);
        assert!(output.err.contains("ignored the .osier folder") && output.err.contains(reason), "{output}");
        assert_eq!(get(&env, "thinking"), "medium");
        assert!(env.args(&["doctor"]).out.contains(reason));
    };
    let link = |target: &str, name: &'static str| {
        let target = target.to_owned();
        move |env: &TestEnv| {
            let path = env.path(name);
            let _ = fs::remove_dir_all(&path);
            symlink(&target, path).unwrap();
        }
    };
    check(&link("/", ".osier/skills"), "outside the project");
    check(&link("/", ".osier/skills/own"), "outside the project");
    check(
        &|env| (0..=1000).for_each(|number| env.write(&format!(".osier/prompts/{number}.md"), "")),
        "more than 1000 files",
    );
}

/// Trust covers links inside the project and the files they point to.
#[test]
fn changing_the_target_of_a_link_revokes_trust() {
    let env = TestEnv::new();
    env.write("docs/SKILL.md", "---\nname: own\ndescription: FIRST\n---\n");
    fs::create_dir_all(env.path(".osier/skills")).unwrap();
    symlink("../../docs", env.path(".osier/skills/own")).unwrap();
    assert_eq!(env.args(&["trust", "--yes"]).code, 0);
    assert!(env.args(&["trust", "--list"]).out.starts_with("trusted"));
    env.write("docs/SKILL.md", "---\nname: own\ndescription: OTHER\n---\n");
    assert!(env.args(&["trust", "--list"]).out.starts_with("changed"));
}
