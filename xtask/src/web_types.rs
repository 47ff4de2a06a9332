//! Checks the types of the browser code: its JSDoc comments, with TypeScript's compiler. Nothing is compiled or shipped.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::workspace;

const PACKAGES: [&str; 2] = ["typescript@7.0.2", "@types/node@22"];
const OPTIONS: &[&str] = &[
    "--allowJs",
    "--checkJs",
    "--noEmit",
    "--strict",
    "--target",
    "es2023",
    "--module",
    "esnext",
    "--moduleResolution",
    "bundler",
    "--lib",
    "es2024,dom,dom.iterable",
];
/// The modules that a page starts with.
const ENTRY_MODULES: [&str; 2] = ["live.js", "export.js"];

/// Installs the compiler into the target folder once, and runs it. Returns whether it could run: it needs npm and its registry.
pub(crate) fn check() -> Result<bool> {
    let Some(compiler) = compiler()? else { return Ok(false) };
    let mut tsc = Command::new(&compiler);
    tsc.args(OPTIONS).args(ENTRY_MODULES).current_dir(workspace::root()?.join("crates/viewer/web"));
    workspace::run(&mut tsc)?;
    Ok(true)
}

/// The compiler, if it is or can be installed.
pub(crate) fn compiler() -> Result<Option<PathBuf>> {
    let folder = workspace::target()?.join("typescript");
    let compiler = folder.join("node_modules/.bin/tsc");
    let is_installed = compiler.is_file() && folder.join("node_modules/@types/node").is_dir();
    Ok((is_installed || install(&folder)?).then_some(compiler))
}

/// Returns whether it is installed now.
fn install(folder: &Path) -> Result<bool> {
    std::fs::create_dir_all(folder)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--silent", "--no-save", "--no-audit", "--no-fund", "--prefix"])
        .arg(folder)
        .args(PACKAGES);
    Ok(npm.stdin(Stdio::null()).status().is_ok_and(|status| status.success()))
}
