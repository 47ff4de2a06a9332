//! Runs the tests of the workspace. Tests that fail run once more, and if they pass, they are named: they depend on something
//! other than the code, usually on the load of the machine, and one such test must not hide the results of all others.

use std::io::{BufRead, BufReader, PipeReader};
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::workspace;

/// More failures than this have a common cause.
const MOST_REPEATED: usize = 5;

/// A process that a test left behind may hold the output open.
const OUTPUT_END: Duration = Duration::from_secs(10);

/// A test program that prints nothing for so long hangs.
const SILENCE: Duration = Duration::from_secs(600);

/// Runs `cargo test --workspace` with the given environment, and what fails again.
pub(crate) fn run(environment: &[(&str, &str)]) -> Result<()> {
    let first = run_once(environment, &["--no-fail-fast"])?;
    if first.has_passed {
        return Ok(());
    }
    let again: Vec<&str> = match first.is_complete() {
        true => first.repeatable().context("the tests failed")?,
        // The results of the tests that had not ended are unknown.
        false => Vec::new(),
    };
    println!("\nxtask: {}, so these run once more: {}", first.problem(), first.unreliable());
    let arguments = ["--no-fail-fast", "--", "--exact"].into_iter().chain(again.iter().copied());
    let second = run_once(environment, &arguments.collect::<Vec<_>>())?;
    ensure!(second.has_passed, "failed twice: {}", second.unreliable());
    ensure!(second.passed_count >= again.len(), "not all tests that failed could run again");
    println!("\nUNRELIABLE TESTS, which passed only at the second attempt: {}", first.unreliable());
    Ok(())
}

/// What the output of one run says.
#[derive(Default)]
struct TestRun {
    has_passed: bool,
    /// The names below the last `failures:` of each test program.
    failed: Vec<String>,
    /// Tests that ran for more than a minute, in a program that did not end.
    slow: Vec<String>,
    passed_count: usize,
    /// Test programs that started.
    started: usize,
    /// Test programs that reported a result. One that crashed does not.
    ended: usize,
}

impl TestRun {
    fn is_complete(&self) -> bool {
        self.started == self.ended
    }

    fn problem(&self) -> &'static str {
        match self.is_complete() {
            true => "tests failed",
            false => "a test program crashed or hung",
        }
    }

    /// The tests that the code or the machine made fail.
    fn unreliable(&self) -> String {
        let names: Vec<&str> = self.failed.iter().chain(&self.slow).map(String::as_str).collect();
        match names.is_empty() {
            true => "all tests".to_owned(),
            false => names.join(", "),
        }
    }

    fn repeatable(&self) -> Result<Vec<&str>> {
        ensure!(!self.failed.is_empty(), "cargo ended with an error");
        if self.failed.len() > MOST_REPEATED {
            bail!("{} tests failed: {}", self.failed.len(), self.failed.join(", "));
        }
        // The name of a documentation test has spaces, and cannot be selected.
        match self.failed.iter().find(|name| name.contains(' ')) {
            Some(name) => bail!("{name}"),
            None => Ok(self.failed.iter().map(String::as_str).collect()),
        }
    }

    fn parse<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut run = Self::default();
        let mut listed: Vec<String> = Vec::new();
        let mut slow: Vec<String> = Vec::new();
        for line in lines {
            if is_start(line) {
                run.slow.append(&mut slow);
                run.started += 1;
            } else if let Some(name) = slow_test(line) {
                slow.push(name.to_owned());
            } else if line == "failures:" {
                listed.clear();
            } else if let Some(name) = line.strip_prefix("    ") {
                listed.push(name.to_owned());
            } else if let Some(result) = line.strip_prefix("test result: ") {
                run.ended += 1;
                slow.clear();
                run.passed_count += passed_count(result);
                match result.starts_with("FAILED") {
                    true => run.failed.append(&mut listed),
                    false => listed.clear(),
                }
            }
        }
        run.slow.append(&mut slow);
        run
    }
}

