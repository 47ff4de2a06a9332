//! Attacks from inside the sandbox: commands that would write elsewhere, read keys, reach the network, or get out.
//!
//! Where the kernel has no Landlock nothing can be attacked: the tests say so on standard error, whatever the harness captures.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::run_support::{KEY, Running, Server, osier};
use crate::support::{Ran, World, has_sandbox};

/// Runs a command line as the hidden command does.
struct Cage {
    world: World,
    policy: Value,
}

impl Cage {
    /// `None`, and a line that says so, if this machine cannot do it.
    fn new(mounts: &str) -> Option<Cage> {
        let world = World::new();
        fs::create_dir_all(world.home().join("keys")).unwrap();
        fs::create_dir_all(world.home().join("skills")).unwrap();
        fs::write(world.home().join("keys/main"), KEY).unwrap();
        fs::write(world.home().join("skills/own.md"), "skill").unwrap();
        let cage = Cage { policy: policy(&world, mounts), world };
        let ran = cage.run(":");
        if ran.code == 0 {
            return Some(cage);
        }
        let line = format!("NOT RUN: no sandbox with mounts {mounts} here: {}\n", ran.err.trim());
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        None
    }

    fn all() -> impl Iterator<Item = Cage> {
        ["none", "namespace"].into_iter().filter_map(Cage::new)
    }

    fn run(&self, command: &str) -> Ran {
        let policy = self.policy.to_string();
        self.world.args(&["run-confined", &policy, command, "bash", "sh"])
    }

    fn fails(&self, command: &str) -> Ran {
        let ran = self.run(command);
        assert_ne!(ran.code, 0, "{} {command}: {ran}", self.policy["mounts"]);
        assert!(!ran.to_string().contains(KEY), "{command}: {ran}");
        ran
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.world.cwd().parent().unwrap().join(name)
    }
}

fn policy(world: &World, mounts: &str) -> Value {
    json!({
        "write": [real(&world.cwd())], "hide": [real(&world.home())], "show": [real(&world.home()).join("skills")],
        "protect": [], "pin": [], "network": "off", "unixSockets": false, "mounts": mounts,
    })
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap()
}

#[test]
fn writes_stay_in_the_project() {
    for cage in Cage::all() {
        fs::write(cage.beside("kept"), "kept").unwrap();
        assert_eq!(cage.run("mkdir -p a/b && echo x > a/b/c && mv a/b/c d && rm d && ln -s /etc e").code, 0);
        for command in [
            "echo x > ../kept",
            "truncate -s 0 ../kept",
            "rm ../kept",
            "mv ../kept kept",
            "ln ../kept kept && echo x > kept",
            "ln -s ../kept link && echo x > link",
            "touch ../new",
            "mkdir ../new",
            "cd .. && touch new",
            "touch /proc/self/cwd/../new",
            "chmod 000 ../kept && echo x > ../kept",
            "mknod disk b 254 0 && head -c 1 disk",
            "touch /dev/shm/osier-test",
        ] {
            cage.fails(command);
        }
        assert_eq!(fs::read(cage.beside("kept")).unwrap(), b"kept");
        assert!(!cage.beside("new").exists());
    }
}

#[test]
fn osiers_keys_and_home_cannot_be_read() {
    for cage in Cage::all() {
        let home = cage.world.home().display().to_string();
        for command in [
            format!("cat {home}/keys/main"),
            format!("tail -c +2 {home}/keys/main"),
            format!("ln {home}/keys/main here && cat here"),
            format!("ln -s {home} here; cat here/keys/main"),
            format!("mount --bind {home} . && cat keys/main"),
            format!("umount {home}; umount -l {home}; cat {home}/keys/main"),
            format!("unshare -r umount {home}; cat {home}/keys/main"),
            format!("cat /proc/self/root{home}/keys/main"),
            format!("mv {home} here; cat here/keys/main"),
            format!("tar -cf - {home}/keys/main | grep -ao 'sk-.*'"),
        ] {
            cage.fails(&command);
        }
        let ran = cage.run(&format!("cat {home}/skills/own.md"));
        assert_eq!((ran.code, ran.out.as_str()), (0, "skill"), "{ran}");
        let listed = cage.run(&format!("ls {home}/keys"));
        assert!(!listed.out.contains("main"), "{listed}");
    }
}

