//! Shared by the tests: an isolated home and working directory, and running the binary in it.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use osier_testkit::{Expect, ScriptedSession};
use serde_json::Value;
use tempfile::TempDir;

/// A temporary home folder and working directory.
pub(crate) struct TestEnv {
    folder: TempDir,
}

impl TestEnv {
    pub(crate) fn new() -> TestEnv {
        let env = TestEnv { folder: TempDir::new().unwrap() };
        fs::create_dir(env.cwd()).unwrap();
        env
    }

    /// A world with the session of a script in the file `s.jsonl`.
    pub(crate) fn with(script: &str) -> TestEnv {
        let env = TestEnv::new();
        env.write("s.jsonl", ScriptedSession::run(script).file());
        env
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn cwd(&self) -> PathBuf {
        self.folder.path().join("code")
    }

    /// A file in the working directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.cwd().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// The lines of a file, as text.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        String::from_utf8(self.read(name)).unwrap().lines().map(String::from).collect()
    }

    /// The command, ready for arguments, with only the environment variables set here.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_osier"));
        command.env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.folder.path()).env("OSIER_HOME", self.home());
        command.current_dir(self.cwd()).stdin(Stdio::null());
        command
    }

    pub(crate) fn args(&self, args: &[&str]) -> CommandOutput {
        CommandOutput::from_output(self.command().args(args).output().unwrap())
    }

    /// Runs `osier sessions` with the words of a line; single quotes group words.
    pub(crate) fn run(&self, line: &str) -> CommandOutput {
        let words = split_words(line);
        let mut args = vec!["sessions"];
        args.extend(words.iter().map(String::as_str));
        self.args(&args)
    }

    /// The same with standard input.
    pub(crate) fn run_with_input(&self, line: &str, input: &[u8]) -> CommandOutput {
        let mut command = self.command();
        command.arg("sessions").args(split_words(line));
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        CommandOutput::from_output(child.wait_with_output().unwrap())
    }

    /// Runs a command several times at once, each with its own number for `#`. All must succeed.
    pub(crate) fn run_concurrently(&self, times: usize, args: &[&str]) {
        let start = |number: usize| {
            let args = args.iter().map(|arg| arg.replace('#', &number.to_string()));
            self.command().args(args).stdout(Stdio::null()).spawn().unwrap()
        };
        let running: Vec<_> = (0..times).map(start).collect();
        for mut child in running {
            assert!(child.wait().unwrap().success());
        }
    }

    /// The output of a command that must succeed.
    pub(crate) fn ok(&self, line: &str) -> String {
        let output = self.run(line);
        assert_eq!(output.code, 0, "{line}: {}", output.err);
        output.out
    }

    pub(crate) fn json(&self, line: &str) -> Value {
        let out = self.ok(&format!("{line} --json"));
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error} in {out}"))
    }

    /// The standard error of a command that must fail and print nothing to standard output.
    pub(crate) fn fails(&self, code: i32, line: &str) -> String {
        let output = self.run(line);
        assert_eq!((output.code, output.out.as_str()), (code, ""), "{line}: {}", output.err);
        output.err
    }

    /// Runs commands one after the other and compares their output.
    pub(crate) fn check(&self, commands: &[&str], expect: Expect) {
        let mut output = String::new();
        for line in commands {
            output += &format!("$ {line}\n{}", self.run(line));
        }
        expect.assert_eq(&self.with_stable_names(&output));
    }

    /// Text with folders and random ids replaced by stable names.
    pub(crate) fn with_stable_names(&self, text: &str) -> String {
        let text = text.replace(&self.folder.path().to_string_lossy().into_owned(), "$DIR");
        let id = regex::Regex::new(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{8}\b").unwrap();
        let mut names: HashMap<String, String> = HashMap::new();
        let name = |found: &regex::Captures<'_>| {
            // Ids from a script are stable: entries are numbered, and the session id is fixed.
            let short = found[0][..8].to_owned();
            if short.starts_with("000000") || short == "5e551011" {
                return found[0].to_owned();
            }
            let number = names.len() + 1;
            names.entry(short).or_insert_with(|| format!("<{number}>")).clone()
        };
        id.replace_all(&text, name).into_owned()
    }

    /// The one session file of the store.
    pub(crate) fn session_file(&self) -> PathBuf {
        let files = self.session_files();
        assert_eq!(files.len(), 1, "{files:?}");
        files.into_iter().next().unwrap()
    }

    pub(crate) fn session_files(&self) -> Vec<PathBuf> {
        let all = files_in(&self.home().join("sessions"));
        all.into_iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect()
    }
}

pub(crate) fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_in(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Runs commands on the session of a script in the file `s.jsonl` and compares their output.
pub(crate) fn check(script: &str, commands: &[&str], expect: Expect) {
    TestEnv::with(script).check(commands, expect);
}

/// Splits a line into words.
fn split_words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut quoted, mut inside) = (false, false);
    for ch in line.chars() {
        match ch {
            '\'' => {
                quoted = !quoted;
                if !inside {
                    words.push(String::new());
                }
                inside = true;
            }
            ' ' if !quoted => inside = false,
            _ => {
                if !inside {
                    words.push(String::new());
                }
                inside = true;
                words.last_mut().unwrap().push(ch);
            }
        }
    }
    words
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CommandOutput {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl CommandOutput {
    pub(crate) fn from_output(output: Output) -> CommandOutput {
        CommandOutput {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl fmt::Display for CommandOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.out)?;
        self.err.lines().try_for_each(|line| writeln!(f, "! {line}"))?;
        if self.code == 0 { Ok(()) } else { writeln!(f, "exit {}", self.code) }
    }
}

/// The strings of an array.
pub(crate) fn strings(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}

/// The ids of entries.
pub(crate) fn ids(entries: &Value) -> Vec<&str> {
    entries.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect()
}

/// Whether this machine has a sandbox. If not, prints that directly to standard error, which the harness does not capture.
pub(crate) fn has_sandbox(env: &TestEnv) -> bool {
    let checks: Value = serde_json::from_str(&env.args(&["doctor", "--json"]).out).unwrap();
    let check = checks.as_array().unwrap().iter().find(|check| check["area"] == "sandbox").unwrap();
    let has_one = check["status"] == "ok";
    if !has_one {
        std::io::stderr()
            .write_all(format!("NOT RUN: the sandbox is {}\n", check["said"]).as_bytes())
            .unwrap();
    }
    has_one
}
