//! Checks extensions against `osier.d.ts` with TypeScript's compiler: our examples, and in `conformance --extensions` those of pi.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{web_types, workspace};

const OPTIONS: &[&str] = &[
    "--noEmit",
    "--ignoreConfig",
    "--strict",
    "--skipLibCheck",
    "--target",
    "es2023",
    "--module",
    "esnext",
    "--moduleResolution",
    "bundler",
    "--allowImportingTsExtensions",
    "--lib",
    "es2024,dom",
    "--types",
    "node",
];
const TYPES: &str = "crates/extensions/osier.d.ts";

/// Checks our examples. Returns whether the compiler could run: it needs npm and its registry.
pub(crate) fn check_examples() -> Result<bool> {
    check(&workspace::root()?.join("examples/extensions"))
}

/// Checks the extensions in a folder. Packages that are not installed do not count.
pub(crate) fn check(folder: &Path) -> Result<bool> {
    let Some(compiler) = web_types::compiler()? else { return Ok(false) };
    let mut files = Vec::new();
    find_sources(folder, &mut files)?;
    let installed = compiler.parent().and_then(Path::parent).context("the compiler has no folder")?;
    let mut tsc = Command::new(&compiler);
    tsc.args(OPTIONS).arg("--typeRoots").arg(installed.join("@types"));
    let output = tsc.arg(workspace::root()?.join(TYPES)).args(&files).current_dir(folder).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let errors: Vec<&str> =
        text.lines().filter(|line| line.contains("error TS") && !line.contains("error TS2307")).collect();
    if !errors.is_empty() {
        bail!("{} does not describe:\n{}", TYPES, errors.join("\n"));
    }
    Ok(true)
}

fn find_sources(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_package = path.file_name().is_some_and(|name| name == "node_modules");
        if path.is_dir() && !is_package {
            find_sources(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "ts") {
            found.push(path);
        }
    }
    Ok(())
}
