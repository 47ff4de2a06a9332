//! Trust: what a project can set without trust, what it can set once it is trusted, and how to revoke that.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use osier_testkit::{Expect, expect};

use crate::run_support::TerminalCommand;
use crate::support::{CommandOutput, World};

const ASKS: &str = "thinking = \"low\"\nmodel = \"local/m\"\n[providers.local]\nbase_url = \"http://127.0.0.1:1/v1\"\n\
                    api_key_command = \"pass local\"\nheaders = { x-token = \"hunter2\" }\n";

fn world() -> World {
    let world = World::new();
    world.write(".osier/config.toml", ASKS);
    world
}

fn check(world: &World, commands: &[&[&str]], expect: Expect) {
    let output: String =
        commands.iter().map(|args| format!("$ {}\n{}", args.join(" "), world.args(args))).collect();
    expect.assert_eq(&world.with_stable_names(&output));
}

fn get(world: &World, key: &str) -> String {
    let ran = world.args(&["config", "get", key]);
    ran.out.trim_end().to_owned()
}

fn in_force(world: &World) -> bool {
    assert_eq!(get(world, "thinking"), "low", "harmless settings always apply");
    get(world, "model") == "local/m"
}

#[test]
fn settings_of_a_project_apply_once_it_is_trusted() {
    let world = world();
    assert!(!in_force(&world));
    check(
        &world,
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
            ! osier: ~/code is not trusted; ignored settings and folders in .osier: model, providers.local.base_url, providers.local.api_key_command, providers.local.headers.x-token; run `osier trust` to review them
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
    assert!(!in_force(&world));
}

#[test]
fn trust_is_stored_in_a_private_file_outside_the_project() {
    let world = world();
    assert_eq!(world.args(&["trust", "--yes"]).code, 0);
    for name in ["trusted.json", "trusted.lock"] {
        let about = fs::metadata(world.home().join(name)).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, 0o600, "{name}");
    }
    assert_eq!(fs::metadata(world.home()).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(crate::support::files_in(&world.path(".osier")), [world.path(".osier/config.toml")]);
    let kept = fs::read_to_string(world.home().join("trusted.json")).unwrap();
    assert!(!kept.contains("hunter2") && !kept.contains("pass local"), "{kept}");
}

#[test]
fn a_project_that_changes_its_requests_is_no_longer_trusted() {
    let world = world();
    assert_eq!(world.args(&["trust", "--yes"]).code, 0);
    assert!(in_force(&world));
    let changes = [
        ASKS.replace("127.0.0.1:1", "127.0.0.1:2"),
        ASKS.replace("pass local", "curl x"),
        ASKS.replace("hunter2", "hunter3"),
        format!("approval = \"yolo\"\n{ASKS}"),
    ];
    for changed in changes {
        world.write(".osier/config.toml", &changed);
        assert!(!in_force(&world), "{changed}");
        assert!(world.args(&["trust", "--list"]).out.starts_with("changed "), "{changed}");
    }
    world.write(".osier/config.toml", ASKS.replace("model", "# why not\nmodel"));
    assert!(in_force(&world), "a comment requests nothing");
    fs::create_dir(world.path(".osier/skills")).unwrap();
    assert!(!in_force(&world), "a new folder with instructions for the model");
}

#[test]
fn trust_does_not_extend_to_nested_projects() {
    let world = world();
    assert_eq!(world.args(&["trust", "--yes"]).code, 0);
    let osier = |folder: &str, args: &[&str]| {
        let mut command: Command = world.command();
        CommandOutput::from_output(command.current_dir(world.path(folder)).args(args).output().unwrap())
    };
    fs::create_dir_all(world.path("src/deep")).unwrap();
    assert_eq!(osier("src/deep", &["config", "get", "model"]).out, "local/m\n", "the same project");
    world.write("vendor/lib/.osier/config.toml", ASKS);
    assert_ne!(osier("vendor/lib", &["config", "get", "model"]).out, "local/m\n");
    fs::create_dir_all(world.path("vendor/git/.git")).unwrap();
    assert_ne!(osier("vendor/git", &["config", "get", "model"]).out, "local/m\n", "another repository");
    let listed = osier("vendor/lib", &["trust", "--list", "--json"]).out;
    assert!(!listed.contains("vendor"), "{listed}");
}

#[test]
fn trust_follows_links_to_the_same_folder() {
    let world = world();
    symlink(world.cwd(), world.home().with_file_name("link")).unwrap();
    fs::create_dir(world.path("src")).unwrap();
    let ran = world.args(&["trust", "--yes", "src/../../link/src"]);
    assert!(world.with_stable_names(&ran.out).starts_with("trusted: ~/code\n"), "{ran}");
    assert!(in_force(&world));
}

#[test]
fn a_folder_that_others_can_change_cannot_be_trusted_and_is_ignored() {
    let world = world();
    let open = |path: &str, mode| {
        fs::set_permissions(world.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    open(".osier/config.toml", 0o666);
    check(
        &world,
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
    assert_eq!(world.args(&["trust", "--yes"]).code, 0);
    open(".osier", 0o777);
    assert_eq!(get(&world, "thinking"), "medium");
    open(".osier", 0o755);
    assert!(in_force(&world));
}

#[test]
fn trust_fails_if_there_is_nothing_to_trust() {
    let world = World::new();
    check(
        &world,
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
    world.write(".osier/config.toml", "thinking = \"low\"\n");
    check(
        &world,
        &[&["trust", "--yes"]],
        expect![[r#"
        $ trust --yes
        ! osier: ~/code requests nothing that needs trust
        exit 1
    "#]],
    );
    world.write(".osier/config.toml", "model = 3\n");
    check(
        &world,
        &[&["trust", "--yes"]],
        expect![[r#"
        $ trust --yes
        ! osier: ~/code/.osier/config.toml:1: model must be a string
        exit 1
    "#]],
    );
    assert!(!world.home().join("trusted.json").exists());
}

#[test]
fn a_damaged_trust_file_trusts_nothing_and_is_reported() {
    let world = world();
    assert_eq!(world.args(&["trust", "--yes"]).code, 0);
    fs::write(world.home().join("trusted.json"), "{\"folders\": ").unwrap();
    assert!(!in_force(&world));
    check(
        &world,
        &[&["models"], &["trust", "--yes"]],
        expect![[r#"
            $ models
              model            window  output  $ in  $ out  can
            * offline/offline    200k     16k     -      -  tools
            ! osier: ~/home/trusted.json: no folder is trusted: the file is damaged; delete it and trust your projects again: EOF while parsing a value at line 1 column 12
            ! osier: ~/code is not trusted; ignored settings and folders in .osier: model, providers.local.base_url, providers.local.api_key_command, providers.local.headers.x-token; run `osier trust` to review them
            ! no API key or server is configured; --all lists all models and what they need
            $ trust --yes
            ! osier: $DIR/home/trusted.json: the file is damaged; delete it and trust your projects again: EOF while parsing a value at line 1 column 12
            exit 1
        "#]],
    );
}

#[test]
fn the_decision_about_a_deleted_folder_can_be_removed() {
    let world = world();
    let folder = world.path("other");
    world.write("other/.osier/config.toml", ASKS);
    let name = folder.to_str().unwrap();
    assert_eq!(world.args(&["trust", "--yes", name]).code, 0);
    fs::remove_dir_all(&folder).unwrap();
    check(
        &world,
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
    let world = world();
    for number in 0..8 {
        world.write(&format!("p{number}/.osier/config.toml"), ASKS);
    }
    world.run_concurrently(8, &["trust", "--yes", "p#"]);
    assert_eq!(world.args(&["trust", "--list"]).out.lines().count(), 8);
    world.run_concurrently(8, &["trust", "--remove", "p#"]);
    assert_eq!(world.args(&["trust", "--list"]).out, "");
}

fn on_a_terminal(world: &World, args: &[&str]) -> TerminalCommand {
    let mut command = world.command();
    command.args(args);
    TerminalCommand::start(command)
}

#[test]
fn the_question_is_asked_once_and_the_answer_is_stored() {
    let world = world();
    let mut terminal = on_a_terminal(&world, &[]);
    let question = terminal.read_until("[y/N] ");
    expect![[r#"
        ~/code requests settings that need your trust:
          model = "local/m"
          providers.local.base_url = "http://127.0.0.1:1/v1"
          providers.local.api_key_command = "pass local"
          providers.local.headers.x-token = (set)
        Its authors could read what you send and run commands. Trust this project? [y/N] "#]]
    .assert_eq(&world.with_stable_names(&question));
    terminal.type_in("n\n");
    leave(terminal);
    assert!(!in_force(&world));
    let greeting = leave(on_a_terminal(&world, &[]));
    assert!(!greeting.contains("[y/N]"), "{greeting}");
    assert!(world.args(&["trust", "--list"]).out.starts_with("refused "));
    world.write(".osier/config.toml", format!("approval = \"yolo\"\n{ASKS}"));
    let mut terminal = on_a_terminal(&world, &[]);
    let question = terminal.read_until("[y/N] ");
    assert!(
        question.contains("has changed what it requests") && question.contains("approval = \"yolo\""),
        "{question}"
    );
    terminal.type_in("y\n");
    leave(terminal);
    assert!(in_force(&world));
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
    let world = world();
    for args in [["-p", "hello"].as_slice(), &["--mode", "json", "hello"], &["models"], &["sessions", "list"]]
    {
        let (code, screen) = on_a_terminal(&world, args).wait();
        assert_eq!(code, 0, "{args:?}: {screen}");
        assert!(!screen.contains("[y/N]"), "{args:?}: {screen}");
    }
    assert!(!world.home().join("trusted.json").exists());
}

#[test]
fn no_answer_is_not_a_decision() {
    let world = world();
    let mut terminal = on_a_terminal(&world, &[]);
    terminal.read_until("[y/N] ");
    terminal.type_in("\u{4}");
    leave(terminal);
    assert!(!world.home().join("trusted.json").exists());
}

#[test]
fn the_command_shows_the_requests_and_asks() {
    let world = world();
    let mut terminal = on_a_terminal(&world, &["trust"]);
    let question = terminal.read_until("[y/N] ");
    assert!(question.contains("pass local") && !question.contains("hunter2"), "{question}");
    terminal.type_in("y\n");
    let (code, rest) = terminal.wait();
    assert_eq!(code, 0);
    assert!(rest.contains("trusted: ~/code"), "{rest}");
    assert!(in_force(&world));
}

/// Trust covers exactly what was reviewed, so a folder that cannot be read completely cannot be trusted.
#[test]
fn a_project_that_cannot_be_hashed_is_ignored_with_a_reason() {
    let skill = "---\nname: own\ndescription: OWNED\n---\nOWNED";
    let check = |make: &dyn Fn(&World), why: &str| {
        let world = World::new();
        world.write(".osier/config.toml", "thinking = \"low\"\n");
        world.write(".osier/skills/own/SKILL.md", skill);
        make(&world);
        let ran = world.args(&["trust", "--yes"]);
        assert!(ran.code == 1 && ran.err.contains(why), "{ran}");
        let ran = world.args(&["-p", "--model", "offline", "hello"]);
        assert!(ran.err.contains("ignored the .osier folder") && ran.err.contains(why), "{ran}");
        assert_eq!(get(&world, "thinking"), "medium");
        assert!(world.args(&["doctor"]).out.contains(why));
    };
    let link = |target: &str, name: &'static str| {
        let target = target.to_owned();
        move |world: &World| {
            let path = world.path(name);
            let _ = fs::remove_dir_all(&path);
            symlink(&target, path).unwrap();
        }
    };
    check(&link("/", ".osier/skills"), "outside the project");
    check(&link("/", ".osier/skills/own"), "outside the project");
    check(
        &|world| (0..=1000).for_each(|number| world.write(&format!(".osier/prompts/{number}.md"), "")),
        "more than 1000 files",
    );
}

/// Trust covers links inside the project and the files they point to.
#[test]
fn changing_the_target_of_a_link_revokes_trust() {
    let world = World::new();
    world.write("docs/SKILL.md", "---\nname: own\ndescription: FIRST\n---\n");
    fs::create_dir_all(world.path(".osier/skills")).unwrap();
    symlink("../../docs", world.path(".osier/skills/own")).unwrap();
    assert_eq!(world.args(&["trust", "--yes"]).code, 0);
    assert!(world.args(&["trust", "--list"]).out.starts_with("trusted"));
    world.write("docs/SKILL.md", "---\nname: own\ndescription: OTHER\n---\n");
    assert!(world.args(&["trust", "--list"]).out.starts_with("changed"));
}
