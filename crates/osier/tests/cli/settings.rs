//! The settings files, the home folder and the caches.

use std::fs;
use std::process::Command;

use crate::support::TestEnv;

#[test]
fn sessions_are_in_the_home_folder_by_default() {
    let env = TestEnv::new();
    let mut command = env.command();
    command.env_remove("OSIER_HOME").env("HOME", env.cwd()).args(["sessions", "append", "x"]);
    assert!(command.output().unwrap().status.success());
    assert!(env.path(".osier/sessions").is_dir());
    let mut command = env.command();
    command.env("OSIER_HOME", "relative").args(["sessions", "append", "x"]);
    assert!(command.output().unwrap().status.success());
    assert!(env.path("relative/sessions").is_dir());
}

#[test]
fn invalid_settings_are_reported_with_their_file() {
    let env = TestEnv::new();
    fs::create_dir(env.home()).unwrap();
    fs::write(env.home().join("config.toml"), "durability = \"sometimes\"\n").unwrap();
    let error = env.fails(1, "list");
    assert!(error.contains("config.toml:1: durability must be \"os\", \"turn\" or \"always\""), "{error}");
    for value in ["os", "turn", "always"] {
        fs::write(env.home().join("config.toml"), format!("durability = \"{value}\"\n")).unwrap();
        env.ok("append x");
    }
    fs::write(env.home().join("config.toml"), "").unwrap();
    env.write(".osier/config.toml", "durability = ");
    let output = env.run("list");
    assert!(
        output.code == 0 && output.err.contains("code/.osier/config.toml"),
        "a problem in a project's file is only a warning: {output}"
    );
}

#[test]
fn a_deleted_current_directory_is_reported() {
    let env = TestEnv::new();
    let script = "mkdir gone && cd gone && rmdir ../gone && \"$OSIER\" sessions list";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).env("OSIER", env!("CARGO_BIN_EXE_osier")).current_dir(env.cwd());
    let output = shell.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.starts_with("osier: the current directory no longer exists; change to another one"),
        "{error}"
    );
}

/// Caches may be deleted or damaged at any time.
#[test]
fn caches_do_not_change_results() {
    let env = TestEnv::new();
    let session = env.json("append one")["session"].as_str().unwrap().to_owned();
    env.ok(&format!("append {session} two"));
    let all = |env: &TestEnv| {
        ["list", "tree {}", "context {} --json", "snapshot {}"]
            .map(|line| env.ok(&line.replace("{}", &session)))
    };
    let before = all(&env);
    for file in crate::support::files_in(&env.home().join("cache")) {
        fs::write(file, "nonsense").unwrap();
    }
    assert_eq!(all(&env), before);
    fs::remove_dir_all(env.home().join("cache")).unwrap();
    assert_eq!(all(&env), before);
}
