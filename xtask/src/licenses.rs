//! Checks the licenses and sources of all dependencies with cargo-deny. Advisories are not checked, because
//! they need a network.

use std::process::Stdio;

use anyhow::{Result, bail};

use crate::args::Args;
use crate::workspace;

pub(crate) fn run(args: Args) -> Result<()> {
    args.finish()?;
    let found = workspace::cargo()?
        .args(["deny", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if !found.success() {
        bail!("cargo-deny is not installed; install it with `cargo install --locked cargo-deny`");
    }
    workspace::run(workspace::cargo()?.args(["deny", "check", "licenses", "bans", "sources"]))
}
