//! A plain copy of the sessions folder is a working backup.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::{TestEnv, files_in};

/// A plain copy of the sessions folder, taken while Osier writes, is a working backup.
#[test]
fn copy_taken_during_appends_is_a_working_backup() {
    let env = TestEnv::new();
    let session = env.json("append start")["session"].as_str().unwrap().to_owned();
    let script = format!(
        "for n in $(seq 60); do \"$OSIER\" sessions append {session} \"$n\" >/dev/null || exit 1; done"
    );
    let mut writer = Command::new("sh");
    writer.args(["-c", &script]).env("OSIER", env!("CARGO_BIN_EXE_osier")).env("OSIER_HOME", env.home());
    let mut writer = writer.current_dir(env.cwd()).spawn().unwrap();
    let mut lengths = Vec::new();
    while writer.try_wait().unwrap().is_none() {
        let copy = env.path(&format!("copy{}", lengths.len()));
        copy_folder(&env.home().join("sessions"), &copy.join("sessions"));
        let mut command = env.command();
        command.env("OSIER_HOME", &copy).args(["sessions", "path", &session, "--json"]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let Value::Array(path) = serde_json::from_slice(&output.stdout).unwrap() else {
            panic!("a path is a list")
        };
        lengths.push(path.len());
    }
    assert!(writer.wait().unwrap().success());
    assert!(lengths.is_sorted() && lengths.len() > 2, "{lengths:?}");
    assert_eq!(env.json(&format!("path {session}")).as_array().unwrap().len(), 61);
}

fn copy_folder(from: &Path, to: &Path) {
    for file in files_in(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(file, target).unwrap();
    }
}