fn is_start(line: &str) -> bool {
    let line = line.trim_start();
    (line.starts_with("Running ") && line.ends_with(')')) || line.starts_with("Doc-tests ")
}

fn slow_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" has been running for over 60 seconds")
}

/// The number before ` passed`.
fn passed_count(result: &str) -> usize {
    let words: Vec<&str> = result.split_whitespace().collect();
    words.windows(2).find(|pair| pair[1] == "passed;").and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

fn run_once(environment: &[(&str, &str)], arguments: &[&str]) -> Result<TestRun> {
    let (reader, writer) = std::io::pipe()?;
    let mut cargo = workspace::cargo()?;
    cargo.args(["test", "--workspace"]).args(arguments).envs(environment.iter().copied());
    cargo.stdout(writer.try_clone()?).stderr(writer);
    let child = cargo.spawn().context("cannot start cargo")?;
    // The ends of the pipe in this process close.
    drop(cargo);
    let (has_passed, lines) = follow(child, &forward(reader))?;
    let run = TestRun::parse(lines.iter().map(String::as_str));
    Ok(TestRun { has_passed, ..run })
}

/// Whether cargo succeeded, and its output. Test programs that hang are ended; cargo goes on with the next one.
fn follow(mut child: Child, output: &Receiver<String>) -> Result<(bool, Vec<String>)> {
    let mut lines = Vec::new();
    let mut last = Instant::now();
    loop {
        match output.recv_timeout(Duration::from_secs(1)) {
            Ok(line) => {
                lines.push(line);
                last = Instant::now();
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if last.elapsed() > SILENCE => {
                println!(
                    "xtask: no output for {} minutes; the test program is ended",
                    SILENCE.as_secs() / 60
                );
                end_children(child.id());
                last = Instant::now();
            }
            Err(RecvTimeoutError::Timeout) => {
                if last.elapsed() > OUTPUT_END && child.try_wait()?.is_some() {
                    break;
                }
            }
        }
    }
    Ok((child.wait()?.success(), lines))
}

fn end_children(parent: u32) {
    let list = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
    let children = list.split_whitespace().filter_map(|id| id.parse().ok());
    for child in children.filter_map(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process(child, rustix::process::Signal::KILL);
    }
}

/// Prints every line, and hands it on.
fn forward(reader: PipeReader) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            println!("{line}");
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::TestRun;

    const OUTPUT: &str = "\
     Running unittests src/lib.rs (target/debug/deps/a-1)
test one ... ok
test two::three ... FAILED

failures:

---- two::three stdout ----
    an indented line of the test

failures:
    two::three

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.29s
     Running tests/b.rs (target/debug/deps/b-2)
test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
";

    #[test]
    fn failed_tests_are_run_again() {
        let run = TestRun::parse(OUTPUT.lines());
        assert_eq!(run.repeatable().expect("one test failed"), ["two::three"]);
        assert_eq!(run.passed_count, 4);
    }

    #[test]
    fn a_program_that_hangs_or_crashes_is_a_failure() {
        let hanging =
            "     Running tests/c.rs (target/debug/deps/c-3)\ntest c::d has been running for over 60 seconds";
        let output = format!("{OUTPUT}{hanging}\n     Running tests/e.rs (target/debug/deps/e-4)");
        let run = TestRun::parse(output.lines());
        assert!(!run.is_complete());
        assert_eq!(run.unreliable(), "two::three, c::d");
    }

    #[test]
    fn many_failures_are_not_run_again() {
        let output = OUTPUT.repeat(6);
        assert!(TestRun::parse(output.lines()).repeatable().is_err());
    }

    #[test]
    fn a_documentation_test_is_not_run_again() {
        let output = OUTPUT.replace("    two::three", "    src/lib.rs - one (line 3)");
        assert!(TestRun::parse(output.lines()).repeatable().is_err());
    }
}
