//! The settings files, the home folder and the caches.

use std::fs;
use std::process::Command;

use crate::support::World;

#[test]
fn sessions_are_in_the_home_folder_by_default() {
    let world = World::new();
    let mut command = world.command();
    command.env_remove("OSIER_HOME").env("HOME", world.cwd()).args(["sessions", "append", "x"]);
    assert!(command.output().unwrap().status.success());
    assert!(world.path(".osier/sessions").is_dir());
    let mut command = world.command();
    command.env("OSIER_HOME", "relative").args(["sessions", "append", "x"]);
    assert!(command.output().unwrap().status.success());
    assert!(world.path("relative/sessions").is_dir());
}

#[test]
fn invalid_settings_are_reported_with_their_file() {
    let world = World::new();
    fs::create_dir(world.home()).unwrap();
    fs::write(world.home().join("config.toml"), "durability = \"sometimes\"\n").unwrap();
    let error = world.fails(1, "list");
    assert!(error.contains("config.toml:1: durability must be \"os\", \"turn\" or \"always\""), "{error}");
    for value in ["os", "turn", "always"] {
        fs::write(world.home().join("config.toml"), format!("durability = \"{value}\"\n")).unwrap();
        world.ok("append x");
    }
    fs::write(world.home().join("config.toml"), "").unwrap();
    world.write(".osier/config.toml", "durability = ");
    let ran = world.run("list");
    assert!(
        ran.code == 0 && ran.err.contains("code/.osier/config.toml"),
        "a problem in a project's file is only a warning: {ran}"
    );
}

#[test]
fn a_deleted_current_directory_is_reported() {
    let world = World::new();
    let script = "mkdir gone && cd gone && rmdir ../gone && \"$OSIER\" sessions list";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).env("OSIER", env!("CARGO_BIN_EXE_osier")).current_dir(world.cwd());
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
    let world = World::new();
    let session = world.json("append one")["session"].as_str().unwrap().to_owned();
    world.ok(&format!("append {session} two"));
    let all = |world: &World| {
        ["list", "tree {}", "context {} --json", "snapshot {}"]
            .map(|line| world.ok(&line.replace("{}", &session)))
    };
    let before = all(&world);
    for file in crate::support::files_in(&world.home().join("cache")) {
        fs::write(file, "nonsense").unwrap();
    }
    assert_eq!(all(&world), before);
    fs::remove_dir_all(world.home().join("cache")).unwrap();
    assert_eq!(all(&world), before);
}
