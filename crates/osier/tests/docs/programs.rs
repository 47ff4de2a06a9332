//! Runs the programs of a page: blocks of Python and JavaScript with `file=NAME`, each followed by a block with
//! `output=NAME`.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use crate::matching::Matcher;
use crate::page::{Block, Page};

pub(crate) fn run(page: &Page) {
    let mut count = 0;
    for (language, interpreter) in [("python", "python3"), ("javascript", "node")] {
        for block in page.blocks(language) {
            count += 1;
            run_program(page, block, interpreter);
        }
    }
    assert!(count > 0, "{} has no programs", page.name);
}

fn run_program(page: &Page, block: &Block, interpreter: &str) {
    let name = block.attribute("file").expect("a program has a file name");
    let place = format!("{}:{}", page.name, block.line);
    let expected = page.blocks("text").find(|text| text.attribute("output") == Some(name));
    let expected = expected.unwrap_or_else(|| panic!("{place}: no output of {name}"));
    if interpreter == "node" && std::env::var_os("OSIER_NO_NODE").is_some() {
        // The test harness hides `eprintln`.
        let _ = writeln!(std::io::stderr(), "NOT RUN: {place}, because OSIER_NO_NODE is set");
        return;
    }
    let is_installed = Command::new(interpreter).arg("--version").output().is_ok();
    assert!(is_installed, "{place} needs {interpreter}; install it");
    let home = tempfile::tempdir().expect("a folder");
    std::fs::write(home.path().join(name), &block.text).expect("a file");
    std::fs::write(home.path().join("notes.txt"), "Buy milk.\n").expect("a file");
    let program = Path::new(env!("CARGO_BIN_EXE_osier")).parent().expect("a folder");
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let folders = [program.to_owned()].into_iter().chain(std::env::split_paths(&inherited));
    let output = Command::new(interpreter)
        .arg(name)
        .current_dir(home.path())
        .env("PATH", std::env::join_paths(folders).expect("plain paths"))
        .env("OSIER_HOME", home.path().join("osier"))
        .output()
        .expect("an interpreter");
    let actual = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{place}: {actual}{errors}");
    if let Err(difference) = Matcher::default().check(&expected.text, &actual) {
        panic!("{place}: {difference}\n--- actual output\n{actual}{errors}");
    }
}
