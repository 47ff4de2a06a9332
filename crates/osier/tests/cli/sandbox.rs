//! Attacks from inside the sandbox: commands that try to write elsewhere, read keys, use the network, or escape.
//!
//! If the kernel has no Landlock, the tests are skipped and print that directly to standard error, which the harness does not
//! capture.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::{chown, lchown};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

use crate::run_support::{KEY, ModelServer, RunningCommand, osier_command};
use crate::support::{CommandOutput, TestEnv, has_sandbox};

const BUBBLEWRAP: &str = "/usr/bin/bwrap";

/// A user without privileges, for tests that root runs.
const NOBODY: u32 = 65534;

/// The arguments that the program passes to Bubblewrap.
fn bubblewrap_arguments(policy: &Value) -> Vec<String> {
    let mut words: Vec<String> =
        ["--unshare-ipc", "--ro-bind", "/", "/", "--dev", "/dev"].map(str::to_owned).to_vec();
    for (key, option, has_source) in [
        ("write", "--bind", true),
        ("hide", "--tmpfs", false),
        ("show", "--ro-bind", true),
        ("pin", "--bind", true),
        ("protect", "--ro-bind", true),
    ] {
        for path in policy[key].as_array().unwrap().iter().map(|path| path.as_str().unwrap().to_owned()) {
            words.extend([option.to_owned(), path.clone()]);
            words.extend(has_source.then_some(path));
        }
    }
    words.push("--".to_owned());
    words
}

/// Changes the owner of a folder and of everything in it.
fn chown_all(path: &Path, user: u32) {
    lchown(path, Some(user), Some(user)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        fs::read_dir(path).unwrap().for_each(|entry| chown_all(&entry.unwrap().path(), user));
    }
}

/// Runs command lines in a sandbox with the hidden subcommand.
struct TestSandbox {
    env: TestEnv,
    policy: Value,
    user: Option<u32>,
}

impl TestSandbox {
    /// `None`, with a line on standard error, if this machine has no such sandbox.
    fn new(mounts: &str, user: Option<u32>) -> Option<TestSandbox> {
        let skip = |reason: &str| {
            let line = format!("NOT RUN: no sandbox with mounts {mounts} for user {user:?} here: {reason}\n");
            std::io::stderr().write_all(line.as_bytes()).unwrap();
            None
        };
        if mounts == BUBBLEWRAP && !Path::new(BUBBLEWRAP).exists() {
            return skip("Bubblewrap is not installed");
        }
        let env = TestEnv::new();
        fs::create_dir_all(env.home().join("keys")).unwrap();
        fs::create_dir_all(env.home().join("skills")).unwrap();
        fs::write(env.home().join("keys/main"), KEY).unwrap();
        fs::write(env.home().join("skills/own.md"), "skill").unwrap();
        let sandbox = TestSandbox { policy: policy(&env, mounts), env, user };
        match sandbox.try_run(":") {
            Ok(output) if output.code == 0 => Some(sandbox),
            Ok(output) => skip(output.err.trim()),
            Err(error) => skip(&error.to_string()),
        }
    }

    fn all() -> impl Iterator<Item = TestSandbox> {
        TestSandbox::with_mounts(&["none", "namespace", BUBBLEWRAP])
    }

