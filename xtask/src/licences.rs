//! Checks the licenses and sources of all dependencies with cargo-deny. Advisories are not checked, because
//! they need a network.

use std::process::Stdio;

use anyhow::{Result, bail};

use crate::args::Args;
use crate::place;

pub(crate) fn run(args: Args) -> Result<()> {
    args.finish()?;
    let found =
        place::cargo()?.args(["deny", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    if !found.success() {
        bail!("cargo-deny is not installed; install it with `cargo install --locked cargo-deny`");
    }
    place::run(place::cargo()?.args(["deny", "check", "licenses", "bans", "sources"]))
}