#[test]
fn the_network_is_off_for_every_kind_of_socket() {
    for cage in Cage::all() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let socket = cage.world.path("socket");
        let _listening = UnixListener::bind(&socket).unwrap();
        cage.fails(&format!("exec 3<>/dev/tcp/127.0.0.1/{port}"));
        cage.fails(&format!("exec 3<>/dev/udp/127.0.0.1/{port}"));
        if cage.run("command -v python3").code != 0 {
            std::io::stderr().write_all(b"NOT RUN: no python3 to open sockets with\n").unwrap();
            continue;
        }
        let python = |text: &str| format!("python3 -c 'import socket as s; {text}'");
        for text in [
            "s.socket(s.AF_INET6, s.SOCK_STREAM)",
            "s.socket(s.AF_NETLINK, s.SOCK_RAW)",
            "s.socket(s.AF_PACKET, s.SOCK_RAW)",
            "s.socket(s.AF_VSOCK, s.SOCK_STREAM)",
            "s.socket(s.AF_UNIX).connect(\"socket\")",
            "s.socket(s.AF_UNIX).connect(\"\\0abstract\")",
        ] {
            cage.fails(&python(text));
        }
        let ran = cage.run(&python("a, b = s.socketpair(); a.send(b\"x\"); print(b.recv(1))"));
        assert_eq!(ran.code, 0, "programs talk to their own children: {ran}");
    }
}

#[test]
fn only_the_allowed_ports_are_reached() {
    for mut cage in Cage::all() {
        let [open, closed] = [0, 0].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
        let [port, other] = [&open, &closed].map(|listener| listener.local_addr().unwrap().port());
        cage.policy["network"] = json!({ "ports": [port] });
        if cage.run(":").code != 0 {
            std::io::stderr().write_all(b"NOT RUN: this kernel cannot limit TCP to ports\n").unwrap();
            continue;
        }
        assert_eq!(cage.run(&format!("exec 3<>/dev/tcp/127.0.0.1/{port}")).code, 0);
        cage.fails(&format!("exec 3<>/dev/tcp/127.0.0.1/{other}"));
        cage.fails(&format!("exec 3<>/dev/udp/127.0.0.1/{port}"));
        if cage.run("command -v python3").code == 0 {
            let fast = format!(
                "import socket as s; s.socket().sendto(b\"x\", 0x20000000, (\"127.0.0.1\", {other}))"
            );
            cage.fails(&format!("python3 -c '{fast}'"));
            cage.fails("python3 -c 'import socket as s; s.socket(s.AF_INET, s.SOCK_STREAM, 262)'");
        }
    }
}

#[test]
fn other_processes_cannot_be_reached() {
    for cage in Cage::all() {
        let own = std::process::id();
        for command in [
            format!("cat /proc/{own}/environ"),
            format!("cat /proc/{own}/mem"),
            format!("readlink /proc/{own}/fd/0"),
            format!("kill -0 {own}"),
        ] {
            cage.fails(&command);
        }
        assert_eq!(cage.run("sleep 9 & kill $!; wait $! || true").code, 0, "but its own can");
    }
}

#[test]
fn hooks_and_settings_of_git_are_read_only_and_the_repository_is_not() {
    let Some(mut cage) = Cage::new("namespace") else { return };
    cage.world.write(".git/config", "[core]\n");
    cage.world.write(".git/hooks/pre-commit.sample", "");
    let git = real(&cage.world.path(".git"));
    cage.policy["protect"] = json!([git.join("config"), git.join("hooks")]);
    cage.policy["pin"] = json!([git]);
    for command in [
        "echo x > .git/hooks/post-commit",
        "echo x >> .git/config",
        "mv .git elsewhere",
        "rm -rf .git",
        "mv .git/hooks .git/old",
        "cp .git/config new && mv new .git/config",
    ] {
        cage.fails(command);
    }
    assert_eq!(cage.run("echo x > .git/HEAD.lock && mv .git/HEAD.lock .git/HEAD").code, 0);
    assert!(cage.world.path(".git/hooks/pre-commit.sample").exists());
}

