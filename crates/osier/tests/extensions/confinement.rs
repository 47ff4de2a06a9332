//! That the system itself refuses what a process of extensions must not do.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// A process of extensions, driven by its frames.
struct ExtensionProcess(Child, BufReader<std::process::ChildStdout>);

impl ExtensionProcess {
    fn start() -> ExtensionProcess {
        let mut command = Command::new(env!("CARGO_BIN_EXE_osier"));
        command.arg("extension-host").env_clear().stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        ExtensionProcess(child, output)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let frame = json!({ "request": { "extension": 0, "id": 1, "method": method, "params": params } });
        writeln!(self.0.stdin.as_mut().unwrap(), "{frame}").unwrap();
        loop {
            let mut line = String::new();
            assert!(self.1.read_line(&mut line).unwrap() > 0, "the process ended");
            let frame: Value = serde_json::from_str(&line).unwrap();
            if let Some(done) = frame.pointer("/response/outcome/done") {
                return done.clone();
            }
        }
    }

    /// Confines the process, and returns what confines it and what it can do.
    fn probe(&mut self, folder: &Path, grants: &[&str]) -> (String, Value) {
        let secret = folder.join("secret");
        let rules = json!({ "cwd": folder, "roots": [folder.join("own")], "dataFolder": folder.join("data"),
            "protected": [folder.join("protected")], "grants": grants });
        let in_force = self.ask("confine", &json!({ "rules": [rules] })).to_string();
        let tried = self.ask("probe", &json!({ "read": secret, "write": folder.join("written") }));
        (in_force, tried)
    }
}

impl Drop for ExtensionProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["own", "data", "protected"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join("secret"), "x").unwrap();
    folder
}

#[test]
fn without_confinement_everything_is_possible() {
    let folder = folder();
    let (secret, written) = (folder.path().join("secret"), folder.path().join("written"));
    let tried = ExtensionProcess::start().ask("probe", &json!({ "read": secret, "write": written }));
    assert_eq!(tried, json!({ "read": true, "write": true, "socket": true, "program": true }));
}

#[cfg(target_os = "linux")]
#[test]
fn the_system_refuses_files_sockets_and_programs() {
    let folder = folder();
    let (in_force, tried) = ExtensionProcess::start().probe(folder.path(), &[]);
    assert!(in_force.contains("seccomp"), "{in_force}");
    assert_eq!((&tried["socket"], &tried["program"]), (&json!(false), &json!(false)), "{in_force}");
    if in_force.contains("Landlock") {
        assert_eq!((&tried["read"], &tried["write"]), (&json!(false), &json!(false)), "{in_force}");
        assert!(!folder.path().join("written").exists());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_grant_for_files_allows_files_and_nothing_else() {
    let folder = folder();
    let (_, tried) = ExtensionProcess::start().probe(folder.path(), &["readFiles", "writeFiles"]);
    assert_eq!(tried, json!({ "read": true, "write": true, "socket": false, "program": false }));
}

#[cfg(target_os = "linux")]
#[test]
fn the_system_hides_protected_folders_from_every_grant_for_files() {
    for grants in [&["readFiles"][..], &["writeFiles"], &["readFiles", "writeFiles"]] {
        let folder = folder();
        let key = folder.path().join("protected/key");
        std::fs::write(&key, "x").unwrap();
        let mut process = ExtensionProcess::start();
        let (in_force, _) = process.probe(folder.path(), grants);
        let tried =
            process.ask("probe", &json!({ "read": key, "write": folder.path().join("protected/new") }));
        let writes = grants.contains(&"writeFiles");
        // Without a namespace, only the checks of the process itself protect these files from an extension that writes files.
        if in_force.contains("mount namespace") || (in_force.contains("Landlock") && !writes) {
            let both = (&tried["read"], &tried["write"]);
            assert_eq!(both, (&json!(false), &json!(false)), "{grants:?}: {in_force}");
        } else {
            eprintln!("NOT CHECKED for {grants:?}: only {in_force} is in force");
        }
        assert!(!in_force.contains("mount namespace") || !folder.path().join("protected/new").exists());
        assert_eq!(std::fs::read_to_string(&key).unwrap(), "x");
    }
}
