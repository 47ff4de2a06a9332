//! The browser of the tests: Debian's Chromium and its driver.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

const PROGRAMS: [&str; 2] = ["chromium", "chromedriver"];
const PACKAGES: [&str; 2] = ["chromium", "chromium-driver"];

/// Installs the browser if it is missing.
pub(crate) fn prepare() -> Result<()> {
    if PROGRAMS.iter().all(|name| is_installed(name)) {
        return Ok(());
    }
    println!("installing {}", PACKAGES.join(" and "));
    if !install() {
        // The package lists may be empty or outdated.
        apt_get(&["update"]);
        install();
    }
    match PROGRAMS.iter().find(|name| !is_installed(name)) {
        None => Ok(()),
        Some(missing) => bail!(
            "cannot find {missing}; install {} (as root: apt-get install {}), or run the tests with --no-browser",
            PACKAGES.join(" and "),
            PACKAGES.join(" ")
        ),
    }
}

fn install() -> bool {
    apt_get(&["install", "--yes", "--no-install-recommends", PACKAGES[0], PACKAGES[1]])
}

/// Runs `apt-get` as root: directly, or with `sudo` if that asks no password.
fn apt_get(args: &[&str]) -> bool {
    let words: &[&str] = match rustix::process::geteuid().is_root() {
        true => &["env"],
        false => &["sudo", "-n", "env"],
    };
    let mut apt = Command::new(words[0]);
    apt.args(&words[1..]).args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]).args(args).stdin(Stdio::null());
    apt.status().is_ok_and(|status| status.success())
}

fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(name)).any(|file: PathBuf| file.is_file())
}