    /// For the user who runs the tests, and if that is root, also for one without privileges.
    fn with_mounts(mounts: &[&'static str]) -> impl Iterator<Item = TestSandbox> {
        let nobody = rustix::process::geteuid().is_root().then_some(NOBODY);
        let users: Vec<Option<u32>> = [None].into_iter().chain(nobody.map(Some)).collect();
        let all: Vec<_> =
            mounts.iter().flat_map(|mounts| users.iter().map(|user| (*mounts, *user))).collect();
        all.into_iter().filter_map(|(mounts, user)| TestSandbox::new(mounts, user))
    }

    fn run(&self, command: &str) -> CommandOutput {
        self.try_run(command).unwrap()
    }

    fn try_run(&self, line: &str) -> std::io::Result<CommandOutput> {
        let policy = self.policy.to_string();
        let arguments = ["run-confined", &policy, line, "bash", "sh"];
        let mut command = self.env.command();
        if self.policy["mounts"].is_object() {
            let osier = std::mem::replace(&mut command, std::process::Command::new(BUBBLEWRAP));
            command.env_clear().envs(osier.get_envs().filter_map(|(name, value)| Some((name, value?))));
            command.args(bubblewrap_arguments(&self.policy)).arg(osier.get_program());
            command.current_dir(self.env.cwd()).stdin(std::process::Stdio::null());
        }
        if let Some(user) = self.user {
            chown_all(self.env.cwd().parent().unwrap(), user);
            command.uid(user).gid(user);
        }
        Ok(CommandOutput::from_output(command.args(arguments).output()?))
    }

    fn fails(&self, command: &str) -> CommandOutput {
        let output = self.run(command);
        assert_ne!(output.code, 0, "{} {:?} {command}: {output}", self.policy["mounts"], self.user);
        assert!(!output.to_string().contains(KEY), "{command}: {output}");
        output
    }

    fn sibling_path(&self, name: &str) -> PathBuf {
        self.env.cwd().parent().unwrap().join(name)
    }
}

fn policy(env: &TestEnv, mounts: &str) -> Value {
    json!({
        "write": [real(&env.cwd())], "hide": [real(&env.home())], "show": [real(&env.home()).join("skills")],
        "protect": [], "pin": [], "network": "off", "unixSockets": false,
        "mounts": if mounts == BUBBLEWRAP { json!({ "bubblewrap": mounts }) } else { json!(mounts) },
    })
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap()
}

#[test]
fn writes_stay_in_the_project() {
    for sandbox in TestSandbox::all() {
        fs::write(sandbox.sibling_path("kept"), "kept").unwrap();
        assert_eq!(
            sandbox.run("mkdir -p a/b && echo x > a/b/c && mv a/b/c d && rm d && ln -s /etc e").code,
            0
        );
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
            sandbox.fails(command);
        }
        assert_eq!(fs::read(sandbox.sibling_path("kept")).unwrap(), b"kept");
        assert!(!sandbox.sibling_path("new").exists());
    }
}

/// Landlock does not restrict these changes; read-only mounts do.
#[test]
fn permissions_and_times_outside_the_project_cannot_be_changed() {
    for sandbox in TestSandbox::with_mounts(&["namespace", BUBBLEWRAP]) {
        fs::write(sandbox.sibling_path("kept"), "kept").unwrap();
        let home = sandbox.env.home().display().to_string();
        for command in [
            "touch ../kept".to_owned(),
            "chmod 777 ../kept".to_owned(),
            "chmod 777 ..".to_owned(),
            "chmod 777 /tmp".to_owned(),
            format!("touch {home}/skills/own.md"),
            "ln -s ../kept link; touch link".to_owned(),
        ] {
            sandbox.fails(&command);
        }
        let output = sandbox.run("echo x > own && chmod 700 own && touch own && echo x > /dev/null");
        assert_eq!(output.code, 0, "{output}");
    }
}

#[test]
fn osiers_keys_and_home_cannot_be_read() {
    for sandbox in TestSandbox::all() {
        let home = sandbox.env.home().display().to_string();
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
            sandbox.fails(&command);
        }
        let output = sandbox.run(&format!("cat {home}/skills/own.md"));
        assert_eq!((output.code, output.out.as_str()), (0, "skill"), "{output}");
        let listed = sandbox.run(&format!("ls {home}/keys"));
        assert!(!listed.out.contains("main"), "{listed}");
    }
}

#[test]
fn the_network_is_off_for_every_kind_of_socket() {
    for sandbox in TestSandbox::all() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let socket = sandbox.env.path("socket");
        let _listening = UnixListener::bind(&socket).unwrap();
        sandbox.fails(&format!("exec 3<>/dev/tcp/127.0.0.1/{port}"));
        sandbox.fails(&format!("exec 3<>/dev/udp/127.0.0.1/{port}"));
        if sandbox.run("command -v python3").code != 0 {
            std::io::stderr().write_all(b"NOT RUN: python3 is needed to open sockets\n").unwrap();
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
            sandbox.fails(&python(text));
        }
        let output = sandbox.run(&python("a, b = s.socketpair(); a.send(b\"x\"); print(b.recv(1))"));
        assert_eq!(output.code, 0, "programs can use socket pairs: {output}");
    }
}

