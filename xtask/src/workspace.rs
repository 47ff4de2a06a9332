//! Workspace paths and the cargo command, found at run time so that a moved checkout works.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// The workspace root.
pub(crate) fn root() -> Result<PathBuf> {
    if let Some(manifest) = env::var_os("CARGO_MANIFEST_DIR")
        && let Some(parent) = Path::new(&manifest).parent()
    {
        return Ok(parent.to_owned());
    }
    let here = env::current_dir()?;
    match here.ancestors().find(|dir| dir.join("xtask/Cargo.toml").is_file()) {
        Some(dir) => Ok(dir.to_owned()),
        None => bail!("{} is not inside the workspace; use `cargo xtask`", here.display()),
    }
}

/// The folder for build results and task output.
pub(crate) fn target() -> Result<PathBuf> {
    let root = root()?;
    Ok(env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir)))
}

/// A cargo command that runs in the workspace root.
pub(crate) fn cargo() -> Result<Command> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()?);
    Ok(command)
}

/// Runs a command with inherited output.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", program_name(command)))?;
    ensure!(status.success(), "{} failed ({status})", program_name(command));
    Ok(())
}

fn program_name(command: &Command) -> String {
    Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned()
}