#[test]
fn a_policy_that_cannot_be_enforced_runs_nothing() {
    let world = World::new();
    let mut policy = policy_of_nothing();
    for wrong in [json!("none"), json!({ "unknown": true })] {
        policy["more"] = wrong;
        let ran = world.args(&["run-confined", &policy.to_string(), "touch ran", "sh"]);
        assert_eq!(ran.code, 126, "{ran}");
        assert!(ran.err.starts_with("osier: cannot start the sandbox: "), "{ran}");
    }
    assert!(!world.path("ran").exists());
}

fn policy_of_nothing() -> Value {
    json!({
        "write": [], "hide": [], "show": [], "protect": [], "pin": [], "network": "off", "unixSockets": false,
        "mounts": "none",
    })
}

/// Runs one command of a model in an approval mode, and returns the result that the model gets.
fn told(mode: &str, command: &str, settings: &str) -> (World, String) {
    let server = Server::new();
    let world = server.world();
    let config = world.home().join("config.toml");
    let old = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{settings}\n{old}")).unwrap();
    let running = Running::start(osier(&world, &["-p", "--approval", mode, "do it"]));
    server.next().calls("bash", &json!({ "command": command }));
    let asked = server.next();
    let told = asked.messages().pop().unwrap();
    asked.answer("Done.");
    running.end();
    (world, told)
}

#[test]
fn in_the_mode_sandbox_nothing_is_asked_and_what_was_stopped_is_told() {
    if !has_sandbox(&World::new()) {
        return;
    }
    let (world, said) = told("sandbox", "echo x > made && cat made && echo $TMPDIR > $TMPDIR/t", "");
    assert_eq!(said, "tool: x", "{said}");
    assert!(world.path("made").exists());
    let (world, said) = told("sandbox", "echo x > ../made", "");
    assert!(said.contains("Permission denied"), "{said}");
    assert!(said.ends_with("[the sandbox may have blocked this command]"), "{said}");
    assert!(!world.cwd().parent().unwrap().join("made").exists());
    let (world, said) = told("sandbox", "cat ../home/config.toml", "");
    assert!(!said.contains("base_url"), "{said}");
    drop(world);
    let (_, said) = told("sandbox", "mkdir .husky", "");
    assert!(said.contains("[created .husky: programs outside the sandbox may run it"), "{said}");
}

#[test]
fn every_mode_but_yolo_confines_unless_the_settings_say_otherwise() {
    if !has_sandbox(&World::new()) {
        return;
    }
    let allowed = "cat ../home/config.toml";
    let (_, said) = told("yolo", allowed, "");
    assert!(said.contains("base_url"), "{said}");
    let (_, said) = told("sandbox", "touch ../more/x && echo made", "sandbox.write = [\"../more\"]");
    assert!(said.contains("cannot touch"), "a folder that is not there is not made: {said}");
    let (_, said) = told("sandbox", "cat secret", "sandbox.hide = [\"secret\"]");
    assert!(said.starts_with("tool: "), "{said}");
}

#[test]
fn without_the_sandbox_the_mode_asks_as_before_and_says_why() {
    // A command whose working directory is hidden cannot be confined.
    for (settings, reason) in [
        ("sandbox.hide = [\".\"]", "the sandbox is not available: "),
        ("sandbox.when = \"never\"", "`--approval yolo` allows it"),
    ] {
        let (world, said) = told("sandbox", "touch ran", settings);
        assert!(said.starts_with("tool: not allowed: no user is present to approve it"), "{said}");
        assert!(said.contains(reason), "{said}");
        assert!(!world.path("ran").exists());
    }
}
