//! Workspace rules that the compiler does not check. Reports findings with file and line; never changes a
//! file.

mod layers;
mod purity;
mod sizes;
mod sources;
mod words;

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::args::Args;
use crate::workspace;

/// A broken rule: where it is, and how to fix it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    file: String,
    line: usize,
    advice: String,
    fatal: bool,
}

impl Finding {
    fn new(file: &str, line: usize, advice: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, advice: advice.into(), fatal: true }
    }

    fn warning(file: &str, line: usize, advice: impl Into<String>) -> Self {
        Self { fatal: false, ..Self::new(file, line, advice) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.fatal { "" } else { "warning: " };
        write!(f, "{}:{}: {kind}{}", self.file, self.line, self.advice)
    }
}

/// A file of the workspace. The path uses forward slashes.
pub(crate) struct SourceFile {
    path: String,
    text: String,
}

pub(crate) fn run(args: Args) -> Result<()> {
    args.finish()?;
    check()?;
    println!("xtask: tidy found no problems");
    Ok(())
}

/// Prints every finding, and fails if any is more than a warning.
pub(crate) fn check() -> Result<()> {
    let files = read_files()?;
    let mut findings = layers::check(&files);
    findings.extend(files.iter().flat_map(sources::check));
    findings.extend(files.iter().flat_map(purity::check));
    findings.extend(sizes::check(&files));
    findings.extend(words::check(&files));
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.iter().filter(|finding| finding.fatal).count() {
        0 => Ok(()),
        1 => bail!("1 rule is broken; see above"),
        n => bail!("{n} rules are broken; see above"),
    }
}

/// Every text file that is tracked or untracked but not ignored.
fn read_files() -> Result<Vec<SourceFile>> {
    let root = workspace::root()?;
    let mut files = Vec::new();
    for path in list_files(&root)? {
        // Deleted but uncommitted files are still listed, and binary files are skipped.
        if let Ok(text) = std::fs::read_to_string(root.join(&path)) {
            files.push(SourceFile { path, text });
        }
    }
    Ok(files)
}

fn list_files(root: &Path) -> Result<Vec<String>> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    match git.output() {
        Ok(output) if output.status.success() => {
            let names = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
            Ok(names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
        }
        _ => walk(root),
    }
}

/// For a copy of the workspace without git.
fn walk(root: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir)? {
            let entry = entry?;
            let name = entry.file_name();
            if entry.file_type()?.is_dir() {
                if name != "target" && name != ".git" {
                    open.push(entry.path());
                }
            } else if let Ok(path) = entry.path().strip_prefix(root) {
                found.push(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    Ok(found)
}
