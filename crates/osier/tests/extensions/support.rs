//! A folder with extensions, and the binary that runs them.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A home folder, a working directory, and extensions.
pub(crate) struct ExtensionFolder(TempDir);

impl ExtensionFolder {
    pub(crate) fn new() -> ExtensionFolder {
        let folder = ExtensionFolder(TempDir::new().unwrap());
        std::fs::create_dir(folder.path("code")).unwrap();
        folder
    }

    /// A folder with one extension, `x.ts`.
    pub(crate) fn with(source: &str) -> ExtensionFolder {
        let folder = ExtensionFolder::new();
        folder.write("x.ts", source);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The command with the extension `x.ts`, in the working directory.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.found_command(&["-e"]);
        command.arg(self.path("x.ts")).args(args);
        command
    }

    /// The command with the extensions that are found.
    pub(crate) fn found_command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_osier"));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.path("")).env("OSIER_HOME", self.path("home"));
        command.env("SECRET_KEY", "sk-not-for-extensions");
        command.current_dir(self.path("code")).stdin(Stdio::null());
        command.args(args);
        command
    }

    /// Runs the binary to its end, with the extensions that are found.
    pub(crate) fn run_found(&self, args: &[&str]) -> Finished {
        Finished::new(self.found_command(args).output().unwrap())
    }

    /// The lines of `--mode json`, with the extensions that are found.
    pub(crate) fn json_found(&self, args: &[&str]) -> Vec<Value> {
        let finished = self.run_found(&[&["--mode", "json"], args].concat());
        finished.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn rpc_found(self, args: &[&str]) -> RpcProgram {
        let command = self.found_command(&[&["--mode", "rpc"], args].concat());
        self.start_rpc(command)
    }

    /// Runs the binary to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Finished {
        Finished::new(self.command(args).output().unwrap())
    }

    /// The lines of `--mode json` for a prompt.
    pub(crate) fn json(&self, args: &[&str]) -> Vec<Value> {
        let finished = self.run(&[&["--mode", "json"], args].concat());
        finished.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn rpc(self, args: &[&str]) -> RpcProgram {
        let command = self.command(&[&["--mode", "rpc"], args].concat());
        self.start_rpc(command)
    }

    fn start_rpc(self, mut command: Command) -> RpcProgram {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        RpcProgram { child, input, lines, _folder: self }
    }
}

/// A program that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Finished {
    fn new(output: Output) -> Finished {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Finished {
            code: output.status.code().unwrap_or(-1),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }
}

/// `--mode rpc`.
pub(crate) struct RpcProgram {
    child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    _folder: ExtensionFolder,
}

impl RpcProgram {
    pub(crate) fn send(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.input.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    }

    /// The next event that fits, and all before it are dropped.
    pub(crate) fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        for line in self.lines.by_ref() {
            let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
            if fits(&event) {
                return event;
            }
        }
        panic!("the program ended first")
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends the program.
    pub(crate) fn finish(&mut self) {
        drop(self.input.take());
        self.child.wait().unwrap();
    }
}