#[test]
fn only_the_allowed_ports_are_reachable() {
    for mut sandbox in TestSandbox::all() {
        let [open, closed] = [0, 0].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
        let [port, other] = [&open, &closed].map(|listener| listener.local_addr().unwrap().port());
        sandbox.policy["network"] = json!({ "ports": [port] });
        if sandbox.run(":").code != 0 {
            std::io::stderr().write_all(b"NOT RUN: this kernel cannot limit TCP to ports\n").unwrap();
            continue;
        }
        assert_eq!(sandbox.run(&format!("exec 3<>/dev/tcp/127.0.0.1/{port}")).code, 0);
        sandbox.fails(&format!("exec 3<>/dev/tcp/127.0.0.1/{other}"));
        sandbox.fails(&format!("exec 3<>/dev/udp/127.0.0.1/{port}"));
        if sandbox.run("command -v python3").code == 0 {
            let fast = format!(
                "import socket as s; s.socket().sendto(b\"x\", 0x20000000, (\"127.0.0.1\", {other}))"
            );
            sandbox.fails(&format!("python3 -c '{fast}'"));
            sandbox.fails("python3 -c 'import socket as s; s.socket(s.AF_INET, s.SOCK_STREAM, 262)'");
        }
    }
}

#[test]
fn other_processes_cannot_be_reached() {
    for sandbox in TestSandbox::all() {
        let own = std::process::id();
        for command in [
            format!("cat /proc/{own}/environ"),
            format!("cat /proc/{own}/mem"),
            format!("readlink /proc/{own}/fd/0"),
            format!("kill -0 {own}"),
            format!("prlimit --pid {own} --core=0"),
        ] {
            sandbox.fails(&command);
        }
        assert_eq!(sandbox.run("ulimit -c 0").code, 0, "but it can limit itself");
        assert_eq!(sandbox.run("sleep 9 & kill $!; wait $! || true").code, 0, "but its own children can");
    }
}

/// The terminal in which the user reads the questions: writing to it could change what they show, and reading from it would get
/// what the user types.
#[test]
fn terminals_of_other_processes_cannot_be_reached() {
    for sandbox in TestSandbox::all() {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let terminal = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        chown(&terminal, sandbox.user, None).unwrap();
        sandbox.fails(&format!("echo x > {terminal}"));
        sandbox.fails(&format!("exec 3< {terminal}"));
        if sandbox.policy["mounts"] != "none" && sandbox.run("command -v python3").code == 0 {
            let own = "import os; a, b = os.openpty(); os.write(b, b\"own\"); print(os.read(a, 3))";
            let output = sandbox.run(&format!("python3 -c '{own}'"));
            assert_eq!(output.out, "b'own'\n", "programs can create terminals: {output}");
        }
    }
}

/// Shared memory of the user's other programs, such as databases. `ipcmk` prints `Shared memory id: NUMBER`.
#[test]
fn shared_memory_of_other_processes_cannot_be_reached() {
    for sandbox in TestSandbox::all() {
        let mut outside = std::process::Command::new("ipcmk");
        outside.args(["--shmem", "4096"]);
        if let Some(user) = sandbox.user {
            outside.uid(user).gid(user);
        }
        let Ok(made) = outside.output() else {
            std::io::stderr().write_all(b"NOT RUN: ipcmk is not installed\n").unwrap();
            return;
        };
        let made = String::from_utf8(made.stdout).unwrap();
        let id = made.trim().rsplit(' ').next().unwrap();
        sandbox.run(&format!("ipcrm --shmem-id {id}"));
        let removed = std::process::Command::new("ipcrm").args(["--shmem-id", id]).status().unwrap();
        assert!(removed.success(), "{}: a command removed it", sandbox.policy["mounts"]);
    }
}

#[test]
fn git_hooks_and_config_are_read_only_but_the_repository_is_writable() {
    TestSandbox::with_mounts(&["namespace", BUBBLEWRAP]).for_each(check_git_is_protected);
}

