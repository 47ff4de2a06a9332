//! Runs the `console` blocks of a page, one after the other, in a temporary home folder.
//!
//! A shell runs each line that starts with `$ `. The lines up to the next command are the expected output, standard output
//! and standard error together. The command must succeed.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::matching::Matcher;
use crate::page::Page;

/// The terminal width of the examples.
const COLUMNS: &str = "90";

pub(crate) fn run(page: &Page) {
    let home = tempfile::tempdir().expect("a folder");
    let home = home.path().canonicalize().expect("a path without links");
    std::fs::create_dir(home.join("project")).expect("a folder");
    let mut matcher = Matcher::default();
    for block in page.blocks("console") {
        let mut lines = block.text.lines().enumerate().peekable();
        while let Some((number, line)) = lines.next() {
            let place = format!("{}:{}", page.name, block.line + number);
            let command = line.strip_prefix("$ ").unwrap_or_else(|| panic!("{place}: not a command"));
            let mut expected = String::new();
            while let Some((_, line)) = lines.next_if(|(_, line)| !line.starts_with("$ ")) {
                expected += &format!("{line}\n");
            }
            let actual = shell(&home, &matcher.real(command), &place);
            if let Err(difference) = matcher.check(&expected, &actual) {
                panic!("{place}: $ {command}\n{difference}\n--- actual output\n{actual}");
            }
        }
    }
}

/// Runs a command in the folder `project` of a home folder, and returns what it prints.
pub(crate) fn shell(home: &Path, command: &str, place: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_osier")).parent().expect("a folder");
    let path =
        std::env::join_paths([program, Path::new("/usr/bin"), Path::new("/bin")]).expect("plain paths");
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(home.join("project"))
        .env_clear()
        .env("HOME", home)
        .env("PATH", path)
        .env("COLUMNS", COLUMNS)
        .stdin(Stdio::null())
        .output()
        .expect("a shell");
    let printed = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{place}: $ {command}\n{printed}");
    printed.replace(&home.display().to_string(), "~")
}
