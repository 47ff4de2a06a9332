//! Extensions that attack: each file in `hostile/` says what it tries. None achieves anything, and the agent goes on.

use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::ExtensionFolder;

const SECRET: &str = "the-secret-of-osier";

/// No run takes longer, even on a slow machine. A run that does has hung.
const LIMIT: Duration = Duration::from_secs(240);

/// How long programs sleep that should be stopped. The number tells this run from others.
fn sleep_seconds() -> u32 {
    1_000_000_000 + std::process::id()
}

/// Whether a text contains control characters, except line feeds.
fn has_control_characters(text: &str) -> bool {
    text.chars().any(|c| c.is_control() && c != '\n')
}

struct AttackResult {
    name: String,
    code: Option<i32>,
    out: String,
    err: String,
    folder: ExtensionFolder,
}

impl AttackResult {
    /// What every attack must leave intact.
    fn check(&self) {
        let AttackResult { name, out, err, folder, .. } = self;
        for text in [out, err] {
            assert!(!text.contains("ACHIEVED"), "{name}: {text}");
            assert!(!text.contains(SECRET), "{name}: {text}");
            assert!(!text.contains("sk-not-for-extensions"), "{name}: {text}");
        }
        assert!(!has_control_characters(out), "{name}: control characters in {out:?}");
        assert!(!has_control_characters(err), "{name}: control characters in {err:?}");
        assert!(!folder.path("code/achieved").exists(), "{name} ran a program");
        let refused = err.contains("Failed to load extension") && self.code == Some(1);
        let ended = self.lines().iter().any(|line| line["type"] == "turn_ended");
        assert!(refused || (ended && self.code == Some(0)), "{name}: the agent did not go on: {out} {err}");
    }

    /// Every line of JSON mode is JSON, whatever an extension prints.
    fn lines(&self) -> Vec<Value> {
        self.out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{}: {line}", self.name)))
            .collect()
    }

    fn errors(&self) -> String {
        let lines = self.lines();
        let failed = lines.iter().filter(|line| line["method"] == "error");
        failed
            .map(|line| format!("{} {}: {}\n", line["extensionPath"], line["event"], line["error"]))
            .collect()
    }
}

fn attack(file: &Path, port: u16) -> AttackResult {
    let folder = ExtensionFolder::new();
    let source = std::fs::read_to_string(file).unwrap();
    let secret_folder = folder.path("home").display().to_string();
    let source = source
        .replace("SECRET_FOLDER", secret_folder.trim_start_matches('/'))
        .replace("NESTED", &format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000)))
        .replace("PORT", &port.to_string())
        .replace("SLEEP", &sleep_seconds().to_string());
    let secret = format!("{{ \"key\": {SECRET:?} }}");
    folder.write("home/secret.json", &secret);
    folder.write("home/logs/secret.txt", &secret);
    folder.write("secret.json", &secret);
    folder.write("attack/x.ts", &source);
    std::os::unix::fs::symlink(folder.path("home"), folder.path("attack/link")).unwrap();
    std::os::unix::fs::symlink(folder.path("home/secret.json"), folder.path("attack/link.json")).unwrap();
    let path = folder.path("attack/x.ts");
    let mut command = folder.found_command(&[
        "--mode",
        "json",
        "--approval",
        "yolo",
        "-e",
        path.to_str().unwrap(),
        "hello",
    ]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        stderr.read_to_end(&mut text).unwrap();
        String::from_utf8_lossy(&text).into_owned()
    });
    let id = child.id();
    let (done, watch) = std::sync::mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        let started = Instant::now();
        if watch.recv_timeout(LIMIT).is_err() && started.elapsed() >= LIMIT {
            let _ = std::process::Command::new("kill").args(["-KILL", &id.to_string()]).status();
        }
    });
    let mut out = Vec::new();
    stdout.read_to_end(&mut out).unwrap();
    let code = child.wait().unwrap().code();
    let _ = done.send(());
    watchdog.join().unwrap();
    let name = file.file_stem().unwrap().to_string_lossy().into_owned();
    AttackResult {
        name,
        code,
        out: String::from_utf8_lossy(&out).into_owned(),
        err: reader.join().unwrap(),
        folder,
    }
}

/// Runs all attacks whose names start with one of these, three at a time.
fn run_all(kinds: &[&str]) -> Vec<AttackResult> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/extensions/hostile");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| {
        kinds.iter().any(|kind| file.file_name().unwrap().to_string_lossy().starts_with(kind))
    });
    files.sort();
    assert!(!files.is_empty());
    let (queue, results) = (Mutex::new(files), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(file) = { queue.lock().unwrap().pop() } {
                    let result = attack(&file, port);
                    results.lock().unwrap().push(result);
                }
            });
        }
    });
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "an extension reached the network");
    let results = results.into_inner().unwrap();
    results.iter().for_each(AttackResult::check);
    results
}

#[test]
fn the_corpus_has_at_least_forty_attacks() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/extensions/hostile");
    assert!(std::fs::read_dir(folder).unwrap().count() >= 40);
}

#[test]
fn nothing_escapes_from_the_process() {
    for result in run_all(&["escape-", "symlink-", "files-"]) {
        let is_tried = result.name != "files-built-in-tools" || result.out.contains("\"tried\"");
        assert!(is_tried, "{}: {} {}", result.name, result.out, result.err);
    }
}

#[test]
fn changed_prototypes_and_forged_ids_change_nothing() {
    run_all(&["pollute-", "forge-"]);
}

#[test]
fn terminal_escapes_are_inert_in_every_text() {
    for AttackResult { name, folder, .. } in run_all(&["terminal-"]) {
        let path = folder.path("attack/x.ts");
        let printed = folder.run_found(&["--verbose", "-e", path.to_str().unwrap(), "-p", "hello"]);
        for text in [&printed.out, &printed.err] {
            assert!(!has_control_characters(text), "{name}: {text:?}");
        }
    }
}

#[test]
fn wrong_shapes_and_output_are_harmless() {
    for result in run_all(&["shapes-", "output-"]) {
        assert!(result.lines().iter().all(|line| line["type"].is_string()), "{}", result.out);
    }
}

#[test]
fn code_that_does_not_end_is_stopped_and_reported() {
    for result in run_all(&["hang-"]) {
        // A queue of promises that never ends stands in the way of nothing, until the session needs the extension.
        let is_reported =
            !result.errors().is_empty() || result.code == Some(1) || result.name == "hang-promise";
        assert!(is_reported, "{}: {}", result.name, result.out);
    }
}

#[test]
fn memory_and_recursion_are_limited_and_reported() {
    for result in run_all(&["memory-", "recursion", "huge-"]) {
        assert!(!result.errors().is_empty(), "{}: {}", result.name, result.out);
    }
}

#[test]
fn floods_are_cut() {
    for result in run_all(&["flood-"]) {
        assert!(result.lines().len() < 20_000, "{}: {} lines", result.name, result.lines().len());
    }
    // Programs that ignore requests to end do not outlive the extension that started them.
    let is_left = || {
        let running = std::process::Command::new("ps").args(["-eo", "stat=,args="]).output().unwrap();
        let running = String::from_utf8_lossy(&running.stdout).into_owned();
        let program = format!("sleep {}", sleep_seconds());
        running.lines().any(|line| line.contains(&program) && !line.starts_with('Z'))
    };
    let started = Instant::now();
    while is_left() {
        assert!(started.elapsed() < LIMIT, "a program of an extension outlives it");
    }
}