fn check_git_is_protected(mut sandbox: TestSandbox) {
    sandbox.env.write(".git/config", "[core]\n");
    sandbox.env.write(".git/hooks/pre-commit.sample", "");
    let git = real(&sandbox.env.path(".git"));
    sandbox.policy["protect"] = json!([git.join("config"), git.join("hooks")]);
    sandbox.policy["pin"] = json!([git]);
    for command in [
        "echo x > .git/hooks/post-commit",
        "echo x >> .git/config",
        "mv .git elsewhere",
        "rm -rf .git",
        "mv .git/hooks .git/old",
        "cp .git/config new && mv new .git/config",
    ] {
        sandbox.fails(command);
    }
    assert_eq!(sandbox.run("echo x > .git/HEAD.lock && mv .git/HEAD.lock .git/HEAD").code, 0);
    assert!(sandbox.env.path(".git/hooks/pre-commit.sample").exists());
}

#[test]
fn a_policy_that_cannot_be_enforced_runs_nothing() {
    let env = TestEnv::new();
    let mut policy = policy_of_nothing();
    for wrong in [json!("none"), json!({ "unknown": true })] {
        policy["more"] = wrong;
        let output = env.args(&["run-confined", &policy.to_string(), "touch ran", "sh"]);
        assert_eq!(output.code, 126, "{output}");
        assert!(output.err.starts_with("osier: cannot start the sandbox: "), "{output}");
    }
    assert!(!env.path("ran").exists());
}

fn policy_of_nothing() -> Value {
    json!({
        "write": [], "hide": [], "show": [], "protect": [], "pin": [], "network": "off", "unixSockets": false,
        "mounts": "none",
    })
}

/// Runs one command of a model in an approval mode, and returns the result that the model gets.
fn run_command(mode: &str, command: &str, settings: &str) -> (TestEnv, String) {
    let server = ModelServer::new();
    let env = server.env();
    let config = env.home().join("config.toml");
    let old = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{settings}\n{old}")).unwrap();
    let running = RunningCommand::start(osier_command(&env, &["-p", "--approval", mode, "do it"]));
    server.next_request().reply_with_call("bash", &json!({ "command": command }));
    let request = server.next_request();
    let result = request.messages().pop().unwrap();
    request.reply("Done.");
    running.wait();
    (env, result)
}

#[test]
fn the_sandbox_mode_asks_nothing_and_reports_blocked_commands() {
    if !has_sandbox(&TestEnv::new()) {
        return;
    }
    let (env, result) = run_command("sandbox", "echo x > made && cat made && echo $TMPDIR > $TMPDIR/t", "");
    assert_eq!(result, "tool: x", "{result}");
    assert!(env.path("made").exists());
    let (env, result) = run_command("sandbox", "echo x > ../made", "");
    assert!(result.contains("Permission denied") || result.contains("Read-only file system"), "{result}");
    assert!(result.ends_with("[the sandbox may have blocked this command]"), "{result}");
    assert!(!env.cwd().parent().unwrap().join("made").exists());
    let (env, result) = run_command("sandbox", "cat ../home/config.toml", "");
    assert!(!result.contains("base_url"), "{result}");
    drop(env);
    let (_, result) = run_command("sandbox", "mkdir .husky", "");
    assert!(result.contains("[created .husky: programs outside the sandbox may run it"), "{result}");
}

#[test]
fn every_mode_except_yolo_confines_commands() {
    if !has_sandbox(&TestEnv::new()) {
        return;
    }
    let allowed = "cat ../home/config.toml";
    let (_, result) = run_command("yolo", allowed, "");
    assert!(result.contains("base_url"), "{result}");
    let (_, result) = run_command("sandbox", "touch ../more/x && echo made", "sandbox.write = [\"../more\"]");
    assert!(result.contains("cannot touch"), "a missing folder is not created: {result}");
    let (_, result) = run_command("sandbox", "cat secret", "sandbox.hide = [\"secret\"]");
    assert!(result.starts_with("tool: "), "{result}");
}

#[test]
fn without_a_sandbox_the_mode_asks_and_explains_why() {
    // A command whose working directory is hidden cannot be confined.
    for (settings, reason) in [
        ("sandbox.hide = [\".\"]", "the sandbox is not available: "),
        ("sandbox.when = \"never\"", "`--approval yolo` allows it"),
    ] {
        let (env, result) = run_command("sandbox", "touch ran", settings);
        assert!(result.starts_with("tool: not allowed: no user is present to approve it"), "{result}");
        assert!(result.contains(reason), "{result}");
        assert!(!env.path("ran").exists());
    }
}
